"""Channels, and who is in them (extensions X-6, B-10)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

from msgspec import UNSET, UnsetType

from teamchat.events.event import Payload
from teamchat.model import Channel, Member


class _WholeChannel(Payload, frozen=True):
    """A payload that is a channel, but for what differs by recipient."""

    id: str
    name: str
    created_at: int | UnsetType = UNSET
    updated_at: int | UnsetType = UNSET
    created_by: str | UnsetType = UNSET
    kind: str | UnsetType = UNSET
    is_private: bool | UnsetType = UNSET
    topic: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    is_default: bool | UnsetType = UNSET
    is_archived: bool | UnsetType = UNSET
    archived_at: int | UnsetType = UNSET
    post_policy: str | UnsetType = UNSET
    invite_policy: str | UnsetType = UNSET
    history_for: str | UnsetType = UNSET
    member_count: int | UnsetType = UNSET

    left_out: ClassVar[str]

    @classmethod
    def about(cls, channel: Channel) -> Self:
        """Return the payload for a channel."""
        fields = {name: getattr(channel, name) for name in cls.__struct_fields__ if name != cls.left_out}
        return cls(**fields)


class NewChannel(_WholeChannel, frozen=True):
    """A channel was created, or is seen from now on; with all that is the same for everybody."""

    type = "NEW_CHANNEL"
    left_out = "updated_at"


class UpdateChannel(_WholeChannel, frozen=True):
    """A channel was renamed, or something else about it has changed."""

    type = "UPDATE_CHANNEL"
    left_out = "created_at"


class DeleteChannel(Payload, frozen=True):
    """A channel was deleted, with its messages and webhooks; with a `reason` it is there, but not seen.

    It is ``removed`` for who was removed from a private one, ``private`` for who is no member of one that
    has become so.
    """

    type = "DELETE_CHANNEL"
    id: str
    name: str
    created_by: str | UnsetType = UNSET
    reason: str | UnsetType = UNSET


class ChannelMembersAdded(Payload, frozen=True):
    """These are members of a channel from now on. `reason` is ``admin`` where an admin has entered it."""

    type = "CHANNEL_MEMBERS_ADDED"
    channel_id: str
    members: Sequence[Member]
    by: str
    reason: str | UnsetType = UNSET


class ChannelMemberRemoved(Payload, frozen=True):
    """A user is no member of a channel any more: removed, or, `by` themself, gone."""

    type = "CHANNEL_MEMBER_REMOVED"
    channel_id: str
    user_id: str
    by: str


class ChannelMemberUpdated(Payload, frozen=True):
    """A member of a channel has another role there."""

    type = "CHANNEL_MEMBER_UPDATED"
    channel_id: str
    user_id: str
    role: str
