"""Slow clients are served and stalled ones are not, nor those that take a byte now and then."""

from __future__ import annotations

import socket
from typing import Any

import pytest
import trio

from teamchat.http.http1 import transport as http1_transport
from teamchat.http.http1.transport import Transport
from teamchat.stream import slow_clients
from teamchat.stream.transport import DirectTransport

LARGE = b"x" * 200_000


class Client:
    """Stands for a socket, or a direct stream, whose client takes so many bytes every so many seconds."""

    def __init__(self, takes: int, every: float) -> None:
        self._takes = takes
        self._every = every
        self.taken = 0

    def send(self, data: Any) -> int:
        self.taken += min(self._takes, len(data))
        return min(self._takes, len(data))

    send_now = send

    async def wait_writable(self, _: Any = None) -> None:
        await trio.sleep(self._every)

    def fileno(self) -> int:
        return 0

    def abort(self) -> None:
        """Nothing else is to be dropped."""


async def answer(client: Client, monkeypatch: pytest.MonkeyPatch) -> bool:
    monkeypatch.setattr(trio.lowlevel, "wait_writable", client.wait_writable)
    raw: Any = client
    return await Transport(raw).write(LARGE)


async def stream(client: Client, _: pytest.MonkeyPatch) -> bool:
    try:
        await DirectTransport(client, lambda: None).write(LARGE)
    except trio.TooSlowError:
        return False
    return True


WAYS = pytest.mark.parametrize("write", [answer, stream])


@WAYS
async def test_a_byte_now_and_then_is_no_progress(
    write: Any, autojump_clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, since = Client(1, 29), trio.current_time()
    assert not await write(client, monkeypatch)
    assert trio.current_time() - since < 31


@WAYS
async def test_what_trickles_below_a_kib_a_second_is_given_up(
    write: Any, autojump_clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, since = Client(512, 1), trio.current_time()
    assert not await write(client, monkeypatch)
    assert trio.current_time() - since < 70


@WAYS
async def test_who_is_slow_gets_all_of_it(
    write: Any, autojump_clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, since = Client(20_000, 15), trio.current_time()
    assert await write(client, monkeypatch)
    assert client.taken == len(LARGE)
    assert trio.current_time() - since > 100


def test_nobody_saves_patience_up() -> None:
    assert slow_clients.time_left(slow_clients.MOST_SECONDS, 0, 10_000_000) == slow_clients.MOST_SECONDS


async def test_a_real_socket_that_nobody_reads_is_given_up(autojump_clock: Any) -> None:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    with ours, theirs:
        since = trio.current_time()
        assert not await Transport(ours).write(b"x" * 4_000_000)
        assert trio.current_time() - since == pytest.approx(http1_transport.WRITE_SECONDS)
