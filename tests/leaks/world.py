"""A whole application in this process, with every installed plugin, and people who ask it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import trio

from teamchat.application import Application, open_application
from teamchat.chat import membership
from teamchat.interfaces import Routes
from teamchat.plugins import Plugins
from teamchat.settings import load
from teamchat.stream import Hub
from teamchat.stream.recent import Recent
from teamchat.testing import ADMIN
from teamchat.web.app import App, create_app
from tests.storages import storage_section
from tests.web.client import Client

SECRET = "a signing secret of the tests that is long enough"
REFUSED_BY_A_FILTER = "-----BEGIN PRIVATE KEY----- of nobody"
PROVIDER = {
    "id": "acme",
    "name": "Acme",
    "authorizationUrl": "http://127.0.0.1:9/authorize",
    "tokenUrl": "http://127.0.0.1:9/token",
    "userInfoUrl": "http://127.0.0.1:9/userinfo",
    "clientId": "teamchat",
    "clientSecret": "a client secret of the tests",
    "redirectUri": "http://localhost:3000/auth/oauth/acme/callback",
    "scopes": "email",
}


@dataclass
class Person:
    """Somebody with an account: their id, and a client that carries their token."""

    id: str
    client: Client

    @property
    def token(self) -> str:
        return self.client.token or ""


@dataclass
class World:
    """A running application. `admin` made it; `author` is an admin too, and writes what is to be hidden."""

    app: Application
    site: App
    routes: Sequence[Routes]
    people: dict[str, Person] = field(default_factory=dict)

    async def person(self, name: str, *, is_admin: bool = False) -> Person:
        """Return the person of a name, who signs in the first time they are asked for."""
        if name not in self.people:
            email = ADMIN if name == "admin" else f"{name}@example.org"
            user, signed_in = await self.app.accounts.sign_in(email, "192.0.2.1", "tests")
            if is_admin and not user.is_admin:
                async with self.app.storage.write() as tx:
                    await self.app.accounts.users.set_role_in(tx, user, is_admin=True)
            self.people[name] = Person(user.id, Client(self.site, signed_in.access_token))
        return self.people[name]

    async def change_members(self, room_id: str, **changes: Any) -> None:
        """Let people into a room or out of it, or make it private."""
        async with self.app.storage.write() as tx:
            await membership.change(tx, room_id, **changes)

    async def position(self) -> int:
        """Return the end of the event log."""
        return int((await self.app.storage.log_bounds())[1])

    @asynccontextmanager
    async def site_without_memory(self) -> AsyncIterator[App]:
        """Serve the same beside it, from a process that holds nothing of the event log in memory."""
        hub = Hub(self.app.storage, self.app.settings.events, recent=Recent(0))
        async with trio.open_nursery() as nursery:
            await nursery.start(hub.run)
            yield create_app(replace(self.app, hub=hub), self.routes)
            nursery.cancel_scope.cancel()


def configured(directory: Path, **sections: dict[str, Any]) -> Path:
    """Write a configuration in which every plugin brings its endpoints; return its file."""
    directory.mkdir(exist_ok=True)
    settings: dict[str, dict[str, Any]] = {
        "auth": {
            "authMode": "dev",
            "isInviteRequired": False,
            # Where much else runs, asking everything takes longer than a token lasts by default.
            "jwtExpirySeconds": 86_400,
            "jwtSecret": SECRET,
            "maxActiveSessions": 50,
        },
        "chat": {"initialUser": {"userName": "Admin", "email": ADMIN}},
        "oauth": {"custom": [PROVIDER]},
        "plugins": {
            "filter-secrets": {"onMatch": "refuse"},
            "push": {"contact": "mailto:admin@example.org"},
            "metrics": {"token": "a-token-of-the-operators"},
            "search": {"perMinute": 1_000_000},
        },
        "storage": storage_section(directory / "data"),
    }
    for name, keys in sections.items():
        settings[name] = settings.get(name, {}) | keys
    config = directory / "teamchat.json"
    config.write_text(json.dumps(settings))
    return config


@asynccontextmanager
async def open_world(directory: Path, *more: Routes, **sections: dict[str, Any]) -> AsyncIterator[World]:
    """Open the application with all its plugins, and with `more` endpoints."""
    settings, plugins = load(configured(directory, **sections)), Plugins.load()
    async with plugins.sign_in(settings) as modes, open_application(settings, plugins) as app:
        brought = [*plugins.sign_in_routes(app, modes), *app.capabilities.routes, *plugins.routes(app)]
        routes = [*brought, *more]
        app.chat.filters.use(plugins.message_filters(app), plugins.label_of)
        async with trio.open_nursery() as nursery:
            await nursery.start(app.hub.run)
            world = World(app, create_app(app, routes), routes)
            await world.person("admin")
            await world.person("author", is_admin=True)
            yield world
            nursery.cancel_scope.cancel()
