"""The proxy itself: its address, its faults, and what it has learned from what passed."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from typing import Any, Self
from urllib.parse import urlsplit

import h11
import trio

from conformance.tests.proxy.asking import Answer, Ask, Fault, Forward, subject_of
from conformance.tests.proxy.connection import Connection, StreamOpened, ask_upstream
from conformance.tests.proxy.streams import Frame, Listener

_SECONDS = 30.0


class Proxy:
    """Stands before the server at `upstream`, with some faults.

    What was seen in answers is kept for faults: who made what, and a token that was good of everybody.
    """

    def __init__(self, upstream: str, faults: Sequence[Fault] = ()) -> None:
        self.upstream = urlsplit(upstream)
        self.faults = tuple(faults)
        self.base_url = ""
        self.stands_in_the_stream = any(
            fault.hear or fault.match("GET", "/events") is not None for fault in faults
        )
        self.listeners: list[Listener] = []
        self.admin = ""
        """The access token that was used first: the suite signs its admin in before anybody else."""
        self.tokens: dict[str, str] = {}
        self.seen: dict[str, dict[str, Any]] = {}
        self.kept: dict[Any, Any] = {}
        """What faults keep for themselves."""

    @classmethod
    @asynccontextmanager
    async def serving(cls, upstream: str, faults: Sequence[Fault] = ()) -> AsyncIterator[Self]:
        """Serve on a free port of the loopback address until the context is left."""
        proxy = cls(upstream, faults)
        async with trio.open_nursery() as nursery:

            async def serve(stream: trio.SocketStream) -> None:
                await Connection(proxy, stream).serve()

            listeners = await nursery.start(_serve_tcp, serve)
            proxy.base_url = f"http://127.0.0.1:{listeners[0].socket.getsockname()[1]}"
            yield proxy
            nursery.cancel_scope.cancel()

    async def connect(self, source: str) -> trio.SocketStream:
        """Connect to the server from the address that the client has: its limits count by it."""
        host, port = self.upstream.hostname or "", self.upstream.port or 80
        return await trio.open_tcp_stream(host, port, local_address=source, happy_eyeballs_delay=math.inf)

    def wants(self, method: str, path: str) -> bool:
        """Return whether some fault is to see a request."""
        return any(fault.learns or fault.match(method, path) is not None for fault in self.faults)

    async def answer(self, ask: Ask) -> Answer:
        """Let the faults answer, each by way of the next."""
        return await self._after(0)(ask)

    def _after(self, number: int) -> Forward:
        async def forward(ask: Ask) -> Answer:
            for place, fault in enumerate(self.faults[number:], start=number):
                params = fault.match(ask.method, ask.path)
                if params is not None and fault.handle is not None:
                    return await fault.handle(replace(ask, params=params), self._after(place + 1))
            return await self.send(ask)

        return forward

    async def send(self, ask: Ask) -> Answer:
        """Ask the server, and learn from what it says."""
        stream = await self.connect(ask.source)
        is_stream = False
        try:
            with trio.fail_after(_SECONDS):
                answer = await ask_upstream(stream, ask)
        except StreamOpened:
            is_stream = True
            raise
        finally:
            if not is_stream:
                await trio.aclose_forcefully(stream)
        if answer.ok:
            told = answer.json
            given = told.get("accessToken", told.get("token")) if isinstance(told, dict) else None
            self._learn_token(ask.token)
            self._learn_token(given if isinstance(given, str) else "")
            self._learn(told)
        return answer

    def _learn_token(self, token: str) -> None:
        if user_id := subject_of(token):
            self.admin = self.admin or token
            self.tokens[user_id] = token

    async def ask(self, method: str, target: str, token: str = "", body: Any = None) -> Answer:
        """Ask the server something of the proxy's own."""
        headers = [("Host", self.upstream.netloc), ("Authorization", f"Bearer {token or self.admin}")]
        blank = Ask(self, method, target, headers, b"", "127.0.0.1")
        if body is not None:
            blank = replace(blank, headers=[*headers, ("Content-Type", "application/json")]).saying(**body)
        return await self.send(blank)

    def author_token(self, id: str) -> str:
        """Return a token of whoever wrote a message that was seen, or an empty text."""
        author = self.seen.get(id, {}).get("author")
        return self.tokens.get(author.get("id", ""), "") if isinstance(author, dict) else ""

    def _learn(self, told: Any) -> None:
        if isinstance(told, dict):
            if isinstance(told.get("id"), str):
                self.seen[told["id"]] = {**self.seen.get(told["id"], {}), **told}
            for value in told.values():
                self._learn(value)
        elif isinstance(told, list):
            for item in told:
                self._learn(item)

    @contextmanager
    def listening(
        self, user_id: str, resumes: bool, stream: trio.abc.Stream, writer: h11.Connection
    ) -> Iterator[Listener]:
        """Keep an open stream among the others."""
        listener = Listener(user_id, resumes, stream, writer, self.listeners, self.kept)
        self.listeners.append(listener)
        try:
            yield listener
        finally:
            self.listeners.remove(listener)

    async def hear(self, listener: Listener, frame: Frame) -> list[Frame]:
        """Let the faults say what is heard in place of a frame."""
        frames = [frame]
        for fault in self.faults:
            if fault.hear is not None:
                frames = [told for one in frames for told in fault.hear(listener, one)]
        while listener.send_to_others:
            other, told = listener.send_to_others.pop()
            with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
                await other.send([told])
        return frames


async def _serve_tcp(serve: Any, task_status: trio.TaskStatus[list[trio.SocketListener]]) -> None:
    await trio.serve_tcp(serve, 0, host="127.0.0.1", backlog=512, task_status=task_status)
