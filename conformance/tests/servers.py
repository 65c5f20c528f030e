"""The real server, in the kinds that the suite is tried on, and the suite played against it by a proxy."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import trio

from conformance.tests.proxy import Fault, Proxy
from teamchat_conformance.capabilities import everything
from teamchat_conformance.http import Client, Recorder
from teamchat_conformance.instance import Admin, Instance, Timing, parse
from teamchat_conformance.launch import Launcher
from teamchat_conformance.profiles import PROFILES, described, keys_of
from teamchat_conformance.registry import Registry
from teamchat_conformance.run import PASSWORD
from teamchat_conformance.runner import Options, Result, play_all

KINDS = {
    "dev": "dev-invite",
    "password": "password-plain",
    "password mail": "password-mail",
    "password open": "password-open",
    "magic": "magic-invite",
    "oauth": "oauth-invite",
}
"""Each a profile of the suite's."""
OPTIONS = Options(seed=1, examples=8, steps=20)
_GIVEN = {
    "launch": {"command": ["teamchat", "serve", "--config", "{config}"], "ready_seconds": 120.0},
    "timing": {"factor": 1.0},
}
_MORE = {
    "auth.rateLimit.attempts": 100_000,
    "auth.maxActiveSessions": 3,
    "push.contact": "mailto:conformance@example.org",  # without it no pushes are announced
    "push.allowedHosts": ["127.0.0.1"],
}


@dataclass
class Running:
    """A server that runs. `alone` is held by who needs all of it."""

    instance: Instance
    alone: trio.Lock = field(default_factory=trio.Lock)
    _token: str = ""
    _signing_in: trio.Lock = field(default_factory=trio.Lock)
    _numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    @property
    def is_shared(self) -> bool:
        """Return whether several runs may use it at once: a mailbox or a provider is one run's."""
        return self.instance.mail.kind == "none" and not self.instance.oauth.provider

    async def own_admin(self) -> Admin:
        """Make an admin for one run, so that runs end no sessions of each other's."""
        if self.instance.auth.mode == "magic-link":
            return self.instance.admin
        email = f"admin-{next(self._numbers)}@conformance.test"
        client = Client(self.instance.base_url, Recorder("making an admin"))
        first = self.instance.admin
        client.token = await self.admin_token()
        password = {"password": PASSWORD} if first.password else {}
        (await client.post("/users/add", {"email": email, "role": "admin", **password})).expect(200)
        await client.aclose()
        return Admin(email, first.password)

    async def admin_token(self) -> str:
        """Return a token of the first admin's, of one session for all."""
        async with self._signing_in:
            if not self._token:
                client = Client(self.instance.base_url, Recorder("signing in"))
                self._token = await self._first_token(client)
                await client.aclose()
        return self._token

    async def _first_token(self, client: Client) -> str:
        first = self.instance.admin
        if self.instance.auth.mode == "dev":
            return str((await client.post("/auth/dev-login", {"email": first.email})).ok()["token"])
        body = {"email": first.email, "password": first.password}
        return str((await client.post("/auth/password-login", body)).ok()["accessToken"])


@asynccontextmanager
async def running(kind: str) -> AsyncIterator[Running]:
    """Start a server of a kind."""
    given = parse(_GIVEN)
    instance = described(PROFILES[KINDS[kind]], given)
    if instance.auth.mode == "password":
        instance = replace(instance, timing=Timing())
    keys = {**keys_of(instance), **_MORE}
    port = int(instance.base_url.rpartition(":")[2])
    async with Launcher(given.launch).serving(keys, port=port):
        yield Running(instance)


async def played(
    server: Running,
    registry: Registry,
    faults: Sequence[Fault] = (),
    options: Options = OPTIONS,
    *,
    alone: bool = False,
) -> Result:
    """Play the suite against a server through a proxy with these faults.

    A run that is `alone` is the server's first admin, and has no other admins beside those of its making.
    """
    async with server.alone if not server.is_shared else _nothing():
        admin = server.instance.admin if alone else await server.own_admin()
        async with Proxy.serving(server.instance.base_url, faults) as proxy:
            instance = replace(server.instance.at(proxy.base_url), admin=admin)
            return await play_all(registry, instance, options)


@asynccontextmanager
async def _nothing() -> AsyncIterator[None]:
    yield


def only(ids: Iterable[str]) -> Registry:
    """Return a registry of nothing but the scenarios and monitors that decide some of these checks.

    Areas that are installed are among them: those of what teamchat announces beyond the suite's own.
    """
    wanted, areas = set(ids), []
    for area in everything().areas:
        plays = [play for play in area.plays if wanted & set(play.ids)]
        monitored = area.monitored & wanted
        kept = {id for play in plays for id in play.ids} | monitored
        if kept:
            checks = {id: check for id, check in area.checks.items() if id in kept}
            areas.append(dataclasses.replace(area, checks=checks, plays=plays, monitored=monitored))
    return Registry(areas)
