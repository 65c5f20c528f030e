"""The audit log, as the operator reads it (extension L-4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from teamchat.accounts.audit import Audit, AuditEntry, AuditQuery
from teamchat.accounts.records import account_by_email
from teamchat.errors import OperatorError
from teamchat.interfaces import Storage, Transaction
from teamchat.operations.installation import Installation
from teamchat.storage.statements import chunks

_AT_ONCE = 500


class Wanted(NamedTuple):
    """Which entries: `actor` and `target` are ids, or emails of users; times are epoch milliseconds."""

    actor: str | None = None
    action: str | None = None
    target: str | None = None
    since: int | None = None
    until: int | None = None


class Told(NamedTuple):
    """An entry, and the names of the users in it, as far as there are any, by their ids."""

    entry: AuditEntry
    names: dict[str, str]


async def read_audit(installation: Installation, wanted: Wanted, say: Callable[[Told], None]) -> int:
    """Say every entry that is wanted, the oldest first, and return how many there were.

    Raises `OperatorError` for an actor who never was a user, and for an email that is nobody's.
    """
    count = 0
    async with installation.existing_storage() as storage:
        async with storage.read() as tx:
            actor, target = await _user(tx, wanted.actor), await _id_of(tx, wanted.target)
        audit = Audit(storage, installation.settings.audit.retention_days)
        waiting: list[AuditEntry] = []
        query = AuditQuery(actor, wanted.action, target)
        async for entry in audit.all(query, since=wanted.since, until=wanted.until):
            count += 1
            waiting.append(entry)
            if len(waiting) == _AT_ONCE:
                await _say(storage, waiting, say)
                waiting = []
        await _say(storage, waiting, say)
    return count


async def _say(storage: Storage, entries: Sequence[AuditEntry], say: Callable[[Told], None]) -> None:
    ids = {one for entry in entries for one in (entry.actor_id, entry.target_id) if one is not None}
    names: dict[str, str] = {}
    async with storage.read() as tx:
        for marks, piece in chunks(sorted(ids)):
            rows = await tx.fetch(f"select id, user_name from users where id in ({marks})", *piece)  # noqa: S608
            names |= {row[0]: row[1] for row in rows}
    for entry in entries:
        say(Told(entry, names))


async def _id_of(tx: Transaction, who: str | None) -> str | None:
    if who is None or "@" not in who:
        return who
    account = await account_by_email(tx, who)
    if account is None:
        raise _unknown(who)
    return account.user.id


async def _user(tx: Transaction, who: str | None) -> str | None:
    """Return the id of somebody who is a user, or was one."""
    user_id = await _id_of(tx, who)
    if user_id is not None and not await tx.fetch("select 1 from users where id = $1", user_id):
        raise _unknown(user_id)
    return user_id


def _unknown(who: str) -> OperatorError:
    return OperatorError(
        f"There is no user {who}. Give an email or an id; teamchat user list shows those of who is there, "
        "and entries named user.remove those of who is not."
    )
