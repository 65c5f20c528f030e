"""Slack's channels, private channels, group messages and direct messages, and who sees each of them here.

What only some people could see there, the same people see here and nobody else. If two of them claim the same
folder, and one of the two is not public, it is read for neither, because nobody can tell whose messages are
in it.
"""

from __future__ import annotations

from collections import ChainMap, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from teamchat.chat.permissions import MANAGER
from teamchat.model import now_ms
from teamchat.model import slack as slack_text
from teamchat.model.ids import CONVERSATION_PREFIX, id_at
from teamchat.operations.import_export.form import PortableChannel, PortableConversation, PortableMember
from teamchat.operations.import_export.report import Report
from teamchat.operations.import_export.slack.files import Record, SlackFiles
from teamchat.operations.import_export.slack.shapes import Pin, has_shape

_LISTS = {
    "channels.json": "channel",
    "groups.json": "private channel",
    "mpims.json": "group message",
    "dms.json": "conversation",
}
_HIDDEN_NAME = "private-channel"
"""What a mention of a private channel says to others than its members."""


class SlackRoom(NamedTuple):
    """Where something was said: `kind` is what Slack has it as, `folder` the one with its messages."""

    id: str
    kind: str
    folder: str
    record: Record

    @property
    def where(self) -> str:
        """What the report calls it."""
        return self.folder if self.kind == "conversation" else f"{self.record['id']} ({self.record['name']})"

    @property
    def members(self) -> list[str]:
        """Slack's ids of those who are in it, each once."""
        return list(dict.fromkeys(self.record.get("members") or ()))

    @property
    def is_of_one(self) -> bool:
        """Whether it is what somebody wrote to themself."""
        return self.kind == "conversation" and len(self.members) == 1

    @property
    def created_at(self) -> int:
        """When it was made, in epoch milliseconds."""
        return int(self.record.get("created") or 0) * 1000


class SlackRooms:
    """The rooms of an export. With `public_only`, public channels alone."""

    def __init__(self, files: SlackFiles, report: Report, *, public_only: bool) -> None:
        self._report = report
        self._rooms: list[SlackRoom] = []
        claims: dict[str, list[SlackRoom]] = defaultdict(list)
        for name, listed in _LISTS.items():
            for record in files.listed(name):
                room = _room(_kind(listed, record), record)
                claims[room.folder].append(room)
                if public_only and room.kind != "channel":
                    report.omit(room.kind, room.where, "it is not public; see --public-only")
                elif room.kind == "conversation" and not 1 <= len(room.members) <= 2:
                    report.omit(room.kind, room.where, "not between two users")
                else:
                    self._rooms.append(room)
        self.of_slack = {str(room.record["id"]): room.id for room in self._rooms}
        """The id of each room here, by the one that Slack has for it."""
        self._unreadable = {
            folder
            for folder, rooms in claims.items()
            if len(rooms) > 1 and any(room.kind != "channel" for room in rooms)
        }
        for folder in sorted(self._unreadable):
            report.omit("folder", folder, "two claim it, and not both are public: whose messages are these?")
        self.pins = [(room, pin) for room in self._rooms for pin in _pins(room, report)]
        """The messages that are pinned, by Slack's records."""
        named = [room for room in self._rooms if room.kind != "conversation"]
        self._own_names = {room.id: {room.record["id"]: room.record["name"]} for room in named}
        self._names_for_all = {
            room.record["id"]: room.record["name"] if room.kind == "channel" else _HIDDEN_NAME
            for room in named
        }

    @property
    def folders(self) -> Iterator[tuple[str, str]]:
        """The id of each room, and the folder that has what was said there."""
        return ((room.id, room.folder) for room in self._rooms if room.folder not in self._unreadable)

    @property
    def partners(self) -> Iterator[str]:
        """Slack's ids of those who are in direct messages: they may be none of the workspace's users."""
        return (id_ for room in self._rooms if room.kind == "conversation" for id_ in room.members)

    def names_in(self, room_id: str) -> Mapping[str, str]:
        """Return what channels are called in a room, by Slack's ids: a private one in itself alone."""
        return ChainMap(self._own_names.get(room_id, {}), self._names_for_all)

    def channels(self, users: Mapping[str, str]) -> Iterator[PortableChannel]:
        """Yield channels, groups and notes; `users` are names by Slack's ids."""
        for room in self._rooms:
            if room.is_of_one:
                members = [PortableMember(user_id(room.members[0]), joined_at=room.created_at)]
                yield PortableChannel(
                    room.id, "", room.created_at, kind="notes", members=members, origin=room.where
                )
            elif room.kind != "conversation":
                yield self._channel(room, users)

    def conversations(self) -> Iterator[PortableConversation]:
        """Yield the direct messages of two."""
        for room in self._rooms:
            if room.kind == "conversation" and not room.is_of_one:
                first, second = room.members
                pair = (user_id(first), user_id(second))
                yield PortableConversation(room.id, pair, room.created_at, origin=room.where)

    def _channel(self, room: SlackRoom, users: Mapping[str, str]) -> PortableChannel:
        record, is_public = room.record, room.kind == "channel"
        return PortableChannel(
            id=room.id,
            name=record["name"],
            created_at=room.created_at,
            created_by=user_id(str(record.get("creator"))),
            kind="group" if room.kind == "group message" else "",
            is_private=not is_public,
            # Slack has nobody in a channel that they did not join, but in the one for all.
            is_opt_in=is_public and not record.get("is_general") and bool(room.members),
            topic=self._said(room, "topic", users),
            description=self._said(room, "purpose", users),
            archived_at=now_ms() if record.get("is_archived") else None,
            members=_members(room),
            origin=room.where,
        )

    def _said(self, room: SlackRoom, what: str, users: Mapping[str, str]) -> str:
        marked = (room.record.get(what) or {}).get("value") or ""
        return slack_text.plain(marked, users, self.names_in(room.id))


def user_id(id_: str) -> str:
    """Return the id that a user of Slack's has here."""
    return id_at(0, f"slack user {id_}")


def _kind(listed: str, record: Record) -> str:
    """Return what a record is: some tools list private channels and group messages among the public ones."""
    if listed == "channel" and record.get("is_mpim"):
        return "group message"
    is_private = record.get("is_private") or record.get("is_group")
    return "private channel" if listed == "channel" and is_private else listed


def _room(kind: str, record: Record) -> SlackRoom:
    created_at = int(record.get("created") or 0) * 1000
    if kind != "conversation":
        return SlackRoom(id_at(created_at, f"slack channel {record['id']}"), kind, record["name"], record)
    own_id = id_at(created_at, f"slack conversation {record['id']}")
    room = SlackRoom(own_id, kind, record["id"], record)
    return room if room.is_of_one else room._replace(id=CONVERSATION_PREFIX + own_id)


def _pins(room: SlackRoom, report: Report) -> Iterator[Record]:
    """Yield the pins of messages; there were such of files once."""
    pins = room.record.get("pins") or []
    for pin in pins if isinstance(pins, list) else [pins]:
        if has_shape(pin, Pin):
            yield pin
        else:
            report.omit("pin", room.where, "not of a message")


def _members(room: SlackRoom) -> Sequence[PortableMember]:
    """Return who is in a channel; since when, Slack does not say. Who has made it manages it."""
    return [
        PortableMember(
            user_id(id_), MANAGER if id_ == room.record.get("creator") else "", joined_at=room.created_at
        )
        for id_ in room.members
    ]
