"""Accounts on a real storage, with a clock that the test moves."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from teamchat.accounts import Accounts
from teamchat.interfaces import Storage
from teamchat.model import Caller, SignedIn, now_ms
from teamchat.settings import AuthSettings, InitialUser
from teamchat.storage.sqlite import SqliteOptions, open_sqlite

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
class World:
    """Everything a test of accounts needs."""

    storage: Storage
    clock: Clock = field(default_factory=Clock)

    def accounts(self, **auth: Any) -> Accounts:
        """Build accounts with these keys of the section ``auth``."""
        keys = {"auth_mode": "dev"} | auth
        return Accounts.build(self.storage, AuthSettings(**keys), SECRET, clock=self.clock)

    async def sign_in(self, accounts: Accounts, email: str, ip: str = "192.0.2.1") -> tuple[Caller, SignedIn]:
        _, signed_in = await accounts.sign_in(email, ip, "tests")
        return await accounts.authenticate(signed_in.access_token), signed_in

    async def admin(self, accounts: Accounts) -> Caller:
        await accounts.ensure_initial_user(ADMIN)
        return (await self.sign_in(accounts, ADMIN.email))[0]

    async def fetch(self, sql: str, *params: Any) -> list[tuple[Any, ...]]:
        async with self.storage.read() as tx:
            return await tx.fetch(sql, *params)

    async def events(self, kind: str) -> list[dict[str, Any]]:
        """Return the payloads of all events of a type."""
        rows = await self.fetch("select payload from events where type = $1 order by seq", kind)
        return [json.loads(payload) for (payload,) in rows]


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with open_sqlite(SqliteOptions(path=str(tmp_path))) as storage:
        yield World(storage)
