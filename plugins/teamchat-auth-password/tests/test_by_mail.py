"""Invitations and forgotten passwords as people meet them: a real server, a mail, and the link in it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
import trio

from teamchat.testing import ADMIN, PASSWORD, Server, mailed
from tests.harness import running

BOB = "bob@example.org"
NEW = "a new password"
AUTH = {"authMode": "password", "isInviteRequired": True, "appUrl": "https://chat.example.org"}
MAIL = {"backend": "files"}


async def set_up(client: Any, link: str, password: str) -> Any:
    query = parse_qs(urlsplit(link).query)
    body = {"email": query["email"][0], "token": query["token"][0], "password": password}
    return await client.post("/auth/setup-password", json=body)


async def log_in(server: Server, email: str, password: str) -> Any:
    async with server.client() as client:
        return await client.post("/auth/password-login", json={"email": email, "password": password})


async def add(server: Server, *emails: str) -> None:
    token = (await log_in(server, ADMIN, PASSWORD)).json()["accessToken"]
    async with server.client(token) as admin:
        for email in emails:
            assert (await admin.post("/users/add", json={"email": email})).status_code == 200


async def test_from_an_invitation_to_a_forgotten_password(tmp_path: Path) -> None:
    mails = tmp_path / "data" / "mails"
    async with running(tmp_path, auth=AUTH, email=MAIL) as server, server.client() as client:
        await add(server, BOB)
        invitation = (await mailed(mails, BOB)).link
        assert invitation.startswith("https://chat.example.org/?token=")
        assert invitation.endswith("&mode=setup")
        assert (await set_up(client, invitation, "first password")).status_code == 200

        for email in ("nobody@example.org", BOB):
            answer = await client.post("/auth/request-password-reset", json={"email": email})
            assert answer.status_code == 200
        forgotten = (await mailed(mails, BOB, 2)).link
        assert forgotten.endswith("&mode=reset")
        assert (await set_up(client, forgotten, "short")).status_code == 400
        answer = await set_up(client, forgotten, "second password")
        assert answer.status_code == 200, answer.text
        assert answer.json()["tokenType"] == "Bearer"
        assert (await log_in(server, BOB, "first password")).status_code == 401
        assert (await log_in(server, BOB, "second password")).status_code == 200
        assert await server.end() == 0
    assert len(list(mails.glob("*.eml"))) == 2


@pytest.mark.slow
async def test_a_server_that_is_killed_leaves_a_spent_link_and_a_password_or_neither(tmp_path: Path) -> None:
    users = [f"user{number}@example.org" for number in range(6)]
    answered: list[str] = []
    async with running(tmp_path, auth=AUTH, email=MAIL) as server, server.client() as client:
        await add(server, *users)
        links = {email: (await mailed(server.mails, email)).link for email in users}

        async def set_up_and_kill(email: str) -> None:
            with suppress(httpx2.TransportError):
                if (await set_up(client, links[email], NEW)).status_code == 200:
                    answered.append(email)
                    server.process.kill()

        async with trio.open_nursery() as nursery:
            for email in users:
                nursery.start_soon(set_up_and_kill, email)
    assert answered

    async with running(tmp_path, auth=AUTH, email=MAIL) as server, server.client() as client:
        for email in users:
            has_password = (await log_in(server, email, NEW)).status_code == 200
            is_link_good = (await set_up(client, links[email], NEW)).status_code == 200
            assert has_password is not is_link_good
            assert has_password or email not in answered, "what was answered is kept"
