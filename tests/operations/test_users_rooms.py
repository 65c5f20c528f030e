"""What the operator does with users keeps the rules of rooms, without a server: succession, last ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from teamchat.chat import Chat, Draft
from teamchat.chat.channel_drafts import NewPrivateChannel
from teamchat.chat.groups import GroupOf
from teamchat.errors import OperatorError
from teamchat.model.pages import Page
from teamchat.operations.checking.database import check_database
from teamchat.operations.checking.findings import Finding
from teamchat.operations.installation import Installation
from teamchat.operations.users import open_users
from teamchat.storage.capability_tables import upgrade
from tests.chat.conftest import MemoryImages, World
from tests.operations.conftest import configure
from tests.operations.findings import wrong
from tests.storages import ON_SQLITE, storage_section


@pytest.mark.slow
async def test_who_is_removed_by_the_operator_leaves_what_they_were_in_as_they_would_in_a_server(
    tmp_path: Path,
) -> None:
    config = configure(tmp_path / "c.json", storage=storage_section(tmp_path / "data"))
    installation = Installation.load(config, {})
    async with installation.storage() as storage:
        await upgrade(storage, installation.capabilities().tables)
        images = MemoryImages()
        world = World(storage, Chat.build(storage, images, 1_000), images)
        ann = await world.user("Ann", is_admin=True)
        ben, eva, sam = [await world.user(name) for name in ("Ben", "Eva", "Sam")]
        shared = NewPrivateChannel("Shared", members=[eva.user.id, sam.user.id])
        room = (await world.chat.channels.create(ben, shared)).id
        alone = (await world.chat.channels.create(ben, NewPrivateChannel("Alone"))).id
        group = (await world.chat.groups.open(ben, GroupOf([eva.user.id, sam.user.id])))[0].id
        notes = (await world.chat.groups.notes(ben))[0].id
        default = (await world.chat.channels.create(ann, "Default")).id
        await world.chat.members.leave(ben, default)
        await world.chat.messages.post(ben, group, Draft("stays"))

        async with open_users(installation) as users:
            await users.set_role("Ben@example.org", is_admin=True)
            await users.set_role("Ann@example.org", is_admin=False)
            with pytest.raises(OperatorError, match="last admin"):
                await users.remove("Ben@example.org")
            await users.set_role("Eva@example.org", is_admin=True)
            await users.remove("Ben@example.org")
            listed = {user.user_name: user.is_admin for user in await users.list()}
        assert listed == {"Ann": False, "Eva": True, "Sam": False}

        members = (await world.chat.members.page(sam, room, 50, None)).members
        oldest = min(eva.user.id, sam.user.id)
        assert {(one.user_id, one.role) for one in members} == {
            (one.user.id, "manager" if one.user.id == oldest else "member") for one in (eva, sam)
        }
        assert await world.run(
            "select id from rooms where archived_at is not null order by id"
        ) == [(id_,) for id_ in sorted([alone, notes])]  # fmt: skip
        page = (await world.chat.messages.page(sam, group, Page(50))).messages
        assert [(one.content, one.author.user_name) for one in page] == [("stays", "Ben")]
        told = await world.run("select payload from events where type = 'CHANNEL_MEMBER_UPDATED'")
        assert len(told) == 1, "the new manager is told of, as by a server"
        findings: list[Finding] = []
        await check_database(storage, "sqlite" if ON_SQLITE else "postgres", findings.append)
        assert wrong(findings) == []


async def test_a_demoted_admin_stays_in_their_rooms_as_what_they_are_there(tmp_path: Path) -> None:
    config = configure(tmp_path / "c.json", storage=storage_section(tmp_path / "data"))
    installation = Installation.load(config, {})
    async with installation.storage() as storage:
        await upgrade(storage, installation.capabilities().tables)
        images = MemoryImages()
        world = World(storage, Chat.build(storage, images, 1_000), images)
        ann, ben = await world.user("Ann", is_admin=True), await world.user("Ben", is_admin=True)
        room = (await world.chat.channels.create(ben, NewPrivateChannel("Secret"))).id
        await world.chat.administration.enter(ann, room, "a complaint")
        async with open_users(installation) as users:
            await users.set_role("Ann@example.org", is_admin=False)
        assert (await world.run("select role from memberships where user_id = $1", ann.user.id)) == [
            ("manager",)
        ]
