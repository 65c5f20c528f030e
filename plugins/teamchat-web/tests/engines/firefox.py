"""Firefox, by WebDriver BiDi, which it has built in: keys and files reach the page as a person's do."""

from __future__ import annotations

import base64
import json
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, Message, Request, TextMessage

from .page import DEADLINE, Page, Started, key_actions, query, wait_for

FIREFOX = next(filter(None, map(shutil.which, ("firefox-esr", "firefox"))), None)
# Nothing but loopback can be reached: all else would go through a proxy that is not there. Without a screen
# there is no mouse either; it is to be as with one (6: fine, and can hover).
PREFERENCES = """
user_pref("network.proxy.type", 1);
user_pref("network.proxy.http", "127.0.0.1");
user_pref("network.proxy.http_port", 9);
user_pref("network.proxy.ssl", "127.0.0.1");
user_pref("network.proxy.ssl_port", 9);
user_pref("intl.accept_languages", "en-GB");
user_pref("ui.primaryPointerCapabilities", 6);
user_pref("ui.allPointerCapabilities", 6);
"""
LISTENING = re.compile(r"listening on ws://(.+):(\d+)\n")


class Firefox(Started):
    """A session of WebDriver BiDi."""

    name = "firefox"

    def __init__(self, stream: socket.socket, host: str) -> None:
        self._stream = stream
        self._talk = WSConnection(ConnectionType.CLIENT)
        self._text = ""
        self._asked = 0
        self._wrong: list[str] = []
        self._stream.sendall(self._talk.send(Request(host=host, target="/session")))
        assert isinstance(self._event(), AcceptConnection)
        self.ask("session.new", capabilities={})
        self.ask("session.subscribe", events=["log.entryAdded"])

    @staticmethod
    def missing() -> str | None:
        return None if FIREFOX else "there is no Firefox on this machine"

    @classmethod
    @contextmanager
    def started(cls, home: Path) -> Iterator[Firefox]:
        (home / "user.js").write_text(PREFERENCES)
        said = home / "said"
        command = [str(FIREFOX), "--headless", "--no-remote", "--profile", str(home)]
        with said.open("w") as file:
            process = subprocess.Popen(
                [*command, "--remote-debugging-port", "0"],
                env={"HOME": str(home), "PATH": "/usr/bin:/bin"},
                stdout=subprocess.DEVNULL,
                stderr=file,
            )
        try:
            host, port = wait_for(lambda: LISTENING.search(said.read_text()), "Firefox's port").groups()
            with socket.create_connection((host, int(port)), DEADLINE) as stream:
                yield cls(stream, f"{host}:{port}")
        finally:
            process.kill()
            process.wait()

    def ask(self, method: str, **params: Any) -> Any:
        """Send a command and return its result."""
        self._asked += 1
        command = {"id": self._asked, "method": method, "params": params}
        self._stream.sendall(self._talk.send(TextMessage(json.dumps(command))))
        while (answer := self._message()).get("id") != self._asked:
            if answer.get("method") == "log.entryAdded" and answer["params"]["level"] == "error":
                self._wrong.append(answer["params"]["text"])
        assert answer["type"] == "success", answer
        return answer["result"]

    def page(self, url: str) -> Page:
        owner = self.ask("browser.createUserContext")["userContext"]
        context = self.ask("browsingContext.create", type="tab", userContext=owner)["context"]
        self.ask("browsingContext.navigate", context=context, url=url, wait="complete")
        return _Page(self, context)

    def wrong(self) -> list[str]:
        return self._wrong

    def _message(self) -> Any:
        while not isinstance(event := self._event(), TextMessage) or not event.message_finished:
            self._text += event.data if isinstance(event, TextMessage) else ""
        whole, self._text = self._text + event.data, ""
        return json.loads(whole)

    def _event(self) -> Any:
        while (event := next(self._talk.events(), None)) is None:
            self._talk.receive_data(self._stream.recv(65536) or None)
        assert isinstance(event, AcceptConnection | Message), event
        return event


class _Page(Page):
    def __init__(self, firefox: Firefox, context: str) -> None:
        self._firefox = firefox
        self._context = context

    def evaluate(self, expression: str) -> Any:
        value = f"(async () => JSON.stringify(await ({expression})))()"
        return json.loads(self._evaluated(value).get("value", "null"))

    def type(self, keys: str) -> None:
        self._ask("input.performActions", actions=key_actions(keys))

    def choose(self, selector: str, file: Path) -> None:
        self.there(selector)
        element = {"sharedId": self._evaluated(query(selector))["sharedId"]}
        self._ask("input.setFiles", element=element, files=[str(file)])

    def reload(self) -> None:
        self._ask("browsingContext.reload", wait="complete")

    def screenshot(self) -> bytes:
        return base64.b64decode(self._ask("browsingContext.captureScreenshot")["data"])

    def _evaluated(self, expression: str) -> Any:
        target = {"context": self._context}
        answer = self._firefox.ask("script.evaluate", expression=expression, target=target, awaitPromise=True)
        assert answer["type"] == "success", answer
        return answer["result"]

    def _ask(self, method: str, **params: Any) -> Any:
        return self._firefox.ask(method, context=self._context, **params)
