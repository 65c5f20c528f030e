"""A chat over a real storage in a directory of its own, with users to speak in it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from teamchat.chat import Chat
from teamchat.errors import Problem
from teamchat.events import Audience, InRoom, is_internal
from teamchat.interfaces import Storage
from teamchat.model import Caller, User, now_ms
from teamchat.model.ids import new_id
from teamchat.model.text import fold
from teamchat.storage.log import decoded_audience
from tests.storages import open_storage

MAX_LENGTH = 100


class MemoryImages:
    """An image store that forgets everything at the end."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    async def put(self, key: str, data: bytes) -> None:
        self.kept[key] = data

    async def get(self, key: str) -> AsyncIterator[bytes] | None:
        return None if key not in self.kept else self._chunks(self.kept[key])

    async def delete(self, key: str) -> None:
        self.kept.pop(key, None)

    async def _chunks(self, data: bytes) -> AsyncIterator[bytes]:
        yield data


@dataclass
class World:
    """The chat under test, its storage, and shortcuts for what tests do all the time."""

    storage: Storage
    chat: Chat
    images: MemoryImages = field(default_factory=MemoryImages)
    _seen: int = 0

    async def user(self, name: str, *, is_admin: bool = False) -> Caller:
        user = User(new_id(), name, f"{name}@example.org", is_admin)
        await self.run(
            """insert into users (id, user_name, user_name_key, email, email_key, is_admin, created_at)
            values ($1, $2, $3, $4, $5, $6, $7)""",
            user.id,
            name,
            fold(name),
            user.email,
            fold(user.email),
            int(is_admin),
            now_ms(),
        )
        return Caller(user, new_id())

    async def remove_user(self, caller: Caller) -> None:
        """What removal leaves of a user: the row without its email and name key."""
        await self.run(
            """update users set removed_at = $2, user_name_key = null, email = '', email_key = null
            where id = $1""",
            caller.user.id,
            now_ms(),
        )

    async def image(self, room_id: str, *, thumbnail: bool = False) -> str:
        """Record an image of a channel or conversation as uploaded."""
        filename = f"{now_ms()}-{new_id()}.png"
        await self.run(
            """insert into images
              (filename, room_id, uploaded_by, created_at, media_type, size, thumbnail_type)
            values ($1, $2, 'someone', $3, 'image/png', 1, $4)""",
            filename,
            room_id,
            now_ms(),
            "image/png" if thumbnail else None,
        )
        return filename

    async def run(self, sql: str, *params: Any) -> list[tuple[Any, ...]]:
        async with self.storage.write() as tx:
            return await tx.fetch(sql, *params)

    async def count(self, table: str) -> int:
        async with self.storage.read() as tx:
            [(count,)] = await tx.fetch(f"select count(*) from {table}")
        return int(count)

    async def events(self) -> list[tuple[str, dict[str, Any], tuple[str, ...] | None]]:
        """Return type, payload and audience of the events for clients since the last time this was asked.

        An event of a room that everybody sees has the audience None here.
        """
        async with self.storage.read() as tx:
            rows = await tx.fetch(
                "select seq, type, payload, audience from events where seq > $1 order by seq", self._seen
            )
        self._seen = rows[-1][0] if rows else self._seen
        return [
            (kind, json.loads(payload), named(decoded_audience(audience)))
            for _, kind, payload, audience in rows
            if not is_internal(kind)
        ]


def named(audience: Audience) -> tuple[str, ...] | None:
    """Return the users that an audience names; none are of a room that everybody sees."""
    if isinstance(audience, InRoom):
        assert not audience.is_private
        return None
    return audience


@asynccontextmanager
async def _open_world(directory: Path) -> AsyncIterator[World]:
    async with open_storage(directory) as storage:
        images = MemoryImages()
        yield World(storage, Chat.build(storage, images, MAX_LENGTH), images)


@asynccontextmanager
async def _fresh_world() -> AsyncIterator[World]:
    with TemporaryDirectory() as directory:
        async with _open_world(Path(directory)) as world:
            yield world


@pytest.fixture(scope="session")
def fresh_world() -> Callable[[], AbstractAsyncContextManager[World]]:
    """For tests that need a new world for each of their examples."""
    return _fresh_world


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with _open_world(tmp_path) as world:
        yield world


@pytest.fixture
async def ada(world: World) -> Caller:
    """An admin."""
    return await world.user("Ada", is_admin=True)


@pytest.fixture
async def bob(world: World) -> Caller:
    return await world.user("Bob")


@pytest.fixture
async def eve(world: World) -> Caller:
    """Somebody who takes part in no conversation."""
    return await world.user("Eve")


@pytest.fixture
async def channel(world: World, ada: Caller) -> str:
    channel = await world.chat.channels.create(ada, "General talk")
    await world.events()
    return channel.id


@pytest.fixture
async def direct(world: World, ada: Caller, bob: Caller) -> str:
    """The id of a conversation of Ada and Bob."""
    opened = await world.chat.conversations.open(ada, bob.user.id)
    await world.events()
    return opened.conversation.id


@pytest.fixture
def refused() -> Callable[[int], AbstractAsyncContextManager[None]]:
    """`async with refused(404):` expects the problem with this status."""

    @asynccontextmanager
    async def expect(status: int) -> AsyncIterator[None]:
        with pytest.raises(Problem) as caught:
            yield
        assert caught.value.status == status

    return expect
