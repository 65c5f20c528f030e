"""The client in Firefox: a person signs in, posts, hears, replies and sends an image, as in Chromium.

Firefox is spoken to by WebDriver BiDi, which it has built in; keys and files reach the page as a person's do.
Without Firefox the tests are skipped.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, Message, Request, TextMessage

from teamchat.testing import ADMIN

FIREFOX = next(filter(None, map(shutil.which, ("firefox-esr", "firefox"))), None)
DEADLINE = 60.0
ENTER = "\ue007"
# Nothing but loopback can be reached: all else would go through a proxy that is not there.
PREFERENCES = """
user_pref("network.proxy.type", 1);
user_pref("network.proxy.http", "127.0.0.1");
user_pref("network.proxy.http_port", 9);
user_pref("network.proxy.ssl", "127.0.0.1");
user_pref("network.proxy.ssl_port", 9);
user_pref("intl.accept_languages", "en-GB");
"""
PICTURE = Path(__file__).parent.parent / "teamchat_web" / "client" / "icons" / "icon-192.png"

Serve = Callable[..., Any]
pytestmark = pytest.mark.skipif(FIREFOX is None, reason="there is no Firefox on this machine")


class Firefox:
    """A session of WebDriver BiDi."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self.wrong: list[str] = []
        self._stream = stream
        self._talk = WSConnection(ConnectionType.CLIENT)
        self._text = ""
        self._asked = 0

    async def open(self, host: str) -> None:
        await self._stream.send_all(self._talk.send(Request(host=host, target="/session")))
        assert isinstance(await self._event(), AcceptConnection)
        await self.ask("session.new", capabilities={})
        await self.ask("session.subscribe", events=["log.entryAdded"])

    async def ask(self, method: str, **params: Any) -> Any:
        """Send a command and return its result."""
        self._asked += 1
        command = {"id": self._asked, "method": method, "params": params}
        await self._stream.send_all(self._talk.send(TextMessage(json.dumps(command))))
        while (answer := await self._message()).get("id") != self._asked:
            if answer.get("method") == "log.entryAdded" and answer["params"]["level"] == "error":
                self.wrong.append(answer["params"]["text"])
        assert answer["type"] == "success", answer
        return answer["result"]

    async def page(self, url: str) -> Page:
        """Open an address in a tab that shares nothing with others."""
        owner = (await self.ask("browser.createUserContext"))["userContext"]
        context = (await self.ask("browsingContext.create", type="tab", userContext=owner))["context"]
        await self.ask("browsingContext.navigate", context=context, url=url, wait="complete")
        return Page(self, context)

    async def _message(self) -> Any:
        while not isinstance(event := await self._event(), TextMessage) or not event.message_finished:
            self._text += event.data if isinstance(event, TextMessage) else ""
        whole, self._text = self._text + event.data, ""
        return json.loads(whole)

    async def _event(self) -> Any:
        while (event := next(self._talk.events(), None)) is None:
            self._talk.receive_data(await self._stream.receive_some() or None)
        assert isinstance(event, AcceptConnection | Message), event
        return event


class Page:
    """A tab, and what a person does in it."""

    def __init__(self, firefox: Firefox, context: str) -> None:
        self._firefox = firefox
        self._context = context

    async def find(self, expression: str) -> Any:
        """Evaluate until the value is true, and return it as BiDi tells it."""
        with trio.fail_after(DEADLINE):
            while True:
                answer = await self._firefox.ask(
                    "script.evaluate",
                    expression=expression,
                    target={"context": self._context},
                    awaitPromise=True,
                )
                assert answer["type"] == "success", answer
                found = answer["result"]
                if found["type"] == "node" or found.get("value"):
                    return found
                await trio.sleep(0.05)

    async def sees(self, text: str) -> None:
        """Wait until a message holds a text and is no longer on its way."""
        await self.find(f"""[...document.querySelectorAll("article:not(.pending)")]
          .some((article) => article.textContent.includes({json.dumps(text)}))""")

    async def click(self, selector: str) -> None:
        """Press the first of what a selector finds."""
        await self.find(f"(() => {{ const one = {query(selector)}; one?.click(); return Boolean(one); }})()")

    async def write(self, selector: str, text: str) -> None:
        """Type a text into a field, and Enter."""
        await self.find(
            f"(() => {{ {query(selector)}?.focus(); return document.hasFocus() && "
            f"document.activeElement === {query(selector)}; }})()"
        )
        keys = [{"type": kind, "value": key} for key in text + ENTER for kind in ("keyDown", "keyUp")]
        await self._firefox.ask(
            "input.performActions",
            context=self._context,
            actions=[{"type": "key", "id": "keyboard", "actions": keys}],
        )

    async def choose(self, selector: str, file: Path) -> None:
        """Give a file to a field for files."""
        node = await self.find(query(selector))
        element = {"sharedId": node["sharedId"]}
        await self._firefox.ask("input.setFiles", context=self._context, element=element, files=[str(file)])

    async def reload(self) -> None:
        await self._firefox.ask("browsingContext.reload", context=self._context, wait="complete")


