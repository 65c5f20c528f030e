"""K-1: tokens, asked over HTTP in this process, on the storage that the tests run on."""

from __future__ import annotations

import json
import logging
from base64 import b64encode
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import trio
from teamchat_tokens import TOKENS
from teamchat_tokens.tokens import MOST_TOKENS
from teamchat_tokens.uses import Uses

from teamchat import Capability, NewCredential, Storage
from teamchat.application import Application
from teamchat.model import Caller, Message, User, now_ms
from teamchat.testing import CapabilityContract
from tests.leaks.test_streams import Listener, mark
from tests.leaks.world import Person, World, open_world
from tests.storages import open_storage
from tests.web.client import Client, declared

ALL = ["read", "write", "files", "events", "manage"]


class TestTokens(CapabilityContract):
    def capability(self) -> Capability:
        return TOKENS

    def open_storage(self, directory: Path) -> AbstractAsyncContextManager[Storage]:
        directory.mkdir(parents=True, exist_ok=True)
        return open_storage(directory)

    async def use(self, app: Application, caller: Caller, message: Message) -> None:
        assert app.credentials is not None
        async with app.storage.write() as tx:
            await app.credentials.give(tx, caller.user.id, NewCredential("CI", ["read"]), by=caller.user.id)


@asynccontextmanager
async def opened(directory: Path) -> AsyncIterator[tuple[World, Person]]:
    async with open_world(directory) as world:
        yield world, await world.person("bob")


async def make(person: Person, *scopes: str, **more: Any) -> dict[str, Any]:
    body = {"name": "CI", "scopes": list(scopes) or ALL, **more}
    return dict((await person.client.ok("POST", "/me/tokens", body))["token"])


async def holder(world: World, person: Person, *scopes: str, **more: Any) -> Client:
    return Client(world.site, (await make(person, *scopes, **more))["token"])


async def rows(world: World, sql: str) -> Sequence[Any]:
    async with world.app.storage.read() as tx:
        return await tx.fetch(sql)


async def test_a_token_is_shown_once_kept_as_a_hash_and_listed_without_its_text(tmp_path: Path) -> None:
    async with opened(tmp_path) as (world, bob):
        made = await make(bob, "write", "read", expiresAt=now_ms() + 60_000)
        assert made["token"].startswith("tct_")
        assert len(made["token"]) == 47
        assert made["scopes"] == ["read", "write"]
        [listed] = (await bob.client.ok("GET", "/me/tokens"))["tokens"]
        assert listed == {key: value for key, value in made.items() if key != "token"}
        dump = json.dumps([[str(cell) for cell in row] for row in await rows(world, "select * from tokens")])
        events = await rows(world, "select payload from events")
        entries = await rows(world, "select details from audit_entries")
        assert made["token"] not in dump + str(events) + str(entries)
        assert made["token"][4:] not in dump + str(events) + str(entries)
        assert (await (await world.person("carol")).client.ok("GET", "/me/tokens"))["tokens"] == []


async def test_what_can_be_no_token_is_refused(tmp_path: Path) -> None:
    async with opened(tmp_path) as (world, bob):
        private = {"name": "Hidden"}
        author = await world.person("author")
        hidden = (await author.client.ok("POST", "/private-channels", private))["channel"]["id"]
        for wrong in (
            {"name": ""},
            {"name": "x" * 81},
            {"scopes": []},
            {"scopes": ["read", "everything"]},
            {"scopes": ["admin"]},
            {"expiresAt": now_ms() - 1},
            {"expiresAt": 2**60},
            {"placeIds": []},
            {"placeIds": [hidden]},
            {"placeIds": ["0" * 32]},
        ):
            answer = await bob.client.call("POST", "/me/tokens", {"name": "CI", "scopes": ["read"], **wrong})
            answer.problem(400)
        body = {"name": "CI", "scopes": ["admin"], "placeIds": [hidden]}
        (await author.client.call("POST", "/me/tokens", body)).problem(400)


