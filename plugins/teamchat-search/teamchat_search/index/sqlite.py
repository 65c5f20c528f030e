"""The index on SQLite: FTS5, and the segments that it writes."""

from __future__ import annotations

from collections.abc import Sequence
from struct import pack

from teamchat import Transaction
from teamchat.storage.statements import flat, in_pieces, values
from teamchat_search.index.base import Found, Index, Reach, Segments
from teamchat_search.tokens import Asked, Document

_MOST_SEGMENTS = 500
"""When FTS5 merges by itself after all, before it has 2,000, which is all that it can have."""


class _Segments(Segments):
    """FTS5 merges within a commit that comes along, by itself ("automerge", "crisismerge").

    Of 30,000 messages that was up to 30 MB at once, for which all writers waited. Here it is asked to, some
    pages at a time.
    """

    merged_of = 4

    async def prepare(self, tx: Transaction) -> None:
        settings = ("automerge", 0), ("usermerge", self.merged_of), ("crisismerge", _MOST_SEGMENTS)
        for name, value in settings:
            await tx.fetch("insert into search_grams(search_grams, rank) values ($1, $2)", name, value)

    async def has_erased(self, tx: Transaction) -> bool:
        return bool(await tx.fetch("select 1 from search_erased limit 1"))

    async def clean(self, tx: Transaction, limit: int) -> None:
        rows = await tx.fetch("select number from search_erased order by number limit $1", limit)
        for (number,) in rows:
            await tx.fetch("delete from search_grams where rowid = $1", number)
        if rows:
            await tx.fetch("delete from search_erased where number <= $1", rows[-1][0])

    async def count(self, tx: Transaction) -> int:
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


class SqliteIndex(Index):
    """A full-text index (FTS5) that keeps no text: rowids by grams.

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
    segments = _Segments()
    first = Reach(16_384, 128)
    most_classes = 100

    async def is_there(self, tx: Transaction) -> bool:
        return bool(await tx.fetch("select 1 from sqlite_master where name = 'search_adrift'"))

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

    async def size(self, tx: Transaction) -> int:
        [(size,)] = await tx.fetch(
            """select (select coalesce(sum(length(block)), 0) from search_grams_data)
            + (select coalesce(sum(length(term) + 8), 0) from search_grams_idx)
            + (select count(*) from search_documents) * 100
            + (select count(*) from search_grams_docsize) * 14"""
        )
        return int(size)

    def after(self, reach: Reach, found: int) -> Reach:  # noqa: ARG002
        return reach.widened()

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


def _words(tokens: Sequence[int]) -> str:
    """Return numbers as FTS5's words: sixteen digits each, made all at once."""
    return pack(f">{len(tokens)}Q", *tokens).hex(" ", 8)


def _expression(asked: Asked) -> str:
    every, lists = asked.tokens
    parts = [_words(every).replace(" ", " AND ")] if every else []
    parts += [f"({_words(one).replace(' ', ' OR ')})" for one in lists]
    return " AND ".join(parts)
