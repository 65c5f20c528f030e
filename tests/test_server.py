"""The server: it says when it is ready, stops cleanly whatever its clients do, never lives by halves."""

from __future__ import annotations

import json
import signal
import socket
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import trio

from teamchat import http1, hypercorn_server
from teamchat.errors import ServiceCrashed, SettingsError
from teamchat.hookspecs import hookimpl
from teamchat.http1 import connection as http1_connection
from teamchat.http1 import transport as http1_transport
from teamchat.hypercorn_server import connection as hypercorn_connection
from teamchat.plugins import Plugins
from teamchat.server import serve
from teamchat.settings import AuthSettings, ServerSettings, Settings, StorageSettings, TlsSettings
from tests.harness import Server, running
from tests.storages import STORAGE_PLUGIN, storage_settings

PATIENCE = 30


@dataclass
class Entry:
    """An entry point that was never installed."""

    name: str
    module: Any
    dist: None = None

    def load(self) -> Any:
        if isinstance(self.module, str):
            __import__(self.module)
            return sys.modules[self.module]
        return self.module


def plugins(*more: Any) -> Plugins:
    modules = [
        STORAGE_PLUGIN,
        "teamchat.maintenance",
        "teamchat_auth_dev",
        "teamchat_auth_password",
        "teamchat_images_files",
        *more,
    ]
    loaded = Plugins.load((), [Entry(f"plugin-{number}", module) for number, module in enumerate(modules)])
    loaded.require()
    return loaded


def settings(directory: Path, mode: str = "dev", port: int = 0) -> Settings:
    return Settings(
        auth=AuthSettings(auth_mode=mode),
        server=ServerSettings(port=port),
        storage=storage_settings(directory),
    )


class Offering:
    """A plugin that offers services."""

    def __init__(self, *services: Any) -> None:
        self._services = services

    @hookimpl
    def services(self, app: Any) -> Sequence[Any]:
        return self._services


class Crashing:
    """A service that raises when told to, before or after it has started."""

    name = "clockwork"

    def __init__(self, *, at_start: bool = False) -> None:
        self.told = trio.Event()
        self._at_start = at_start

    async def run(self, *, task_status: trio.TaskStatus[None]) -> None:
        if self._at_start:
            raise RuntimeError("a spring broke")
        task_status.started()
        await self.told.wait()
        raise RuntimeError("a spring broke")


async def test_ready_is_said_once_with_the_bound_port(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], nursery: trio.Nursery
) -> None:
    stop, ended = trio.Event(), trio.Event()

    async def main(task_status: trio.TaskStatus[int] = trio.TASK_STATUS_IGNORED) -> None:
        await serve(settings(tmp_path), plugins(), stop=stop, task_status=task_status)
        ended.set()

    with trio.fail_after(PATIENCE):
        port = await nursery.start(main)
        assert (await ask(port, "GET /health HTTP/1.1\r\nHost: x\r\n\r\n")).startswith("HTTP/1.1 200")
        stop.set()
        await ended.wait()
    assert capsys.readouterr().out == f"teamchat is ready on http://127.0.0.1:{port}\n"


async def test_d23_the_generated_password_is_shown_on_the_first_start_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for shown in (True, False):
        await start_and_stop(settings(tmp_path, "password"))
        said = capsys.readouterr().out.splitlines()
        assert ("admin@localhost" in said[0]) is shown
        assert len(said) == 1 + shown


async def start_and_stop(chosen: Settings) -> None:
    with trio.fail_after(PATIENCE):
        async with trio.open_nursery() as nursery:
            await nursery.start(lambda task_status: serve(chosen, plugins(), task_status=task_status))
            nursery.cancel_scope.cancel()


async def test_a_port_in_use_names_its_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    [taken] = await trio.open_tcp_listeners(0, host="127.0.0.1")
    async with taken:
        port = taken.socket.getsockname()[1]
        with pytest.raises(SettingsError, match=rf"server\.port: .*{port}"):
            await serve(settings(tmp_path, "password", port), plugins())
    assert "password" not in capsys.readouterr().out, "what was shown once must not be lost to this"


