"""A push service on the loopback network, for tests: it checks what it is sent as the real ones do.

It verifies the signature (RFC 8292), and decrypts as the browser would (RFC 8291), for it has the keys of the
browsers that it makes.  The server under test has to let it: ``push.allowedHosts`` names 127.0.0.1.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import trio
from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from teamchat_web_push.encryption import point_of, public_key
from teamchat_web_push.vapid import base64url, from_base64url

_MOST_HEAD = 16_384


def _private_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


@dataclass(frozen=True)
class Received:
    """A push as it came: its headers in small letters, what it says, and the claims that were signed."""

    headers: Mapping[str, str]
    payload: Mapping[str, Any]
    claims: Mapping[str, Any]


@dataclass
class Browser:
    """A browser with one subscription. `answer` is the status, and headers, that its pushes are answered."""

    endpoint: str
    private: ec.EllipticCurvePrivateKey = field(default_factory=_private_key)
    auth: bytes = field(default_factory=lambda: os.urandom(16))
    answer: int = 201
    answer_headers: Mapping[str, str] = field(default_factory=dict)
    received: list[Received] = field(default_factory=list)

    @property
    def subscription(self) -> dict[str, Any]:
        """What it tells the server."""
        keys = {"p256dh": base64url(point_of(self.private.public_key())), "auth": base64url(self.auth)}
        return {"endpoint": self.endpoint, "keys": keys}

    @property
    def payloads(self) -> list[Mapping[str, Any]]:
        """What it was told, in order."""
        return [one.payload for one in self.received]


class LoopbackService:
    """The service. `on_push` is called with each push before it is answered."""

    def __init__(self, host: str = "127.0.0.1") -> None:
        self.host = host
        self.port = 0
        self.browsers: dict[str, Browser] = {}
        self.wrong: list[str] = []
        """What was wrong about requests, if anything."""
        self.requests = 0
        self.key: str | None = None
        """The server's key, if pushes must be signed with this one."""
        self.on_push: Callable[[Browser], object] = lambda _: None
        self.is_checking = True
        self._moved = trio.Event()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[LoopbackService]:
        """Serve for as long as the context lasts."""
        async with trio.open_nursery() as nursery:
            listeners = await trio.open_tcp_listeners(0, host=self.host)
            self.port = listeners[0].socket.getsockname()[1]
            nursery.start_soon(trio.serve_listeners, self._connection, listeners)
            yield self
            nursery.cancel_scope.cancel()

    def browser(self) -> Browser:
        """Return a new browser."""
        path = f"/push/{len(self.browsers)}-{os.urandom(8).hex()}"
        made = Browser(f"http://{self.host}:{self.port}{path}")
        self.browsers[path] = made
        return made

    async def until(self, is_so: Callable[[], bool], seconds: float = 30) -> None:
        """Wait until something is so, as pushes come. Raises `trio.TooSlowError`."""
        with trio.fail_after(seconds):
            while not is_so():
                await self._moved.wait()

    async def _connection(self, stream: trio.SocketStream) -> None:
        buffer = b""
        async with stream:
            try:
                while True:
                    while b"\r\n\r\n" not in buffer:
                        piece = await stream.receive_some(65_536)
                        if not piece or len(buffer) > _MOST_HEAD:
                            return
                        buffer += piece
                    head, _, buffer = buffer.partition(b"\r\n\r\n")
                    first, *lines = head.decode("latin-1").split("\r\n")
                    headers = {
                        name.lower(): value for name, _, value in (one.partition(": ") for one in lines)
                    }
                    length = int(headers.get("content-length", "0"))
                    while len(buffer) < length:
                        buffer += await stream.receive_some(65_536)
                    body, buffer = buffer[:length], buffer[length:]
                    await stream.send_all(self._answer(first, headers, body))
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                return

    def _answer(self, first: str, headers: Mapping[str, str], body: bytes) -> bytes:
        self.requests += 1
        moved, self._moved = self._moved, trio.Event()
        method, path, _ = first.split(" ")
        browser = self.browsers.get(path)
        status, more = 404, {}
        if method == "POST" and browser is not None:
            status, more = browser.answer, dict(browser.answer_headers)
            if self.is_checking:
                try:
                    received = self._checked(browser, headers, body)
                except (ValueError, KeyError, InvalidSignature, InvalidTag) as error:
                    self.wrong.append(f"{type(error).__name__}: {error}")
                    status = 400
                else:
                    if status == 201:
                        browser.received.append(received)
            self.on_push(browser)
        moved.set()
        told = "".join(f"{name}: {value}\r\n" for name, value in more.items())
        return f"HTTP/1.1 {status} Answered\r\nContent-Length: 0\r\n{told}\r\n".encode()

    def _checked(self, browser: Browser, headers: Mapping[str, str], body: bytes) -> Received:
        claims = verified(headers["authorization"], browser.endpoint, self.key)
        if headers["content-encoding"] != "aes128gcm" or not headers["ttl"].isdecimal():
            raise ValueError("the headers are others")
        topic = headers.get("topic")
        if topic is not None and (len(topic) > 32 or set(topic) & set("+/=")):  # RFC 8030
            raise ValueError("the topic is none")
        plain = decrypted(body, browser.private, browser.auth)
        return Received(dict(headers), json.loads(plain), claims)


def verified(authorization: str, endpoint: str, key: str | None = None) -> Mapping[str, Any]:
    """Return the claims of a header ``Authorization``. Raises `ValueError` or `InvalidSignature`."""
    scheme, _, rest = authorization.partition(" ")
    parts = dict(one.strip().split("=", 1) for one in rest.split(","))
    if scheme != "vapid" or (key is not None and parts["k"] != key):
        raise ValueError("it is signed with another key")
    head, claims, signature = parts["t"].split(".")
    raw = from_base64url(signature)
    r, s = int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big")
    public_key(from_base64url(parts["k"])).verify(
        encode_dss_signature(r, s), f"{head}.{claims}".encode(), ec.ECDSA(hashes.SHA256())
    )
    if json.loads(from_base64url(head)) != {"typ": "JWT", "alg": "ES256"}:
        raise ValueError("it is signed in another way")
    found: Mapping[str, Any] = json.loads(from_base64url(claims))
    parsed = urlsplit(endpoint)
    if found["aud"] != f"{parsed.scheme}://{parsed.netloc}":
        raise ValueError("it is for another service")
    return found


def decrypted(body: bytes, private: ec.EllipticCurvePrivateKey, auth: bytes) -> bytes:
    """Return what a push says, as its browser reads it. Raises `ValueError` or `InvalidTag`."""
    salt, size, length = body[:16], int.from_bytes(body[16:20], "big"), body[20]
    sender, record = body[21 : 21 + length], body[21 + length :]
    if not 17 <= len(record) <= size or len(body) > 4096:  # RFC 8188, section 2
        raise ValueError("the record has another size")
    secret = private.exchange(ec.ECDH(), public_key(sender))
    info = b"WebPush: info\0" + point_of(private.public_key()) + sender
    ikm = _hkdf(auth, info, 32).derive(secret)
    key = _hkdf(salt, b"Content-Encoding: aes128gcm\0", 16).derive(ikm)
    nonce = _hkdf(salt, b"Content-Encoding: nonce\0", 12).derive(ikm)
    plain = AESGCM(key).decrypt(nonce, record, None).rstrip(b"\0")
    if plain[-1:] != b"\2":
        raise ValueError("it is not the last record")
    return plain[:-1]


def _hkdf(salt: bytes, info: bytes, length: int) -> HKDF:
    return HKDF(algorithm=hashes.SHA256(), length=length, salt=salt, info=info)
