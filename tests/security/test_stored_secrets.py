"""Who steals the database or a backup of it finds no token and no password in it."""

from __future__ import annotations

from base64 import urlsafe_b64decode
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import jwt
import pytest

from teamchat.testing import ADMIN, PASSWORD
from tests.harness import running
from tests.security.world import SECRET, Victim, attacked
from tests.storages import ON_SQLITE, look, tables

GRACE, BOB = "grace@example.org", "bob@example.org"


def mails(directory: Path) -> dict[str, str]:
    """Return the settings of mails that are not kept beside the data: they hold the links, as mails do."""
    return {"backend": "files", "sender": "chat@example.org", "path": str(directory / "elsewhere" / "mails")}


async def used_with_passwords(directory: Path, secrets: dict[str, str]) -> None:
    """Have every kind of secret made, some of them used."""
    acme = {"id": "acme", "name": "Acme", "clientId": "x", "clientSecret": "the secret of the client"}
    acme |= dict.fromkeys(("authorizationUrl", "tokenUrl", "userInfoUrl"), "http://127.0.0.1/x")
    async with attacked(directory, email=mails(directory), oauth={"custom": [acme]}) as victim:
        outside = Victim(victim.base, directory / "elsewhere")
        pair = await victim.login()
        access = secrets["access token"] = pair["accessToken"]
        secrets["refresh token"] = pair["refreshToken"]
        refreshed = await victim.ok("POST", "/auth/refresh", {"refreshToken": pair["refreshToken"]})
        secrets["second refresh token"] = refreshed["refreshToken"]
        await victim.add(access, GRACE, "the first password of grace")
        await victim.add(access, BOB, None)
        secrets["invite"] = await outside.link(BOB, "setup")
        await victim.ok("POST", "/auth/request-password-reset", {"email": GRACE})
        secrets["spent reset link"] = await outside.link(GRACE, "reset")
        setup = {"email": GRACE, "token": secrets["spent reset link"], "password": "the second of grace"}
        secrets["grace's refresh token"] = (await victim.ok("POST", "/auth/setup-password", setup))[
            "refreshToken"
        ]
        await victim.ok("POST", "/auth/request-password-reset", {"email": ADMIN})
        secrets["reset link"] = await outside.link(ADMIN, "reset")
        channel = (await victim.ok("GET", "/channels", token=access))["channels"][0]["id"]
        hook = await victim.ok("POST", "/webhooks", {"name": "bot", "channelId": channel}, access)
        secrets["webhook token"] = hook["webhook"]["token"]
        await begins_a_sign_in(victim, secrets)
        assert_holds_none(victim.directory, secrets)


async def begins_a_sign_in(victim: Victim, secrets: dict[str, str]) -> None:
    started = await victim.call("GET", "/auth/oauth/acme")
    [secrets["oauth state"]] = parse_qs(urlsplit(started.headers["location"]).query)["state"]
    secrets["oauth cookie"] = started.headers["set-cookie"].partition("=")[2].partition(";")[0]


async def used_with_links(directory: Path, secrets: dict[str, str]) -> None:
    async with attacked(directory, auth={"authMode": "magic-link"}, email=mails(directory)) as victim:
        outside = Victim(victim.base, directory / "elsewhere")
        for email in (ADMIN, GRACE):
            await victim.ok("POST", "/auth/login", {"email": email})
            secrets[f"magic link of {email}"] = await outside.link(email, "magic")
        pair = await victim.ok("POST", "/auth/verify", {"email": GRACE}, secrets[f"magic link of {GRACE}"])
        secrets["refresh token of a link"] = pair["refreshToken"]
        assert_holds_none(victim.directory, secrets)


def assert_holds_none(data: Path, secrets: dict[str, str]) -> None:
    """Search every table, and every byte of every file: pages that were freed, and the WAL, hold much."""
    files = [file for file in data.rglob("*") if file.is_file()]
    names = {file.name for file in files}
    assert not ON_SQLITE or {"teamchat.db", "teamchat.db-wal"} <= names
    raw = b"\n".join(file.read_bytes() for file in files)
    dumped = dump(data)
    assert ADMIN in dumped, "the dump does hold what is there"
    assert not ON_SQLITE or ADMIN.encode() in raw
    for name, secret in secrets.items():
        assert secret not in dumped, name
        for form in forms(secret):
            assert form not in raw, name


def dump(data: Path) -> str:
    return "\n".join(str(row) for table in tables(data) for row in look(data, f'select * from "{table}"'))


def forms(secret: str) -> list[bytes]:
    """Return a secret as text, and the bytes that the text stands for."""
    found = [secret.encode()]
    if "." not in secret and " " not in secret:
        found.append(
            bytes.fromhex(secret)
            if len(secret) == 64
            else urlsafe_b64decode(secret + "=" * (-len(secret) % 4))
        )
    return found


@pytest.mark.slow
async def test_c11_no_table_and_no_byte_of_the_data_holds_a_secret(tmp_path: Path) -> None:
    secrets = {
        "signing secret": SECRET,
        "first password": PASSWORD,
        "grace's first password": "the first password of grace",
        "grace's second password": "the second of grace",
        "client secret": "the secret of the client",
    }
    await used_with_passwords(tmp_path, secrets)
    await used_with_links(tmp_path, secrets)
    assert len(secrets) > 15


@pytest.mark.slow
async def test_no_answer_to_an_administrator_holds_a_hash_or_a_configured_secret(tmp_path: Path) -> None:
    secrets: dict[str, str] = {}
    await used_with_passwords(tmp_path, secrets)
    [password_hash] = hashes(tmp_path / "data")
    assert password_hash.startswith("$scrypt$")
    smtp = {"backend": "smtp", "host": "127.0.0.1", "port": 9, "sender": "c@example.org"}
    smtp |= {"user": "chat", "password": "the password of the mail server"}
    async with attacked(tmp_path, email=smtp) as victim:
        access = (await victim.login(ADMIN, PASSWORD))["accessToken"]
        paths = (await victim.ok("GET", "/openapi.json"))["paths"]
        plain = [path for path, found in paths.items() if "get" in found and "{" not in path]
        assert len(plain) > 8
        for path in [*plain, "/config.js", "/config.json", "/openapi.json"]:
            if path != "/events":
                told = (await victim.call("GET", path, token=access)).text
                for secret in (SECRET, smtp["password"], password_hash, "$scrypt$", *secrets.values()):
                    assert secret not in told, path


def hashes(data: Path) -> list[str]:
    return [found for (found,) in look(data, "select password_hash from users where is_admin = 1")]


async def test_d10_the_generated_signing_secret_and_all_data_are_for_their_owner_alone(
    tmp_path: Path,
) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o755)  # by an operator who did not think of it
    async with running(tmp_path) as server:
        token = (await server.sign_in()).headers["authorization"].removeprefix("Bearer ")
        jwt.decode(token, (data / "jwt-secret").read_bytes().strip(), ["HS256"], audience="teamchat")
        found = list(data.rglob("*"))
        assert len(found) > (3 if ON_SQLITE else 0)
        for path in found:
            assert path.stat().st_mode & 0o077 == 0, path.name
