"""What is in order is said to be, and what is not is found, told, and given a remedy."""

from __future__ import annotations

import shutil
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import apsw
import httpx2
import pytest
import trio
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from teamchat import hookimpl
from teamchat.errors import StorageError
from teamchat.interfaces import Storage
from teamchat.model import now_ms
from teamchat.operations import running as watching
from teamchat.operations.checking import Finding, Level, check
from teamchat.operations.checking.database import RULES, check_database
from teamchat.operations.checking.place import check_directory
from teamchat.operations.checking.rooms import RULES as ROOM_RULES
from teamchat.operations.checking.services import check_clock, check_images, check_mail, check_servers
from teamchat.operations.checking.stated import check_certificate, check_configuration, check_secret
from teamchat.operations.installation import Installation
from teamchat.plugins import Plugins
from teamchat.server import serve
from teamchat.settings import load
from teamchat.storage.sqlite import SqliteOptions, open_sqlite
from tests.operations.conftest import configure, talk, teamchat
from tests.operations.findings import wrong
from tests.postgres import shared
from tests.storages import lose_page
from tests.test_plugins import Entry


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plugin", "table"),
    [("metrics", "tokenn = 'x'"), ("outgoing-webhooks", "target = 'x'"), ("filter-secrets", "mood = 'x'")],
)
async def test_a_key_that_a_plugin_does_not_know_is_found_as_serve_would_refuse_it(
    tmp_path: Path, plugin: str, table: str
) -> None:
    config = tmp_path / "teamchat.toml"
    data = tmp_path / "data"
    config.write_text(f'[storage]\npath = "{data}"\n[plugins.{plugin}]\n{table}\n')
    [finding] = await check_configuration(Installation.load(config, {}))
    assert finding.level is Level.PROBLEM
    assert f"plugins.{plugin}.{table.split()[0]}" in finding.sentence
    assert not data.exists()


@asynccontextmanager
async def lived_in(config: Path) -> AsyncIterator[Storage]:
    """Make an installation in which people have talked, and yield its storage."""
    installation = Installation.load(config, {})
    async with trio.open_nursery() as nursery:
        port = await nursery.start(serve, installation.settings, installation.plugins)
        async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
            answer = (await client.post("/auth/dev-login", json={"email": "admin@localhost"})).json()
            client.headers["Authorization"] = f"Bearer {answer['token']}"
            await talk(client)
            grace = (await client.post("/users/add", json={"email": "grace@example.org"})).json()["userId"]
            opened = (await client.post("/conversations", json={"targetUserId": grace})).json()
            path = f"/conversations/{opened['conversation']['id']}/messages"
            await client.post(path, json={"content": "between us"})
        nursery.cancel_scope.cancel()
    async with installation.storage() as storage:
        yield storage


async def found(storage: Storage, backend: str = "sqlite") -> list[Finding]:
    findings: list[Finding] = []
    await check_database(storage, backend, findings.append)
    return findings


def problems(findings: list[Finding]) -> list[str]:
    assert all(bool(finding.remedy) == (finding.level is not Level.OK) for finding in findings)
    return [finding.sentence for finding in findings if finding.level is Level.PROBLEM]


HARM = {
    "there is an admin": "update users set is_admin = 0",
    "those who are gone have no session and no password": "update users set removed_at = 1",
    "those who are deactivated have no session": "update users set deactivated_at = 1",
    "bots are no admins, and have no session and no password": "update users set is_bot = 1",
    "each stands in a channel or conversation that is there": "update messages set room_id = 'gone'",
    "each author is known": "update messages set author_id = 'nobody'",
    "each reply stands under a message of its channel that is no reply": (
        "update messages set room_id = (select id from rooms where kind = 'direct')"
        " where parent_id is not null"
    ),
    "the figures are those of the replies": "update threads set reply_count = 7",
    "the last activity is that of the newest message": "update rooms set last_message_at = null",
    "each has its two members": "delete from memberships",
    "each is shown with its message": "update messages set is_decorated = 0",
    "each belongs to a channel or conversation that is there, and to messages of it alone": (
        "update images set room_id = (select id from rooms where kind = 'direct')"
    ),
    "each has its channel": (
        "insert into webhooks (id, name, channel_id, token_hash, created_at, created_by)"
        " values ('w', 'w', 'gone', 'h', 1, 'x')"
    ),
    "events are missing within it": (
        "insert into events (seq, type, payload, created_at) values (99, '', '', 1)"
    ),
    "refer to rows that are not there": "delete from users",
}


