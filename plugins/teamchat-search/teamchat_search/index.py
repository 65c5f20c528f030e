"""The index in the database: what it holds, and how it narrows down. Two databases, each in its own way.

Its tables are made outside of migrations, so no backup, move or export has them: they are made anew from the
messages. What is found is checked by the definition (`teamchat_search.matching`), so the index may find too
much, and must not find too little.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from struct import pack
from typing import ClassVar, NamedTuple

from teamchat import Transaction
from teamchat.storage.statements import chunks, flat, in_pieces, values
from teamchat_search.grams import VERSION
from teamchat_search.normal import UNICODE
from teamchat_search.tokens import EVERYBODY, Asked, Document, number_of

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
_COMMON = 128
"""What one document in so many has is common: enough is found going through them one by one."""
_WEIGHED = 1024
"""In how many of the newest documents it is counted what is rare."""
MERGED_OF = 4
"""Of so many segments of one size a larger one is made."""
_MOST_SEGMENTS = 500
"""When FTS5 merges by itself after all, before it has 2,000, which is all that it can have."""
_MOST_OF_ALL = 16_384
"""How many of what is rare are asked for at once, for each asking reads all."""

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


class Index(ABC):
    """An index in a database. Everything is asked in a transaction that is open."""

    definitions: ClassVar[Sequence[str]]
    numbered: ClassVar[Sequence[str]]
    """The tables in which numbers stand that are in use."""
    is_merged: ClassVar[bool]
    """Whether it is kept in few pieces by who keeps it, with `merge` and `compact`."""
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

    @abstractmethod
    async def prepare(self, tx: Transaction) -> None:
        """Have the database keep it as is wanted here, whichever version has made it."""

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
    async def has_erased(self, tx: Transaction) -> bool:
        """Return whether erased messages have left anything."""

    @abstractmethod
    async def clean(self, tx: Transaction, limit: int) -> int:
        """Remove what erased messages have left; return how many, at most `limit`."""

    @abstractmethod
    async def pieces(self, tx: Transaction) -> int:
        """Return in how many pieces it is, 1 where the database sees to that."""

    @abstractmethod
    async def merge(self, tx: Transaction, pages: int) -> bool:
        """Do about so many pages of what keeps the index in few pieces; return whether there may be more.

        What is in many pieces is looked up in each.
        """

    @abstractmethod
    async def compact(self, tx: Transaction, pages: int) -> bool:
        """Do about so many pages of what puts the index together; return whether there is more.

        It begins anew after something was written in between. What was erased is in the file until the end.
        """

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


class SqliteIndex(Index):
    """A full-text index (FTS5) that keeps no text: rowids by grams.

    What is written makes a segment of its own, and segments are merged into larger ones. FTS5 does that by
    itself within a commit that comes along ("automerge", "crisismerge"): of 30,000 messages up to 30 MB at
    once, for which all writers waited. Here it is asked to, some pages at a time.

    The trigger writes down, in the transaction that erases a message, what is to leave the index; hits are
    gone with the row that names the message. It is SQLite's own rule that does this, so it holds as well
    while the capability is turned off.
    """

    definitions = (
        """create table if not exists search_documents (number {int} primary key,
        message_id text not null unique references messages(id) on delete cascade,
        class text not null){table_end}""",
        "create table if not exists search_erased (number {int} primary key){table_end}",
        """create trigger if not exists search_erases after delete on search_documents
        begin insert or ignore into search_erased (number) values (old.number); end""",
        """create virtual table if not exists search_grams using fts5(grams, content='',
        contentless_delete=1, detail=none, tokenize='ascii')""",
    )
    numbered = ("search_documents", "search_erased")
    is_merged = True
    first = Reach(16_384, 128)
    most_classes = 100

    async def is_there(self, tx: Transaction) -> bool:
        return bool(await tx.fetch("select 1 from sqlite_master where name = 'search_adrift'"))

    async def prepare(self, tx: Transaction) -> None:
        settings = ("automerge", 0), ("usermerge", MERGED_OF), ("crisismerge", _MOST_SEGMENTS)
        for name, value in settings:
            await tx.fetch("insert into search_grams(search_grams, rank) values ($1, $2)", name, value)

    async def clear(self, tx: Transaction) -> None:
        await tx.fetch("delete from search_documents")
        await tx.fetch("delete from search_erased")
        await tx.fetch("insert into search_grams(search_grams) values ('delete-all')")

    async def _insert(self, tx: Transaction, documents: Sequence[tuple[int, Document]]) -> None:
        # FTS5 gathers what comes in the order of its numbers, and writes each of the others out by itself.
        for piece in in_pieces(sorted(documents)):
            listed = values("({0}, {1}, {2})", 3, len(piece), 0)
            await tx.fetch(
                f"insert into search_documents (number, message_id, class) values {listed}",  # noqa: S608
                *flat([(number, one.id, one.class_) for number, one in piece]),
            )
            await self._index(tx, piece)

    async def _replace(self, tx: Transaction, documents: Sequence[tuple[int, Document]]) -> None:
        for number, one in sorted(documents):
            await tx.fetch("update search_documents set class = $2 where number = $1", number, one.class_)
            await tx.fetch("delete from search_grams where rowid = $1", number)
            await self._index(tx, [(number, one)])

    async def _index(self, tx: Transaction, documents: Sequence[tuple[int, Document]]) -> None:
        listed = values("({0}, {1})", 2, len(documents), 0)
        await tx.fetch(
            f"insert into search_grams (rowid, grams) values {listed}",  # noqa: S608
            *flat([(number, _words(one.tokens)) for number, one in documents]),
        )

    async def has_erased(self, tx: Transaction) -> bool:
        return bool(await tx.fetch("select 1 from search_erased limit 1"))

    async def clean(self, tx: Transaction, limit: int) -> int:
        rows = await tx.fetch("select number from search_erased order by number limit $1", limit)
        for (number,) in rows:
            await tx.fetch("delete from search_grams where rowid = $1", number)
        if rows:
            await tx.fetch("delete from search_erased where number <= $1", rows[-1][0])
        return len(rows)

    async def pieces(self, tx: Transaction) -> int:
        # From one to the next: to count them among their pages takes a thousand times as long.
        [(count,)] = await tx.fetch(
            """with recursive found(segid) as (select min(segid) from search_grams_idx union all
            select (select min(i.segid) from search_grams_idx i where i.segid > found.segid) from found
            where found.segid is not null) select count(segid) from found"""
        )
        return int(count)

    async def merge(self, tx: Transaction, pages: int) -> bool:
        return await self._merged(tx, pages)

    async def compact(self, tx: Transaction, pages: int) -> bool:
        # A negative number has all of the index merged into one segment (FTS5, "merge").
        return await self._merged(tx, -pages)

    async def _merged(self, tx: Transaction, pages: int) -> bool:
        """Have so many pages merged, and return whether any were: FTS5 tells that by the rows it changed."""
        before = await tx.fetch("select total_changes()")
        await tx.fetch("insert into search_grams(search_grams, rank) values ('merge', $1)", pages)
        after = await tx.fetch("select total_changes()")
        return bool(after[0][0] - before[0][0] >= 2)

    async def size(self, tx: Transaction) -> int:
        [(size,)] = await tx.fetch(
            """select (select coalesce(sum(length(block)), 0) from search_grams_data)
            + (select coalesce(sum(length(term) + 8), 0) from search_grams_idx)
            + (select count(*) from search_documents) * 100
            + (select count(*) from search_grams_docsize) * 14"""
        )
        return int(size)

    def after(self, reach: Reach, found: int) -> Reach:  # noqa: ARG002
        window = _MOST_WINDOW if reach.window is None else reach.window
        return Reach(min(2 * window, _MOST_WINDOW), min(2 * reach.limit, _MOST_PAGE))

    async def find(
        self, tx: Transaction, asked: Sequence[Asked], lower: int, upper: int, reach: Reach
    ) -> Sequence[Found]:
        rows = await tx.fetch(
            """select search_grams.rowid, d.message_id from search_grams
            cross join search_documents d on d.number = search_grams.rowid
            where search_grams match $1 and search_grams.rowid >= $2 and search_grams.rowid <= $3
            order by search_grams.rowid desc limit $4""",
            " OR ".join(f"({_expression(one)})" for one in asked),
            lower,
            upper,
            reach.limit,
        )
        return [Found(*row) for row in rows]


class PostgresIndex(Index):
    """Numbers of grams in an array, under GIN. A document is a row that goes with its message.

    GIN has no order, so whoever asks it reads all that match before the newest are known. So the newest
    documents are looked through one by one first: what is common is found among them. Only what is rare there
    is left to GIN, which has little to read then.
    """

    definitions = (
        """create table if not exists search_documents (number {int} primary key,
        message_id text not null unique references messages(id) on delete cascade,
        class text not null, grams bigint[] not null)""",
        # What waits to be sorted into it is looked through by each search, and sorted in by one of those who
        # write: so it is kept short, in kilobytes.
        """create index if not exists search_documents_by_gram on search_documents using gin (grams)
        with (gin_pending_list_limit = 256)""",
    )
    numbered = ("search_documents",)
    is_merged = False
    first = Reach(4096, 128)
    most_classes = None

    async def is_there(self, tx: Transaction) -> bool:
        return bool((await tx.fetch("select to_regclass('search_adrift') is not null"))[0][0])

    async def prepare(self, tx: Transaction) -> None: ...

    async def clear(self, tx: Transaction) -> None:
        await tx.fetch("delete from search_documents")

    async def _insert(self, tx: Transaction, documents: Sequence[tuple[int, Document]]) -> None:
        if documents:
            await tx.fetch(
                """insert into search_documents (number, message_id, class, grams)
                select number, message_id, class, grams::bigint[]
                from unnest($1::bigint[], $2::text[], $3::text[], $4::text[])
                as new (number, message_id, class, grams)""",
                [number for number, _ in documents],
                [one.id for _, one in documents],
                [one.class_ for _, one in documents],
                [_array(one.tokens) for _, one in documents],
            )

    async def _replace(self, tx: Transaction, documents: Sequence[tuple[int, Document]]) -> None:
        for number, one in documents:
            await tx.fetch(
                "update search_documents set class = $2, grams = $3::bigint[] where number = $1",
                number,
                one.class_,
                _array(one.tokens),
            )

    async def has_erased(self, tx: Transaction) -> bool:  # noqa: ARG002
        return False

    async def clean(self, tx: Transaction, limit: int) -> int:  # noqa: ARG002
        return 0

    async def pieces(self, tx: Transaction) -> int:  # noqa: ARG002
        return 1

    async def merge(self, tx: Transaction, pages: int) -> bool:  # noqa: ARG002
        return False

    async def compact(self, tx: Transaction, pages: int) -> bool:  # noqa: ARG002
        return False

    async def size(self, tx: Transaction) -> int:
        [(size,)] = await tx.fetch("select pg_total_relation_size('search_documents')")
        return int(size)

    def after(self, reach: Reach, found: int) -> Reach:
        if reach.window is None or found * _COMMON < reach.window:
            return Reach(None, _MOST_OF_ALL)
        return Reach(min(2 * reach.window, _MOST_WINDOW), min(2 * reach.limit, _MOST_PAGE))

    async def find(
        self, tx: Transaction, asked: Sequence[Asked], lower: int, upper: int, reach: Reach
    ) -> Sequence[Found]:
        classes = [one.class_ for one in asked]
        is_windowed = reach.window is not None
        look = _looked_through(asked) if is_windowed else _looked_up(await self._narrowed(tx, asked))
        rows = await tx.fetch(look, lower, upper, reach.limit, *classes)
        return [Found(*row) for row in rows]

    async def _narrowed(self, tx: Transaction, asked: Sequence[Asked]) -> Sequence[Asked]:
        """Ask each private room for the rarest grams alone, going by the newest messages that everybody sees.

        GIN looks each gram up in each room; what a few let through is checked anyway.
        """
        grams = max((one.all for one in asked), key=len)
        if len(asked) == 1 or len(grams) <= GRAMS_OF_A_ROOM:
            return asked
        tokens, _ = Asked(EVERYBODY, grams).tokens
        [counts] = await tx.fetch(_counted(tokens), _WEIGHED)
        of_token = dict(zip(tokens, counts, strict=True))
        weights = [(of_token[Asked(EVERYBODY, [gram]).tokens[0][0]], gram) for gram in set(grams)]
        few = [gram for _, gram in sorted(weights)[:GRAMS_OF_A_ROOM]]
        return [one if one.class_ == EVERYBODY else one._replace(all=few) for one in asked]


def index_of(dialect: str) -> Index | None:
    """Return the index for a database; None for one that has none here."""
    kinds: dict[str, type[Index]] = {"sqlite": SqliteIndex, "postgresql": PostgresIndex}
    kind = kinds.get(dialect)
    return None if kind is None else kind()


def _words(tokens: Sequence[int]) -> str:
    """Return numbers as FTS5's words: sixteen digits each, made all at once."""
    return pack(f">{len(tokens)}Q", *tokens).hex(" ", 8)


