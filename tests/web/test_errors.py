"""Errors have one shape and one order, and tell nothing of the inside."""

from __future__ import annotations

import io
import logging
from typing import Any

import pytest
import trio
from quart import Blueprint, request

from teamchat.errors import BadRequest, StorageError, TooManyRequests
from teamchat.plugins import Plugins
from teamchat.web import Section, problems
from teamchat.web.app import create_app
from tests.web.client import Client
from tests.web.conftest import World
from tests.web.test_route_conflicts import bringing

SECRET = "the secret text"


def failing() -> Section:
    section = Section("failing")

    @section.endpoint("GET", "/fails", answer=str, open=True)
    async def fails() -> str:
        raise ValueError(SECRET) from RuntimeError(SECRET)

    @section.endpoint("GET", "/limited", answer=str, open=True)
    async def limited() -> str:
        raise TooManyRequests(7)

    @section.endpoint("GET", "/grouped", answer=str, open=True)
    async def grouped() -> str:
        async with trio.open_nursery():
            raise BadRequest("Wrapped by a nursery.")

    return section


def plain() -> Blueprint:
    blueprint = Blueprint("plain", __name__)

    @blueprint.post("/plain/<int:number>")
    async def view(number: int) -> str:
        return f"{number} {(await request.get_data()).decode()}"

    @blueprint.get("/slash/")
    async def slash() -> str:
        return "there"

    return blueprint


@pytest.mark.parametrize("path", ["/nowhere", "/", "/channels/", "/users//me", "/channels/x/y/z", "/a%00b"])
async def test_d01_an_unknown_route_is_404(world: World, path: str) -> None:
    (await world.nobody.call("GET", path)).problem(404)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PATCH", "/channels"),
        ("DELETE", "/health"),
        ("TRACE", "/channels"),
        ("POST", "/events"),
        ("X", "/users"),
    ],
)
async def test_d01_a_wrong_method_is_405_and_names_the_right_ones(
    world: World, method: str, path: str
) -> None:
    answer = await world.nobody.call(method, path)
    answer.problem(405)
    assert "GET" in answer.headers["allow"]


