"""A whole server, at work and failing, with its access log on: no secret is in anything it writes."""

from __future__ import annotations

import base64
import json
import logging
import os
import re
import secrets
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import httpx2
import pytest
import trio

from teamchat.testing import ADMIN, DEADLINE
from tests.security.hostile import MailServer, Provider, listener
from tests.security.world import MAILS, Victim, written
from tests.storages import damage

START = """
import logging, sys
from teamchat import cli
from teamchat.observability import logs
configure = logs.configure

def configure_libraries_too(**settings):
    configure()
    logging.getLogger().setLevel(int(sys.argv[1]))

logs.configure = configure_libraries_too
sys.exit(cli.main(sys.argv[2:]))
"""
RUNS = [(logging.INFO, "native"), (logging.DEBUG, "native"), (logging.DEBUG, "hypercorn")]


class Secrets(dict[str, str]):
    """What must never be written, by what it is."""

    def make(self, name: str) -> str:
        """Return a new secret that no pattern knows for one: words, as people choose them."""
        self[name] = f"{name}, {secrets.token_hex(8)}"
        return self[name]

    def learn(self, pair: dict[str, str]) -> dict[str, str]:
        """Take the tokens of an answer in."""
        for name in ("accessToken", "refreshToken"):
            self[f"{name} {len(self)}"] = pair[name]
        return pair


def forms(secret: str) -> set[str]:
    """Return how a secret could be written: plain or in part, escaped, percent-encoded, in base64."""
    raw = secret.encode()
    whole = {secret, secret[-12:], quote(secret), quote(secret, safe=""), secret.replace(" ", "+")}
    whole |= {json.dumps(secret)[1:-1], repr(secret)[1:-1]}
    for before in range(3):
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            # The first and last characters depend on what stands beside the secret.
            whole.add(encode(b"\0" * before + raw).decode().rstrip("=")[4:-4])
    return {form for form in whole if len(form) >= 12}


