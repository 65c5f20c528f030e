"""A whole server in this process, every installed plugin in it, and what attacks on it need."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from email import message_from_bytes, policy
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import trio

from teamchat.plugins import Plugins
from teamchat.server import serve
from teamchat.settings import load
from teamchat.testing import ADMIN, DEADLINE, PASSWORD
from tests.storages import storage_section

PATIENCE = 3 * DEADLINE  # seconds: a hundred passwords take their time
MAILS = {"backend": "files", "sender": "chat@example.org"}
SECRET = "a signing secret of the tests that is long enough"
JSON = dict[str, Any]
_LINK = re.compile(r"http://localhost:3000/\?\S+")


@dataclass
class Victim:
    """A running server. `directory` holds its data."""

    base: str
    directory: Path

    def client(self, token: str = "") -> httpx2.AsyncClient:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        # Without TLS there is nothing to verify, and loading certificates takes long.
        return httpx2.AsyncClient(base_url=self.base, headers=headers, timeout=PATIENCE, verify=False)

    async def call(self, method: str, path: str, body: Any = None, token: str = "") -> httpx2.Response:
        """Send one request."""
        async with self.client(token) as client:
            return await client.request(method, path, json=body)

    async def ok(self, method: str, path: str, body: Any = None, token: str = "") -> JSON:
        """Send one request that must succeed, and return its JSON."""
        answer = await self.call(method, path, body, token)
        assert answer.status_code == 200, (method, path, answer.status_code, answer.text)
        told: JSON = answer.json()
        return told

    async def login(self, email: str = ADMIN, password: str = PASSWORD) -> JSON:
        """Sign in with a password; return the pair of tokens."""
        return await self.ok("POST", "/auth/password-login", {"email": email, "password": password})

    async def add(self, admin: str, email: str, password: str | None = PASSWORD, role: str = "user") -> str:
        """Add a user with the access token of an admin; return their id."""
        body = {"email": email, "role": role} | ({} if password is None else {"password": password})
        return str((await self.ok("POST", "/users/add", body, admin))["userId"])

    async def bearer_endpoints(self) -> list[tuple[str, str]]:
        """Return method and path of every endpoint that takes an access token, as the server tells them."""
        paths = (await self.ok("GET", "/openapi.json"))["paths"]
        return [
            # HEAD of /events, for a stream that a bug opens would not end.
            ("HEAD" if path == "/events" else method.upper(), re.sub(r"\{\w+\}", "x", path))
            for path, operations in paths.items()
            for method, operation in operations.items()
            if {"accessToken": []} in operation["security"]
        ]

    async def link(self, recipient: str, purpose: str, *, after: str = "") -> str:
        """Wait for the mail with a link (``magic``, ``setup`` or ``reset``) and return its token.

        `after` is the token of an earlier mail that is not meant.
        """
        with trio.fail_after(DEADLINE):
            while not (found := [one for one in self._links(recipient, purpose) if one != after]):  # noqa: ASYNC110
                await trio.sleep(0.01)
        return found[-1]

    def _links(self, recipient: str, purpose: str) -> Iterator[str]:
        """Yield the tokens mailed to somebody for a purpose, oldest first."""
        mails = (self.directory / "mails").glob("*.eml")
        for mail in sorted(mails, key=lambda file: file.stat().st_mtime_ns):
            message = message_from_bytes(mail.read_bytes(), policy=policy.default)
            body = message.get_body(("plain",))
            for link in _LINK.findall(str(body.get_content()) if body else ""):
                query = {name: values[0] for name, values in parse_qs(urlsplit(link).query).items()}
                if (query["email"], query.get("mode", "magic")) == (recipient, purpose):
                    yield query["token"]


def written(directory: Path, sections: dict[str, JSON]) -> Path:
    """Write a configuration that has these keys over the usual ones (None: none); return its file."""
    settings: dict[str, JSON] = {
        "auth": {"authMode": "password", "jwtSecret": SECRET, "maxActiveSessions": 50},
        "chat": {"initialUser": {"userName": "Ada", "email": ADMIN, "password": PASSWORD}},
        "server": {"host": "127.0.0.1", "port": 0},
        "storage": storage_section(directory / "data"),
    }
    for name, keys in sections.items():
        merged = settings.get(name, {}) | keys
        settings[name] = {key: value for key, value in merged.items() if value is not None}
    config = directory / "teamchat.json"
    config.write_text(json.dumps(settings))
    return config


@asynccontextmanager
async def attacked(directory: Path, **sections: JSON) -> AsyncIterator[Victim]:
    """Serve in this process, in password mode, on a free port; `sections` override the configuration."""
    settings, plugins = load(written(directory, sections)), Plugins.load()
    # An attack that succeeds may leave a stream open: nothing here waits for ever.
    with trio.fail_after(PATIENCE):
        async with trio.open_nursery() as nursery:
            port = await nursery.start(lambda task_status: serve(settings, plugins, task_status=task_status))
            yield Victim(f"http://127.0.0.1:{port}", directory / "data")
            nursery.cancel_scope.cancel()


def assert_problem(answer: httpx2.Response, status: int, *, has_body: bool = True) -> None:
    """Hold an answer to the one shape of errors (D-01)."""
    assert answer.status_code == status, answer.text
    if not has_body:
        return
    assert answer.headers["content-type"] == "application/json"
    told = answer.json()
    assert list(told) == ["error"]
    assert isinstance(told["error"], str)
