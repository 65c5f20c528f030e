"""Images: uploaded as base64 in JSON, served as what they are (decisions D-30, D-31).

Where an image may be read is decided in `teamchat.chat`. Here it is made harmless to the page that shows it:
no sniffing, a sandbox without scripts, and SVG as a download unless a script or an ``<img>`` asked for it. A
file name stands for the same bytes for ever, so it is also the ETag.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from teamchat.application import Application
from teamchat.chat.images import StoredImage
from teamchat.model import Caller
from teamchat.web.endpoints import Answer, Section
from teamchat.web.request import Request
from teamchat.web.responses import Stream

if TYPE_CHECKING:
    from teamchat.web.site import Site

section = Section("images")

_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'"
_FOREVER = "private, max-age=31536000, immutable"
_BY_SCRIPT_OR_IMG = frozenset({"empty", "image"})


class Upload(Struct, frozen=True):
    """An image and optionally its thumbnail, in base64; of `filename` only the extension counts."""

    filename: str
    image: str
    thumbnail: str | None = None


class Uploaded(Answer, frozen=True):
    """The name under which the image is kept."""

    filename: str
    success: bool = True


async def _check_channel(app: Application, caller: Caller, channel_id: str) -> None:
    await app.chat.images.check_upload(caller, channel_id)


async def _check_thread(app: Application, caller: Caller, message_id: str) -> None:
    await app.chat.images.check_thread(caller, message_id)


async def _check_conversation(app: Application, caller: Caller, conversation_id: str) -> None:
    await app.chat.images.check_conversation(caller, conversation_id)


@section.endpoint(
    "POST",
    "/channels/:channelId/messages/image",
    scopes=("write", "files"),
    body=Upload,
    answer=Uploaded,
    first=_check_channel,
    upload=True,
)
async def upload_to_channel(app: Application, caller: Caller, channel_id: str, body: Upload) -> Uploaded:
    """Upload an image to a channel."""
    images = app.chat.images
    return Uploaded(
        await images.upload_to_channel(caller, channel_id, body.filename, body.image, body.thumbnail)
    )


@section.endpoint(
    "POST",
    "/messages/:messageId/thread/image",
    scopes=("write", "files"),
    body=Upload,
    answer=Uploaded,
    first=_check_thread,
    upload=True,
)
async def upload_to_thread(app: Application, caller: Caller, message_id: str, body: Upload) -> Uploaded:
    """Upload an image to a thread."""
    images = app.chat.images
    return Uploaded(
        await images.upload_to_thread(caller, message_id, body.filename, body.image, body.thumbnail)
    )


@section.endpoint(
    "POST",
    "/conversations/:conversationId/messages/image",
    scopes=("write", "files"),
    body=Upload,
    answer=Uploaded,
    first=_check_conversation,
    upload=True,
)
async def upload_to_conversation(
    app: Application, caller: Caller, conversation_id: str, body: Upload
) -> Uploaded:
    """Upload an image to a conversation."""
    images = app.chat.images
    return Uploaded(
        await images.upload_to_conversation(
            caller, conversation_id, body.filename, body.image, body.thumbnail
        )
    )


@section.endpoint(
    "GET",
    "/channels/:channelId/messages/image/:filename",
    scopes=("read", "files"),
    answer=bytes,
    query=("size",),
)
async def read_channel_image(
    app: Application,
    site: Site,
    request: Request,
    caller: Caller,
    channel_id: str,
    filename: str,
    size: str | None,
) -> Stream:
    """Read an image of a channel."""
    thumbnail = size == "thumb"
    stored = await app.chat.images.open_in_channel(caller, channel_id, filename, thumbnail=thumbnail)
    return _serve(site, request, stored)


@section.endpoint(
    "GET",
    "/conversations/:conversationId/messages/image/:filename",
    scopes=("read", "files"),
    answer=bytes,
    query=("size",),
)
async def read_conversation_image(
    app: Application,
    site: Site,
    request: Request,
    caller: Caller,
    conversation_id: str,
    filename: str,
    size: str | None,
) -> Stream:
    """Read an image of a conversation (participants)."""
    thumbnail = size == "thumb"
    stored = await app.chat.images.open_in_conversation(
        caller, conversation_id, filename, thumbnail=thumbnail
    )
    return _serve(site, request, stored)


def _serve(site: Site, request: Request, stored: StoredImage) -> Stream:
    headers = {
        "Cache-Control": _FOREVER,
        "Content-Security-Policy": _POLICY,
        "Cross-Origin-Resource-Policy": "cross-origin" if site.headers.others_are_allowed else "same-site",
        "Vary": "Sec-Fetch-Dest",
    }
    if stored.media_type == "image/svg+xml" and _is_opened_as_page(request):
        headers["Content-Disposition"] = "attachment"
    return Stream(stored.chunks, stored.media_type, size=stored.size, headers=headers, etag=stored.filename)


def _is_opened_as_page(request: Request) -> bool:
    return request.headers.get("Sec-Fetch-Dest", "document") not in _BY_SCRIPT_OR_IMG
