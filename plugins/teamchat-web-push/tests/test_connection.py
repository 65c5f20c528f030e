"""Connections to push services: to the address that was checked, used again, and given up in time."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
import trio
import trustme
from teamchat_web_push import addresses, connection
from teamchat_web_push.connection import Answer, open_services
from teamchat_web_push.loopback import LoopbackService

_TAKEN = b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"


def _resolving(*addresses: str) -> Any:
    """Return what resolves every name to these addresses, one more each time."""
    left = list(addresses)

    def getaddrinfo(host: str, port: int, **_: Any) -> list[Any]:
        found = left.pop(0) if len(left) > 1 else left[0]
        return [(0, 0, 0, "", (found, port))]

    return getaddrinfo


async def test_a_name_that_is_resolved_otherwise_a_moment_later_reaches_nothing_private(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    service = LoopbackService()
    async with service.running(), open_services([]) as services:
        endpoint = f"https://push.example.net:{service.port}/1"
        monkeypatch.setattr(addresses, "getaddrinfo", _resolving("127.0.0.1"))
        answer = await services.post(endpoint, {}, b"")
        assert (answer.status, answer.reason) == (0, connection.PRIVATE)
    assert service.requests == 0


async def test_the_connection_goes_to_the_address_that_was_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were the name resolved a second time to connect, it would be to another address."""
    service = LoopbackService()
    async with service.running(), open_services(["push.example.net"]) as services:
        monkeypatch.setattr(addresses, "getaddrinfo", _resolving("127.0.0.1", "192.0.2.1"))
        answer = await services.post(f"http://push.example.net:{service.port}/1", {}, b"")
        assert answer.status == 404
    assert service.requests == 1


async def test_connections_are_used_again_few_are_kept_and_those_the_service_closed_are_not() -> None:
    service = LoopbackService()
    async with open_services(["127.0.0.1"]) as services:
        kept = services._idle
        async with service.running():
            endpoint = f"http://127.0.0.1:{service.port}/1"
            assert (await services.post(endpoint, {}, b"")).status == 404
            [first] = kept
            assert (await services.post(endpoint, {}, b"")).status == 404
            assert kept == [first]
            async with trio.open_nursery() as nursery:
                for _ in range(2 * connection.AT_ONCE):
                    nursery.start_soon(services.post, endpoint, {}, b"")
            assert 1 < len(kept) <= connection.AT_ONCE
        answer = await services.post(endpoint, {}, b"")  # It has closed them all, and nobody is there.
        assert answer == Answer(0, "no connection (ConnectionRefusedError)")
        assert kept == []


@asynccontextmanager
async def answering(
    *pieces: bytes, tls: ssl.SSLContext | None = None
) -> AsyncIterator[tuple[str, list[bytes]]]:
    """Answer each request with these pieces; yield an endpoint and, in order, what was asked there."""
    asked: list[bytes] = []

    async def answer(plain: trio.SocketStream) -> None:
        stream: trio.abc.Stream = plain
        if tls is not None:
            stream = trio.SSLStream(plain, tls, server_side=True, https_compatible=True)
        with suppress(trio.BrokenResourceError):
            while request := await stream.receive_some(65_536):
                asked.append(bytes(request))
                for piece in pieces:
                    await stream.send_all(piece)
        await trio.aclose_forcefully(stream)

    async with trio.open_nursery() as nursery:
        listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
        port = listeners[0].socket.getsockname()[1]
        nursery.start_soon(trio.serve_listeners, answer, listeners)
        yield f"http{'s' if tls else ''}://127.0.0.1:{port}/1?of=2", asked
        nursery.cancel_scope.cancel()


async def test_a_request_names_host_and_path_as_the_endpoint_does_and_leaves_in_one_piece() -> None:
    async with answering(_TAKEN) as (endpoint, asked), open_services(["127.0.0.1"]) as services:
        assert (await services.post(endpoint, {"TTL": "7"}, b"sealed")).status == 201
    host = endpoint.split("/")[2].encode()
    head = b"POST /1?of=2 HTTP/1.1\r\nHost: %b\r\nTTL: 7\r\nContent-Length: 6\r\n\r\n" % host
    assert asked == [head + b"sealed"]


