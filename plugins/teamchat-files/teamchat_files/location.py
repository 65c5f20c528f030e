"""Where a photograph was taken, taken out of it (G-8).

Found in JPEG, PNG and WebP: the GPS directory of EXIF, the location in XMP, and in JPEG that of IPTC too.
What is found is overwritten in place, so the file keeps its size and its pixels keep every bit.  Not looked
into are films, HEIC and AVIF, the makers' own notes in EXIF, and what is to be seen in the picture.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from typing import NamedTuple

import trio

Read = Callable[[int, int], Awaitable[bytes]]
"""Returns bytes of the file from an offset on, as many as are asked for or as there are."""

PIECE_BYTES = 64 * 1024
MOST_CHUNK_BYTES = 1024 * 1024
"""Larger pieces of metadata are blanked as a whole where they may hold a location."""
MOST_CHUNKS = 10_000
"""After so many, a PNG or WebP is not looked into further: no camera or program makes more."""
MOST_SEGMENTS = 1000
"""After so many of metadata the same holds of a JPEG: each may say that it reaches over the next ones."""


class Patch(NamedTuple):
    """Bytes that take the place of as many at `offset`."""

    offset: int
    data: bytes


async def location_patches(read: Read, size: int, media_type: str) -> list[Patch]:
    """Return what has to be overwritten so that a file of `size` bytes tells no location; in order."""
    look = {"image/jpeg": _jpeg, "image/png": _png, "image/webp": _webp}.get(media_type)
    return [] if look is None else await look(read, size)


async def patched(chunks: AsyncIterator[bytes], patches: Sequence[Patch]) -> AsyncIterator[bytes]:
    """Yield the bytes of a file as they are once the patches are made."""
    begin = 0
    for_now = list(patches)
    async for chunk in chunks:
        end = begin + len(chunk)
        while for_now and for_now[0].offset + len(for_now[0].data) <= begin:
            del for_now[0]
        touching = [patch for patch in for_now if patch.offset < end]
        if touching:
            changed = bytearray(chunk)
            for offset, data in touching:
                first, last = max(offset, begin), min(offset + len(data), end)
                changed[first - begin : last - begin] = data[first - offset : last - offset]
            chunk = bytes(changed)
        yield chunk
        begin = end


_EXIF = b"Exif\0\0"
_XMP = b"http://ns.adobe.com/xap/1.0/\0"
_MORE_XMP = b"http://ns.adobe.com/xmp/extension/\0"
_IPTC = b"Photoshop 3.0\0"
_MARKS = {_EXIF: b"\xff\xe1", _XMP: b"\xff\xe1", _MORE_XMP: b"\xff\xe1", _IPTC: b"\xff\xed"}
_MARK = re.compile(b"|".join(re.escape(mark) for mark in _MARKS))
_BEFORE = 4
_LONGEST = max(map(len, _MARKS))


async def _jpeg(read: Read, size: int) -> list[Patch]:
    """Look at every segment of metadata, also those of further pictures in the same file."""
    patches: list[Patch] = []
    at, kept, count = 0, b"", 0
    while at < size:
        piece = await read(at, PIECE_BYTES)
        if not piece:
            break
        window = kept + piece
        begin = at - len(kept)
        for found in _MARK.finditer(window):
            segment = window[found.start() - _BEFORE : found.start()] if found.start() >= _BEFORE else b""
            if segment[:2] != _MARKS[found[0]]:
                continue
            offset = begin + found.start()
            length = int.from_bytes(segment[2:], "big") - 2
            if (count := count + 1) > MOST_SEGMENTS:
                return patches
            last = patches[-1] if patches else Patch(0, b"")
            inside = offset - last.offset
            if inside >= len(last.data):
                content = await read(offset, min(length, size - offset))
                if (changed := _segment(found[0], content)) != content:
                    patches.append(Patch(offset, changed))
            elif inside > 0:  # Of a picture within the metadata, which has some of its own.
                patches[-1] = Patch(last.offset, _nested(found[0], last.data, inside, length))
                await trio.lowlevel.checkpoint()
        at += len(piece)
        # A mark may lie across two pieces; one that is seen again is not changed again.
        kept = window[-(_BEFORE + _LONGEST - 1) :]
    return patches


def _nested(mark: bytes, data: bytes, begin: int, length: int) -> bytes:
    """Return a segment with one changed that stands in it, unless what it was in is blank by now."""
    content = data[begin : begin + length]
    if not content.startswith(mark):
        return data
    return data[:begin] + _segment(mark, content) + data[begin + len(content) :]


def _segment(mark: bytes, content: bytes) -> bytes:
    body = content[len(mark) :]
    if mark == _EXIF:
        return mark + without_gps(body)
    if mark == _XMP:
        return mark + _without_location(body)
    if mark == _IPTC:
        return mark + _without_iptc(body)
    # The rest of XMP that is too long for one segment: a property may lie across two.
    return mark + body[:40] + b" " * len(body[40:]) if _PLACES.search(body) else content


# Records of IPTC: location code and name, city, sublocation, state, and the country's code and name.
_IPTC_PLACES = re.compile(rb"\x1c\x02[\x1a\x1b\x5a\x5c\x5f\x64\x65]([\0-\x7f].)", re.DOTALL)


def _without_iptc(content: bytes) -> bytes:
    made = bytearray(content)
    for found in _IPTC_PLACES.finditer(content):
        length = min(int.from_bytes(found[1], "big"), len(content) - found.end())
        made[found.end() : found.end() + length] = b" " * length
    return bytes(made)


async def _png(read: Read, size: int) -> list[Patch]:
    patches: list[Patch] = []
    at = 8
    for _ in range(MOST_CHUNKS):
        head = await read(at, 8)
        if len(head) < 8 or head[4:] == b"IEND":
            break
        length, kind = int.from_bytes(head[:4], "big"), head[4:]
        if kind in (b"eXIf", b"iTXt", b"zTXt", b"tEXt") and at + 12 + length <= size:
            content = await _whole(read, at + 8, length)
            made = kind, content
            if kind == b"eXIf":
                made = kind, _exif(content) if content else bytes(length)
            elif content is None or _may_tell(content):
                made = _text_chunk(kind, content, length)
            if made != (kind, content):
                new_kind, data = made
                assert data is not None  # noqa: S101
                checksum = zlib.crc32(new_kind + data).to_bytes(4, "big")
                patches.append(Patch(at + 4, new_kind + data + checksum))
        at += 12 + length
    return patches


_TEXT_XMP = b"XML:com.adobe.xmp\0"


def _may_tell(content: bytes) -> bool:
    keyword = content.partition(b"\0")[0].lower()
    if keyword.startswith((b"raw profile type icc", b"raw profile type icm")):
        return False
    return keyword == b"xml:com.adobe.xmp" or keyword.startswith(b"raw profile type ")


def _text_chunk(kind: bytes, content: bytes | None, length: int) -> tuple[bytes, bytes]:
    """Take the location out of XMP; what is compressed or in hexadecimal digits goes as a whole."""
    if content is not None and kind == b"iTXt" and content.startswith(_TEXT_XMP + b"\0\0"):
        return kind, _without_location(content)
    return b"tEXt", b"Comment\0".ljust(length)[:length]


async def _webp(read: Read, size: int) -> list[Patch]:
    patches: list[Patch] = []
    at = 12
    for _ in range(MOST_CHUNKS):
        head = await read(at, 8)
        if len(head) < 8:
            break
        kind, length = head[:4], int.from_bytes(head[4:], "little")
        if kind in (b"EXIF", b"XMP ") and at + 8 + length <= size:
            content = await _whole(read, at + 8, length)
            if content is None:
                patches += [Patch(at + 8, bytes(length))]
            else:
                changed = _exif(content) if kind == b"EXIF" else _without_location(content)
                if changed != content:
                    patches.append(Patch(at + 8, changed))
        at += 8 + length + length % 2
    return patches


async def _whole(read: Read, offset: int, length: int) -> bytes | None:
    """Return so many bytes, or None if they are too many to look at."""
    if length > MOST_CHUNK_BYTES:
        return None
    pieces = []
    while length > 0 and (piece := await read(offset, min(length, PIECE_BYTES))):
        pieces.append(piece)
        offset, length = offset + len(piece), length - len(piece)
    return b"".join(pieces)


def _exif(content: bytes) -> bytes:
    """Programs put JPEG's mark before the EXIF of WebP and PNG too."""
    if content.startswith(_EXIF):
        return _EXIF + without_gps(content[len(_EXIF) :])
    return without_gps(content)


