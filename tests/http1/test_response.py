"""Answers: their framing, their headers, and what becomes of an application that fails."""

from __future__ import annotations

from email.utils import parsedate_to_datetime
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from teamchat.errors import NotFound
from teamchat.http.http1 import response
from teamchat.http.http1.response import Answer
from tests.http1.apps import GET, finish, hello, start
from tests.http1.conftest import connected

HEAD = GET.replace(b"GET", b"HEAD")
OLD = b"GET / HTTP/1.0\r\n\r\n"


def answering(status: int, headers: list[tuple[bytes, bytes]], *parts: bytes) -> Any:
    """Return an application that answers with these parts, of which the last is the end."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await start(send, status, *headers)
        for part in parts[:-1]:
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await finish(send, parts[-1])

    return app


async def raw(app: Any, request: bytes = GET) -> bytes:
    """Return an answer as it came over the wire."""
    async with connected(app) as client:
        await client.send(request)
        await client.stream.send_eof()
        return await client.rest()


async def test_a_length_the_application_gave_is_kept() -> None:
    data = await raw(answering(200, [(b"content-length", b"4")], b"ab", b"cd"))
    assert b"\r\ncontent-length: 4\r\n" in data
    assert data.endswith(b"\r\n\r\nabcd")


async def test_a_body_that_is_known_whole_gets_its_length() -> None:
    data = await raw(answering(200, [], b"abcd"))
    assert b"\r\ncontent-length: 4\r\n" in data
    assert b"transfer-encoding" not in data


async def test_a_body_of_several_parts_is_chunked() -> None:
    data = await raw(answering(200, [], b"abcd", b"", b"x" * 17, b""))
    assert b"\r\ntransfer-encoding: chunked\r\n" in data
    assert b"content-length" not in data
    assert data.endswith(b"\r\n\r\n4\r\nabcd\r\n11\r\n" + b"x" * 17 + b"\r\n0\r\n\r\n")


@pytest.mark.usefixtures("wire")
async def test_http_1_0_gets_a_body_that_ends_with_the_connection() -> None:
    data = await raw(answering(200, [], b"ab", b"cd"), OLD)
    assert data.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"\r\nconnection: close\r\n" in data
    assert b"transfer-encoding" not in data
    assert data.endswith(b"\r\n\r\nabcd")


@pytest.mark.usefixtures("wire")
@pytest.mark.parametrize(
    ("status", "request_", "framing"),
    [(200, HEAD, b"content-length: 4"), (304, GET, b"content-length: 4"), (204, GET, None)],
)
async def test_head_204_and_304_have_no_body(status: int, request_: bytes, framing: bytes | None) -> None:
    """RFC 9110, sections 8.6, 9.3.2 and 15.4.5."""
    data = await raw(answering(status, [(b"content-length", b"4")], b"abcd"), request_)
    assert data.endswith(b"\r\n\r\n")
    assert (b"content-length" in data) is bool(framing)
    assert framing is None or framing in data


async def test_the_connection_goes_on_after_an_answer_without_a_body() -> None:
    async with connected(answering(304, [], b"ab", b"cd")) as client:
        for _ in range(2):
            assert (await client.ask(GET)).status == 304


async def test_every_answer_has_one_date_in_the_form_of_http() -> None:
    async with connected(hello) as client:
        [date] = [value for name, value in (await client.ask(GET)).headers if name == "date"]
    assert parsedate_to_datetime(date).tzinfo is not None
    assert date.endswith(" GMT")


async def test_the_date_is_that_of_the_second(monkeypatch: pytest.MonkeyPatch) -> None:
    for second, day in ((0.9, b"Thu, 01 Jan 1970 00:00:00"), (86400.0, b"Fri, 02 Jan 1970 00:00:00")):
        monkeypatch.setattr("time.time", lambda second=second: second)
        assert response.date_line() == b"date: " + day + b" GMT\r\n"


async def test_a_date_of_the_application_is_kept() -> None:
    data = await raw(answering(200, [(b"date", b"Thu, 01 Jan 1970 00:00:00 GMT")], b""))
    assert data.count(b"date: ") == 1
    assert b"1970" in data


async def test_framing_that_the_application_should_not_give_is_not_passed_on() -> None:
    given_ = [(b"transfer-encoding", b"gzip, chunked"), (b"connection", b"upgrade"), (b"keep-alive", b"5")]
    data = await raw(answering(200, given_, b"ab"))
    assert b"gzip" not in data
    assert b"upgrade" not in data
    assert b"keep-alive" not in data


@pytest.mark.usefixtures("wire")
async def test_head_and_body_are_one_write() -> None:
    async with connected(hello) as client:
        writes = []
        write = client.connection.transport._socket.send

        class Counting:
            def __init__(self, inner: Any) -> None:
                self._inner = inner

            def send(self, data: bytes) -> int:
                writes.append(bytes(data))
                return int(write(data))

            def __getattr__(self, name: str) -> Any:
                return getattr(self._inner, name)

        client.connection.transport._socket = Counting(client.connection.transport._socket)
        await client.ask(GET)
    assert len(writes) == 1


BAD = [
    (b"x", b"a\r\nSet-Cookie: b"),
    (b"x", b"a\nb"),
    (b"x", b"a\rb"),
    (b"x", b"a\0b"),
    (b"x", b"a\x7fb"),
    (b"x\r\ny", b"a"),
    (b"x\n", b"a"),
    (b"x: y", b"a"),
    (b"x ", b"a"),
    (b"", b"a"),
    (b"\xff", b"a"),
    (b"content-length", b"1\r\nx: y"),
    (b"content-length", b"-1"),
    (b"content-length", b""),
    (b"date", b"a\r\nx: y"),
]


@pytest.mark.parametrize("header", BAD, ids=repr)
async def test_a_header_that_is_not_one_line_is_a_500_and_never_sent(
    header: tuple[bytes, bytes], caplog: pytest.LogCaptureFixture
) -> None:
    async with connected(answering(200, [(b"a", b"b"), header], b"body")) as client:
        answer = await client.ask(GET)
        assert answer.error(500)
        assert answer.header("a") is answer.header("set-cookie") is None
    assert [record.getMessage() for record in caplog.records] == ["a request failed"]
    caplog.clear()


@given(st.binary(max_size=20), st.binary(max_size=20), st.booleans())
def test_no_header_can_forge_another(name: bytes, value: bytes, behind: bool) -> None:
    pair, other = (name, value), (b"other", b"one")
    try:
        answer = Answer(200, [other, pair] if behind else [pair, other], "GET")
    except ValueError:
        return
    lines = answer.head(chunked=False, closes=False).split(b"\r\n")
    assert lines[-2:] == [b"", b""]
    assert len(lines) in {5, 6}, "one of each, a date, and the length or nothing where the server decides"
    assert all(line.count(b"\n") == line.count(b"\r") == line.count(b"\0") == 0 for line in lines)


@pytest.mark.parametrize("status", [100, 101, 199, 1000, -1])
async def test_a_status_that_is_none_is_a_500(status: int, caplog: pytest.LogCaptureFixture) -> None:
    async with connected(answering(status, [], b"")) as client:
        assert (await client.ask(GET)).error(500)
    caplog.clear()


async def test_an_unknown_status_is_sent() -> None:
    async with connected(answering(299, [], b"")) as client:
        assert (await client.ask(GET)).status == 299


# Applications that fail


async def failing(scope: Any, receive: Any, send: Any) -> None:
    raise RuntimeError("a secret detail")


async def failing_after_the_head(scope: Any, receive: Any, send: Any) -> None:
    await start(send)
    raise RuntimeError("a secret detail")


async def silent(scope: Any, receive: Any, send: Any) -> None:
    pass


async def wrong(scope: Any, receive: Any, send: Any) -> None:
    await finish(send, b"a body without a head")


@pytest.mark.usefixtures("wire")
@pytest.mark.parametrize("app", [failing, failing_after_the_head, silent, wrong])
@pytest.mark.parametrize("request_", [GET, HEAD])
async def test_an_application_that_gives_no_answer_is_a_500_that_tells_nothing(
    app: Any, request_: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with connected(app) as client:
        answer = await client.ask(request_, request_[:4].strip().decode())
        assert answer.status == 500
        assert request_ == HEAD or "secret" not in answer.error(500)
        assert await client.rest() == b""
    assert len(caplog.records) == 1
    caplog.clear()


async def test_a_problem_the_application_lets_out_is_told() -> None:
    async def missing(scope: Any, receive: Any, send: Any) -> None:
        raise NotFound("There is nothing here.")

    async with connected(missing) as client:
        assert (await client.ask(GET)).error(404) == "There is nothing here."


CHUNKED: list[tuple[bytes, bytes]] = []
LENGTH = [(b"content-length", b"9")]


@pytest.mark.usefixtures("wire")
@pytest.mark.parametrize("headers", [CHUNKED, LENGTH])
@pytest.mark.parametrize("raises", [True, False])
async def test_an_answer_that_breaks_off_never_looks_complete(
    headers: list[tuple[bytes, bytes]], raises: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def breaking(scope: Any, receive: Any, send: Any) -> None:
        await start(send, 200, *headers)
        await send({"type": "http.response.body", "body": b"hello", "more_body": True})
        if raises:
            raise RuntimeError("a secret detail")

    data = b""
    async with connected(breaking) as client:
        await client.send(GET)
        data = await client.rest()
    assert b"hello" in data
    assert not data.endswith(b"0\r\n\r\n")
    caplog.clear()


@pytest.mark.usefixtures("wire")
@pytest.mark.parametrize("parts", [(b"too long for that",), (b"short",), (b"12345", b"678910", b"")])
async def test_a_body_of_another_length_than_announced_ends_the_connection(
    parts: tuple[bytes, ...], caplog: pytest.LogCaptureFixture
) -> None:
    async with connected(answering(200, LENGTH, *parts)) as client:
        await client.send(GET + GET)
        data = await client.rest()
        assert data.count(b"HTTP/1.1 ") == 1
        assert b"HTTP/1.1 500" in data or len(data.partition(b"\r\n\r\n")[2]) <= 9
    assert [record.getMessage() for record in caplog.records] == ["a request failed"]
    caplog.clear()


@pytest.mark.usefixtures("wire")
async def test_what_was_sent_too_late_is_no_part_of_the_next_answer(caplog: pytest.LogCaptureFixture) -> None:
    kept: list[Any] = []

    async def keeping(scope: Any, receive: Any, send: Any) -> None:
        kept.append(send)
        await hello(scope, receive, send)

    async with connected(keeping) as client:
        await client.ask(GET)
        with pytest.raises(RuntimeError, match="wrong time"):
            await finish(kept[0], b"late")
        assert (await client.ask(GET)).body == b"hello"


@pytest.mark.usefixtures("wire")
async def test_a_write_that_was_cut_short_ends_the_connection(autojump_clock: Any) -> None:
    cut = trio.Event()

    async def impatient(scope: Any, receive: Any, send: Any) -> None:
        await start(send)
        with trio.move_on_after(5) as limit:
            await send({"type": "http.response.body", "body": b"x" * 5_000_000, "more_body": True})
        assert limit.cancelled_caught
        cut.set()
        await trio.testing.wait_all_tasks_blocked()
        await finish(send, b"the end")
        raise AssertionError("it was not dropped")

    async with connected(impatient) as client:
        await client.send(GET)
        await cut.wait()
        assert not (await client.rest()).endswith(b"0\r\n\r\n")


@pytest.mark.usefixtures("wire")
async def test_a_failure_in_writing_ends_the_application_quietly() -> None:
    async def endless(scope: Any, receive: Any, send: Any) -> None:
        await start(send)
        while True:
            await send({"type": "http.response.body", "body": b"x" * 1000, "more_body": True})

    async with connected(endless) as client:
        await client.send(GET)
        await client.stream.receive_some(10)
        await client.stream.aclose()
        await client.ended.wait()
