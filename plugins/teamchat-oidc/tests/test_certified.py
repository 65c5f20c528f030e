"""A whole life at a certified provider: the npm package oidc-provider, which node runs beside a server."""

from __future__ import annotations

import re
import socket
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx2
import pytest
import trio

from teamchat.testing import DEADLINE, Events, listening, running
from tests.npm import npm_package

HERE = Path(__file__).parent
FORM = re.compile(r'<form[^>]* action="([^"]+)"')
FIELD = re.compile(r'<input[^>]* type="hidden"[^>]* name="([^"]+)" value="([^"]*)"')


@pytest.fixture(scope="module")
def package() -> Path:
    return npm_package("oidc-provider", "9")


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@asynccontextmanager
async def certified(package: Path, port: int, chat: str) -> AsyncIterator[str]:
    """Run the provider, and yield its issuer."""
    command = ["node", str(HERE / "certified.mjs"), str(package), str(port), chat]
    process = await trio.lowlevel.open_process(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    try:
        with trio.fail_after(DEADLINE):
            assert b"ready" in await process.stdout.receive_some(100)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        with trio.CancelScope(shield=True):
            await process.wait()
        await process.stdout.aclose()


async def submit(browser: httpx2.AsyncClient, page: httpx2.Response, **fields: str) -> httpx2.Response:
    """Fill the form of a page in, and send it."""
    found = FORM.search(page.text)
    assert found, page.text[:2000]
    given = dict(FIELD.findall(page.text)) | fields
    return await browser.post(urljoin(str(page.url), found[1]), data=given)


async def enter(browser: httpx2.AsyncClient, chat: str, who: str) -> dict[str, str]:
    """Sign in: press the button, say who one is, agree, and come back."""
    answer = await browser.get(f"{chat}/auth/oauth/company")
    for _ in range(20):
        if answer.is_redirect:
            target = urljoin(str(answer.url), answer.headers["Location"])
            found = parse_qs(urlsplit(target).query)
            if target.startswith(f"{chat}/?") and not urlsplit(target).path.strip("/"):
                return {name: values[0] for name, values in found.items()}
            answer = await browser.get(target)
        elif 'name="login"' in answer.text:
            answer = await submit(browser, answer, login=who, password="any")
        else:
            answer = await submit(browser, answer)
    raise AssertionError(f"the way never ends: {answer.url}")


async def read_on(stream: Events) -> None:
    while True:
        await stream.next()


@pytest.mark.slow
async def test_a_sign_in_its_groups_and_its_end_at_a_certified_provider(
    package: Path, tmp_path: Path
) -> None:
    chat, port = f"http://127.0.0.1:{free_port()}", free_port()
    oidc: dict[str, Any] = {
        "id": "company",
        "name": "Work",
        "issuer": f"http://127.0.0.1:{port}",
        "clientId": "the chat",
        "clientSecret": "a secret + of/the chat's",
        "adminGroups": ["chat-admins"],
    }
    server = {"port": urlsplit(chat).port}
    auth = {"appUrl": f"{chat}/", "isInviteRequired": False}
    async with running(tmp_path, oauth={"oidc": [oidc]}, server=server, auth=auth) as teamchat:
        # The server was there first: the provider is found when it comes.
        assert teamchat.base == chat
        async with teamchat.client() as anybody:
            assert (await anybody.get("/auth/oauth/providers")).json()["count"] == 0
    async with (
        certified(package, port, chat),
        running(tmp_path, oauth={"oidc": [oidc]}, server=server, auth=auth) as teamchat,
        httpx2.AsyncClient(timeout=DEADLINE, trust_env=False) as browser,
    ):
        told = await enter(browser, chat, "jane")
        assert "access_token" in told, (told, teamchat.logged())
        async with teamchat.client(told["access_token"]) as jane:
            user = (await jane.get("/auth/me")).json()["user"]
            assert (user["email"], user["isAdmin"]) == ("jane@example.org", True)
            async with listening(jane) as stream:
                # She ends her session at the provider, which tells the chat.
                page = await browser.get(f"http://127.0.0.1:{port}/session/end?client_id=the+chat")
                assert (await submit(browser, page, logout="yes")).status_code < 400, page.text
                with trio.fail_after(DEADLINE), pytest.raises(AssertionError, match="the stream ended"):
                    await read_on(stream)
            assert (await jane.get("/auth/me")).status_code == 401
        again = await enter(browser, chat, "jane")
        async with teamchat.client(again["access_token"]) as jane:
            assert (await jane.get("/auth/me")).json()["user"]["id"] == user["id"]
            where = (await jane.post("/auth/oauth/logout")).json()["logoutUrl"]
            assert (await jane.get("/auth/me")).status_code == 401
        page = await browser.get(where)
        answer = await submit(browser, page, logout="yes")
        assert answer.headers["Location"].startswith(f"{chat}/"), "the browser comes back to the chat"