@dataclass
class Watched(Victim):
    """A server in a process of its own; everything it writes goes to files."""

    process: trio.Process
    secrets: Secrets
    asked: int = 0
    failed: int = 0
    out: Path = field(default=Path(), kw_only=True)

    async def send(self, method: str, path: str, body: Any = None, token: str = "", **more: Any) -> Any:
        """Send one request and count it, and whether the server failed at it."""
        self.asked += 1
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"} | more
        async with self.client(token) as client:
            answer = await client.request(method, path, content=content, headers=headers)
        self.failed += answer.status_code == 500
        return answer

    async def stream(self, target: str) -> None:
        """Open a stream, see what comes first, and leave."""
        self.asked += 1
        port = int(self.base.rpartition(":")[2])
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
            await stream.send_all(f"GET {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            with trio.fail_after(DEADLINE):
                assert (await stream.receive_some()).startswith(b"HTTP/1.1 ")

    async def stop(self) -> str:
        """End the server and return all that it wrote."""
        self.process.terminate()
        with trio.fail_after(DEADLINE):
            await self.process.wait()
        return "".join((self.out / name).read_text() for name in ("stdout", "stderr"))


@asynccontextmanager
async def watched(directory: Path, level: int, known: Secrets, **sections: Any) -> AsyncIterator[Watched]:
    """Start a server whose signing secret and first password are among the secrets."""
    auth = {"jwtSecret": known.make("signing secret of more than 32 bytes"), "isInviteRequired": False}
    auth |= {"rateLimit": {"attempts": 1000}} | sections.pop("auth", {})
    user = {"userName": "Ada", "email": ADMIN}  # its password comes from the environment
    server = {"port": 0, "accessLog": True} | sections.pop("server", {})
    keys = {"auth": auth, "server": server, "chat": {"initialUser": user}}
    config = written(directory, keys | sections)
    environ = os.environ | {"INITIAL_USER_PASSWORD": known.make("first password")}
    command = [sys.executable, "-X", "dev", "-c", START, str(level), "serve", "--config", str(config)]
    out, err = [await trio.open_file(directory / name, "wb") for name in ("stdout", "stderr")]
    async with out, err:
        process = await trio.lowlevel.open_process(
            command, stdout=out.fileno(), stderr=err.fileno(), env=environ
        )
    try:
        base = await _address(trio.Path(directory / "stdout"))
        yield Watched(base, directory / "data", process, known, out=directory)
    finally:
        if process.returncode is None:
            process.kill()
        with trio.CancelScope(shield=True):
            await process.wait()


async def _address(stdout: trio.Path) -> str:
    with trio.fail_after(DEADLINE):
        while not (found := re.search(r"ready on (\S+)\n", await stdout.read_text())):  # noqa: ASYNC110
            await trio.sleep(0.02)
    return found.group(1)


async def assert_nothing_told(victim: Watched) -> None:
    """Stop the server and search all it wrote for every secret in every form."""
    with suppress(FileNotFoundError):
        arguments = await trio.Path(f"/proc/{victim.process.pid}/cmdline").read_text()
        assert not any(secret in arguments for secret in victim.secrets.values())
    text = await victim.stop()
    for name, secret in victim.secrets.items():
        for form in forms(secret):
            assert form not in text, f"{name} was written: {form}"
    lines = [json.loads(line) for line in (victim.out / "stderr").read_text().splitlines()]
    access = [line for line in lines if line["logger"] == "teamchat.access"]
    assert len(access) == victim.asked, "one request, one line"
    assert sum(line["status"] == 500 for line in access) == victim.failed


@pytest.mark.slow
@pytest.mark.parametrize(("level", "http1"), RUNS)
async def test_no_secret_is_written_where_people_sign_in_with_passwords(
    tmp_path: Path, level: int, http1: str
) -> None:
    provider, known = Provider(), Secrets()
    async with listener(provider) as port:
        acme = {"id": "acme", "name": "Acme", "clientId": "teamchat", "authorizationUrl": "http://127.0.0.1"}
        acme |= {"tokenUrl": f"http://127.0.0.1:{port}/token", "userInfoUrl": f"http://127.0.0.1:{port}/me"}
        acme |= {"clientSecret": known.make("client secret")}
        sections = {"oauth": {"custom": [acme], "rateLimit": {"attempts": 100}}, "email": MAILS}
        async with watched(tmp_path, level, known, server={"http1": http1}, **sections) as victim:
            pair = known.learn((await victim.send("POST", "/auth/password-login", first_login(known))).json())
            await signs_in_in_every_way(victim)
            await talks(victim, pair["accessToken"])
            await attacks(victim)
            for _ in range(2):
                await signs_in_at_a_provider(victim)
            assert known["client secret"].split(", ")[1].encode() in provider.heard
            assert not victim.failed
            break_the_storage(victim)
            await talks(victim, pair["accessToken"])
            await signs_in_in_every_way(victim)
            await signs_in_at_a_provider(victim)
            assert victim.failed > 5
            await assert_nothing_told(victim)
            debugs = '"level": "debug"' in (tmp_path / "stderr").read_text()
            assert debugs is (level == logging.DEBUG), "libraries do tell more at debug level"


@pytest.mark.slow
@pytest.mark.parametrize(("level", "http1"), RUNS[:2])
async def test_no_secret_is_written_where_links_go_out_by_a_mail_server_that_repeats_all_it_hears(
    tmp_path: Path, level: int, http1: str
) -> None:
    server, known = MailServer(), Secrets()
    async with listener(server) as port:
        smtp = {"host": "127.0.0.1", "port": port, "secure": False, "user": "chat@example.org"}
        smtp |= {"password": known.make("mail password"), "maxRetries": 0}
        async with watched(tmp_path, level, known, auth={"authMode": "magic-link"}, email=smtp) as victim:
            await victim.send("POST", "/auth/login", {"email": ADMIN})
            with trio.fail_after(DEADLINE):
                while not server.mails:  # noqa: ASYNC110
                    await trio.sleep(0.02)
            assert b"AUTH" in server.heard
            token = known["magic link"] = token_in(server.mails[0])
            await victim.send("GET", f"/?token={token}&email={ADMIN}")
            await victim.send("POST", f"/auth/verify/{token}", {"email": ADMIN}, token)
            await victim.send("POST", "/auth/verify", {"email": "somebody@example.org"}, token)
            known.learn((await victim.send("POST", "/auth/verify", {"email": ADMIN}, token)).json())
            await victim.send("POST", "/auth/verify", {"email": ADMIN}, token)
            break_the_storage(victim)
            await victim.send("POST", "/auth/verify", {"email": ADMIN}, token)
            await victim.send("POST", "/auth/login", {"email": ADMIN})
            assert victim.failed
            await assert_nothing_told(victim)


TARGETS = [
    "/x%0a[INFO]%20admin%20login%20ok",
    "/x%0d%0a%7B%22level%22:%22critical%22%7D",
    "/%1b[2J%1b]0;owned%07",
    "/%00%7f%c2%85%e2%80%a8%e2%80%ae",
    "/%ff%fe%c0%ae",
    "/%ed%a0%80",
    "/" + "a" * 10_000,
    "/" + "%0a" * 3_000,
    "//x",
    "/x?%0a",
    "/%252e%252e%250a",
    "/auth/me\x7f",
    "/\xff",
    "x",
    "*",
    "http://elsewhere.example.org/%0aauth?x",
]


@pytest.mark.slow
@pytest.mark.parametrize("http1", ["native", "hypercorn"])
async def test_a4_one_request_is_one_line_whatever_it_asks_for(tmp_path: Path, http1: str) -> None:
    async with watched(tmp_path, logging.DEBUG, Secrets(), server={"http1": http1}) as victim:
        for target in TARGETS:
            await shouts(victim, f"GET {target} HTTP/1.1\r\nHost: x\r\n")
        await shouts(victim, "GET / HTTP/1.1\r\nHost: x\r\nUser-Agent: a\x1b[2J\r\n")
        await victim.send("GET", "/health")
        text = await victim.stop()
        lines = text.splitlines()[1:]
        assert all(line.isascii() and line.isprintable() for line in lines)
        access = [json.loads(line) for line in lines if '"teamchat.access"' in line]
        # A request may be refused before it reaches the application, but none is told twice.
        assert 10 <= len(access) <= len(TARGETS) + 2
        assert access[-1]["path"] == "/health"
        assert not [line for line in access if "owned" in line["event"] or line["level"] != "info"]


async def shouts(victim: Watched, head: str) -> None:
    """Send raw bytes and wait for the server's answer, or for its going."""
    port = int(victim.base.rpartition(":")[2])
    async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
        with suppress(trio.BrokenResourceError), trio.fail_after(DEADLINE):
            await stream.send_all(f"{head}Connection: close\r\n\r\n".encode("latin1"))
            while await stream.receive_some():
                pass


def first_login(known: Secrets) -> dict[str, str]:
    return {"email": ADMIN, "password": known["first password"]}


async def signs_in_in_every_way(victim: Watched) -> None:
    """Register, sign in well and badly, reset by mail, refresh, log out."""
    known, email = victim.secrets, f"{secrets.token_hex(4)}@example.org"
    credentials = {"email": email, "password": known.make("password")}
    await victim.send("POST", "/auth/register", credentials)
    answer = await victim.send("POST", "/auth/password-login", credentials)
    await victim.send("POST", "/auth/password-login", credentials | {"password": known.make("wrong one")})
    await victim.send(
        "POST", "/auth/password-login", {"email": known.make("typed into email"), "password": 5}
    )
    await victim.send("POST", "/auth/request-password-reset", {"email": email})
    if answer.status_code == 200:
        pair = known.learn(answer.json())
        known["reset link"] = await victim.link(email, "reset")
        await changes_password(victim, email, pair)
    refresh = {"refreshToken": next(value for name, value in known.items() if name.startswith("refresh"))}
    answer = await victim.send("POST", "/auth/refresh", refresh)
    if answer.status_code == 200:
        known.learn(answer.json())
    await victim.send("POST", "/auth/setup-password", {"email": email, "token": known.make("token")})


async def changes_password(victim: Watched, email: str, pair: dict[str, str]) -> None:
    known = victim.secrets
    setup = {"email": email, "token": known["reset link"], "password": known.make("new password")}
    await victim.send("POST", "/auth/setup-password", setup | {"password": "1234567"})
    await victim.send("POST", "/auth/setup-password", setup | {"email": ADMIN})
    await victim.send("POST", "/auth/logout", {"refreshToken": pair["refreshToken"]}, pair["accessToken"])
    known.learn((await victim.send("POST", "/auth/setup-password", setup)).json())
    await victim.send("POST", "/auth/setup-password", setup)


async def talks(victim: Watched, access: str) -> None:
    """Post in a channel, in a conversation and by webhook, and listen."""
    known = victim.secrets
    text, private = {"content": known.make("message")}, {"content": known.make("direct message")}
    listed = await victim.send("GET", "/channels", token=access)
    channel = listed.json()["channels"][0]["id"] if listed.status_code == 200 else "x"
    await victim.send("POST", f"/channels/{channel}/messages", text, access)
    await victim.send("POST", f"/messages/{channel}/thread", text, access)
    users = await victim.send("GET", "/users", token=access)
    other = users.json()["users"][-1]["id"] if users.status_code == 200 else "x"
    opened = await victim.send("POST", "/conversations", {"targetUserId": other}, access)
    conversation = opened.json()["conversation"]["id"] if opened.status_code == 200 else "x"
    await victim.send("POST", f"/conversations/{conversation}/messages", private, access)
    hook = await victim.send("POST", "/webhooks", {"name": "bot", "channelId": channel}, access)
    if hook.status_code == 200:
        known["webhook token"] = hook.json()["webhook"]["token"]
        hook_id = hook.json()["webhook"]["id"]
        await victim.send("POST", f"/webhooks/{hook_id}/messages", text, known["webhook token"])
    await victim.send("POST", "/webhooks/x/messages", text, known["webhook token"])
    await victim.stream(f"/events?token={access}")


async def attacks(victim: Watched) -> None:
    """Put every secret where it does not belong: paths, queries, headers, bodies that are none."""
    # Words can't be told from any other path; what is worth something to others looks like a token.
    tokens = {name: value for name, value in victim.secrets.items() if re.fullmatch(r"[\w.-]{40,}", value)}
    assert len(tokens) > 5
    for token in tokens.values():
        for path in (
            f"/{token}",
            f"/auth/verify/{token}",
            f"/webhooks/{token}/messages",
            f"/%0a{token}%1b[2J",
        ):
            await victim.send("POST", path, {})
    for secret in list(victim.secrets.values()):
        escaped = quote(secret, safe="")
        await victim.send("GET", f"/auth/me?access_token={escaped}&password={escaped}&x={escaped}")
        await victim.send("GET", f"/token={escaped.replace('%20', '')}")
        referer = f"http://localhost:3000/?access_token={escaped}"
        await victim.send("GET", "/health", Referer=referer, Cookie=f"teamchat_oauth={escaped}")
        await victim.send("GET", "/health", **{"User-Agent": secret, "X-Forwarded-For": secret})
        await victim.send("GET", "/auth/me", Authorization=f"Basic {escaped}")
        await victim.send("POST", "/auth/refresh", b'{"refreshToken": "' + secret.encode())
        await victim.send("POST", "/auth/refresh", b"\xff" + secret.encode())
        await victim.send("POST", "/auth/refresh", {"refreshToken": [secret], secret: secret})
        await victim.stream(f"/events?token={escaped}&lastEventId={escaped}")


async def signs_in_at_a_provider(victim: Watched) -> None:
    """Go the whole way of OAuth; the provider fails, in one way or the other."""
    known = victim.secrets
    async with httpx2.AsyncClient(base_url=victim.base, timeout=DEADLINE, verify=False) as browser:
        started = await browser.get("/auth/oauth/acme")
        victim.asked += 1
        victim.failed += started.status_code == 500
        code = quote(known.make("code"), safe="")
        state = parse_qs(urlsplit(started.headers.get("location", "")).query).get("state", ["x" * 43])[0]
        known[f"state {len(known)}"] = state if state != "x" * 43 else secrets.token_urlsafe(32)
        for query in (f"error=access_denied&error_description={code}", f"code={code}&state={state}"):
            ended = await browser.get(f"/auth/oauth/acme/callback?{query}")
            victim.asked += 1
            assert ended.status_code == 302
            assert "oauth_error=" in ended.headers["location"]
            assert not any(form in ended.headers["location"] for form in forms(known["code"]))


def break_the_storage(victim: Watched) -> None:
    """Take tables away under the server's feet, so that what it does fails in ways nobody foresaw."""
    damage(
        victim.directory,
        "alter table messages rename column content to text",
        "alter table refresh_tokens rename to elsewhere",
        "alter table webhooks rename column token_hash to other",
        "alter table attempts rename column failures to other",
        "alter table oauth_states rename column network to other",
    )


def token_in(mail: bytes) -> str:
    """Return the token of the link in a mail."""
    body = message_from_bytes(mail, policy=policy.default).get_body(("plain",))
    found = re.search(r"[?&]token=([\w-]+)", str(body.get_content()) if body else "")
    assert found
    return found.group(1)


def test_the_search_itself_finds_what_it_looks_for() -> None:
    for text in (
        "s3cret words that are long",
        base64.b64encode(b"\0user\0s3cret words that are long").decode(),
        base64.b64encode(b"user:s3cret words that are long.").decode(),
        "?x=s3cret%20words%20that%20are%20long",
        '"...that are long"',
    ):
        assert any(form in text for form in forms("s3cret words that are long")), text
