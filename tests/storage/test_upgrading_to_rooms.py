"""Schema 10 keeps channels and conversations in one table of rooms, and loses nothing of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET

from teamchat.chat import Chat
from teamchat.interfaces import Storage
from teamchat.model import Caller, User
from teamchat.model.ids import new_conversation_id, new_id
from teamchat.model.pages import Page
from teamchat.storage import schema
from teamchat.storage.schema import MIGRATIONS
from teamchat.storage.sqlite import connections, upgrading
from teamchat.testing.images import MemoryStore
from tests.storages import ON_SQLITE, open_storage, sqlite_only

ADA = User(new_id(), "ada", "ada@example.org", is_admin=True)
BOB, EVE = (User(new_id(), name, f"{name}@example.org", is_admin=False) for name in ("bob", "eve"))
GENERAL, PLANS = new_id(), new_id()
WITH_BOB, WITH_EVE = new_conversation_id(), new_conversation_id()
MESSAGES = {room: [new_id() for _ in range(3)] for room in (GENERAL, PLANS, WITH_BOB)}
REPLY, WEBHOOK, IMAGE = new_id(), new_id(), f"1-{'0' * 32}.png"


@contextmanager
def knowing(monkeypatch: pytest.MonkeyPatch, newest: int) -> Iterator[None]:
    """Be a version that knows migrations up to a number."""
    modules: list[Any] = [schema, connections, upgrading]
    if not ON_SQLITE:
        from teamchat_storage_postgres import migrations

        modules.append(migrations)
    with monkeypatch.context() as earlier:
        for module in modules:
            earlier.setattr(module, "MIGRATIONS", [one for one in MIGRATIONS if one.number <= newest])
        yield


async def fill(storage: Storage) -> None:
    """Write what a version with schema 9 would have written."""
    async with storage.write() as tx:
        for user in (ADA, BOB, EVE):
            await tx.fetch(
                "insert into users (id, user_name, email, is_admin, created_at) values ($1, $2, $3, $4, 1)",
                *(user.id, user.user_name, user.email, int(user.is_admin)),
            )
        for id_, name, updated_at in ((GENERAL, "General", None), (PLANS, "Pläne", 5)):
            await tx.fetch(
                """insert into channels (id, name, name_key, created_at, updated_at, created_by)
                   values ($1, $2, $3, 2, $4, $5)""",
                *(id_, name, name.casefold(), updated_at, ADA.id),
            )
        for id_, other, last in ((WITH_BOB, BOB, 33), (WITH_EVE, EVE, None)):
            await tx.fetch(
                """insert into conversations (id, first_user, second_user, created_at, last_message_at)
                   values ($1, $2, $3, 3, $4)""",
                *(id_, *sorted((ADA.id, other.id)), last),
            )
        for place, ids in MESSAGES.items():
            for number, id_ in enumerate(ids, 31):
                await tx.fetch(
                    """insert into messages (id, place_id, author_id, content, created_at)
                       values ($1, $2, $3, $4, $5)""",
                    *(id_, place, ADA.id, f"message {number}", number),
                )
        await tx.fetch(
            """insert into messages (id, place_id, parent_id, author_id, content, created_at)
               values ($1, $2, $3, $4, 'a reply', 40)""",
            *(REPLY, GENERAL, MESSAGES[GENERAL][0], BOB.id),
        )
        await tx.fetch(
            """insert into threads (parent_id, reply_count, last_reply_at, last_reply_by, participants)
               values ($1, 1, 40, $2, $3)""",
            *(MESSAGES[GENERAL][0], BOB.id, f'["{BOB.id}"]'),
        )
        await tx.fetch(
            """insert into images (filename, place_id, uploaded_by, created_at, media_type, size)
               values ($1, $2, $3, 4, 'image/png', 1)""",
            *(IMAGE, WITH_BOB, ADA.id),
        )
        await tx.fetch(
            """insert into webhooks (id, name, channel_id, token_hash, created_at, created_by)
               values ($1, 'Bot', $2, 'hash', 4, $3)""",
            *(WEBHOOK, PLANS, ADA.id),
        )
        await tx.fetch(
            """insert into events (type, payload, created_at, text_place, text_message)
               values ('NEW_MESSAGE', '{}', 31, $1, $2)"""
            if ON_SQLITE
            else """insert into events (seq, type, payload, created_at, text_place, text_message)
               values (1, 'NEW_MESSAGE', '{}', 31, $1, $2)""",
            *(GENERAL, MESSAGES[GENERAL][0]),
        )
        await tx.advance_log(1)


async def test_every_room_message_and_webhook_is_there_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with knowing(monkeypatch, 9):
        async with open_storage(tmp_path) as storage:
            await fill(storage)
    async with open_storage(tmp_path) as storage:
        chat, ada, bob = Chat.build(storage, MemoryStore(), 16_000), Caller(ADA, "s"), Caller(BOB, "s")
        assert [
            (one.id, one.name, one.created_at, one.created_by, one.updated_at)
            for one in await chat.channels.list(ada)
        ] == [(GENERAL, "General", 2, ADA.id, UNSET), (PLANS, "Pläne", 2, ADA.id, 5)]
        assert [
            (one.id, one.other_user.id, one.last_message_at) for one in await chat.conversations.list(ada)
        ] == [(WITH_BOB, BOB.id, 33), (WITH_EVE, EVE.id, None)]
        assert [one.id for one in await chat.conversations.list(bob)] == [WITH_BOB]
        assert (await chat.conversations.open(bob, ADA.id)).conversation.id == WITH_BOB
        for room in (GENERAL, PLANS):
            assert [one.id for one in (await chat.messages.page(bob, room, Page(50))).messages] == MESSAGES[
                room
            ]
        direct = (await chat.conversations.page(bob, WITH_BOB, Page(50))).messages
        assert [one.id for one in direct] == MESSAGES[WITH_BOB]
        assert [
            one.id for one in (await chat.threads.page(bob, MESSAGES[GENERAL][0], Page(50))).messages
        ] == [REPLY]
        assert [(one.id, one.channel_id) for one in await chat.webhooks.list(ada)] == [(WEBHOOK, PLANS)]
        async with storage.read() as tx:
            assert await tx.fetch("select filename, room_id from images") == [(IMAGE, WITH_BOB)]
            logged = await tx.fetch("select text_room, text_message from events")
        assert [tuple(row) for row in logged] == [(GENERAL, MESSAGES[GENERAL][0])]


@sqlite_only("PostgreSQL tries an upgrade in a transaction, without a copy")
async def test_a_rehearsal_knows_where_the_rows_went(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with knowing(monkeypatch, 9):
        async with open_storage(tmp_path) as storage:
            await fill(storage)
    tried = upgrading.rehearse(tmp_path / "teamchat.db")
    assert (tried.present, tried.newest) == (9, MIGRATIONS[-1].number)
