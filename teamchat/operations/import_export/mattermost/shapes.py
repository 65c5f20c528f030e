"""What is read of a bulk export's lines, and which types it must have (Mattermost's "Bulk loading data").

A record with one of these shapes can be imported without checking its types again. Any other is left out, and
the report says where it was. Fields that are not read may be anything.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

Time = Annotated[int, Meta(ge=0, lt=2**48)]
"""Epoch milliseconds that an id can tell."""
Place = tuple[str, ...]
"""Where something was said: ``channel``, its team and its name, or ``direct`` and whose it is, in order."""


class Info(Struct):
    """What made the export, and when (RFC 3339)."""

    created: str | None = None


class Team(Struct):
    name: str
    display_name: str | None = None
    allow_open_invite: bool | None = None


class Channel(Struct):
    """A channel, public where `type` is O."""

    team: str
    name: str
    type: str
    display_name: str | None = None
    header: str | None = None
    purpose: str | None = None
    deleted_at: Time | None = None


class ChannelMember(Struct):
    name: str
    roles: str | None = None
    last_viewed_at: Time | None = None


class TeamMember(Struct):
    name: str
    channels: list[ChannelMember] | None = None


class User(Struct):
    username: str
    email: str | None = None
    first_name: str | None = None
    last_name: str | None = None
    nickname: str | None = None
    position: str | None = None
    roles: str | None = None
    delete_at: Time | None = None
    teams: list[TeamMember] | None = None


class Bot(Struct):
    username: str
    display_name: str | None = None


class Participant(Struct):
    username: str
    last_viewed_at: Time | None = None


class DirectChannel(Struct):
    """A direct message's or a group's people: as names, or since version 10 as participants."""

    members: list[str] | None = None
    participants: list[Participant] | None = None


class Reaction(Struct):
    user: str
    emoji_name: str


class Attachment(Struct):
    path: str


class Follower(Struct):
    user: str
    last_viewed: Time | None = None


class Reply(Struct):
    user: str
    create_at: Annotated[int, Meta(gt=0, lt=2**48)]
    message: str | None = None
    type: str | None = None
    props: dict[str, Any] | None = None
    edit_at: Time | None = None
    flagged_by: list[str] | None = None
    reactions: list[Reaction] | None = None
    attachments: list[Attachment] | None = None
    is_pinned: bool | None = None


class Rooted(Reply, kw_only=True):
    """What was said and is no reply. Replies are judged one by one: an odd one takes no thread along."""

    replies: list[msgspec.Raw] | None = None
    thread_followers: list[Follower] | None = None

    @property
    def place(self) -> Place:
        """Where it was said."""
        raise NotImplementedError


class Post(Rooted, kw_only=True):
    team: str
    channel: str

    @property
    def place(self) -> Place:
        return "channel", self.team, self.channel


class DirectPost(Rooted, kw_only=True):
    channel_members: list[str]

    @property
    def place(self) -> Place:
        return direct(self.channel_members)


def direct(people: Iterable[str]) -> Place:
    """Return the place of some people's direct messages."""
    return ("direct", *sorted(set(people)))


KINDS: dict[str, type[Struct]] = {
    "team": Team,
    "channel": Channel,
    "user": User,
    "bot": Bot,
    "post": Post,
    "direct_channel": DirectChannel,
    "direct_post": DirectPost,
}


class Line(Struct):
    """A line: what it tells of stands in the field of that name."""

    type: str
    info: Info | None = None
    team: msgspec.Raw = msgspec.Raw()
    channel: msgspec.Raw = msgspec.Raw()
    user: msgspec.Raw = msgspec.Raw()
    bot: msgspec.Raw = msgspec.Raw()
    post: msgspec.Raw = msgspec.Raw()
    direct_channel: msgspec.Raw = msgspec.Raw()
    direct_post: msgspec.Raw = msgspec.Raw()
