"""The one nursery of a serving process: stream hub, services and HTTP server live and end in it together.

A service that raises ends the whole server, and the message names it; the server never limps on half alive.
On SIGTERM and SIGINT the event streams end first, each with a proper last chunk; then running requests get
five seconds; then everything that is left is dropped. A second signal exits at once. Nothing is lost by any
of this, because every write is durable before it is acknowledged.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Protocol

import trio

from teamchat.application import Application, open_application
from teamchat.errors import OperatorError, ServiceCrashed, SettingsError
from teamchat.http import http1, tls
from teamchat.http.sockets import address, listening, port_of
from teamchat.interfaces import Service
from teamchat.interfaces.offers import AuthMode
from teamchat.observability import metrics
from teamchat.observability.logs import get_logger
from teamchat.server import systemd
from teamchat.server.listeners import Listeners
from teamchat.server.process import plain_operator_errors, prepare, say, until_signalled
from teamchat.settings import ServerSettings, Settings
from teamchat.web.access_log import AccessLog
from teamchat.web.app import create_app
from teamchat.web.asgi import AsgiApp, Message
from teamchat.web.metrics import RequestMeter
from teamchat.web.request_ids import RequestIds

if TYPE_CHECKING:
    from teamchat.plugins import Plugins


class HttpServer(Protocol):
    """What serves HTTP until it is stopped."""

    async def run(
        self,
        stop: trio.Event,
        *,
        grace: float,
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Serve until `stop`; then give what runs `grace` seconds."""


MakeServer = Callable[[AsgiApp, Sequence[trio.SocketListener]], HttpServer]

GRACE_SECONDS = 5.0
SLOW_START_SECONDS = 10.0
"""How long a service may take to start before the log says that the server waits for it."""
_STOP_SECONDS = 5.0

_log = get_logger(__name__)


def run(settings: Settings, plugins: Plugins) -> None:
    """Serve until SIGTERM or SIGINT. Raises an `OperatorError` if the server can't start or has crashed."""
    prepare()
    trio.run(until_signalled, lambda stop: serve(settings, plugins, stop=stop))