async def test_an_address_of_elsewhere_names_its_key(tmp_path: Path) -> None:
    chosen = Settings(server=ServerSettings(host="192.0.2.1"), storage=StorageSettings(path=str(tmp_path)))
    with pytest.raises(SettingsError, match=r"server\.host"):
        await serve(chosen, plugins())


async def test_a_server_that_does_not_exist_names_its_key(tmp_path: Path) -> None:
    chosen = Settings(server=ServerSettings(http1="gopher"), storage=StorageSettings(path=str(tmp_path)))
    with pytest.raises(SettingsError, match=r"server\.http1 must be"):
        await serve(chosen, plugins())


async def test_a_certificate_that_is_missing_names_its_key_before_anything_is_done(tmp_path: Path) -> None:
    missing = TlsSettings(str(tmp_path / "none.pem"), str(tmp_path / "none.key"))
    chosen = Settings(server=ServerSettings(tls=missing), storage=StorageSettings(path=str(tmp_path)))
    with pytest.raises(SettingsError, match=r"server\.tls\.certificate"):
        await serve(chosen, plugins())


async def test_a_service_that_crashes_ends_the_server_and_is_named(
    tmp_path: Path, nursery: trio.Nursery
) -> None:
    service = Crashing()
    raised: list[BaseException] = []

    async def main(task_status: trio.TaskStatus[int] = trio.TASK_STATUS_IGNORED) -> None:
        try:
            await serve(settings(tmp_path), plugins(Offering(service)), task_status=task_status)
        except ServiceCrashed as error:
            raised.append(error)

    with trio.fail_after(PATIENCE):
        port = await nursery.start(main)
        async with await trio.open_tcp_stream("127.0.0.1", port) as idle:
            service.told.set()
            assert await idle.receive_some() == b"", "its connections end with it"
        while not raised:
            await trio.lowlevel.checkpoint()
    assert "clockwork" in str(raised[0])
    assert "spring" not in str(raised[0])
    with pytest.raises(OSError, match="all attempts to connect"):
        await trio.open_tcp_stream("127.0.0.1", port)


async def test_a_service_that_crashes_at_start_is_named(tmp_path: Path) -> None:
    with pytest.raises(ServiceCrashed, match="clockwork"):
        await serve(settings(tmp_path), plugins(Offering(Crashing(at_start=True))))


async def test_a_service_that_ends_before_it_has_started_is_named(tmp_path: Path) -> None:
    class Lazy:
        name = "sloth"

        async def run(self, *, task_status: trio.TaskStatus[None]) -> None:
            await trio.lowlevel.checkpoint()

    with pytest.raises(ServiceCrashed, match="sloth"):
        await serve(settings(tmp_path), plugins(Offering(Lazy())))


# The HTTP server by itself


async def ask(port: int, request: str) -> str:
    """Send a request, then nothing more, and return all that comes until the server closes or answers."""
    async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
        await stream.send_all(request.encode())
        with trio.fail_after(PATIENCE):
            return (await stream.receive_some()).decode("latin-1")


@pytest.fixture(params=["native", "hypercorn"])
def server(request: pytest.FixtureRequest) -> Any:
    """Each of the two servers (``server.http1``)."""
    return {"native": http1.HttpServer, "hypercorn": hypercorn_server.HttpServer}[request.param]


# Where each of them keeps what these tests change.
CONNECTIONS = {http1.HttpServer: http1_connection, hypercorn_server.HttpServer: hypercorn_connection}
WRITING = {http1.HttpServer: http1_transport, hypercorn_server.HttpServer: hypercorn_connection}


@asynccontextmanager
async def http(
    server: Any, app: Any, *, grace: float = 5
) -> AsyncIterator[tuple[int, trio.Event, trio.Event]]:
    """Serve `app`; yield the port, the event that stops the server, and the one that tells it has ended."""
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    serving, stop, ended = server(app, listeners), trio.Event(), trio.Event()

    async def main(task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        await serving.run(stop, grace=grace, task_status=task_status)
        ended.set()

    async with trio.open_nursery() as nursery:
        await nursery.start(main)
        yield listeners[0].socket.getsockname()[1], stop, ended
        nursery.cancel_scope.cancel()


async def hello(scope: Any, receive: Any, send: Any) -> None:
    headers = [(b"content-length", b"5")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"hello"})


