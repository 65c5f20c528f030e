"""What capabilities do in the transaction of a change is kept with it, or nothing is; it has little time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from teamchat import BadRequest, Capability, Changes, Parts, Room, Transaction
from teamchat.application import Application
from teamchat.capabilities import ChangeFailed
from teamchat.capabilities.guarded import CHANGE_SECONDS
from teamchat.chat import Draft, MessageEdit
from teamchat.chat.channel_drafts import ChannelChange, NewChannel, NewPrivateChannel
from teamchat.chat.groups import GroupOf
from teamchat.chat.privacy import PrivacyChange
from teamchat.chat.retention import Retention
from teamchat.model import Caller, Message
from teamchat.operations.installation import Installation
from teamchat.operations.users import open_users
from tests.capabilities.serving import plugins_with, served
from tests.storages import sqlite_only


class Noting(Changes):
    """Notes what it is told, in the transaction that it is told in."""

    def __init__(self) -> None:
        self.noted: list[Any] = []

    async def message_stored(self, tx: Transaction, message: Message, room: Room) -> None:
        [(count,)] = await tx.fetch("select count(*) from messages where id = $1", message.id)
        self.noted.append(("stored", message.content, room.participants is not None, count))

    async def message_edited(self, tx: Transaction, message: Message, room: Room) -> None:
        self.noted.append(("edited", message.content))

    async def messages_going(self, tx: Transaction, ids: Sequence[str], room: Room) -> None:
        found = [await tx.fetch("select content from messages where id = $1", one) for one in ids]
        self.noted.append(("going", [content for [(content,)] in found]))

    async def room_going(self, tx: Transaction, room: Room) -> None:
        [(name,)] = await tx.fetch("select name from rooms where id = $1", room.id)
        self.noted.append(("room", name))

    async def user_gone(self, tx: Transaction, user_id: str) -> None:
        self.noted.append(("gone", user_id))


def taking_part(changes: Changes) -> Capability:
    return Capability(name="polls", parts=lambda app, options: Parts(changes=changes))


async def signed_in(app: Application, email: str = "admin@localhost") -> Caller:
    _, tokens = await app.accounts.sign_in(email, "192.0.2.1", "tests")
    return await app.accounts.authenticate(tokens.access_token)


async def test_each_change_is_told_wherever_it_is_made(tmp_path: Path) -> None:
    noting = Noting()
    async with served(tmp_path, taking_part(noting)) as here:
        chat, users = here.app.chat, here.app.accounts.users
        ada = await signed_in(here.app)
        bob = await users.add(ada, "bob@example.org")
        [channel] = await chat.channels.list(ada)
        message = await chat.messages.post(ada, channel.id, Draft("a question"))
        await chat.threads.reply(ada, message.id, Draft("an answer"))
        dm = (await chat.conversations.open(ada, bob)).conversation.id
        await chat.conversations.post(ada, dm, Draft("between us"))
        await chat.messages.edit(ada, message.id, MessageEdit("another question"))
        await chat.messages.delete(ada, message.id)
        await chat.channels.delete(ada, channel.id)
        await users.remove(ada, bob)
        tomorrow = -1  # as if that day had come
        await Retention(here.app.storage, tomorrow, here.app.capabilities).sweep()
    assert noting.noted == [
        ("stored", "a question", False, 1),
        ("stored", "an answer", False, 1),
        ("stored", "between us", True, 1),
        ("edited", "another question"),
        ("going", ["an answer", "another question"]),
        ("room", "General"),
        ("gone", bob),
        ("going", ["between us"]),
    ]


async def test_a_retry_of_a_post_is_told_once(tmp_path: Path) -> None:
    noting = Noting()
    async with served(tmp_path, taking_part(noting)) as here:
        ada = await signed_in(here.app)
        [channel] = await here.app.chat.channels.list(ada)
        for _ in range(2):
            await here.app.chat.messages.post(ada, channel.id, Draft("once"), "key")
    assert len(noting.noted) == 1


class NotingRooms(Changes):
    """Notes what becomes of rooms and who is in them, with the room as it is given."""

    def __init__(self) -> None:
        self.noted: list[tuple[object, ...]] = []

    async def room_made(self, tx: Transaction, room: Room) -> None:
        [(count,)] = await tx.fetch("select count(*) from memberships where room_id = $1", room.id)
        self.noted.append(("made", room.kind, room.is_default, count))

    async def room_changed(self, tx: Transaction, room: Room) -> None:
        self.noted.append(("changed", room.kind, room.is_default, room.is_archived))

    async def members_changed(
        self, tx: Transaction, room: Room, joined: Sequence[str], left: Sequence[str]
    ) -> None:
        self.noted.append(("members", room.is_private, list(joined), list(left)))

    async def privacy_changed(self, tx: Transaction, room: Room) -> None:
        self.noted.append(("privacy", room.is_private))


async def test_rooms_that_are_made_or_become_others_are_told_wherever_it_is_done(tmp_path: Path) -> None:
    noting = NotingRooms()
    async with served(tmp_path, taking_part(noting)) as here:
        chat, users = here.app.chat, here.app.accounts.users
        ada = await signed_in(here.app)
        bob, eve = [await users.add(ada, f"{name}@example.org") for name in ("bob", "eve")]
        [general] = await chat.channels.list(ada)
        assert noting.noted == [("made", "channel", True, 1)]  # at the first start
        noting.noted.clear()
        plain = await chat.channels.create(ada, NewChannel("plain", is_default=False))
        await chat.channels.create(ada, NewPrivateChannel("private", members=[bob]))
        await chat.conversations.open(ada, bob)
        await chat.conversations.open(ada, bob)  # is there already
        group, _ = await chat.groups.open(ada, GroupOf([bob, eve]))
        await chat.groups.notes(ada)
        assert noting.noted == [
            ("made", "channel", False, 1),
            ("made", "channel", False, 2),
            ("made", "direct", False, 2),
            ("made", "group", False, 3),
            ("made", "notes", False, 1),
        ]
        noting.noted.clear()
        await chat.groups.convert(ada, group.id, "ours")
        for is_archived in (True, True, False):
            await chat.channels.archive(ada, plain.id, is_archived=is_archived)
        for is_default in (True, False):
            await chat.channels.change(ada, plain.id, ChannelChange(is_default=is_default))
        assert noting.noted == [
            ("changed", "group", False, False),
            ("changed", "channel", False, False),
            ("changed", "channel", False, True),
            ("changed", "channel", False, False),
            ("changed", "channel", True, False),
        ]
        noting.noted.clear()
        await chat.members.add(ada, plain.id, [bob])
        await chat.privacy.change(ada, plain.id, PrivacyChange(is_private=True, members=[eve]))
        await chat.privacy.change(ada, general.id, PrivacyChange(is_private=True, members=[eve]))
        assert noting.noted == [
            ("members", False, [bob], []),
            ("members", False, [eve], [bob]),
            ("privacy", False),
            ("privacy", False),  # of General everybody was a member before
        ]


class Failing(Changes):
    """Writes something, and fails then."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    async def message_stored(self, tx: Transaction, message: Message, room: Room) -> None:
        await tx.fetch("insert into server_settings (name, value) values ('polls', 'x')")
        raise self._error


