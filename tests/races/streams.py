"""Clients that read their stream, are cut anywhere, and resume at whichever server."""

from __future__ import annotations

import json
import re
from random import Random
from typing import Any

import trio

from tests.races.house import House

_FRAME = re.compile(r"id: ([0-9]+)\ndata: (.*)")


class Reader:
    """One user's stream: the events that came, each with its place in the log."""

    def __init__(self, house: House, user: str, chance: Random) -> None:
        self.user = user
        self.events: list[tuple[int, dict[str, Any]]] = []
        self.is_refused = False
        self._house = house
        self._chance = chance
        self._last = ""
        self._cut = trio.CancelScope()
        self._heard = trio.Event()

    async def run(self) -> None:
        """Read until the user's session has ended."""
        while not self.is_refused:
            with trio.CancelScope() as self._cut:
                await self._read()
            await trio.lowlevel.checkpoint()

    async def connected(self) -> None:
        """Wait until CONNECTED has come: nothing is missed from then on."""
        while not self._last:
            await self._heard.wait()

    def cut(self) -> None:
        """Drop the connection, wherever it is."""
        self._cut.cancel()

    async def until(self, content: str) -> None:
        """Wait for the message with this text, or for the stream to be refused."""
        while not self.has_heard(content):
            await self._heard.wait()

    def has_heard(self, content: str) -> bool:
        """Whether the message with this text has come, or none will, for the stream is refused."""
        return self.is_refused or any(event["payload"].get("content") == content for _, event in self.events)

    async def _read(self) -> None:
        text, is_over = "", False

        async def receive() -> dict[str, Any]:
            await trio.sleep_forever()
            raise AssertionError

        async def send(message: dict[str, Any]) -> None:
            nonlocal text
            if is_over:
                return
            if message["type"] == "http.response.start":
                self.is_refused = message["status"] == 401
                assert self.is_refused or message["status"] == 200, message["status"]
                return
            *frames, text = (text + message["body"].decode()).split("\n\n")
            for frame in frames:
                self._keep(frame)

        query = f"token={self._house.tokens[self.user]}&lastEventId={self._last}"
        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": "GET",
            "path": "/events",
            "query_string": query.encode(),
            "headers": [],
            "client": ("192.0.2.1", 1),
            "extensions": {},
        }
        try:
            await self._chance.choice(self._house.sites)(scope, receive, send)
        finally:
            is_over = True
            self._tell()

    def _keep(self, frame: str) -> None:
        if (found := _FRAME.fullmatch(frame)) is None:
            return
        self._last, event = found[1], json.loads(found[2])
        if event["type"] != "CONNECTED":
            self.events.append((int(found[1]), event))
        self._tell()

    def _tell(self) -> None:
        self._heard.set()
        self._heard = trio.Event()
