"""The application: one ASGI application for everything that can be asked for.

What a request is for is looked up in the table, and served (`serving`), in the connection's own task. Plugins
may bring plain Quart views. For these, and for whatever else needs Quart, the same routes also form a
Quart-Trio application (`framework`), which is made when something asks for it: a server that does not need it
takes a fifth less memory.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

import trio

from teamchat.web import problems
from teamchat.web.asgi import Receive, Send
from teamchat.web.budget import RETRY_SECONDS, Budget, Hold
from teamchat.web.endpoints import Endpoint, Section
from teamchat.web.events import EventStream
from teamchat.web.guard import Guard
from teamchat.web.headers import Headers, is_preflight
from teamchat.web.metrics import ENDPOINT
from teamchat.web.readiness import Readiness
from teamchat.web.registration import Bringers, Nobody, register
from teamchat.web.routing import PREFLIGHT, Declared, Route, Table
from teamchat.web.sections import SECTIONS
from teamchat.web.sending import AnswerSpace
from teamchat.web.serving import serve
from teamchat.web.turns import GoingFirst, Turns

if TYPE_CHECKING:
    from quart import Blueprint
    from werkzeug.routing import Rule

    from teamchat.application import Application
    from teamchat.interfaces import Routes
    from teamchat.web.framework import QuartApp

BODIES_BYTES = 128 * 1024 * 1024
"""How much of all requests' bodies may be in memory at once."""
UPLOADS_AT_ONCE = 4
UPLOAD_WAIT_SECONDS = 30.0
BEHIND_AT_ONCE = 2
BEHIND_SECONDS = 10.0
PASSED_SECONDS = 0.003
"""How long what gives way lets others pass, once it is its turn: as long as posts take, and not for ever."""


