"""The event stream event by event: frames as they came, and all who listen."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any

import h11
import trio


@dataclass(frozen=True)
class Frame:
    """One frame as it came, without its end. A comment has no type."""

    raw: bytes
    type: str = ""
    payload: Any = None

    @classmethod
    def read(cls, raw: bytes) -> Frame:
        lines = [line for line in raw.split(b"\n") if line.startswith(b"data:")]
        if not lines:
            return cls(raw)
        told = json.loads(b"\n".join(line[5:] for line in lines))
        return cls(raw, told["type"], told["payload"])

    @classmethod
    def of(cls, kind: str, payload: Any) -> Frame:
        """Return an event that no server sent."""
        return cls(b"", kind).telling(payload)

    @property
    def id_line(self) -> bytes:
        """The line that gives its number, with its end; empty where there is none."""
        return next((line + b"\n" for line in self.raw.split(b"\n") if line.startswith(b"id:")), b"")

    @property
    def data(self) -> str:
        return json.dumps({"type": self.type, "payload": self.payload}, ensure_ascii=False)

    def telling(self, payload: Any) -> Frame:
        """Return the event with another payload."""
        changed = replace(self, payload=payload)
        return replace(changed, raw=self.id_line + f"data: {changed.data}".encode())


@dataclass(eq=False)
class Listener:
    """One open stream through the proxy, and the `others` that are open beside it, itself among them."""

    user_id: str
    resumes: bool
    stream: trio.abc.Stream
    writer: h11.Connection
    others: list[Listener]
    kept: dict[Any, Any]
    """What faults keep for themselves, of streams and of requests."""
    held: list[Frame] = field(default_factory=list)
    heard: set[str] = field(default_factory=set)
    """What has been sent by a fault rather than by the server."""
    send_to_others: list[tuple[Listener, Frame]] = field(default_factory=list)
    """What a fault wants other streams to hear."""
    _sending: trio.Lock = field(default_factory=trio.Lock)

    async def send(self, frames: list[Frame]) -> None:
        data = b"".join(frame.raw + b"\n\n" for frame in frames)
        if data:
            async with self._sending:
                await self.stream.send_all(self.writer.send(h11.Data(data=data)) or b"")


class Splitter:
    """Turns the bytes of a stream into frames."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[bytes]:
        *frames, self._rest = (self._rest + data).split(b"\n\n")
        return frames
