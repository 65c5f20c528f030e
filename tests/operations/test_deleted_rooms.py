"""What an operator does while a deleted channel is still being removed."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from teamchat.chat import Chat, Draft, deletion
from teamchat.interfaces import Storage
from teamchat.model import Caller, User, now_ms
from teamchat.model.ids import new_id
from teamchat.operations.backup import back_up
from teamchat.operations.import_export.bringing_in import Wishes, bring_in
from teamchat.operations.import_export.exporting import export_to
from teamchat.operations.installation import Installation
from teamchat.operations.restore import restore
from tests.operations.conftest import configure
from tests.operations.exchanging import records, sound
from tests.operations.test_checking import lived_in
from tests.storages import ON_SQLITE, storage_section

BACKEND = "sqlite" if ON_SQLITE else "postgres"


async def half_removed(storage: Storage) -> str:
    """Delete the channel of an installation, with more in it than goes at once; return its id."""
    chat: Any = Chat.build(storage, SimpleNamespace(), 1000)  # type: ignore[arg-type]
    async with storage.read() as tx:
        [(room,)] = await tx.fetch("select id from rooms where name = 'General'")
        [(user,)] = await tx.fetch("select id from users where is_admin = 1")
    ada = Caller(User(user, "Ada", "admin@localhost", is_admin=True), new_id())
    for number in range(4):
        last = await chat.messages.post(ada, room, Draft(f"secret {number}"))
    for number in range(4):
        await chat.threads.reply(ada, last.id, Draft(f"secret reply {number}"))
    async with storage.write() as tx:
        await tx.fetch(
            """insert into edit_history (message_id, room_id, author_id, number, content, set_at, ended_at)
            values ($1, $2, $3, 0, 'secret before', 1, $4)""",
            *(last.id, room, user, now_ms()),
        )
    with patch.object(deletion, "PART", 2):
        await chat.channels.delete(ada, room)
        async with storage.write() as tx:  # Some replies are gone, and their message is not.
            await tx.fetch(
                "delete from messages where id in (select max(id) from messages where parent_id = $1)",
                last.id,
            )
    return str(room)


async def half_removed_thread(storage: Storage) -> list[str]:
    """Delete a message with a reply that somebody has edited; return the ids of both."""
    chat: Any = Chat.build(storage, SimpleNamespace(), 1000)  # type: ignore[arg-type]
    async with storage.read() as tx:
        [(room,)] = await tx.fetch("select id from rooms where name = 'General'")
        [(user,)] = await tx.fetch("select id from users where is_admin = 1")
    ada = Caller(User(user, "Ada", "admin@localhost", is_admin=True), new_id())
    parent = await chat.messages.post(ada, room, Draft("secret"))
    reply = (await chat.threads.reply(ada, parent.id, Draft("secret reply"))).reply
    async with storage.write() as tx:
        await tx.fetch(
            """insert into edit_history (message_id, room_id, author_id, number, content, set_at, ended_at)
            values ($1, $2, $3, 0, 'secret before', 1, $4)""",
            *(reply.id, room, user, now_ms()),
        )
    with patch.object(deletion, "PART", 0):
        await chat.messages.delete(ada, parent.id)
    return [parent.id, reply.id]


async def test_nothing_of_a_thread_is_exported_or_found_wrong(tmp_path: Path) -> None:
    config = configure(tmp_path / "c.json", storage=storage_section(tmp_path / "data"))
    installation = Installation.load(config, {})
    async with lived_in(config) as storage:
        said = await half_removed_thread(storage)
        await sound(storage, BACKEND)
    await export_to(installation, tmp_path / "after")
    exported = b"".join(one for one in records(tmp_path / "after").values() if isinstance(one, bytes))
    assert b"between us" in exported
    assert b"secret" not in exported
    assert not [one for one in said if one.encode() in exported]


async def left_of(storage: Storage, room: str) -> list[int]:
    async with storage.read() as tx:
        return [
            (await tx.fetch(f"select count(*) from {table} where {column} = $1", room))[0][0]
            for table, column in (("rooms", "id"), ("messages", "room_id"), ("edit_history", "room_id"))
        ]


async def test_nothing_of_it_is_exported_or_found_wrong_and_nothing_is_brought_into_it(
    tmp_path: Path,
) -> None:
    config = configure(tmp_path / "c.json", storage=storage_section(tmp_path / "data"))
    installation = Installation.load(config, {})
    async with lived_in(config) as storage:
        await export_to(installation, tmp_path / "before")
        room = await half_removed(storage)
        assert min(await left_of(storage, room)) > 0
        await sound(storage, BACKEND)
    await export_to(installation, tmp_path / "after")
    exported = records(tmp_path / "after")
    assert not [name for name in exported if name.startswith(("images/", "files/"))]
    said = b"".join(content for content in exported.values() if isinstance(content, bytes))
    assert b"between us" in said
    assert room.encode() not in said
    assert b"secret" not in said

    told = await bring_in(installation, tmp_path / "before", Wishes())
    assert any("it was deleted here, and is being removed" in line for line in told), told
    async with installation.storage() as storage:
        count = (await left_of(storage, room))[1]
        await Chat.build(storage, SimpleNamespace(), 1000).deletion.sweep()  # type: ignore[arg-type]
        assert count > 0
        assert await left_of(storage, room) == [0, 0, 0]
        await sound(storage, BACKEND)


async def test_a_backup_of_then_is_restored_and_goes_on(tmp_path: Path) -> None:
    config = configure(tmp_path / "c.json", storage=storage_section(tmp_path / "data"))
    async with lived_in(config) as storage:
        room = await half_removed(storage)
        before = await left_of(storage, room)
    await back_up(Installation.load(config, {}), tmp_path / "backup.zip")
    other = configure(tmp_path / "other.json", storage=storage_section(tmp_path / "other"))
    installation = Installation.load(other, {})
    await restore(installation, tmp_path / "backup.zip")
    async with installation.storage() as storage:
        assert await left_of(storage, room) == before
        await Chat.build(storage, SimpleNamespace(), 1000).deletion.sweep()  # type: ignore[arg-type]
        assert await left_of(storage, room) == [0, 0, 0]
        await sound(storage, BACKEND)