_GPS = 0x8825
_POINTERS = (0x8769, 0x014A)
_BYTES_OF = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4}
_MOST_DIRECTORIES = 32
_MOST_ENTRIES = 1000  # in all of them: a camera writes a hundred, and whoever sends one may write anything


def without_gps(tiff: bytes) -> bytes:
    """Return EXIF (TIFF 6.0) without its GPS directory, at the same length; the same if there is none."""
    order = {b"II": "little", b"MM": "big"}.get(tiff[:2])
    if order is None:
        return tiff
    made = _Exif(bytearray(tiff), order)
    made.clean()
    return bytes(made.data)


class _Exif:
    def __init__(self, data: bytearray, order: str) -> None:
        self.data = data
        self._order = order
        self._left = _MOST_ENTRIES

    def clean(self) -> None:
        """Follow the directories from the first on; each is looked at once."""
        waiting, seen = [self._number(4, 4)], set[int]()
        doomed: list[int] = []
        while waiting and len(seen) < _MOST_DIRECTORIES:
            at = waiting.pop()
            if at in seen or not 8 <= at <= len(self.data) - 2:
                continue
            seen.add(at)
            waiting.append(self._number(at + 2 + 12 * self._count(at), 4))
            for entry in reversed(list(self._entries(at))):
                tag, value = self._number(entry, 2), self._number(entry + 8, 4)
                if tag in _POINTERS:
                    waiting.append(value)
                elif tag == _GPS:
                    doomed.append(value)
                    self._remove(at, entry)
        # After the walk: one of them may point into the way.
        for at in doomed:
            self._blank(at)

    def _entries(self, at: int) -> Iterator[int]:
        for number in range(self._count(at)):
            entry = at + 2 + 12 * number
            if entry + 12 > len(self.data) or not self._left:
                return
            self._left -= 1
            yield entry

    def _count(self, at: int) -> int:
        return min(self._number(at, 2), _MOST_ENTRIES)

    def _blank(self, at: int) -> None:
        """Zero a directory with all that its entries point to."""
        if not 8 <= at <= len(self.data) - 2:
            return
        entries = list(self._entries(at))
        for entry in entries:
            length = _BYTES_OF.get(self._number(entry + 2, 2), 1) * self._number(entry + 4, 4)
            if length > 4:
                self._zero(self._number(entry + 8, 4), length)
        self._zero(at, 2 + 12 * len(entries))

    def _remove(self, at: int, entry: int) -> None:
        """Take an entry out of its directory: those behind it move up, and so does the link to the next."""
        count = self._count(at)
        end = min(at + 2 + 12 * count + 4, len(self.data))
        self.data[entry:end] = self.data[entry + 12 : end] + bytes(12)
        self.data[at : at + 2] = (count - 1).to_bytes(2, self._order)  # type: ignore[arg-type]

    def _zero(self, at: int, length: int) -> None:
        # Not over the head, by which a reader finds all the rest.
        first, last = max(at, 8), min(at + length, len(self.data))
        if first < last:
            self.data[first:last] = bytes(last - first)

    def _number(self, at: int, length: int) -> int:
        return int.from_bytes(self.data[at : at + length], self._order)  # type: ignore[arg-type]


