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


async def test_mail_goes_out_when_the_smtp_server_comes_back(
    tmp_path: Path, smtp_server: SmtpServer, dead_port: int
) -> None:
    async with running(tmp_path, **with_mail(dead_port)) as server:
        await ask_for_resets(server, ADMIN, "bob@example.org")
        sink = smtp_server(port=dead_port)
        await until(lambda: len(sink.envelopes) >= 2)
        assert sorted(tokens(sink)) == [ADMIN, "bob@example.org"]


async def test_a_mail_under_way_does_not_keep_the_server_from_ending(tmp_path: Path, sink: Any) -> None:
    async with running(tmp_path, **with_mail(sink.port)) as server:
        await ask_for_resets(server, "silent@example.org")
        await until(lambda: sink.tries["silent@example.org"])
        began = trio.current_time()
        assert await server.end() == 0
        assert trio.current_time() - began < 10


async def test_d16_an_account_that_is_not_there_gets_no_mail(tmp_path: Path, sink: Any) -> None:
    async with running(tmp_path, **with_mail(sink.port)) as server:
        async with server.client() as client:
            await expect(client, "/auth/request-password-reset", email="unknown@example.org")
            await expect(client, "/auth/request-password-reset", email=ADMIN)
        await until(lambda: sink.envelopes)
        assert list(tokens(sink)) == [ADMIN]
        assert await server.end() == 0
    assert len(sink.envelopes) == 1
