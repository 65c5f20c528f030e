"""Checks of the database: that it answers, that its file is whole, and that its rows agree.

Each check reads in a transaction of its own and changes nothing, so servers may run meanwhile. What they do
between two checks is not a finding, because each rule is asked in one statement.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence

from teamchat.capabilities import Check
from teamchat.chat.sight import GONE
from teamchat.errors import StorageError
from teamchat.interfaces import Storage, Transaction
from teamchat.operations.checking import rooms
from teamchat.operations.checking.findings import Finding, Say, ok, problem, warning
from teamchat.storage.capability_tables import CapabilityTables, stored_in, unseen

_SLOW_READ_MS = 50.0
_SLOW_WRITE_MS = 500.0
_BROKEN = "Restore the last backup, or report how this came about: no version of teamchat should do it."


RULES = (
    Check(
        "users",
        "there is an admin",
        "select case when count(*) = 0 then 1 else 0 end from users"
        " where is_admin = 1 and removed_at is null and deactivated_at is null",
        "Make one: teamchat user promote EMAIL",
    ),
    Check(
        "users",
        "those who are gone have no session and no password",
        """select count(*) from users u where removed_at is not null and (password_hash is not null
           or exists (select 1 from sessions s where s.user_id = u.id))""",
    ),
    Check(
        "users",
        "those who are deactivated have no session",
        """select count(*) from users u where deactivated_at is not null
           and exists (select 1 from sessions s where s.user_id = u.id)""",
        "End it: teamchat user activate EMAIL, then teamchat user deactivate EMAIL.",
    ),
    Check(
        "users",
        "bots are no admins, and have no session and no password",
        """select count(*) from users u where is_bot = 1 and (is_admin = 1 or password_hash is not null
           or exists (select 1 from sessions s where s.user_id = u.id))""",
    ),
    Check(
        "messages",
        "each stands in a channel or conversation that is there",
        "select count(*) from messages where room_id not in (select id from rooms)",
    ),
    Check(
        "messages",
        "each author is known",
        """select count(*) from messages m where bot_name is null
           and not exists (select 1 from users u where u.id = m.author_id)""",
    ),
    Check(
        "threads",
        "each reply stands under a message of its channel that is no reply",
        """select count(*) from messages r join messages p on p.id = r.parent_id
           where p.parent_id is not null or p.room_id <> r.room_id""",
    ),
    Check(
        "threads",
        "the figures are those of the replies",
        f"""select count(*) from (
             select parent_id, count(*) as replies from messages where parent_id is not null
             group by parent_id
           ) counted full join threads t on t.parent_id = counted.parent_id
           where (counted.parent_id is null or t.parent_id is null or t.reply_count <> counted.replies)
           and not exists (select 1 from messages m where m.room_id in ({GONE})
             and m.id = coalesce(counted.parent_id, t.parent_id))""",  # noqa: S608
    ),
    Check(
        "conversations",
        "the last activity is that of the newest message",
        """select count(*) from rooms r where kind = 'direct' and coalesce(last_message_at, -1) <> coalesce(
             (select m.created_at from messages m where m.room_id = r.id and m.parent_id is null
              order by m.id desc limit 1), -1)""",
    ),
    Check(
        "conversations",
        "each has its two members",
        """select count(*) from rooms r where kind = 'direct' and pair_key is distinct from (
             select min(user_id) || ' ' || max(user_id) from memberships m where m.room_id = r.id)""",
    ),
    Check(
        "reactions",
        "each is shown with its message",
        """select count(*) from messages m where is_decorated = 0
           and (exists (select 1 from reactions r where r.message_id = m.id)
             or exists (select 1 from message_images i where i.message_id = m.id))""",
    ),
    Check(
        "images",
        "each belongs to a channel or conversation that is there, and to messages of it alone",
        f"""select count(*) from images i where room_id not in (select id from rooms)
           or exists (select 1 from message_images a join messages m on m.id = a.message_id
             where a.filename = i.filename and m.room_id <> i.room_id
             and m.room_id not in ({GONE}))""",  # noqa: S608
    ),
    Check(
        "webhooks",
        "each has its channel",
        """select count(*) from webhooks w
           where not exists (select 1 from rooms r where r.id = w.channel_id and r.kind = 'channel')""",
    ),
)


async def check_database(
    storage: Storage, backend: str, say: Say, wanted: Sequence[CapabilityTables] = ()
) -> None:
    """Check all of it, and say what was found as it is found."""
    say(await _answers(storage))
    if backend == "sqlite":
        say(await _guarded("database", _is_whole, storage))
        say(await _guarded("database", _refers_rightly, storage))
    say(await _guarded("event log", _ends_rightly, storage))
    say(await _guarded("members", rooms.bounds_are_reached, storage))
    for finding in await _tables_of_capabilities(storage, wanted):
        say(finding)
    for rule in (*RULES, *rooms.RULES, *await _of_capabilities(storage, wanted)):
        say(await _guarded(rule.subject, _checker(rule), storage))


async def _tables_of_capabilities(storage: Storage, wanted: Sequence[CapabilityTables]) -> list[Finding]:
    """Compare the tables of capabilities that are there with those that plugins know."""
    async with storage.read() as tx:
        there = await stored_in(tx)
    known = {ours.namespace: ours for ours in wanted}
    found = []
    for name in there:
        ours = known.get(name)
        if ours is None:
            found.append(
                ok("capabilities", f"the tables of {name} are kept, though no active plugin offers it")
            )
            continue
        try:
            unseen(ours, there)
        except StorageError as error:
            found.append(problem("capabilities", str(error), "Do as it says."))
    return found


async def _of_capabilities(storage: Storage, wanted: Sequence[CapabilityTables]) -> list[Check]:
    """Return the checks of those capabilities whose tables are as their plugins know them."""
    async with storage.read() as tx:
        there = {name: max(numbers) for name, numbers in (await stored_in(tx)).items()}
    return [check for ours in wanted if there.get(ours.namespace) == ours.newest for check in ours.checks]


async def _answers(storage: Storage) -> Finding:
    """Measure a read and a durable write that changes nothing."""
    begun = time.perf_counter()
    async with storage.read() as tx:
        await tx.fetch("select id from users limit 1")
    read = (time.perf_counter() - begun) * 1000
    begun = time.perf_counter()
    async with storage.write() as tx:
        await tx.advance_log(0)
    write = (time.perf_counter() - begun) * 1000
    sentence = f"a read takes {read:.1f} ms, a durable write {write:.1f} ms"
    if read > _SLOW_READ_MS or write > _SLOW_WRITE_MS:
        return warning("database", sentence, "See what else the disk, or the way to the database, carries.")
    return ok("database", sentence)


Checker = Callable[[Transaction], Awaitable[Finding]]


async def _guarded(subject: str, check: Checker, storage: Storage) -> Finding:
    """Run one check; what the database refuses (because it takes too long, say) is told as such."""
    try:
        async with storage.read() as tx:
            return await check(tx)
    except StorageError as error:
        return warning(subject, f"could not be checked: {error}", "Try again when less is going on.")


async def _is_whole(tx: Transaction) -> Finding:
    try:
        rows = await tx.fetch("pragma integrity_check(10)")
    except StorageError as error:  # Where the search index is damaged the pragma itself fails.
        return problem("database", f"the file can't be read to its end: {error}", "Restore the last backup.")
    if [tuple(row) for row in rows] == [("ok",)]:
        return ok("database", "the file is whole")
    return problem("database", f"the file is damaged: {rows[0][0]}", "Restore the last backup.")


async def _refers_rightly(tx: Transaction) -> Finding:
    rows = await tx.fetch("pragma foreign_key_check")
    if not rows:
        return ok("database", "every reference leads to a row")
    named = ", ".join(sorted({str(row[0]) for row in rows}))
    return problem("database", f"{len(rows)} rows of {named} refer to rows that are not there", _BROKEN)


async def _ends_rightly(tx: Transaction) -> Finding:
    [(first, last, count)] = await tx.fetch("select min(seq), max(seq), count(*) from events")
    if count and last - first + 1 != count:
        return problem("event log", f"{last - first + 1 - count} events are missing within it", _BROKEN)
    return ok("event log", f"holds {count} events without a gap")


def _checker(rule: Check) -> Checker:
    async def check(tx: Transaction) -> Finding:
        [(offenders,)] = await tx.fetch(rule.offenders)
        if offenders:
            tell = warning if rule.is_warning else problem
            return tell(rule.subject, f"not so in {offenders} cases: {rule.sentence}", rule.remedy)
        return ok(rule.subject, rule.sentence)

    return check