async def flood(scope: Any, receive: Any, send: Any) -> None:
    """Send without end; never look at whether the client is there."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    while True:
        await send({"type": "http.response.body", "body": b"x" * 1_000_000, "more_body": True})


async def failing(scope: Any, receive: Any, send: Any) -> None:
    headers = [(b"content-length", b"5")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"too long for that", "more_body": True})


GET = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"


async def wait_for(event: trio.Event) -> None:
    with trio.fail_after(PATIENCE):
        await event.wait()


async def read_all(stream: trio.SocketStream) -> bytes:
    """Return everything until the server closes."""
    data = b""
    with trio.fail_after(PATIENCE):
        while piece := await stream.receive_some():
            data += piece
    return data


async def read_until(stream: trio.SocketStream, ending: bytes) -> None:
    data = b""
    with trio.fail_after(PATIENCE):
        while not data.endswith(ending):
            piece = await stream.receive_some()
            assert piece, data
            data += piece


async def test_an_idle_connection_closes_at_once_when_the_server_stops(server: Any) -> None:
    async with (
        http(server, hello) as (port, stop, ended),
        await trio.open_tcp_stream("127.0.0.1", port) as stream,
    ):
        await stream.send_all(GET.encode())
        await read_until(stream, b"hello")
        stop.set()
        assert await read_all(stream) == b""
        await wait_for(ended)


async def test_a_running_request_is_finished_when_the_server_stops(server: Any) -> None:
    asked, go = trio.Event(), trio.Event()

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        asked.set()
        await go.wait()
        await hello(scope, receive, send)

    async with (
        http(server, slow) as (port, stop, ended),
        await trio.open_tcp_stream("127.0.0.1", port) as stream,
    ):
        await stream.send_all(GET.encode())
        await wait_for(asked)
        stop.set()
        await trio.testing.wait_all_tasks_blocked()
        go.set()
        assert (await read_all(stream)).endswith(b"hello")
        await wait_for(ended)


async def test_a_reader_that_stalls_does_not_hold_the_server_up(server: Any) -> None:
    async with (
        http(server, flood, grace=0.1) as (port, stop, ended),
        await trio.open_tcp_stream("127.0.0.1", port) as stream,
    ):
        await stream.send_all(GET.encode())
        await stream.receive_some(1)
        stop.set()
        await wait_for(ended)


async def test_a_reader_that_stalls_is_cut(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WRITING[server], "WRITE_SECONDS", 0.05)
    ended = trio.Event()

    async def flooding(*arguments: Any) -> None:
        try:
            await flood(*arguments)
        finally:
            ended.set()

    async with (
        http(server, flooding) as (port, _, _),
        await trio.open_tcp_stream("127.0.0.1", port) as stream,
    ):
        await stream.send_all(GET.encode())
        await wait_for(ended)


async def test_an_idle_connection_is_closed_after_its_time(
    server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CONNECTIONS[server], "KEEP_ALIVE_SECONDS", 0.05)
    async with http(server, hello) as (port, _, _), await trio.open_tcp_stream("127.0.0.1", port) as stream:
        await stream.send_all(GET.encode())
        assert (await read_all(stream)).endswith(b"hello")


async def test_a_client_that_leaves_takes_its_connection_along(
    server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = http1_connection.Connection if server is http1.HttpServer else hypercorn_connection.Connection
    left, run = trio.Event(), kind.run

    async def watched(connection: Any) -> None:
        await run(connection)
        left.set()

    monkeypatch.setattr(kind, "run", watched)
    async with http(server, hello) as (port, _, _):
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
            await stream.send_all(GET.encode())
            await read_until(stream, b"hello")
        await wait_for(left)


@pytest.mark.parametrize("begun", ["", "GET / HTTP/1.1\r\nHost:"])
async def test_headers_must_come_in_time(server: Any, monkeypatch: pytest.MonkeyPatch, begun: str) -> None:
    monkeypatch.setattr(CONNECTIONS[server], "HEADER_SECONDS", 0.05)
    async with http(server, hello) as (port, _, _), await trio.open_tcp_stream("127.0.0.1", port) as stream:
        await stream.send_all(begun.encode())
        told = await read_all(stream)
        assert told.startswith(b"HTTP/1.1 408") if begun and server is http1.HttpServer else told == b""


async def test_one_connections_failure_leaves_the_others_alone(server: Any) -> None:
    async def mixed(scope: Any, receive: Any, send: Any) -> None:
        await (failing if scope["path"] == "/failing" else hello)(scope, receive, send)

    async with http(server, mixed) as (port, _, _):
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
            await stream.send_all(GET.replace("/ ", "/failing ").encode())
            await read_all(stream)
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
            await stream.send_all(GET.encode())
            await read_until(stream, b"hello")


async def test_an_application_that_is_cancelled_as_it_answers_leaves_a_connection_that_goes_on(
    server: Any,
) -> None:
    async def hasty(scope: Any, receive: Any, send: Any) -> None:
        async def watch() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            nursery.cancel_scope.cancel()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(watch)
            await hello(scope, receive, send)

    async with (
        http(server, hasty) as (port, stop, _),
        await trio.open_tcp_stream("127.0.0.1", port) as stream,
    ):
        for _ in range(3):
            await stream.send_all(GET.encode())
            await read_until(stream, b"hello")
        stop.set()
        assert await read_all(stream) == b"", "its keep-alive timer still runs"


# GET, http, / of the static table, and the authority "a" (RFC 7541, appendix A), in a HEADERS frame.
HTTP_2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0" + b"\0\0\6\1\5\0\0\0\1\x82\x86\x84\x41\x01a"
UPGRADE = (
    b"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\n"
    b"Upgrade: h2c\r\nHTTP2-Settings: \r\n\r\n"
)


@pytest.mark.parametrize("start", [HTTP_2, UPGRADE])
async def test_http_2_without_tls_is_cut_off_or_the_wish_for_it_ignored(server: Any, start: bytes) -> None:
    """RFC 9110, section 7.8, lets a server ignore an upgrade; Hypercorn can't, and must be cut off."""
    asked = []

    async def asks(scope: Any, receive: Any, send: Any) -> None:
        asked.append(scope)
        await hello(scope, receive, send)

    data = b""
    async with http(server, asks) as (port, _, _), await trio.open_tcp_stream("127.0.0.1", port) as stream:
        await stream.send_all(start)
        await stream.send_eof()
        with suppress(trio.BrokenResourceError), trio.fail_after(PATIENCE):
            while piece := await stream.receive_some():
                data += piece
    if server is http1.HttpServer and start == UPGRADE:
        assert data.startswith(b"HTTP/1.1 200")
    else:
        assert not asked


