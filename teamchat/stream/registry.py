"""How many streams a user has in all processes: at most ``events.maxStreamsPerUser`` (decision D-37).

Within a process `Subscriptions` enforces the limit, at once and by itself; the registry is for the others.

* While this process is alone, the registry writes nothing. With others, it writes the table of open streams,
  a few hundred per transaction, one transaction at a time: ten thousand streams at once cost a few dozen.
* Opening and closing a stream never waits for it, and no failure of the storage reaches a stream.
* Whoever writes a stream beyond the limit also announces, in that transaction and in the log, which streams
  end for it: the user's oldest, wherever they are. Each process ends its own among these.
* When a member dies, its rows are removed with it. Until then, for half a minute or so, its streams still
  count.

"Oldest" is decided by the clocks of several machines. If they are a second apart, a stream may be taken for
older than one opened a second before it. Nothing else depends on clocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import count, islice
from typing import TYPE_CHECKING, Any

import trio

from teamchat.events import DisplacedStream, StreamsDisplaced
from teamchat.observability.logs import get_logger
from teamchat.observability.outages import Outage
from teamchat.storage.statements import chunks, flat, in_pieces, values

if TYPE_CHECKING:
    from teamchat.cluster import Members
    from teamchat.interfaces import Storage, Transaction
    from teamchat.stream.stream import Stream

GATHER_SECONDS = 0.2
"""How long what happens to streams is gathered before it is written."""
MOST_AT_ONCE = 512
"""How many streams one transaction deals with: on SQLite that is a few milliseconds."""
_PAUSES = (1.0, 30.0)  # after a failure: the first, the longest

_log = get_logger(__name__)


class NoRegistry:
    """The registry of a hub that serves alone: nothing is counted, and nobody asks for anything."""

    is_shared = False

    async def run(self) -> None:
        """There is nothing to write."""

    def opened(self, stream: Stream) -> int:  # noqa: ARG002
        """Take a stream up, and return the number it has from now on."""
        return 0

    def closed(self, number: int) -> None:
        """A stream has ended."""

    def somebody_joined(self) -> None:
        """Another process began to serve the same storage."""

    def own(self, streams: Iterable[Mapping[str, Any]]) -> Sequence[Stream]:  # noqa: ARG002
        """Return those of the named streams that are open here."""
        return ()


class StreamRegistry:
    """The open streams of this process, as the others are told of them."""

    def __init__(self, storage: Storage, members: Members, most_a_user: int) -> None:
        self._storage = storage
        self._members = members
        self._most_a_user = most_a_user
        self._numbers = count(1)
        self._open: dict[int, Stream] = {}
        self.is_shared = False
        """Whether other processes serve the same storage, as far as is known."""
        self._unwritten: dict[int, None] = {}
        self._written: set[int] = set()  # those that may have a row
        self._ended: set[int] = set()  # and were closed since
        self._news = trio.Event()

    async def run(self) -> None:
        """Beat as a member, and write what happens to streams, until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._members.run, self._looked)
            self._looked(was_removed=False)
            await self._write()

    def opened(self, stream: Stream) -> int:
        """Take a stream up, and return the number it has from now on."""
        number = next(self._numbers)
        self._open[number] = stream
        if self.is_shared:
            self._unwritten[number] = None
            self._news.set()
        return number

    def closed(self, number: int) -> None:
        """A stream has ended."""
        if self._open.pop(number, None) is None:
            return
        self._unwritten.pop(number, None)
        if number in self._written:
            self._written.discard(number)
            self._ended.add(number)
            self._news.set()

    def somebody_joined(self) -> None:
        """Another process began to serve the same storage."""
        self._members.look_soon()

    def own(self, streams: Iterable[Mapping[str, Any]]) -> Sequence[Stream]:
        """Return those of the named streams that are open here."""
        numbers = [one["number"] for one in streams if one["memberId"] == self._members.id]
        return [self._open[number] for number in numbers if number in self._open]

    def _looked(self, was_removed: bool) -> None:
        """Begin to write when others have come, and when this process's rows were removed with it."""
        is_shared = self._members.others > 0
        if is_shared and (was_removed or not self.is_shared):
            self._unwritten = dict.fromkeys(self._open)
            self._ended.difference_update(self._open)  # Others may still have a row, written meanwhile.
        elif self.is_shared and not is_shared:
            self._unwritten = {}
            self._ended |= self._written
            self._written.clear()
        self.is_shared = is_shared
        if self._unwritten or self._ended:
            self._news.set()

    async def _write(self) -> None:
        pause = 0.0
        outage = Outage(_log, "open streams can't be written and will be tried again")
        while True:
            await self._news.wait()
            await trio.sleep(GATHER_SECONDS + pause)
            self._news = trio.Event()
            try:
                await self._write_some()
                while max(len(self._unwritten), len(self._ended)) >= MOST_AT_ONCE:
                    await self._write_some()
                pause = 0.0
                outage.is_over()
                if self._unwritten or self._ended:  # They have just come, and others will: gathered again.
                    self._news.set()
            except Exception as error:
                outage.goes_on(error)
                pause = min(max(2 * pause, _PAUSES[0]), _PAUSES[1])
                self._news.set()

    async def _write_some(self) -> None:
        opened = list(islice(self._unwritten, MOST_AT_ONCE))
        ended = list(islice(self._ended, MOST_AT_ONCE))
        streams = [(number, self._open[number]) for number in opened]
        for number in opened:  # From here on a stream that closes has a row to be removed.
            del self._unwritten[number]
        self._written.update(opened)
        self._ended.difference_update(ended)
        try:
            async with self._storage.write() as tx:
                was_removed = await self._members.enter_in(tx)
                await self._remove_in(tx, ended)
                await self._insert_in(tx, streams)
                displaced = await self._displace_in(tx, sorted({stream.user_id for _, stream in streams}))
        except BaseException:
            self._take_back(opened, ended)
            raise
        if was_removed:
            self._looked(was_removed=True)
        if displaced:
            _log.info("streams make room for newer ones at other processes", count=displaced)

    def _take_back(self, opened: Iterable[int], ended: Iterable[int]) -> None:
        """What could not be written is to be written again, save what closed meanwhile: it may have a row."""
        still_open = [number for number in opened if number in self._open]
        self._written.difference_update(still_open)
        self._unwritten = dict.fromkeys(still_open) | self._unwritten
        self._ended.update(ended)

    async def _remove_in(self, tx: Transaction, ended: Sequence[int]) -> None:
        for listed, piece in chunks(ended, after=1):
            await tx.fetch(
                f"delete from streams where member_id = $1 and number in ({listed})",  # noqa: S608
                self._members.id,
                *piece,
            )

    async def _insert_in(self, tx: Transaction, streams: Sequence[tuple[int, Stream]]) -> None:
        for piece in in_pieces(streams):
            listed = values("($1, {0}, {1}, {2})", 3, len(piece), after=1)
            await tx.fetch(
                f"""insert into streams (member_id, number, user_id, opened_at) values {listed}
                    on conflict (member_id, number) do nothing""",  # noqa: S608
                self._members.id,
                *flat([(number, stream.user_id, stream.opened_at) for number, stream in piece]),
            )

    async def _displace_in(self, tx: Transaction, users: Sequence[str]) -> int:
        """Remove the oldest streams of users who have too many, announce that, and return how many."""
        found = []
        for listed, piece in chunks(users, after=1):
            found += await tx.fetch(
                f"""select member_id, number from (select member_id, number, row_number() over (
                      partition by user_id order by opened_at desc, member_id desc, number desc) as place
                    from streams where user_id in ({listed})) as counted where place > $1""",  # noqa: S608
                self._most_a_user,
                *piece,
            )
        for member, number in found:
            await tx.fetch("delete from streams where member_id = $1 and number = $2", member, number)
        for start in range(0, len(found), MOST_AT_ONCE):
            named = [DisplacedStream(*one) for one in found[start : start + MOST_AT_ONCE]]
            await tx.append(StreamsDisplaced(named).to())
        return len(found)
