"""Waiting for a socket to become readable or writable, whatever happens to it meanwhile."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
import trio
import trio.testing
from teamchat_storage_postgres import sockets


@pytest.fixture
def full() -> Iterator[socket.socket]:
    """A socket that takes nothing more and has nothing to say."""
    one, other = socket.socketpair()
    with one, other:
        one.setblocking(False)
        try:
            while True:
                one.send(b"x" * 65_536)
        except BlockingIOError:
            yield one


def asking() -> sockets.Steps[None]:
    """Do as psycopg does with a large statement: wait for either."""
    yield sockets.EITHER


async def test_a_socket_that_is_closed_while_it_is_waited_for_ends_the_wait(full: socket.socket) -> None:
    with trio.fail_after(5):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(sockets.run, asking(), full.fileno())
            await trio.testing.wait_all_tasks_blocked()
            trio.lowlevel.notify_closing(full.fileno())
