"""What an index is asked for, and what every database does for it alike.

Its tables are made outside of migrations, so no backup, move or export has them: they are made anew from the
messages. What is found is checked by the definition (`teamchat_search.matching`), so the index may find too
much, and must not find too little.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from teamchat import Transaction
from teamchat.storage.statements import chunks, flat, in_pieces, values
from teamchat_search.grams import VERSION
from teamchat_search.normal import UNICODE
from teamchat_search.tokens import Asked, Document, number_of

MADE_BY = f"{VERSION} {UNICODE}"
"""What an index has to be made by: the version of the grams, and that of Unicode."""
ABOVE_ALL = "g"
"""Greater than every id."""

MOST_TAIL = 5000
"""How many events a search looks through that the index has not heard; if there are more, it is not used."""

GRAMS_OF_A_ROOM = 2
"""How many of a term's grams are looked up in each private room: the rarest."""
_SAMPLED = 256
_MOST_PAGE, _MOST_WINDOW = 1024, 131_072

_STATE = """create table if not exists search_state (id {int} primary key, made_by text not null,
position {int} not null, filled_from text not null, rebuilds {int} not null, holder text not null,
held_until {int} not null, cleaned_at {int} not null, loose {int} not null,
most_loose {int} not null){table_end}"""
_ADRIFT = (
    """create table if not exists search_adrift (message_id text primary key
    references messages(id) on delete cascade, created_at {int} not null){table_end}""",
    "create index if not exists search_adrift_by_time on search_adrift(created_at)",
)
_BEGIN = """insert into search_state (id, made_by, position, filled_from, rebuilds, holder, held_until,
cleaned_at, loose, most_loose) values (1, '', 0, 'g', 0, '', 0, 0, 0, 20000) on conflict (id) do nothing"""


class State(NamedTuple):
    """How far the index has come: up to which event of the log, and from which message's id on.

    `rebuilds` counts how often it was asked for anew.
    """

    made_by: str
    position: int
    filled_from: str
    rebuilds: int

    @property
    def is_filled(self) -> bool:
        """Whether every message was looked at."""
        return self.filled_from == ""


class Found(NamedTuple):
    """A message that may match, and its number."""

    number: int
    id: str


class Reach(NamedTuple):
    """About how many documents a statement may look at, None for all, and how many it may return."""

    window: int | None
    limit: int

    def widened(self) -> Reach:
        """Return one of twice as many, as far as a statement may reach."""
        window = _MOST_WINDOW if self.window is None else self.window
        return Reach(min(2 * window, _MOST_WINDOW), min(2 * self.limit, _MOST_PAGE))


class Segments(ABC):
    """The pieces that an index consists of: each writing makes another, and a search looks in all of them."""

    merged_of: ClassVar[int]
    """Of so many of one size a larger one is made."""

    @abstractmethod
    async def prepare(self, tx: Transaction) -> None:
        """Have the database keep them as is wanted here, whichever version has made the index."""

    @abstractmethod
    async def count(self, tx: Transaction) -> int:
        """Return how many there are."""

    @abstractmethod
    async def merge(self, tx: Transaction, pages: int) -> bool:
        """Make larger ones of small ones, about so many pages of them; return whether there may be more."""

    @abstractmethod
    async def compact(self, tx: Transaction, pages: int) -> bool:
        """Do about so many pages of what makes one of all; return whether there is more.

        It begins anew after something was written in between. What was erased is in the file until the end.
        """

    @abstractmethod
    async def has_erased(self, tx: Transaction) -> bool:
        """Return whether erased messages have left anything."""

    @abstractmethod
    async def clean(self, tx: Transaction, limit: int) -> None:
        """Take what erased messages have left, at most `limit` of them, out of what is looked up."""


