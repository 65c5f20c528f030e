"""Rooms and who is in them: in order after use, and what breaks a rule is found, told, and given a remedy."""

from __future__ import annotations

from pathlib import Path

from teamchat.chat import Draft
from teamchat.chat.channel_drafts import NewChannel, NewPrivateChannel
from teamchat.chat.groups import GroupOf
from teamchat.interfaces import Storage
from teamchat.operations.checking.database import check_database
from teamchat.operations.checking.findings import Finding, Level
from teamchat.operations.checking.rooms import RULES
from tests.chat.conftest import World
from tests.operations.findings import wrong
from tests.operations.test_slack_private import world_in
from tests.storages import ON_SQLITE

SECRET = "(select id from rooms where name = 'Secret')"
GROUP = "(select id from rooms where kind = 'group')"
NOTES = "(select id from rooms where kind = 'notes')"
DEFAULT = "(select id from rooms where is_default = 1)"
CLOSED = "(select id from rooms where name = 'Closed')"
BEN = "(select id from users where user_name = 'Ben')"
EVA = "(select id from users where user_name = 'Eva')"
_IN = "insert into memberships (room_id, user_id, joined_at) values"
HARM = {
    "each is of a kind that there is, and what is no channel is private": [
        f"update rooms set is_private = 0, name = 'x', name_key = 'x' where id = {GROUP}",
        f"update rooms set kind = 'club' where id = {SECRET}",
    ],
    "public channels have names of their own, private ones clash with none and are nobody's by default": [
        f"update rooms set name_key = 'secret' where id = {SECRET}",
        f"update rooms set is_default = 1 where id = {SECRET}",
        f"update rooms set name_key = null where id = {DEFAULT}",
        f"update rooms set name = null where id = {SECRET}",
    ],
    "none is there that was deleted": [f"insert into closed_rooms (id, closed_at) values ({SECRET}, 1)"],
    "nobody finds one that is being removed": [f"update rooms set kind = 'gone' where id = {SECRET}"],
    "none that everybody is in is archived": [f"update rooms set archived_at = 1 where id = {DEFAULT}"],
    "each channel with a member who could manage it has a manager": [
        f"update memberships set role = 'member' where room_id = {SECRET}"
    ],
    "each that nobody is in is archived": [
        f"update rooms set archived_at = null where id = {CLOSED}",
        f"delete from memberships where room_id = {GROUP}",
    ],
    "none of them was removed from the server": [f"update users set removed_at = 1 where id = {EVA}"],
    "each joined at a change that their room has come to": [
        f"update memberships set since_epoch = 99 where room_id = {SECRET} and user_id = {EVA}"
    ],
    "who has left is out, of a channel that everybody else is in": [
        f"insert into departures (room_id, user_id) values ({SECRET}, {BEN})",
        f"{_IN} ({DEFAULT}, {EVA}, 1)",
    ],
    "what the first message is that they see can be read": [
        "update memberships set visible_from = 'x' where role = 'manager'",
        f"update rooms set public_from = 'x' where id = {DEFAULT}",
    ],
    "each is of 9 people at most, and nobody manages one": [
        f"update memberships set role = 'manager' where room_id = {NOTES}",
        f"insert into memberships (room_id, user_id, joined_at) select {GROUP}, id, 1 from users"
        f" where id not in (select user_id from memberships where room_id = {GROUP})",
    ],
    "each is of one user, who has no others": [
        f"{_IN} ({NOTES}, {EVA}, 1)",
        "insert into rooms (id, kind, is_private, created_at) values ('n', 'notes', 1, 1);"
        f"{_IN} ('n', {BEN}, 1)",
    ],
    "somebody does not see what is said now, but what will be said later": [
        f"update memberships set visible_from = '{'f' * 32}' where room_id = {SECRET} and user_id = {EVA}",
        f"update rooms set public_from = '{'f' * 32}' where id = {DEFAULT}",
    ],
}


