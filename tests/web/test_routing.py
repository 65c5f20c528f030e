"""One table of all that can be asked for: endpoints, the stream, plugins' plain views, and nothing."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from msgspec import Struct
from quart import Blueprint, Response
from werkzeug.exceptions import HTTPException, MethodNotAllowed

from teamchat.errors import DeclarationError
from teamchat.web import Section
from teamchat.web.routing import Nothing, OtherMethods
from tests.web.client import Client
from tests.web.conftest import World

SEGMENTS = ["", "users", "me", "channels", "messages", "image", "thread", "x"]
METHODS = ["GET", "HEAD", "POST", "DELETE"]


async def test_the_table_finds_what_quart_would_find(world: World) -> None:
    routes = world.site.quart.url_map.bind("")
    for length in range(5):
        for segments in product(SEGMENTS, repeat=length):
            path = "/" + "/".join(segments)
            if path.startswith("//"):
                continue  # Werkzeug takes several slashes for one.
            for method in METHODS:
                target, values = world.site.table.find(method, path)
                try:
                    rule, arguments = routes.match(path, method, return_rule=True)
                except MethodNotAllowed as error:
                    expected: Any = set(error.valid_methods or ())
                except HTTPException:
                    expected = Nothing
                else:
                    expected = rule.rule, arguments
                match target:
                    case OtherMethods():
                        assert set(target.allowed) == expected
                    case Nothing():
                        assert expected is Nothing
                    case _:
                        assert (target.rule, values) == expected


async def test_whatever_knows_quart_sees_every_endpoint_in_its_section(world: World) -> None:
    seen = {(rule.endpoint.partition(".")[0], rule.rule) for rule in world.site.quart.url_map.iter_rules()}
    assert {(endpoint.section, endpoint.rule) for endpoint in world.site.endpoints} < seen
    assert ("events", "/events") in seen
    assert {endpoint.section for endpoint in world.site.endpoints} < set(world.site.quart.blueprints)


@pytest.mark.parametrize("path", ["", "x", "/channels/", "/channels//messages", "/users/me/", "/nothing"])
async def test_at_odd_paths_there_is_nothing(world: World, path: str) -> None:
    target, _ = world.site.table.find("GET", path)
    assert isinstance(target, Nothing | OtherMethods)
    assert isinstance(target, Nothing) or path == "/users/me"


@pytest.mark.slow
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "OPTIONS", "PROPFIND"])
@pytest.mark.parametrize(
    "target",
    [
        "//users", "///users", "//", "//events", "//users?limit=1", "/%2fusers", "/%2Fusers", "%2f%2fusers",
        "/users/", "/users//", "/users%2f", "/./users", "/x/../users", "/%2e/users", "/users%00",
        "/Users", "/users;a=b", "//openapi.json", "//text", "/text/",
    ],
)  # fmt: skip
async def test_an_address_has_one_spelling(world: World, target: str, method: str) -> None:
    site = world.rebuilt(plain("/text"))
    answer = await Client(site, world.admin.token).call(method, target)
    assert answer.status == 404, answer.body


def plain(rule: str, name: str = "plain", **options: Any) -> Blueprint:
    """Return a blueprint of Quart's with one view."""
    blueprint = Blueprint(name, __name__)

    async def view(**_: Any) -> Response:
        return Response("plain")

    blueprint.add_url_rule(rule, "view", view, **options)
    return blueprint


@pytest.mark.parametrize("path", ["/users", "/events", "/text", "/menus/today"])
async def test_options_names_the_methods_of_an_address_and_head_works_wherever_get_does(
    world: World, path: str
) -> None:
    section = Section("menus")

    @section.endpoint("PUT", "/menus/:day", answer=str, open=True)
    async def change(day: str) -> str:
        return day

    site = world.rebuilt(section, plain("/menus/today", "special"), plain("/text"))
    client = Client(site, world.bob.token)
    answer = await client.call("OPTIONS", path)
    expected = "GET, HEAD, OPTIONS, PUT" if path.startswith("/menus") else "GET, HEAD, OPTIONS"
    assert (answer.status, answer.body, answer.headers["allow"]) == (204, b"", expected)
    assert not {"content-type", "content-length"} & set(answer.headers)
    wrong = await client.call("DELETE", path)
    wrong.problem(405)
    assert wrong.headers["allow"] == expected
    head = await client.call("HEAD", path)
    assert (head.status, head.body) == (200, b"")
    if path != "/events":
        got = await client.call("GET", path)
        assert sorted(head.raw_headers) == sorted(got.raw_headers)


async def test_a_plain_view_may_answer_options_itself(world: World) -> None:
    site = world.rebuilt(plain("/text", methods=["OPTIONS"], provide_automatic_options=False))
    assert (await Client(site).call("OPTIONS", "/text")).body == b"plain"


@pytest.mark.parametrize("path", ["/users", "/events", "/text", "/nowhere"])
async def test_d06_a_preflight_is_answered_alike_at_every_address(world: World, path: str) -> None:
    site = world.rebuilt(plain("/text", methods=["OPTIONS"], provide_automatic_options=False))
    headers = [("origin", "https://chat.example.org"), ("access-control-request-method", "PUT")]
    answer = await Client(site).call("OPTIONS", path, headers=headers)
    assert (answer.status, answer.body) == (204, b"")
    assert answer.headers["access-control-allow-origin"] == "https://chat.example.org"
    assert "PUT" in answer.headers["access-control-allow-methods"]


@pytest.mark.parametrize("rule", ["/spaced/", "/loose"])
async def test_quart_says_what_a_slash_at_the_end_of_a_plain_rule_means(world: World, rule: str) -> None:
    site = world.rebuilt(plain(rule, strict_slashes=rule != "/loose"))
    answer = await Client(site).call("GET", "/spaced" if rule == "/spaced/" else "/loose/")
    redirect = (308, "http://127.0.0.1:3000/spaced/")
    assert (answer.status, answer.headers.get("location")) == (
        redirect if rule == "/spaced/" else (200, None)
    )


