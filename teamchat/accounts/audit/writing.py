"""Writing entries: who asked, from where, and what was done."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, NamedTuple

import msgspec

from teamchat.errors import StorageError
from teamchat.interfaces import Transaction
from teamchat.model import now_ms
from teamchat.model.ids import id_at, new_id

FAILURES_AN_HOUR = 200
"""How many failed sign-ins an hour have entries: many computers together must not fill the disk."""

_HOUR_MS = 3_600_000
_MINUTE_MS = 60_000
_ACTION = re.compile(r"[a-z][a-z0-9-]*(\.[a-z][a-z0-9-]*)+")
_MOST_DETAILS = 16_384
_INSERT = """insert into audit_entries (id, at, actor_id, ip, action, target_type, target_id, details)
values ($1, $2, $3, $4, $5, $6, $7, $8)"""


class _Asking(NamedTuple):
    """Who asks, and how their address is found."""

    actor_id: str | None
    address: Callable[[], str | None]


_asking: ContextVar[_Asking | None] = ContextVar("asking", default=None)


class asked_by:  # noqa: N801 - it is named as those of contextlib are
    """A context whose entries name who asked, and the address `address` returns."""

    # No generator: every request enters one, which would take two microseconds more.
    __slots__ = ("_asking", "_token")

    def __init__(self, actor_id: str | None, address: Callable[[], str | None] = lambda: None) -> None:
        self._asking = _Asking(actor_id, address)

    def __enter__(self) -> None:
        self._token = _asking.set(self._asking)

    def __exit__(self, *_: object) -> None:
        _asking.reset(self._token)


async def note(
    tx: Transaction,
    action: str,
    target_type: str | None = None,
    target_id: str | None = None,
    *,
    by: str | None = None,
    ip: str | None = None,
    **details: Any,
) -> None:
    """Write an entry, in the transaction of what it tells of.

    `action` is of dotted lower-case names, such as ``user.role``. `by` is who did it, by default whoever asks
    in this context, and `ip` from where. `details` are JSON: ids, names of what was made, and what was set;
    never the text of a message, an email or a secret.  Raises `StorageError` for an action of another form,
    and for details of more than 16 KiB.
    """
    if not _ACTION.fullmatch(action):
        raise StorageError(f"The action of an entry is of dotted lower-case names, not {action!r}.")
    encoded = msgspec.json.encode({name: value for name, value in details.items() if value is not None})
    if len(encoded) > _MOST_DETAILS:
        raise StorageError(f"The details of the entry {action} are of more than {_MOST_DETAILS} bytes.")
    asking = _asking.get()
    if asking is not None:
        by = by if by is not None else asking.actor_id
        ip = ip if ip is not None else asking.address()
    await tx.fetch(_INSERT, new_id(), now_ms(), by, ip, action, target_type, target_id, encoded.decode())


async def note_failure(
    tx: Transaction, user_id: str | None, *, ip: str | None = None, **details: Any
) -> None:
    """Write that a sign-in failed, at whose account if it is anybody's; nobody is the actor.

    Beyond `FAILURES_AN_HOUR` there is none for the rest of the hour, and the last one says so.
    """
    since = id_at(now_ms() - _HOUR_MS, "")
    rows = await tx.fetch(
        "select count(*) from audit_entries where action = 'session.fail' and id >= $1", since
    )
    [(count,)] = rows
    if count >= FAILURES_AN_HOUR:
        return
    is_last = count == FAILURES_AN_HOUR - 1
    target = (None, None) if user_id is None else ("user", user_id)
    asking = _asking.get()
    with asked_by(None, asking.address if asking is not None else lambda: None):
        await note(tx, "session.fail", *target, ip=ip, **details, othersFollow=is_last or None)


async def note_challenge(tx: Transaction, user_id: str, *, ip: str | None = None, way: str) -> None:
    """Write that somebody had the first proof of an account right and was asked for the second.

    Nobody is the actor.  An account and an address have one such entry in a minute.
    """
    asking = _asking.get()
    if ip is None and asking is not None:
        ip = asking.address()
    since = id_at(now_ms() - _MINUTE_MS, "")
    if await tx.fetch(
        """select 1 from audit_entries where action = 'session.challenge' and target_id = $1
           and id >= $2 and coalesce(ip, '') = $3 limit 1""",
        *(user_id, since, ip or ""),
    ):
        return
    with asked_by(None, lambda: ip):
        await note(tx, "session.challenge", "user", user_id, way=way)