async def test_a_length_given_twice_over_is_refused(server: Any) -> None:
    request = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    async with http(server, hello) as (port, _, _):
        assert (await ask(port, request)).startswith("HTTP/1.1 400")


async def test_the_server_does_not_say_what_it_runs_on(server: Any) -> None:
    async with http(server, hello) as (port, _, _):
        assert "hypercorn" not in (await ask(port, GET)).lower()


# The process


async def open_stream(server: Server, token: str, query: str = "") -> trio.SocketStream:
    """Open the event stream on a bare socket with a small window, and read CONNECTED."""
    raw = trio.socket.socket()
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    await raw.connect(("127.0.0.1", int(server.base.rpartition(":")[2])))
    stream = trio.SocketStream(raw)
    await stream.send_all(f"GET /events?token={token}{query} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    data = b""
    with trio.fail_after(PATIENCE):
        while b"CONNECTED" not in data:
            data += await stream.receive_some()
    return stream


BOTH = pytest.mark.parametrize("kind", ["native", "hypercorn"])


async def signed_in(server: Server) -> Any:
    client = await server.sign_in()
    client.token = client.headers["authorization"].removeprefix("Bearer ")
    return client


@BOTH
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_the_streams_with_their_last_chunk_and_the_server_with_success(
    tmp_path: Path, kind: str, number: signal.Signals
) -> None:
    async with running(tmp_path, server={"http1": kind}) as server, await signed_in(server) as client:
        streams = [await open_stream(server, client.token) for _ in range(5)]
        server.process.send_signal(number)
        for stream in streams:
            assert (await read_all(stream)).endswith(b"0\r\n\r\n")
            await stream.aclose()
        with trio.fail_after(PATIENCE):
            assert await server.process.wait() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_reader_that_stopped_reading_large_events_does_not_outlive_a_signal(
    tmp_path: Path, number: signal.Signals
) -> None:
    async with running(tmp_path) as server, await signed_in(server) as client:
        channel = (await client.get("/channels")).json()["channels"][0]["id"]
        stalled = await open_stream(server, client.token)
        for _ in range(30):
            posted = await client.post(f"/channels/{channel}/messages", json={"content": "€" * 16_000})
            assert posted.status_code == 200
        server.process.send_signal(number)
        with trio.fail_after(PATIENCE):
            assert await server.process.wait() == 0
        await stalled.aclose()


@BOTH
async def test_d37_a_reader_that_stopped_reading_is_cut_and_others_get_everything(
    tmp_path: Path, kind: str
) -> None:
    async with running(tmp_path, server={"http1": kind}) as server, await signed_in(server) as client:
        channel = (await client.get("/channels")).json()["channels"][0]["id"]
        stalled = await open_stream(server, client.token)
        quick = await open_stream(server, client.token)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(read_until_count, quick, 200)
            for _ in range(200):
                await client.post(f"/channels/{channel}/messages", json={"content": "€" * 16_000})
        rest = await read_until_broken(stalled)
        await stalled.aclose()
        await quick.aclose()
        assert rest < 200 * 48_000, "it did not get everything"
        with trio.fail_after(PATIENCE):
            assert (await client.get("/health")).status_code == 200


async def read_until_count(stream: trio.SocketStream, count: int) -> None:
    data = b""
    with trio.fail_after(2 * PATIENCE):
        while count > 0:
            data = data[-10:] + await stream.receive_some()
            count -= data.count(b'"NEW_MESSAGE"')
            data = data if b'"NEW_MESSAGE"' not in data else b""


async def read_until_broken(stream: trio.SocketStream) -> int:
    """Return how much was still there before the server's cut."""
    size = 0
    with trio.fail_after(PATIENCE):
        try:
            while piece := await stream.receive_some():
                size += len(piece)
        except trio.BrokenResourceError:
            pass
    return size


@BOTH
async def test_a_second_signal_exits_at_once(tmp_path: Path, kind: str) -> None:
    async with running(tmp_path, server={"http1": kind}) as server:
        port = int(server.base.rpartition(":")[2])
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
            # A request whose body does not come keeps the server waiting for its five seconds.
            head = "POST /auth/dev-login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            await stream.send_all(f"{head}Content-Length: 50\r\n\r\n{{".encode())
            await server.sign_in()  # by now the first request is being handled
            server.process.send_signal(signal.SIGTERM)
            await refuses_connections(port)
            server.process.send_signal(signal.SIGTERM)
            with trio.fail_after(PATIENCE):
                assert await server.process.wait() == 128 + signal.SIGTERM


async def refuses_connections(port: int) -> None:
    with trio.fail_after(PATIENCE):
        while True:
            try:
                await (await trio.open_tcp_stream("127.0.0.1", port)).aclose()
            except OSError:
                return


async def test_a_port_in_use_is_told_in_one_line(tmp_path: Path) -> None:
    [taken] = await trio.open_tcp_listeners(0, host="127.0.0.1")
    async with taken:
        port = taken.socket.getsockname()[1]
        config = tmp_path / "teamchat.json"
        config.write_text(json.dumps({"server": {"port": port}, "storage": {"path": str(tmp_path / "data")}}))
        command = [sys.executable, "-m", "teamchat", "serve", "--config", str(config)]
        with trio.fail_after(PATIENCE):
            ended = await trio.run_process(command, check=False, capture_stdout=True, capture_stderr=True)
    assert ended.returncode == 1
    assert ended.stdout == b""
    assert b"server.port" in ended.stderr
    assert len(ended.stderr.splitlines()) == 1
