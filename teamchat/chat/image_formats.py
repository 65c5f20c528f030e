"""Whether bytes are an image that teamchat accepts, judged from the bytes alone (decision D-30).

Nothing here decodes pixels or follows a reference. A raster image is judged by its header, which must state
its dimensions. An SVG is parsed as XML without a document type, and so without entities. Everything is a
plain function that can be called in a thread; long input is processed in slices, so that the thread lets go
of the interpreter in between.
"""

from __future__ import annotations

import binascii
import re
from typing import NamedTuple
from xml.parsers import expat

from teamchat.errors import BadRequest
from teamchat.model import text

MAX_BYTES = 10 * 1_048_576
MAX_PIXELS = 35_000_000

JPEG, PNG, WEBP, SVG = "image/jpeg", "image/png", "image/webp", "image/svg+xml"
MEDIA_TYPES = {"jpg": JPEG, "jpeg": JPEG, "png": PNG, "webp": WEBP, "svg": SVG}

_DATA_URL = re.compile(r"data:[^,]{0,100};base64,", re.IGNORECASE)
_MAX_BASE64 = (MAX_BYTES + 2) // 3 * 4
_BASE64_SLICE = 1 << 20
_XML_SLICE = 1 << 18
_SVG_ROOTS = {"svg", "http://www.w3.org/2000/svg svg"}
_PNG_START = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
# The frame headers of JPEG: ISO/IEC 10918-1, table B.1, without DHT (C4), JPG (C8) and DAC (CC).
_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_ALONE = frozenset(range(0xD0, 0xD9)) | {0x01}


class Dimensions(NamedTuple):
    """A raster image's size in pixels, from its header."""

    width: int
    height: int


def extension(filename: str) -> str:
    """Return the extension of an uploaded file's name, lower-case; only accepted ones pass."""
    text.storable("filename", filename)
    stem, dot, last = filename.rpartition(".")
    if not (stem and dot) or last.lower() not in MEDIA_TYPES:
        raise BadRequest(f"filename must end in one of: {', '.join(MEDIA_TYPES)}.")
    return last.lower()


def decode_base64(field: str, encoded: str) -> bytes:
    """Decode standard base64 (RFC 4648, section 4) with an optional ``data:`` URL prefix, at most 10 MB."""
    prefix = _DATA_URL.match(encoded)
    start = prefix.end() if prefix else 0
    if len(encoded) - start > _MAX_BASE64:
        raise BadRequest(f"{field} is larger than 10 MB.")
    inner_padding = encoded.find("=", start, max(start, len(encoded) - 2)) >= 0
    if inner_padding or (len(encoded) - start) % 4:
        raise BadRequest(f"{field} is not base64.")
    try:
        data = b"".join(
            binascii.a2b_base64(encoded[at : at + _BASE64_SLICE], strict_mode=True)
            for at in range(start, len(encoded), _BASE64_SLICE)
        )
    except ValueError:
        raise BadRequest(f"{field} is not base64.") from None
    if len(data) > MAX_BYTES:
        raise BadRequest(f"{field} is larger than 10 MB.")
    return data


def check_image(data: bytes, extension: str) -> str:
    """Return the media type of an image whose bytes are what its extension says."""
    media_type = MEDIA_TYPES[extension]
    if media_type == SVG:
        if not is_svg(data):
            raise BadRequest("image is not an SVG without a document type.")
    else:
        _check_raster("image", data, media_type)
    return media_type


def check_thumbnail(data: bytes) -> str:
    """Return the media type of a thumbnail: JPG, PNG or WebP, by its own bytes."""
    media_type = raster_type(data)
    if media_type is None:
        raise BadRequest("thumbnail is not a JPG, PNG or WebP image.")
    _check_raster("thumbnail", data, media_type)
    return media_type


