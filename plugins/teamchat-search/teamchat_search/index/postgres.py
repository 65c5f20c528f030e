"""The index on PostgreSQL: arrays under GIN, which PostgreSQL keeps in order by itself."""

from __future__ import annotations

from collections.abc import Sequence

from teamchat import Transaction
from teamchat_search.index.base import GRAMS_OF_A_ROOM, Found, Index, Reach
from teamchat_search.tokens import EVERYBODY, Asked, Document

_COMMON = 128
"""What one document in so many has is common: enough is found going through them one by one."""
_WEIGHED = 1024
"""In how many of the newest documents it is counted what is rare."""
_MOST_OF_ALL = 16_384
"""How many of what is rare are asked for at once, for each asking reads all."""


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
    first = Reach(4096, 128)
    most_classes = None

    async def is_there(self, tx: Transaction) -> bool:
        return bool((await tx.fetch("select to_regclass('search_adrift') is not null"))[0][0])

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

    async def size(self, tx: Transaction) -> int:
        [(size,)] = await tx.fetch("select pg_total_relation_size('search_documents')")
        return int(size)

    def after(self, reach: Reach, found: int) -> Reach:
        if reach.window is None or found * _COMMON < reach.window:
            return Reach(None, _MOST_OF_ALL)
        return reach.widened()

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
