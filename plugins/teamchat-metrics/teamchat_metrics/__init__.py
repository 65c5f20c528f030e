"""Shows Prometheus how a server does: ``GET /metrics``, for whoever has the token.

Without a token of the configuration there is no such endpoint and nothing is measured
that costs anything; and nothing it shows names a user, an address or a text.
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from typing import TYPE_CHECKING

from teamchat import Service, Unauthorized, hookimpl
from teamchat.observability.metrics import count_requests
from teamchat.web import Response, Section
from teamchat_metrics.options import Options

# What measures is loaded where there is a token: without one the client of Prometheus is not needed.
if TYPE_CHECKING:
    from teamchat import Teamchat

__all__ = ["Options", "routes", "services"]


@hookimpl
def routes(app: Teamchat) -> Sequence[Section]:
    """Offer /metrics if there is a token."""
    token = app.plugin_options("metrics", Options).checked_token()
    if token is None:
        return []
    from prometheus_client import CONTENT_TYPE_LATEST

    from teamchat_metrics.exposition import Reading
    from teamchat_metrics.sharing import Shared

    count_requests.is_on = True
    section = Section("metrics")
    shared = Shared.of(app.settings)
    reading = Reading(app, shared.labels if shared else {})

    @section.endpoint("GET", "/metrics", answer=str, open=True)
    async def metrics(bearer: str | None) -> Response:
        """Read the metrics of the server, in Prometheus's text format (with the token of the metrics)."""
        if bearer is None or not hmac.compare_digest(bearer.encode(), token.encode()):
            raise Unauthorized
        text = await reading.text()
        if shared is not None:
            text = await shared.together(text)
        return Response(text, CONTENT_TYPE_LATEST, headers={"Cache-Control": "no-store"})

    return [section]


@hookimpl
def services(app: Teamchat) -> Sequence[Service]:
    """Offer the service that measures the event loop, if there is a token."""
    if app.plugin_options("metrics", Options).checked_token() is None:
        return []
    from teamchat_metrics.exposition import Reading
    from teamchat_metrics.sharing import Shared
    from teamchat_metrics.watch import Watch

    shared = Shared.of(app.settings)
    return [Watch(Reading(app, shared.labels if shared else {}), shared)]
