"""The events of the live stream: their types, payloads and audiences (interface, part 6).

An event is appended to the log in the transaction that makes the change (`Transaction.append`), and is
encoded there, once. `audience` says who may receive it (decision D-35): those who see a room, users by their
ids, or with None everyone who is signed in. Types that begin with an underscore never reach a client: they
are for the server's own followers of the log, on this machine and on others.

When a message is edited or deleted, what it said is removed from the log: the storage finds the events that
carry it by `text_room` and `text_message`, and `blanked` says what is left of their payloads.
"""

from __future__ import annotations

from teamchat.events.audience import Audience, InRoom
from teamchat.events.blanking import blanked
from teamchat.events.channels import (
    ChannelMemberRemoved,
    ChannelMembersAdded,
    ChannelMemberUpdated,
    DeleteChannel,
    NewChannel,
    UpdateChannel,
)
from teamchat.events.event import Encoded, Event, LoggedEvent, Payload, Signal, is_internal, payload_types
from teamchat.events.internal import (
    Blanked,
    DisplacedStream,
    MemberJoined,
    RoomChanged,
    RoomGone,
    SessionsEnded,
    StreamsDisplaced,
    StreamsEnded,
    UserGone,
)
from teamchat.events.messages import (
    DeleteDirectMessage,
    DeleteMessage,
    DeleteReaction,
    DeleteThreadReply,
    NewDirectMessage,
    NewMessage,
    NewReaction,
    NewThreadReply,
    UpdateDirectMessage,
    UpdateMessage,
    UpdateThreadReply,
)
from teamchat.events.resources import (
    DeleteWebhook,
    NewConversation,
    NewUser,
    NewWebhook,
    RemoveUser,
    UpdateServerSettings,
    UpdateUser,
    UserExit,
)
from teamchat.events.streams import Connected, Resync

__all__ = [
    "OWN_TYPES",
    "Audience",
    "Blanked",
    "ChannelMemberRemoved",
    "ChannelMemberUpdated",
    "ChannelMembersAdded",
    "Connected",
    "DeleteChannel",
    "DeleteDirectMessage",
    "DeleteMessage",
    "DeleteReaction",
    "DeleteThreadReply",
    "DeleteWebhook",
    "DisplacedStream",
    "Encoded",
    "Event",
    "InRoom",
    "LoggedEvent",
    "MemberJoined",
    "NewChannel",
    "NewConversation",
    "NewDirectMessage",
    "NewMessage",
    "NewReaction",
    "NewThreadReply",
    "NewUser",
    "NewWebhook",
    "Payload",
    "RemoveUser",
    "Resync",
    "RoomChanged",
    "RoomGone",
    "SessionsEnded",
    "Signal",
    "StreamsDisplaced",
    "StreamsEnded",
    "UpdateChannel",
    "UpdateDirectMessage",
    "UpdateMessage",
    "UpdateServerSettings",
    "UpdateThreadReply",
    "UpdateUser",
    "UserExit",
    "UserGone",
    "blanked",
    "is_internal",
]

OWN_TYPES = frozenset(payload_types())
"""The types that teamchat itself has."""
