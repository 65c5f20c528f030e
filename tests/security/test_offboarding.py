"""Who leaves: everything that somebody ever held gets nothing any more, at any endpoint (extension L-1)."""

from __future__ import annotations

import base64
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from teamchat_second_factor import totp

from teamchat.model import now_ms
from teamchat.testing import provider
from tests.leaks.test_streams import Listener, mark
from tests.leaks.world import World, open_world
from tests.security.world import MAILS
from tests.web.client import Client

_idp = import_module("plugins.teamchat-oidc.tests.idp")
SCOPES = ["read", "write", "files", "events", "manage"]
PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@dataclass
class Codes:
    """The app on the phone, and the clock that it shares with the server."""

    step: Any
    secret: str = ""
    ahead: int = 0

    def __post_init__(self) -> None:
        self.step._clock = lambda: now_ms() + self.ahead

    def next(self) -> str:
        """Return a code that was not used yet: each is good once."""
        self.ahead += 3 * totp.STEP_MS
        return totp.code_at(base64.b32decode(self.secret), totp.step_at(now_ms() + self.ahead))


@dataclass
class Employee:
    """Jane: the ways in which she comes in, and all that she was ever given."""

    world: World
    company: Any
    codes: Codes
    bearers: dict[str, str] = field(default_factory=dict)
    refresh: list[str] = field(default_factory=list)
    ids: dict[str, str] = field(default_factory=dict)

    @property
    def client(self) -> Client:
        return Client(self.world.site, self.bearers["a session"])

    async def sign_in(self, name: str) -> None:
        """Come in by the provider, and by a code where there is a second factor."""
        told = await self.company.sign_in()
        if "second_factor" in told:
            body = {"ticket": told["second_factor"], "code": self.codes.next()}
            answer = await Client(self.world.site).ok("POST", "/auth/second-factor", body)
            told = {"access_token": answer["accessToken"], "refresh_token": answer["refreshToken"]}
        self.bearers[name] = told["access_token"]
        self.refresh.append(told["refresh_token"])


@asynccontextmanager
async def employed(tmp_path: Path) -> AsyncIterator[Employee]:
    """Open a server at a provider, with all its capabilities; bots may be made by everyone."""
    async with provider() as server:
        idp = _idp.Idp(server)
        idp.publish()
        oidc = {
            "id": "company",
            "name": "Company",
            "issuer": idp.issuer,
            "clientId": _idp.CLIENT,
            "clientSecret": _idp.SECRET,
        }
        sections = {
            "auth": {"authMode": "magic-link", "appUrl": _idp.APP_URL},
            "email": MAILS,
            "oauth": {"oidc": [oidc]},
            "chat": {"botsBy": "everyone"},
        }
        async with open_world(tmp_path, **sections) as world:
            company = _idp.World(world.app, world.site, idp)
            await company.find()
            step = world.app.capabilities.second_step
            yield Employee(world, company, Codes(step))


async def _live(jane: Employee) -> dict[str, Any]:
    """Let her sign in, set up a face and a second factor, and hold whatever can be held."""
    await jane.sign_in("a session")
    client = jane.client
    face = base64.b64encode(PICTURE).decode()
    await client.ok("PUT", "/me/avatar", {"image": face})
    begun = await client.ok("POST", "/me/second-factors", {"type": "totp"})
    jane.codes.secret = begun["secret"]
    confirmed = await client.ok("PUT", f"/me/second-factors/{begun['id']}", {"code": jane.codes.next()})
    await jane.sign_in("another session")
    room = (await client.ok("POST", "/private-channels", {"name": "Plans"}))["channel"]["id"]
    jane.ids |= {"channelId": room, "placeId": room}
    said = await client.ok("POST", f"/channels/{room}/messages", {"content": "what nobody else knows"})
    jane.ids["messageId"] = said["message"]["id"]
    for name, more in (("a token", {}), ("a limited token", {"placeIds": [room]})):
        body = {"name": name, "scopes": SCOPES, **more}
        jane.bearers[name] = (await client.ok("POST", "/me/tokens", body))["token"]["token"]
    bot = (await client.ok("POST", "/bots", {"userName": "Helper"}))["bot"]["id"]
    jane.ids["botId"] = bot
    await client.ok("POST", f"/channels/{room}/members", {"userIds": [bot]})
    given = await client.ok("POST", f"/bots/{bot}/tokens", {"name": "the bot's", "scopes": SCOPES})
    jane.bearers["the token of her bot"] = given["token"]["token"]
    jane.ids["fileId"] = jane.ids["uploadId"] = await _upload(client, room)
    link = (await client.ok("POST", f"/files/{jane.ids['fileId']}/link", {}))["url"]
    return {"link": link, "recovery": confirmed["recoveryCodes"]}


