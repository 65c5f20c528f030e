"""The access log: one line a request, whatever was asked for, and nothing in it that is nobody's business."""

from __future__ import annotations

import io
import json
import logging
import secrets
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from teamchat.model.ids import new_conversation_id, new_id
from teamchat.observability.logs import configure, redact
from teamchat.settings import ServerSettings, Settings
from teamchat.web.access_log import _PLAIN, AccessLog
from teamchat.web.guard import Guard
from tests.web.conftest import World

Lines = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    stream = io.StringIO()
    configure(stream)
    yield stream
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture
def lines(stream: io.StringIO) -> Lines:
    return lambda: [
        line
        for line in map(json.loads, stream.getvalue().splitlines())
        if line["logger"] == "teamchat.access"
    ]


def guard(*trusted: str) -> Guard:
    settings = Settings(server=ServerSettings(trusted_proxies=list(trusted)))
    return Guard(settings, accounts=None, storage=None)  # type: ignore[arg-type]


async def hello(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"hel", "more_body": True})
    await send({"type": "http.response.body", "body": b"lo"})


async def nothing(message: Any) -> None:
    pass


async def ask(path: str, app: Any = hello, trusted: tuple[str, ...] = (), **scope: Any) -> None:
    asked = {"type": "http", "method": "GET", "path": path, "headers": [], "client": ("192.0.2.7", 1)} | scope
    await AccessLog(app, guard(*trusted).client_address)(asked, None, nothing)  # type: ignore[arg-type]


async def test_a_request_is_one_line_with_what_was_asked_and_answered(lines: Lines) -> None:
    await ask("/channels", query_string=b"limit=3")
    [line] = lines()
    assert line.pop("time").endswith("Z")
    assert line.pop("ms") >= 0
    assert line == {
        "level": "info",
        "logger": "teamchat.access",
        "event": "request",
        "method": "GET",
        "path": "/channels",
        "status": 200,
        "client": "192.0.2.7",
        "bytes": 5,
    }


async def test_the_line_looks_like_every_other_line_of_the_log(stream: io.StringIO) -> None:
    await ask("/channels")
    logging.getLogger("teamchat.access").info("request")
    prepared, usual = stream.getvalue().splitlines()
    assert json.dumps(json.loads(prepared)) == prepared
    assert list(json.loads(prepared))[:4] == list(json.loads(usual))


async def test_what_the_application_answers_is_passed_on_as_it_is(world: World, lines: Lines) -> None:
    world.admin.app = AccessLog(world.site, world.site.guard.client_address)
    assert (await world.admin.ok("GET", "/auth/me"))["user"]["isAdmin"]
    (await world.admin.call("GET", "/nowhere")).problem(404)
    assert [(line["path"], line["status"]) for line in lines()] == [("/auth/me", 200), ("/nowhere", 404)]
    assert all(line["bytes"] > 10 for line in lines())


@pytest.mark.parametrize(
    "path",
    [
        "/x\n[INFO] admin login ok",
        "/x\r\n{}",
        "/\x1b[2J\x1b]0;owned\x07",
        "/\x00\x7f\x85\u2028\u2029\u202e",
        "/" + "é" * 5_000,
        "/" + "a" * 100_000,
        "/" + "\ud800" * 50,
        "/\ufffd\ufffd",
        '/"}\n{"level": "critical"',
        "",
    ],
)
async def test_no_path_makes_a_second_line_or_a_control_character(
    stream: io.StringIO, lines: Lines, path: str
) -> None:
    await ask(path)
    assert len(lines()) == stream.getvalue().count("\n") == 1
    assert stream.getvalue().rstrip("\n").isprintable()
    assert stream.getvalue().isascii()
    assert len(lines()[0]["path"]) <= 500


@pytest.mark.slow
@given(st.text(), st.text())
def test_no_text_does(path: str, method: str) -> None:
    async def main() -> str:
        stream = io.StringIO()
        configure(stream)
        await ask(path, method=method)
        return stream.getvalue()

    handlers = logging.getLogger().handlers[:]
    written = trio.run(main)
    logging.getLogger().handlers[:] = handlers
    assert written.count("\n") == 1
    assert json.loads(written)["status"] == 200


@pytest.mark.slow
@given(st.from_regex(_PLAIN, fullmatch=True))
def test_a_path_that_is_written_unchanged_holds_nothing_to_redact_or_to_escape(path: str) -> None:
    assert redact(path) == path
    assert json.dumps(path) == f'"{path}"'


