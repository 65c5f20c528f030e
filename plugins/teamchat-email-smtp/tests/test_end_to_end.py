"""A real server process and a real SMTP server: what was asked for is delivered, whatever happens between."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
import trio

from teamchat.testing import ADMIN, DEADLINE, PASSWORD, Server
from tests.harness import running

EMAILS = [ADMIN, "bob@example.org", "eve@example.org"]
NEW_PASSWORD = "another long password"

SmtpServer = Callable[..., Any]


def with_mail(port: int) -> dict[str, dict[str, Any]]:
    return {
        "auth": {"authMode": "password", "appUrl": "https://chat.example.org"},
        "email": {"host": "127.0.0.1", "port": port, "secure": False, "sender": "chat@example.org"},
    }


async def ask_for_resets(server: Server, *emails: str) -> None:
    async with server.client() as client:
        for email in emails:
            if email != ADMIN:
                await expect(client, "/auth/register", email=email, password=PASSWORD)
            await expect(client, "/auth/request-password-reset", email=email)


async def expect(client: httpx2.AsyncClient, path: str, **body: str) -> None:
    answer = await client.post(path, json=body)
    assert answer.status_code == 200, answer.text


async def until(condition: Callable[[], Any]) -> None:
    with trio.fail_after(2 * DEADLINE):
        while not condition():
            await trio.lowlevel.checkpoint()


def tokens(sink: Any) -> dict[str, str]:
    """Return the token of each recipient's mail."""
    found = {}
    for message in sink.messages:
        body = message.get_body(("plain",)).get_content()
        [link] = re.findall(r"https://chat\.example\.org/\S*", body)
        query = parse_qs(urlsplit(link).query)
        assert query["mode"] == ["reset"]
        assert [str(message["To"])] == query["email"]
        [found[str(message["To"])]] = query["token"]
    return found


@pytest.fixture
def dead_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


@pytest.mark.slow
async def test_mail_that_waits_when_the_server_is_killed_is_delivered_once_by_the_next(
    tmp_path: Path, smtp_server: SmtpServer, dead_port: int
) -> None:
    async with running(tmp_path, **with_mail(dead_port)) as server:
        await ask_for_resets(server, *EMAILS)
        server.process.kill()
        await server.process.wait()
    sink = smtp_server(port=dead_port)
    async with running(tmp_path, **with_mail(dead_port)) as server:
        await until(lambda: len(sink.envelopes) >= len(EMAILS))
        found = tokens(sink)
        assert sorted(found) == sorted(EMAILS)
        async with server.client() as client:
            for email, token in found.items():
                await expect(client, "/auth/setup-password", email=email, token=token, password=NEW_PASSWORD)
                await expect(client, "/auth/password-login", email=email, password=NEW_PASSWORD)
        assert await server.end() == 0
    assert len(sink.envelopes) == len(EMAILS)


@pytest.mark.slow
async def test_mail_goes_out_when_the_smtp_server_comes_back(
    tmp_path: Path, smtp_server: SmtpServer, dead_port: int
) -> None:
    async with running(tmp_path, **with_mail(dead_port)) as server:
        await ask_for_resets(server, ADMIN, "bob@example.org")
        sink = smtp_server(port=dead_port)
        await until(lambda: len(sink.envelopes) >= 2)
        assert sorted(tokens(sink)) == [ADMIN, "bob@example.org"]


def client_at(server: Server, address: str) -> httpx2.AsyncClient:
    """Return a client of the server's at another address of this machine."""
    transport = httpx2.AsyncHTTPTransport(local_address=address)
    return httpx2.AsyncClient(base_url=server.base, transport=transport, timeout=DEADLINE, trust_env=False)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["later", "silent"])
async def test_no_stranger_holds_up_anybodys_mail_by_the_recipients_they_name(
    tmp_path: Path, sink: Any, kind: str
) -> None:
    """Those of `kind` get 450, or no answer at all; none of them says anything of the server."""
    config = with_mail(sink.port)
    config["auth"] |= {"authMode": "magic-link", "isInviteRequired": False}
    async with running(tmp_path, **config) as server:
        async with client_at(server, "127.0.0.2") as stranger, client_at(server, "127.0.0.3") as user:
            for number in range(30):
                await expect(stranger, "/auth/login", email=f"{kind}@{number}.example.org")
            await until(lambda: sink.tries.total() >= 4)
            await expect(user, "/auth/login", email="bob@example.org")
            for number in range(30, 60):
                await expect(stranger, "/auth/login", email=f"{kind}@{number}.example.org")
            await expect(user, "/auth/login", email="eve@example.org")
            await until(lambda: len(sink.envelopes) == 2)
            await until(lambda: sink.tries.total() >= (4 if kind == "silent" else 60) + 2)
        assert sorted(each.rcpt_tos[0] for each in sink.envelopes) == ["bob@example.org", "eve@example.org"]
        assert sink.tries["bob@example.org"] == sink.tries["eve@example.org"] == 1
        assert "a mail could not be sent" not in server.logged(), "the server is not taken for down"
        assert await server.end() == 0


async def test_a_mail_under_way_does_not_keep_the_server_from_ending(tmp_path: Path, sink: Any) -> None:
    async with running(tmp_path, **with_mail(sink.port)) as server:
        await ask_for_resets(server, "silent@example.org")
        await until(lambda: sink.tries["silent@example.org"])
        began = trio.current_time()
        assert await server.end() == 0
        assert trio.current_time() - began < 10


@pytest.mark.slow
async def test_d16_an_account_that_is_not_there_gets_no_mail(tmp_path: Path, sink: Any) -> None:
    async with running(tmp_path, **with_mail(sink.port)) as server:
        async with server.client() as client:
            await expect(client, "/auth/request-password-reset", email="unknown@example.org")
            await expect(client, "/auth/request-password-reset", email=ADMIN)
        await until(lambda: sink.envelopes)
        assert list(tokens(sink)) == [ADMIN]
        assert await server.end() == 0
    assert len(sink.envelopes) == 1