def _expression(asked: Asked) -> str:
    every, lists = asked.tokens
    parts = [_words(every).replace(" ", " AND ")] if every else []
    parts += [f"({_words(one).replace(' ', ' OR ')})" for one in lists]
    return " AND ".join(parts)


def _looked_up(asked: Sequence[Asked]) -> str:
    """Ask GIN for all that match, class by class: `offset 0` has each asked for by itself, and by GIN alone.

    As one condition with as many alternatives as classes, they may seem so much to PostgreSQL that it reads
    all documents instead.
    """
    wanted, lists = _wanted(asked)
    either = "".join(f" and ({one} is null or grams && {one})" for one in lists)
    every = (
        "grams @> every" if any(tokens for tokens, _ in (one.tokens for one in asked)) else "grams && list_0"
    )
    return f"""select number, message_id from {wanted} cross join lateral (
    select number, message_id from search_documents where {every}{either} offset 0) found
    where number >= $1 and number <= $2 order by number desc limit $3"""  # noqa: S608


def _counted(tokens: Sequence[int]) -> str:
    """Count in how many of the newest documents that everybody sees each of some numbers is."""
    counts = ", ".join(f"count(*) filter (where grams @> {_literal([one])})" for one in tokens)
    return f"""select {counts} from (select class, grams from search_documents
    order by number desc limit $1) newest where class = ''"""  # noqa: S608