@pytest.mark.parametrize(
    "path",
    [
        *("menu", "/menu/<uuid:day>", "/<path:rest>/menu", "/menu/<day", "/menu/day-:number", "/a<day>"),
        *("/menu/{day}", "/menu?day=1", "/menu#today", "/men%75", "/the menu"),
    ],
)
def test_a_path_that_no_endpoint_can_have_is_refused_where_it_is_declared(path: str) -> None:
    section = Section("menus")

    async def menu() -> str:
        return "soup"

    with pytest.raises(DeclarationError, match="the path is none that an endpoint can have"):
        section.endpoint("GET", path, answer=str)(menu)


def test_a_name_that_an_endpoint_has_not_is_refused_with_the_one_that_was_meant() -> None:
    section = Section("menus")

    async def menu(messageId: str, boddy: str, colour: str) -> str:  # noqa: N803
        return messageId + boddy + colour

    with pytest.raises(DeclarationError) as refused:
        section.endpoint("GET", "/menu/:messageId", answer=str)(menu)
    assert str(refused.value) == (
        "GET /menu/<messageId>: nothing is called boddy (did you mean body?), colour, "
        "messageId (did you mean message_id?)"
    )


@pytest.mark.parametrize(
    ("method", "path", "query", "words"),
    [
        ("get", "/menu", [], "the method is none of"),
        ("FETCH", "/menu", [], "the method is none of"),
        ("GET", "/menu/:day/:day", [], "something else is called day already"),
        ("GET", "/menu/:day", ["day"], "something else is called day already"),
        ("GET", "/menu", ["day", "day"], "something else is called day already"),
        ("GET", "/menu/:caller", [], "something else is called caller already"),
        ("GET", "/menu", ["caller"], "something else is called caller already"),
        ("GET", "/menu", ["page"], "something else is called page already"),
        ("GET", "/apps/:app", [], "something else is called app already"),
    ],
)
def test_what_would_never_be_asked_or_take_the_place_of_something_is_refused(
    method: str, path: str, query: list[str], words: str
) -> None:
    async def menu() -> str:
        return "soup"

    with pytest.raises(DeclarationError, match=words):
        Section("menus").endpoint(method, path, answer=str, query=query)(menu)


def test_a_handler_that_can_not_be_awaited_is_refused() -> None:
    def menu() -> str:
        return "soup"

    with pytest.raises(DeclarationError, match="the handler menu must be an async function"):
        Section("menus").endpoint("GET", "/menu", answer=str)(menu)  # type: ignore[type-var]


def test_what_is_asked_first_can_not_be_given_what_is_read_later() -> None:
    async def first(body: Menu, colour: str) -> None: ...

    async def menu(body: Menu) -> str:
        return body.soup

    with pytest.raises(DeclarationError, match="first is asked before there is body, colour"):
        Section("menus").endpoint("POST", "/menu", body=Menu, first=first, query=["colour"])(menu)


class Menu(Struct, frozen=True):
    soup: str


def meddling(name: str, calls: list[str]) -> Blueprint:
    """Return a plugin's blueprint that has functions called around everything, as far as it can."""
    blueprint = plain(f"/{name}", name)

    @blueprint.before_app_request
    async def before() -> None:
        calls.append(f"before {name}")

    @blueprint.after_app_request
    async def after(response: Response) -> Response:
        calls.append(f"after {name}")
        response.headers["X-Meddled"] = name
        return response

    @blueprint.teardown_app_request
    async def teardown(_: Any) -> None:
        calls.append(f"teardown {name}")

    @blueprint.app_url_value_preprocessor
    def preprocess(*_: Any) -> None:
        calls.append(f"values {name}")

    @blueprint.app_errorhandler(Exception)
    async def handle(_: Exception) -> Response:
        calls.append(f"error {name}")
        return Response("meddled", 200)

    def replace_all(state: Any) -> None:
        state.app.before_request(before)
        state.app.errorhandler(404)(handle)

    blueprint.record(replace_all)
    return blueprint


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/users"), ("HEAD", "/users"), ("OPTIONS", "/users"), ("PATCH", "/users"), ("GET", "/health"),
        ("GET", "/openapi.json"), ("GET", "/nowhere"), ("POST", "/channels"), ("GET", "/channels/x/messages"),
        ("GET", "/events"), ("GET", "/fails"), ("GET", "/other"),
    ],
)  # fmt: skip
async def test_what_a_blueprint_has_called_around_requests_touches_its_own_views_alone(
    world: World, method: str, path: str
) -> None:
    section = Section("failing")

    @section.endpoint("GET", "/fails", answer=str, open=True)
    async def fails() -> str:
        raise ValueError

    calls: list[str] = []
    untouched = Client(world.rebuilt(section, plain("/other", "other")))
    site = world.rebuilt(meddling("meddler", calls), section, plain("/other", "other"))
    expected = await untouched.call(method, path)
    answer = await Client(site).call(method, path)
    assert (answer.status, answer.body) == (expected.status, expected.body)
    assert sorted(answer.raw_headers) == sorted(expected.raw_headers)
    assert calls == []


async def test_what_a_blueprint_has_called_around_requests_is_called_around_its_own(world: World) -> None:
    calls: list[str] = []
    site = world.rebuilt(meddling("one", calls), meddling("two", calls))
    answer = await Client(site).call("GET", "/one")
    assert (answer.body, answer.headers["x-meddled"]) == (b"plain", "one")
    assert calls == ["values one", "before one", "before one", "after one", "teardown one"]