# The local names of properties that tell a place: of EXIF, of Photoshop and of IPTC.
_NAMES = (
    rb"(?:GPS[A-Za-z]+|City|State|Country(?:Name|Code)?|Location(?:Created|Shown|Name|Id)?|Sublocation"
    rb"|ProvinceState|WorldRegion)"
)
_PLACES = re.compile(rb":" + _NAMES + rb"\b")
_ATTRIBUTE = re.compile(rb"(?<![\w.-])[\w.-]{1,64}:" + _NAMES + rb"\s*=\s*(?:\"[^\"<]*\"|'[^'<]*')")
_ELEMENT_BEGIN = re.compile(rb"<([\w.-]{1,64}:" + _NAMES + rb")(?=[\s/>])[^<>]*>")


def _without_location(xmp: bytes) -> bytes:
    """Return XMP with spaces where properties told a location."""
    if not _PLACES.search(xmp):
        return xmp
    made = bytearray(xmp)
    for found in _ATTRIBUTE.finditer(xmp):
        made[found.start() : found.end()] = b" " * len(found[0])
    done = 0
    for found in _ELEMENT_BEGIN.finditer(xmp):
        if found.start() < done:
            continue
        end = found.end()
        if not found[0].endswith(b"/>"):
            closing = re.compile(rb"</" + re.escape(found[1]) + rb"\s*>").search(xmp, end)
            end = closing.end() if closing else len(xmp)
        made[found.start() : end] = b" " * (end - found.start())
        done = end
    return bytes(made)
