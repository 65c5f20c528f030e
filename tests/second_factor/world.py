"""A server with a second factor, whose clock for codes can be turned."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import trio
from teamchat_auth_password import Passwords
from teamchat_second_factor import SECOND_FACTOR, totp
from teamchat_second_factor.codes import Codes
from teamchat_second_factor.factors import Factors
from teamchat_second_factor.sealing import Sealer

from teamchat import Capability, Storage
from teamchat.application import Application
from teamchat.model import Caller, SignedIn, now_ms
from teamchat.testing import CapabilityContract
from tests.storages import open_storage

HOME, ELSEWHERE = "192.0.2.1", "198.51.100.7"
PASSWORD = "correct horse battery"
ADMIN, BOB = "admin@localhost", "bob@example.org"


class Applications(CapabilityContract):
    def capability(self) -> Capability:
        return SECOND_FACTOR

    def open_storage(self, directory: Path) -> AbstractAsyncContextManager[Storage]:
        directory.mkdir(parents=True, exist_ok=True)
        return open_storage(directory)


@dataclass
class World:
    """A server, its admin and Bob, who have passwords. `ahead` is how far the clock of codes is turned."""

    app: Application
    ada: Caller
    bob: Caller
    ahead: int = 0

    def __post_init__(self) -> None:
        codes: Any = self.app.capabilities.second_step
        codes._clock = lambda: now_ms() + self.ahead
        self.codes: Codes = codes

    @property
    def factors(self) -> Factors:
        return Factors(self.app, Sealer(self.app.accounts.key("second-factor")), self.codes)

    @property
    def passwords(self) -> Passwords:
        return Passwords(self.app.accounts)

    def code(self, secret: str, steps: int = 0) -> str:
        """Return the code of a secret so many steps from now."""
        return totp.code_at(base64.b32decode(secret), totp.step_at(now_ms() + self.ahead) + steps)

    def pass_steps(self, steps: int = 3) -> None:
        """Let so many times 30 seconds pass for codes."""
        self.ahead += steps * totp.STEP_MS

    async def set_up(self, who: Caller) -> tuple[str, str, Sequence[str]]:
        """Set a factor up; return its id, its secret and the recovery codes. Its first code is spent then."""
        begun = await self.factors.begin(who, HOME, None, None)
        codes = await self.factors.confirm(who, begun.id, self.code(begun.secret), HOME)
        self.pass_steps()
        return begun.id, begun.secret, codes

    async def login(
        self, email: str = BOB, code: str | None = None, *, ip: str = HOME, password: str = PASSWORD
    ) -> SignedIn:
        return await self.passwords.login(email, password, ip, "tests", code)

    async def caller(self, signed_in: SignedIn) -> Caller:
        return await self.app.accounts.authenticate(signed_in.access_token)

    async def ticket(self) -> str:
        """Show Bob's first proof elsewhere, and return what waits for the second."""
        async with self.app.storage.write() as tx:
            return await self.app.accounts.second_steps.ticket_in(
                tx, self.bob.user.id, is_proved=True, way="oauth"
            )

    async def make_older(self, milliseconds: int = 600_000) -> None:
        """Let all sign-ins be so much longer ago."""
        async with self.app.storage.write() as tx:
            await tx.fetch("update sessions set created_at = created_at - $1", milliseconds)

    async def rows(self, statement: str, *given: Any) -> list[Any]:
        async with self.app.storage.read() as tx:
            return await tx.fetch(statement, *given)


@asynccontextmanager
async def opened(tmp_path: Path) -> AsyncIterator[World]:
    async with Applications().application(tmp_path) as app:
        _, signed_in = await app.accounts.sign_in(ADMIN, HOME, "tests")
        ada = await app.accounts.authenticate(signed_in.access_token)
        await app.accounts.users.add(ada, BOB, password=PASSWORD)
        bob = await app.accounts.authenticate(
            (await Passwords(app.accounts).login(BOB, PASSWORD, HOME, "tests")).access_token
        )
        yield World(app, ada, bob)


async def outcome(doing: Awaitable[Any]) -> str:
    """Return the name of the error that it raises, or "done"."""
    try:
        await doing
    except Exception as error:
        return type(error).__name__
    return "done"


async def at_once(*doing: Callable[[], Awaitable[Any]]) -> list[str]:
    """Do all at once; return how each ended, sorted."""
    ended: list[str] = []

    async def one(each: Callable[[], Awaitable[Any]]) -> None:
        ended.append(await outcome(each()))

    async with trio.open_nursery() as nursery:
        for each in doing:
            nursery.start_soon(one, each)
    return sorted(ended)