async def test_d01_an_unexpected_failure_is_500_and_reveals_nothing(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    logger = logging.getLogger("teamchat")
    heard = io.StringIO()
    handler = logging.StreamHandler(heard)
    logger.addHandler(handler)
    try:
        answer = await Client(world.rebuilt(failing())).call("GET", "/fails")
    finally:
        logger.removeHandler(handler)
    answer.problem(500)
    logged = heard.getvalue() + caplog.text
    assert SECRET not in answer.body.decode() + logged
    assert "ValueError at" in logged
    assert "RuntimeError" in logged


def test_the_outline_of_an_error_holds_types_and_frames_alone() -> None:
    try:
        raise ExceptionGroup(SECRET, [ValueError(SECRET)])
    except ExceptionGroup as error:
        outline = problems.outline(error)
    assert SECRET not in outline
    assert "test_errors.py" in outline
    assert "ValueError" in outline


def test_the_outline_of_a_storages_error_holds_its_code() -> None:
    refused = StorageError("PostgreSQL refused a statement: UndefinedTable (42P01).")
    try:
        raise ValueError(SECRET) from refused
    except ValueError as error:
        outline = problems.outline(error)
    assert "StorageError (PostgreSQL refused a statement: UndefinedTable (42P01).) at " in outline
    assert SECRET not in outline


async def test_d06_a_limit_tells_when_to_try_again(world: World) -> None:
    answer = await Client(world.rebuilt(failing())).call("GET", "/limited")
    answer.problem(429)
    assert answer.headers["retry-after"] == "7"


async def test_a_problem_wrapped_by_a_nursery_is_told_as_itself(world: World) -> None:
    answer = await Client(world.rebuilt(failing())).call("GET", "/grouped")
    assert answer.problem(400) == "Wrapped by a nursery."


async def test_a_plugins_plain_views_work_and_fail_in_the_one_shape(world: World) -> None:
    client = Client(world.rebuilt(plain()))
    assert (await client.call("POST", "/plain/5", raw=b"body")).body == b"5 body"
    (await client.call("POST", "/plain/five")).problem(404)
    (await client.call("POST", "/plain/5", raw=b"x" * 300_000)).problem(413)
    redirect = await client.call("GET", "/slash")
    redirect.problem(308)
    assert redirect.headers["location"].endswith("/slash/")


@pytest.mark.parametrize("host", ["", "a b", "[", "é.example", "x" * 5_000, "evil.example"])
async def test_no_host_breaks_a_request(world: World, host: str) -> None:
    answer = await world.nobody.call("GET", "/health", headers=[("host", host)])
    assert answer.status in {200, 400, 404}
    assert b"<" not in answer.body


@pytest.mark.parametrize(
    "value", ["", "Bearer", "Bearer ", "Basic abc", "Bearer a b", "Bearer é", "bearer x.y.z"]
)
async def test_a_bad_token_is_401(world: World, value: str) -> None:
    answer = await world.nobody.call("GET", "/auth/me", headers=[("authorization", value)])
    answer.problem(401)
    assert answer.headers["www-authenticate"] == "Bearer"


async def test_two_tokens_are_none(world: World) -> None:
    headers = [("authorization", f"Bearer {world.eve.token}")]
    (await world.bob.call("GET", "/auth/me", headers=headers)).problem(401)


async def test_d03_authentication_comes_before_existence_and_the_body(world: World) -> None:
    (await world.nobody.call("PUT", "/channels/unknown", raw=b"[")).problem(401)
    (await world.nobody.call("POST", "/webhooks/unknown/messages", raw=b"[")).problem(401)
    webhook = Client(world.site, "not a token")
    (await webhook.call("POST", "/webhooks/unknown/messages", raw=b"[")).problem(401)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PUT", "/channels/unknown"),
        ("POST", "/channels/unknown/messages"),
        ("GET", "/channels/unknown/messages?limit=0"),
        ("POST", "/channels/unknown/messages/image"),
        ("PUT", "/messages/unknown"),
        ("POST", "/messages/unknown/reactions"),
        ("DELETE", "/messages/unknown/reactions"),
        ("GET", "/messages/unknown/thread?limit=0"),
        ("POST", "/messages/unknown/thread"),
        ("PUT", "/messages/unknown/thread/unknown"),
        ("GET", "/conversations/dm:unknown/messages?limit=0"),
        ("POST", "/conversations/dm:unknown/messages"),
    ],
)
async def test_d03_existence_comes_before_the_body_and_parameters(
    world: World, method: str, path: str
) -> None:
    (await world.bob.call(method, path, raw=b"[")).problem(404)


async def test_d03_existence_and_permission_come_before_what_a_body_asks_for(world: World) -> None:
    wrong: list[tuple[str, str, Any]] = [
        ("POST", "/channels/unknown/members", {"userIds": []}),
        ("POST", "/groups/unknown/members", {"userIds": []}),
        ("POST", "/groups/unknown/convert", {"name": ""}),
    ]
    for method, path, body in wrong:
        (await world.bob.call(method, path, body)).problem(404)
    for path in ("/admin/channels?limit=0", "/admin/audit?limit=0"):
        (await world.bob.call("GET", path)).problem(403)
        (await world.admin.call("GET", path)).problem(400)


async def test_d03_members_and_channels_of_admins_are_looked_for_before_the_body(world: World) -> None:
    channel = await world.channel()
    people = [(await one.ok("GET", "/auth/me"))["user"]["id"] for one in (world.bob, world.eve)]
    group = (await world.admin.ok("POST", "/groups", {"userIds": people}))["channel"]["id"]
    member, entry = f"/channels/{channel}/members/", "/admin/channels/{}/enter"
    for body in ({}, {"role": "owner", "reason": 1}):
        (await world.admin.call("PUT", member + "unknown", body)).problem(404)
        (await world.bob.call("PUT", member + "unknown", body)).problem(403)
        (await world.admin.call("PUT", member + people[0], body)).problem(400)
        (await world.admin.call("POST", entry.format("unknown"), body)).problem(404)
        (await world.admin.call("POST", entry.format(group), body)).problem(403)
        (await world.bob.call("POST", entry.format("unknown"), body)).problem(403)
        (await world.admin.call("POST", entry.format(channel), body)).problem(400)


