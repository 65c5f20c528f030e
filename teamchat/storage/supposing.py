"""Bodies of writing transactions that go on with what the database will most likely answer, until it has.

If a storage is behind a network, every answer that a body waits for holds up all other writers. What a post
asks hardly ever changes: the room it goes to, that its key is new, the author's name. So it supposes the
answers, asks all the same, and everything goes in one round trip, together with that of other bodies. If a
supposition was wrong, the body is rolled back and run again with what is really there.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from teamchat.interfaces import Row, Storage, Supposes, Transaction

T = TypeVar("T")


async def supposing(storage: Storage, body: Callable[[Transaction], Awaitable[T]]) -> T:
    """Run the body of a writing transaction, in which `likely` may suppose; return what it returns.

    It may be run a second time, so it does nothing but by its transaction.  Whatever it raised while it was
    not sure is as if it had not been.
    """
    supposes: Supposes | None = None
    try:
        async with storage.write() as tx:
            # `isinstance` of a protocol would cost each write 16 microseconds.
            if (begin := getattr(tx, "begin_supposing", None)) is not None:
                begin()
                supposes = tx  # type: ignore[assignment]
            return await body(tx)
    except Exception:
        # Nothing is committed before all suppositions have been looked at.
        if supposes is None or not supposes.is_unsure:
            raise
    async with storage.write() as tx:
        return await body(tx)


async def likely(
    tx: Transaction, sql: str, *params: Any, supposed: Sequence[Row] | None = None
) -> Sequence[Row]:
    """Return what a statement returns, as `Transaction.fetch` does; where `tx` supposes, what it may return.

    That is `supposed`, or without it what the statement returned last.
    """
    suppose = getattr(tx, "suppose", None)
    if suppose is None:
        return await tx.fetch(sql, *params)
    rows: Sequence[Row] = await suppose(supposed, sql, *params)
    return rows
