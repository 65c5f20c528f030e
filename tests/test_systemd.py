"""systemd hears that the server serves, that it is not stuck, and that it stops; nobody else need listen."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import trio

from teamchat.server import systemd
from teamchat.testing import DEADLINE
from tests.harness import running
from tests.workers.several import several


@pytest.fixture
def manager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """Return the socket on which systemd would listen."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(tmp_path / "notify"))
        listening.setblocking(False)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        yield listening


async def heard(manager: socket.socket) -> str:
    with trio.fail_after(DEADLINE):
        await trio.lowlevel.wait_readable(manager)
    return manager.recv(100).decode()


def nothing_more(manager: socket.socket) -> bool:
    try:
        return not manager.recv(100)
    except BlockingIOError:
        return True


@pytest.mark.slow
@pytest.mark.parametrize("start", [running, several])
async def test_a_server_says_that_it_is_ready_and_that_it_stops(
    start: Any, manager: socket.socket, tmp_path: Path
) -> None:
    async with start(tmp_path) as server:
        assert await heard(manager) == "READY=1"
        assert await server.end() == 0
        assert await heard(manager) == "STOPPING=1"
    assert nothing_more(manager), "its workers say nothing"


@pytest.mark.slow
async def test_it_says_so_before_it_has_stopped(manager: socket.socket, tmp_path: Path) -> None:
    async with running(tmp_path) as server:
        await heard(manager)
        port = int(server.base.rpartition(":")[2])
        async with await trio.open_tcp_stream("127.0.0.1", port) as unfinished:
            await unfinished.send_all(
                b"POST /auth/dev-login HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n{"
            )
            await server.sign_in()  # By now that request is being handled, and is waited for.
            server.process.send_signal(signal.SIGTERM)
            assert await heard(manager) == "STOPPING=1"
            assert server.process.returncode is None
        with trio.fail_after(DEADLINE):
            await server.process.wait()


async def test_a_watchdog_hears_twice_in_its_time_that_the_loop_runs(
    manager: socket.socket, monkeypatch: pytest.MonkeyPatch, autojump_clock: Any, nursery: trio.Nursery
) -> None:
    monkeypatch.setenv("WATCHDOG_USEC", "30000000")
    monkeypatch.setenv("WATCHDOG_PID", str(os.getpid()))
    nursery.start_soon(systemd.attend, trio.Event())
    await trio.sleep(60.5)
    assert [manager.recv(100) for _ in range(5)] == [b"WATCHDOG=1"] * 5
    assert nothing_more(manager)
    nursery.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("name", "value"), [("WATCHDOG_PID", "1"), ("WATCHDOG_USEC", "nonsense"), ("WATCHDOG_USEC", "0")]
)
async def test_who_looks_at_somebody_else_hears_nothing(
    name: str,
    value: str,
    manager: socket.socket,
    monkeypatch: pytest.MonkeyPatch,
    autojump_clock: Any,
    nursery: trio.Nursery,
) -> None:
    monkeypatch.setenv("WATCHDOG_USEC", "30000000")
    monkeypatch.setenv(name, value)
    nursery.start_soon(systemd.attend, trio.Event())
    await trio.sleep(100)
    assert nothing_more(manager)
    nursery.cancel_scope.cancel()


def test_an_abstract_name_is_an_address_too(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(f"\0teamchat-{os.getpid()}")
        monkeypatch.setenv("NOTIFY_SOCKET", f"@teamchat-{os.getpid()}")
        systemd.notify("READY=1")
        assert listening.recv(100) == b"READY=1"


def test_that_it_is_ready_waits_for_a_queue_that_is_full_and_nothing_else_does(
    manager: socket.socket,
) -> None:
    with suppress(BlockingIOError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as others:
        others.setblocking(False)
        while True:
            others.sendto(b"X=1", os.environ["NOTIFY_SOCKET"])
    systemd.notify("WATCHDOG=1")
    telling = threading.Thread(target=systemd.notify, args=("READY=1",))
    telling.start()
    telling.join(0.2)
    assert telling.is_alive(), "it waits"
    heard = [manager.recv(100)]
    telling.join(DEADLINE)
    while heard[-1] == b"X=1":
        heard.append(manager.recv(100))
    assert heard[-1] == b"READY=1"
    assert nothing_more(manager)


def test_a_queue_that_stays_full_keeps_no_server_from_its_start(
    manager: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(systemd, "_READY_SECONDS", 0.01)
    for _ in range(20):  # more than a queue holds, by far less than a test may last
        systemd.notify("READY=1")
    assert manager.recv(100) == b"READY=1"


@pytest.mark.parametrize("address", ["", "/nowhere", "vsock:2:1", "/" + "x" * 500])
def test_nobody_who_listens_is_no_failure(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", address)
    systemd.notify("READY=1")
