"""The event stream, read byte by byte from a socket of its own.

Every byte that came is kept with its time, so frames can be judged as they were sent;
reading can be stopped and taken up again; and nothing is concluded from silence alone: that an event did not
come is shown by another one, a fence, that was sent after it and has come.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

import h11
import trio

from teamchat_conformance import __version__
from teamchat_conformance.expect import Told
from teamchat_conformance.http import Recorder
from teamchat_conformance.verdicts import Miss


@dataclass(frozen=True)
class Event:
    """One event as it came. `lines` are the frame's, without line ends; `at` is in seconds of the run."""

    type: str
    payload: Any
    data: str
    lines: tuple[str, ...]
    at: float
    id: str | None = None


class Parser:
    """Turns the bytes of ``text/event-stream`` into frames of lines (HTML standard, section 9.2.6)."""

    def __init__(self) -> None:
        self._rest = ""
        self._lines: list[str] = []
        self._begun = False
        self._pending = b""

    def feed(self, data: bytes) -> list[tuple[str, ...]]:
        """Take bytes and return the frames that have ended: each the lines up to an empty one."""
        self._pending += data
        try:
            text, self._pending = self._pending.decode("utf-8"), b""
        except UnicodeDecodeError as error:
            if len(self._pending) - error.start >= 4:
                raise Miss("the stream is not UTF-8") from None
            text = self._pending[: error.start].decode("utf-8")
            self._pending = self._pending[error.start :]
        if not self._begun and text:
            text, self._begun = text.removeprefix("\ufeff"), True
        return self._split(self._rest + text)

    def _split(self, text: str) -> list[tuple[str, ...]]:
        frames: list[tuple[str, ...]] = []
        while True:
            end = next((at for at, c in enumerate(text) if c in "\r\n"), None)
            if end is None or (text[end] == "\r" and end + 1 == len(text)):
                break
            line, width = text[:end], 2 if text[end : end + 2] == "\r\n" else 1
            text = text[end + width :]
            if line:
                self._lines.append(line)
            else:
                frames.append(tuple(self._lines))
                self._lines = []
        self._rest = text
        return frames


def field_of(line: str) -> tuple[str, str]:
    """Return name and value of a line of a frame; a comment has the empty name."""
    name, _, value = line.partition(":")
    return name, value.removeprefix(" ")


class Observer:
    """One open stream and everything that came through it.

    `resumes` tells whether it asked for ids (decision D-34), `was_held` whether reading was ever stopped.
    """

    def __init__(self, name: str, user_id: str, recorder: Recorder) -> None:
        self.name = name
        self.user_id = user_id
        self.events: list[Event] = []
        self.comments: list[tuple[float, str]] = []
        self.odd_frames: list[tuple[str, ...]] = []
        self.pieces: list[tuple[float, bytes]] = []
        self.status = 0
        self.headers: list[tuple[str, str]] = []
        self.ended_at: float | None = None
        self.ended_properly = False
        self.reading = trio.Event()
        self.reading.set()
        self.was_held = False
        self.resumes = False
        self.watchers: list[Callable[[Observer, Event], None]] = []
        self._recorder = recorder
        self._changed = trio.Event()
        self._parser = Parser()

    @property
    def last_id(self) -> str | None:
        """The id of the last event that had one."""
        return next((event.id for event in reversed(self.events) if event.id is not None), None)

    def mark(self) -> int:
        """Return a place in the list of events; `since` and `expect` look at what comes after it."""
        return len(self.events)

    def since(self, mark: int, kind: str | None = None, **fields: Any) -> list[Event]:
        """Return the events after `mark` of a type whose payload has these fields."""
        return [event for event in self.events[mark:] if _fits(event, kind, fields)]

    async def expect(self, kind: str, *, since: int = 0, seconds: float = 5.0, **fields: Any) -> Event:
        """Wait for an event and return it. Raises `Miss` if it does not come in time."""
        with trio.move_on_after(seconds):
            while True:
                if found := self.since(since, kind, **fields):
                    return found[0]
                if self.ended_at is not None:
                    raise Miss(f"{self.name}: the stream ended before {kind} {_shown(fields)} came")
                await self.change()
        came = ", ".join(event.type for event in self.events[since:]) or "nothing"
        raise Miss(f"{self.name}: no {kind} {_shown(fields)} within {seconds:g} s; came: {came}")

    async def ended(self, seconds: float) -> None:
        """Wait for the stream's end. Raises `Miss` if it stays open."""
        with trio.move_on_after(seconds):
            while self.ended_at is None:
                await self.change()
        if self.ended_at is None:
            raise Miss(f"{self.name}: the stream was still open after {seconds:g} s")

    def hold(self) -> None:
        """Read no more until `release`, so that the server can't write."""
        self.reading, self.was_held = trio.Event(), True

    def release(self) -> None:
        """Read on."""
        self.reading.set()

    async def change(self) -> None:
        """Wait until something has come, or the stream has ended."""
        await self._changed.wait()

    def take(self, data: bytes) -> None:
        """Take bytes of the body."""
        now = self._recorder.now()
        self.pieces.append((now, data))
        for lines in self._parser.feed(data):
            self._take_frame(lines, now)
        self._tell()

    def finish(self, *, properly: bool) -> None:
        """The stream has ended: `properly` with its last chunk, or cut off."""
        if self.ended_at is None:
            self.ended_at = self._recorder.now()
            self.ended_properly = properly
            self._tell()

    def _take_frame(self, lines: tuple[str, ...], now: float) -> None:
        fields = [field_of(line) for line in lines]
        self.comments += [(now, value) for name, value in fields if not name]
        data = "\n".join(value for name, value in fields if name == "data")
        if not any(name == "data" for name, _ in fields):
            return
        try:
            told = json.loads(data, object_pairs_hook=Told)
            event = Event(
                told["type"],
                told.get("payload"),
                data,
                lines,
                now,
                next((value for name, value in fields if name == "id"), None),
            )
        except (ValueError, TypeError, AttributeError, Miss):
            self.odd_frames.append(lines)
            return
        self.events.append(event)
        for watcher in self.watchers:
            watcher(self, event)

    def _tell(self) -> None:
        self._changed.set()
        self._changed = trio.Event()


