"""The headers of tus 1.0 (https://tus.io/protocols/resumable-upload), read strictly."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from email.utils import formatdate
from typing import NamedTuple

from teamchat import BadRequest, PreconditionFailed, UnsupportedMedia
from teamchat.web import Request
from teamchat_files.names import file_name

VERSION = "1.0.0"
EXTENSIONS = "creation,creation-with-upload,expiration,checksum,termination"
ALGORITHMS = "sha1,sha256"
CONTENT_TYPE = "application/offset+octet-stream"

_NUMBER = re.compile(r"[0-9]{1,15}")
_MOST_METADATA = 8 * 1024
_MOST_TYPE = 255


class Metadata(NamedTuple):
    """What ``Upload-Metadata`` says of a file: the place it is for, its name, and what type it may be."""

    place_id: str
    filename: str
    filetype: str


class Checksum(NamedTuple):
    """What ``Upload-Checksum`` says of the bytes of one request."""

    algorithm: str
    digest: bytes

    def hasher(self) -> hashlib._Hash:
        """Return what finds the digest of what arrives."""
        return hashlib.new(self.algorithm, usedforsecurity=False)


class OtherVersion(PreconditionFailed):
    """The client speaks another version of tus."""

    def __init__(self) -> None:
        super().__init__(f"Tus-Resumable must be {VERSION}.")


def check_version(request: Request) -> None:
    """Raise `OtherVersion` unless the request says that it is of tus 1.0."""
    if request.headers.get("Tus-Resumable") != VERSION:
        raise OtherVersion


def length(request: Request) -> int:
    """Return how large the file will be, in bytes. Raises `BadRequest`; it can't be told later."""
    if request.headers.get("Upload-Defer-Length") is not None:
        raise BadRequest("Upload-Length is missing; it can't be given later.")
    return _number(request, "Upload-Length")


def offset(request: Request) -> int:
    """Return from where on the request brings bytes. Raises `BadRequest`."""
    return _number(request, "Upload-Offset")


def check_type(request: Request, *, is_optional: bool) -> None:
    """Raise `UnsupportedMedia` for a body that is no part of a file."""
    given = request.headers.get("Content-Type")
    if is_optional and given is None and request.body.announced is None:
        return
    if (given or "").partition(";")[0].strip().lower() != CONTENT_TYPE:
        raise UnsupportedMedia(f"The body must be of the type {CONTENT_TYPE}.")


def checksum(request: Request) -> Checksum | None:
    """Return the checksum of the body, if there is one. Raises `BadRequest` for one that can't be checked."""
    given = request.headers.get("Upload-Checksum")
    if given is None:
        return None
    algorithm, _, encoded = given.strip().partition(" ")
    if algorithm not in ALGORITHMS.split(","):
        raise BadRequest(f"Upload-Checksum must be of one of: {ALGORITHMS}.")
    digest = _decoded(encoded.strip(), "Upload-Checksum")
    if len(digest) != hashlib.new(algorithm, usedforsecurity=False).digest_size:
        raise BadRequest("Upload-Checksum is not of the length that its algorithm has.")
    return Checksum(algorithm, digest)


def metadata(request: Request) -> Metadata:
    """Return what is said of the file. Raises `BadRequest`.

    A name with control characters is refused, and so is one that is empty or longer than 255 characters.
    """
    given = ",".join(request.headers.getlist("Upload-Metadata"))
    if len(given) > _MOST_METADATA:
        raise BadRequest("Upload-Metadata is too long.")
    found: dict[str, str] = {}
    for pair in given.split(",") if given.strip() else []:
        name, _, encoded = pair.strip().partition(" ")
        if name in found:
            raise BadRequest("Upload-Metadata names something twice.")
        if name in {"placeId", "filename", "filetype"}:
            found[name] = _text(_decoded(encoded.strip(), "Upload-Metadata"))
    for name in ("placeId", "filename"):
        if not found.get(name):
            raise BadRequest(f"Upload-Metadata does not say {name}.")
    filetype = found.get("filetype", "")
    if len(filetype) > _MOST_TYPE or not filetype.isprintable():
        filetype = ""  # A hint, and no more.
    return Metadata(found["placeId"], file_name(found["filename"]), filetype)


def expires(time_ms: int) -> str:
    """Return the value of ``Upload-Expires`` (RFC 9110, section 5.6.7)."""
    return formatdate(time_ms / 1000, usegmt=True)


def _number(request: Request, name: str) -> int:
    values = request.headers.getlist(name)
    if len(values) != 1 or not _NUMBER.fullmatch(values[0].strip()):
        raise BadRequest(f"{name} must be given once, as a whole number.")
    return int(values[0])


def _decoded(encoded: str, name: str) -> bytes:
    try:
        return base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        raise BadRequest(f"{name} is not base64.") from None


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise BadRequest("Upload-Metadata is not UTF-8.") from None
