"""How long a film or a sound plays, as its own headers say (extension G, `duration`).

It is read from MP4, WebM, WAV, Ogg and MP3, a few hundred bytes of each wherever they stand, and nothing is
decoded.  What the headers say is anybody's word: it is shown, and nothing else hangs on it.
"""

from __future__ import annotations

import math
import struct
from typing import NamedTuple

from teamchat_files.location import Read

LONGEST_MS = 1000 * 60 * 60 * 1000
"""What says that it plays for longer than a thousand hours says nothing."""
_MOST_STEPS = 200  # boxes, chunks or elements that are passed over until the right one comes
_TAIL_BYTES = 64 * 1024  # the longest page of Ogg


async def duration_ms(read: Read, size: int, media_type: str) -> int | None:
    """Return how long a file of `size` bytes plays, in milliseconds; None where that is not known."""
    look = _LOOKS.get(media_type)
    if look is None:
        return None
    try:
        seconds = await look(read, size)
    except (struct.error, ZeroDivisionError, OverflowError, IndexError):
        return None  # It ends in the middle of a header, or says what can't be.
    if seconds is None or not math.isfinite(seconds) or seconds <= 0:
        return None
    milliseconds = round(seconds * 1000)
    return milliseconds if 0 < milliseconds <= LONGEST_MS else None


# MP4 (ISO/IEC 14496-12): boxes in boxes


class _Span(NamedTuple):
    begin: int
    end: int


async def _box(read: Read, within: _Span, wanted: bytes) -> _Span | None:
    """Return where the inside of the first box of a name is."""
    begin, end = within
    for _ in range(_MOST_STEPS):
        head = await read(begin, 16)
        if begin >= end or len(head) < 8:
            return None
        length, name = struct.unpack_from(">I4s", head)
        inside = 8
        if length == 1:
            (length,), inside = struct.unpack_from(">Q", head, 8), 16
        elif length == 0:
            length = end - begin
        if length < inside:
            return None
        if name == wanted:
            return _Span(begin + inside, min(begin + length, end))
        begin += length
    return None


async def _mp4(read: Read, size: int) -> float | None:
    movie = await _box(read, _Span(0, size), b"moov")
    header = None if movie is None else await _box(read, movie, b"mvhd")
    if header is None:
        return None
    head = await read(header.begin, 32)
    form, at = (">IQ", 20) if head[0] == 1 else (">II", 12)
    scale, length = struct.unpack_from(form, head, at)
    return float(length / scale)


# WebM (RFC 8794, RFC 9559): elements in elements

_SEGMENT, _INFO, _SCALE, _DURATION = 0x18538067, 0x1549A966, 0x2AD7B1, 0x4489


def _number(head: bytes, at: int, *, with_mark: bool) -> tuple[int, int]:
    """Return a number of variable length, and how many bytes it takes; -1 for a length that is not known."""
    length = 9 - head[at].bit_length()
    value = int.from_bytes(head[at : at + length], "big")
    if length > 8 or len(head) < at + length:
        raise IndexError
    mark = 1 << (7 * length)
    if with_mark:
        return value, length
    return (-1 if value == 2 * mark - 1 else value - mark), length


async def _element(read: Read, within: _Span, wanted: int) -> _Span | None:
    """Return where the body of the first element of an id is."""
    begin, end = within
    for _ in range(_MOST_STEPS):
        head = await read(begin, 12)
        if begin >= end or len(head) < 2:
            return None
        id_, taken = _number(head, 0, with_mark=True)
        length, more = _number(head, taken, with_mark=False)
        begin += taken + more
        after = end if length < 0 else begin + length
        if id_ == wanted:
            return _Span(begin, min(after, end))
        begin = after
    return None


async def _webm(read: Read, size: int) -> float | None:
    segment = await _element(read, _Span(0, size), _SEGMENT)
    info = None if segment is None else await _element(read, segment, _INFO)
    length = None if info is None else await _element(read, info, _DURATION)
    if info is None or length is None:
        return None
    (units,) = struct.unpack(">f" if length.end - length.begin == 4 else ">d", await _value(read, length))
    scale = await _element(read, info, _SCALE)
    nanoseconds = 1_000_000 if scale is None else int.from_bytes(await _value(read, scale), "big")
    return float(units * nanoseconds / 1e9)


async def _value(read: Read, span: _Span) -> bytes:
    return await read(span.begin, min(span.end - span.begin, 8))


# WAV: chunks of RIFF


async def _wav(read: Read, size: int) -> float | None:
    at, rate = 12, 0
    for _ in range(_MOST_STEPS):
        head = await read(at, 24)
        if len(head) < 8:
            return None
        name, length = struct.unpack_from("<4sI", head)
        if name == b"fmt ":
            (rate,) = struct.unpack_from("<I", head, 16)
        elif name == b"data":
            return float(min(length, size - at - 8) / rate)
        at += 8 + length + length % 2
    return None


# Ogg (RFC 3533) with Vorbis or Opus (RFC 7845): the last page says how many samples there were


async def _ogg(read: Read, size: int) -> float | None:
    head, tail = await read(0, 64), await read(max(0, size - _TAIL_BYTES), _TAIL_BYTES)
    serial, packet = head[14:18], head[27 + head[26] :]
    at = tail.rfind(b"OggS")
    while at >= 0 and tail[at + 14 : at + 18] != serial:
        at = tail.rfind(b"OggS", 0, at)
    if at < 0:
        return None
    (samples,) = struct.unpack_from("<q", tail, at + 6)
    if packet.startswith(b"OpusHead"):
        (skipped,) = struct.unpack_from("<H", packet, 10)
        return float((samples - skipped) / 48_000)
    if packet.startswith(b"\x01vorbis"):
        (rate,) = struct.unpack_from("<I", packet, 12)
        return float(samples / rate)
    return None


# MP3: the first frame, and what its encoder notes in it

_RATES = {3: (44100, 48000, 32000), 2: (22050, 24000, 16000), 0: (11025, 12000, 8000)}
_KILOBITS = {
    3: (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    2: (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
}
_LAYER_3 = 1
_MONO = 3


async def _mp3(read: Read, size: int) -> float | None:
    head, begin = await read(0, 10), 0
    if head.startswith(b"ID3"):
        begin = 10
        for byte in head[6:10]:
            begin = (begin - 10) * 128 + byte + 10
    frame = await read(begin, 256)
    version, layer = frame[1] >> 3 & 3, frame[1] >> 1 & 3
    if frame[0] != 0xFF or frame[1] < 0xE0 or layer != _LAYER_3 or version not in _RATES:
        return None
    rate = _RATES[version][frame[2] >> 2 & 3]
    kilobits = _KILOBITS[3 if version == 3 else 2][frame[2] >> 4]
    is_mono = frame[3] >> 6 == _MONO
    side = (17 if is_mono else 32) if version == 3 else (9 if is_mono else 17)
    noted = frame[4 + side :]
    if noted[:4] in (b"Xing", b"Info") and noted[7] & 1:
        (frames,) = struct.unpack_from(">I", noted, 8)
        return float(frames * (1152 if version == 3 else 576) / rate)
    return float((size - begin) * 8 / (kilobits * 1000))


_LOOKS = {
    **dict.fromkeys(("video/mp4", "audio/mp4", "video/quicktime"), _mp4),
    **dict.fromkeys(("video/webm", "audio/webm", "video/x-matroska"), _webm),
    "audio/wav": _wav,
    "audio/ogg": _ogg,
    "audio/mpeg": _mp3,
}
