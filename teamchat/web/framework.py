"""The application as seen by whatever needs Quart: a Quart-Trio application, each section a blueprint of it.

It is made when somebody needs it: a plugin with plain views, or a test with Quart's client. Endpoints run as
they do without it. Only plain views run in Quart: it gets a request that is already routed, and its answer
goes the way of every answer. Functions that a blueprint registers around requests, even those for the whole
application, run around its own views only.
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Iterator
from dataclasses import replace
from typing import Any

import trio
from quart import Blueprint
from quart import Response as QuartResponse
from quart.globals import request_ctx
from quart.utils import encode_headers
from quart.wrappers.response import DataBody
from quart_trio import QuartTrio
from quart_trio.asgi import TrioASGIHTTPConnection
from werkzeug.exceptions import HTTPException
from werkzeug.routing import RequestRedirect, Rule

from teamchat.errors import DeclarationError, NotFound
from teamchat.web import problems
from teamchat.web.request import Request
from teamchat.web.responses import Response
from teamchat.web.routing import Declared, Route
from teamchat.web.rules import Segment, Shape
from teamchat.web.site import Site

_SENTENCES = {
    400: "The request is not valid.",
    404: "There is nothing at this address.",
    405: "This address does not take this method.",
    413: "The body is too large.",
}


class QuartApp(QuartTrio):
    """Quart's view of an application."""

    def __init__(self, site: Site) -> None:
        super().__init__("teamchat", static_folder=None, template_folder=None)
        self._site = site
        self.url_map.merge_slashes = False  # a doubled slash within a path is no redirect

    def register_section(self, name: str, targets: Iterable[Declared]) -> None:
        """Show what was declared in one section; it is served without Quart."""
        blueprint = Blueprint(name, __name__)
        for target in targets:
            blueprint.add_url_rule(target.rule, target.name, _not_called, methods=[target.method])
        self.register_blueprint(blueprint)

    def register_plain(self, blueprint: Blueprint) -> list[Route]:
        """Register a plugin's blueprint; what it has called around all requests is called around its own.

        Returns the routes to its views. Raises a `DeclarationError` for a WebSocket.
        """
        before = set(map(id, self.url_map.iter_rules()))
        self.register_blueprint(blueprint)
        around: Any
        for around in (
            self.url_value_preprocessors,
            self.before_request_funcs,
            self.after_request_funcs,
            self.teardown_request_funcs,
        ):
            around[blueprint.name] = [*around.pop(None, ()), *around.get(blueprint.name, ())]
        return [self._route(rule) for rule in self.url_map.iter_rules() if id(rule) not in before]

    def _route(self, rule: Rule) -> Route:
        if rule.websocket:
            raise DeclarationError(f"its route {rule.rule} is a WebSocket, and this server takes none")
        methods = frozenset(rule.methods or ())
        if getattr(rule, "provide_automatic_options", False):
            methods -= {"OPTIONS"}  # The table answers it.
        shape, *spellings = _spellings(rule)
        return Route(rule.rule, methods, shape, PlainView(self, rule), tuple(spellings))

    def __call__(self, scope: Any, receive: Any, send: Any) -> Coroutine[Any, Any, None]:
        """Serve one ASGI scope; only its own start-up and shutdown is Quart's business."""
        if scope["type"] == "lifespan":
            return super().__call__(scope, receive, send)
        return self._site(scope, receive, send)

    async def handle_user_exception(self, error: Any) -> QuartResponse:
        """Answer a failure of a plain view in the one shape; cancellation is passed on."""
        if isinstance(error, BaseExceptionGroup) and error.split(trio.Cancelled)[0] is not None:
            raise error
        return await self.handle_exception(error)

    async def handle_exception(self, error: Any) -> QuartResponse:
        """Answer what failed outside a plain view."""
        error = problems.unwrapped(error)
        if isinstance(error, HTTPException):
            return to_quart(_of_http(error))
        return to_quart(problems.answer(error, self._site.endpoint_in_logs(request_ctx.request.scope)))


class PlainView:
    """A plain view, under one of its rules."""

    path_parameters = ()  # Quart finds them by itself.

    def __init__(self, app: QuartTrio, rule: Rule) -> None:
        self._app = app
        self.rule = rule.rule

    async def serve(self, site: Site, request: Request) -> Response:  # noqa: ARG002
        """Return what the view answers, or what Quart says of the request."""
        connection = TrioASGIHTTPConnection(self._app, request.scope)
        made = connection._create_request_from_scope(_push_nothing)
        made.body = request.body  # type: ignore[assignment]
        return of_quart(await self._app.handle_request(made))


def of_quart(answered: Any) -> Response:
    """Return a response of Quart's as one of ours."""
    response = Response(status=answered.status_code)
    response.length = None  # It stands in the headers, where it is known.
    response.headers = encode_headers(answered.headers)
    body = answered.response
    if type(body) is DataBody:
        response.data = body.data
    else:
        response.pieces = body
    return response


def to_quart(response: Response) -> QuartResponse:
    """Return an error as a response of Quart's, for the functions around a plain view to see."""
    made = QuartResponse(response.data, response.status, content_type=response.content_type)
    for name, value in response.headers:
        made.headers[name.decode()] = value.decode()
    return made


async def _not_called(**_: Any) -> str:
    """Stand for an endpoint among Quart's views; none of them is called."""
    raise NotFound


def _spellings(rule: Rule) -> Iterator[Shape]:
    """Yield the shapes of the paths that Quart answers by a rule: with and without a slash at the end."""

    def pattern_of(parameter: str) -> tuple[str, bool]:
        converter = rule._converters[parameter.strip("<>").rpartition(":")[2].strip()]
        return converter.regex, not converter.part_isolating

    shape = Shape.of(rule.rule, pattern_of)
    yield shape
    if rule.is_leaf and not rule.strict_slashes:
        yield replace(shape, segments=(*shape.segments, Segment("", "")))
    elif not rule.is_leaf and len(shape.segments) > 2:
        yield replace(shape, segments=shape.segments[:-1])


def _of_http(error: HTTPException) -> Response:
    """Return what Quart says of a request, in the one shape of errors (decision D-01)."""
    if isinstance(error, RequestRedirect):
        return problems.response(error.code, "The address is another.", {"Location": error.new_url})
    status = error.code or 500
    return problems.response(status, _SENTENCES.get(status, f"{error.name}."))


async def _push_nothing(_: Any) -> None:
    """Take note of a push that the view asks for, which is not made."""
