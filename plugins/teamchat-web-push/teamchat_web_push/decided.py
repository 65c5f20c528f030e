"""What becomes of rows of the queue, and how that is written."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from teamchat import StorageError, Transaction, Unavailable
from teamchat.observability.logs import get_logger
from teamchat.storage.statements import chunks, listed
from teamchat_web_push.queue import Due

FAILED_MS = 60_000
"""How long a row waits whose push could not be made."""
MOST_FAILED = 3
_THESE = "(message_id, subscription_id, reached) in (select * from (values {}) as these)"
_END = f"update web_push_queue set outcome = $1, reason = $2, decided_at = $3 where {_THESE}"  # noqa: S608
_WAIT = f"""update web_push_queue set reason = $1, since = $2, due_at = $3, tries = $4, is_delayed = $5,
is_held = $6, is_bare = $7 where {_THESE}"""  # noqa: S608

_log = get_logger(__name__)


class Decided(NamedTuple):
    """What became of a row; None for `outcome` leaves it waiting until `due_at`."""

    row: Due
    outcome: str | None
    reason: str = ""
    since: int = 0
    due_at: int = 0
    tries: int = 0
    is_delayed: bool = False
    is_held: bool = False
    is_bare: bool = False
    error: str | None = None
    """What is told of the device, if anything was asked of its push service."""
    ends_device: bool = False

    @classmethod
    def later(cls, row: Due, due_at: int, reason: str, **changes: Any) -> Decided:
        """Have a row wait, as it is but for `changes`."""
        flags = row.is_delayed, row.is_held, row.is_bare
        return cls(row, None, reason, row.since, due_at, row.tries, *flags)._replace(**changes)


@contextmanager
def guarded(rows: Sequence[Due], decided: list[Decided], clock: Callable[[], int]) -> Iterator[None]:
    """Decide on rows whose push can't be made, whatever is wrong with them, so that all others go on.

    They have a few more tries, for it may pass. Raises what concerns all: that the database is away.
    """
    try:
        yield
    except (StorageError, Unavailable):
        raise
    except Exception as error:
        _log.error("a push can't be made", exc_info=error)
        decided += [_failed(row, clock()) for row in rows]


def _failed(row: Due, now: int) -> Decided:
    if row.tries >= MOST_FAILED:
        return Decided(row, "skipped", "failed")
    return Decided.later(row, now + FAILED_MS, "failed", tries=row.tries + 1)


async def keep(tx: Transaction, decided: Sequence[Decided], now: int) -> None:
    """Write what became of rows, with few statements however many there are."""
    ended: defaultdict[tuple[str | int, ...], list[tuple[str, str, str]]] = defaultdict(list)
    waiting: defaultdict[tuple[str | int, ...], list[tuple[str, str, str]]] = defaultdict(list)
    devices: defaultdict[str | None, list[str]] = defaultdict(list)
    for one in decided:
        row = one.row
        if one.ends_device:
            await tx.fetch("delete from web_push_subscriptions where id = $1", row.device.id)
            continue
        if one.error is not None:
            devices[one.error or None].append(row.device.id)
        which = row.message_id, row.device.id, row.reached
        if one.outcome is not None:
            ended[one.outcome, one.reason, now].append(which)
        else:
            flags = int(one.is_delayed), int(one.is_held), int(one.is_bare)
            waiting[(one.reason, one.since, one.due_at, one.tries, *flags)].append(which)
    for statement, same in ((_END, ended), (_WAIT, waiting)):
        for what, rows in same.items():
            for marks, parameters in listed(rows, after=len(what)):
                await tx.fetch(statement.format(marks), *what, *parameters)
    for error, ids in devices.items():
        said = "last_sent_at = $1, last_error = null" if error is None else "last_error = $1"
        for marks, piece in chunks(ids, after=1):
            await tx.fetch(
                f"update web_push_subscriptions set {said} where id in ({marks})",  # noqa: S608
                now if error is None else error,
                *piece,
            )
