"""Starting servers: a free port, a directory of their own, the configuration, and the end of it.

Whatever was started is ended, by its own process id, however a run ends; its data are in
a temporary directory and nowhere else; and how a server is told a key of the specification (part 5) stands in
the description alone, so that nothing here knows an implementation.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import trio

from teamchat_conformance.instance import Launch

HOST = "127.0.0.1"
_PORTS = range(20_000, 32_000)  # below the ephemeral ports, of which a connection may take any at any time
_MOST_OUTPUT = 65_536
_LAST_LINES = 8
_EVERY = 0.05
_END_SECONDS = 15.0
_given: set[int] = set()


class LaunchError(Exception):
    """The server does not start. `exit_code` is None if it runs and does not answer."""

    def __init__(self, why: str, output: str, exit_code: int | None) -> None:
        last = "\n  ".join(output.strip().splitlines()[-_LAST_LINES:])
        super().__init__(f"{why}\n  {last}" if last else why)
        self.output = output
        self.exit_code = exit_code


def free_port() -> int:
    """Return a port at which nothing listens, and which is given only once."""
    for port in random.sample(_PORTS, len(_PORTS)):
        if port not in _given and is_free(port):
            _given.add(port)
            return port
    raise LaunchError("no port is free", "", None)


def is_free(port: int) -> bool:
    """Return whether a server could listen at a port."""
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((HOST, port))
        except OSError:
            return False
    return True


class Server:
    """One server: its directory and its keys stay from one start to the next, unless they are changed."""

    def __init__(
        self,
        launch: Launch,
        directory: Path,
        port: int,
        keys: Mapping[str, Any],
        env: Mapping[str, str],
        arguments: Sequence[str],
        factor: float,
    ) -> None:
        self.base_url = f"http://{HOST}:{port}"
        self.port = port
        self.data = directory / "data"
        self.keys = dict(keys)
        self.env = dict(env)
        self.arguments = tuple(arguments)
        self._launch = launch
        self._factor = factor
        self._config = directory / f"config.{launch.config_format}"
        self._output = directory / "output.txt"
        self._process: trio.Process | None = None

    def said(self) -> str:
        """Return the end of what the server wrote, over all its starts."""
        if not self._output.exists():
            return ""
        with self._output.open("rb") as output:
            output.seek(max(0, output.seek(0, os.SEEK_END) - _MOST_OUTPUT))
            return output.read().decode("utf-8", "replace")

    async def start(self) -> None:
        """Start it and wait until it is ready. Raises `LaunchError`."""
        self.data.mkdir(mode=0o700, exist_ok=True)
        self._config.touch(mode=0o600)
        self._config.write_text(self._configuration(), "utf-8")
        command = [*map(self._filled, self._launch.command), *self.arguments]
        env = {name: value for name, value in os.environ.items() if name != "INITIAL_USER_PASSWORD"}
        env |= {name: self._filled(value) for name, value in self._launch.env.items()} | self.env
        with self._output.open("ab") as output:
            try:
                self._process = await trio.lowlevel.open_process(
                    [_found(command[0]), *command[1:]],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env=env,
                    cwd=self.data.parent,
                )
            except OSError as error:
                raise LaunchError(f"launch.command can't be run: {error}", "", None) from None
        await self._ready(self._process)

    async def stop(self) -> int | None:
        """End it in good order, and return its exit code; if it lingers, end it at once."""
        return await self._end(signal.SIGTERM)

    async def kill(self) -> None:
        """End it as a power cut would."""
        await self._end(signal.SIGKILL)

    async def restart(self, changes: Mapping[str, Any] | None = None, *, kill: bool = False) -> None:
        """Start it again on the same data, with some keys changed. Raises `LaunchError`."""
        await (self.kill() if kill else self.stop())
        self.keys |= changes or {}
        await self.start()

    async def _end(self, number: signal.Signals) -> int | None:
        process, self._process = self._process, None
        if process is None:
            return None
        with trio.CancelScope(shield=True):
            process.send_signal(number)
            with trio.move_on_after(_END_SECONDS * self._factor):
                await process.wait()
            process.kill()
            await process.wait()
        return process.returncode

    async def _ready(self, process: trio.Process) -> None:
        """Wait until anything is answered: whether /health is right is a check's matter."""
        seconds = self._launch.ready_seconds * self._factor
        address = f"{self.base_url}/health"
        seen = "nothing was tried"
        async with httpx2.AsyncClient(verify=False, trust_env=False, timeout=2.0) as client:
            with trio.move_on_after(seconds):
                while process.poll() is None:
                    try:
                        await client.get(address)
                    except httpx2.HTTPError as error:
                        seen = type(error).__name__
                    else:
                        return
                    await trio.sleep(_EVERY)
        if (code := process.returncode) is not None:
            self._process = None
            raise LaunchError(f"the server ended at once, with exit code {code}:", self.said(), code)
        why = f"nothing answered at {address} within {seconds:g} seconds ({seen}); the server said:"
        raise LaunchError(why, self.said(), None)

    def _configuration(self) -> str:
        keys: dict[str, Any] = {"server.host": HOST, "server.port": self.port, "storage.path": str(self.data)}
        keys |= {name: self._filled_in(value) for name, value in flat(self._launch.config).items()}
        keys |= self.keys
        tree = nested(
            {self._launch.keys.get(name, name): value for name, value in keys.items() if value is not None}
        )
        return json.dumps(tree, indent=2) if self._launch.config_format == "json" else toml(tree)

    def _filled_in(self, value: Any) -> Any:
        return self._filled(value) if isinstance(value, str) else value

    def _filled(self, text: str) -> str:
        known = {
            "{config}": self._config,
            "{port}": self.port,
            "{data}": self.data,
            "{python}": sys.executable,
        }
        for name, value in known.items():
            text = text.replace(name, str(value))
        return text


