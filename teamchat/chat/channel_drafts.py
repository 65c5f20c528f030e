"""The bodies that channels are created and changed with, and what of them is accepted (extension B)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import UNSET, Struct, UnsetType

from teamchat.errors import BadRequest
from teamchat.model import text

MAX_TOPIC = 250
MAX_DESCRIPTION = 2_000
MAX_MEMBERS = 200
"""How many members are named in one request."""

_CHOICES = {
    "post_policy": ("postPolicy", ("everyone", "managers")),
    "invite_policy": ("invitePolicy", ("members", "managers")),
    "history_for": ("historyFor", ("all", "joiners")),
}


class ChannelChange(Struct, frozen=True, rename="camel"):
    """What is to be changed about a channel; what is left out stays.

    `post_policy` is ``everyone`` or ``managers``, `invite_policy` ``members`` or ``managers``, `history_for`
    ``all`` or ``joiners``.  `is_private` can't be changed so.
    """

    name: str | UnsetType = UNSET
    topic: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    is_default: bool | UnsetType = UNSET
    post_policy: str | UnsetType = UNSET
    invite_policy: str | UnsetType = UNSET
    history_for: str | UnsetType = UNSET
    is_private: bool | UnsetType = UNSET


class NewChannel(Struct, frozen=True, rename="camel"):
    """A channel to make: its name, 1 to 80 characters, and what else is to be said of it.

    `members` are users of a private one besides who makes it.
    """

    name: str
    topic: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    is_default: bool | UnsetType = UNSET
    post_policy: str | UnsetType = UNSET
    invite_policy: str | UnsetType = UNSET
    history_for: str | UnsetType = UNSET
    is_private: bool = False
    members: Sequence[str] = ()


class NewPrivateChannel(Struct, frozen=True, rename="camel"):
    """A private channel to make, and who is in it besides who makes it: up to 200 users."""

    name: str
    topic: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    post_policy: str | UnsetType = UNSET
    invite_policy: str | UnsetType = UNSET
    history_for: str | UnsetType = UNSET
    members: Sequence[str] = ()


def accepted(draft: NewChannel | NewPrivateChannel | ChannelChange) -> dict[str, Any]:
    """Return the columns that a draft names, but for `name` and `is_default`. Raises `BadRequest`."""
    columns: dict[str, Any] = {}
    for column, most in (("topic", MAX_TOPIC), ("description", MAX_DESCRIPTION)):
        if (value := getattr(draft, column)) is not UNSET:
            columns[column] = text.note(column, value, most=most)
    for column, (field, choices) in _CHOICES.items():
        if (value := getattr(draft, column)) is not UNSET:
            if value not in choices:
                raise BadRequest(f"{field} is neither {' nor '.join(choices)}.")
            columns[column] = text.plain(value)
    return columns


def named(field: str, user_ids: Sequence[str], *, least: int = 0) -> list[str]:
    """Return the users that a request names, each once. Raises `BadRequest` for too few or too many."""
    if not least <= len(user_ids) <= MAX_MEMBERS:
        raise BadRequest(f"{field} names {least} to {MAX_MEMBERS} users.")
    return list(dict.fromkeys(user_ids))
