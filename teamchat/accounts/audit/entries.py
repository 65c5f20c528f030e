"""Reading entries, newest first, and removing expired ones."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from teamchat.accounts.audit import writing
from teamchat.errors import BadRequest, Forbidden
from teamchat.interfaces import Row, Storage, Transaction
from teamchat.model import Caller, now_ms
from teamchat.model.ids import could_be_id, id_at
from teamchat.storage.parts import delete_in_parts

_DAY_MS = 86_400_000
_BATCH = 1000
_FORGET = """delete from audit_entries where id in
(select id from audit_entries where id < $1 order by id limit {}) returning 1"""
_COLUMNS = "id, at, actor_id, ip, action, target_type, target_id, details"


class AuditEntry(Struct, frozen=True, rename="camel"):
    """What somebody did. `actor_id` is null where nobody who is known did it, `ip` where nobody asked."""

    id: str
    at: int
    actor_id: str | None
    ip: str | None
    action: str
    target_type: str | None
    target_id: str | None
    details: Mapping[str, Any]


class AuditPage(Struct, frozen=True, rename="camel"):
    """Some entries, newest first, and what `before` is for those that follow."""

    entries: Sequence[AuditEntry]
    next: str | None


class AuditQuery(Struct, frozen=True):
    """Which entries are asked for; an `action` without a dot means all that begin with it."""

    actor_id: str | None = None
    action: str | None = None
    target_id: str | None = None


class Audit:
    """The audit log of a server."""

    def __init__(self, storage: Storage, retention_days: int, clock: Callable[[], int] = now_ms) -> None:
        self._storage = storage
        self._days = retention_days
        self._clock = clock

    note = staticmethod(writing.note)

    async def check(self, caller: Caller) -> None:
        """Raise `Forbidden` unless the caller is an admin."""
        if not caller.user.is_admin:
            raise Forbidden("Only an admin may do this.")

    async def page(self, caller: Caller, limit: int, before: str | None, query: AuditQuery) -> AuditPage:
        """Return up to `limit` entries that are older than `before`. Admins alone."""
        await self.check(caller)
        if before is not None and not could_be_id(before):
            raise BadRequest("before is no id of an entry.")
        async with self._storage.read() as tx:
            found = await _read(tx, query, limit + 1, before=before)
        return AuditPage(found[:limit], found[limit - 1].id if len(found) > limit else None)

    async def all(
        self, query: AuditQuery, *, since: int | None = None, until: int | None = None
    ) -> AsyncIterator[AuditEntry]:
        """Yield all entries, the oldest first, of these times (epoch milliseconds): for the operator."""
        after = "" if since is None else id_at(since, "")[:12]
        while True:
            async with self._storage.read() as tx:
                found = await _read(tx, query, _BATCH, after=after)
            for entry in found:
                if until is not None and entry.at >= until:
                    continue
                if since is None or entry.at >= since:
                    yield entry
            if len(found) < _BATCH:
                return
            after = found[-1].id

    async def sweep(self) -> None:
        """Remove what is older than ``audit.retentionDays``, some rows a transaction."""
        oldest = f"{max(0, self._clock() - self._days * _DAY_MS):012x}"
        await delete_in_parts(self._storage, _FORGET, oldest)


async def _read(
    tx: Transaction, query: AuditQuery, limit: int, *, before: str | None = None, after: str | None = None
) -> list[AuditEntry]:
    wanted: list[tuple[str, object]] = []
    if query.actor_id is not None:
        wanted.append(("actor_id = ${}", query.actor_id))
    if query.target_id is not None:
        wanted.append(("target_id = ${}", query.target_id))
    if query.action is not None and "." in query.action:
        wanted.append(("action = ${}", query.action))
    elif query.action is not None:  # The character that follows the dot is the slash.
        wanted += [("action > ${}", f"{query.action}."), ("action < ${}", f"{query.action}/")]
    if before is not None:
        wanted.append(("id < ${}", before))
    if after is not None:
        wanted.append(("id > ${}", after))
    conditions = [sql.format(number) for number, (sql, _) in enumerate(wanted, 1)] or ["1 = 1"]
    order = "asc" if after is not None else "desc"
    rows = await tx.fetch(
        f"""select {_COLUMNS} from audit_entries where {" and ".join(conditions)}
            order by id {order} limit ${len(wanted) + 1}""",  # noqa: S608
        *(value for _, value in wanted),
        limit,
    )
    return [_entry(row) for row in rows]


def _entry(row: Row) -> AuditEntry:
    id_, at, actor_id, ip, action, target_type, target_id, details = row
    decoded = msgspec.json.decode(details)
    return AuditEntry(id_, at, actor_id, ip, action, target_type, target_id, decoded)
