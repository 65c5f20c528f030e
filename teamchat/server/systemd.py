"""Notifications to systemd (sd_notify(3)): ready, stopping, and the watchdog's heartbeat.

Without ``NOTIFY_SOCKET`` in the environment nothing is done. Failing to notify is silent, because a server
must not depend on who listens to it. Nothing waits here, except for a moment with ``READY=1``, for which
systemd may wait without end; anything else is repeated, or does not matter. Only the process that systemd
started notifies it; workers are not given the address.
"""

from __future__ import annotations

import os
import socket
from contextlib import suppress

import trio

_READY = "READY=1"
_READY_SECONDS = 1.0


def notify(state: str) -> None:
    """Send a state, such as ``READY=1``, for which a queue that is full is given a second."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if address[:1] not in {"/", "@"}:
        return
    if address[0] == "@":  # a name in Linux's abstract namespace
        address = "\0" + address[1:]
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.settimeout(_READY_SECONDS if state == _READY else 0)
        manager.sendto(state.encode(), address)


async def attend(stop: trio.Event) -> None:
    """Say at `stop` that the process stops; and twice in a ``WatchdogSec``, if there is one, that it runs."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_calm_the_watchdog)
        await stop.wait()
        notify("STOPPING=1")


async def _calm_the_watchdog() -> None:
    seconds = _watchdog_seconds()
    while seconds:
        notify("WATCHDOG=1")
        await trio.sleep(seconds / 2)


def _watchdog_seconds() -> float:
    """Return after how long without a word systemd takes this process for stuck; 0 if it does not look."""
    if os.environ.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return 0
    with suppress(ValueError):
        return max(0, int(os.environ.get("WATCHDOG_USEC", "0"))) / 1_000_000
    return 0
