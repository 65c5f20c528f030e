"""The one nursery: stream hub, services and HTTP server live and end in it together.

What must stay true: a service that raises ends the whole server, and the message names it; the server
never lives on by halves.  On SIGTERM and SIGINT the event streams end first, each with a proper last
chunk, then running requests get five seconds, then all that is left is dropped; a second signal exits at
once.  Nothing is lost by any of that, for every write is durable before it is acknowledged.
"""

from __future__ import annotations

import errno
import gc
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Protocol

import trio

from teamchat import http1, hypercorn_server, tls
from teamchat.application import Application, open_application
from teamchat.errors import OperatorError, ServiceCrashed, SettingsError
from teamchat.interfaces import AuthMode, Service
from teamchat.logs import get_logger
from teamchat.settings import ServerSettings, Settings
from teamchat.web.access_log import AccessLog
from teamchat.web.app import create_app
from teamchat.web.events import AsgiApp, EventsEndpoint, Message

if TYPE_CHECKING:
    from teamchat.plugins import Plugins


class HttpServer(Protocol):
    """What serves HTTP until told to stop."""

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
_STOP_SECONDS = 5.0

_log = get_logger(__name__)


def run(settings: Settings, plugins: Plugins) -> None:
    """Serve until SIGTERM or SIGINT. Raises an `OperatorError` if the server can't start or has crashed."""
    _raise_file_limit()
    _calm_the_collector()
    trio.run(_serve_until_signalled, settings, plugins)


async def _serve_until_signalled(settings: Settings, plugins: Plugins) -> None:
    stop = trio.Event()
    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals, _plain_operator_errors():
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_heed, signals, stop)
            await serve(settings, plugins, stop=stop)
            nursery.cancel_scope.cancel()


async def _heed(signals: AsyncIterator[int], stop: trio.Event) -> None:
    """Stop at the first signal, exit at the second."""
    async for number in signals:
        if stop.is_set():
            os._exit(128 + number)
        stop.set()


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
    stop = trio.Event() if stop is None else stop
    with _plain_operator_errors():
        make_server = _http_server(settings.server)
        # The port is taken before the application opens: a password that was made and shown must not be
        # lost to a port in use.
        async with (
            _sign_in(settings, plugins) as mode,
            _listening(settings.server) as listeners,
            open_application(settings, plugins, _show_password) as app,
        ):
            await _serve_application(app, plugins, mode, make_server, listeners, stop, task_status)


async def _serve_application(
    app: Application,
    plugins: Plugins,
    mode: AuthMode,
    make_server: MakeServer,
    listeners: Sequence[trio.SocketListener],
    stop: trio.Event,
    task_status: trio.TaskStatus[int],
) -> None:
    site = create_app(app, [mode.routes(app), *plugins.routes(app)])
    web = EventsEndpoint(app, site, site.guard.admit)
    lifespan = WebLifespan(web)
    async with trio.open_nursery() as nursery:
        for service in (app.hub, *plugins.services(app), lifespan):
            await _start_service(nursery, service)
        logged = AccessLog(web, site.guard.client_address) if app.settings.server.access_log else web
        http = make_server(logged, listeners)
        nursery.start_soon(_end_streams, stop, app)
        async with trio.open_nursery() as serving:
            await serving.start(partial(http.run, stop, grace=GRACE_SECONDS))
            port = listeners[0].socket.getsockname()[1]
            _say(f"teamchat is ready on {_base(app.settings.server)}:{port}")
            task_status.started(port)
        await lifespan.stop()
        nursery.cancel_scope.cancel()


async def _end_streams(stop: trio.Event, app: Application) -> None:
    await stop.wait()
    app.hub.close_all()


async def _start_service(nursery: trio.Nursery, service: Service) -> None:
    try:
        await nursery.start(partial(_run_service, service))
    except RuntimeError as error:  # It ended without having started.
        raise ServiceCrashed(service.name) from error


async def _run_service(
    service: Service, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
) -> None:
    try:
        await service.run(task_status=task_status)
    except OperatorError:
        raise
    except Exception as error:
        _log.critical("a service crashed", service=service.name, exc_info=error)
        raise ServiceCrashed(service.name) from error


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
    """Return what makes the HTTP server: the native one, or Hypercorn, which alone speaks TLS."""
    if server.http1 not in {"native", "hypercorn"}:
        raise SettingsError("server.http1 must be native or hypercorn.")
    if server.tls is not None:
        return partial(hypercorn_server.HttpServer, tls=tls.context(server.tls))
    return http1.HttpServer if server.http1 == "native" else hypercorn_server.HttpServer


@asynccontextmanager
async def _sign_in(settings: Settings, plugins: Plugins) -> AsyncIterator[AuthMode]:
    """Open the chosen way to sign in. Raises `SettingsError` if the settings can't work with it."""
    backend = plugins.auth_mode(settings.auth.auth_mode)
    async with backend.open(backend.options()) as mode:
        mode.check(settings)
        yield mode


@asynccontextmanager
async def _listening(server: ServerSettings) -> AsyncIterator[Sequence[trio.SocketListener]]:
    """Yield sockets that listen on the configured address. Raises `SettingsError` naming the key."""
    try:
        listeners = await trio.open_tcp_listeners(server.port, host=server.host)
    except OSError as error:
        raise _cannot_listen(server, error) from error
    if not server.port:  # A free port is free on one address; a second one would get another port.
        for unused in listeners[1:]:
            await unused.aclose()
        del listeners[1:]
    try:
        yield listeners
    finally:
        for listener in listeners:
            listener.socket.close()


def _cannot_listen(server: ServerSettings, error: OSError) -> SettingsError:
    if error.errno == errno.EADDRINUSE:
        return SettingsError(
            f"server.port: another program already listens on {server.host} port {server.port}. "
            "End it, or choose another port."
        )
    if error.errno == errno.EACCES:
        return SettingsError(
            f"server.port: this user may not listen on port {server.port}. Choose one above 1023."
        )
    if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
        return SettingsError(f"server.host: {server.host!r} is no address of this machine.")
    return SettingsError(f"server.host, server.port: can't listen there ({error.strerror}).")


@contextmanager
def _plain_operator_errors() -> Iterator[None]:
    """Raise the operator's error that a nursery wrapped into a group by itself."""
    try:
        yield
    except BaseExceptionGroup as group:
        found = _first_operator_error(group)
        if found is None:
            raise
        raise found from found.__cause__


def _first_operator_error(group: BaseExceptionGroup[BaseException]) -> OperatorError | None:
    for error in group.exceptions:
        if isinstance(error, OperatorError):
            return error
        if isinstance(error, BaseExceptionGroup) and (found := _first_operator_error(error)):
            return found
    return None


def _raise_file_limit() -> None:
    """Allow as many connections as the system does: each takes a file descriptor."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _calm_the_collector() -> None:
    """Look for cycles in what requests leave, not again and again in what was loaded at start.

    Measured: an eighth more page reads a second.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


def _show_password(email: str, password: str) -> None:
    _say(f"The first user is {email} with the password {password} (shown this once).")


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _base(server: ServerSettings) -> str:
    host = f"[{server.host}]" if ":" in server.host else server.host
    return f"{'http' if server.tls is None else 'https'}://{host}"