def _looked_through(asked: Sequence[Asked]) -> str:
    """Go through the documents by number, without GIN: `offset 0` keeps the rest out of the inner query.

    Each is held to what is asked of its own class; those of others are passed over unread.
    """
    wanted, lists = _wanted(asked)
    either = "".join(f" and ({one} is null or documents.grams && {one})" for one in lists)
    return f"""select number, message_id from (select number, message_id, class, grams from search_documents
    where number >= $1 and number <= $2 order by number desc offset 0) documents
    join {wanted} on of_class = class
    where documents.grams @> every{either} order by number desc limit $3"""  # noqa: S608


def _wanted(asked: Sequence[Asked]) -> tuple[str, list[str]]:
    """Return what is asked as a table, its classes from $4 on, and the names of its columns of lists."""
    numbers = [one.tokens for one in asked]
    most = max(len(lists) for _, lists in numbers)
    rows = []
    for place, (every, lists) in enumerate(numbers, 4):
        cells = [
            f"${place}::text",
            *map(_literal, [every, *lists]),
            *["null::bigint[]"] * (most - len(lists)),
        ]
        rows.append(f"({', '.join(cells)})")
    columns = [f"list_{number}" for number in range(most)]
    return f"(values {', '.join(rows)}) wanted ({', '.join(['of_class', 'every', *columns])})", columns


def _literal(tokens: Sequence[int]) -> str:
    return f"'{_array(tokens)}'::bigint[]"


def _array(tokens: Sequence[int]) -> str:
    return "{" + ",".join(map(str, tokens)) + "}"
