"""The short way of a request and the long one: a client can't tell which it went."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from quart import Blueprint
from werkzeug.exceptions import HTTPException

from tests.web.client import Client
from tests.web.conftest import World

SEGMENTS = ["", "users", "me", "channels", "messages", "image", "thread", "x"]
METHODS = ["GET", "POST", "DELETE"]


async def test_the_short_way_finds_what_the_long_one_finds(world: World) -> None:
    routes = world.site.url_map.bind("")
    for length in range(5):
        for segments in product(SEGMENTS, repeat=length):
            path = "/" + "/".join(segments)
            for method in METHODS:
                found = world.site._router.find(method, path)
                if found is not None:
                    rule, values = routes.match(path, method, return_rule=True)
                    assert (found[0].rule, found[1]) == (rule.rule, values)


async def test_every_endpoint_that_asks_for_no_request_is_found(world: World) -> None:
    for endpoint in world.site.endpoints:
        path = endpoint.rule.replace("<", "").replace(">", "")
        found = world.site._router.find(endpoint.method, path)
        assert (found is None) == endpoint.takes_request
        assert found is None or found[0] is endpoint


@pytest.mark.parametrize("path", ["", "x", "/channels/", "/channels//messages", "/users/me/", "/nothing"])
async def test_odd_paths_are_left_to_the_long_way(world: World, path: str) -> None:
    assert world.site._router.find("GET", path) is None
    with pytest.raises(HTTPException):
        world.site.url_map.bind("").match(path or "/", "GET")


@pytest.mark.parametrize(
    ("method", "target", "options"),
    [
        ("GET", "/health", {}),
        ("GET", "/users", {}),
        ("GET", "/users?unknown=1", {}),
        ("GET", "/channels/nothing/messages", {}),
        ("GET", "/channels/a%0Ab/messages", {}),
        ("GET", "/messages/x/thread?limit=0", {}),
        ("POST", "/channels", {"body": {"name": 5}}),
        ("POST", "/channels", {"raw": b"{"}),
        ("POST", "/channels", {"raw": b"x" * 300_000}),
        ("POST", "/channels", {"raw": b"{}", "headers": [("content-encoding", "gzip")]}),
        ("POST", "/channels", {"raw": b"{}", "headers": [("content-type", "text/plain")]}),
        ("PUT", "/server/settings", {"body": {"name": "A name"}}),
        ("DELETE", "/auth/sessions", {"raw": b"", "body": None}),
        ("GET", "/users", {"headers": [("origin", "https://chat.example.org")]}),
        ("GET", "/users", {"headers": [("authorization", "Bearer twice")]}),
        ("POST", "/webhooks/x/messages", {"raw": b"{}", "headers": [("authorization", "Bearer é")]}),
    ],
)
@pytest.mark.parametrize("who", ["admin", "bob", "nobody"])
async def test_both_ways_answer_alike(
    world: World, who: str, method: str, target: str, options: dict[str, Any]
) -> None:
    asker = getattr(world, who)
    other = world.rebuilt()
    other.__dict__["_has_functions"] = True  # as if a plugin had registered one
    if target == "/auth/sessions":  # which can be asked once only
        asker = world.nobody
    short = await Client(world.site, asker.token).call(method, target, **options)
    long = await Client(other, asker.token).call(method, target, **options)
    assert (short.status, short.body) == (long.status, long.body)
    assert sorted(short.raw_headers) == sorted(long.raw_headers)
    assert short.pulled == long.pulled


async def test_functions_that_a_plugin_has_called_around_requests_are_called(world: World) -> None:
    site = world.rebuilt()

    @site.after_request
    async def mark(response: Any) -> Any:
        response.headers["X-Marked"] = "yes"
        return response

    answer = await Client(site, world.bob.token).call("GET", "/users")
    assert answer.headers["x-marked"] == "yes"


@pytest.mark.parametrize("goes_through_quart", [False, True])
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "OPTIONS", "PROPFIND"])
@pytest.mark.parametrize(
    "target",
    [
        "//users", "///users", "//", "//events", "//users?limit=1", "/%2fusers", "/%2Fusers", "%2f%2fusers",
        "/users/", "/users//", "/users%2f", "/./users", "/x/../users", "/%2e/users", "/users%00",
        "/Users", "/users;a=b", "//openapi.json", "//text", "/text/",
    ],
)  # fmt: skip
async def test_an_address_has_one_spelling(
    world: World, target: str, method: str, goes_through_quart: bool
) -> None:
    plain = Blueprint("plain", __name__)

    @plain.get("/text")
    async def text() -> str:
        return "text"

    site = world.rebuilt(plain)
    if goes_through_quart:
        site.__dict__["_has_functions"] = True
    answer = await Client(site, world.admin.token).call(method, target)
    assert answer.status == 404, answer.body
