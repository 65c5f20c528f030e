"""What somebody sends to become a message (content and images), and what of it is accepted.

`Draft` and `MessageEdit` are the wire forms; capabilities add fields to both
(`teamchat.capabilities.drafts`). What an edit leaves out stays as it was: a client that does not know
`images` does not remove them by editing (decision D-25), and one that sends only `images` keeps the content
(decision D-42).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from msgspec import UNSET, UnsetType

from teamchat.capabilities.drafts import MessageBody
from teamchat.model import Message, text


class Draft(MessageBody, frozen=True, rename="camel"):
    """The body of a POST of a message. `images` are names of uploaded files of the same place."""

    content: str
    images: list[str] | UnsetType = UNSET


class MessageEdit(MessageBody, frozen=True, rename="camel"):
    """The body of a PUT of a message. What is left out stays as it was; one of the two must be there."""

    content: str | UnsetType = UNSET
    images: list[str] | UnsetType = UNSET


class Stored(NamedTuple):
    """A message after it was posted or edited; `beside` is what its author alone is answered besides."""

    message: Message
    beside: Mapping[str, Any]


def images_of(draft: Draft) -> list[str]:
    """Return the images a draft names, none if it leaves them out."""
    return [] if draft.images is UNSET else draft.images


def content_of(draft: Draft, *, most: int, may_be_blank: bool) -> str:
    """Return the content or raise `BadRequest`; it may be blank beside images, say (decision D-04)."""
    return text.content(draft.content, most=most, may_be_blank=may_be_blank)
