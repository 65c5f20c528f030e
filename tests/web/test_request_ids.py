"""What a client complains of can be found: its answer and every line of the log name the request."""

from __future__ import annotations

import io
import json
import logging
import random
import re
from collections.abc import Iterator
from typing import Any

import pytest
import trio

from teamchat.observability import logs
from teamchat.settings import ServerSettings, Settings
from teamchat.web.access_log import AccessLog
from teamchat.web.guard import Guard
from teamchat.web.request_ids import RequestIds
from tests.harness import running
from tests.http1.apps import GET, hello
from tests.http1.conftest import connected
from tests.web.conftest import World

PROXY, CLIENT = "10.0.0.1", "192.0.2.7"


@pytest.fixture(params=["json", "text"])
def log(request: pytest.FixtureRequest) -> Iterator[io.StringIO]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    stream = io.StringIO()
    logs.configure(stream, format=request.param)
    yield stream
    root.handlers[:] = handlers
    root.setLevel(level)


def guard() -> Guard:
    settings = Settings(server=ServerSettings(trusted_proxies=["10.0.0.0/8"]))
    return Guard(settings, accounts=None, storage=None)  # type: ignore[arg-type]


async def named(peer: str, *given: bytes) -> str:
    """Return the name that a request has for the application, which is that of the lines it logs."""
    seen: list[tuple[bytes, str | None]] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await trio.lowlevel.checkpoint()
        seen.append((scope["teamchat.request_id"], logs.request.get()))

    headers = [(b"x-request-id", value) for value in given]
    scope = {"type": "http", "headers": headers, "client": (peer, 1)}
    await RequestIds(app, guard().is_proxy)(scope, None, None)  # type: ignore[arg-type]
    [(name, logged)] = seen
    assert name.decode() == logged
    return name.decode()


async def test_every_request_has_a_name_of_its_own() -> None:
    names = [await named(CLIENT) for _ in range(1000)]
    assert len(set(names)) == 1000
    assert all(re.fullmatch("[0-9a-f]{16}", name) for name in names)


async def test_nobody_can_tell_names_from_those_that_were_given() -> None:
    """As the generator of Python's random numbers lets everybody who has seen enough of them."""
    random.seed(0)
    one = await named(CLIENT)
    random.seed(0)
    assert await named(CLIENT) != one


@pytest.mark.parametrize("name", [b"f" * 32, b"0e1b9a4e-6f6c-4a34-9b37-0d1a2b3c4d5e", b"a_Z.9-", b"x"])
async def test_a_trusted_proxy_may_give_it(name: bytes) -> None:
    assert await named(PROXY, name) == name.decode()
    assert await named(CLIENT, name) != name.decode()


@pytest.mark.parametrize(
    "given",
    [[b""], [b"a b"], [b'a"b'], [b"a\nb"], [b"x" * 37], ["ü".encode()], [b"a", b"b"], [b"a", b"a"], [b"a,b"]],
)
async def test_what_is_no_name_is_passed_over(given: list[bytes]) -> None:
    assert re.fullmatch("[0-9a-f]{16}", await named(PROXY, *given))


async def test_an_answer_and_the_lines_about_it_have_one_name(
    world: World, log: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(*_: Any) -> None:
        raise RuntimeError("not to be told")

    logged = AccessLog(world.site, world.site.guard.client_address)
    world.admin.app = RequestIds(logged, world.site.guard.is_proxy)
    monkeypatch.setattr(type(world.app.accounts), "authenticate", fails)
    for path in ("/channels", "/events", "/nowhere"):
        log.seek(0)
        log.truncate()
        answer = await world.admin.call("GET", path)
        name = answer.headers["x-request-id"]
        lines = log.getvalue().splitlines()
        assert len(lines) == (1 if path == "/nowhere" else 2)
        assert all(name in line for line in lines), lines


async def test_other_origins_may_read_it(world: World) -> None:
    world.admin.app = RequestIds(world.site, world.site.guard.is_proxy)
    origin = "https://chat.example.org"  # that of auth.appUrl
    answer = await world.admin.call("GET", "/health", headers=[("origin", origin)])
    assert "X-Request-Id" in answer.headers["access-control-expose-headers"]
    assert answer.headers["x-request-id"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["native", "hypercorn"])
async def test_a_server_names_its_answers_and_what_it_logs_of_them(tmp_path: Any, kind: str) -> None:
    sections = {"server": {"http1": kind, "accessLog": True, "trustedProxies": ["127.0.0.1"]}}
    async with running(tmp_path, **sections) as server, server.client() as client:
        one, other = [await client.get("/health") for _ in range(2)]
        assert one.headers["x-request-id"] != other.headers["x-request-id"]
        given = await client.get("/health", headers={"X-Request-Id": "from-the-proxy"})
        assert given.headers["x-request-id"] == "from-the-proxy"
        signed_in = await client.post("/auth/dev-login", json={"email": "admin@localhost"})
    lines = [json.loads(line) for line in (tmp_path / "server.log").read_text().splitlines()]
    name = signed_in.headers["x-request-id"]
    assert [line["event"] for line in lines if line.get("request") == name] == ["signed in", "request"]
    assert [line["path"] for line in lines if line.get("request") == "from-the-proxy"] == ["/health"]


async def test_the_answer_to_a_request_that_breaks_the_application_has_it_too(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def breaks(scope: Any, receive: Any, send: Any) -> None:
        raise RuntimeError

    async with connected(RequestIds(breaks, guard().is_proxy)) as client:
        answer = await client.ask(GET)
    assert answer.error(500)
    assert re.fullmatch("[0-9a-f]{16}", answer.header("x-request-id") or "")
    caplog.clear()


async def test_what_is_logged_after_an_answer_is_not_said_to_be_of_its_request() -> None:
    named: list[str | None] = []

    async def ends(scope: Any, receive: Any, send: Any) -> None:
        named.append(logs.request.get())
        await hello(scope, receive, send)

    async with connected(RequestIds(ends, guard().is_proxy)) as client:
        await trio.testing.wait_all_tasks_blocked()
        serving = client.connection.serving
        serving.rests = lambda _: named.append(logs.request.get())
        for _ in range(2):
            assert (await client.ask(GET)).status == 200
        await trio.testing.wait_all_tasks_blocked()
    assert [name is None for name in named] == [False, True, False, True]
