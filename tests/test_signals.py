"""The process: a signal ends its streams well and the server with success, whatever its readers do."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
import trio

from teamchat.server import process
from teamchat.testing import Server
from tests.bare import open_stream, read_all, refuses_connections
from tests.harness import running

PATIENCE = 30
BOTH = pytest.mark.parametrize("kind", ["native", "hypercorn"])


async def signed_in(server: Server) -> Any:
    client = await server.sign_in()
    client.token = client.headers["authorization"].removeprefix("Bearer ")
    return client


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
async def test_a_signal_ends_the_streams_with_their_last_chunk_and_the_server_with_success(
    tmp_path: Path, kind: str, number: signal.Signals
) -> None:
    async with running(tmp_path, server={"http1": kind}) as server, await signed_in(server) as client:
        streams = [await open_stream(server, client.token) for _ in range(5)]
        server.process.send_signal(number)
        for stream in streams:
            assert (await read_all(stream)).endswith(b"0\r\n\r\n")
        with trio.fail_after(PATIENCE):
            assert await server.process.wait() == 0


@pytest.mark.slow
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


@pytest.mark.slow
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
    data, wanted = b"", b'"NEW_MESSAGE"'
    with trio.fail_after(2 * PATIENCE):
        while count > 0:
            data += await stream.receive_some()
            count -= data.count(wanted)
            data = data.rpartition(wanted)[2][-len(wanted) + 1 :]


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


@pytest.mark.slow
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


@pytest.mark.parametrize("is_ignored", [True, False])
async def test_the_end_of_the_terminal_stops_a_server_unless_nohup_had_it_ignored(is_ignored: bool) -> None:
    async def serve(stop: trio.Event) -> None:
        for _ in range(2):  # from the system and from the shell
            signal.raise_signal(signal.SIGHUP)
            await trio.testing.wait_all_tasks_blocked()
        assert stop.is_set() is not is_ignored

    before = signal.signal(signal.SIGHUP, signal.SIG_IGN if is_ignored else signal.SIG_DFL)
    try:
        await process.until_signalled(serve)
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.slow
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