async def kept(app: Application) -> list[Any]:
    async with app.storage.read() as tx:
        return [
            *await tx.fetch("select id from messages"),
            *await tx.fetch("select name from server_settings where name = 'polls'"),
        ]


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (ValueError("s3ntinel"), 500, "The server failed"),
        (BadRequest("Ask a question first."), 400, "Ask a question first."),
    ],
    ids=["a failure", "a refusal"],
)
async def test_a_failure_fails_the_request_and_nothing_is_kept(
    tmp_path: Path, error: Exception, status: int, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with served(tmp_path, taking_part(Failing(error))) as here:
        caller = await signed_in(here.app)
        [channel] = await here.app.chat.channels.list(caller)
        ada, (_, last) = await here.user(), await here.app.storage.log_bounds()
        answer = await ada.call("POST", f"/channels/{channel.id}/messages", {"content": "hello"})
        assert words in answer.problem(status)
        assert await kept(here.app) == []
        assert await here.app.storage.log_bounds() == (1, last)
    if status == 500:
        told = [record.getMessage() for record in caplog.records if "capability" in record.getMessage()]
        assert told
        assert "s3ntinel" not in answer.body.decode()


class Slow(Changes):
    """Waits for something else than its transaction, which nothing within one may."""

    async def message_stored(self, tx: Transaction, message: Message, room: Room) -> None:
        await trio.sleep_forever()


@sqlite_only("a database elsewhere answers while the clock jumps")
async def test_what_takes_too_long_fails_and_lets_others_write(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with served(tmp_path, taking_part(Slow())) as here:
        ada = await signed_in(here.app)
        [channel] = await here.app.chat.channels.list(ada)
        begun = trio.current_time()
        with pytest.raises(ChangeFailed, match=r"message_stored of acme .* took longer than 5 seconds"):
            await here.app.chat.messages.post(ada, channel.id, Draft("hello"))
        assert trio.current_time() - begun == pytest.approx(CHANGE_SECONDS, abs=0.5)
        assert await kept(here.app) == []
        await here.app.chat.channels.create(ada, "Other")


async def test_an_operator_who_removes_a_user_tells_it_too(tmp_path: Path) -> None:
    noting = Noting()
    async with served(tmp_path, taking_part(noting)) as here:
        bob = await here.app.accounts.users.add(await signed_in(here.app), "bob@example.org")
        one = Installation(here.app.settings, plugins_with(taking_part(noting)))
    async with open_users(one) as office:
        await office.remove("bob@example.org")
    assert noting.noted == [("gone", bob)]
