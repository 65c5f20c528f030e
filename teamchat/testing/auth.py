"""What every way to sign in must do, asked through a whole application without a network."""

# Tests assert; that is what they are.
# ruff: noqa: S101

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from teamchat.accounts import Accounts
from teamchat.accounts.acting import AskingStorage
from teamchat.application import Application
from teamchat.capabilities import Capabilities
from teamchat.chat import Chat
from teamchat.interfaces import NO_TRAITS, SignInTraits, Storage
from teamchat.interfaces.offers import AuthMode
from teamchat.settings import Settings
from teamchat.storage import capability_tables
from teamchat.storage.sqlite import SqliteOptions, open_sqlite
from teamchat.stream import Hub
from teamchat.testing.bodies import MALFORMED_BODIES
from teamchat.testing.files import MemoryFileStore
from teamchat.testing.images import MemoryStore
from teamchat.web.app import create_app

_WITH_BODY = {"POST", "PUT", "PATCH"}

OpenStorage = Callable[[Path], AbstractAsyncContextManager[Storage]]


def on_sqlite(directory: Path) -> AbstractAsyncContextManager[Storage]:
    """Open the embedded storage in a directory."""
    return open_sqlite(SqliteOptions(path=str(directory)))


@asynccontextmanager
async def application(
    settings: Settings,
    directory: Path,
    open_storage: OpenStorage = on_sqlite,
    traits: SignInTraits = NO_TRAITS,
    capabilities: Capabilities | None = None,
) -> AsyncIterator[Application]:
    """Build an application on the storage of `directory`, with its initial user and first channel."""
    capabilities = capabilities or Capabilities()
    async with open_storage(directory) as opened:
        storage = AskingStorage(opened)
        await capability_tables.upgrade(storage, capabilities.tables)
        app = Application(
            settings=settings,
            storage=storage,
            accounts=Accounts.build(
                storage,
                settings.auth,
                secrets.token_bytes(32),
                has_mail=settings.email is not None,
                sign_in=traits,
                capabilities=capabilities,
            ),
            chat=Chat.build(storage, MemoryStore(), settings.chat.max_message_length, capabilities),
            hub=Hub(storage, settings.events, signals=capabilities.signals),
            sign_in=traits,
            capabilities=capabilities,
            stored_files=MemoryFileStore() if capabilities.kept_files else None,
        )
        capabilities.bring(app)
        await app.accounts.ensure_initial_user(settings.chat.initial_user)
        await app.chat.channels.ensure_first()
        yield app