@asynccontextmanager
async def listening(
    base_url: str,
    recorder: Recorder,
    *,
    name: str,
    user_id: str = "",
    token: str | None = None,
    in_query: bool = False,
    query: str = "",
    headers: Sequence[tuple[str, str]] = (),
    source_address: str | None = None,
    receive_buffer: int | None = None,
    verify_tls: bool = True,
    half_close: bool = False,
    accept: str | None = "text/event-stream",
    seconds: float = 10.0,
) -> AsyncIterator[Observer]:
    """Open ``GET /events`` and read it in the background until the context is left.

    The observer is given once the response's headers have come, whatever the status; the first event may
    still be on its way.  `in_query` sends the token as the parameter ``token``; `half_close` says after the
    request that nothing more will be sent (plain TCP only).
    """
    observer = Observer(name, user_id, recorder)
    observer.resumes = "lastEventId=" in query or any(key.lower() == "last-event-id" for key, _ in headers)
    parts = urlsplit(base_url)
    asked = [query] if query else []
    given = [("Host", parts.netloc), ("User-Agent", _agent(recorder))]
    if accept is not None:
        given.append(("Accept", accept))
    if token is not None and in_query:
        asked.append(f"token={quote(token, safe='')}")
    elif token is not None:
        given.append(("Authorization", f"Bearer {token}"))
    given += headers
    target = f"{parts.path.rstrip('/')}/events" + ("?" + "&".join(asked) if asked else "")
    exchange = recorder.begin(name, "GET", target, given, b"")
    stream = await _connect(parts, source_address, receive_buffer, verify_tls, seconds)
    reader = h11.Connection(our_role=h11.CLIENT)
    opened = trio.Event()
    raised: Exception | None = None
    async with trio.open_nursery() as nursery:
        try:
            await stream.send_all(reader.send(h11.Request(method="GET", target=target, headers=given)))
            await stream.send_all(reader.send(h11.EndOfMessage()))
            if half_close and isinstance(stream, trio.SocketStream):
                await stream.send_eof()
            nursery.start_soon(_read, stream, reader, observer, opened)
            with trio.move_on_after(seconds):
                await opened.wait()
            exchange.status, exchange.headers = observer.status, observer.headers
            if not observer.status:
                raise Miss(f"{name}: GET /events gave no answer within {seconds:g} s")
            yield observer
        except Exception as error:  # closing must neither hide what was raised nor wrap it in a group
            raised = error
        finally:
            exchange.ended = recorder.now()
            exchange.body = b"".join(data for _, data in observer.pieces)[:16_384]
            await trio.aclose_forcefully(stream)
            nursery.cancel_scope.cancel()
    if raised is not None:
        raise raised


async def _connect(
    parts: Any, source_address: str | None, receive_buffer: int | None, verify_tls: bool, seconds: float
) -> trio.abc.Stream:
    secure = parts.scheme == "https"
    try:
        with trio.fail_after(seconds):
            stream = await trio.open_tcp_stream(
                parts.hostname, parts.port or (443 if secure else 80), local_address=source_address
            )
            if receive_buffer is not None:
                stream.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_RCVBUF, receive_buffer)
            if not secure:
                return stream
            context = ssl.create_default_context()
            if not verify_tls:
                context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            return trio.SSLStream(stream, context, server_hostname=parts.hostname, https_compatible=True)
    except (OSError, trio.TooSlowError) as error:
        raise Miss(f"GET /events: can't connect ({type(error).__name__})") from error


async def _read(
    stream: trio.abc.Stream, reader: h11.Connection, observer: Observer, opened: trio.Event
) -> None:
    try:
        while True:
            event = reader.next_event()
            if event is h11.NEED_DATA:
                await observer.reading.wait()
                reader.receive_data(bytes(await stream.receive_some(65_536)))
            elif isinstance(event, h11.Response):
                observer.status = event.status_code
                observer.headers = [(name.decode(), value.decode("latin1")) for name, value in event.headers]
                opened.set()
            elif isinstance(event, h11.Data):
                observer.take(bytes(event.data))
            elif isinstance(event, h11.EndOfMessage):
                observer.finish(properly=True)
                return
            elif isinstance(event, h11.ConnectionClosed):
                return
    except (h11.RemoteProtocolError, trio.BrokenResourceError, trio.ClosedResourceError, OSError):
        return
    finally:
        observer.finish(properly=False)
        opened.set()


def _agent(recorder: Recorder) -> str:
    return f"teamchat-conformance/{__version__} ({recorder.run_id})"


def _fits(event: Event, kind: str | None, fields: dict[str, Any]) -> bool:
    if kind is not None and event.type != kind:
        return False
    if not fields:
        return True
    return isinstance(event.payload, dict) and all(
        key in event.payload and event.payload[key] == value for key, value in fields.items()
    )


def _shown(fields: dict[str, Any]) -> str:
    return json.dumps(fields) if fields else ""