async def test_x13_a_channel_is_made_once_under_a_key(world: World) -> None:
    for number, is_private in enumerate((True, False)):
        body = {"name": f"once {number}", "isPrivate": is_private}
        key = [("Idempotency-Key", f"a key {number}")]
        first, again = [await world.admin.call("POST", "/channels", body, headers=key) for _ in range(2)]
        assert (again.status, again.json()) == (first.status, first.json())
        (await world.admin.call("POST", "/channels", body | {"topic": "other"}, headers=key)).problem(400)


async def test_d03_permission_comes_before_the_body(world: World) -> None:
    message = await world.message(world.admin)
    bob = (await world.bob.ok("GET", "/auth/me"))["user"]["id"]
    opened = await world.admin.ok("POST", "/conversations", {"targetUserId": bob})
    forbidden = [
        ("POST", "/channels"),
        ("PUT", f"/channels/{await world.channel()}"),
        ("PUT", f"/messages/{message['id']}"),
        ("POST", "/users/add"),
        ("POST", f"/users/{bob}/reset-password"),
        ("PUT", "/server/settings"),
        ("POST", "/webhooks"),
        ("POST", f"/conversations/{opened['conversation']['id']}/messages"),
        ("GET", f"/conversations/{opened['conversation']['id']}/messages?before="),
    ]
    for method, path in forbidden:
        (await world.eve.call(method, path, raw=b"[")).problem(403)


@pytest.mark.parametrize("name", ["%00", "a%0ab", "..%2f..", "%c0%ae", "x" * 8_000, "dm:x", "%e2%80%ae"])
async def test_odd_names_in_a_path_are_404(world: World, name: str) -> None:
    for method, path in [
        ("GET", f"/channels/{name}/messages"),
        ("DELETE", f"/messages/{name}"),
        ("GET", f"/conversations/{name}/messages"),
        ("DELETE", f"/webhooks/{name}"),
        ("GET", f"/channels/{await world.channel()}/messages/image/{name}"),
    ]:
        (await world.admin.call(method, path)).problem(404)


WRONG_PAGES = [
    "limit=0",
    "limit=-1",
    "limit=abc",
    "limit=",
    "limit=1_0",
    "limit=٥",
    "limit=%D9%A5",
    "limit=+5",
    "limit=%205",
    "limit=5.0",
    "limit=00",
    "limit=5&limit=5",
    "limit=%FF",
    "before=",
    "before=nonsense",
    "before=%00",
    "before=a&before=b",
]


@pytest.mark.slow
@pytest.mark.parametrize("query", WRONG_PAGES)
async def test_d08_a_wrong_page_is_400(world: World, query: str) -> None:
    message = await world.message(world.bob)
    query = query.encode().decode("latin1")
    for path in (f"/channels/{message['channelId']}/messages", f"/messages/{message['id']}/thread"):
        (await world.bob.call("GET", f"{path}?{query}")).problem(400)


async def test_d04_a_parameter_with_a_nul_is_400(world: World) -> None:
    for name in ("actorId", "action", "targetId"):
        assert name in (await world.admin.call("GET", f"/admin/audit?{name}=a%00")).problem(400)
        (await world.bob.call("GET", f"/admin/audit?{name}=%00")).problem(403)
    await world.admin.ok("GET", "/admin/audit?another=%00")


async def test_d08_a_larger_limit_means_200_and_none_50(world: World) -> None:
    for _ in range(60):
        message = await world.message(world.bob)
    queries = {"": 50, "?limit=1": 1, "?limit=007&x=1&x=2": 7, "?limit=201": 60, "?limit=" + "9" * 5_000: 60}
    for query, count in queries.items():
        answer = await world.bob.ok("GET", f"/channels/{message['channelId']}/messages{query}")
        assert len(answer["messages"]) == count
        assert answer["messages"][-1]["id"] == message["id"]


