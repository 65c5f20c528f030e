"""Images come in bounded and go out harmless (decisions D-30, D-31)."""

from __future__ import annotations

import base64
import struct
import zlib
from functools import partial
from typing import Any

import pytest
import trio
import trio.testing

from teamchat.web import app as web_app
from tests.web.client import Client
from tests.web.conftest import World

PATIENCE = 10  # seconds
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"></svg>'


def png(padding: int = 0) -> bytes:
    """Return a PNG of one pixel, with `padding` bytes in a chunk that nobody reads."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    return (
        b"\x89PNG\r\n\x1a\n"
        + head
        + chunk(b"IDAT", zlib.compress(b"\0\0"))
        + chunk(b"teSt", bytes(padding))
        + chunk(b"IEND", b"")
    )


def upload(data: bytes, name: str = "a.png", thumbnail: bytes | None = None) -> dict[str, Any]:
    body = {"filename": name, "image": base64.b64encode(data).decode()}
    return body if thumbnail is None else body | {"thumbnail": base64.b64encode(thumbnail).decode()}


async def uploaded(world: World, data: bytes, name: str = "a.png", thumbnail: bytes | None = None) -> str:
    place = f"/channels/{await world.channel()}/messages/image"
    answer = await world.bob.ok("POST", place, upload(data, name, thumbnail))
    assert answer["success"] is True
    return f"{place}/{answer['filename']}"


async def test_d31_an_image_is_served_in_pieces_as_what_it_is(world: World) -> None:
    data = png(5_000)
    path = await uploaded(world, data)
    answer = await world.eve.call("GET", path)
    assert (answer.status, answer.body) == (200, data)
    assert answer.messages > 5
    headers = answer.headers
    assert headers["content-type"] == "image/png"
    assert headers["content-length"] == str(len(data))
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["content-security-policy"] == "sandbox; default-src 'none'; style-src 'unsafe-inline'"
    assert headers["cross-origin-resource-policy"] == "same-site"
    assert headers["cache-control"] == "private, max-age=31536000, immutable"
    assert "content-disposition" not in headers
    assert {"Origin", "Sec-Fetch-Dest"} <= set(answer.all("vary"))
    head = await world.eve.call("HEAD", path)
    assert (head.status, head.body, head.raw_headers) == (200, b"", answer.raw_headers)


@pytest.mark.slow
async def test_d31_other_origins_may_show_images_where_they_are_allowed(world: World) -> None:
    path = await uploaded(world, png())
    client = Client(world.rebuilt(allowed_origins=["https://other.example"]), world.bob.token)
    assert (await client.call("GET", path)).headers["cross-origin-resource-policy"] == "cross-origin"


@pytest.mark.parametrize("shape", ["{}", "W/{}", '"other", {}', "*"])
async def test_d31_an_image_the_client_has_is_not_sent_again(world: World, shape: str) -> None:
    path = await uploaded(world, png())
    etag = (await world.bob.call("GET", path)).headers["etag"]
    answer = await world.bob.call("GET", path, headers=[("if-none-match", shape.format(etag))])
    assert (answer.status, answer.body, answer.headers["etag"]) == (304, b"", etag)
    assert "content-type" not in answer.headers
    other = await world.bob.call("GET", path, headers=[("if-none-match", '"other"')])
    assert other.status == 200


class Opened:
    """What a store has opened: chunks of any form, closed by whoever asked for them."""

    def __init__(self, chunks: list[Any]) -> None:
        self.chunks = iter(chunks)
        self.is_closed = False

    def __aiter__(self) -> Opened:
        return self

    async def __anext__(self) -> Any:
        for chunk in self.chunks:
            return chunk
        raise StopAsyncIteration

    async def aclose(self) -> None:
        self.is_closed = True


@pytest.mark.parametrize(("method", "known"), [("GET", False), ("GET", True), ("HEAD", False)])
async def test_what_the_store_opened_is_closed_also_when_nothing_of_it_is_sent(
    world: World, monkeypatch: pytest.MonkeyPatch, method: str, known: bool
) -> None:
    path = await uploaded(world, png())
    opened = Opened([b"first", bytearray(b", "), memoryview(b"second"), type("Bytes", (bytes,), {})(b".")])

    async def get(_: str) -> Opened:
        return opened

    monkeypatch.setattr(world.images, "get", get)
    headers = [("if-none-match", "*")] if known else []
    answer = await world.bob.call(method, path, headers=headers)
    assert answer.body == (b"first, second." if method == "GET" and not known else b"")
    assert opened.is_closed


@pytest.mark.parametrize(
    ("destination", "attached"),
    [(None, True), ("document", True), ("iframe", True), ("image", False), ("empty", False)],
)
async def test_d31_svg_is_a_download_unless_a_script_or_an_image_asks(
    world: World, destination: str | None, attached: bool
) -> None:
    path = await uploaded(world, SVG, "a.svg")
    headers = [] if destination is None else [("sec-fetch-dest", destination)]
    answer = await world.bob.call("GET", path, headers=headers)
    assert answer.headers["content-type"] == "image/svg+xml"
    assert (answer.headers.get("content-disposition") == "attachment") is attached


async def test_d31_the_thumbnail_or_else_the_image(world: World) -> None:
    image, thumbnail = png(100), png(1)
    path = await uploaded(world, image, thumbnail=thumbnail)
    full, small = await world.bob.call("GET", path), await world.bob.call("GET", f"{path}?size=thumb")
    assert (full.body, small.body) == (image, thumbnail)
    assert full.headers["etag"] != small.headers["etag"]
    alone = await uploaded(world, image)
    assert (await world.bob.call("GET", f"{alone}?size=thumb")).body == image
    (await world.bob.call("GET", f"{path}?size=thumb&size=full")).problem(400)


async def test_an_image_is_404_elsewhere_and_401_without_a_token(world: World) -> None:
    path = await uploaded(world, png())
    (await world.nobody.call("GET", path)).problem(401)
    (await world.bob.call("GET", path.replace(".png", ".jpg"))).problem(404)
    (await world.bob.call("GET", path.replace("/channels/", "/channels/x"))).problem(404)


async def test_d30_ten_mib_are_taken_and_a_byte_more_is_not(world: World) -> None:
    place = f"/channels/{await world.channel()}/messages/image"
    most = 10 * 1024 * 1024 - len(png())
    assert await world.bob.ok("POST", place, upload(png(most)))
    (await world.bob.call("POST", place, upload(png(most + 1)))).problem(400)


async def test_d07a_an_upload_over_32_mib_is_413_and_unread(world: World) -> None:
    place = f"/channels/{await world.channel()}/messages/image"
    answer = await world.bob.call("POST", place, pieces=[bytes(1024 * 1024)] * 33)
    answer.problem(413)
    assert answer.pulled == 0


async def test_nothing_of_an_upload_is_read_before_its_place_is_checked(world: World) -> None:
    for path in (
        "/channels/x/messages/image",
        "/messages/x/thread/image",
        "/conversations/dm:x/messages/image",
    ):
        answer = await world.bob.call("POST", path, pieces=[b"x" * 1000] * 10)
        answer.problem(404)
        assert answer.pulled == 0


class SlowStore:
    """An image store that keeps nothing before it is told to."""

    def __init__(self) -> None:
        self.go = trio.Event()
        self.at_work = 0

    async def put(self, key: str, data: bytes) -> None:
        self.at_work += 1
        await self.go.wait()


async def test_few_uploads_are_worked_on_at_once_and_a_long_wait_is_503(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web_app, "UPLOAD_WAIT_SECONDS", 0.05)
    slow = SlowStore()
    monkeypatch.setattr(world.images, "put", slow.put)
    place = f"/channels/{await world.channel()}/messages/image"
    async with trio.open_nursery() as nursery:
        for _ in range(web_app.UPLOADS_AT_ONCE):
            nursery.start_soon(Client(world.site, world.bob.token).ok, "POST", place, upload(png()))
        with trio.fail_after(PATIENCE):
            while slow.at_work < web_app.UPLOADS_AT_ONCE:
                await trio.lowlevel.checkpoint()
        answer = await world.eve.call("POST", place, upload(png()))
        answer.problem(503)
        assert answer.headers["retry-after"]
        slow.go.set()
    assert await world.eve.ok("POST", place, upload(png()))


async def test_uploads_that_do_not_arrive_stop_no_others(world: World) -> None:
    place = f"/channels/{await world.channel()}/messages/image"
    async with trio.open_nursery() as nursery:
        for _ in range(5 * web_app.UPLOADS_AT_ONCE):
            stalling = partial(Client(world.site, world.bob.token).call, stalls=True, announce=False)
            nursery.start_soon(partial(stalling, "POST", place, pieces=[b"{" + bytes(20_000)]))
        await trio.testing.wait_all_tasks_blocked()
        for client in (world.bob, world.eve):
            assert await client.ok("POST", place, upload(png()))
        nursery.cancel_scope.cancel()
    assert world.site.room_for_bodies.held == 0


@pytest.mark.parametrize("end", ["signed out", "removed"])
async def test_an_upload_ends_with_its_senders_session(
    world: World, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("teamchat.web.bodies.CHECK_SECONDS", 0)
    place = f"/channels/{await world.channel()}/messages/image"
    me = (await world.eve.ok("GET", "/auth/me"))["user"]["id"]

    async def leave() -> None:
        if end == "removed":
            await world.admin.ok("DELETE", f"/users/{me}")
        else:
            await world.eve.ok("DELETE", "/auth/sessions")

    pulled = 0

    async def receive() -> dict[str, Any]:
        nonlocal pulled
        pulled += 1
        if pulled == 3:
            await leave()
        assert pulled < 10, "the server went on reading"
        return {"type": "http.request", "body": b"{", "more_body": True}

    status = await posted(world.site, place, world.eve.token, receive)
    assert (status, pulled) == (401, 3)


async def posted(site: Any, path: str, token: str | None, receive: Any) -> int:
    """Send a request whose body comes from `receive`, and return the status."""
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "scheme": "http",
        "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "",
        "headers": [(b"authorization", f"Bearer {token}".encode())],
        "client": ("192.0.2.7", 50000), "server": None, "extensions": {}, "state": {},
    }  # fmt: skip
    await site(scope, receive, send)
    return int(sent[0]["status"])
