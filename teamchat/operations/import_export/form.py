"""The records of an export, and where they come from.

Field names and units are those of the interface: camelCase, times in epoch milliseconds. Nothing here is
secret: no password, no token, no session.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Literal, Protocol, TypeVar

from msgspec import Meta, Struct, field

from teamchat.capabilities import ImportedFile

FORMAT = "teamchat-export"
VERSION = 2
"""The first knew no private channels: who reads that alone would make them everybody's, and refuses this."""
READABLE = (1, 2)
HEAD = "export.json"
FILES = "files"
"""The folder with the bytes of files."""
Time = Annotated[int, Meta(ge=0, lt=2**48)]
"""Epoch milliseconds that an id can tell (RFC 9562, section 5.7)."""
Portion = TypeVar("Portion", bound=Struct)
"""A record of a capability."""
Size = Annotated[int, Meta(ge=0, lt=2**48)]


class Section(Struct, frozen=True, rename="camel"):
    """What the head of an export says of the records of a capability; `version` is that of their form."""

    version: int = 1
    records: int = 0


class Head(Struct, frozen=True, rename="camel"):
    """What the export is, and how much of what is in it."""

    format: str
    version: int
    teamchat: str
    exported_at: int
    server_name: str | None = None
    counts: dict[str, int] = field(default_factory=dict)
    capabilities: dict[str, Section] = field(default_factory=dict)


class Portable(Struct, frozen=True, kw_only=True):
    """A record. `origin` says where it stood in what it was made from, for the report of an import."""

    origin: str = field(default="", name="place")


class PortableUser(Portable, frozen=True, rename="camel", omit_defaults=True):
    """A user; one who is gone (`removed_at`) or unknown has no email, and is there as an author alone.

    One who is deactivated (`deactivated_at`) can't sign in until they are activated, and a bot never.
    """

    id: str
    user_name: str
    email: str = ""
    is_admin: bool = False
    created_at: Time = 0
    removed_at: Time | None = None
    deactivated_at: Time | None = None
    is_bot: bool = False


class PortableMember(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Who is in a channel; `visible_from` is the first message that they see."""

    user_id: str
    role: str = ""
    joined_at: Time = 0
    added_by: str = ""
    visible_from: str = ""


class PortableChannel(Portable, frozen=True, rename="camel", omit_defaults=True):
    """A channel, a group or notes (`kind`). `left` are who is not in a channel that everybody is in.

    Everybody is in a public channel unless it is `is_opt_in`; `public_from` is the first message that those
    see who are no members. A policy that is empty is the usual one.
    """

    id: str
    name: str
    created_at: Time
    created_by: str = ""
    updated_at: Time | None = None
    kind: Literal["", "group", "notes"] = ""
    is_private: bool = False
    is_opt_in: bool = False
    was_group: bool = False
    topic: str = ""
    description: str = ""
    archived_at: Time | None = None
    post_policy: str = ""
    invite_policy: str = ""
    history_for: str = ""
    public_from: str = ""
    members: Sequence[PortableMember] = ()
    left: Sequence[str] = ()


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

    def sections(self) -> Mapping[str, Section]:
        """Return which capabilities have records, by name."""

    def section(self, name: str, kind: type[Portion]) -> Iterator[Portion]:
        """Yield the records of a capability."""

    def messages(self, *, replies: bool) -> Iterator[PortableMessage]:
        """Yield the messages that are replies, or those that are not, in any order: their ids tell it."""

    def bytes_of(self, key: str) -> bytes | None:
        """Return the bytes of an image or of a thumbnail, or None. Raises `TooLong` beyond 10 MB."""

    def file(self, name: str) -> ImportedFile | None:
        """Return the bytes of a file, or None if there are none."""
