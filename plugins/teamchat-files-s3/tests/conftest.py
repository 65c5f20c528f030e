"""A store for the tests: rclone's S3 server, which checks signatures, and a line to it that breaks."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
import trio
from teamchat_files_s3 import S3Options, bucket, open_s3
from teamchat_files_s3.store import S3FileStore

from tests.certificates import certified
from tests.line import pass_on

ACCOUNT, SECRET = "teamchat-tests", "a-secret-of-the-tests"
BUCKET = "images"
DEADLINE = 20.0


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        return int(unused.getsockname()[1])


class S3Server:
    """One store in a process of its own. Killed and started again it has the same address and data."""

    def __init__(self, *flags: str, scheme: str = "http") -> None:
        self._home = Path(tempfile.mkdtemp(prefix="teamchat-s3-"))
        self.directory = self._home / "data"  # apart from what rclone keeps for itself
        (self.directory / BUCKET).mkdir(parents=True)
        self.port = free_port()
        self.endpoint = f"{scheme}://127.0.0.1:{self.port}"
        self._flags = flags
        self.start()

    def start(self) -> None:
        program = Path(sys.executable).parent / "rclone"
        self._process = subprocess.Popen(
            [program, "serve", "s3", self.directory, "--addr", f"127.0.0.1:{self.port}", *self._flags],
            env={
                "RCLONE_AUTH_KEY": f"{ACCOUNT},{SECRET}".join('""'),
                "RCLONE_CONFIG": os.devnull,
                "RCLONE_VFS_CACHE_MODE": "off",
                "HOME": str(self._home),
            },
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + DEADLINE
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
            except ConnectionRefusedError:
                assert self._process.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.01)
            else:
                return

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(DEADLINE)

    def objects(self) -> list[str]:
        bucket = self.directory / BUCKET
        return sorted(str(file.relative_to(bucket)) for file in bucket.rglob("*") if file.is_file())

    def is_writing(self) -> bool:
        """Whether a part of an upload has arrived: the file it is written to has begun to grow."""
        bucket = self.directory / BUCKET
        return any(file.stat().st_size > 0 for file in bucket.rglob("*") if file.is_file())

    def remove(self) -> None:
        self.kill()
        shutil.rmtree(self._home, ignore_errors=True)


@pytest.fixture(scope="session")
def shared() -> Iterator[S3Server]:
    """The store of the tests that leave it as it is; each has a prefix of its own."""
    server = S3Server()
    yield server
    server.remove()


@pytest.fixture
def own() -> Iterator[S3Server]:
    """A store that the test may kill."""
    server = S3Server()
    yield server
    server.remove()


def _options(server: S3Server, **others: object) -> S3Options:
    given: dict[str, object] = {
        "bucket": BUCKET,
        "endpoint": server.endpoint,
        "region": "us-east-1",
        "access_key_id": ACCOUNT,
        "secret_access_key": SECRET,
        "connect_seconds": 2,
        "read_seconds": 1,
        "write_seconds": 3,
    }
    return S3Options(**given | others)  # type: ignore[arg-type]


@pytest.fixture
def tls_server(tmp_path: Path) -> Iterator[tuple[S3Server, Path]]:
    """A store that speaks TLS, and the file with the certificate of the CA nobody else trusts."""
    shown, key = certified("127.0.0.1")
    (tmp_path / "ca.pem").write_bytes(shown)
    (tmp_path / "server.pem").write_bytes(shown + key)
    both = str(tmp_path / "server.pem")
    server = S3Server("--cert", both, "--key", both, scheme="https")
    yield server, tmp_path / "ca.pem"
    server.remove()


@pytest.fixture
def options() -> Callable[..., S3Options]:
    """Options for a server that wait for little; keywords change them."""
    return _options


class Line:
    """A line to the store that can be slow, silent, cut, or answer in the store's place."""

    def __init__(self, port: int) -> None:
        self._far_port = port
        self._flows = trio.Event()
        self._flows.set()
        self._cut = trio.Event()
        self.answer = ("503 Slow Down", "SlowDown")
        self.missing = 0  # bytes of the answer that do not come
        self.is_silent_then = False
        self.refusals = 0
        self.refused = 0
        self.passed = trio.Event()
        self.endpoint = ""

    def freeze(self) -> None:
        self._flows = trio.Event()

    def thaw(self) -> None:
        self._flows.set()

    def cut(self) -> None:
        """End every connection that is open now."""
        self._cut.set()
        self._cut = trio.Event()

    async def run(self, *, task_status: trio.TaskStatus[None]) -> None:
        listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
        self.endpoint = f"http://127.0.0.1:{listeners[0].socket.getsockname()[1]}"
        task_status.started()
        await trio.serve_listeners(self._serve, listeners)

    async def _serve(self, near: trio.SocketStream) -> None:
        async with near, trio.open_nursery() as nursery:
            nursery.start_soon(self._until_cut, nursery.cancel_scope)
            if self.refusals:
                self.refusals -= 1
                await self._refuse(near)
            else:
                await self._connect(near)
            nursery.cancel_scope.cancel()

    async def _until_cut(self, connection: trio.CancelScope) -> None:
        await self._cut.wait()
        connection.cancel()

    async def _refuse(self, near: trio.SocketStream) -> None:
        await near.receive_some()
        self.refused += 1
        status, code = self.answer
        body = f"<Error><Code>{code}</Code></Error>"
        length = len(body) + self.missing
        head = f"HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
        await near.send_all((head + body).encode())
        if self.is_silent_then:
            await trio.sleep_forever()

    async def _connect(self, near: trio.SocketStream) -> None:
        async with (
            await trio.open_tcp_stream("127.0.0.1", self._far_port) as far,
            trio.open_nursery() as nursery,
        ):
            nursery.start_soon(pass_on, near, far, nursery.cancel_scope, self._gate)
            await pass_on(far, near, nursery.cancel_scope, self._gate)

    def _gate(self) -> trio.Event:
        self.passed.set()
        return self._flows


@pytest.fixture
async def line(shared: S3Server) -> AsyncIterator[Line]:
    made = Line(shared.port)
    async with trio.open_nursery() as nursery:
        await nursery.start(made.run)
        yield made
        nursery.cancel_scope.cancel()


@pytest.fixture
async def store(shared: S3Server, line: Line, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[S3FileStore]:
    """A store behind the line, which does not try again for long."""
    monkeypatch.setattr(bucket, "RETRY_SECONDS", 3.0)
    async with open_s3(_options(shared, endpoint=line.endpoint)) as opened:
        yield opened