async def test_every_rule_holds_in_use_and_finds_what_breaks_it(tmp_path: Path) -> None:
    config = configure(tmp_path / "c.json", storage={"path": str(tmp_path / "data")})
    async with lived_in(config) as storage:
        findings = await found(storage)
        assert problems(findings) == []
        of_core = [finding for finding in findings if finding.subject != "capabilities"]
        assert len(of_core) == len(RULES) + len(ROOM_RULES) + 5
    for sentence, statements in HARM.items():
        harmed = tmp_path / "harmed"
        shutil.copytree(tmp_path / "data", harmed)
        database = apsw.Connection(str(harmed / "teamchat.db"))
        database.execute(statements)
        database.close()
        async with open_sqlite(SqliteOptions(path=str(harmed))) as storage:
            assert any(sentence in said for said in problems(await found(storage))), sentence
        shutil.rmtree(harmed)
    assert set(HARM) >= {rule.sentence for rule in RULES}


async def test_a_damaged_file_is_told_whatever_of_it_is_damaged(tmp_path: Path) -> None:
    config = configure(tmp_path / "c.json", storage={"path": str(tmp_path / "data")})
    async with lived_in(config) as storage, storage.write() as tx:  # As the search index is one.
        await tx.define("create virtual table words using fts5(word)")
        await tx.fetch("insert into words values ('hello')")
    for table in ("audit_entries", "words_data"):
        harmed = tmp_path / table
        shutil.copytree(tmp_path / "data", harmed)
        lose_page(harmed, table)
        async with open_sqlite(SqliteOptions(path=str(harmed))) as storage:
            assert any("damaged" in said for said in problems(await found(storage))), table


@pytest.mark.slow
async def test_the_rules_are_sql_that_postgresql_takes_too(tmp_path: Path) -> None:
    url = shared().url(shared().new_database())
    storage = {"backend": "postgres", "url": url, "path": str(tmp_path / "data")}
    async with lived_in(configure(tmp_path / "c.json", storage=storage)) as opened:
        findings = await found(opened, "postgres")
        assert wrong(findings) == []


def installation(tmp_path: Path, **sections: dict[str, Any]) -> Installation:
    config = configure(tmp_path / "c.json", **{"storage": {"path": str(tmp_path / "data")}} | sections)
    plugins = Plugins.load([])
    return Installation(load(config), plugins)


async def test_an_image_store_is_tried_and_the_newest_images_are_looked_for(tmp_path: Path) -> None:
    one = installation(tmp_path)
    async with lived_in(tmp_path / "c.json") as storage:
        findings = await check_images(one, storage)
        assert [finding.level for finding in findings] == [Level.OK, Level.OK]
        assert findings[1].sentence == "has the 1 newest images"
        images = tmp_path / "data" / "images"
        [image] = [path for path in _files(images) if path.suffix == ".svg"]
        image.unlink()
        assert problems(await check_images(one, storage)) == ["1 of the 1 newest images are not there"]
        assert not [path for path in _files(images) if path.name.startswith("check-")]
        elsewhere = installation(tmp_path, images={"path": "/proc/nowhere"})
        [finding] = await check_images(elsewhere, storage)
        assert finding.level is Level.PROBLEM


def _files(directory: Path) -> list[Path]:
    return list(directory.iterdir())


async def test_mail_is_reached_or_a_trial_is_sent(tmp_path: Path) -> None:
    assert (await check_mail(installation(tmp_path), None)).level is Level.OK
    assert (await check_mail(installation(tmp_path), "a@b")).level is Level.PROBLEM
    files = {"backend": "files", "sender": "chat@example.org", "path": str(tmp_path / "mails")}
    sent = await check_mail(installation(tmp_path, email=files), "ada@example.org")
    assert sent.level is Level.OK
    [mail] = _files(tmp_path / "mails")
    assert "ada@example.org" in mail.read_text()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        smtp = {"host": "127.0.0.1", "port": port, "sender": "chat@example.org", "user": "x", "password": "x"}
        assert (await check_mail(installation(tmp_path, email=smtp), None)).level is Level.OK
    refused = f"127.0.0.1:{port} can't be reached: Connection refused"
    for recipient in (None, "ada@example.org"):
        [sentence] = problems([await check_mail(installation(tmp_path, email=smtp), recipient)])
        assert sentence == refused
    smtp["host"] = "nowhere.invalid"
    [sentence] = problems([await check_mail(installation(tmp_path, email=smtp), None)])
    assert sentence.startswith(f"nowhere.invalid:{port} can't be reached: ")
    assert "Error" not in sentence


