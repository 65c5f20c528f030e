"""A real server in its own process, for a benchmark to talk to over loopback.

It runs in dev mode, so that thousands can sign in, and with limits raised that a benchmark would run into:
streams and sessions for each user, and the life of an access token.  All else is as it is by default.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

START_DEADLINE = 30.0  # seconds
END_DEADLINE = 60.0
EMAIL = "admin@localhost"
NATIVE, HYPERCORN = "native", "hypercorn"

left_out: list[str] = []
"""Plugins that no server of this run loads (``--core-alone``)."""


def capabilities() -> list[str]:
    """Return the names of the installed plugins that bring capabilities."""
    listed = subprocess.run(
        [sys.executable, "-m", "teamchat", "plugins", "--json"], capture_output=True, check=True
    )
    return [plugin["name"] for plugin in json.loads(listed.stdout) if "capabilities" in plugin["hooks"]]


def processor_seconds_of(pid: int) -> float:
    """Return the processor time of a process, to the nanosecond (clock_getcpuclockid(3))."""
    return time.clock_gettime((~pid << 3) | 2)


class Elsewhere(NamedTuple):
    """A server that somebody else has started, and ends."""

    port: int


@dataclass(frozen=True)
class Server:
    """A server that is ready."""

    port: int
    process: subprocess.Popen[bytes]

    def memory(self) -> int:
        """Return the resident memory in bytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        [line] = [line for line in status.splitlines() if line.startswith("VmRSS:")]
        return int(line.split()[1]) * 1024

    def processor_seconds(self) -> float:
        """Return the processor time of the process, to the nanosecond."""
        return processor_seconds_of(self.process.pid)

    def descriptors(self) -> int:
        """Return how many files and sockets the process has open."""
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def worker_descriptors(self) -> dict[int, int]:
        """Return how many files and sockets each serving process has open, by its id."""
        threads = Path(f"/proc/{self.process.pid}/task").glob("*/children")
        workers = [int(pid) for thread in threads for pid in thread.read_text().split()]
        return {pid: len(os.listdir(f"/proc/{pid}/fd")) for pid in workers or [self.process.pid]}

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """End the process and return its exit status."""
        self.process.send_signal(number)
        return self.wait()

    def wait(self) -> int:
        """Wait for the process to end, for a while, and return its exit status."""
        try:
            return self.process.wait(END_DEADLINE)
        except subprocess.TimeoutExpired:
            raise RuntimeError("the server does not end") from None
        finally:
            self.release()

    def release(self) -> None:
        """Leave no process and no pipe behind."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


@contextmanager
def running(
    data: Path,
    *,
    http1: str = NATIVE,
    workers: int = 1,
    storage: Mapping[str, str] | None = None,
    certificate: tuple[Path, Path] | None = None,
    sections: Mapping[str, dict[str, Any]] | None = None,
    command: Sequence[str] = ("-m", "teamchat"),
) -> Iterator[Server]:
    """Run a server with its data in this directory, or where `storage` says.

    With a certificate and its key it speaks TLS; `sections` are as in `start`.
    """
    server = start(
        data,
        http1=http1,
        workers=workers,
        storage=storage,
        certificate=certificate,
        sections=sections,
        command=command,
    )
    try:
        yield server
    finally:
        server.process.terminate()
        server.wait()


def start(
    data: Path,
    *,
    http1: str = NATIVE,
    port: int = 0,
    workers: int = 1,
    storage: Mapping[str, str] | None = None,
    certificate: tuple[Path, Path] | None = None,
    sections: Mapping[str, dict[str, Any]] | None = None,
    command: Sequence[str] = ("-m", "teamchat"),
) -> Server:
    """Start ``teamchat serve`` and wait until it is ready; port 0 is a free one.

    `sections` are sections of the configuration, each in place of what it is for the other benchmarks, and
    `command` is what Python is given in place of the command.
    """
    settings: dict[str, dict[str, Any]] = {
        "auth": {
            "authMode": "dev",
            "isInviteRequired": False,
            "maxActiveSessions": 1000,
            "jwtExpirySeconds": 86_400,
        },
        "chat": {"initialUser": {"email": EMAIL}},
        "events": {"maxStreamsPerUser": 1_000_000},
        "server": {"host": "127.0.0.1", "port": port, "http1": http1, "workers": workers},
        "storage": {"path": str(data / "data")} | dict(storage or {}),
    }
    if left_out:
        settings["plugins"] = {"disabled": left_out}
    settings |= sections or {}
    if certificate is not None:
        settings["server"]["tls"] = dict(zip(("certificate", "key"), map(str, certificate), strict=True))
    config = data / "bench.json"
    config.write_text(json.dumps(settings))
    with (data / "server.log").open("ab") as log:
        serve = [sys.executable, *command, "serve", "--config", str(config)]
        process = subprocess.Popen(serve, stdout=subprocess.PIPE, stderr=log)
    try:
        return Server(_port_of(process), process)
    except BaseException:
        Server(0, process).release()
        print((data / "server.log").read_text()[-2000:], file=sys.stderr)
        raise


def _port_of(process: subprocess.Popen[bytes]) -> int:
    """Read the line in which the server says that it is ready."""
    assert process.stdout is not None
    end = time.monotonic() + START_DEADLINE
    text = ""
    while select.select([process.stdout], [], [], max(0.0, end - time.monotonic()))[0]:
        piece = os.read(process.stdout.fileno(), 65_536).decode()
        if not piece:
            raise RuntimeError("the server ended before it was ready")
        text += piece
        for line in text.splitlines(keepends=True):
            if "ready on http" in line and line.endswith("\n"):
                return int(line.rsplit(":", 1)[1].strip("/ \n"))
    raise RuntimeError("the server is not ready in time")