async def _upload(client: Client, place: str) -> str:
    pairs = {"placeId": place, "filename": "plans.txt"}
    told = ",".join(f"{name} {base64.b64encode(value.encode()).decode()}" for name, value in pairs.items())
    headers = {
        "tus-resumable": "1.0.0",
        "upload-length": "5",
        "upload-metadata": told,
        "content-type": "application/offset+octet-stream",
    }
    made = await client.call("POST", "/uploads", raw=b"plans", headers=headers.items())
    assert made.status == 201, made.body
    return str(made.headers["location"].rpartition("/")[2])


async def _answered(jane: Employee, *, reading: bool = False) -> Mapping[str, int]:
    """Ask every endpoint with all that she holds; return where the answer is not that she is nobody."""
    found = {}
    for endpoint in jane.world.site.endpoints:
        if endpoint.open or (reading and endpoint.method != "GET"):
            continue
        path = re.sub(
            r"<(?:\w+:)?(\w+)>", lambda known: jane.ids.get(known[1], jane.ids["messageId"]), endpoint.rule
        )
        for name, bearer in jane.bearers.items():
            answer = await Client(jane.world.site, bearer).call(endpoint.method, path, {})
            if answer.status != 401:
                found[f"{endpoint.method} {endpoint.rule} with {name}"] = answer.status
    return found


@pytest.mark.parametrize("how", ["deactivated", "removed"])
async def test_l1_who_has_left_gets_nothing_with_all_that_they_ever_held(tmp_path: Path, how: str) -> None:
    async with employed(tmp_path) as jane:
        held = await _live(jane)
        nobody = Client(jane.world.site)
        assert (await nobody.call("GET", held["link"])).body == b"plans"
        before = await _answered(jane, reading=True)
        assert {name.rpartition(" with ")[2] for name in before} == set(jane.bearers)
        waiting = (await jane.company.sign_in())["second_factor"]
        under_way = await jane.company.begin()
        user = (await jane.client.ok("GET", "/auth/me"))["user"]["id"]
        admin = (await jane.world.person("admin")).client
        async with Listener(jane.world.site, jane.bearers["a session"], "").open() as listener:
            await mark(jane.world, "before")
            await listener.until("before")
            if how == "removed":
                await admin.ok("DELETE", f"/users/{user}")
            else:
                await admin.ok("POST", f"/users/{user}/deactivate")
            await listener.refusal()  # It returns when the stream has ended.

        assert await _answered(jane) == {}
        for token in jane.refresh:
            assert (await nobody.call("POST", "/auth/refresh", {"refreshToken": token})).status == 401
        assert (await nobody.call("GET", held["link"])).status == 404
        for code in (jane.codes.next(), *held["recovery"][:2]):
            tried = await nobody.call("POST", "/auth/second-factor", {"ticket": waiting, "code": code})
            assert tried.status in (400, 401), tried.body
        token = jane.company.idp.id_token(under_way["nonce"])
        for told in (await jane.company.come_back(under_way, token), await jane.company.sign_in()):
            if how == "deactivated":
                assert set(told) == {"oauth_error"}
            else:  # Whom the provider still knows is somebody new, with nothing of before.
                again = Client(jane.world.site, told["access_token"])
                assert (await again.ok("GET", "/auth/me"))["user"]["id"] != user
                assert (await again.call("GET", f"/channels/{jane.ids['channelId']}/messages")).status == 404