async def test_a_directory_that_others_may_read_is_told(tmp_path: Path) -> None:
    one = installation(tmp_path)
    assert [finding.level for finding in check_directory(one)] == [Level.PROBLEM]
    one.directory.mkdir(mode=0o700)
    (one.directory / "jwt-secret").touch(mode=0o600)
    assert next(check_directory(one)).level is Level.OK
    (one.directory / "jwt-secret").chmod(0o640)
    finding = next(check_directory(one))
    assert finding.level is Level.WARNING
    assert finding.remedy == f"chmod go= {one.directory / 'jwt-secret'}"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sections", "level", "says"),
    [
        ({}, Level.WARNING, "anyone who reaches the server"),
        ({"auth": {"authMode": "password", "isInviteRequired": True}}, Level.OK, "sign in by password"),
        ({"auth": {"authMode": "magic-link"}}, Level.PROBLEM, "email"),
        ({"auth": {"authMode": "password", "isInviteRequired": True, "appUrl": "http://chat.example.org"}},
         Level.WARNING, "https"),
        ({"auth": {"authMode": "password", "isInviteRequired": True},
          "plugins": {"disabled": ["teamchat-bots"]}},
         Level.WARNING, 'names "teamchat-bots"'),
        ({"server": {"tls": {"certificate": "/nowhere", "key": "/nowhere"}}}, Level.PROBLEM, "certificate"),
        ({"auth": {"authMode": "password", "secondFactor": "all"}, "second-factor": {"enabled": False}},
         Level.PROBLEM, "auth.secondFactor is 'all'"),
    ],
)  # fmt: skip
async def test_what_the_configuration_says_is_judged(
    sections: dict[str, Any], level: Level, says: str, tmp_path: Path
) -> None:
    findings = await check_configuration(installation(tmp_path, **sections))
    assert findings[0].level is level
    assert says in findings[0].sentence


@pytest.mark.slow
async def test_the_command_says_each_and_its_exit_code_tells_problems(tmp_path: Path) -> None:
    config = configure(tmp_path / "c.json", storage={"path": str(tmp_path / "data")})
    async with lived_in(config):
        said = await trio.to_thread.run_sync(lambda: teamchat("check", "--config", config))
        assert "ok       database              the file is whole" in said
        assert "ok       threads               the figures are those of the replies" in said
    config = configure(tmp_path / "c.json", storage={"path": str(tmp_path / "other")})
    said = await trio.to_thread.run_sync(lambda: teamchat("check", "--config", config, status=1))
    assert "problem  directory             storage.path: there is no directory" in said
    assert "-> Start the server once" in said


async def test_a_check_changes_nothing(tmp_path: Path) -> None:
    config = configure(tmp_path / "c.json", storage={"path": str(tmp_path / "data")})
    async with lived_in(config) as storage:
        before = await storage.log_bounds()
        secret = tmp_path / "data" / "jwt-secret"
        secret.chmod(0o644)
        findings: list[Finding] = []
        assert await check(Installation.load(config, {}), findings.append)
        assert any(str(secret) in finding.remedy for finding in findings)
        assert secret.stat().st_mode & 0o777 == 0o644
        assert await storage.log_bounds() == before


async def test_to_look_at_what_is_not_there_makes_nothing(tmp_path: Path) -> None:
    one = installation(tmp_path)
    one.directory.mkdir(mode=0o700)
    findings: list[Finding] = []
    assert not await check(one, findings.append)
    assert any("there is no database in" in sentence for sentence in problems(findings))
    assert _files(one.directory) == []


async def test_a_directory_is_missed_only_where_something_is_kept_in_it(tmp_path: Path) -> None:
    elsewhere = {"backend": "postgres", "url": "postgresql://127.0.0.1:1/x", "path": str(tmp_path / "data")}
    secret = {"jwtSecret": "0123456789abcdef0123456789abcdef"}
    [finding] = check_directory(installation(tmp_path, storage=elsewhere, auth=secret))
    assert finding.level is Level.OK
    [finding] = check_directory(installation(tmp_path, storage=elsewhere))
    assert finding.level is Level.PROBLEM


@pytest.mark.slow
async def test_an_image_store_that_is_not_configured_hides_nothing_else(tmp_path: Path) -> None:
    one = installation(tmp_path, images={"backend": "s3"})
    async with lived_in(configure(tmp_path / "c.json", storage={"path": str(tmp_path / "data")})):
        pass
    findings: list[Finding] = []
    assert not await check(one, findings.append)
    assert [finding.subject for finding in findings if finding.level is Level.PROBLEM] == ["image store"]
    assert "servers" in {finding.subject for finding in findings}


@pytest.mark.parametrize(
    ("kept", "stated", "mode", "level", "says"),
    [
        (None, None, 0o600, Level.OK, "the first start makes one"),
        (b"0123456789abcdef" * 4, None, 0o644, Level.OK, "generated"),
        (b"short", None, 0o600, Level.PROBLEM, "is damaged"),
        (None, "0123456789abcdef" * 4, 0o600, Level.OK, "configured"),
        (None, "0123456789abcdef" * 4, 0o644, Level.WARNING, "others may read it"),
        (None, "password" * 8, 0o600, Level.WARNING, "is not random"),
    ],
)
async def test_a_secret_that_is_weak_or_lies_open_is_told(
    kept: bytes | None, stated: str | None, mode: int, level: Level, says: str, tmp_path: Path
) -> None:
    sections = {"auth": {"jwtSecret": stated}} if stated else {}
    config = configure(tmp_path / "c.json", storage={"path": str(tmp_path / "data")}, **sections)
    config.chmod(mode)
    one = Installation.load(config, {})
    one.directory.mkdir(mode=0o700)
    if kept is not None:
        (one.directory / "jwt-secret").write_bytes(kept)
    finding = next(check_secret(one))
    assert finding.level is level
    assert says in finding.sentence