class Index(ABC):
    """An index in a database. Everything is asked in a transaction that is open."""

    definitions: ClassVar[Sequence[str]]
    numbered: ClassVar[Sequence[str]]
    """The tables in which numbers stand that are in use."""
    segments: ClassVar[Segments | None] = None
    """What it consists of, where who keeps it has to see to that too."""
    first: ClassVar[Reach]
    """What the first statement of a question may look at and return."""
    most_classes: ClassVar[int | None]
    """About how many classes are asked for with one statement; None for all at once, with what all see."""

    @abstractmethod
    async def is_there(self, tx: Transaction) -> bool:
        """Return whether the index was made in this database."""

    async def make(self, tx: Transaction) -> None:
        """Make the tables that are missing."""
        for statement in (*self.definitions, _STATE, *_ADRIFT):
            await tx.define(statement)
        await tx.fetch(_BEGIN)

    async def state(self, tx: Transaction) -> State:
        """Return how far it has come."""
        [row] = await tx.fetch(
            "select made_by, position, filled_from, rebuilds from search_state where id = 1"
        )
        return State(*row)

    async def empty(self, tx: Transaction, position: int) -> None:
        """Begin anew, behind an event of the log: every message is to be looked at."""
        await self.clear(tx)
        await tx.fetch("delete from search_adrift")
        await tx.fetch(
            "update search_state set made_by = $1, position = $2, filled_from = 'g' where id = 1",
            MADE_BY,
            position,
        )

    @abstractmethod
    async def clear(self, tx: Transaction) -> None:
        """Remove all documents."""

    async def classes(self, tx: Transaction, message_ids: Sequence[str]) -> dict[str, str]:
        """Return under which class messages are indexed, of those that are."""
        found: dict[str, str] = {}
        for marks, piece in chunks(message_ids):
            rows = await tx.fetch(
                f"select message_id, class from search_documents where message_id in ({marks})",  # noqa: S608
                *piece,
            )
            found |= {row[0]: row[1] for row in rows}
        return found

    async def write(self, tx: Transaction, documents: Sequence[Document]) -> None:
        """Take documents up, in the place of what was there of the same messages."""
        known: dict[str, int] = {}
        for marks, piece in chunks([one.id for one in documents]):
            rows = await tx.fetch(
                f"select message_id, number from search_documents where message_id in ({marks})",  # noqa: S608
                *piece,
            )
            known |= {row[0]: row[1] for row in rows}
        new = await self._numbers(tx, [one.id for one in documents if one.id not in known])
        await self._replace(tx, [(known[one.id], one) for one in documents if one.id in known])
        await self._insert(tx, [(new[one.id], one) for one in documents if one.id in new])
        adrift = [(one.id, one.created_at) for one in documents if one.is_adrift]
        for some in in_pieces(adrift):
            await tx.fetch(
                f"""insert into search_adrift (message_id, created_at)
                values {values("({0}, {1})", 2, len(some), 0)}
                on conflict (message_id) do update set created_at = excluded.created_at""",  # noqa: S608
                *flat(some),
            )

    async def adrift(self, tx: Transaction, first: int, last: int, classes: Sequence[str]) -> Sequence[str]:
        """Return the least and the greatest id of what is adrift, of these classes and that time, if any is.

        The time is from `first` to before `last`, in epoch milliseconds.
        """
        found: list[str] = []
        for marks, piece in chunks(classes, after=2):
            [row] = await tx.fetch(
                f"""select min(a.message_id), max(a.message_id) from search_adrift a
                join search_documents d on d.message_id = a.message_id
                where a.created_at >= $1 and a.created_at < $2 and d.class in ({marks})""",  # noqa: S608
                *(first, last, *piece),
            )
            found += [one for one in row if one is not None]
        return found

    async def _numbers(self, tx: Transaction, ids: Sequence[str]) -> dict[str, int]:
        """Return a number for each of these messages that no other has."""
        found = {id_: number_of(id_) for id_ in ids}
        taken = await self._taken(tx, list(found.values()))
        if not taken and len(set(found.values())) == len(found):
            return found
        # Two of one millisecond may have the same: then the next that is free.
        used: set[int] = set()
        for id_, number in found.items():
            while number in used or await self._taken(tx, [number]):
                number += 1
            found[id_] = number
            used.add(number)
        return found

    async def _taken(self, tx: Transaction, numbers: Sequence[int]) -> set[int]:
        """Return which of these numbers documents have, or had that have left something."""
        taken: set[int] = set()
        for marks, piece in chunks(numbers):
            for table in self.numbered:
                rows = await tx.fetch(f"select number from {table} where number in ({marks})", *piece)  # noqa: S608
                taken |= {row[0] for row in rows}
        return taken

    @abstractmethod
    async def _insert(self, tx: Transaction, documents: Sequence[tuple[int, Document]]) -> None: ...

    @abstractmethod
    async def _replace(self, tx: Transaction, documents: Sequence[tuple[int, Document]]) -> None: ...

    @abstractmethod
    async def size(self, tx: Transaction) -> int:
        """Return how many bytes it takes."""

    async def count(self, tx: Transaction) -> int:
        """Return how many messages are in it."""
        [(count,)] = await tx.fetch("select count(*) from search_documents")
        return int(count)

    async def floor(self, tx: Transaction, upper: int, window: int) -> int:
        """Return a number between which and `upper` there are about `window` documents, 0 for all.

        It is estimated from the newest of them: to count all takes longer than to look through them.
        """
        sampled = min(window, _SAMPLED)
        [(newest, oldest, count)] = await tx.fetch(
            """select max(number), min(number), count(*) from (select number from search_documents
            where number <= $1 order by number desc limit $2) sample""",
            upper,
            sampled,
        )
        return 0 if count < sampled else max(0, oldest - (newest - oldest) * (window - sampled) // sampled)

    @abstractmethod
    def after(self, reach: Reach, found: int) -> Reach:
        """Return what the next statement may look at and return, after one that found so many."""

    @abstractmethod
    async def find(
        self, tx: Transaction, asked: Sequence[Asked], lower: int, upper: int, reach: Reach
    ) -> Sequence[Found]:
        """Return what may match any of what is asked, the greatest numbers first."""
