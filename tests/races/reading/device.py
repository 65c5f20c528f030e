"""A client that keeps its counts by the stream, as the specification has it (extension D-11).

It asks for all places once, and opens the stream there; it counts what the stream brings, and applies read
states that are newer.  After a break, and whenever who is in what may have changed, it asks for what has
changed since.  Its connection is cut after any number of bytes.
"""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple
from urllib.parse import urlencode

import httpx2
import trio

from teamchat.testing import Events
from tests.races.reading.place import GONE, NEW
from tests.races.reading.site import Site, User

DOUBTFUL = {
    "NEW_CHANNEL",
    "UPDATE_CHANNEL",
    "DELETE_CHANNEL",
    "CHANNEL_MEMBERS_ADDED",
    "CHANNEL_MEMBER_REMOVED",
    "NEW_CONVERSATION",
    "RESYNC",
}
"""After these other places may be one's own: ask again."""
LONGEST = 6000  # bytes that come before a connection is cut, at most


class Cut(Exception):
    """The connection was cut."""


class CutStream(trio.abc.Stream):
    """A connection that is gone after so many bytes, wherever in an event that is."""

    def __init__(self, stream: trio.SocketStream, left: int) -> None:
        self._stream, self._left = stream, left

    async def send_all(self, data: Any) -> None:
        await self._stream.send_all(data)

    async def wait_send_all_might_not_block(self) -> None:
        await self._stream.wait_send_all_might_not_block()

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        if not self._left:
            raise Cut
        data = bytes(await self._stream.receive_some(min(self._left, max_bytes or self._left)))
        self._left -= len(data)
        return data

    async def aclose(self) -> None:
        self._stream.socket.close()


class Known(NamedTuple):
    """A read state as it was told, and the event as of which it holds."""

    state: dict[str, Any]
    as_of: int

    def order(self) -> tuple[Any, ...]:
        """Return what is greater the newer a state is: it is marked as unread by what begins a generation."""
        return (*(self.state[name] for name in ("generation", "position")), not self.state["isMarkedUnread"])


class Device:
    """One of a user's devices."""

    def __init__(self, site: Site, user: User, chance: Random) -> None:
        self.user = user
        self.places: dict[str, Known] = {}
        self.heard: list[tuple[int, dict[str, Any]]] = []
        """READ_STATE and THREAD_STATE events, each with when it came."""
        self.items: list[str] = []
        """The items of the feed, as they were told last."""
        self.is_out = False
        self.changed = trio.Event()
        self.is_kept = False  # Nothing cuts it any more.
        self.connections = 0
        self._site, self._chance = site, chance
        self._query = {"token": user.token, "ephemeral": "read"}
        if chance.random() < 0.5:
            self._query["scope"] = "joined"
        self._brought: list[tuple[int, str, str, str, str]] = []
        self._last = ""
        self._mark = ""
        self._asking = trio.Lock()
        self._connection = trio.CancelScope()
        self._the_end = ""
        self._has_ended = trio.Event()

    def unread(self, place: str) -> int:
        """Count what is unread in a place, without asking."""
        state, as_of = self.places[place]
        count = state["unreadCount"]
        for seq, kind, room, message, author in self._brought:
            if room == place and seq > as_of and author != self.user.id:
                count += 1 if kind in NEW else -(message > state["position"])
        return int(count)

    def generation(self, place: str) -> int | None:
        """Return the generation that it knows of a place."""
        known = self.places.get(place)
        return None if known is None else int(known.state["generation"])

    async def ask(self) -> tuple[int, httpx2.Response]:
        """Ask for what has changed, or for all at first; return when it was asked, and the answer.

        One request at a time: an answer that comes after a later one would tell of places that were left.
        """
        async with self._asking:
            start = self._site.tick()
            path = "/me/places" + (f"?since={self._mark}" if self._mark else "")
            answer = await self._site.ask(self.user, "GET", path)
            if answer.status_code == 401:
                self.is_out = True
                self._has_ended.set()
            else:
                self._take_overview(answer.json())
            return start, answer

    def _take_overview(self, told: dict[str, Any]) -> None:
        for state in told["places"]:
            self._apply(Known(state, int(told["asOf"])))
        for place in told["left"]:
            self.places.pop(place, None)
        self._last, self._mark = self._last or told["asOf"], told["mark"]
        self._tell()

    def cut(self) -> None:
        """Drop the connection now."""
        if not self.is_kept:
            self._connection.cancel()

    async def run(self, the_end: str) -> None:
        """Ask, and read the stream until the user is gone, again and again from where it was cut."""
        self._the_end = the_end
        while not self.is_out:
            with trio.CancelScope() as self._connection:
                try:
                    await self._read()
                except (Cut, trio.BrokenResourceError):
                    await trio.lowlevel.checkpoint()
                except AssertionError:  # Refused, or ended by the server: because there is no such user?
                    await self.ask()
                for _ in range(self._chance.choice((0, 0, 5, 60))):
                    await trio.lowlevel.checkpoint()

    async def _read(self) -> None:
        if not self._last:
            await self.ask()
        left = 1 << 30 if self.is_kept else self._chance.randrange(1, self._chance.choice((400, LONGEST)))
        target = f"/events?{urlencode(self._query | {'lastEventId': self._last})}"
        stream = CutStream(await trio.open_tcp_stream(self._site.host, self._site.port), left)
        try:
            events = Events(stream, target)
            await events.open()
            self.connections += 1
            await self.ask()  # What was signalled before has gone by.
            while True:
                await self._take(await events.next(), events.last_id)
        finally:
            stream._stream.socket.close()

    async def _take(self, event: dict[str, Any], seq: str) -> None:
        kind, told = event["type"], event["payload"]
        if kind == "THREAD_STATE":
            self.heard.append((self._site.tick(), told))
            return
        if kind == "READ_STATE":
            self.heard.append((self._site.tick(), told))
            await self._hear(told)
            return
        if kind in NEW | GONE:
            place = told["conversationId" if kind == "DELETE_DM_MESSAGE" else "channelId"]
            author = told["authorId"] if kind in GONE else told["author"]["id"]
            self._brought.append((int(seq), kind, place, told["id"], author))
        self._last = seq
        if kind in DOUBTFUL:
            await self.ask()
        self._tell()
        if kind == "UPDATE_USER" and told["userName"] == self._the_end:
            self._has_ended.set()

    async def until_the_end(self) -> None:
        """Wait until the stream has told of the end, or the user is out."""
        await self._has_ended.wait()

    async def _hear(self, state: dict[str, Any]) -> None:
        """Apply a read state that was signalled; of a place that one does not know it may be in, ask."""
        if state["placeId"] in self.places:
            self._apply(Known(state, int(state["asOf"])))
            self._tell()
        else:
            await self.ask()

    def _apply(self, told: Known) -> None:
        place = told.state["placeId"]
        known = self.places.get(place)
        if known is None or (known.order(), known.as_of) <= (told.order(), told.as_of):
            self.places[place] = told

    def _tell(self) -> None:
        self.changed.set()
        self.changed = trio.Event()
