"""K-2: bots, asked over HTTP in this process, on the storage that the tests run on."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import trio
from msgspec.structs import replace
from teamchat_bots import BOTS, has_tokens
from teamchat_bots.bots import MOST_BOTS, Bots
from teamchat_bots.exported import BotsExported, PortableBot
from teamchat_bots.rate import Rate

from teamchat import Capability, Options, Storage, TooManyRequests
from teamchat.application import Application
from teamchat.chat import Draft, MessageEdit
from teamchat.model import Caller, Message
from teamchat.settings import PluginsSettings, Settings
from teamchat.testing import ADMIN, CapabilityContract, exports
from tests.leaks.test_streams import Listener, mark
from tests.leaks.world import REFUSED_BY_A_FILTER, World, open_world
from tests.storages import open_storage
from tests.web.client import Client, declared

ALL = ["read", "write", "files", "events", "manage"]
EVERYONE = {"botsBy": "everyone"}


class TestBots(CapabilityContract):
    def capability(self) -> Capability:
        return BOTS

    def open_storage(self, directory: Path) -> AbstractAsyncContextManager[Storage]:
        directory.mkdir(parents=True, exist_ok=True)
        return open_storage(directory)

    async def use(self, app: Application, caller: Caller, message: Message) -> None:
        await Bots(app).create(replace(caller, user=replace(caller.user, is_admin=True)), "Deploys")


class Bot(NamedTuple):
    """A bot, and a client that carries a token of its."""

    id: str
    client: Client


@asynccontextmanager
async def opened(directory: Path, **chat: Any) -> AsyncIterator[tuple[World, Client]]:
    async with open_world(directory, **({"chat": chat} if chat else {})) as world:
        yield world, (await world.person("admin")).client


async def make(world: World, by: Client, name: str = "Deploys") -> Bot:
    made = (await by.ok("POST", "/bots", {"userName": name}))["bot"]
    return Bot(made["id"], Client(world.site, (await give(by, made["id"]))["token"]))


async def give(by: Client, bot_id: str, *scopes: str, **more: Any) -> dict[str, Any]:
    body = {"name": "CI", "scopes": list(scopes) or ALL, **more}
    made: dict[str, Any] = (await by.ok("POST", f"/bots/{bot_id}/tokens", body))["token"]
    return made


async def own_token(client: Client) -> str:
    made = await client.ok("POST", "/me/tokens", {"name": "mine", "scopes": ALL})
    return str(made["token"]["token"])


async def general(client: Client) -> str:
    channels = (await client.ok("GET", "/channels"))["channels"]
    return next(str(one["id"]) for one in channels if one["name"] == "General")


async def test_a_bot_is_a_user_and_says_so_wherever_it_stands(tmp_path: Path) -> None:
    async with opened(tmp_path) as (world, admin):
        bob = await world.person("bob")
        async with Listener(world.site, bob.token, "").open() as listener:
            bot = await make(world, admin)
            place = await general(bot.client)
            said = (await bot.client.ok("POST", f"/channels/{place}/messages", {"content": "beep"}))[
                "message"
            ]
            thread = f"/messages/{said['id']}/thread"
            replied = (await bot.client.ok("POST", thread, {"content": "boop"}))["reply"]
            await mark(world, "the end")
            told = await listener.until("the end")
        author = {"id": bot.id, "userName": "Deploys", "isBot": True}
        assert (said["author"], replied["author"]) == (author, author)
        assert (await bob.client.ok("GET", f"/messages/{said['id']}"))["message"]["author"] == author
        [read] = (await bob.client.ok("GET", thread))["replies"]
        assert read["author"] == author
        page = (await bob.client.ok("GET", f"/channels/{place}/messages"))["messages"]
        assert {"isBot" in one["author"] for one in page if one["author"]["id"] != bot.id} == {False}
        payloads = {one["type"]: one["payload"] for one in told}
        assert payloads["NEW_MESSAGE"]["author"] == author
        assert payloads["NEW_USER"]["id"] == bot.id
        assert payloads["UPDATE_USER"]["isBot"] is True
        users = {one["id"]: one for one in (await bob.client.ok("GET", "/users"))["users"]}
        assert users[bot.id]["isBot"] is True
        assert "isBot" not in users[bob.id]
        assert (await bot.client.ok("GET", "/auth/me"))["user"]["email"] == f"bot-{bot.id}@bots.invalid"
        [listed] = (await admin.ok("GET", "/bots"))["bots"]
        owner = (await world.person("admin")).id
        assert listed | {"createdAt": 0} == {
            "id": bot.id,
            "userName": "Deploys",
            "email": f"bot-{bot.id}@bots.invalid",
            "isAdmin": False,
            "createdAt": 0,
            "isBot": True,
            "ownerId": owner,
        }


async def test_it_sees_public_channels_what_it_was_added_to_and_who_talks_to_it(tmp_path: Path) -> None:
    async with opened(tmp_path) as (world, admin):
        bob, bot = await world.person("bob"), await make(world, admin)
        private = (await bob.client.ok("POST", "/private-channels", {"name": "Plans"}))["channel"]["id"]
        said = await bob.client.ok("POST", f"/channels/{private}/messages", {"content": "secret"})
        message = f"/messages/{said['message']['id']}"
        carol = await world.person("carol")
        direct = await bob.client.ok("POST", "/conversations", {"targetUserId": carol.id})
        for path in (f"/channels/{private}/messages", message, f"/channels/{private}/members"):
            (await bot.client.call("GET", path)).problem(404)
        path = f"/conversations/{direct['conversation']['id']}/messages"
        (await bot.client.call("GET", path)).problem(403)
        listed = (await bot.client.ok("GET", "/channels"))["channels"]
        assert [one["name"] for one in listed] == ["General"]
        async with Listener(world.site, bob.token, "").open() as listener:
            await bob.client.ok("POST", f"/channels/{private}/members", {"userIds": [bot.id]})
            await mark(world, "the end")
            told = await listener.until("the end")
        [added] = [one["payload"] for one in told if one["type"] == "CHANNEL_MEMBERS_ADDED"]
        assert [one["userId"] for one in added["members"]] == [bot.id]
        assert (await bot.client.call("GET", message)).status == 200
        mine = await bob.client.ok("POST", "/conversations", {"targetUserId": bot.id})
        await bob.client.ok(
            "POST", f"/conversations/{mine['conversation']['id']}/messages", {"content": "hi"}
        )
        [seen] = (await bot.client.ok("GET", "/conversations"))["conversations"]
        assert seen["id"] == mine["conversation"]["id"]


async def test_it_makes_no_tokens_and_no_bots_and_is_no_admin(tmp_path: Path) -> None:
    async with opened(tmp_path, **EVERYONE) as (world, admin):
        bot, asked = await make(world, admin), {"name": "CI", "scopes": ["read"]}
        for method, path, body in (
            ("POST", "/me/tokens", asked),
            ("GET", "/me/tokens", None),
            ("POST", "/bots", {"userName": "More"}),
            ("PUT", f"/bots/{bot.id}", {"userName": "More"}),
            ("DELETE", f"/bots/{bot.id}", None),
            ("POST", f"/bots/{bot.id}/tokens", asked),
            ("GET", f"/bots/{bot.id}/tokens", None),
            ("POST", "/users/add", {"email": "x@example.org"}),
            ("GET", "/auth/sessions", None),
            ("POST", "/users/exit", None),
        ):
            (await bot.client.call(method, path, body)).problem(403)
        assert (await bot.client.ok("GET", "/bots"))["bots"] == []
        assert "create-bots" not in (await bot.client.ok("GET", "/me"))["may"]
        (await admin.call("PUT", f"/users/{bot.id}/role", {"role": "admin"})).problem(400)
        (await admin.call("PUT", f"/users/{bot.id}/role", {"role": "guest"})).problem(400)
        full = {"name": "CI", "scopes": ["admin"]}
        (await admin.call("POST", f"/bots/{bot.id}/tokens", full)).problem(400)
        nobody = Client(world.site)
        (await nobody.call("POST", "/auth/dev-login", {"email": f"bot-{bot.id}@bots.invalid"})).problem(400)
        (await admin.call("POST", "/users/add", {"email": "eve@bots.invalid"})).problem(400)
        (await admin.call("POST", f"/users/{bot.id}/reset-password", {"password": "a" * 12})).problem(400)


async def test_x11_bots_and_their_tokens_are_listed_page_by_page(tmp_path: Path) -> None:
    async with opened(tmp_path) as (world, admin):
        made = [await make(world, admin, f"Robot {number}") for number in range(5)]
        first = await admin.ok("GET", "/bots?limit=2")
        assert [one["id"] for one in first["bots"]] == [one.id for one in made[:2]]
        # What a cursor points at may be gone since.
        await admin.ok("DELETE", f"/bots/{made[1].id}")
        second = await admin.ok("GET", f"/bots?limit=2&cursor={first['next']}")
        assert [one["id"] for one in second["bots"]] == [one.id for one in made[2:4]]
        third = await admin.ok("GET", f"/bots?limit=2&cursor={second['next']}")
        assert ([one["id"] for one in third["bots"]], third["next"]) == ([made[4].id], None)

        tokens, asked = f"/bots/{made[0].id}/tokens", {"name": "CI", "scopes": ["read"]}
        for _ in range(2):
            await admin.ok("POST", tokens, asked)
        whole = await admin.ok("GET", tokens)
        assert (len(whole["tokens"]), whole["next"]) == (3, None)
        page = await admin.ok("GET", f"{tokens}?limit=2")
        assert page["tokens"] == whole["tokens"][:2]
        rest = await admin.ok("GET", f"{tokens}?limit=2&cursor={page['next']}")
        assert (rest["tokens"], rest["next"]) == (whole["tokens"][2:], None)
        for bad in ("limit=0", "limit=x", "cursor=", "cursor=a%20b"):
            for address in ("/bots", tokens):
                (await admin.call("GET", f"{address}?{bad}")).problem(400)
        bob = (await world.person("bob")).client
        for address in ("/bots", tokens):
            (await bob.call("GET", f"{address}?limit=0")).problem(403)


async def test_by_default_admins_alone_make_and_look_after_bots(tmp_path: Path) -> None:
    async with opened(tmp_path) as (world, admin):
        bob, bot = await world.person("bob"), await make(world, admin)
        await refused_everything(bob.client, bot.id)
        (await bob.client.call("GET", "/bots")).problem(403)
        (await bob.client.call("POST", "/bots", {"userName": "Mine"})).problem(403)
        assert "create-bots" not in (await bob.client.ok("GET", "/me"))["may"]
        assert "create-bots" in (await admin.ok("GET", "/me"))["may"]
        other = (await world.person("author")).client
        assert [one["id"] for one in (await other.ok("GET", "/bots"))["bots"]] == [bot.id]
        (await admin.call("DELETE", f"/bots/{bob.id}")).problem(404)
        (await bob.client.call("DELETE", f"/bots/{'0' * 32}")).problem(404)


async def ended(listener: Listener) -> None:
    """Read a stream to its end; what was said before the end may still come."""
    with trio.fail_after(30):
        while (await listener.refusal())[2]:
            pass


async def refused_everything(client: Client, bot_id: str) -> None:
    """Ask, as somebody whose bot it is not, for all that its owner may."""
    for method, path, body in (
        ("PUT", f"/bots/{bot_id}", {"userName": "Mine"}),
        ("DELETE", f"/bots/{bot_id}", None),
        ("GET", f"/bots/{bot_id}/tokens", None),
        ("POST", f"/bots/{bot_id}/tokens", {"name": "CI", "scopes": ["read"]}),
        ("DELETE", f"/bots/{bot_id}/tokens/{'0' * 32}", None),
    ):
        (await client.call(method, path, body)).problem(403)


async def test_where_everyone_makes_bots_each_looks_after_their_own(tmp_path: Path) -> None:
    async with opened(tmp_path, **EVERYONE) as (world, admin):
        bob, carol = await world.person("bob"), await world.person("carol")
        bot = await make(world, bob.client)
        await refused_everything(carol.client, bot.id)
        assert (await carol.client.ok("GET", "/bots"))["bots"] == []
        assert [one["id"] for one in (await bob.client.ok("GET", "/bots"))["bots"]] == [bot.id]
        renamed = await bob.client.ok("PUT", f"/bots/{bot.id}", {"userName": "Releases"})
        assert renamed["bot"]["userName"] == "Releases"
        (await bob.client.call("PUT", f"/bots/{bot.id}", {"userName": "Admin"})).problem(400)
        assert [one["id"] for one in (await admin.ok("GET", "/bots"))["bots"]] == [bot.id]
        token = {"name": "CI", "scopes": ALL}
        held = Client(world.site, (await bob.client.ok("POST", "/me/tokens", token))["token"]["token"])
        assert [one["id"] for one in (await held.ok("GET", "/bots"))["bots"]] == [bot.id]
        for method, path, body in (
            ("POST", "/bots", {"userName": "More"}),
            ("POST", f"/bots/{bot.id}/tokens", token),
        ):
            (await held.call(method, path, body)).problem(403)
        async with world.app.storage.write() as tx:
            for number in range(MOST_BOTS - 1):
                user = await world.app.accounts.users.create_bot_in(tx, f"robot number {number}", by=bob.id)
                await tx.fetch("insert into bots (user_id, owner_id) values ($1, $2)", user.id, bob.id)
        (await bob.client.call("POST", "/bots", {"userName": "More"})).problem(400)
        await bob.client.ok("DELETE", f"/bots/{bot.id}")
        (await bob.client.call("GET", f"/bots/{bot.id}/tokens")).problem(404)


async def test_x13_a_repeated_key_makes_no_second_bot_and_shows_no_token_again(tmp_path: Path) -> None:
    async with opened(tmp_path) as (_, admin):
        body, key = {"userName": "Deploys"}, [("Idempotency-Key", "once")]
        first = await admin.call("POST", "/bots", body, headers=key)
        second = await admin.call("POST", "/bots", body, headers=key)
        assert (first.status, second.json()) == (200, first.json())
        (await admin.call("POST", "/bots", {"userName": "Other"}, headers=key)).problem(400)
        (await admin.call("POST", "/bots", body)).problem(400)  # the name is taken
        bot_id = first.json()["bot"]["id"]
        asked = {"name": "CI", "scopes": ["read"]}
        assert (await admin.call("POST", f"/bots/{bot_id}/tokens", asked, headers=key)).status == 200
        (await admin.call("POST", f"/bots/{bot_id}/tokens", asked, headers=key)).problem(409)
        assert 409 in declared(admin.app, "give_bot_token")
        await admin.ok("DELETE", f"/bots/{bot_id}")
        (await admin.call("POST", "/bots", body, headers=key)).problem(400)


async def test_its_tokens_are_listed_without_their_texts_and_revoked(tmp_path: Path) -> None:
    async with opened(tmp_path) as (world, admin):
        bot = await make(world, admin)
        made = await give(admin, bot.id, "read", "events", placeIds=[await general(admin)])
        listed = (await admin.ok("GET", f"/bots/{bot.id}/tokens"))["tokens"]
        assert listed[0] == {name: value for name, value in made.items() if name != "token"}
        assert not [one for one in listed if "token" in one]
        assert (await admin.ok("GET", "/me/tokens"))["tokens"] == []
        (await admin.call("DELETE", f"/me/tokens/{made['id']}")).problem(404)
        client = Client(world.site, made["token"])
        async with Listener(world.site, made["token"], "").open() as listener:
            await mark(world, "before")
            await listener.until("before")
            await admin.ok("DELETE", f"/bots/{bot.id}/tokens/{made['id']}")
            assert await listener.refusal() == (200, listener.headers, b"")
        (await client.call("GET", "/channels")).problem(401)
        assert (await bot.client.call("GET", "/channels")).status == 200


async def test_x3_a_token_is_limited_to_what_the_bot_sees_whatever_who_makes_it_sees(tmp_path: Path) -> None:
    async with opened(tmp_path) as (world, admin):
        bot = await make(world, admin)
        room = (await admin.ok("POST", "/private-channels", {"name": "Plans"}))["channel"]["id"]
        asked, path = {"name": "CI", "scopes": ["read"]}, f"/bots/{bot.id}/tokens"
        refused = [
            await admin.call("POST", path, {**asked, "placeIds": [place]}) for place in (room, "0" * 32)
        ]
        assert {one.problem(400) for one in refused} == {refused[0].problem(400)}
        await admin.ok("POST", f"/channels/{room}/members", {"userIds": [bot.id]})
        limited = Client(world.site, (await give(admin, bot.id, "read", placeIds=[room]))["token"])
        assert [one["id"] for one in (await limited.ok("GET", "/channels"))["channels"]] == [room]


@pytest.mark.parametrize("how", ["deactivate", "remove"])
async def test_l1_its_tokens_and_streams_end_with_it_at_once(tmp_path: Path, how: str) -> None:
    async with opened(tmp_path) as (world, admin):
        bot = await make(world, admin)
        async with Listener(world.site, bot.client.token or "", "").open() as listener:
            await mark(world, "before")
            await listener.until("before")
            if how == "remove":
                await admin.ok("DELETE", f"/bots/{bot.id}")
            else:
                await admin.ok("POST", f"/users/{bot.id}/deactivate")
            await ended(listener)
        (await bot.client.call("GET", "/channels")).problem(401)
        if how == "deactivate":
            asked = {"name": "CI", "scopes": ["read"]}
            (await admin.call("POST", f"/bots/{bot.id}/tokens", asked)).problem(400)
            [listed] = (await admin.ok("GET", "/bots"))["bots"]
            assert listed["isDeactivated"] is True
            await admin.ok("POST", f"/users/{bot.id}/activate")
            (await bot.client.call("GET", "/channels")).problem(401)
            await give(admin, bot.id)


@pytest.mark.parametrize("how", ["deactivate", "remove"])
async def test_a_token_ends_with_who_made_it_and_the_bot_stays(tmp_path: Path, how: str) -> None:
    async with opened(tmp_path, **EVERYONE) as (world, admin):
        bob = await world.person("bob")
        bot = await make(world, bob.client)
        other = Client(world.site, (await give(admin, bot.id))["token"])
        assert (await bot.client.call("GET", "/channels")).status == 200
        if how == "remove":
            await admin.ok("DELETE", f"/users/{bob.id}")
        else:
            await admin.ok("POST", f"/users/{bob.id}/deactivate")
        (await bot.client.call("GET", "/channels")).problem(401)
        assert (await other.call("GET", "/channels")).status == 200
        [listed] = (await admin.ok("GET", "/bots"))["bots"]
        assert (listed["id"], listed["ownerId"]) == (bot.id, bob.id)


async def test_an_admin_who_is_one_no_longer_keeps_no_token_of_a_bot(tmp_path: Path) -> None:
    async with opened(tmp_path) as (world, admin):
        bob = await world.person("bob")
        await admin.ok("PUT", f"/users/{bob.id}/role", {"role": "admin"})
        bot = await make(world, bob.client)
        other = Client(world.site, (await give(admin, bot.id))["token"])
        own = Client(world.site, await own_token(bob.client))
        await admin.ok("PUT", f"/users/{bob.id}/role", {"role": "user"})
        (await bot.client.call("GET", "/channels")).problem(401)
        for kept in (other, own):
            assert (await kept.call("GET", "/channels")).status == 200
        [entry] = (await admin.ok("GET", "/admin/audit?action=token.revoke"))["entries"]
        assert (entry["targetType"], entry["details"]["userId"]) == ("token", bot.id)


async def test_who_is_no_admin_any_more_keeps_the_tokens_of_their_own_bot(tmp_path: Path) -> None:
    async with opened(tmp_path, **EVERYONE) as (world, admin):
        bob = await world.person("bob")
        before = await make(world, bob.client, "Before")
        await admin.ok("PUT", f"/users/{bob.id}/role", {"role": "admin"})
        meanwhile = await make(world, bob.client, "Meanwhile")
        others = await make(world, admin, "Others")
        lent = Client(world.site, (await give(bob.client, others.id))["token"])
        await admin.ok("PUT", f"/users/{bob.id}/role", {"role": "user"})
        for kept in (before, meanwhile, others):
            assert (await kept.client.call("GET", "/channels")).status == 200
        (await lent.call("GET", "/channels")).problem(401)


async def test_d40_who_took_an_account_before_its_owner_came_keeps_no_bots_token(tmp_path: Path) -> None:
    async with opened(tmp_path, **EVERYONE) as (world, _):
        bob = await world.person("bob")
        bot = await make(world, bob.client)
        async with world.app.storage.write() as tx:
            await tx.fetch("update users set email_proved_at = null where id = $1", bob.id)
            await world.app.accounts.proofs.note_in(tx, bob.id)
        (await bot.client.call("GET", "/channels")).problem(401)


async def test_its_messages_pass_the_filters(tmp_path: Path) -> None:
    async with opened(tmp_path) as (world, admin):
        bot = await make(world, admin)
        path = f"/channels/{await general(admin)}/messages"
        (await bot.client.call("POST", path, {"content": REFUSED_BY_A_FILTER})).problem(400)


async def caller_of(world: World, bot: Bot) -> Caller:
    return await world.app.accounts.authenticate(bot.client.token or "", scopes=["write"])


async def test_it_posts_and_edits_ten_messages_a_second_whichever_process_it_asks(tmp_path: Path) -> None:
    async with opened(tmp_path) as (world, admin):
        bot, other = await make(world, admin), await make(world, admin, "Builds")
        caller, room, now = await caller_of(world, bot), await general(admin), [1_000_000]
        messages = world.app.chat.messages
        for fields, *_ in world.app.capabilities.drafts._parts:
            if isinstance(rate := getattr(fields.write, "__self__", None), Rate):
                rate._clock = lambda: now[0]
        elsewhere = Rate(lambda: now[0])
        posted = [await messages.post(caller, room, Draft(str(number))) for number in range(4)]
        await messages.edit(caller, posted[0].id, MessageEdit("edited"))
        for _ in range(5):
            async with world.app.storage.write() as tx:
                await elsewhere.take(tx, bot.id)
        for refused in (
            messages.post(caller, room, Draft("more")),
            messages.edit(caller, posted[0].id, MessageEdit("more")),
        ):
            with pytest.raises(TooManyRequests) as caught:
                await refused
            assert caught.value.retry_after == 1
        assert (await messages.one(caller, posted[0].id)).message.content == "edited"
        await messages.post(await caller_of(world, other), room, Draft("another bot's"))
        admin_id = (await world.person("admin")).id
        for number in range(12):
            person = Caller((await world.app.accounts.authenticate(admin.token or "")).user, "")
            assert (await messages.post(person, room, Draft(str(number)))).author.id == admin_id
        now[0] += 100
        await messages.post(caller, room, Draft("a tenth of a second later"), "a key")
        await messages.post(caller, room, Draft("a tenth of a second later"), "a key")  # made nothing
        with pytest.raises(TooManyRequests):
            await messages.post(caller, room, Draft("more"))
        now[0] -= 3_600_000  # the clock was set back
        await messages.post(caller, room, Draft("an hour before"))


async def test_l4_the_audit_log_has_who_made_it_and_gave_and_revoked_its_tokens(tmp_path: Path) -> None:
    async with opened(tmp_path) as (world, admin):
        bot = await make(world, admin)
        made = await give(admin, bot.id, "read")
        await admin.ok("DELETE", f"/bots/{bot.id}/tokens/{made['id']}")
        await admin.ok("PUT", f"/bots/{bot.id}", {"userName": "Releases"})
        await admin.ok("PUT", f"/bots/{bot.id}", {"userName": "Releases"})  # changes nothing
        await admin.ok("DELETE", f"/bots/{bot.id}")
        actor = (await world.person("admin")).id
        entries = (await admin.ok("GET", f"/admin/audit?targetId={bot.id}"))["entries"]
        assert [one["action"] for one in entries] == ["user.remove", "bot.rename", "user.create"]
        assert entries[-1]["details"] == {"role": "bot"}
        assert {one["actorId"] for one in entries} == {actor}
        of_token = (await admin.ok("GET", f"/admin/audit?targetId={made['id']}"))["entries"]
        assert [one["action"] for one in of_token] == ["token.revoke", "token.create"]
        assert {(one["actorId"], one["details"]["userId"]) for one in of_token} == {(actor, bot.id)}


async def test_no_channel_falls_to_a_bot(tmp_path: Path) -> None:
    async with opened(tmp_path) as (world, admin):
        bob, carol, bot = await world.person("bob"), await world.person("carol"), await make(world, admin)
        private = (await bob.client.ok("POST", "/private-channels", {"name": "Plans"}))["channel"]["id"]
        await bob.client.ok("POST", f"/channels/{private}/members", {"userIds": [bot.id]})
        await bob.client.ok("POST", f"/channels/{private}/members", {"userIds": [carol.id]})
        await bob.client.ok("POST", f"/channels/{private}/leave")
        members = (await carol.client.ok("GET", f"/channels/{private}/members"))["members"]
        assert {one["userId"]: one["role"] for one in members} == {bot.id: "member", carol.id: "manager"}


class _Imported:
    """Notes what becomes of records; every user has the id that they had."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def user(self, user_id: str) -> str | None:
        return user_id if user_id != "unknown" else None

    def create(self, count: int = 1) -> None:
        self.said.append("created")

    def find(self, count: int = 1) -> None:
        self.said.append("found")

    def omit(self, where: str, why: str) -> None:
        self.said.append("omitted")


