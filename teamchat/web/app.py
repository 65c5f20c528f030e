"""The application: a Quart application on which everything that can be asked for is registered.

Every section is a blueprint of it, so that whatever knows Quart sees all routes.  A request is not Quart's
business, though: it is found in the table, which is made of the same routes, and served (`serving`).  Only
plain views of plugins run in Quart (`framework`).  There are no sessions, no templates and no static files.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import trio
from quart import Blueprint
from quart import Response as QuartResponse
from quart.globals import request_ctx
from quart_trio import QuartTrio
from werkzeug.routing import Rule

from teamchat.errors import NotFound, Unavailable
from teamchat.web import framework, problems
from teamchat.web.asgi import Receive, Send
from teamchat.web.budget import RETRY_SECONDS, Budget, Hold
from teamchat.web.endpoints import Endpoint, Section
from teamchat.web.events import EventStream
from teamchat.web.framework import PlainView, to_quart
from teamchat.web.guard import Guard
from teamchat.web.headers import Headers, is_preflight
from teamchat.web.metrics import ENDPOINT
from teamchat.web.readiness import Readiness
from teamchat.web.registration import Bringers, Nobody, register
from teamchat.web.routing import PREFLIGHT, Table, Target
from teamchat.web.rules import Segment, Shape
from teamchat.web.sections import SECTIONS
from teamchat.web.sending import AnswerSpace
from teamchat.web.serving import serve

if TYPE_CHECKING:
    from teamchat.application import Application
    from teamchat.interfaces import Routes

BODIES_BYTES = 128 * 1024 * 1024
"""How much of all requests' bodies may be in memory at once."""
UPLOADS_AT_ONCE = 4
UPLOAD_WAIT_SECONDS = 30.0


class App(QuartTrio):
    """The HTTP side of an `Application`; endpoints know it as a `Site`."""

    def __init__(self, core: Application) -> None:
        super().__init__("teamchat", static_folder=None, template_folder=None)
        self.core = core
        self.guard = Guard(core.settings, core.accounts, core.storage)
        self.headers = Headers(core.settings)
        self.readiness = Readiness(core)
        self.endpoints: list[Endpoint] = []
        self._targets: dict[str, Target] = {}
        self._plugins: dict[tuple[str, str], str] = {}
        self.answer_space = AnswerSpace(self.guard.owner)
        self.room_for_bodies = Budget(BODIES_BYTES)
        self._uploads = trio.CapacityLimiter(UPLOADS_AT_ONCE)
        self.url_map.merge_slashes = False  # a doubled slash within a path is no redirect

    def register_section(self, section: Section) -> None:
        """Take up a section's endpoints, as a blueprint of their own."""
        self.endpoints += section.endpoints
        self._register(section.name, section.endpoints)

    def register_events(self, stream: EventStream) -> None:
        """Take up the event stream."""
        self._register("events", [stream])

    def _register(self, name: str, targets: Iterable[Endpoint | EventStream]) -> None:
        blueprint = Blueprint(name, __name__)
        for target in targets:
            blueprint.add_url_rule(target.rule, target.name, _in_the_table, methods=[target.method])
            self._targets[f"{name}.{target.name}"] = target
        self.register_blueprint(blueprint)

    def register_plain(self, blueprint: Blueprint) -> None:
        """Take up a plugin's plain blueprint."""
        framework.register(self, blueprint)

    def endpoint_of(self, rule: Rule) -> Endpoint | None:
        """Return the declared endpoint at a rule of the URL map, or None at a plain view."""
        target = self._targets.get(rule.endpoint)
        return target if isinstance(target, Endpoint) else None

    def note_plugin(self, rule: Rule, plugin: str) -> None:
        """Remember which plugin brought a rule, as the log calls it."""
        self._plugins |= {(method, rule.rule): plugin for method in rule.methods or ()}

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
        for rule in self.url_map.iter_rules():
            target = self._targets.get(rule.endpoint) or PlainView(self, rule)
            methods = set(rule.methods or ())
            if getattr(rule, "provide_automatic_options", False):
                methods.discard("OPTIONS")  # The table answers it.
            for shape in _spellings(rule):
                table.add(shape, methods, target)
        return table

    def bodies(self, scope: Any) -> Hold:
        """Return what holds the body of a request."""
        return Hold(self.room_for_bodies, self.guard.owner(scope))

    @asynccontextmanager
    async def upload_turn(self) -> AsyncIterator[None]:
        """Wait for one of the few turns to decode and store an upload that has arrived.

        It takes several times its size. Raises `Unavailable` after 30 s.
        """
        with trio.move_on_after(UPLOAD_WAIT_SECONDS) as waiting:
            await self._uploads.acquire()
        if waiting.cancelled_caught:
            raise Unavailable("Too many uploads at once. Try again later.", RETRY_SECONDS)
        try:
            yield
        finally:
            self._uploads.release()

    def __call__(self, scope: Any, receive: Any, send: Any) -> Coroutine[Any, Any, None]:
        """Serve one ASGI scope; WebSockets are refused."""
        if scope["type"] == "websocket":
            return self._refuse_websocket(scope, receive, send)
        if scope["type"] != "http":
            return super().__call__(scope, receive, send)
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

    async def handle_user_exception(self, error: Any) -> QuartResponse:
        """Answer a failure of a plain view in the one shape; cancellation is passed on."""
        if isinstance(error, BaseExceptionGroup) and error.split(trio.Cancelled)[0] is not None:
            raise error
        return to_quart(problems.answer(error, self.endpoint_in_logs(request_ctx.request.scope)))

    async def handle_exception(self, error: Any) -> QuartResponse:
        """Answer what failed outside a plain view."""
        return to_quart(problems.answer(error, self.endpoint_in_logs(request_ctx.request.scope)))


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


async def _in_the_table(**_: Any) -> str:
    """Stand for an endpoint among Quart's views; none of them is called."""
    raise NotFound


def _spellings(rule: Rule) -> Iterator[Shape]:
    """Yield the shapes of the paths that Quart answers by a rule: with and without a slash at the end."""
    shape = Shape.of(rule)
    yield shape
    if rule.is_leaf and not rule.strict_slashes:
        yield replace(shape, segments=(*shape.segments, Segment("", "")))
    elif not rule.is_leaf and len(shape.segments) > 2:
        yield replace(shape, segments=shape.segments[:-1])
