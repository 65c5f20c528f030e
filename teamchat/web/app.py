"""The Quart application: which endpoints exist, and what becomes of a request that finds none.

It has no sessions, no templates, no static files and never answers HTML by itself.  Declared endpoints are
called without Quart's layers around a view; a plugin's plain Quart views work as anywhere.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

import trio
from quart import Blueprint, Response
from quart.blueprints import BlueprintSetupState
from quart.globals import request_ctx
from quart.utils import encode_headers
from quart_trio import QuartTrio
from werkzeug.routing import Rule

from teamchat.errors import NotFound, Unavailable
from teamchat.web import direct, problems
from teamchat.web.budget import RETRY_SECONDS, Budget, Hold
from teamchat.web.connection import Connection
from teamchat.web.endpoints import Endpoint, respond
from teamchat.web.guard import Guard
from teamchat.web.headers import Headers
from teamchat.web.measuring import ENDPOINT
from teamchat.web.readiness import Readiness
from teamchat.web.registration import Bringers, Nobody, register
from teamchat.web.routing import Router
from teamchat.web.rules import Shape, is_simple
from teamchat.web.sections import SECTIONS, oauth
from teamchat.web.sending import Rooms

if TYPE_CHECKING:
    from teamchat.application import Application

BODIES_BYTES = 128 * 1024 * 1024
"""How much of all requests' bodies may be in memory at once."""
UPLOADS_AT_ONCE = 4
UPLOAD_WAIT_SECONDS = 30.0


class Site(QuartTrio):
    """The HTTP side of an `Application`."""

    asgi_http_class = Connection

    def __init__(self, core: Application) -> None:
        super().__init__("teamchat", static_folder=None, template_folder=None)
        self.core = core
        self.guard = Guard(core.settings, core.accounts, core.storage)
        self.headers = Headers(core.settings)
        self.readiness = Readiness(core)
        self.endpoints: list[Endpoint] = []
        self._calls: dict[str, Endpoint] = {}
        self._plugins: dict[tuple[str, str], str] = {}
        self.rooms = Rooms(self.guard.owner)
        self.room_for_bodies = Budget(BODIES_BYTES)
        self._uploads = trio.CapacityLimiter(UPLOADS_AT_ONCE)
        self.url_map.merge_slashes = False  # a doubled slash within a path is no redirect

    def declare(self, state: BlueprintSetupState, endpoint: Endpoint) -> None:
        """Take an endpoint up; called when its section is registered."""
        name = endpoint.handler.__name__
        state.add_url_rule(endpoint.rule, name, None, methods=[endpoint.method])
        self._calls[f"{state.name_prefix}.{state.name}.{name}".lstrip(".")] = endpoint
        self.endpoints.append(endpoint)

    @cached_property
    def _has_functions(self) -> bool:
        """Whether a plugin has functions that Quart calls around requests; then all go through Quart."""
        kinds: list[dict[Any, list[Any]]] = [
            self.before_request_funcs,
            self.after_request_funcs,
            self.teardown_request_funcs,
        ]
        return any(functions for kind in kinds for functions in kind.values())

    def endpoint_of(self, rule: Rule) -> Endpoint | None:
        """Return the declared endpoint at a rule of the URL map, or None at a plain view."""
        return self._calls.get(rule.endpoint)

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
    def _router(self) -> Router:
        """The endpoints that are found without Quart: all but those beside which Quart may find another."""
        quarts: list[Shape] = []
        ours: list[tuple[Rule, Shape]] = []
        for rule in self.url_map.iter_rules():
            shape, endpoint = Shape.of(rule), self.endpoint_of(rule)
            if endpoint is not None and not endpoint.takes_request and is_simple(rule.rule):
                ours.append((rule, shape))
            elif not shape.takes_whatever_is_left:
                quarts.append(shape)
        while beside := [(rule, one) for rule, one in ours if any(one.meets(other) for other in quarts)]:
            ours = [pair for pair in ours if pair not in beside]
            quarts = [shape for _, shape in beside]
        router = Router()
        for rule, _ in ours:
            router.add(self._calls[rule.endpoint], rule.rule)
        return router

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

    async def asgi_app(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one ASGI scope; WebSockets are refused."""
        if scope["type"] == "websocket":
            await receive()
            await self._refuse_websocket(scope, send)
            return
        if scope["type"] == "http" and not self._has_functions:
            found = self._router.find(scope["method"], scope["path"])
            if found is not None:
                scope[ENDPOINT] = found[0].rule
                await direct.serve(self, *found, scope, receive, send)
                return
        await super().asgi_app(scope, receive, send)

    async def _refuse_websocket(self, scope: Any, send: Any) -> None:
        """Say so in the one shape of errors (decision D-01), where the server can carry it."""
        if "websocket.http.response" not in (scope.get("extensions") or {}):
            await send({"type": "websocket.close", "code": 1000})
            return
        refusal = problems.response(400, "This server takes no WebSockets.")
        headers = self.headers.finish(scope, encode_headers(refusal.headers))
        body = await refusal.get_data(as_text=False)
        await send({"type": "websocket.http.response.start", "status": 400, "headers": headers})
        await send({"type": "websocket.http.response.body", "body": body, "more_body": False})

    async def dispatch_request(self, request_context: Any = None) -> Any:
        """Answer by the declared endpoint, or by a plugin's plain view."""
        request = (request_context or request_ctx).request
        if request.scope["path"].startswith("//"):  # Werkzeug takes several slashes for one.
            raise NotFound
        if request.url_rule is not None and request.method != "OPTIONS":
            request.scope[ENDPOINT] = request.url_rule.rule  # type: ignore[literal-required]
            endpoint = self._calls.get(request.url_rule.endpoint)
            if endpoint is not None:
                return respond(await endpoint.serve(self, request))
        return await super().dispatch_request(request_context)

    async def make_default_options_response(self) -> Response:
        """Answer OPTIONS with the methods of the address."""
        methods = request_ctx.url_adapter.allowed_methods()  # type: ignore[union-attr]
        response = self.response_class(b"", 204, {"Allow": ", ".join(sorted(methods))})
        del response.headers["Content-Type"]
        response.headers.pop("Content-Length", None)
        return response

    async def handle_user_exception(self, error: Any) -> Any:
        """Answer every failure in the one shape; cancellation is passed on."""
        if isinstance(error, BaseExceptionGroup) and error.split(trio.Cancelled)[0] is not None:
            raise error
        return problems.answer(error, self.endpoint_in_logs(request_ctx.request.scope))

    async def handle_exception(self, error: Any) -> Any:
        """Answer what failed outside a view."""
        return problems.answer(error, self.endpoint_in_logs(request_ctx.request.scope))


def create_app(app: Application, blueprints: Sequence[Blueprint], bringers: Bringers | None = None) -> Site:
    """Return the application's HTTP side, with the specification's sections and `blueprints`.

    Raises a `PluginError` for a blueprint that takes what is somebody's already; `bringers` knows who
    brought it.
    """
    site = Site(app)
    site.add_url_rule("/events", "events", _stands_in_front, methods=["GET"])
    for section in (*SECTIONS, *([oauth.section] if app.oauth is not None else [])):
        site.register_blueprint(section)
    register(site, blueprints, bringers or Nobody())
    return site


async def _stands_in_front() -> Response:
    """Make /events known, so that a wrong method there is a 405; the stream itself is served in front."""
    raise NotFound