async def filled(world: World) -> None:
    """Have rooms of every kind, with everything in them that a rule is about."""
    ann = await world.user("Ann", is_admin=True)
    ben, eva, *more = [await world.user(name) for name in ("Ben", "Eva", *map(str, range(8)))]
    chat = world.chat
    secret = NewPrivateChannel("Secret", history_for="joiners", members=[eva.user.id])
    room = (await chat.channels.create(ben, secret)).id
    await chat.messages.post(ben, room, Draft("before"))
    await chat.members.add(ben, room, [more[0].user.id])
    default = (await chat.channels.create(ann, NewChannel("Default"))).id
    await chat.members.leave(eva, default)
    group, _ = await chat.groups.open(ben, GroupOf([eva.user.id, more[1].user.id]))
    await chat.messages.post(ben, group.id, Draft("among three"))
    await chat.groups.add(ben, group.id, [more[2].user.id])
    await chat.groups.notes(ben)
    closed = (await chat.channels.create(ben, NewPrivateChannel("Closed"))).id
    await chat.members.leave(ben, closed)


async def found(storage: Storage) -> list[Finding]:
    findings: list[Finding] = []
    await check_database(storage, "sqlite" if ON_SQLITE else "postgres", findings.append)
    return wrong(findings)


async def test_all_holds_in_use_and_whatever_breaks_it_is_found(tmp_path: Path) -> None:
    async with world_in(tmp_path) as world:
        await filled(world)
        assert await found(world.storage) == []
        for sentence, breakages in HARM.items():
            for breakage in breakages:
                assert await broken(world, breakage, sentence), breakage
        assert await found(world.storage) == [], "each was taken back"
    assert set(HARM) >= {rule.sentence for rule in RULES}


async def broken(world: World, statements: str, sentence: str) -> bool:
    """Break something, look whether it is told with what to do, and take it back."""
    kept = [
        (table, await world.run(f"select * from {table}"))
        for table in ("users", "rooms", "memberships", "departures", "closed_rooms")
    ]
    for statement in statements.split(";"):
        await world.run(statement)
    told = [finding for finding in await found(world.storage) if sentence in finding.sentence]
    for table, _ in reversed(kept):
        if table != "users":
            await world.run(f"delete from {table}")
    await world.run("update users set removed_at = null")
    for table, rows in kept[1:]:
        for row in rows:
            marks = ", ".join(f"${number}" for number in range(1, len(row) + 1))
            await world.run(f"insert into {table} values ({marks})", *row)
    return len(told) == 1 and bool(told[0].remedy)


async def test_a_channel_of_bots_and_of_who_is_deactivated_is_managed_by_nobody(tmp_path: Path) -> None:
    async with world_in(tmp_path) as world:
        await filled(world)
        await world.run("update memberships set role = 'member'")
        for change in ("is_bot = 1", "is_bot = 0, deactivated_at = 1"):
            await world.run(f"update users set {change}")
            assert not [one for one in await found(world.storage) if one.subject == "private rooms"]
        await world.run("update users set deactivated_at = null")
        assert [one for one in await found(world.storage) if one.subject == "private rooms"]


async def test_an_archived_channel_that_everybody_is_in_is_for_the_operator_to_judge(tmp_path: Path) -> None:
    async with world_in(tmp_path) as world:
        await filled(world)
        [(default,)] = await world.run(f"select {DEFAULT}")
        ann = await world.user("Another admin", is_admin=True)
        await world.chat.channels.archive(ann, default, is_archived=True)
        [finding] = await found(world.storage)
        assert finding.level is Level.WARNING
        assert "/unarchive" in finding.remedy


async def test_a_bound_beyond_all_that_is_left_or_ahead_of_the_clock_as_the_room_is_no_problem(
    tmp_path: Path,
) -> None:
    async with world_in(tmp_path) as world:
        ann = await world.user("Ann", is_admin=True)
        ben = await world.user("Ben")
        room = (await world.chat.channels.create(ann, NewPrivateChannel("Late", history_for="joiners"))).id
        said = await world.chat.messages.post(ann, room, Draft("gone soon"))
        await world.run("update messages set id = $2 where id = $1", said.id, "7" + "0" * 31)
        await world.chat.members.add(ann, room, [ben.user.id])
        assert await found(world.storage) == []
        await world.chat.messages.delete(ann, "7" + "0" * 31)
        assert await found(world.storage) == []
