"""What is said, edited, erased or imported is found at once, or no more."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from teamchat.chat import MessageEdit
from teamchat.chat.retention import Retention
from teamchat.events import Resync

_world = import_module("plugins.teamchat-search.tests.world")
_generated = import_module("plugins.teamchat-search.tests.generated")
World, opened = _world.World, _world.opened
fill = _generated.fill


async def test_what_was_just_said_is_found_and_what_was_erased_or_edited_is_not(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as world:
        first, second = await world.say("alpha needle"), await world.say("beta needle")
        for is_indexed in (False, True):
            if is_indexed:
                await world.indexing.catch_up()
            assert await world.find("needle") == [second, first]
        await world.app.chat.messages.edit(world.ada, second, MessageEdit("beta thread"))
        assert await world.find("needle") == [first]
        assert await world.find("thread") == [second]
        await world.indexing.catch_up()
        assert await world.find("needle") == [first]
        assert await world.find("thread") == [second]
        await world.app.chat.messages.delete(world.ada, first)
        assert await world.find("needle") == []
        await world.indexing.catch_up()
        assert await world.find("needle") == []
        assert await world.find("beta") == [second]


async def test_a_reply_is_found_and_goes_with_its_thread_and_with_its_channel(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        channel = await world.public("Room")
        parent = await world.say("parent needle", channel)
        reply = await world.reply("reply needle", parent, world.bob)
        await world.indexing.catch_up()
        assert await world.find("needle") == [reply, parent]
        assert await world.find("is:thread needle") == [reply, parent]
        assert await world.find("has:thread needle") == [parent]
        await world.app.chat.messages.delete(world.ada, parent)
        assert await world.find("needle") == []
        other = await world.say("needle again", channel)
        await world.indexing.catch_up()
        assert await world.find("needle") == [other]
        await world.app.chat.channels.delete(world.ada, channel)
        assert await world.find("needle") == []
        await world.indexing.catch_up()
        assert await world.documents() == 0


async def test_retention_takes_messages_out_of_the_index(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        await fill(world, 9, 30)
        await world.indexing.catch_up()
        assert await world.documents() == 30
        await Retention(world.app.storage, -1, world.app.capabilities).sweep()
        assert await world.find("-never") == []
        await world.indexing.catch_up()
        assert await world.documents() == 0


async def test_what_was_imported_is_found_at_once(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        message = await world.say("needle")
        await world.indexing.catch_up()
        async with world.app.storage.write() as tx:
            await tx.fetch("update messages set content = 'imported straw' where id = $1", message)
            await tx.fetch("delete from search_documents where message_id = $1", message)
            await tx.append(Resync().to())
        for _ in range(2):
            assert await world.find("straw") == [message]
            await world.indexing.catch_up()


async def test_an_index_that_missed_events_or_is_of_another_version_is_made_anew(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        await world.say("needle one")
        await world.indexing.catch_up()
        lost = await world.say("needle two")
        async with world.app.storage.write() as tx:
            await tx.fetch("delete from events")
        assert (await world.find("needle"))[0] == lost
        await world.indexing.catch_up()
        assert (await world.find("needle"))[0] == lost
        async with world.app.storage.write() as tx:
            await tx.fetch("update search_state set made_by = 'before'")
        assert (await world.find("needle"))[0] == lost
        await world.indexing.catch_up()
        assert await world.documents() == 2