@pytest.mark.parametrize(
    ("pieces", "is_kept"),
    [
        ([_TAKEN], True),
        ([_TAKEN[:20], _TAKEN[20:]], True),
        ([b"HTTP/1.1 100 Continue\r\n\r\n" + _TAKEN], True),
        ([b"HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"], True),
        ([_TAKEN + _TAKEN], False),  # The second would be taken for the answer to the next push.
        ([b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"], False),
        ([b"HTTP/1.0 201 Created\r\nContent-Length: 0\r\n\r\n"], False),
    ],
)
async def test_a_connection_is_kept_if_its_answer_ends_where_it_says(
    pieces: list[bytes], is_kept: bool
) -> None:
    async with answering(*pieces) as (endpoint, _), open_services(["127.0.0.1"]) as services:
        assert await services.post(endpoint, {}, b"x") == Answer(201)
        assert len(services._idle) == is_kept


@pytest.mark.parametrize(
    "body", [b"Content-Length: 9\r\n\r\ncut", b"Transfer-Encoding: chunked\r\n\r\nno size"]
)
async def test_a_push_that_was_taken_is_not_sent_again_whatever_comes_after_that(body: bytes) -> None:
    async def answer(stream: trio.SocketStream) -> None:
        async with stream:
            await stream.receive_some(65_536)
            await stream.send_all(b"HTTP/1.1 201 Created\r\n" + body)

    async with open_services(["127.0.0.1"]) as services, trio.open_nursery() as nursery:
        listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
        nursery.start_soon(trio.serve_listeners, answer, listeners)
        endpoint = f"http://127.0.0.1:{listeners[0].socket.getsockname()[1]}/1"
        assert await services.post(endpoint, {}, b"x") == Answer(201)
        assert services._idle == []
        nursery.cancel_scope.cancel()


async def test_an_address_that_does_not_answer_leaves_time_for_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def getaddrinfo(host: str, port: int, **_: Any) -> list[Any]:
        return [(0, 0, 0, "", (address, port)) for address in ("192.0.2.1", "127.0.0.1")]

    async def open_tcp_stream(host: str, port: int) -> trio.SocketStream:
        if host == "192.0.2.1":
            await trio.sleep_forever()
        return await opened(host, port)

    opened = trio.open_tcp_stream
    async with answering(_TAKEN) as (endpoint, _), open_services(["push.lan"]) as services:
        monkeypatch.setattr(addresses, "getaddrinfo", getaddrinfo)
        monkeypatch.setattr(trio, "open_tcp_stream", open_tcp_stream)
        monkeypatch.setattr(connection, "_CONNECT_SECONDS", 0.05)
        answer = await services.post(endpoint.replace("127.0.0.1", "push.lan"), {}, b"x")
    assert answer == Answer(201)


async def test_what_is_kept_is_closed_also_while_that_is_cancelled() -> None:
    async with answering(_TAKEN) as (endpoint, _):
        with trio.CancelScope() as scope:
            async with open_services(["127.0.0.1"]) as services:
                async with trio.open_nursery() as nursery:
                    for _ in range(3):
                        nursery.start_soon(services.post, endpoint, {}, b"x")
                kept = list(services._idle)
                scope.cancel()
        assert len(kept) > 1
        assert {one._socket.socket.fileno() for one in kept} == {-1}


async def test_certificates_that_can_not_be_read_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> ssl.SSLContext:
        raise FileNotFoundError("SSL_CERT_FILE")

    monkeypatch.setattr(connection, "_tls", missing)
    async with answering(_TAKEN) as (endpoint, _), open_services(["127.0.0.1"]) as services:
        answer = await services.post(endpoint.replace("http:", "https:"), {}, b"x")
    assert answer == Answer(0, "no connection (FileNotFoundError)")


async def test_a_host_that_is_not_allowed_any_more_is_told_as_that() -> None:
    async with open_services([]) as services:
        answer = await services.post("http://push.lan/1", {}, b"x")
    assert answer == Answer(0, "endpoint must begin with https://")


@pytest.mark.parametrize(
    "answer",
    [
        b"220 mail.example.org ESMTP\r\n\r\n",
        b"HTTP/1.1 201 Created\r\nX: " + b"x" * 40_000,
        b"HTTP/1.1 100 Continue\r\n\r\n" * 2_000,
    ],
)
async def test_what_is_no_http_is_told_and_closed(answer: bytes) -> None:
    async with answering(answer) as (endpoint, _), open_services(["127.0.0.1"]) as services:
        assert await services.post(endpoint, {}, b"x") == Answer(
            0, "the connection failed (RemoteProtocolError)"
        )
        assert services._idle == []


async def test_when_to_come_again_is_told_as_it_was_said() -> None:
    answer = b"HTTP/1.1 429 Busy\r\nContent-Length: 0\r\nRetry-After: 17\r\n\r\n"
    async with answering(answer) as (endpoint, _), open_services(["127.0.0.1"]) as services:
        assert await services.post(endpoint, {}, b"x") == Answer(429, "", "17")


async def test_under_tls_a_service_must_show_who_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    authority = trustme.CA()
    own, trusting = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH), ssl.create_default_context()
    authority.issue_cert("127.0.0.1").configure_cert(own)
    authority.configure_trust(trusting)
    async with answering(_TAKEN, tls=own) as (endpoint, asked), open_services(["127.0.0.1"]) as services:
        monkeypatch.setattr(connection, "_tls", lambda: trusting)
        for _ in range(2):
            assert await services.post(endpoint, {}, b"x") == Answer(201)
        assert len(services._idle) == 1
        refused = await services.post(endpoint.replace("127.0.0.1", "localhost"), {}, b"x")
        assert refused == Answer(0, connection.PRIVATE)
        await services.close()
        monkeypatch.setattr(connection, "_tls", ssl.create_default_context)
        assert await services.post(endpoint, {}, b"x") == Answer(0, "no connection (its certificate)")
    assert len(asked) == 2


@pytest.mark.parametrize("length", [100, 10_000, 100_000])
async def test_a_connection_whose_push_is_cancelled_or_whose_answer_is_endless_is_closed(
    monkeypatch: pytest.MonkeyPatch, length: int
) -> None:
    has_come = trio.Event()

    async def answer(stream: trio.SocketStream) -> None:
        async with stream:
            await stream.receive_some()
            has_come.set()
            if is_endless:
                await stream.send_all(
                    b"HTTP/1.1 201 Created\r\nContent-Length: 9999999\r\n\r\n" + bytes(length)
                )
            with suppress(trio.BrokenResourceError):
                assert await stream.receive_some() in {b"", b"x"}

    monkeypatch.setattr(connection, "_REST_SECONDS", 0.05)
    async with open_services(["127.0.0.1"]) as services, trio.open_nursery() as nursery:
        listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
        endpoint = f"http://127.0.0.1:{listeners[0].socket.getsockname()[1]}/1"
        nursery.start_soon(trio.serve_listeners, answer, listeners)
        is_endless = False
        async with trio.open_nursery() as posting:
            posting.start_soon(services.post, endpoint, {}, b"")
            await has_come.wait()
            posting.cancel_scope.cancel()
        is_endless = True
        assert (await services.post(endpoint, {}, b"x")).status == 201
        assert services._idle == []
        nursery.cancel_scope.cancel()
