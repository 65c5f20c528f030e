"""An application with capabilities that a test makes up, behind HTTP, on the storage of the tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from teamchat import Capability
from teamchat.application import Application, open_application
from teamchat.model import Caller
from teamchat.plugins import Plugins
from teamchat.settings import AuthSettings, PluginsSettings, Settings, StorageSettings
from teamchat.web.app import create_app
from tests.storages import storage_section
from tests.test_plugins import Entry, plugin
from tests.web.client import Client


def plugins_with(*offers: Capability) -> Plugins:
    """Return the installed plugins that a server can't do without, and one that offers these."""
    needed = {"storage-sqlite", "files-directory", "images-files", "storage-postgres", "auth-password"}
    installed: list[Any] = [one for one in metadata.entry_points(group="teamchat") if one.name in needed]
    module = plugin(capabilities=lambda: list(offers))
    module.__package__ = __package__
    plugins = Plugins.load([], [*installed, Entry("acme", module)])
    plugins.require()
    return plugins


@dataclass
class Served:
    """A running application, and who asks it."""

    app: Application
    site: Any

    async def user(self, email: str = "admin@localhost") -> Client:
        """Sign somebody in, who is made if they are not there."""
        _, signed_in = await self.app.accounts.sign_in(email, "192.0.2.1", "tests")
        return Client(self.site, signed_in.access_token)

    async def caller(self, email: str = "admin@localhost") -> Caller:
        """Return the same, as the chat knows them."""
        _, signed_in = await self.app.accounts.sign_in(email, "192.0.2.1", "tests")
        return await self.app.accounts.authenticate(signed_in.access_token)

    @property
    def anybody(self) -> Client:
        """Somebody who is not signed in."""
        return Client(self.site)


@asynccontextmanager
async def served(directory: Path, *offers: Capability, **options: Any) -> AsyncIterator[Served]:
    """Serve these capabilities; `options` are those of the plugin that offers them."""
    (directory / "data").mkdir(parents=True, exist_ok=True)
    section = storage_section(directory / "data")
    known = {name: value for name, value in section.items() if name in {"backend", "path"}}
    rest = {name: value for name, value in section.items() if name not in known}
    settings = Settings(
        auth=AuthSettings(is_invite_required=False),
        storage=StorageSettings(**known, options=rest),
        plugins=PluginsSettings(options={"acme": options} if options else {}),
    )
    plugins = plugins_with(*offers)
    async with open_application(settings, plugins) as app:
        yield Served(app, create_app(app, app.capabilities.routes, plugins))
