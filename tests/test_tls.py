"""TLS: a certificate that can't be used is told clearly; with one, HTTP/1.1 and HTTP/2 are served."""

from __future__ import annotations

import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import h2.config
import h2.connection
import h2.events
import pytest
import trio

from teamchat.errors import SettingsError
from teamchat.http import tls
from teamchat.settings import TlsSettings
from teamchat.testing import DEADLINE, Server
from tests.certificates import certified
from tests.harness import running


def certificate(directory: Path, name: str = "chat", password: bytes | None = None) -> TlsSettings:
    """Write a certificate for localhost and its key."""
    shown, secret = directory / f"{name}.pem", directory / f"{name}.key"
    for file, content in zip((shown, secret), certified("localhost", password), strict=True):
        file.write_bytes(content)
    return TlsSettings(certificate=str(shown), key=str(secret))


def test_a_certificate_with_its_key_is_taken(tmp_path: Path) -> None:
    made = tls.context(certificate(tmp_path))
    assert made.minimum_version == ssl.TLSVersion.TLSv1_2


def wrong(directory: Path) -> dict[str, tuple[TlsSettings, str]]:
    """Return settings that can't work, each with the beginning of what is said about them."""
    good, other = certificate(directory), certificate(directory, "other")
    locked = certificate(directory, "locked", b"a password")
    noise = directory / "noise.pem"
    noise.write_text("a secret detail")
    missing = str(directory / "missing.pem")
    return {
        "no certificate": (TlsSettings(missing, good.key), "server.tls.certificate: there is no such file"),
        "no key": (TlsSettings(good.certificate, missing), "server.tls.key: there is no such file"),
        "a directory": (TlsSettings(good.certificate, str(directory)), "server.tls.key: the file can't be"),
        "no path": (TlsSettings("a\0b", good.key), "server.tls.certificate: the file can't be"),
        "not a certificate": (TlsSettings(str(noise), good.key), "server.tls.certificate: the file holds no"),
        "not a key": (TlsSettings(good.certificate, str(noise)), "server.tls.key: the file holds no"),
        "a locked key": (locked, "server.tls.key: the file holds no"),
        "another's key": (TlsSettings(good.certificate, other.key), "server.tls.key: the private key does"),
    }


@pytest.mark.parametrize(
    "case",
    [
        "no certificate",
        "no key",
        "a directory",
        "no path",
        "not a certificate",
        "not a key",
        "a locked key",
        "another's key",
    ],
)
def test_a_certificate_that_can_not_be_used_is_told_by_its_key_without_its_content(
    tmp_path: Path, case: str
) -> None:
    settings, sentence = wrong(tmp_path)[case]
    with pytest.raises(SettingsError) as told:
        tls.context(settings)
    assert str(told.value).startswith(sentence)
    assert "secret" not in str(told.value)


# The process


BOTH_SERVERS = pytest.mark.parametrize("http1", ["native", "hypercorn"])


@asynccontextmanager
async def secure(directory: Path, http1: str = "native") -> AsyncIterator[tuple[Server, ssl.SSLContext]]:
    """Start a server with a certificate; yield it and what a client needs to trust it."""
    made = certificate(directory)
    section = {"tls": {"certificate": made.certificate, "key": made.key}, "http1": http1}
    async with running(directory, server=section) as server:
        yield server, ssl.create_default_context(cafile=made.certificate)


@asynccontextmanager
async def connected(server: Server, trust: ssl.SSLContext, *protocols: str) -> AsyncIterator[Any]:
    trust.set_alpn_protocols(protocols)
    stream = await trio.open_tcp_stream("127.0.0.1", int(server.base.rpartition(":")[2]))
    wrapped = trio.SSLStream(stream, trust, server_hostname="localhost", https_compatible=True)
    async with wrapped:
        with trio.fail_after(DEADLINE):
            await wrapped.do_handshake()
            yield wrapped


async def read_until(stream: Any, ending: bytes) -> bytes:
    data = b""
    while not data.endswith(ending):
        piece = await stream.receive_some()
        assert piece, data
        data += piece
    return data


@pytest.mark.slow
@BOTH_SERVERS
async def test_http_1_1_is_served_under_tls(tmp_path: Path, http1: str) -> None:
    async with secure(tmp_path, http1) as (server, trust):
        assert server.base.startswith("https://")
        async with connected(server, trust, "http/1.1") as stream:
            assert stream.selected_alpn_protocol() == "http/1.1"
            for _ in range(2):
                await stream.send_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
                assert (await read_until(stream, b"OK")).startswith(b"HTTP/1.1 200")
        assert await server.end() == 0


@pytest.mark.slow
@BOTH_SERVERS
async def test_http_2_is_served_under_tls(tmp_path: Path, http1: str) -> None:
    async with (
        secure(tmp_path, http1) as (server, trust),
        connected(server, trust, "h2", "http/1.1") as stream,
    ):
        assert stream.selected_alpn_protocol() == "h2"
        client = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
        client.initiate_connection()
        assert await ask(stream, client, "/health") == ("200", b"OK")
        status, body = await ask(stream, client, "/nothing")
        assert status in {"401", "404"}
        assert list(json.loads(body)) == ["error"]


async def ask(stream: Any, client: h2.connection.H2Connection, path: str) -> tuple[str, bytes]:
    """Send a request over HTTP/2 and return status and body."""
    number = client.get_next_available_stream_id()
    headers = [(":method", "GET"), (":path", path), (":scheme", "https"), (":authority", "localhost")]
    client.send_headers(number, headers, end_stream=True)
    status, body = "", b""
    while True:
        await stream.send_all(client.data_to_send())
        for event in client.receive_data(await stream.receive_some()):
            if isinstance(event, h2.events.ResponseReceived):
                status = dict(event.headers)[":status"]
            elif isinstance(event, h2.events.DataReceived):
                body += event.data
            elif isinstance(event, h2.events.StreamEnded):
                return status, body


@pytest.mark.slow
@BOTH_SERVERS
async def test_a_live_stream_works_under_tls_and_ends_with_the_server(tmp_path: Path, http1: str) -> None:
    async with secure(tmp_path, http1) as (server, trust):
        async with connected(server, trust, "http/1.1") as stream:
            body = b'{"email":"admin@localhost"}'
            head = b"POST /auth/dev-login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            await stream.send_all(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
            token = json.loads((await read_until(stream, b"}")).partition(b"\r\n\r\n")[2])["token"]
            await stream.send_all(f"GET /events?token={token} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            assert b"CONNECTED" in await read_until(stream, b"\n\n\r\n")
            server.process.terminate()
            assert (await read_until(stream, b"0\r\n\r\n")).endswith(b"0\r\n\r\n")
        with trio.fail_after(DEADLINE):
            assert await server.process.wait() == 0


async def test_plain_http_on_the_port_of_tls_is_cut_off_and_others_are_served(tmp_path: Path) -> None:
    async with secure(tmp_path) as (server, trust):
        port = int(server.base.rpartition(":")[2])
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
            await stream.send_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            with trio.fail_after(DEADLINE):
                try:
                    while await stream.receive_some():
                        pass
                except trio.BrokenResourceError:
                    pass
        async with connected(server, trust, "http/1.1") as secure_stream:
            await secure_stream.send_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert (await read_until(secure_stream, b"OK")).startswith(b"HTTP/1.1 200")
