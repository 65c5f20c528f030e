"""The records of an export, and where they come from.

Field names and units are those of the interface: camelCase, times in epoch milliseconds.  Nothing here is
secret: no password, no token, no session.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Protocol

from msgspec import Meta, Struct, field

FORMAT = "teamchat-export"
VERSION = 1
HEAD = "export.json"
Time = Annotated[int, Meta(ge=0, lt=2**48)]
"""Epoch milliseconds that an id can tell (RFC 9562, section 5.7)."""
Size = Annotated[int, Meta(ge=0, lt=2**48)]


class Head(Struct, frozen=True, rename="camel"):
    """What the export is, and how much of what is in it."""

    format: str
    version: int
    teamchat: str
    exported_at: int
    server_name: str | None = None
    counts: dict[str, int] = field(default_factory=dict)


class Portable(Struct, frozen=True, kw_only=True):
    """A record. `place` says where it stood in what it was made from, for the report of an import."""

    place: str = ""


class PortableUser(Portable, frozen=True, rename="camel", omit_defaults=True):
    """A user; one who is gone (`removed_at`) or unknown has no email, and is there as an author alone."""

    id: str
    user_name: str
    email: str = ""
    is_admin: bool = False
    created_at: Time = 0
    removed_at: Time | None = None


class PortableChannel(Portable, frozen=True, rename="camel", omit_defaults=True):
    """A channel."""

    id: str
    name: str
    created_at: Time
    created_by: str = ""
    updated_at: Time | None = None


class PortableConversation(Portable, frozen=True, rename="camel", omit_defaults=True):
    """A conversation of two users."""

    id: str
    participants: tuple[str, str]
    created_at: Time


class PortableAuthor(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Who wrote a message. A bot is known by its name alone."""

    id: str
    user_name: str
    is_bot: bool = False


class PortableMessage(Portable, frozen=True, rename="camel", omit_defaults=True):
    """A message of a channel, a thread (`thread_id`) or a conversation; `images` are file names."""

    id: str
    channel_id: str
    author: PortableAuthor
    content: str
    created_at: Time
    updated_at: Time | None = None
    thread_id: str | None = None
    reactions: Mapping[str, Sequence[str]] = {}
    images: Sequence[str] = ()


class PortableImage(Portable, frozen=True, rename="camel", omit_defaults=True):
    """An image; its bytes are in the file of its name, a thumbnail's in ``thumb-<filename>``."""

    filename: str
    channel_id: str
    uploaded_by: str
    created_at: Time
    media_type: str
    size: Size
    thumbnail_type: str | None = None
    thumbnail_size: Size | None = None


class PortableWebhook(Struct, frozen=True, rename="camel"):
    """A webhook, without its token."""

    id: str
    name: str
    channel_id: str
    created_at: Time
    created_by: str


class Source(Protocol):
    """Where records come from. Each function may be called again and gives the same."""

    def users(self) -> Iterator[PortableUser]:
        """Yield the users, also those who are known only as authors."""

    def channels(self) -> Iterator[PortableChannel]:
        """Yield the channels."""

    def conversations(self) -> Iterator[PortableConversation]:
        """Yield the conversations."""

    def images(self) -> Iterator[PortableImage]:
        """Yield the images whose bytes are there."""

    def messages(self, *, replies: bool) -> Iterator[PortableMessage]:
        """Yield the messages that are replies, or those that are not, oldest first in each channel."""

    def bytes_of(self, key: str) -> bytes | None:
        """Return the bytes of an image or of a thumbnail, or None. Raises `TooLong` beyond 10 MB."""
