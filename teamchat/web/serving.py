"""The one path of a request: from what it is for to the answer that is sent, in the connection's own task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import trio

from teamchat.web import problems
from teamchat.web.asgi import Receive, Send
from teamchat.web.bodies import Body
from teamchat.web.request import Request
from teamchat.web.responses import Response
from teamchat.web.sending import send_body

if TYPE_CHECKING:
    from teamchat.web.routing import PathValues, Served
    from teamchat.web.site import Site

_CLOSE = (b"connection", b"close")


async def serve(
    site: Site, target: Served, values: PathValues, scope: Any, receive: Receive, send: Send
) -> None:
    """Answer one request, which is for `target`."""
    body = Body.of(scope, receive, site.bodies)
    request = Request(scope, values, body)

    async def make() -> Response:
        response = await target.serve(site, request)
        if response.etag is None:
            return response
        return await response.unless_known(request.headers.get("If-None-Match"))

    try:
        try:
            response = await site.answer_space.answer(scope, make)
        except BaseExceptionGroup as error:
            if error.split(trio.Cancelled)[0] is not None:
                raise
            response = problems.answer(error, site.endpoint_in_logs(scope))
        except Exception as error:
            response = problems.answer(error, site.endpoint_in_logs(scope))
        headers = response.raw_headers()
        if body.is_left_unread and scope["http_version"] == "1.1":
            headers.append(_CLOSE)  # RFC 9112, section 9.6: say so before it closes
        headers = site.headers.finish(scope, headers)
        await send({"type": "http.response.start", "status": response.status, "headers": headers})
        await send_body(scope, send, response)
    finally:
        body.release()
        site.answer_space.release(scope)
