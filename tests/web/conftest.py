"""The whole application behind HTTP, on a real storage, with an admin and two users signed in."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from teamchat.accounts import Accounts
from teamchat.application import Application
from teamchat.chat import Chat
from teamchat.interfaces import SignInTraits, Storage
from teamchat.settings import AuthSettings, EventsSettings, InitialUser, ServerSettings, Settings
from teamchat.stream import Hub, Stream, transport_for
from teamchat.web import documents
from teamchat.web.app import App, create_app
from tests.storages import open_storage
from tests.web.client import Client

SECRET = b"a secret of the tests that is long enough"


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
        for start in range(0, len(data), 1000):
            yield data[start : start + 1000]


@dataclass
class World:
    """A running application and its users."""

    app: Application
    site: App
    images: MemoryImages
    clients: dict[str, Client] = field(default_factory=dict)

    async def user(self, email: str) -> Client:
        _, signed_in = await self.app.accounts.sign_in(email, "192.0.2.1", "tests")
        return Client(self.site, signed_in.access_token)

    def rebuilt(self, *blueprints: Any, **server: Any) -> App:
        """Return another site of the same application, with these keys of the section ``server``."""
        settings = Settings(
            auth=self.app.settings.auth, server=ServerSettings(**server), storage=self.app.settings.storage
        )
        app = Application(settings, self.app.storage, self.app.accounts, self.app.chat, self.app.hub)
        return create_app(app, blueprints)

    async def channel(self) -> str:
        return str((await self.admin.ok("GET", "/channels"))["channels"][0]["id"])

    async def message(self, client: Client, content: str = "hello") -> dict[str, Any]:
        path = f"/channels/{await self.channel()}/messages"
        return dict((await client.ok("POST", path, {"content": content}))["message"])

    async def stream(self, client: Client) -> str:
        """Have a stream of theirs open, and return its connectionId."""
        caller = await self.app.accounts.authenticate(client.token or "")
        hub = self.app.hub
        transport = transport_for({}, _sent_nowhere, lambda: None)
        connection_id = hub._ids.new(caller.session_id)
        hub._streams.add(Stream(hub, caller, transport, with_ids=False, connection_id=connection_id))
        return connection_id

    @property
    def admin(self) -> Client:
        return self.clients["admin"]

    @property
    def bob(self) -> Client:
        return self.clients["bob"]

    @property
    def eve(self) -> Client:
        return self.clients["eve"]

    @property
    def nobody(self) -> Client:
        return Client(self.site)


async def _sent_nowhere(_: Any) -> None:
    raise NotImplementedError


def _without_passwords(storage: Storage) -> Accounts:
    """Accounts that make no first password: hashing one would take most of a test's time."""
    return Accounts.build(storage, AuthSettings(auth_mode="dev"), SECRET)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    auth = AuthSettings(
        auth_mode="password",
        is_invite_required=False,
        max_active_sessions=50,
        app_url="https://chat.example.org/app",
    )
    settings = Settings(auth=auth)
    images = MemoryImages()
    async with open_storage(tmp_path) as storage:
        app = Application(
            settings,
            storage,
            Accounts.build(storage, auth, SECRET),
            Chat.build(storage, images, 16_000),
            Hub(storage, EventsSettings()),
            sign_in=SignInTraits(asks_for_passwords=True, lets_register=True),
        )
        await _without_passwords(storage).ensure_initial_user(InitialUser("Admin", "admin@example.org"))
        await app.chat.channels.ensure_first()
        world = World(app, create_app(app, documents.routes(app)), images)
        for name in ("admin", "bob", "eve"):
            world.clients[name] = await world.user(f"{name}@example.org")
        yield world
