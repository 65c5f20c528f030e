"""A directory that stands for an operator's machine: what a page types is typed there, by a real shell.

``/etc``, ``/opt``, ``/var`` and ``/mnt`` of the pages lie within the directory, servers
listen on a free port of the loopback, and none outlives its test.  Nothing else of a page is changed here.
"""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Timer
from types import MappingProxyType
from typing import Any

import httpx2

from teamchat.testing import ADMIN, DEADLINE

PROGRAMS = Path(sys.executable).parent
_numbers = itertools.count(1)
DEV = {"TEAMCHAT_AUTH__AUTHMODE": "dev", "TEAMCHAT_AUTH__ISINVITEREQUIRED": "false"}


@dataclass
class Running:
    """A server that a page has started. `said` is what it printed until it was ready."""

    base: str
    said: str
    process: subprocess.Popen[str]
    log: Path

    def client(self, token: str = "", **headers: str) -> httpx2.Client:
        if token:
            headers["Authorization"] = f"Bearer {token}"
        return httpx2.Client(base_url=self.base, headers=headers, timeout=DEADLINE)

    def sign_in(self, email: str = ADMIN) -> httpx2.Client:
        """Sign in by dev-login and return a client that carries the token."""
        with self.client() as client:
            answer = client.post("/auth/dev-login", json={"email": email})
        assert answer.status_code == 200, answer.text
        return self.client(answer.json()["token"])

    def end(self) -> int:
        """Send SIGTERM, as a supervisor does, and return the exit status."""
        self.process.terminate()
        return self.process.wait(DEADLINE)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.process.kill()
        self.process.wait(DEADLINE)


@dataclass
class Machine:
    """`root` is the directory where the operator works; `environment` is laid over that of the tests."""

    root: Path
    environment: dict[str, str] = field(default_factory=lambda: dict(DEV))

    def here(self, text: str) -> str:
        """Return a page's text with the machine's directories in the place of the system's."""
        return re.sub(r"(?<![\w./-])/(?=(?:etc|opt|var|mnt)/)", f"{self.root}/", text)

    def install(self, place: str = "opt/teamchat/bin") -> None:
        """Let the programs of this Python stand in a directory as well."""
        (self.root / place).parent.mkdir(parents=True, exist_ok=True)
        (self.root / place).symlink_to(PROGRAMS)

    def write(self, name: str, text: str) -> Path:
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(self.here(text))
        return file

    def types(self, script: str, *, stdin: str = "", status: int = 0, **environment: str) -> str:
        """Type a script, expect its exit status, and return what it wrote to stdout and stderr."""
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", self.here(script)],
            cwd=self.root,
            env=self.environ(environment),
            input=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=2 * DEADLINE,
            check=False,
        )
        assert done.returncode == status, done.stdout
        return done.stdout

    @contextmanager
    def serves(self, script: str, **environment: str) -> Iterator[Running]:
        """Type a script whose last line starts a server, and wait until it is ready."""
        *before, last = self.here(script).strip().splitlines()
        log = self.root / f"stderr-{next(_numbers)}"
        with log.open("w") as stderr:
            process = subprocess.Popen(
                ["bash", "-euo", "pipefail", "-c", "\n".join([*before, f"exec {last} --port 0"])],
                cwd=self.root,
                env=self.environ(environment),
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
            )
        assert process.stdout is not None
        with process, process.stdout:
            try:
                yield self._ready(process, log)
            finally:
                process.kill()

    def _ready(self, process: subprocess.Popen[str], log: Path) -> Running:
        said = ""
        assert process.stdout is not None
        too_late = Timer(DEADLINE, process.kill)
        too_late.start()
        try:
            for line in process.stdout:
                said += line
                if "ready on " in line:
                    return Running(line.rpartition("ready on ")[2].strip().rstrip("/"), said, process, log)
        finally:
            too_late.cancel()
        raise AssertionError(f"the server ended before it was ready: {said}{log.read_text()}")

    def environ(self, environment: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("TEAMCHAT_")}
        path = os.pathsep.join([str(self.root / "bin"), str(PROGRAMS), kept["PATH"]])
        return kept | {"PATH": path, "HOME": str(self.root)} | self.environment | dict(environment)


def channel_of(client: httpx2.Client) -> str:
    """Return the path of the first channel."""
    return f"/channels/{client.get('/channels').json()['channels'][0]['id']}"


def say(client: httpx2.Client, content: str, **more: Any) -> dict[str, Any]:
    """Post into the first channel and return the message."""
    answer = client.post(f"{channel_of(client)}/messages", json={"content": content} | more)
    assert answer.status_code == 200, answer.text
    return dict(answer.json()["message"])


def said_in(client: httpx2.Client) -> list[dict[str, Any]]:
    """Return all messages of the first channel, the oldest first."""
    path, query = f"{channel_of(client)}/messages", {"limit": "200"}
    found: list[dict[str, Any]] = []
    while page := client.get(path, params=query).raise_for_status().json()["messages"]:
        found[:0] = page
        query["before"] = page[0]["id"]
    return found


def like(shown: str) -> re.Pattern[str]:
    """Return what matches a line that a page shows, with other figures in it."""
    return re.compile(re.sub(r"\\?[\d][\d,\\.]*", r"[\\d,.]+", re.escape(shown)))