@pytest.mark.parametrize(
    ("begins", "ends", "level", "says"),
    [
        (-90, 90, Level.OK, "valid until"),
        (-90, 5, Level.WARNING, "it expires on"),
        (-90, -1, Level.PROBLEM, "it expired on"),
        (1, 90, Level.PROBLEM, "it begins on"),
    ],
)
async def test_a_certificate_that_ends_soon_is_told_in_time(
    begins: int, ends: int, level: Level, says: str, tmp_path: Path
) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "chat.example.org")])
    now = datetime.now(UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    made = made.not_valid_before(now + timedelta(days=begins)).not_valid_after(now + timedelta(days=ends))
    certificate = made.sign(key, hashes.SHA256())
    (tmp_path / "chat.pem").write_bytes(certificate.public_bytes(Encoding.PEM))
    plain = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (tmp_path / "chat.key").write_bytes(plain)
    (tmp_path / "chat.key").chmod(0o604)
    section = {"certificate": str(tmp_path / "chat.pem"), "key": str(tmp_path / "chat.key")}
    [found, lies_open] = check_certificate(installation(tmp_path, server={"tls": section}))
    assert found.level is level
    assert says in found.sentence
    assert lies_open.remedy == f"chmod o= {tmp_path / 'chat.key'}"
    (tmp_path / "chat.key").chmod(0o600)
    assert len(list(check_certificate(installation(tmp_path, server={"tls": section})))) == 1


async def test_a_clock_that_stands_before_the_newest_message_is_told(tmp_path: Path) -> None:
    async with lived_in(configure(tmp_path / "c.json", storage={"path": str(tmp_path / "data")})) as storage:
        assert (await check_clock(storage)).level is Level.OK
        async with storage.write() as tx:
            await tx.fetch("update messages set created_at = $1", now_ms() + 7_200_000)
        finding = await check_clock(storage)
        assert finding.level is Level.PROBLEM
        assert "120 minutes before" in finding.sentence


async def test_a_server_that_was_killed_is_told_from_one_that_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "_LOOK_SECONDS", 0.01)
    async with open_sqlite(SqliteOptions(path=str(tmp_path))) as storage:
        assert (await check_servers(storage, lambda: None)).sentence == "none runs"
        async with storage.write() as tx:
            await tx.fetch("insert into members (id, joined_at, beats) values ('a', 1, 1)")
        waited: list[str] = []
        monkeypatch.setattr(watching, "WATCH_SECONDS", 0.2)
        finding = await check_servers(storage, lambda: waited.append("waited"))
        assert finding.level is Level.WARNING
        assert "If it hangs, end it first" in finding.remedy
        assert waited == ["waited"]

        async def beat() -> None:
            while True:
                async with storage.write() as tx:
                    await tx.fetch("update members set beats = beats + 1")
                await trio.sleep(0.01)

        monkeypatch.setattr(watching, "WATCH_SECONDS", 60.0)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(beat)
            assert (await check_servers(storage, lambda: None)).sentence == "1 signed on, and alive"
            nursery.cancel_scope.cancel()


async def test_a_hook_may_keep_the_storage_and_ask_for_the_mailer_while_it_is_checked(tmp_path: Path) -> None:
    """As in a server, where both are open: what a hook only keeps must be no problem."""
    seen: list[Any] = []

    class Keeping:
        name = "keeping"

        def __init__(self, app: Any) -> None:
            assert callable(app.mailer.send)
            assert app.composer is not None
            self.read, self.transaction = app.storage.read, app.storage.write()
            seen.append(self)

        async def run(self, *, task_status: Any) -> None: ...

    module = ModuleType("keeping")
    module.services = hookimpl(lambda app: [Keeping(app)])  # type: ignore[attr-defined]
    config = tmp_path / "c.toml"
    config.write_text(
        f'[storage]\npath = "{tmp_path / "data"}"\n[email]\nbackend = "smtp"\nhost = "127.0.0.1"\n'
    )
    entries = [*metadata.entry_points(group="teamchat"), Entry("keeping", module)]
    one = Installation(load(config), Plugins.load([], entries))
    assert [finding.level for finding in await check_configuration(one)] == [Level.OK]
    with pytest.raises(StorageError, match="not open while plugins are checked: a hook does no work"):
        async with seen[0].read():
            pytest.fail("it is open")