async def serve(
    settings: Settings,
    plugins: Plugins,
    *,
    stop: trio.Event | None = None,
    task_status: trio.TaskStatus[int] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve until `stop`, or until cancelled; `task_status` reports the bound port.

    Raises an `OperatorError` if the server can't start, and `ServiceCrashed` if a service raises.
    """

    def ready(port: int) -> None:
        say_ready(settings.server, port)
        task_status.started(port)

    with plain_operator_errors():
        make_server = _http_server(settings.server)
        # The port is taken before the application opens: a password that was made and shown must not be
        # lost to a port in use.
        async with (
            plugins.sign_in(settings) as modes,
            listening(settings.server) as listeners,
            open_application(settings, plugins, _show_password) as app,
        ):
            stop = trio.Event() if stop is None else stop
            await _serve_application(app, plugins, modes, make_server, listeners, stop, ready)


@asynccontextmanager
async def prepared(settings: Settings, plugins: Plugins) -> AsyncIterator[Sequence[trio.SocketListener]]:
    """Do all that is done once, and yield listening sockets for as many processes as are to serve on them.

    The schema is brought up to date, the first user and channel are made.  Raises as `serve` does.
    """
    with plain_operator_errors():
        _http_server(settings.server)
        async with plugins.sign_in(settings), listening(settings.server) as listeners:
            async with open_application(settings, plugins, _show_password):
                pass
            yield listeners


async def serve_on(
    listeners: Sequence[trio.SocketListener],
    settings: Settings,
    plugins: Plugins,
    *,
    stop: trio.Event,
    task_status: trio.TaskStatus[int] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve as one of several processes, on sockets that `prepared` yielded in another one."""
    with plain_operator_errors():
        make_server = _http_server(settings.server)
        async with plugins.sign_in(settings) as modes, open_application(settings, plugins) as app:
            await _serve_application(app, plugins, modes, make_server, listeners, stop, task_status.started)


def say_ready(server: ServerSettings, port: int) -> None:
    """Tell the operator where the server is, and systemd that it is there."""
    with suppress(OSError):  # That a log's disk is full, say, is no reason not to serve.
        say(f"teamchat is ready on {address(server, port)}")
    systemd.notify("READY=1")


async def _serve_application(
    app: Application,
    plugins: Plugins,
    modes: Mapping[str, AuthMode],
    make_server: MakeServer,
    listeners: Sequence[trio.SocketListener],
    stop: trio.Event,
    ready: Callable[[int], object],
) -> None:
    blueprints = [*plugins.sign_in_routes(app, modes), *app.capabilities.routes, *plugins.routes(app)]
    site = create_app(app, blueprints, plugins)
    app.chat.filters.use(plugins.message_filters(app), plugins.label_of)
    event_listeners = Listeners(app.storage, plugins.event_listeners(app), plugins.label_of)
    # Only what a plugin's blueprint brings has a start-up and a shutdown of its own.
    lifespans = [WebLifespan(site)] if site.is_seen_by_quart else []
    port = port_of(listeners)
    async with trio.open_nursery() as nursery:
        brought = [*plugins.services(app), *app.capabilities.services]
        services: list[Service] = [app.hub, event_listeners, *brought, *lifespans]
        for service in services:
            crashed = ServiceCrashed(service.name)
            if service in brought:
                crashed = ServiceCrashed(
                    service.name, plugins.bringer_of(service), plugins.remedy_of(service)
                )
            await _start_service(nursery, service, crashed)
        logged = AccessLog(site, site.guard.client_address) if app.settings.server.access_log else site
        measured = RequestMeter(logged) if metrics.count_requests.is_on else logged
        http = make_server(RequestIds(measured, site.guard.is_proxy), listeners)
        nursery.start_soon(_end_streams, stop, app)
        async with trio.open_nursery() as serving:
            await serving.start(partial(http.run, stop, grace=GRACE_SECONDS))
            ready(port)
        for lifespan in lifespans:
            await lifespan.stop()
        nursery.cancel_scope.cancel()


async def _end_streams(stop: trio.Event, app: Application) -> None:
    await stop.wait()
    app.hub.close_all()


async def _start_service(nursery: trio.Nursery, service: Service, crashed: ServiceCrashed) -> None:
    waiting = trio.CancelScope()
    nursery.start_soon(_tell_of_slow_start, waiting, crashed)
    try:
        await nursery.start(partial(_run_service, service, crashed))
    except RuntimeError as error:  # It ended without having started.
        raise crashed from error
    finally:
        waiting.cancel()


async def _tell_of_slow_start(waiting: trio.CancelScope, crashed: ServiceCrashed) -> None:
    with waiting:
        await trio.sleep(SLOW_START_SECONDS)
        _log.warning(
            "a service has not started; the server waits for its task_status.started()",
            service=crashed.service,
            of=crashed.bringer,
        )


async def _run_service(
    service: Service,
    crashed: ServiceCrashed,
    *,
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    try:
        await service.run(task_status=task_status)
    except OperatorError:
        raise
    except Exception as error:
        _log.critical("a service crashed", service=service.name, exc_info=error)
        raise crashed from error


class WebLifespan:
    """Runs the web application's own start-up and shutdown (ASGI's lifespan) as a service."""

    name = "web application"

    def __init__(self, app: AsgiApp) -> None:
        self._app = app
        self._to_app, self._from_server = trio.open_memory_channel[Message](2)
        self._ended = trio.Event()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        async def tell(message: Message) -> None:
            if message["type"] == "lifespan.startup.complete":
                task_status.started()
            elif message["type"].endswith(".failed"):
                raise RuntimeError("the web application failed to start or stop")

        await self._to_app.send({"type": "lifespan.startup"})
        scope = {"type": "lifespan", "asgi": {"version": "3.0", "spec_version": "2.0"}, "state": {}}
        try:
            await self._app(scope, self._from_server.receive, tell)
        finally:
            self._ended.set()

    async def stop(self) -> None:
        """Let the application shut down, in a bounded time."""
        await self._to_app.send({"type": "lifespan.shutdown"})
        with trio.move_on_after(_STOP_SECONDS):
            await self._ended.wait()


def _http_server(server: ServerSettings) -> MakeServer:
    """Return what makes the HTTP server: the native one, or Hypercorn, which serves HTTP/2 in any case."""
    if server.http1 not in {"native", "hypercorn"}:
        raise SettingsError("server.http1 must be native or hypercorn.")
    proxies = server.trusted_proxies
    if server.http1 == "native" and server.tls is None:
        return partial(http1.HttpServer, proxies=proxies)
    from teamchat.http import hypercorn  # loaded where it is needed

    context = None if server.tls is None else tls.context(server.tls)
    if server.http1 == "hypercorn":
        return partial(hypercorn.HttpServer, proxies=proxies, tls=context)
    return partial(http1.HttpServer, proxies=proxies, tls=context, http2=hypercorn.Http2)


def _show_password(email: str, password: str) -> None:
    try:
        say(f"The first user is {email} with the password {password} (shown this once).")
    except OSError as error:
        raise OperatorError(
            f"The first user is {email}, and their password can't be shown ({error.strerror}). "
            f"Give them another one: teamchat user reset-password {email} --generate."
        ) from error