@pytest.mark.slow
@pytest.mark.parametrize("key", ["", "x" * 256, "é", "a\tb"])
async def test_d07b_an_unusable_idempotency_key_is_400(world: World, key: str) -> None:
    path = f"/channels/{await world.channel()}/messages"
    (await world.bob.call("POST", path, {"content": "a"}, headers=[("idempotency-key", key)])).problem(400)


async def test_d07b_the_same_key_answers_the_same_message(world: World) -> None:
    path = f"/channels/{await world.channel()}/messages"
    headers = [("idempotency-key", "a key")]
    first = await world.bob.ok("POST", path, {"content": "a"}, headers=headers)
    assert await world.bob.ok("POST", path, {"content": "a"}, headers=headers) == first
    (await world.bob.call("POST", path, {"content": "b"}, headers=headers)).problem(400)
    assert len((await world.bob.ok("GET", path))["messages"]) == 1


def test_a_handler_that_names_what_nobody_gives_is_refused_at_declaration() -> None:
    section = Section("wrong")

    async def handler(colour: str) -> str:
        return colour

    with pytest.raises(TypeError, match="colour"):
        section.endpoint("GET", "/wrong", answer=str)(handler)


def test_a_path_may_name_its_parameters_in_both_ways() -> None:
    section = Section("both")

    @section.endpoint("GET", "/menus/:menuId/<int:week>", answer=str)
    async def menu(menu_id: str, week: int) -> str:
        return f"{menu_id} {week}"

    [declared] = section.endpoints
    assert (declared.rule, declared.path_parameters) == ("/menus/<menuId>/<int:week>", ["menuId", "week"])


class Odd:
    """What JSON has no form for."""

    def __repr__(self) -> str:
        return SECRET


@pytest.mark.parametrize(
    ("returned", "why"),
    [
        *((one, "can't be encoded") for one in (Odd(), {Odd(): 1}, [1, {"a": Odd()}], f"{SECRET}\ud800")),
        *((one, "is no answer") for one in (None, ({"lunch": "soup"}, 201))),
    ],
)
async def test_an_endpoint_that_returns_what_can_not_be_sent_is_named_with_its_plugin(
    world: World, caplog: pytest.LogCaptureFixture, returned: Any, why: str
) -> None:
    section = Section("odd")

    @section.endpoint("GET", "/odd/<this>", answer=Any, open=True)
    async def odd(this: str) -> Any:
        return returned

    plugins = Plugins.load([], [bringing("strange", section)])
    site = create_app(world.app, plugins.routes(world.app), plugins)
    answer = await Client(site).call("GET", "/odd/x")
    answer.problem(500)
    [record] = [one for one in caplog.records if "unexpected failure" in one.getMessage()]
    kind = type(returned).__name__
    assert f"Unencodable (the {kind} that the endpoint returned {why})" in record.getMessage()
    fields = record.__dict__["teamchat_fields"]
    assert fields == {"endpoint": "GET /odd/<this>", "plugin": "strange (teamchat-strange 1.2.3)"}
    assert SECRET not in caplog.text + answer.body.decode()


async def test_a_failure_of_a_plugins_plain_view_is_named_and_one_of_teamchat_has_no_plugin(
    world: World, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    blueprint = Blueprint("views", __name__)

    @blueprint.post("/view")
    async def view() -> str:
        raise ValueError(SECRET)

    async def fail(*_: Any) -> None:
        raise ValueError(SECRET)

    monkeypatch.setattr(world.app.chat.channels, "list", fail)
    plugins = Plugins.load([], [bringing("viewer", blueprint)])
    site = create_app(world.app, plugins.routes(world.app), plugins)
    (await Client(site).call("POST", "/view")).problem(500)
    (await Client(site, world.admin.token).call("GET", "/channels")).problem(500)
    records = [one for one in caplog.records if "unexpected failure" in one.getMessage()]
    assert [record.__dict__["teamchat_fields"] for record in records] == [
        {"endpoint": "POST /view", "plugin": "viewer (teamchat-viewer 1.2.3)"},
        {"endpoint": "GET /channels"},
    ]
