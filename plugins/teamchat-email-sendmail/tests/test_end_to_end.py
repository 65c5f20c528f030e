"""A server whose mails go through the program: what was asked for arrives, with a link that works."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import trio

from teamchat.testing import ADMIN, DEADLINE
from tests.harness import running


async def test_a_sign_in_link_goes_through_the_program_and_works(tmp_path: Path, sendmail) -> None:
    sections = {
        "auth": {"authMode": "magic-link", "appUrl": "https://chat.example.org"},
        "email": {
            "backend": "sendmail",
            "command": [str(sendmail.program)],
            "sender": "Team chat <chat@example.org>",
        },
    }
    async with running(tmp_path, **sections) as server, server.client() as client:
        assert (await client.post("/auth/login", json={"email": ADMIN})).status_code == 200
        with trio.fail_after(DEADLINE):
            while not sendmail.messages():  # noqa: ASYNC110 - another process writes the file
                await trio.sleep(0.02)
        [message] = sendmail.messages()
        body = message.get_body(("plain",))
        assert body is not None
        [link] = re.findall(r"https://chat\.example\.org/\S*", body.get_content())
        [token] = parse_qs(urlsplit(link).query)["token"]
        answer = await client.post(
            "/auth/verify", json={"email": ADMIN}, headers={"Authorization": f"Bearer {token}"}
        )
        assert answer.status_code == 200, answer.text
        assert await server.end() == 0