class App:
    """The HTTP side of an `Application`; endpoints know it as a `Site`."""

    def __init__(self, core: Application) -> None:
        self.core = core
        self.guard = Guard(core.settings, core.accounts, core.storage)
        self.headers = Headers(core.settings)
        self.readiness = Readiness(core)
        self.endpoints: list[Endpoint] = []
        self.routes: list[Route] = []
        self._declared: dict[str, Sequence[Declared]] = {}
        self._plugins: dict[tuple[str, str], str] = {}
        self.answer_space = AnswerSpace(self.guard.owner)
        self.room_for_bodies = Budget(BODIES_BYTES)
        self._uploads = Turns(
            UPLOADS_AT_ONCE, UPLOAD_WAIT_SECONDS, "Too many uploads at once. Try again later.", RETRY_SECONDS
        )
        self.going_first, self._one_by_one = GoingFirst(), trio.Lock()
        self._behind = Turns(
            BEHIND_AT_ONCE, BEHIND_SECONDS, "The server is busy; ask again later.", RETRY_SECONDS
        )

    def register_section(self, section: Section) -> None:
        """Take up a section's endpoints."""
        self.endpoints += section.endpoints
        self._register(section.name, section.endpoints)

    def register_events(self, stream: EventStream) -> None:
        """Take up the event stream."""
        self._register("events", [stream])

    def _register(self, name: str, targets: Sequence[Declared]) -> None:
        self._declared[name] = targets
        self.routes += map(Route.to, targets)
        if self.is_seen_by_quart:
            self.quart.register_section(name, targets)

    def register_plain(self, blueprint: Blueprint) -> None:
        """Take up a plugin's plain blueprint."""
        self.routes += self.quart.register_plain(blueprint)

    @property
    def names(self) -> set[str]:
        """The names of all sections and blueprints."""
        return {*self._declared, *(self.quart.blueprints if self.is_seen_by_quart else ())}

    @property
    def is_seen_by_quart(self) -> bool:
        """Whether the application of Quart's has been made."""
        return "quart" in self.__dict__

    @cached_property
    def quart(self) -> QuartApp:
        """The same as a Quart-Trio application; made, and Quart loaded, when it is first asked for."""
        from teamchat.web.framework import QuartApp

        made = QuartApp(self)
        for name, targets in self._declared.items():
            made.register_section(name, targets)
        return made

    def test_client(self) -> Any:
        """Return Quart's client of the application, which needs no network, for tests."""
        return self.quart.test_client()

    def endpoint_of(self, rule: Rule) -> Endpoint | None:
        """Return the declared endpoint at a rule of Quart's, or None at a plain view."""
        section, _, name = rule.endpoint.partition(".")
        targets = self._declared.get(section, ())
        return next((one for one in targets if isinstance(one, Endpoint) and one.name == name), None)

    def note_plugin(self, route: Route, plugin: str) -> None:
        """Remember which plugin brought a route, as the log calls it."""
        self._plugins |= {(method, route.path): plugin for method in route.methods}

    def endpoint_in_logs(self, scope: Any) -> dict[str, str]:
        """Return the fields by which the log names what a request was for, and the plugin that brought it."""
        method, rule = scope["method"], scope.get(ENDPOINT)
        if rule is None:
            return {}
        fields = {"endpoint": f"{method} {rule}"}
        plugin = self._plugins.get((method, rule))
        return fields if plugin is None else {**fields, "plugin": plugin}

    @cached_property
    def table(self) -> Table:
        """All that can be asked for; made when the first request comes, of the routes that there are then."""
        table = Table()
        for route in self.routes:
            table.add(route)
        return table

    def bodies(self, scope: Any) -> Hold:
        """Return what holds the body of a request."""
        return Hold(self.room_for_bodies, self.guard.owner(scope))

    def upload_turn(self) -> AbstractAsyncContextManager[None]:
        """Wait for one of the few turns to decode and store an upload that has arrived.

        It takes several times its size. Raises `Unavailable` after 30 s.
        """
        return self._uploads.turn()

    @asynccontextmanager
    async def turn_behind_others(self) -> AsyncIterator[None]:
        """Wait for the turn of what all else passes by (extension I-5). Raises `Unavailable` after 10 s."""
        async with self._behind.turn():
            await self.going_first.until_over(PASSED_SECONDS)
            async with self._one_by_one:
                pass  # The next one goes on in the next turn of the event loop.
            yield

    def __call__(self, scope: Any, receive: Any, send: Any) -> Coroutine[Any, Any, None]:
        """Serve one ASGI scope; WebSockets are refused."""
        if scope["type"] == "websocket":
            return self._refuse_websocket(scope, receive, send)
        if scope["type"] == "lifespan":
            return self.quart(scope, receive, send)
        if is_preflight(scope):
            return serve(self, PREFLIGHT, {}, scope, receive, send)
        target, values = self.table.find(scope["method"], scope["path"])
        if target.rule is not None:
            scope[ENDPOINT] = target.rule
        if isinstance(target, EventStream):
            return target.open(scope, receive, send)
        return serve(self, target, values, scope, receive, send)

    async def _refuse_websocket(self, scope: Any, receive: Receive, send: Send) -> None:
        """Say so in the one shape of errors (decision D-01), where the server can carry it."""
        await receive()
        if "websocket.http.response" not in (scope.get("extensions") or {}):
            await send({"type": "websocket.close", "code": 1000})
            return
        refusal = problems.response(400, "This server takes no WebSockets.")
        headers = self.headers.finish(scope, refusal.raw_headers())
        await send({"type": "websocket.http.response.start", "status": 400, "headers": headers})
        await send({"type": "websocket.http.response.body", "body": refusal.data, "more_body": False})


def create_app(app: Application, routes: Sequence[Routes], bringers: Bringers | None = None) -> App:
    """Return the application's HTTP side, with the specification's sections and `routes`.

    Raises a `PluginError` for a blueprint that takes what is somebody's already; `bringers` knows who
    brought it.
    """
    site = App(app)
    for section in SECTIONS:
        site.register_section(section)
    site.register_events(EventStream(app, site.guard.admit, site.headers, site.guard.client_address))
    register(site, routes, bringers or Nobody())
    return site