@pytest.mark.parametrize(
    "path",
    [
        f"/channels/{new_id()}/messages",
        f"/conversations/{new_conversation_id()}/messages/{new_id()}",
        "/channels/x/messages/image/1700000000000-0123456789abcdef.png",
        "/auth/oauth/github/callback",
        "/",
    ],
    ids=["channel", "conversation", "image", "callback", "root"],
)
def test_the_addresses_of_this_server_are_written_without_being_searched(path: str) -> None:
    assert _PLAIN.fullmatch(path)


@pytest.mark.parametrize(
    "path",
    [
        "/auth/verify/{}",
        "/{}",
        "/x/{}/y",
        "/?token={}",
        "/events?token={}",
        "/;token={}",
        "/token:{}",
        "/Bearer {}",
        "/a" * 240 + "/{}",
    ],
)
@pytest.mark.parametrize("size", [32, 48])
async def test_what_looks_like_a_token_in_a_path_is_redacted(
    stream: io.StringIO, path: str, size: int
) -> None:
    for token in (secrets.token_urlsafe(size), secrets.token_hex(size), "eyJ" + secrets.token_urlsafe(size)):
        await ask(path.format(token))
        assert token[:12] not in stream.getvalue()
        assert token[-12:] not in stream.getvalue()


@pytest.mark.parametrize("mark", "?;&=")
async def test_what_is_a_query_string_but_for_its_escapes_is_cut_off(lines: Lines, mark: str) -> None:
    await ask(f"/auth/verify{mark}s3ntinel, with\nwords{mark}s3ntinel")
    assert lines()[0]["path"] == "/auth/verify…"


async def test_a_token_as_method_is_redacted(stream: io.StringIO) -> None:
    token = secrets.token_urlsafe(32)
    await ask("/", method=token)
    assert token[:12] not in stream.getvalue()


async def test_query_and_headers_are_never_written(stream: io.StringIO) -> None:
    await ask(
        "/events",
        query_string=b"token=s3ntinel&note=s3ntinel",
        raw_path=b"/events?s3ntinel",
        headers=[(b"referer", b"http://x/?access_token=s3ntinel"), (b"user-agent", b"s3ntinel\x1b[2J")],
    )
    assert "s3ntinel" not in stream.getvalue()


async def test_d19_the_address_is_the_clients_behind_a_trusted_proxy_and_the_peers_otherwise(
    lines: Lines,
) -> None:
    forwarded = [(b"x-forwarded-for", b"198.51.100.1, 203.0.113.9")]
    await ask("/", headers=forwarded)
    await ask("/", headers=forwarded, trusted=("192.0.2.0/24",))
    await ask("/", headers=[(b"x-forwarded-for", b'\n"forged')], trusted=("192.0.2.0/24",))
    await ask("/", client=None)
    assert [line["client"] for line in lines()] == ["192.0.2.7", "203.0.113.9", "192.0.2.7", "local"]


async def test_a_stream_has_its_line_when_it_ends_with_the_time_it_was_open(
    lines: Lines, autojump_clock: trio.testing.MockClock
) -> None:
    async def events(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"data: 1\n\n", "more_body": True})
        assert not lines()
        await trio.sleep(90)
        await send({"type": "http.response.body", "body": b""})

    await ask("/events", events)
    [line] = lines()
    assert (line["ms"], line["bytes"]) == (90_000, 9)


async def test_a_client_that_leaves_and_a_failure_have_their_lines_too(
    lines: Lines, autojump_clock: trio.testing.MockClock
) -> None:
    async def endless(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await trio.sleep_forever()

    async def failing(scope: Any, receive: Any, send: Any) -> None:
        raise ValueError("s3ntinel")

    with trio.move_on_after(3):
        await ask("/events", endless)
    with pytest.raises(ValueError, match="s3ntinel"):
        await ask("/broken", failing)
    assert [(line["path"], line["status"], line["ms"]) for line in lines()] == [
        ("/events", 200, 3_000),
        ("/broken", None, 0),
    ]


async def test_a_refused_websocket_has_a_line_and_the_lifespan_has_none(world: World, lines: Lines) -> None:
    async def receive() -> dict[str, str]:
        return {"type": "websocket.connect"}

    extensions = {"websocket.http.response": {}}
    log = AccessLog(world.site, guard().client_address)
    socket = {"type": "websocket", "path": "/events", "headers": [], "client": None, "extensions": extensions}
    await log(socket, receive, nothing)
    await AccessLog(hello, guard().client_address)({"type": "lifespan"}, receive, nothing)
    [line] = lines()
    assert (line["method"], line["path"], line["status"]) == ("GET", "/events", 400)
