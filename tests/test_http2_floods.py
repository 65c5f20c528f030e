"""HTTP/2 heads that never end, or grow a thousand times as large: the connection ends, and little is held."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import trio

from teamchat.testing import DEADLINE
from tests.test_http2 import Client, Slow, connected

HEADERS, CONTINUATION = 1, 9
END_STREAM, END_HEADERS = 1, 4
FRAME_BYTES = 16_000
MOST_BYTES = 8 * 1024 * 1024
"""What may be sent before the end is noticed: most of it lies in the buffers of sockets."""


def frame(kind: int, flags: int, payload: bytes) -> bytes:
    """Return a frame of the first stream (RFC 9113, section 4.1)."""
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + (1).to_bytes(4, "big") + payload


def literal(name: bytes, value: bytes) -> bytes:
    """Return a field that is also put into the table (RFC 7541, section 6.2.1)."""
    low, high = (len(value) - 127) % 128, (len(value) - 127) // 128
    return bytes([0x40, len(name)]) + name + bytes([0x7F, 0x80 | low, high]) + value


async def send(client: Client, data: bytes) -> None:
    await client._stream.send_all(client._h2.data_to_send() + data)


async def test_a_head_that_goes_on_and_on_ends_the_connection(tmp_path: Path) -> None:
    """CVE-2024-27316 and its kind, the CONTINUATION flood."""
    app, sent = Slow(), 0
    async with connected(app, tmp_path) as client, trio.open_nursery() as nursery:
        nursery.start_soon(client.until_dropped)
        await send(client, frame(HEADERS, END_STREAM, b""))
        with suppress(trio.BrokenResourceError), trio.fail_after(DEADLINE):
            while True:
                await send(client, frame(CONTINUATION, 0, literal(b"x", bytes(FRAME_BYTES))))
                sent += FRAME_BYTES
    assert sent < MOST_BYTES
    assert app.most == 0


REQUEST = b"\x82\x87\x84\x41\x01x"  # GET, https, /, and an authority (RFC 7541, appendix A)
LARGE = literal(b"x", b"y" * 4_000)
AGAIN = bytes([0x80 | 62])  # the field that was put into the table last


async def test_a_head_that_becomes_a_thousand_times_as_large_ends_the_connection(tmp_path: Path) -> None:
    """CVE-2016-6581, the HPACK bomb: one large field in the table, and then its number again and again."""
    app = Slow()
    async with connected(app, tmp_path) as client:
        await send(client, frame(HEADERS, END_STREAM | END_HEADERS, REQUEST + LARGE + 12_000 * AGAIN))
        await client.until_dropped()
    assert app.most == 0


async def test_a_head_with_the_same_field_a_few_times_is_served(tmp_path: Path) -> None:
    """So it is the size that the one above is refused for."""
    app = Slow()
    async with connected(app, tmp_path) as client:
        await send(client, frame(HEADERS, END_STREAM | END_HEADERS, REQUEST + LARGE + 3 * AGAIN))
        await app.has(1)