class Launcher:
    """Starts servers as the description says."""

    def __init__(self, launch: Launch, *, factor: float = 1.0) -> None:
        self.launch = launch
        self._factor = factor

    @asynccontextmanager
    async def serving(
        self,
        keys: Mapping[str, Any],
        *,
        port: int | None = None,
        env: Mapping[str, str] | None = None,
        arguments: Sequence[str] = (),
    ) -> AsyncIterator[Server]:
        """Serve with these keys of the specification until the context is left.

        Keys are written with dots, ``auth.authMode``; None leaves one out that is given otherwise. `env` and
        `arguments` are added to those of the description. Raises `LaunchError`.
        """
        with tempfile.TemporaryDirectory(prefix="teamchat-conformance-", ignore_cleanup_errors=True) as name:
            server = Server(
                self.launch, Path(name), port or free_port(), keys, env or {}, arguments, self._factor
            )
            try:
                await server.start()
                yield server
            finally:
                await server.stop()


def nested(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Turn ``{"a.b": 1}`` into ``{"a": {"b": 1}}``; a key with an empty name is left out."""
    tree: dict[str, Any] = {}
    for key, value in keys.items():
        *path, last = key.split(".")
        table = tree
        for part in path:
            table = table.setdefault(part, {})
        if last:
            table[last] = value
    return tree


def flat(tree: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    """Turn ``{"a": {"b": 1}}`` into ``{"a.b": 1}``."""
    keys: dict[str, Any] = {}
    for name, value in tree.items():
        keys |= flat(value, f"{path}{name}.") if isinstance(value, Mapping) else {f"{path}{name}": value}
    return keys


def toml(tree: Mapping[str, Any], path: str | None = None) -> str:
    """Return a tree as TOML: plain values first, then the tables."""
    tables = {name: value for name, value in tree.items() if isinstance(value, Mapping)}
    lines = [f"{_key(name)} = {_value(value)}" for name, value in tree.items() if name not in tables]
    if path is not None and (lines or not tables):
        lines.insert(0, f"[{path}]")
    inner = [
        toml(value, _key(name) if path is None else f"{path}.{_key(name)}") for name, value in tables.items()
    ]
    return "\n".join([*lines, *([""] if lines and inner else []), *inner])


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(name)} = {_value(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    is_bare = name.replace("_", "").replace("-", "").isalnum() and name.isascii()
    return name if is_bare else _value(name)


def _found(program: str) -> str:
    """Return where a program is: beside the running interpreter, or on the path."""
    if os.sep in program:
        return program
    beside = Path(sys.executable).parent / program
    return str(beside) if beside.is_file() else shutil.which(program) or program