async def test_x13_a_repeated_key_is_told_that_the_token_was_shown(tmp_path: Path) -> None:
    async with opened(tmp_path) as (world, bob):
        body, key = {"name": "CI", "scopes": ["read"]}, [("Idempotency-Key", "once")]
        assert (await bob.client.call("POST", "/me/tokens", body, headers=key)).status == 200
        (await bob.client.call("POST", "/me/tokens", body, headers=key)).problem(409)
        assert 409 in declared(bob.client.app, "create_token")
        other = await world.person("carol")
        assert (await other.client.call("POST", "/me/tokens", body, headers=key)).status == 200
        refused = {"name": "", "scopes": ["read"]}
        (await other.client.call("POST", "/me/tokens", refused, headers=[("Idempotency-Key", "2")])).problem(
            400
        )
        assert (
            await other.client.call("POST", "/me/tokens", body, headers=[("Idempotency-Key", "2")])
        ).status == 200


async def test_a_token_does_what_its_scopes_are_for_and_nothing_else(tmp_path: Path) -> None:
    async with opened(tmp_path) as (world, bob):
        [general] = (await bob.client.ok("GET", "/channels"))["channels"]
        post = ("POST", f"/channels/{general['id']}/messages", {"content": "hello"})
        reads = await holder(world, bob, "read")
        assert (await reads.call("GET", "/channels")).status == 200
        assert (await reads.call("HEAD", "/channels")).status == 200
        refusal = (await reads.call(*post)).problem(403)
        assert "write" in refusal
        writes = await holder(world, bob, "write")
        said = await writes.ok(*post)
        assert said["message"]["author"]["id"] == bob.id
        (await writes.call("GET", "/channels")).problem(403)
        assert (await writes.call("HEAD", "/channels")).status == 403
        (await writes.call("POST", "/private-channels", {"name": "Lobby"})).problem(403)
        manages = await holder(world, bob, "manage")
        assert (await manages.call("POST", "/private-channels", {"name": "Lobby"})).status == 200
        (await manages.call(*post)).problem(403)
        assert (await Client(world.site, reads.token).call("OPTIONS", "/channels")).status == 204


