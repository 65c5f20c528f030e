"""The service that keeps the index: it follows the event log, off the path of posts.

One process of the installation does it at a time: it holds a lease on the index's row, which every write of
its own renews; when it dies another takes over once the lease has run out. How far it has come stands in
the same row and is written with the documents, so nothing is lost or done by halves however a process ends.
Whatever it has not done yet, a search sees for itself (`teamchat_search.candidates`).
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING

import trio

from teamchat import StorageError, Transaction
from teamchat.model import now_ms
from teamchat.observability.logs import get_logger
from teamchat.observability.outages import Outage
from teamchat_search.index import ABOVE_ALL, MADE_BY, MOST_TAIL, Index, State
from teamchat_search.matching import fields
from teamchat_search.tokens import Document
from teamchat_search.upkeep import upkeep_of

if TYPE_CHECKING:
    from teamchat import Teamchat

HOLD_MS = 15_000
"""For how long a process holds the index that it does not renew."""
_AGAIN_SECONDS = 2.0
_LOOK_SECONDS = 1.0
"""How often it looks for what is new: a post that comes while this commits waits for the disk twice."""
_GATHER_SECONDS = 0.25
"""How long it waits for more where few wait."""
_RENEW_SECONDS = 5.0
_MOST_REST = 8.0
_EVENTS = 512
_AT_ONCE = 256
"""How many messages are written in one transaction, for which others wait some ten milliseconds."""
_MOST_TOKENS = 32_768
"""Of how many grams in all they are, unless one has more: a long text has as many as hundreds of others."""
_READ = 64
"""How many messages are read at a time: of each all grams are in memory until they are written."""
_TOGETHER = 16
"""How many are looked at before others are let in."""
_MOST_TOGETHER = 4096
"""About how many characters of them are."""
_WALKED = 500
_MOST_WAITING = MOST_TAIL // 2
"""How many events may wait while the index is put together, for a search looks through them."""

_log = get_logger(__name__)


class Lost(Exception):
    """Another process has the index now."""


class Indexing:
    """Keeps the index of one database. A `teamchat.Service`."""

    name = "search index"

    def __init__(self, app: Teamchat, index: Index) -> None:
        self._app = app
        self._storage = app.storage
        self._corpus = app.corpus
        self._index = index
        self._holder = secrets.token_hex(8)
        self._renewed = 0
        """When the lease was last renewed, in epoch milliseconds."""
        self._position, self._is_filled = 0, False
        self._has_followed = False
        """Whether events were followed last."""
        self._upkeep = upkeep_of(index, app.storage, self._hold)
        self._verified = ABOVE_ALL
        """Down to which message it was looked, since this process has the index, whether each is in it."""
        self._outage = Outage(_log, "the search index pauses")

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Run until cancelled."""
        task_status.started()
        while True:
            try:
                await self._take()
                try:
                    await self._keep()
                finally:
                    await self._give_back()
            except (StorageError, Lost) as error:
                self._outage.goes_on(error)
            await trio.sleep(_AGAIN_SECONDS)

    async def catch_up(self) -> None:
        """Do all there is to do, and return: for the command line, and tests."""
        await self._take()
        try:
            while await self.step():
                await trio.lowlevel.checkpoint()
        finally:
            await self._give_back()

    async def _keep(self) -> None:
        position = -1
        while True:
            began = trio.current_time()
            did_something = await self.step()
            self._outage.is_over()
            if did_something:
                await trio.sleep(await self._rest(trio.current_time() - began))
                continue
            if not 0 <= now_ms() - self._renewed < 1000 * _RENEW_SECONDS:
                await self._renew()
            position = await self._storage.position()
            with trio.move_on_after(_RENEW_SECONDS):
                while await self._storage.position() == position:  # noqa: ASYNC110  # commits of others too
                    await trio.sleep(_LOOK_SECONDS)

    async def _rest(self, worked: float) -> float:
        """Return how long it rests after it worked so long, for others to be let in.

        An index that is being filled is waited for: as long again. One that follows is ahead of nobody's
        search, which looks at the tail itself, so posts come first, until the tail grows long; and of few
        that have come meanwhile it waits for more, for many cost less together.
        """
        if not self._is_filled:
            return worked
        waiting = await self._waiting()
        rest = worked * _MOST_REST * max(0.0, 1 - waiting / _MOST_WAITING)
        if self._upkeep.is_compacting:
            return rest
        return max(rest, _GATHER_SECONDS) if 0 < waiting < _EVENTS else rest

    async def _waiting(self) -> int:
        """Return about how many events are to be followed."""
        return await self._storage.position() - self._position

    async def step(self) -> bool:
        """Do one piece of what there is to do; return whether there was any."""
        state = await self._begun()
        self._position, self._is_filled = state.position, state.is_filled
        upkeep = self._upkeep
        if upkeep.is_compacting and await self._waiting() < _MOST_WAITING and await upkeep.compact():
            return True
        upkeep.is_compacting = False
        # Where there is always something to follow, the rest has its turn too.
        if self._has_followed and await self._tidy(state):
            self._has_followed = False
            return True
        self._has_followed = await self._follow(state)
        return self._has_followed or await self._tidy(state) or await self._verify()

    async def _tidy(self, state: State) -> bool:
        """Do one piece of what else is to be done; return whether there was any."""
        if await self._move() or await self._upkeep.clean() or await self._fill(state):
            return True
        return await self._upkeep.merge() or await self._upkeep.compact()

    # Which process it is.

    async def _take(self) -> None:
        while not await self._taken():  # noqa: ASYNC110  # It is another process that will let it go.
            await trio.sleep(_AGAIN_SECONDS)
        self._verified = ABOVE_ALL

    async def _taken(self) -> bool:
        now = now_ms()
        async with self._storage.write() as tx:
            if not await self._index.is_there(tx):
                await self._index.make(tx)
            [(holder, held_until)] = await tx.fetch(
                "select holder, held_until from search_state where id = 1"
            )
            # A hold that is longer than any was written when the clock was ahead, and holds nothing.
            if holder != self._holder and now < held_until <= now + 2 * HOLD_MS:
                return False
            await tx.fetch(
                "update search_state set holder = $1, held_until = $2 where id = 1",
                self._holder,
                now + HOLD_MS,
            )
            await self._upkeep.begin(tx)
        return True

    async def _hold(
        self,
        tx: Transaction,
        *,
        position: int | None = None,
        filled_from: str | None = None,
        written: int = 0,
    ) -> None:
        """Renew the lease within a write, and note how far the index has come with it.

        Raises `Lost` if another process has it.
        """
        now = now_ms()
        if not await tx.fetch(
            """update search_state set held_until = $2, position = coalesce($3, position),
            filled_from = coalesce($4, filled_from), loose = loose + $5
            where id = 1 and holder = $1 returning 1""",
            self._holder,
            now + HOLD_MS,
            position,
            filled_from,
            written,
        ):
            raise Lost
        self._renewed = now

    async def _renew(self) -> None:
        async with self._storage.write() as tx:
            await self._hold(tx)

    async def _give_back(self) -> None:
        with trio.move_on_after(1.0, shield=True):
            try:
                async with self._storage.write() as tx:
                    await tx.fetch(
                        "update search_state set held_until = 0 where id = 1 and holder = $1", self._holder
                    )
            except StorageError:
                return

    # What it does.

    async def _begun(self) -> State:
        """Return how far the index has come; begin anew if it was made otherwise, or has missed events."""
        first, last = await self._storage.log_bounds()
        async with self._storage.read() as tx:
            state = await self._index.state(tx)
            has_messages = bool(await self._corpus.classes(tx, ABOVE_ALL, 1))
        is_of_today = state.made_by == MADE_BY
        if is_of_today and first <= state.position + 1 and state.position <= last:
            return state
        reason = "missed events" if is_of_today else "another version" if state.made_by else "new"
        if has_messages:  # A server that is new has nothing to tell of it.
            _log.info("the search index is made anew", reason=reason)
        async with self._storage.write() as tx:
            await self._hold(tx)
            await self._index.empty(tx, last)
        self._verified = ABOVE_ALL
        async with self._storage.read() as tx:
            return await self._index.state(tx)

    async def _follow(self, state: State) -> bool:
        """Index what some events tell of. Returns whether there were any."""
        async with self._storage.read() as tx:
            events = await self._corpus.changed(tx, state.position, 1 << 62, _EVENTS)
            if not events:
                return False
        # Who imports writes messages without events, and this one in the end.
        is_imported = any(kind == "RESYNC" for _, kind, _ in events)
        await self._take_up(
            sorted({id_ for _, _, id_ in events if id_ is not None}),
            position=events[-1][0],
            filled_from=ABOVE_ALL if is_imported else None,
        )
        self._position = events[-1][0]
        return True

    async def _take_up(
        self, ids: Sequence[str], *, position: int | None = None, filled_from: str | None = None
    ) -> None:
        """Index messages, and note with the last of them how far the index has come then."""
        rest: Sequence[Document] = ()
        for start in range(0, len(ids), _READ):
            async with self._storage.read() as tx:
                found = await self._documents(tx, ids[start : start + _READ])
            *before, rest = _pieces([*rest, *found])
            for piece in before:
                await self._write(piece)
        await self._write(rest, position=position, filled_from=filled_from)

    async def _documents(self, tx: Transaction, ids: Sequence[str]) -> list[Document]:
        """Make the documents of messages."""
        found = await self._corpus.with_class(tx, ids)
        more = await self._app.message_texts(tx, [said.id for said, _ in found])
        documents: list[Document] = []
        characters = 0
        for said, class_ in found:
            documents.append(Document.of(said, class_, fields(said.content, more.get(said.id, ()))))
            characters += len(said.content)
            if len(documents) % _TOGETHER == 0 or characters >= _MOST_TOGETHER:
                characters = 0
                await trio.lowlevel.checkpoint()
        return documents

    async def _write(
        self,
        documents: Sequence[Document],
        *,
        position: int | None = None,
        filled_from: str | None = None,
    ) -> None:
        """Write documents that were made before, and with them how far the index has come then.

        Of a message that has changed meanwhile an event is yet to be heard, or its room waits to be moved.
        """
        async with self._storage.write() as tx:
            await self._hold(tx, position=position, filled_from=filled_from, written=len(documents))
            there = await self._corpus.there(tx, [one.id for one in documents])
            await self._index.write(tx, [one for one in documents if one.id in there])
        if documents:
            await self._upkeep.written()

    async def _fill(self, state: State) -> bool:
        """Look at some more messages from the newest on, until all were. Returns whether there are more."""
        if state.is_filled:
            return False
        async with self._storage.read() as tx:
            walked = await self._corpus.classes(tx, state.filled_from, _AT_ONCE)
            missing = await self._missing(tx, walked)
        reached = walked[-1][0] if len(walked) == _AT_ONCE else ""
        await self._take_up(missing, filled_from=reached)
        if not reached:
            self._verified = ""
            if walked or state.filled_from != ABOVE_ALL:
                _log.info("every message is in the search index")
        return True

    async def _missing(self, tx: Transaction, walked: Sequence[tuple[str, str]]) -> list[str]:
        """Return those messages that are not in the index, or under another class."""
        there = await self._index.classes(tx, [id_ for id_, _ in walked])
        return [id_ for id_, class_ in walked if there.get(id_) != class_]

    async def _verify(self) -> bool:
        """Look once, when this process has taken the index, whether each message is in it.

        What was imported or made public while the capability was off is found so.
        """
        if not self._verified:
            return False
        async with self._storage.read() as tx:
            walked = await self._corpus.classes(tx, self._verified, _WALKED)
            missing = await self._missing(tx, walked)
        if missing:
            await self._take_up(missing)
        self._verified = walked[-1][0] if len(walked) == _WALKED else ""
        return True

    async def _move(self) -> bool:
        """Put messages of a room that was made public or private under their class, if there is one."""
        async with self._storage.read() as tx:
            rooms = await tx.fetch("select room_id, changes from search_moving order by room_id limit 1")
        for room_id, changes in rooms:
            before: str | None = ABOVE_ALL
            while before is not None:
                async with self._storage.read() as tx:
                    walked, before = await self._corpus.classes_of_room(tx, room_id, before, _AT_ONCE)
                    missing = await self._missing(tx, walked)
                if missing:
                    await self._take_up(missing)
            async with self._storage.write() as tx:
                await self._hold(tx)
                # It may have been changed again meanwhile: then it is moved once more.
                await tx.fetch(
                    "delete from search_moving where room_id = $1 and changes = $2", room_id, changes
                )
        return bool(rooms)


def _pieces(documents: Sequence[Document]) -> list[list[Document]]:
    """Return so many at a time as one transaction writes, for others write in between; none are one too."""
    pieces: list[list[Document]] = [[]]
    tokens = 0
    for one in documents:
        tokens += len(one.tokens)
        if pieces[-1] and (len(pieces[-1]) == _AT_ONCE or tokens > _MOST_TOKENS):
            pieces.append([])
            tokens = len(one.tokens)
        pieces[-1].append(one)
    return pieces
