"""Servers and commands as forks of a process that has imported all they need: three quarters of a start.

Each process of pytest has one such process, begun with its first server and ended with itself. A fork is what
is started as ``python -m teamchat serve`` in a usual environment; tests about starts don't come here.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import metadata
from io import TextIOWrapper
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, NoReturn, TypeVar, cast

import trio

_SERVES = [sys.executable, "-m", "teamchat", "serve"]
_ROOT = Path(__file__).parent.parent
_NUMBER = struct.Struct("i")
_MOST = 1 << 17  # bytes of a command and its environment
_MOST_DESCRIPTORS = 4096
_USUAL = dict(os.environ)
"""The environment before any test has changed it."""


class Forked:
    """A fork, with the part of `subprocess.Popen`'s interface that tests use."""

    def __init__(self, pid: int, ended: socket.socket) -> None:
        self.pid = pid
        self._ended = ended
        self._status: int | None = None

    @property
    def returncode(self) -> int | None:
        """The exit status, or None while it runs."""
        return self.poll()

    def poll(self) -> int | None:
        if self._status is None and select.select([self._ended], [], [], 0)[0]:
            self._hear()
        return self._status

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def wait_for(self, timeout: float | None = None) -> int:
        """Return the exit status once it has ended."""
        if self._status is None:
            if not select.select([self._ended], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(_SERVES, timeout or 0)
            self._hear()
        assert self._status is not None
        return self._status

    def _hear(self) -> int:
        with self._ended:
            (self._status,) = _NUMBER.unpack(self._ended.recv(_NUMBER.size))
        return self._status


class Waited(Forked):
    """One that is waited for as `subprocess.Popen` is, with its output as text."""

    def __init__(self, pid: int, ended: socket.socket, stdout: int) -> None:
        super().__init__(pid, ended)
        self.stdout: TextIOWrapper = open(stdout, encoding="utf-8")  # noqa: SIM115 - the caller's to close

    wait = Forked.wait_for

    def communicate(self) -> tuple[str, None]:
        with self.stdout:
            return self.stdout.read(), None


class Awaited(Forked):
    """One that is waited for as `trio.Process` is."""

    def __init__(self, pid: int, ended: socket.socket, stdout: int) -> None:
        super().__init__(pid, ended)
        self.stdout = trio.lowlevel.FdStream(stdout)
        self._one_waits = trio.Lock()

    async def wait(self) -> int:
        async with self._one_waits:
            if self._status is None:
                await trio.lowlevel.wait_readable(self._ended)
                self._hear()
        assert self._status is not None
        return self._status


_Kind = TypeVar("_Kind", Waited, Awaited)


def serve(config: Path, stderr: IO[Any], environment: Mapping[str, str]) -> subprocess.Popen[str]:
    """Start a server with its output as text."""
    process = _fork(Waited, [*_SERVES, "--config", str(config)], Path.cwd(), environment, stderr)
    return cast("subprocess.Popen[str]", process)


async def open_process(
    command: Sequence[str], *, stdout: int, stderr: IO[Any], env: Mapping[str, str], cwd: Path
) -> trio.Process:
    """Start a server as `trio.lowlevel.open_process` does."""
    if list(command[: len(_SERVES)]) != _SERVES or not _is_usual(env):
        return await trio.lowlevel.open_process(command, stdout=stdout, stderr=stderr, env=env, cwd=cwd)
    return cast(trio.Process, _fork(Awaited, command, cwd, env, stderr))


def _is_usual(environment: Mapping[str, str]) -> bool:
    """Whether Python would begin as it did for the process that is forked."""
    names = {name for name in {*environment, *_USUAL} if name.startswith(("PYTHON", "LD_", "COVERAGE"))}
    return all(environment.get(name) == _USUAL.get(name) for name in names)


def run(
    arguments: Sequence[str], environment: Mapping[str, str], stdin: str = "", timeout: float = 120.0
) -> subprocess.CompletedProcess[str]:
    """Run ``teamchat`` with these arguments to its end, as `subprocess.run` does; `timeout` is in seconds."""
    with TemporaryFile() as given, TemporaryFile() as stdout, TemporaryFile() as stderr:
        given.write(stdin.encode())
        given.seek(0)
        files = (given.fileno(), stdout.fileno(), stderr.fileno())
        process = Forked(*_ask(arguments, Path.cwd(), environment, files))
        try:
            status = process.wait_for(timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        written = [_read(file) for file in (stdout, stderr)]
    return subprocess.CompletedProcess(list(arguments), status, *written)


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


def _fork(
    kind: type[_Kind], command: Sequence[str], cwd: Path, environment: Mapping[str, str], stderr: IO[Any]
) -> _Kind:
    read, write = os.pipe()
    with open(write, "wb") as stdout, open(os.devnull, "rb") as stdin:
        files = (stdin.fileno(), stdout.fileno(), stderr.fileno())
        pid, ended = _ask(command[3:], cwd, environment, files)
    return kind(pid, ended, read)


def _ask(
    arguments: Sequence[str], cwd: Path, environment: Mapping[str, str], files: tuple[int, int, int]
) -> tuple[int, socket.socket]:
    """Have a fork made that begins with `files` open; return its id, and what says when it has ended."""
    ended, theirs = socket.socketpair()
    said = json.dumps([list(arguments), str(cwd), dict(environment)]).encode()
    assert len(said) < _MOST
    parent, _ = _begun()
    with theirs:
        socket.send_fds(parent, [said], [*files, theirs.fileno()])
    (pid,) = _NUMBER.unpack(ended.recv(_NUMBER.size))
    return pid, ended


@cache
def _begun() -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """Begin the process that is forked; it ends when the socket is closed, at the latest with this one."""
    ours, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
    with theirs:
        command = [sys.executable, "-m", "tests.forks", str(theirs.fileno())]
        process = subprocess.Popen(
            command, pass_fds=[theirs.fileno()], cwd=_ROOT, stdin=subprocess.DEVNULL, env=_USUAL
        )
    atexit.register(_end, ours, process)
    return ours, process


def _end(ours: socket.socket, process: subprocess.Popen[bytes]) -> None:
    """End the process that is forked, and those it has forked."""
    ours.close()
    process.wait()


# What follows runs in the process that is forked.


def _main(asked: socket.socket) -> None:
    from teamchat_web import site

    import teamchat.server  # noqa: F401
    from tests import shortcuts

    for plugin in metadata.entry_points(group="teamchat"):
        plugin.load()
    shortcuts.take()
    for file in site.build(site.CLIENT).files.values():
        _ = file.body  # made here once for all, as `shortcuts` remember it
    gc.collect()
    gc.freeze()  # so that collecting in a fork doesn't copy what they all share
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for pytest
    running: dict[int, socket.socket] = {}
    child_ended = _child_ended()
    while True:
        ready, _, _ = select.select([asked, child_ended], [], [])
        if child_ended in ready:
            child_ended.recv(_MOST)
            _reap(running)
        if asked in ready:
            said, descriptors, _, _ = socket.recv_fds(asked, _MOST, 4)
            if not said:
                break
            pid = os.fork()
            if not pid:
                _become(said, descriptors)
            for descriptor in descriptors[:3]:
                os.close(descriptor)
            running[pid] = socket.socket(fileno=descriptors[3])
            running[pid].send(_NUMBER.pack(pid))
    for pid, theirs in running.items():
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        theirs.close()
    signal.set_wakeup_fd(-1)
    child_ended.close()


def _child_ended() -> socket.socket:
    """Return a socket that can be read when a child has ended."""
    read, write = socket.socketpair()
    write.setblocking(False)
    signal.set_wakeup_fd(write.detach())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return read


def _reap(running: dict[int, socket.socket]) -> None:
    while running:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        with running.pop(pid) as theirs, suppress(BrokenPipeError):
            theirs.send(_NUMBER.pack(os.waitstatus_to_exitcode(status)))


def _become(said: bytes, descriptors: Sequence[int]) -> NoReturn:
    """Be what ``python -m teamchat`` would be, and end with it."""
    from teamchat.cli import main

    status = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # The tests may run under nohup.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for given, usual in zip(descriptors, (0, 1, 2), strict=False):
            os.dup2(given, usual)
        os.closerange(3, _MOST_DESCRIPTORS)
        sys.stdin, sys.stdout = open(0), open(1, "w")  # noqa: SIM115 - to the end
        sys.stderr = open(2, "w", buffering=1)  # noqa: SIM115
        arguments, cwd, environment = json.loads(said)
        os.chdir(cwd)
        os.environ.clear()
        os.environ.update(environment)
        sys.path[0] = cwd
        sys.argv = ["teamchat", *arguments]
        status = main()
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(BrokenPipeError):
            sys.stdout.flush()
        os._exit(status)


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as _asked:
        _main(_asked)
