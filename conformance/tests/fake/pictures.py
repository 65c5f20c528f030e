"""Images (interface, part 4, Images; part 8)."""

from __future__ import annotations

import base64
import binascii
import secrets
from typing import TYPE_CHECKING, Any

from conformance.tests.fake.asking import Ask, Refusal, route, success, unknown
from conformance.tests.fake.channels import the_channel
from conformance.tests.fake.direct import the_conversation
from conformance.tests.fake.messages import the_message
from conformance.tests.fake.model import Picture, now
from conformance.tests.fake.threads import can_have_replies
from conformance.tests.fake.wire import Response

if TYPE_CHECKING:
    from conformance.tests.fake.server import Fake

_MOST_BYTES = 10 * 1024 * 1024
_TYPES = {"jpg": "image/jpeg", "jpeg": "image/jpeg", "png": "image/png", "webp": "image/webp",
          "svg": "image/svg+xml"}  # fmt: skip


@route("POST", "/channels/:channelId/messages/image")
def upload(fake: Fake, ask: Ask) -> dict[str, Any]:
    return _stored(fake, ask, the_channel(fake, ask).id)


@route("POST", "/messages/:messageId/thread/image")
def upload_to_thread(fake: Fake, ask: Ask) -> dict[str, Any]:
    parent = the_message(fake, ask)
    can_have_replies(fake, parent)
    return _stored(fake, ask, parent.place)


@route("POST", "/conversations/:conversationId/messages/image")
def upload_to_conversation(fake: Fake, ask: Ask) -> dict[str, Any]:
    return _stored(fake, ask, the_conversation(fake, ask).id)


@route("GET", "/channels/:channelId/messages/image/:filename")
def image(fake: Fake, ask: Ask) -> Response:
    return _served(fake, ask, the_channel(fake, ask).id)


@route("GET", "/conversations/:conversationId/messages/image/:filename")
def direct_image(fake: Fake, ask: Ask) -> Response:
    place = the_conversation(fake, ask, but_anyone=fake.has("outsiders-see-direct-images"))
    return _served(fake, ask, place.id)


def _stored(fake: Fake, ask: Ask, place: str) -> dict[str, Any]:
    extension = ask.text("filename").rpartition(".")[2].lower()
    if extension not in _TYPES and not fake.has("images-of-any-format"):
        raise Refusal(400, "filename must end in jpg, png, webp or svg")
    data = _decoded(fake, ask, "image")
    if extension in _TYPES and type_of(data) != _TYPES[extension] and not fake.contrary:
        raise Refusal(400, "image is of another format than its name says")
    thumbnail = None if ask.body.get("thumbnail") is None else _decoded(fake, ask, "thumbnail")
    name = f"{now()}-{secrets.token_hex(8)}.{extension}"
    if fake.has("image-name-kept"):
        name = ask.text("filename")
    fake.store.pictures[name] = Picture(place, data, None if fake.has("thumbnail-lost") else thumbnail)
    return success(filename=name)


def _decoded(fake: Fake, ask: Ask, field: str) -> bytes:
    text = ask.text(field)
    if text.startswith("data:"):
        text = text.partition(",")[2]
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise Refusal(400, f"{field} must be base64") from None
    if len(data) > _MOST_BYTES and not fake.has("images-of-any-size"):
        raise Refusal(413 if fake.contrary else 400, f"{field} is larger than 10 MB")
    if fake.has("images-small") and len(data) > _MOST_BYTES // 2:
        raise Refusal(400, f"{field} is larger than 5 MB")
    return data


def _served(fake: Fake, ask: Ask, place: str) -> Response:
    found = fake.store.pictures.get(ask.params["filename"])
    if found is None or (found.place != place and not fake.has("images-of-any-place")):
        unknown("image")
    wants_thumbnail = ask.request.asked("size") == "thumb"
    data = found.thumbnail if wants_thumbnail and found.thumbnail is not None else found.data
    media_type = "application/octet-stream" if fake.has("images-without-type") else type_of(data)
    if fake.has("thumbnails-are-jpeg") and wants_thumbnail:
        media_type = "image/jpeg"
    if fake.has("images-cut"):
        data = data[:-1]
    headers = {"Content-Type": media_type}
    if not fake.contrary:
        headers |= {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox"}
        if not fake.has("images-of-no-origin"):
            headers["Cross-Origin-Resource-Policy"] = "same-site"
    return Response(200, data, headers)


def type_of(data: bytes) -> str:
    """Return the media type of an image by how it begins."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return "image/svg+xml" if b"<svg" in data[:1024].lower() else "application/octet-stream"
