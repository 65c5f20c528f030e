"""Plain views of plugins' blueprints: the one thing that runs in Quart.

Quart gets a request that was routed already, and what it answers goes the way of every answer.  Functions
that a blueprint has called around requests, those for the whole application too, are called around its own
views and no others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quart import Blueprint
from quart import Response as QuartResponse
from quart.utils import encode_headers
from quart.wrappers.response import DataBody
from quart_trio import QuartTrio
from quart_trio.asgi import TrioASGIHTTPConnection
from werkzeug.routing import Rule

from teamchat.web.request import Request
from teamchat.web.responses import Response

if TYPE_CHECKING:
    from teamchat.web.site import Site


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


def register(app: QuartTrio, blueprint: Blueprint) -> None:
    """Register a plugin's blueprint; what it has called around all requests is called around its own."""
    app.register_blueprint(blueprint)
    around: Any
    for around in (
        app.url_value_preprocessors,
        app.before_request_funcs,
        app.after_request_funcs,
        app.teardown_request_funcs,
    ):
        around[blueprint.name] = [*around.pop(None, ()), *around.get(blueprint.name, ())]


async def _push_nothing(_: Any) -> None:
    """Take note of a push that the view asks for, which is not made."""
