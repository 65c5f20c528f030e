"""Accounts on a real storage, with a clock that the test moves."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from teamchat.accounts import Accounts, Hasher
from teamchat.interfaces import Storage, Transaction
from teamchat.model import Caller, SignedIn, now_ms
from teamchat.plugins import Plugins
from teamchat.settings import AuthSettings, InitialUser
from tests.storages import open_storage

SECRET = b"a secret of the tests that is long enough"
ADMIN = InitialUser(user_name="Ada", email="ada@example.org")


class Clock:
    """The wall clock, as far as accounts know."""

    def __init__(self) -> None:
        self.now = now_ms() // 1000 * 1000

    def __call__(self) -> int:
        return self.now

    def pass_seconds(self, seconds: float) -> None:
        self.now += int(seconds * 1000)


@dataclass
class Mailed:
    """A mail that waits to be sent: to whom, and the link it carries."""

    recipient: str
    url: str

    @property
    def query(self) -> dict[str, str]:
        return {name: value for name, [value] in parse_qs(urlsplit(self.url).query).items()}

    @property
    def token(self) -> str:
        return self.query["token"]


class Recorded:
    """A storage that notes every statement of whoever uses it."""

    def __init__(self, storage: Any) -> None:
        self._storage = storage
        self.statements: list[str] = []

    @asynccontextmanager
    async def read(self) -> AsyncIterator[Transaction]:
        async with self._storage.read() as tx:
            yield RecordedTransaction(tx, self.statements)

    @asynccontextmanager
    async def write(self) -> AsyncIterator[Transaction]:
        async with self._storage.write() as tx:
            yield RecordedTransaction(tx, self.statements)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._storage, name)


class RecordedTransaction:
    def __init__(self, tx: Transaction, statements: list[str]) -> None:
        self._tx = tx
        self._statements = statements

    async def fetch(self, sql: str, *params: Any) -> list[tuple[Any, ...]]:
        self._statements.append(sql)
        return await self._tx.fetch(sql, *params)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tx, name)


@dataclass
class World:
    """Everything a test of accounts needs."""

    storage: Storage
    clock: Clock = field(default_factory=Clock)

    def accounts(self, *, has_mail: bool = False, **auth: Any) -> Accounts:
        """Build accounts with these keys of the section ``auth``."""
        keys = {"auth_mode": "dev"} | auth
        return Accounts.build(
            self.storage,
            AuthSettings(**keys),
            SECRET,
            has_mail=has_mail,
            sign_in=Plugins.load().sign_in_traits(keys["auth_mode"]),
            clock=self.clock,
        )

    async def sign_in(self, accounts: Accounts, email: str, ip: str = "192.0.2.1") -> tuple[Caller, SignedIn]:
        _, signed_in = await accounts.sign_in(email, ip, "tests")
        return await accounts.authenticate(signed_in.access_token), signed_in

    async def admin(self, accounts: Accounts) -> Caller:
        await accounts.ensure_initial_user(ADMIN)
        return (await self.sign_in(accounts, ADMIN.email))[0]

    async def fetch(self, sql: str, *params: Any) -> list[tuple[Any, ...]]:
        async with self.storage.read() as tx:
            return await tx.fetch(sql, *params)

    async def mailed(self, accounts: Accounts) -> list[Mailed]:
        """Return the mails that wait to be sent to somebody, oldest first."""
        rows = await self.fetch(
            """select l.id, l.purpose, l.email from mails m join links l on l.id = m.link_id
               where m.is_decoy = 0 order by l.id"""
        )
        return [Mailed(row[2], accounts.links.url(*row)) for row in rows]

    async def events(self, kind: str) -> list[dict[str, Any]]:
        """Return the payloads of all events of a type."""
        rows = await self.fetch("select payload from events where type = $1 order by seq", kind)
        return [json.loads(payload) for (payload,) in rows]


def hash_passwords_with(accounts: Accounts, hasher: Hasher) -> None:
    """Let those who sign in or change their password be asked for another hash, or none."""
    object.__setattr__(accounts, "hasher", hasher)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with open_storage(tmp_path) as storage:
        yield World(storage)