class AuthModeContract(ABC):
    """Tests of a way to sign in. Subclass it with a name that begins with ``Test`` and give three methods::

    class TestBadges(AuthModeContract):
        def settings(self):
            return Settings(auth=AuthSettings(auth_mode="badge"))

        def open_mode(self):
            return open_badges(BadgeOptions())

        async def sign_in(self, app, client):
            answer = await client.post("/auth/badge", json={"badge": "..."})
            return (await answer.get_json())["accessToken"]
    """

    @abstractmethod
    def settings(self) -> Settings:
        """Return settings that the mode accepts; their initial user is there when `sign_in` is called."""

    @abstractmethod
    def open_mode(self) -> AbstractAsyncContextManager[AuthMode]:
        """Open the mode, as the server does with its `Backend`."""

    @abstractmethod
    async def sign_in(self, app: Application, client: Any) -> str:
        """Sign somebody in through Quart's test client and return the access token."""

    def traits(self) -> SignInTraits:
        """Return the `traits` of the mode's `AuthBackend`, if it is one."""
        return NO_TRAITS

    def open_storage(self, directory: Path) -> AbstractAsyncContextManager[Storage]:
        """Open the storage of the application. Override it to ask on another than SQLite."""
        return on_sqlite(directory)

    @asynccontextmanager
    async def serving(
        self, tmp_path: Path, settings: Settings | None = None
    ) -> AsyncIterator[tuple[Application, Any]]:
        """Yield an application and its site with the mode's routes, for tests of your own.

        `settings` are others than those of `settings()`.

        ``site.test_client()`` is Quart's client of it, without a network.
        """
        async with (
            application(settings or self.settings(), tmp_path, self.open_storage, self.traits()) as app,
            self.open_mode() as mode,
        ):
            mode.check(app.settings)
            yield app, create_app(app, [mode.routes(app)])

    async def test_the_mode_accepts_its_settings(self) -> None:
        async with self.open_mode() as mode:
            mode.check(self.settings())

    async def test_a_sign_in_gives_an_access_token_that_the_server_takes(self, tmp_path: Path) -> None:
        async with self.serving(tmp_path) as (app, site):
            token = await self.sign_in(app, site.test_client())
            assert await self._asked_who(site, token) == 200, (
                "the server does not take the token of sign_in()"
            )

    async def test_a_sign_in_is_a_session_that_can_be_ended(self, tmp_path: Path) -> None:
        async with self.serving(tmp_path) as (app, site):
            token = await self.sign_in(app, site.test_client())
            caller = await app.accounts.authenticate(token)
            assert await app.accounts.sessions.end(caller) == 1, "the token is of no session"
            assert await self._asked_who(site, token) == 401, "the token works though its session has ended"

    async def test_its_routes_lie_under_auth(self, tmp_path: Path) -> None:
        async with self.serving(tmp_path) as (app, site):
            elsewhere = [path for path in self._own_routes(app, site) if not path.startswith("/auth/")]
            assert not elsewhere, (
                f"routes of a way to sign in lie under /auth/, and these do not: {elsewhere}"
            )

    async def test_d02_a_malformed_body_is_400(self, tmp_path: Path) -> None:
        async with self.serving(tmp_path) as (app, site):
            # With a token, for routes that want one are asked for it first (decision D-03).
            token = await self.sign_in(app, site.test_client())
            headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
            for method, path in self._taking_bodies(app, site):
                for name, body in MALFORMED_BODIES.items():
                    answer = await site.test_client().open(path, method=method, data=body, headers=headers)
                    assert answer.status_code == 400, (
                        f"{method} {path} with a malformed body ({name}) must be 400, "
                        f"not {answer.status_code}"
                    )
                    assert list(await answer.get_json()) == ["error"], (
                        f"{method} {path}: the error is in another shape"
                    )

    async def test_people_register_by_a_route_of_its_own_if_at_all(self, tmp_path: Path) -> None:
        routes = {}
        for is_required in (True, False):
            given = self.settings()
            changed = replace(given, auth=replace(given.auth, is_invite_required=is_required))
            async with self.serving(tmp_path / str(is_required), changed) as (app, site):
                routes[is_required] = set(self._own_routes(app, site))
        assert routes[True] <= routes[False], "a route is there only where invites are required"
        assert bool(routes[False] - routes[True]) == self.traits().lets_register, (
            "traits().lets_register has to say whether routes are there only where invites are not required"
        )

    async def test_its_routes_can_be_made_for_more_than_one_application(self, tmp_path: Path) -> None:
        async with self.serving(tmp_path / "first"), self.serving(tmp_path / "second"):
            pass

    async def _asked_who(self, site: Any, token: str) -> int:
        """Return the status of ``GET /auth/me`` with a token."""
        headers = {"Authorization": f"Bearer {token}"}
        answer = await site.test_client().get("/auth/me", headers=headers)
        return int(answer.status_code)

    def _taking_bodies(self, app: Application, site: Any) -> list[tuple[str, str]]:
        own = set(self._own_routes(app, site))
        return sorted(
            (method, route.path)
            for route in site.routes
            if route.path in own
            for method in _WITH_BODY & route.methods
        )

    def _own_routes(self, app: Application, site: Any) -> list[str]:
        """Return the paths without parameters that the mode brings."""
        common = {route.path for route in create_app(app, []).routes}
        own = {route.path for route in site.routes} - common
        assert own, "routes() brings no route: nobody can sign in"
        return sorted(path for path in own if "<" not in path)