def query(selector: str) -> str:
    return f"document.querySelector({json.dumps(selector)})"


def prepare(home: Path) -> None:
    home.mkdir()
    (home / "user.js").write_text(PREFERENCES)


@asynccontextmanager
async def started(home: Path) -> AsyncIterator[Firefox]:
    """Run Firefox without a window; what its pages said was wrong fails the test."""
    prepare(home)
    process = await trio.lowlevel.open_process(
        [str(FIREFOX), "--headless", "--no-remote", "--profile", str(home), "--remote-debugging-port", "0"],
        env={"HOME": str(home), "PATH": "/usr/bin:/bin"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        with trio.fail_after(DEADLINE):
            host, port = await address(process)
        async with trio.open_nursery() as nursery, await trio.open_tcp_stream(host, port) as stream:
            nursery.start_soon(unread, process)
            firefox = Firefox(stream)
            await firefox.open(f"{host}:{port}")
            yield firefox
            nursery.cancel_scope.cancel()
        assert not firefox.wrong
    finally:
        process.kill()
        with trio.CancelScope(shield=True):
            await process.wait()
        assert process.stderr is not None
        await process.stderr.aclose()


async def address(process: trio.Process) -> tuple[str, int]:
    assert process.stderr is not None
    said = ""
    async for piece in process.stderr:
        said += piece.decode(errors="replace")
        if "listening on ws://" in said and said.endswith("\n"):
            host, _, port = said.partition("listening on ws://")[2].splitlines()[0].partition(":")
            return host, int(port)
    raise AssertionError(f"Firefox has ended: {said}")


async def unread(process: trio.Process) -> None:
    """Take what Firefox says from now on, or it would wait."""
    assert process.stderr is not None
    async for _ in process.stderr:
        pass


async def test_people_sign_in_talk_and_send_an_image(serve: Serve, tmp_path: Path) -> None:
    server = serve()
    token = server.token("grace@example.org")
    async with started(tmp_path / "firefox") as firefox:
        page = await firefox.page(server.base)
        await page.write("input[name=email]", ADMIN)
        await page.find("document.documentElement.clientWidth === innerWidth")  # no scroll bar beside it
        await page.write("main textarea", "Hello *from* Firefox")
        await page.sees("Hello from Firefox")

        with server.client(token) as client:
            [channel] = client.get("/channels").json()["channels"]
            [message] = client.get(f"/channels/{channel['id']}/messages").json()["messages"]
        assert message["content"] == "Hello *from* Firefox"
        server.post(f"/channels/{channel['id']}/messages", {"content": "Hello from elsewhere"}, token)
        await page.sees("Hello from elsewhere")

        server.post(f"/messages/{message['id']}/thread", {"content": "A first reply"}, token)
        await page.click("button.thread-link")
        await page.write(".thread textarea", "A second one")
        await page.find("document.querySelectorAll('.thread .timeline article:not(.pending)').length >= 2")
        await page.click(".thread .bar button")

        await page.choose("main input[type=file]", PICTURE)
        await page.find("document.querySelector('.preview img')?.naturalWidth > 0")
        await page.write("main textarea", "A picture")
        await page.find("document.querySelector('article:not(.pending) .images img')?.naturalWidth === 192")
        await page.reload()
        for text in ("Hello from Firefox", "Hello from elsewhere", "A picture", "2 replies"):
            await page.sees(text)