def _check_raster(field: str, data: bytes, media_type: str) -> None:
    size = dimensions(data) if raster_type(data) == media_type else None
    if size is None or not (size.width and size.height):
        raise BadRequest(f"{field} is not a {media_type.removeprefix('image/').upper()} image.")
    if size.width * size.height > MAX_PIXELS:
        raise BadRequest(f"{field} has more than {MAX_PIXELS // 1_000_000} million pixels.")


def raster_type(data: bytes) -> str | None:
    """Return the media type that the first bytes claim, or None."""
    if data.startswith(b"\xff\xd8\xff"):
        return JPEG
    if data.startswith(_PNG_START):
        return PNG
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return WEBP
    return None


def dimensions(data: bytes) -> Dimensions | None:
    """Read the dimensions from the header of a JPG, PNG or WebP, or None if there are none."""
    media_type = raster_type(data)
    if media_type == JPEG:
        return _jpeg_dimensions(data)
    if media_type == PNG:
        return _png_dimensions(data)
    return _webp_dimensions(data) if media_type == WEBP else None


def _png_dimensions(data: bytes) -> Dimensions | None:
    if len(data) < 33:
        return None
    return Dimensions(int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big"))


def _jpeg_dimensions(data: bytes) -> Dimensions | None:
    """Walk the marker segments up to the frame header."""
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker in _JPEG_FRAMES:
            height, width = data[at + 5 : at + 7], data[at + 7 : at + 9]
            return Dimensions(int.from_bytes(width, "big"), int.from_bytes(height, "big"))
        if marker == 0xFF:  # Fill bytes may stand before any marker.
            at += 1
        elif marker in _JPEG_ALONE:
            at += 2
        else:
            at += 2 + max(2, int.from_bytes(data[at + 2 : at + 4], "big"))
    return None


def _webp_dimensions(data: bytes) -> Dimensions | None:
    """Read the first chunk: lossy (RFC 6386, section 9.1), lossless or extended (RFC 9649, section 2)."""
    kind, body = data[12:16], data[20:30]
    if kind == b"VP8 " and len(body) == 10 and not body[0] & 1 and body[3:6] == b"\x9d\x01\x2a":
        width, height = int.from_bytes(body[6:8], "little"), int.from_bytes(body[8:10], "little")
        return Dimensions(width & 0x3FFF, height & 0x3FFF)
    if kind == b"VP8L" and len(body) >= 5 and body[0] == 0x2F:
        bits = int.from_bytes(body[1:5], "little")
        return Dimensions((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
    if kind == b"VP8X" and len(body) == 10:
        width, height = int.from_bytes(body[4:7], "little"), int.from_bytes(body[7:10], "little")
        return Dimensions(width + 1, height + 1)
    return None


class _NotSvg(Exception):
    """Leaves the parser at the first thing that an accepted SVG does not have."""


def is_svg(data: bytes) -> bool:
    """Return whether bytes are UTF-8 XML without a document type whose root element is ``svg``."""
    if b"\0" in data:  # Never in UTF-8 XML, always in UTF-16, whose byte order mark the parser would follow.
        return False
    parser = expat.ParserCreate("utf-8", namespace_separator=" ")

    def refuse_doctype(*_: object) -> None:
        raise _NotSvg

    def check_encoding(_version: str, encoding: str | None, _standalone: int) -> None:
        if encoding is not None and encoding.lower() not in {"utf-8", "us-ascii"}:
            raise _NotSvg

    def check_root(name: str, _attributes: object) -> None:
        if name not in _SVG_ROOTS:
            raise _NotSvg
        parser.StartElementHandler = None

    parser.StartDoctypeDeclHandler = refuse_doctype
    parser.EntityDeclHandler = refuse_doctype
    parser.XmlDeclHandler = check_encoding
    parser.StartElementHandler = check_root
    try:
        for at in range(0, len(data), _XML_SLICE):
            parser.Parse(data[at : at + _XML_SLICE], False)
        parser.Parse(b"", True)
    except (_NotSvg, expat.ExpatError):
        return False
    return True