async def test_no_token_reaches_passwords_sessions_tokens_pushes_or_the_end_of_an_account(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as (world, _):
        admin = await world.person("admin")
        client, bob = await holder(world, admin, *ALL, "admin"), await world.person("bob")
        for method, path, body in (
            ("GET", "/auth/sessions", None),
            ("DELETE", "/auth/sessions", {}),
            ("POST", "/auth/logout", {}),
            ("GET", "/me/tokens", None),
            ("POST", "/me/tokens", {"name": "more", "scopes": ["read"]}),
            ("DELETE", f"/me/tokens/{'0' * 32}", None),
            ("POST", "/users/exit", None),
            ("POST", f"/users/{bob.id}/reset-password", {"password": "correct horse battery"}),
            ("GET", "/push/subscriptions", None),
        ):
            assert "sign in" in (await client.call(method, path, body)).problem(403), path
        with_password = {"email": "x@example.org", "role": "admin", "password": "correct horse battery"}
        (await client.call("POST", "/users/add", with_password)).problem(403)
        assert (await client.call("POST", "/users/add", {"email": "y@example.org"})).status == 200


async def test_an_admins_token_without_the_scope_is_no_admins(tmp_path: Path) -> None:
    async with opened(tmp_path) as (world, _):
        admin, author = await world.person("admin"), await world.person("author")
        made = (await author.client.ok("POST", "/channels", {"name": "Lobby"}))["channel"]["id"]
        plain = await holder(world, admin, *ALL)
        (await plain.call("GET", "/admin/channels")).problem(403)
        (await plain.call("PUT", "/server/settings", {"name": "Mine"})).problem(403)
        (await plain.call("DELETE", f"/channels/{made}")).problem(403)
        told = await plain.ok("GET", "/me")
        assert (told["role"], "hasPassword" in told) == ("user", False)
        full = await holder(world, admin, *ALL, "admin")
        assert (await full.ok("GET", "/me"))["role"] == "admin"
        assert (await full.call("DELETE", f"/channels/{made}")).status == 200


async def test_one_with_the_scope_admin_is_over_when_its_user_is_no_admin(tmp_path: Path) -> None:
    async with opened(tmp_path) as (world, _):
        admin, author = await world.person("admin"), await world.person("author")
        acting, plain = await holder(world, author, *ALL, "admin"), await holder(world, author, *ALL)
        for role in ("user", "admin"):
            await admin.client.ok("PUT", f"/users/{author.id}/role", {"role": role})
            (await acting.call("GET", "/me")).problem(401)
            assert (await plain.call("GET", "/me")).status == 200


async def test_one_with_the_scope_admin_is_refused_while_its_user_is_none(tmp_path: Path) -> None:
    """So it is where nobody ended it: tokens were off when the user became one no longer."""
    async with opened(tmp_path) as (world, _):
        author = await world.person("author")
        acting = await holder(world, author, *ALL, "admin")
        async with world.app.storage.write() as tx:
            await tx.fetch("update users set is_admin = 0 where id = $1", author.id)
        (await acting.call("GET", "/me")).problem(401)


@pytest.mark.parametrize("is_bot", [False, True])
async def test_m1_where_a_second_factor_is_wanted_one_of_a_user_without_is_none_but_of_a_bot(
    tmp_path: Path, is_bot: bool
) -> None:
    async with opened(tmp_path) as (world, bob):
        mine, steps = await holder(world, bob, "read"), vars(world.app.accounts.second_steps)
        steps["_demanded"] = "all"
        if is_bot:
            async with world.app.storage.write() as tx:
                await tx.fetch("update users set is_bot = 1 where user_name = $1", "bob")
        answer = await mine.call("GET", "/channels")
        assert answer.status == (200 if is_bot else 403)


async def test_m1_where_admins_must_have_one_no_token_of_theirs_is_good_without(tmp_path: Path) -> None:
    async with opened(tmp_path) as (world, bob):
        mine = await holder(world, bob, "read")
        vars(world.app.accounts.second_steps)["_demanded"] = "admins"
        await mine.ok("GET", "/channels")
        async with world.app.storage.write() as tx:
            user = User(bob.id, "bob", "bob@example.org", is_admin=False)
            await world.app.accounts.users.set_role_in(tx, user, is_admin=True)
        (await mine.call("GET", "/channels")).problem(403)


async def test_x11_they_are_listed_page_by_page_newest_first(tmp_path: Path) -> None:
    async with opened(tmp_path) as (_, bob):
        made = [(await make(bob, "read"))["id"] for _ in range(5)]
        whole = await bob.client.ok("GET", "/me/tokens")
        listed = [one["id"] for one in whole["tokens"]]
        assert (sorted(listed), whole["next"]) == (sorted(made), None)
        found, query = [], "?limit=2"
        while query:
            page = await bob.client.ok("GET", f"/me/tokens{query}")
            assert len(page["tokens"]) <= 2
            found += [one["id"] for one in page["tokens"]]
            # What a cursor points at may be gone since.
            await bob.client.ok("DELETE", f"/me/tokens/{found[-1]}")
            query = page["next"] and f"?limit=2&cursor={page['next']}"
        assert found == listed
        for bad in ("limit=0", "limit=x", "cursor=", "cursor=1.2", "cursor=" + "9" * 40):
            (await bob.client.call("GET", f"/me/tokens?{bad}")).problem(400)


async def test_one_that_was_revoked_or_has_expired_is_as_one_that_never_was(tmp_path: Path) -> None:
    async with opened(tmp_path) as (world, bob):
        made = await make(bob)
        client, never = Client(world.site, made["token"]), Client(world.site, "tct_" + "x" * 43)
        assert (await client.call("GET", "/me")).status == 200
        other = await world.person("carol")
        (await other.client.call("DELETE", f"/me/tokens/{made['id']}")).problem(404)
        await bob.client.ok("DELETE", f"/me/tokens/{made['id']}")
        (await bob.client.call("DELETE", f"/me/tokens/{made['id']}")).problem(404)
        brief = await holder(world, bob, "read", expiresAt=now_ms() + 3_600_000)
        assert (await brief.call("GET", "/me")).status == 200
        async with world.app.storage.write() as tx:
            await tx.fetch("update tokens set expires_at = $1", now_ms() - 1)
            await world.app.accounts.end_streams_in(
                tx, [id_ for (id_,) in await tx.fetch("select id from tokens")]
            )
        for one in (client, brief, Client(world.site, "tct_"), Client(world.site, made["token"] + "x")):
            refused, wanted = await one.call("GET", "/me"), await never.call("GET", "/me")
            assert (refused.status, refused.body) == (wanted.status, wanted.body) == (401, wanted.body)


async def test_d09_a_stream_ends_when_its_token_is_revoked(tmp_path: Path) -> None:
    async with opened(tmp_path) as (world, bob):
        made = await make(bob, "events")
        async with Listener(world.site, made["token"], "").open() as listener:
            assert listener.status == 200
            await mark(world, "before")
            await listener.until("before")
            await bob.client.ok("DELETE", f"/me/tokens/{made['id']}")
            assert await listener.refusal() == (200, listener.headers, b"")
        async with Listener(world.site, made["token"], "").open() as listener:
            assert listener.status == 401
        write = await make(bob, "write")
        async with Listener(world.site, write["token"], "").open() as listener:
            assert listener.status == 403


@pytest.mark.parametrize("how", ["deactivate", "remove"])
async def test_l1_tokens_end_with_their_user_and_being_activated_brings_none_back(
    tmp_path: Path, how: str
) -> None:
    async with opened(tmp_path) as (world, bob):
        made, admin = await make(bob, "read", "events"), (await world.person("admin")).client
        client = Client(world.site, made["token"])
        assert (await client.call("GET", "/me")).status == 200
        async with Listener(world.site, made["token"], "").open() as listener:
            await mark(world, "before")
            await listener.until("before")
            if how == "remove":
                await admin.ok("DELETE", f"/users/{bob.id}")
            else:
                await admin.ok("POST", f"/users/{bob.id}/deactivate")
            await listener.refusal()  # It returns when the stream has ended.
        if how == "deactivate":
            (await client.call("GET", "/me")).problem(401)
            await admin.ok("POST", f"/users/{bob.id}/activate")
        (await client.call("GET", "/me")).problem(401)
        assert await rows(world, "select id from tokens") == []


async def test_d40_who_took_an_account_before_its_owner_came_keeps_no_token(tmp_path: Path) -> None:
    async with opened(tmp_path) as (world, bob):
        client = await holder(world, bob)
        async with world.app.storage.write() as tx:
            await tx.fetch("update users set email_proved_at = null where id = $1", bob.id)
            await world.app.accounts.proofs.note_in(tx, bob.id)
        (await client.call("GET", "/me")).problem(401)


async def test_l4_the_audit_log_has_who_made_and_who_revoked_it(tmp_path: Path) -> None:
    async with opened(tmp_path) as (world, bob):
        made = await make(bob, "read")
        await bob.client.ok("DELETE", f"/me/tokens/{made['id']}")
        admin = (await world.person("admin")).client
        entries = (await admin.ok("GET", "/admin/audit?action=token"))["entries"]
        assert [one["action"] for one in entries] == ["token.revoke", "token.create"]
        assert {one["targetId"] for one in entries} == {made["id"]}
        assert {one["actorId"] for one in entries} == {bob.id}
        assert entries[1]["details"] == {"userId": bob.id, "name": "CI", "scopes": ["read"]}


async def test_when_it_was_used_last_is_written_once_for_many_requests(
    tmp_path: Path, autojump_clock: None
) -> None:
    del autojump_clock
    async with open_storage_of_uses(tmp_path) as (uses, written):
        for _ in range(100):
            uses.note("a", "192.0.2.1")
        await trio.sleep(1)
        assert written == [("a", "192.0.2.1")]
        uses.note("a", "192.0.2.1")
        await trio.sleep(200)
        assert len(written) == 1
        uses.note("a", "192.0.2.9")
        await trio.sleep(1)
        assert written[-1] == ("a", "192.0.2.9")
        await trio.sleep(301)
        uses.note("a", "192.0.2.9")
        await trio.sleep(1)
        assert len(written) == 3


@asynccontextmanager
async def open_storage_of_uses(_: Path) -> AsyncIterator[tuple[Uses, list[tuple[str, str]]]]:
    written: list[tuple[str, str]] = []

    class Counted(Uses):
        async def _write(self, due: dict[str, tuple[int, str]]) -> None:
            written.extend((id_, ip) for id_, (_, ip) in due.items())

    uses = Counted(None)  # type: ignore[arg-type]
    async with trio.open_nursery() as nursery:
        await nursery.start(uses.run)
        yield uses, written
        nursery.cancel_scope.cancel()


async def test_the_list_tells_when_it_was_used_and_from_where(tmp_path: Path) -> None:
    async with opened(tmp_path) as (world, bob), trio.open_nursery() as nursery:
        for service in world.app.capabilities.services:
            if isinstance(service, Uses):
                await nursery.start(service.run)
        client = await holder(world, bob, "read")
        await client.ok("GET", "/me")
        with trio.fail_after(20):
            while (told := (await bob.client.ok("GET", "/me/tokens"))["tokens"][0])["ip"] is None:  # noqa: ASYNC110
                await trio.sleep(0.05)
        assert told["ip"] == "192.0.2.7"
        assert now_ms() - told["lastUsedAt"] < 60_000
        nursery.cancel_scope.cancel()


async def test_no_log_line_has_any_of_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with opened(tmp_path) as (world, bob):
        made = await make(bob)
        client = Client(world.site, made["token"])
        await client.ok("GET", "/me")
        (await client.call("GET", "/admin/audit")).problem(403)
        nobody = Client(world.site)
        (await nobody.call("GET", f"/events?token={made['token']}x")).problem(401)
    assert made["token"][4:] not in caplog.text


async def test_d18_what_people_change_by_tokens_is_limited_no_more_than_else(tmp_path: Path) -> None:
    async with opened(tmp_path) as (world, bob):
        client = await holder(world, bob)
        changed = [await client.call("PUT", "/users/me", {"userName": "Bob"}) for _ in range(25)]
        assert {one.status for one in changed} == {200}


async def test_what_a_bot_changes_is_limited_to_ten_a_second(tmp_path: Path) -> None:
    async with opened(tmp_path) as (world, bob):
        client = await holder(world, bob)
        async with world.app.storage.write() as tx:
            await tx.fetch("update users set is_bot = 1 where id = $1", bob.id)
        read = [await client.call("GET", "/me") for _ in range(30)]
        assert {one.status for one in read} == {200}
        changed = [await client.call("PUT", "/users/me", {"userName": "Bob"}) for _ in range(25)]
        assert changed[-1].status == 429
        assert changed[-1].headers["retry-after"] == "1"
        assert (await bob.client.call("PUT", "/users/me", {"userName": "Bob"})).status == 200


async def room_of(person: Person, name: str) -> str:
    made = await person.client.ok("POST", "/private-channels", {"name": name})
    return str(made["channel"]["id"])


async def test_lists_of_a_token_that_is_limited_to_places_hold_these_alone(tmp_path: Path) -> None:
    async with opened(tmp_path) as (world, bob):
        carol = await world.person("carol")
        inside, outside = await room_of(bob, "Inside"), await room_of(bob, "Outside")
        opened_ = await bob.client.ok("POST", "/conversations", {"targetUserId": carol.id})
        direct = opened_["conversation"]["id"]
        for room in (inside, outside):
            await bob.client.ok("POST", f"/channels/{room}/members", {"userIds": [carol.id]})
        client = await holder(world, bob, placeIds=[inside])
        before = await _lists(client)
        for base in (f"/channels/{inside}", f"/channels/{outside}", f"/conversations/{direct}"):
            files = [await _upload(carol.client, base.rpartition("/")[2])]
            said = await carol.client.ok(
                "POST", f"{base}/messages", {"content": "@bob lunch?", "files": files}
            )
            message = said["message"]["id"]
            await bob.client.ok("PUT", f"/me/saved/{message}", {})
            if base.startswith("/channels"):
                thread = f"/messages/{message}/thread"
                await bob.client.ok("POST", thread, {"content": "yes"})
                await carol.client.ok("POST", thread, {"content": "now?"})
            draft = {"placeId": base.rpartition("/")[2], "content": "lunch? later"}
            new = [("If-None-Match", "*")]
            drafted = await bob.client.call("PUT", f"/me/drafts/{uuid4()}", draft, headers=new)
            assert drafted.status == 200
        after = await _lists(client)
        assert set(_rooms(before)) == {inside}
        assert set(_rooms(after)) == {inside}
        whole = await _lists(bob.client)
        assert set(_rooms(whole)) > {inside, outside, direct}
        found = ("/search/messages?q=lunch", "/search/files?q=lunch")
        for name in ("/me/activity", "/me/saved", "/me/threads", "/me/drafts", *found):
            assert set(_rooms({name: after[name]})) == {inside}, name
            assert set(_rooms({name: whole[name]})) >= {inside, outside}, name
        assert after["/me/places"]["badge"] < whole["/me/places"]["badge"]
        page = await client.ok("GET", "/me/threads?limit=1")
        assert (len(page["threads"]), page["next"]) == (1, None)
        for method, path, body in (
            ("POST", "/groups", {"userIds": [carol.id]}),
            ("POST", "/conversations", {"targetUserId": carol.id}),
            ("POST", "/private-channels", {"name": "More"}),
            ("PUT", "/users/me", {"userName": "Robert"}),
            ("PUT", "/me/activity/read", {"position": "f" * 32}),
        ):
            assert "limited" in (await client.call(method, path, body)).problem(403), path


LISTS = (
    *("/channels", "/conversations", "/me/places", "/me/activity", "/me/saved", "/me/threads", "/me/drafts"),
    *("/search/messages?q=lunch", "/search/files?q=lunch", "/search/channels?q=side"),
)


async def _upload(client: Client, place: str) -> str:
    pairs = {"placeId": place, "filename": "lunch.txt"}
    told = ",".join(f"{name} {b64encode(value.encode()).decode()}" for name, value in pairs.items())
    headers = {
        "tus-resumable": "1.0.0",
        "upload-length": "4",
        "upload-metadata": told,
        "content-type": "application/offset+octet-stream",
    }
    made = await client.call("POST", "/uploads", raw=b"menu", headers=headers.items())
    assert made.status == 201, made.body
    return str(made.headers["location"].rpartition("/")[2])


async def _lists(client: Client) -> dict[str, Any]:
    return {path: await client.ok("GET", path) for path in LISTS}


def _rooms(told: Any) -> Iterator[str]:
    """Yield the ids of places that stand in answers, under whatever name."""
    if isinstance(told, list):
        for one in told:
            yield from _rooms(one)
    elif isinstance(told, dict):
        for name, value in told.items():
            if name in {"channels", "conversations"} and isinstance(value, list):
                yield from (one["id"] for one in value)
            elif name in {"placeId", "channelId", "conversationId"} and isinstance(value, str):
                yield value
            elif name == "place":
                yield value["id"]
            else:
                yield from _rooms(value)


async def test_a_stream_of_a_token_that_is_limited_to_places_tells_of_these_alone(tmp_path: Path) -> None:
    async with opened(tmp_path) as (world, bob):
        carol = await world.person("carol")
        inside, outside = await room_of(bob, "Inside"), await room_of(bob, "Outside")
        opened_ = await bob.client.ok("POST", "/conversations", {"targetUserId": carol.id})
        direct = opened_["conversation"]["id"]
        channels = (await bob.client.ok("GET", "/channels"))["channels"]
        general = next(one["id"] for one in channels if one["name"] == "General")
        made = await make(bob, "events", placeIds=[general, direct])
        other = await make(bob, "read", placeIds=[inside])
        start = str(await world.position())
        async with (
            Listener(world.site, made["token"], "").open() as listener,
            Listener(world.site, other["token"], "").open() as elsewhere,
        ):
            for room in (inside, outside):
                await bob.client.ok("POST", f"/channels/{room}/messages", {"content": "hidden"})
            said = await carol.client.ok("POST", f"/conversations/{direct}/messages", {"content": "direct"})
            await carol.client.ok("POST", f"/messages/{said['message']['id']}/reactions", {"reaction": "👍"})
            await bob.client.ok("PUT", f"/me/saved/{said['message']['id']}", {})
            await mark(world, "the end")
            live = await listener.until("the end")
            async with Listener(world.site, made["token"], start).open() as late:
                resumed = await late.until("the end")
            for events in (live, resumed):
                assert [one["type"] for one in events] == ["CONNECTED", "NEW_DM_MESSAGE", "NEW_REACTION"]
            await bob.client.ok("POST", f"/channels/{inside}/messages", {"content": "its end"})
            told = await elsewhere.until("its end")
            assert [one["payload"].get("content") for one in told] == [None, "hidden"]


async def test_who_only_reads_can_not_say_that_somebody_sits_there(tmp_path: Path) -> None:
    async with opened(tmp_path) as (world, bob):
        made = await make(bob, "events")
        client = Client(world.site, made["token"])
        async with Listener(world.site, made["token"], "").open() as listener:
            await mark(world, "now")
            [connected] = await listener.until("now")
            target = f"/events/{connected['payload']['connectionId']}"
            assert (await client.call("PUT", target, {"watch": []})).status == 204
            (await client.call("PUT", target, {"isActive": True})).problem(403)
            (await (await holder(world, bob)).call("PUT", target, {"watch": []})).problem(404)


async def test_however_many_there_were_a_user_is_shut_out_at_once(tmp_path: Path) -> None:
    async with opened(tmp_path) as (world, bob):
        ended = now_ms() - 1000
        rows_ = [(f"{number:032x}", bob.id, f"hash {number}", "old", "read", bob.id) for number in range(300)]
        async with world.app.storage.write() as tx:
            for row in rows_:
                await tx.fetch(
                    f"""insert into tokens (id, user_id, hash, name, scopes, created_by, created_at,
                    expires_at) values ($1, $2, $3, $4, $5, $6, {ended}, {ended})""",
                    *row,
                )
        await make(bob)
        assert len(await rows(world, "select id from tokens")) == MOST_TOKENS + 1, "the oldest have gone"
        admin = (await world.person("admin")).client
        await admin.ok("POST", f"/users/{bob.id}/deactivate")
        entries = (await admin.ok("GET", f"/admin/audit?targetId={bob.id}&action=token.revoke"))["entries"]
        assert [one["details"] for one in entries] == [{"count": MOST_TOKENS + 1}]


async def test_what_somebody_gave_who_left_while_tokens_were_off_is_good_no_more(tmp_path: Path) -> None:
    async with opened(tmp_path) as (world, bob):
        before, after = await make(bob), await make(bob)
        carol = await world.person("carol")
        async with world.app.storage.write() as tx:
            await tx.fetch("update tokens set created_by = $1", carol.id)
        assert (await Client(world.site, before["token"]).call("GET", "/me")).status == 200
        async with world.app.storage.write() as tx:
            await tx.fetch("update users set deactivated_at = 1 where id = $1", carol.id)
        assert (await Client(world.site, after["token"]).call("GET", "/me")).status == 401
