"""What the server says of itself is valid, and true of what it answers."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any, Literal

import pytest
import trio
from jsonschema import Draft202012Validator
from msgspec import Struct
from openapi_spec_validator import OpenAPIV31SpecValidator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from teamchat.interfaces import NO_TRAITS
from teamchat.model import Channel
from teamchat.plugins import Plugins
from teamchat.settings import AuthSettings, ChatSettings, EmailSettings, Settings
from teamchat.web import Section, documents
from teamchat.web.documents import configuration
from tests.web.client import Answer, Client
from tests.web.conftest import World
from tests.web.test_images import png


class Described:
    """A client that holds every response to the document."""

    def __init__(self, world: World, document: dict[str, Any]) -> None:
        self.world, self.document = world, document
        self.registry = Registry().with_resource("urn:api", Resource(document, DRAFT202012))
        self.seen: set[str] = set()

    async def call(self, client: Client, method: str, template: str, body: Any = None, **names: str) -> Any:
        path = template
        for name, value in names.items():
            path = path.replace(f"{{{name}}}", value)
        answer = await client.call(method, path, body)
        operation = self.document["paths"][template.partition("?")[0]][method.lower()]
        self.seen.add(operation["operationId"])
        self.check(operation["responses"][str(answer.status)], answer)
        if answer.status == 204:
            assert not answer.body
            return None
        return answer.json() if answer.headers["content-type"] == "application/json" else answer.body

    def check(self, response: dict[str, Any], answer: Answer) -> None:
        if "$ref" in response:
            response = self.document["components"]["responses"][response["$ref"].rpartition("/")[2]]
        if answer.status == 204:
            assert "content" not in response
            return
        content = response["content"]
        kind = answer.headers["content-type"].partition(";")[0]
        assert kind in content
        if kind == "application/json":
            schema = json.loads(json.dumps(content[kind]["schema"]).replace('"#/', '"urn:api#/'))
            Draft202012Validator(schema, registry=self.registry).validate(answer.json())


async def described(world: World) -> Described:
    return Described(world, await world.nobody.ok("GET", "/openapi.json"))


@pytest.mark.slow
async def test_the_document_is_valid_openapi(world: World) -> None:
    document = await world.nobody.ok("GET", "/openapi.json")
    OpenAPIV31SpecValidator(document).validate()
    assert document["openapi"] == "3.1.0"


async def test_the_document_names_every_route(world: World) -> None:
    document = (await described(world)).document
    told = {(method.upper(), path) for path, item in document["paths"].items() for method in item}
    served = {
        (method, rule.rule.replace("<", "{").replace(">", "}"))
        for rule in world.site.quart.url_map.iter_rules()
        for method in rule.methods or ()
        if method not in {"HEAD", "OPTIONS"}
    }
    assert told == served


async def test_open_endpoints_are_the_ones_the_interface_names(world: World) -> None:
    document = (await described(world)).document
    unlocked = {
        path for path, item in document["paths"].items() for one in item.values() if not one["security"]
    }
    assert unlocked == {
        *("/health", "/ready", "/auth/refresh", "/openapi.json", "/config.js", "/config.json"),
        "/capabilities",
    }


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from [value["$ref"]] if "$ref" in value else []
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from references(one)


async def test_no_component_stands_unused(world: World) -> None:
    document = (await described(world)).document
    used = {one.rpartition("/")[2] for one in references(document)}
    assert set(document["components"]["schemas"]) <= used


async def test_every_answer_is_as_the_document_says(world: World) -> None:
    api = await described(world)
    admin, bob, eve = world.admin, world.bob, world.eve
    call = api.call
    assert (await call(world.nobody, "GET", "/health")) == b"OK"
    async with trio.open_nursery() as nursery:
        await nursery.start(world.app.hub.run)
        assert (await call(world.nobody, "GET", "/ready")) == b"OK"
        nursery.cancel_scope.cancel()
    for path in ("/openapi.json", "/config.json", "/capabilities"):
        await call(world.nobody, "GET", path)
    api.seen |= {"client_configuration_script", "events"}

    me = (await call(bob, "GET", "/auth/me"))["user"]
    assert set(me) == {"id", "userName", "email", "isAdmin"}
    assert set(await call(bob, "GET", "/me")) == {"user", "role", "may", "asOf", "hasPassword"}
    users = (await call(bob, "GET", "/users"))["users"]
    assert set(users[0]) == {*me, "createdAt"}
    assert (await call(bob, "PUT", "/users/me", {"userName": "Bobby"}))["user"]["userName"] == "Bobby"
    added = await call(admin, "POST", "/users/add", {"email": "new@example.org", "password": "12345678"})
    assert added["success"] is True
    reset = {"password": "another password"}
    done = {"success": True}
    assert await call(admin, "POST", "/users/{id}/reset-password", reset, id=added["userId"]) == done
    assert await call(admin, "DELETE", "/users/{id}", id=added["userId"]) == done
    await call(admin, "DELETE", "/users/{id}", id=added["userId"])
    await call(bob, "POST", "/users/add", {})

    channel = (await call(admin, "POST", "/channels", {"name": "Tea"}))["channel"]
    assert {"id", "name", "createdAt"} <= set(channel)
    place = {"channelId": channel["id"]}
    renamed = (await call(admin, "PUT", "/channels/{channelId}", {"name": "Coffee"}, **place))["channel"]
    assert {"id", "name", "updatedAt"} <= set(renamed)
    await call(bob, "PUT", "/channels/{channelId}", {}, **place)
    assert len((await call(bob, "GET", "/channels"))["channels"]) == 2

    messages = "/channels/{channelId}/messages"
    message = (await call(bob, "POST", messages, {"content": "hello"}, **place))["message"]
    assert (message["updatedAt"], message["reactions"]) == (None, {})
    about = {"messageId": message["id"]}
    edited = (await call(bob, "PUT", "/messages/{messageId}", {"content": "hi"}, **about))["message"]
    assert set(edited) == {"id", "content", "updatedAt"}
    react = "/messages/{messageId}/reactions"
    reacted = (await call(eve, "POST", react, {"reaction": "+1"}, **about))["message"]
    assert set(reacted) == {"id", "reactions"}
    assert list(reacted["reactions"]) == ["+1"]
    assert (await call(eve, "DELETE", react, {"reaction": "+1"}, **about))["message"]["reactions"] == {}
    await call(bob, "POST", messages, {}, **place)

    thread = "/messages/{messageId}/thread"
    replied = await call(eve, "POST", thread, {"content": "re"}, **about)
    assert replied["threadMeta"]["replyCount"] == 1
    assert replied["reply"]["threadId"] == message["id"]
    reply = about | {"replyId": replied["reply"]["id"]}
    assert (await call(bob, "GET", thread, **about))["replies"] == [replied["reply"]]
    assert (await call(bob, "GET", messages, **place))["messages"][0]["threadMeta"]["replyCount"] == 1
    assert (await call(bob, "GET", "/messages/{messageId}", **about))["place"]["id"] == place["channelId"]
    await call(eve, "PUT", thread + "/{replyId}", {"content": "re: re"}, **reply)
    assert await call(eve, "DELETE", thread + "/{replyId}", **reply) == done

    picture = {"filename": "a.png", "image": base64.b64encode(png()).decode()}
    name = (await call(bob, "POST", messages + "/image", picture, **place))["filename"]
    assert await call(eve, "GET", messages + "/image/{filename}", filename=name, **place) == png()
    await call(bob, "POST", messages, {"content": "", "images": [name]}, **place)
    await call(bob, "POST", thread + "/image", picture, **about)
    assert await call(admin, "DELETE", "/messages/{messageId}", **about) == done

    opened = await call(bob, "POST", "/conversations", {"targetUserId": users[0]["id"]})
    assert set(opened) == {"conversation", "isNew"}
    talk = {"conversationId": opened["conversation"]["id"]}
    assert (await call(bob, "GET", "/conversations"))["conversations"][0]["lastMessageAt"] is None
    direct = "/conversations/{conversationId}/messages"
    sent = (await call(bob, "POST", direct, {"content": "psst"}, **talk))["message"]
    assert sent["channelId"] == talk["conversationId"]
    own = talk | {"messageId": sent["id"]}
    assert len((await call(bob, "GET", direct, **talk))["messages"]) == 1
    await call(bob, "PUT", direct + "/{messageId}", {"content": "ssst"}, **own)
    assert await call(bob, "DELETE", direct + "/{messageId}", **own) == done
    name = (await call(bob, "POST", direct + "/image", picture, **talk))["filename"]
    assert await call(bob, "GET", direct + "/image/{filename}", filename=name, **talk) == png()
    await call(eve, "GET", direct + "/image/{filename}", filename=name, **talk)

    shown = {"watch": [place["channelId"]], "presenceOf": [users[0]["id"]], "isActive": True}
    stream = {"connectionId": await world.stream(bob)}
    assert await call(bob, "PUT", "/events/{connectionId}", shown, **stream) is None

    assert await call(bob, "GET", "/server/settings") == {"name": "teamchat"}
    assert await call(admin, "PUT", "/server/settings", {"name": "Tearoom"}) == {"name": "Tearoom"}

    made = (await call(admin, "POST", "/webhooks", {"name": "Bot", **place}))["webhook"]
    assert len(made["token"]) == 64
    bot = Client(world.site, made["token"])
    posted = await call(
        bot, "POST", "/webhooks/{webhookId}/messages", {"content": "beep"}, webhookId=made["id"]
    )
    assert posted["message"]["author"] == {"id": f"webhook:{made['id']}", "userName": "Bot", "isBot": True}
    assert "token" not in (await call(admin, "GET", "/webhooks"))["webhooks"][0]
    assert await call(admin, "DELETE", "/webhooks/{webhookId}", webhookId=made["id"]) == done
    assert await call(admin, "DELETE", "/channels/{channelId}", **place) == done
    await ask_about_members(world, call)
    await ask_about_groups(world, call)

    _, signed_in = await world.app.accounts.sign_in("bob@example.org", "192.0.2.1", "tests")
    pair = await call(world.nobody, "POST", "/auth/refresh", {"refreshToken": signed_in.refresh_token})
    assert set(pair) == {"accessToken", "refreshToken"}
    assert await call(bob, "POST", "/auth/logout", {"refreshToken": pair["refreshToken"]}) == done
    assert len((await call(bob, "GET", "/auth/sessions"))["sessions"]) == 1
    assert await call(eve, "DELETE", "/auth/sessions", {}) == {"success": True, "revoked": 1}
    assert (await call(bob, "POST", "/users/exit"))["success"] is True
    await call(bob, "GET", "/auth/me")

    declared = {one["operationId"] for item in api.document["paths"].values() for one in item.values()}
    assert api.seen == declared


async def ask_about_members(world: World, call: Any) -> None:
    """Ask what there is to ask about who is in a channel."""
    admin, bob, eve = world.admin, world.bob, world.eve
    ids = [(await call(who, "GET", "/me"))["user"]["id"] for who in (admin, bob, eve)]
    secret = {"name": "Secret", "topic": "tea", "members": ids[:1], "historyFor": "joiners"}
    made = (await call(bob, "POST", "/private-channels", secret))["channel"]
    assert {one["userId"] for one in made["members"]} == {ids[0], ids[1]}
    place = {"channelId": made["id"]}
    base = "/channels/{channelId}"
    assert (await call(bob, "GET", base, **place))["channel"]["role"] == "manager"
    await call(eve, "GET", base, **place)
    added = await call(bob, "POST", base + "/members", {"userIds": ids}, **place)
    assert added == {"added": ids[2:], "alreadyMembers": ids[:2]}
    assert (await call(bob, "GET", base + "/members", **place))["count"] == 3
    changed = await call(bob, "PUT", base + "/members/{userId}", {"role": "manager"}, userId=ids[0], **place)
    assert changed["member"]["role"] == "manager"
    assert (await call(eve, "POST", base + "/leave", **place)) == {"success": True}
    assert (await call(bob, "DELETE", base + "/members/{userId}", userId=ids[2], **place))["success"]
    opened = await call(admin, "PUT", base + "/privacy", {"isPrivate": False, "history": "hide"}, **place)
    assert opened["channel"]["isPrivate"] is False
    assert (await call(eve, "POST", base + "/join", **place))["channel"]["isMember"]
    assert (await call(bob, "POST", base + "/archive", **place))["channel"]["isArchived"]
    assert not (await call(bob, "POST", base + "/unarchive", **place))["channel"]["isArchived"]
    await call(eve, "POST", base + "/archive", **place)
    role = await call(admin, "PUT", "/users/{id}/role", {"role": "user"}, id=ids[2])
    assert role["user"]["isAdmin"] is False
    added = (await call(admin, "POST", "/users/add", {"email": "zoe@example.org"}))["userId"]
    for how in ("deactivate", "activate"):
        assert await call(admin, "POST", f"/users/{{id}}/{how}", id=added) == {"success": True}
    entries = (await call(admin, "GET", "/admin/audit?action=user.activate"))["entries"]
    assert [one["targetId"] for one in entries] == [added]
    listed = (await call(admin, "GET", "/admin/channels"))["channels"]
    assert made["id"] in {one["id"] for one in listed}
    await call(bob, "GET", "/admin/channels")
    admins = "/admin/channels/{channelId}"
    entered = await call(admin, "POST", admins + "/enter", {"reason": "to see"}, **place)
    assert entered["channel"]["role"] == "manager"
    assert await call(admin, "DELETE", admins, **place) == {"success": True}


async def ask_about_groups(world: World, call: Any) -> None:
    """Ask what there is to ask about groups and notes."""
    admin, bob, eve = world.admin, world.bob, world.eve
    ids = [(await call(who, "GET", "/me"))["user"]["id"] for who in (admin, bob, eve)]
    made = await call(bob, "POST", "/groups", {"userIds": [ids[0], ids[2]]})
    assert (made["isNew"], made["channel"]["kind"]) == (True, "group")
    assert not (await call(eve, "POST", "/groups", {"userIds": ids}))["isNew"]
    await call(bob, "POST", "/groups", {"userIds": []})
    place = {"channelId": made["channel"]["id"]}
    added = await call(eve, "POST", "/groups/{channelId}/members", {"userIds": ids}, **place)
    assert added["channel"]["memberCount"] == 3
    converted = await call(eve, "POST", "/groups/{channelId}/convert", {"name": "Ours"}, **place)
    assert (converted["channel"]["name"], "kind" in converted["channel"]) == ("Ours", False)
    await call(eve, "POST", "/groups/{channelId}/members", {"userIds": ids}, **place)
    notes = await call(bob, "PUT", "/me/notes")
    assert (notes["isNew"], notes["channel"]["kind"]) == (True, "notes")
    assert not (await call(bob, "PUT", "/me/notes"))["isNew"]


async def test_d12_logout_needs_a_refresh_token(world: World) -> None:
    for body in ({}, None):
        assert "refreshToken" in (await world.bob.call("POST", "/auth/logout", body)).problem(400)
    assert await world.bob.ok("POST", "/auth/logout", {"refreshToken": "unknown"}) == {"success": True}


async def test_d13_one_session_may_be_named(world: World) -> None:
    (await world.bob.call("DELETE", "/auth/sessions", {"sessionId": "unknown"})).problem(404)
    [session] = (await world.bob.ok("GET", "/auth/sessions"))["sessions"]
    assert session["isCurrentSession"] is True
    answer = await world.bob.ok("DELETE", "/auth/sessions", {"sessionId": session["id"]})
    assert answer == {"success": True, "revoked": 1}


@pytest.mark.parametrize(("body", "query"), [({"reaction": "a b"}, ""), (None, "?reaction=a%20b")])
async def test_d27_a_reaction_to_remove_stands_in_the_body_or_the_query(
    world: World, body: object, query: str
) -> None:
    message = await world.message(world.bob)
    path = f"/messages/{message['id']}/reactions"
    await world.bob.ok("POST", path, {"reaction": "a b"})
    assert (await world.bob.ok("DELETE", path + query, body))["message"] == {
        "id": message["id"],
        "reactions": {},
    }
    (await world.bob.call("DELETE", path)).problem(400)


async def test_d32_a_webhooks_token_opens_its_own_webhook_alone(world: World) -> None:
    body = {"name": "Bot", "channelId": await world.channel()}
    one = (await world.admin.ok("POST", "/webhooks", body))["webhook"]
    two = (await world.admin.ok("POST", "/webhooks", body))["webhook"]
    bot = Client(world.site, one["token"])
    hello = {"content": "hello"}
    (await bot.call("POST", f"/webhooks/{two['id']}/messages", hello)).problem(403)
    (await bot.call("POST", "/webhooks/unknown/messages", hello)).problem(404)
    (await bot.call("POST", f"/webhooks/{one['id']}/messages", {})).problem(400)
    (await bot.call("GET", "/auth/me")).problem(401)
    for other in (world.nobody, world.bob, Client(world.site, "é")):
        answer = await other.call("POST", f"/webhooks/{one['id']}/messages", pieces=[b"{", b"}"])
        answer.problem(401)
        assert answer.pulled == 0


async def test_d38_the_configuration_is_the_servers_own_as_script_and_as_json(world: World) -> None:
    config = await world.nobody.ok("GET", "/config.json")
    assert config == {
        "AUTH_MODE": "password",
        "HAS_EMAIL": False,
        "ENABLE_OAUTH": False,
        "IS_INVITE_REQUIRED": False,
        "MUST_CHANGE_SET_PASSWORDS": False,
        "auth": {
            "mode": "password",
            "hasEmail": False,
            "isInviteRequired": False,
            "oauthEnabled": False,
            "passwordResetEnabled": False,
            "registrationEnabled": True,
        },
        "MAX_MESSAGE_LENGTH": 16_000,
        "API_BASE_URL": "",
    }
    script = await world.nobody.call("GET", "/config.js")
    assert script.headers["content-type"].startswith("text/javascript")
    document = await world.nobody.ok("GET", "/openapi.json")
    assert [*document["paths"]["/config.js"]["get"]["responses"]["200"]["content"]] == ["text/javascript"]
    text = script.body.decode()
    assert text.startswith("window.TEAMCHAT_CONFIG = ")
    assert json.loads(text.removeprefix("window.TEAMCHAT_CONFIG = ").rstrip(";\n")) == config


def test_d38_email_and_the_mode_are_told() -> None:
    mail = EmailSettings(user="a@example.org", host="smtp.example.org")
    told = configuration(Settings(auth=AuthSettings(auth_mode="magic-link"), email=mail), NO_TRAITS)
    assert (told.AUTH_MODE, told.HAS_EMAIL) == ("magic-link", True)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["password", "magic-link", "dev"])
@pytest.mark.parametrize("required", [True, False])
@pytest.mark.parametrize("has_email", [True, False])
def test_d42_resets_and_registering_are_told_where_there_are_passwords(
    mode: Literal["password", "magic-link", "dev"], required: bool, has_email: bool
) -> None:
    mail = EmailSettings(user="a@example.org", host="smtp.example.org") if has_email else None
    auth = AuthSettings(auth_mode=mode, is_invite_required=required)
    told = configuration(Settings(auth=auth, email=mail), Plugins.load().sign_in_traits(mode)).auth
    assert (told.mode, told.has_email, told.is_invite_required) == (mode, has_email, required)
    assert told.password_reset_enabled is (mode == "password" and has_email)
    assert told.registration_enabled is (mode == "password" and not required)


def test_d38_whether_people_may_sign_up_is_told() -> None:
    for required in (True, False):
        told = configuration(Settings(auth=AuthSettings(is_invite_required=required)), NO_TRAITS)
        assert told.IS_INVITE_REQUIRED is required


def test_d43_whether_a_password_that_an_admin_sets_must_be_changed_is_told() -> None:
    for must in (True, False):
        told = configuration(Settings(auth=AuthSettings(must_change_set_passwords=must)), NO_TRAITS)
        assert told.MUST_CHANGE_SET_PASSWORDS is must


def test_the_most_characters_of_a_message_are_told() -> None:
    assert configuration(Settings(), NO_TRAITS).MAX_MESSAGE_LENGTH == 16_000
    assert configuration(Settings(chat=ChatSettings(max_message_length=7)), NO_TRAITS).MAX_MESSAGE_LENGTH == 7


class MessageList(Struct):
    """What a plugin calls as teamchat calls something of its own."""

    mine: int
    of: Channel


def named_as_the_cores() -> Section:
    section = Section("lunch")

    @section.endpoint("GET", "/lunch", answer=MessageList)
    async def list_channels() -> MessageList:
        """List what there is for lunch."""
        raise NotImplementedError

    @section.endpoint("GET", "/lunch/events", answer=MessageList)
    async def events() -> MessageList:
        """List what happened at lunch."""
        raise NotImplementedError

    return section


@pytest.mark.slow
async def test_names_of_a_plugin_that_the_core_has_too_leave_the_cores_as_they_are(world: World) -> None:
    before = await Client(world.rebuilt(*documents.routes(world.app))).ok("GET", "/openapi.json")
    site = world.rebuilt(*documents.routes(world.app), named_as_the_cores())
    after = await Client(site).ok("GET", "/openapi.json")
    OpenAPIV31SpecValidator(after).validate()
    assert before["components"]["schemas"].items() <= after["components"]["schemas"].items()
    assert before["paths"].items() <= after["paths"].items()
    ids = [one["operationId"] for item in after["paths"].values() for one in item.values()]
    assert sorted(ids) == sorted(set(ids))
    operation = after["paths"]["/lunch"]["get"]
    schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
    assert schema == {"$ref": "#/components/schemas/lunch.MessageList"}
    assert set(after["components"]["schemas"]) - set(before["components"]["schemas"]) == {"lunch.MessageList"}
    assert after["paths"]["/lunch/events"]["get"]["operationId"] == "lunch_events"


def with_statuses_of_its_own() -> Section:
    section = Section("lunch")

    @section.endpoint("GET", "/lunch/menu", answer=bytes, statuses=(206, 418))
    async def menu() -> bytes:
        """Read the menu."""
        raise NotImplementedError

    return section


async def test_statuses_beside_the_usual_ones_are_named(world: World) -> None:
    site = world.rebuilt(*documents.routes(world.app), with_statuses_of_its_own())
    document = await Client(site).ok("GET", "/openapi.json")
    OpenAPIV31SpecValidator(document).validate()
    answers = document["paths"]["/lunch/menu"]["get"]["responses"]
    assert answers["206"] == {"description": "Partial Content."}
    assert answers["418"] == {"description": "I'm a Teapot."}
    assert answers["200"]["content"] == {"*/*": {}}
    assert "304" in document["paths"]["/capabilities"]["get"]["responses"]