async def test_an_import_takes_up_whose_a_bot_is_and_makes_no_user_a_bot(tmp_path: Path) -> None:
    async with opened(tmp_path) as (world, admin):
        bot, bob = await make(world, admin), await world.person("bob")
        owner, part, imported = (await world.person("admin")).id, BotsExported(), _Imported()
        async with world.app.storage.read() as tx:
            [page] = [page async for page in part.write(tx)]
        assert page == [PortableBot(bot.id, owner)]
        async with world.app.storage.write() as tx:
            await tx.fetch("delete from bots")
            records = [*page, *page, PortableBot(bob.id, owner), PortableBot("unknown", owner)]
            await part.take(tx, records, imported)  # type: ignore[arg-type]
            assert await tx.fetch("select user_id, owner_id from bots") == [(bot.id, owner)]
        assert imported.said == ["created", "found", "found", "omitted"]


async def test_an_import_gives_nobody_a_way_in_by_the_address_of_a_bot(tmp_path: Path) -> None:
    async with opened(tmp_path) as (world, admin):
        bot, written = await make(world, admin), tmp_path / "written"
        await exports.export(world.app, written)
        ids = ["0" * 12 + f"{number:020}" for number in range(3)]
        records: list[dict[str, Any]] = [
            {"id": ids[0], "userName": "one", "email": f"bot-{bot.id}@bots.invalid", "isAdmin": True},
            {"id": ids[1], "userName": "two", "email": "eve@bots.invalid"},
            {"id": ids[2], "userName": "three", "email": ADMIN, "isBot": True, "isAdmin": True},
        ]
        with (written / "users.jsonl").open("a") as file:
            file.writelines(json.dumps(one) + "\n" for one in records)
        await exports.bring_in(world.app, written)
        async with world.app.storage.read() as tx:
            found = await tx.fetch(
                """select id, email, is_admin, is_bot from users where user_name in ('one', 'two', 'three')
                   order by id"""
            )
        assert [row for row in found if row[1]] == [(ids[2], f"bot-{ids[2]}@bots.invalid", 0, 1)]
        assert [row for row in found if row[2] or (row[3] and row[0] != ids[2])] == []
        assert {one["id"] for one in (await admin.ok("GET", "/bots"))["bots"]} == {bot.id, ids[2]}


