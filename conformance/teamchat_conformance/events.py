"""Every event of the interface (part 6) as data.

What stands in an event's payload, who is to receive it and which operation sends it is
said here and nowhere else.  Fields and the recipients of direct-message events are the interface's; other
recipients are decision D-35's, operations D-36's.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Any, Literal

from teamchat_conformance.expect import any_text, array, integer, optional, text

Audience = Literal["everyone", "participants"]


def two_ids(value: Any) -> bool:
    """Return whether this is an array of two different ids."""
    return isinstance(value, list) and len(value) == 2 and all(map(text, value)) and value[0] != value[1]


_AUTHOR = {"id": text, "userName": text}
_META = {
    "replyCount": integer,
    "lastReplyAt": integer,
    "lastReplyBy": _AUTHOR,
    "participants": array(text),
}
_REPLY = {
    "id": text,
    "threadId": text,
    "channelId": text,
    "author": _AUTHOR,
    "content": any_text,
    "createdAt": integer,
}
_MESSAGE_FIELDS = _REPLY.keys() | {"updatedAt", "reactions", "threadMeta", "images", "participants"}
_CHANNEL_FIELDS = {"createdAt", "updatedAt", "createdBy"}


@dataclass(frozen=True)
class EventType:
    """One type of event. `code` stands in the ids of its checks, `sent_by` is the operation that sends it.

    `also` are fields that may stand in the payload beyond those of the interface's table (D-36, D-45).
    """

    name: str
    code: str
    fields: Mapping[str, Any]
    sent_by: str
    audience: Audience = "everyone"
    also: Set[str] = frozenset()
    area: str = "EVT"

    @property
    def shape_check(self) -> str:
        """The id of the check of its payload's form, which the `area` declares and leaves to the monitor."""
        return f"{self.area}-{self.code}-01"


EVENTS: tuple[EventType, ...] = (
    EventType(
        "NEW_MESSAGE", "NEWMSG",
        {"id": text, "channelId": text, "author": _AUTHOR, "content": any_text, "createdAt": integer},
        "POST /channels/:channelId/messages", also=_MESSAGE_FIELDS,
    ),
    EventType(
        "UPDATE_MESSAGE", "UPDMSG", {"id": text, "content": any_text, "updatedAt": integer},
        "PUT /messages/:messageId", also=_MESSAGE_FIELDS,
    ),
    EventType(
        "DELETE_MESSAGE", "DELMSG", {"id": text, "channelId": text}, "DELETE /messages/:messageId"
    ),
    EventType(
        "NEW_CHANNEL", "NEWCHAN", {"id": text, "name": text, "createdAt": integer},
        "POST /channels", also=_CHANNEL_FIELDS,
    ),
    EventType(
        "UPDATE_CHANNEL", "UPDCHAN", {"id": text, "name": text},
        "PUT /channels/:channelId", also=_CHANNEL_FIELDS,
    ),
    EventType(
        "DELETE_CHANNEL", "DELCHAN", {"id": text, "name": text},
        "DELETE /channels/:channelId", also=_CHANNEL_FIELDS,
    ),
    EventType(
        "NEW_REACTION", "NEWREACT", {"messageId": text, "userId": text, "reaction": text},
        "POST /messages/:messageId/reactions",
    ),
    EventType(
        "DELETE_REACTION", "DELREACT", {"messageId": text, "userId": text, "reaction": text},
        "DELETE /messages/:messageId/reactions",
    ),
    EventType("NEW_USER", "NEWUSER", {"id": text, "userName": text, "email": text}, "POST /users/add"),
    EventType("REMOVE_USER", "REMUSER", {"id": text, "email": text}, "DELETE /users/:id"),
    EventType("USER_EXIT", "EXIT", {"id": text, "userName": text}, "POST /users/exit"),
    EventType("UPDATE_USER", "UPDUSER", {"id": text, "userName": text}, "PUT /users/me"),
    EventType(
        "NEW_CONVERSATION", "NEWCONV", {"id": text, "participants": two_ids, "createdAt": integer},
        "POST /conversations", "participants",
    ),
    EventType(
        "NEW_DM_MESSAGE", "NEWDM",
        {"id": text, "channelId": text, "author": _AUTHOR, "content": any_text, "participants": two_ids},
        "POST /conversations/:conversationId/messages", "participants", _MESSAGE_FIELDS,
    ),
    EventType(
        "UPDATE_DM_MESSAGE", "UPDDM", {"id": text, "content": any_text, "participants": two_ids},
        "PUT /conversations/:conversationId/messages/:messageId", "participants", _MESSAGE_FIELDS,
    ),
    EventType(
        "DELETE_DM_MESSAGE", "DELDM", {"id": text, "conversationId": text, "participants": two_ids},
        "DELETE /conversations/:conversationId/messages/:messageId", "participants",
    ),
    EventType(
        "NEW_THREAD_REPLY", "NEWREPLY",
        {"parentMessageId": text, "channelId": text, "reply": _REPLY, "threadMeta": _META},
        "POST /messages/:messageId/thread", also={"parentAuthorId"},
    ),
    EventType(
        "UPDATE_THREAD_REPLY", "UPDREPLY", {"id": text, "threadId": text, "content": any_text},
        "PUT /messages/:messageId/thread/:replyId", also=_MESSAGE_FIELDS,
    ),
    EventType(
        "DELETE_THREAD_REPLY", "DELREPLY",
        {"id": text, "threadId": text, "channelId": text, "threadMeta": optional(_META)},
        "DELETE /messages/:messageId/thread/:replyId",
    ),
    EventType("NEW_WEBHOOK", "NEWHOOK", {"id": text, "name": text, "channelId": text}, "POST /webhooks"),
    EventType("DELETE_WEBHOOK", "DELHOOK", {"id": text, "channelId": text}, "DELETE /webhooks/:webhookId"),
    EventType("UPDATE_SERVER_SETTINGS", "SET", {"name": text}, "PUT /server/settings"),
)  # fmt: skip

BY_NAME: Mapping[str, EventType] = {one.name: one for one in EVENTS}

CONNECTED: Mapping[str, Any] = {
    "message": any_text,
    "timestamp": text,
    "userId": text,
    "connectionId": text,
}
"""The payload of the first message of every stream."""

OF_THE_STREAM = frozenset(["CONNECTED", "RESYNC"])
"""Types that are about the stream itself: its opening, and decision D-34's word that it has a gap."""

ONCE = frozenset(
    f"{verb}_{thing}"
    for thing in ("MESSAGE", "CHANNEL", "USER", "DM_MESSAGE", "THREAD_REPLY", "WEBHOOK")
    for verb in ("NEW", "DELETE")
) | {"REMOVE_USER", "USER_EXIT", "NEW_CONVERSATION"}
"""Types that come no more than once about one thing: it begins and ends once."""


def subject(kind: str, payload: Any) -> str:
    """Return the id of what an event of one of the types `ONCE` is about, or an empty text."""
    about = payload.get("reply") if kind == "NEW_THREAD_REPLY" and isinstance(payload, dict) else payload
    return str(about.get("id", "")) if isinstance(about, dict) else ""
