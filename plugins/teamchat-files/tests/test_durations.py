"""How long films and sounds play: by the headers of each kind, and whatever stands there."""

from __future__ import annotations

import struct
import wave
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from teamchat_files.durations import LONGEST_MS, duration_ms


async def of(data: bytes, kind: str) -> int | None:
    async def read(offset: int, length: int) -> bytes:
        assert length <= 64 * 1024
        return data[offset : offset + length] if offset >= 0 else b""

    return await duration_ms(read, len(data), kind)


def box(name: bytes, *inside: bytes) -> bytes:
    body = b"".join(inside)
    return struct.pack(">I4s", len(body) + 8, name) + body


def mvhd(scale: int, length: int, *, is_long: bool = False) -> bytes:
    if is_long:
        return box(b"mvhd", struct.pack(">I16xIQ", 1 << 24, scale, length), bytes(80))
    return box(b"mvhd", struct.pack(">I8xII", 0, scale, length), bytes(80))


def mp4(header: bytes, *, is_last: bool = True) -> bytes:
    parts = [box(b"mdat", bytes(100_000)), box(b"moov", box(b"udta", b"x"), header)]
    return box(b"ftyp", b"isom\0\0\0\0") + b"".join(parts if is_last else parts[::-1])


def element(id_: int, body: bytes, length: int | None = None) -> bytes:
    size = length if length is not None else (1 << 28) | len(body)
    return id_.to_bytes((id_.bit_length() + 7) // 8, "big") + size.to_bytes(4, "big") + body


def webm(*info: bytes, length: int | None = None) -> bytes:
    inside = element(0x114D9B74, bytes(50)) + element(0x1549A966, b"".join(info))
    return element(0x1A45DFA3, bytes(20)) + element(0x18538067, inside + bytes(10_000), length)


def wav(seconds: float) -> bytes:
    file = BytesIO()
    with wave.open(file, "wb") as written:
        written.setnchannels(2)
        written.setsampwidth(2)
        written.setframerate(8000)
        written.writeframes(bytes(round(seconds * 8000) * 4))
    return file.getvalue()


def page(serial: int, samples: int, packet: bytes) -> bytes:
    head = struct.pack("<4sBBqIII", b"OggS", 0, 0, samples, serial, 0, 0)
    return head + bytes([1, len(packet)]) + packet


OPUS = b"OpusHead\x01\x02" + struct.pack("<HIhB", 312, 48000, 0, 0)
VORBIS = b"\x01vorbis" + struct.pack("<IBIiii", 0, 2, 44100, 0, 0, 0) + b"\xb8\x01"


def mp3(noted: bytes = b"", *, tag: int = 0) -> bytes:
    """MPEG 1, layer 3, 128 kbit/s, 44,100 Hz, stereo; two seconds without a note of the encoder."""
    id3 = b"ID3\x04\0\0" + bytes([0, 0, tag >> 7, tag & 127]) + bytes(tag) if tag else b""
    return id3 + (b"\xff\xfb\x90\x00" + bytes(32) + noted).ljust(32_000, b"\0")


@pytest.mark.parametrize(
    ("data", "kind", "expected"),
    [
        (mp4(mvhd(1000, 61_500)), "video/mp4", 61_500),
        (mp4(mvhd(44_100, 88_200, is_long=True), is_last=False), "audio/mp4", 2000),
        (mp4(mvhd(0, 1)), "video/mp4", None),
        (mp4(box(b"trak", b"")), "video/mp4", None),
        (webm(element(0x4489, struct.pack(">d", 1234.0))), "video/webm", 1234),
        (
            webm(element(0x2AD7B1, b"\x01\x00\x00"), element(0x4489, struct.pack(">f", 1000.0))),
            "video/webm",
            66,
        ),
        (webm(element(0x4489, struct.pack(">d", 5.0)), length=0x1FFFFFFF), "video/x-matroska", 5),
        (webm(element(0x4489, struct.pack(">d", float("nan")))), "video/webm", None),
        (webm(), "video/webm", None),
        (wav(1.5), "audio/wav", 1500),
        (page(7, 0, OPUS) + page(9, 1, b"other") + page(7, 96_312, b"x"), "audio/ogg", 2000),
        (page(7, 0, VORBIS) + page(7, 44_100, b"x"), "audio/ogg", 1000),
        (page(7, 0, b"speex") + page(7, 44_100, b"x"), "audio/ogg", None),
        (mp3(), "audio/mpeg", 2000),
        (mp3(tag=300), "audio/mpeg", 2000),
        (mp3(b"Xing" + struct.pack(">II", 1, 38 * 100)), "audio/mpeg", round(3800 * 1152 / 44.1)),
        (mp4(mvhd(1, LONGEST_MS)), "video/mp4", None),
        (mp4(mvhd(1000, 61_500)), "image/avif", None),
    ],
)
async def test_it_is_what_the_headers_say(data: bytes, kind: str, expected: Any) -> None:
    assert await of(data, kind) == expected


WHOLE = {
    "video/mp4": mp4(mvhd(1000, 61_500)),
    "video/webm": webm(element(0x4489, struct.pack(">d", 1234.0))),
    "audio/wav": wav(0.01),
    "audio/ogg": page(7, 0, OPUS) + page(7, 96_312, b"x"),
    "audio/mpeg": mp3(b"Xing" + struct.pack(">II", 1, 38)),
}


@given(st.sampled_from(sorted(WHOLE)), st.data())
async def test_whatever_stands_there_it_ends_and_says_a_number_or_nothing(kind: str, data: Any) -> None:
    made = bytearray(WHOLE[kind][:2000])
    for at, byte in data.draw(st.lists(st.tuples(st.integers(0, len(made) - 1), st.integers(0, 255)))):
        made[at] = byte
    found = await of(bytes(made[: data.draw(st.integers(0, len(made)))]), kind)
    assert found is None or 0 < found <= LONGEST_MS