async def test_one_whose_owner_is_not_known_is_looked_after_by_admins(tmp_path: Path) -> None:
    async with opened(tmp_path, **EVERYONE) as (world, admin):
        bob = await world.person("bob")
        bot = await make(world, bob.client)
        async with world.app.storage.write() as tx:
            await tx.fetch("delete from bots")
        await refused_everything(bob.client, bot.id)
        assert [one["ownerId"] for one in (await admin.ok("GET", "/bots"))["bots"]] == [None]
        await give(admin, bot.id)


async def test_a1_where_they_are_off_no_bot_acts_and_each_goes_on_when_they_are_on_again(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as (world, admin):
        bot, bob = await make(world, admin), await world.person("bob")
        tokens = bot.client.token or "", await own_token(bob.client)
    async with open_world(tmp_path, bots={"enabled": False}) as world:
        bots, bobs = (Client(world.site, token) for token in tokens)
        for target in ("/channels", "/events"):
            (await bots.call("GET", target)).problem(401)
        await bobs.ok("GET", "/channels")
    async with open_world(tmp_path) as world:
        await Client(world.site, tokens[0]).ok("GET", "/channels")


def test_without_tokens_there_are_no_bots() -> None:
    def settings(**plugins: Any) -> Settings:
        return Settings(plugins=PluginsSettings(**plugins))

    assert has_tokens(settings(), Options())
    assert not has_tokens(settings(disabled=["tokens"]), Options())
    assert not has_tokens(settings(options={"tokens": {"enabled": False}}), Options())
