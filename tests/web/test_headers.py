"""What every response carries, who may call from other origins, and whose address counts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.web.client import Client
from tests.web.conftest import World

TARGETS = ["/health", "/nowhere", "/channels", "/auth/me", "/openapi.json", "/config.js"]


@pytest.mark.slow
@pytest.mark.parametrize("path", TARGETS)
async def test_every_response_is_hardened(world: World, path: str) -> None:
    for method in ("GET", "HEAD", "POST", "OPTIONS"):
        headers = (await world.bob.call(method, path)).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
        assert headers["cache-control"] in {"no-store", "no-cache"}
        assert "server" not in headers
        assert "text/html" not in headers.get("content-type", "")


async def test_json_is_never_kept_by_caches(world: World) -> None:
    assert (await world.bob.call("GET", "/channels")).headers["cache-control"] == "no-store"


@pytest.mark.parametrize("path", ["/health", "/channels", "/openapi.json", "/nowhere"])
async def test_d07_head_answers_as_get_without_a_body(world: World, path: str) -> None:
    get, head = await world.bob.call("GET", path), await world.bob.call("HEAD", path)
    assert (head.status, head.raw_headers, head.body) == (get.status, get.raw_headers, b"")


async def test_health_says_ok(world: World) -> None:
    answer = await world.nobody.call("GET", "/health")
    assert (answer.status, answer.body) == (200, b"OK")
    assert answer.headers["content-type"].startswith("text/plain")


@pytest.mark.parametrize("origin", ["https://chat.example.org", "https://other.example"])
async def test_d06_allowed_origins_may_call(world: World, origin: str) -> None:
    site = world.rebuilt(allowed_origins=["https://Other.example:443/"])
    answer = await Client(site, world.bob.token).call("GET", "/channels", headers=[("origin", origin)])
    assert answer.headers["access-control-allow-origin"] == origin
    assert "access-control-allow-credentials" not in answer.headers
    assert answer.headers["vary"] == "Origin"


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "http://chat.example.org",
        "https://chat.example.org.evil",
        "https://evil",
        "https://chat.example.org:8443",
        "*",
        "",
    ],
)
async def test_d06_other_origins_may_not(world: World, origin: str) -> None:
    for method in ("GET", "OPTIONS"):
        headers = [("origin", origin), ("access-control-request-method", "PUT")]
        answer = await world.bob.call(method, "/channels", headers=headers)
        assert not [name for name in answer.headers if name.startswith("access-control")]
        assert "Origin" in answer.all("vary")


async def test_d06_errors_too_are_readable_for_allowed_origins(world: World) -> None:
    answer = await world.nobody.call("GET", "/channels", headers=[("origin", "https://chat.example.org")])
    answer.problem(401)
    assert answer.headers["access-control-allow-origin"] == "https://chat.example.org"


@pytest.mark.parametrize("path", ["/channels", "/users/me", "/events", "/nowhere"])
async def test_d06_a_preflight_needs_no_authentication(world: World, path: str) -> None:
    headers = [("origin", "https://chat.example.org"), ("access-control-request-method", "DELETE")]
    answer = await world.nobody.call("OPTIONS", path, headers=headers)
    assert (answer.status, answer.body) == (204, b"")
    assert "DELETE" in answer.headers["access-control-allow-methods"]
    assert "Authorization" in answer.headers["access-control-allow-headers"]


async def test_options_without_a_preflight_names_the_methods(world: World) -> None:
    answer = await world.nobody.call("OPTIONS", "/channels")
    assert answer.status == 204
    assert answer.headers["allow"] == "GET, HEAD, OPTIONS, POST"
    assert "content-type" not in answer.headers


def address(world: World, peer: str, *forwarded: str, proxies: list[str]) -> str:
    scope = {"client": (peer, 1), "headers": [(b"x-forwarded-for", one.encode()) for one in forwarded]}
    return world.rebuilt(trusted_proxies=proxies).guard.client_address(scope)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("peer", "forwarded", "seen"),
    [
        ("203.0.113.9", ["198.51.100.1"], "203.0.113.9"),
        ("10.0.0.1", ["198.51.100.1"], "198.51.100.1"),
        ("10.0.0.1", ["6.6.6.6, 198.51.100.1"], "198.51.100.1"),
        ("10.0.0.1", ["6.6.6.6", "198.51.100.1, 10.0.0.2"], "198.51.100.1"),
        ("10.0.0.1", ["198.51.100.1:4711"], "198.51.100.1"),
        ("10.0.0.1", ["[2001:db8::1]:4711"], "2001:db8::1"),
        ("::ffff:10.0.0.1", ["2001:DB8::1"], "2001:db8::1"),
        ("10.0.0.1", ["198.51.100.1, rubbish"], "10.0.0.1"),
        ("10.0.0.1", [""], "10.0.0.1"),
        ("10.0.0.1", [], "10.0.0.1"),
    ],
)
async def test_d19_only_trusted_proxies_tell_the_address(
    world: World, peer: str, forwarded: list[str], seen: str
) -> None:
    assert address(world, peer, *forwarded, proxies=["10.0.0.0/8"]) == seen


async def test_d19_without_trusted_proxies_the_peer_counts(world: World) -> None:
    assert address(world, "127.0.0.1", "198.51.100.1", proxies=[]) == "127.0.0.1"


async def test_d18_there_is_no_limit_of_requests_unless_it_is_set(world: World) -> None:
    for _ in range(50):
        await world.bob.ok("GET", "/auth/me")


async def test_d18_a_limit_of_requests_counts_by_address(world: World) -> None:
    site = world.rebuilt(rate_limit=type(world.app.settings.auth.rate_limit)(attempts=3, window_seconds=60))
    client = Client(site, world.bob.token)
    for _ in range(3):
        await client.ok("GET", "/auth/me")
    answer = await client.call("GET", "/auth/me")
    answer.problem(429)
    assert 1 <= int(answer.headers["retry-after"]) <= 61
    other = Client(site, world.bob.token, peer="2001:db8::1")
    for last in range(3):
        other.peer = f"2001:db8::{last}"
        await other.ok("GET", "/auth/me")
    (await other.call("GET", "/auth/me")).problem(429)


async def test_a_websocket_is_refused(world: World) -> None:
    assert [message["type"] for message in await open_websocket(world, {})] == ["websocket.close"]


async def test_d01_a_websocket_is_refused_in_the_one_shape_of_errors(world: World) -> None:
    start, body = await open_websocket(world, {"websocket.http.response": {}})
    assert (start["type"], start["status"]) == ("websocket.http.response.start", 400)
    assert (b"content-type", b"application/json") in start["headers"]
    assert (b"x-content-type-options", b"nosniff") in start["headers"]
    assert body["type"] == "websocket.http.response.body"
    assert list(json.loads(body["body"])) == ["error"]


async def open_websocket(world: World, extensions: dict[str, Any]) -> list[dict[str, Any]]:
    """Ask for a WebSocket of a server that offers `extensions`; return what is sent in answer."""
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, str]:
        return {"type": "websocket.connect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {"type": "websocket", "path": "/events", "headers": [], "extensions": extensions}
    await world.site(scope, receive, send)
    return sent


async def test_a_response_to_a_large_unread_body_says_that_the_connection_closes(world: World) -> None:
    anonymous = Client(world.site)
    large, small = b"x" * 100_000, b"{}"
    for raw, connection in ((large, "close"), (small, None)):
        answer = await anonymous.call("POST", "/channels", raw=raw)
        answer.problem(401)
        assert answer.headers.get("connection") == connection
    read = await world.admin.call(
        "POST", "/channels", raw=large, headers=[("content-type", "application/json")]
    )
    read.problem(400)
    assert "connection" not in read.headers
