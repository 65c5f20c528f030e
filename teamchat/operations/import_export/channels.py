"""Channels, groups and notes that an import creates, each seen by those who saw it before and nobody else."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from typing import Any, NamedTuple

from msgspec.structs import replace

from teamchat.chat import membership
from teamchat.chat.channel_drafts import MAX_DESCRIPTION, MAX_TOPIC
from teamchat.chat.channel_rows import MAX_NAME
from teamchat.chat.groups import group_of, notes_of
from teamchat.chat.joining import MOST_IN_GROUP
from teamchat.chat.leaving import successor
from teamchat.chat.permissions import MANAGER
from teamchat.errors import BadRequest
from teamchat.interfaces import Transaction
from teamchat.model import now_ms, text
from teamchat.operations.import_export.form import PortableChannel, PortableMember
from teamchat.operations.import_export.report import Report
from teamchat.storage.statements import chunks

_BOUND = re.compile(r"([0-9a-f]{32})?\Z")
_CHOICES = {
    "post_policy": ("everyone", "managers"),
    "invite_policy": ("members", "managers"),
    "history_for": ("all", "joiners"),
}


class Destination(NamedTuple):
    """A channel that an export's goes on in: its id here, and the first message that it may be given.

    What comes before that not everybody saw there, and everybody would here.
    """

    id: str
    first: str = ""


class ChannelWriter:
    """Makes channels. `users` are the ids that the users of an export have here."""

    def __init__(self, users: Mapping[str, str], report: Report) -> None:
        self._users = users
        self._report = report

    async def write(self, tx: Transaction, channel: PortableChannel) -> Destination | None:
        """Return where a channel is here; None if it is left out."""
        rows = await tx.fetch("select is_private, kind from rooms where id = $1", channel.id)
        if rows and rows[0][1] == "gone":
            self._omit(channel, "it was deleted here, and is being removed")
            return None
        if rows and _is_private(channel) and not rows[0][0]:
            self._omit(channel, "it is public here by now, and it was private there")
            return None
        if rows:
            self._report.find(_counted_as(channel))
            return Destination(channel.id, "" if _is_private(channel) else _bound(channel.public_from))
        members = await self._known(tx, channel)
        if channel.kind == "notes" and len(members) != 1:
            self._omit(channel, "not of one user who is known")
            return None
        if channel.kind == "group" and not members:
            self._omit(channel, "none of those in it is a user here")
            return None
        if channel.kind == "group" and len(members) > MOST_IN_GROUP:
            channel, members = await self._converted(tx, channel, members)
        if (same := await self._same(tx, channel, members)) is not None:
            return Destination(same)
        name = self._name(channel)
        if not _is_private(channel) and name is not None:
            rows = await tx.fetch("select id from rooms where name_key = $1", text.fold(name))
            if rows:
                where = channel.origin or channel.id
                self._report.merge("channel", where, "there is a channel of that name; it goes on there")
                return Destination(str(rows[0][0]), _bound(channel.public_from))
        if channel.is_private and not members:
            channel = self._closed(channel)
        await self._insert(tx, channel, name)
        await self._let_in(tx, channel, members)
        self._report.create(_counted_as(channel))
        return Destination(channel.id)

    def _omit(self, channel: PortableChannel, why: str) -> None:
        what = channel.kind or "private channel"
        self._report.omit(what, channel.origin or channel.id, why)

    async def _same(
        self, tx: Transaction, channel: PortableChannel, members: Mapping[str, PortableMember]
    ) -> str | None:
        """Return the notes of the same user, or the group of the same people, if they have one here.

        A group of which somebody sees less than all stays one of its own: in another they would see more.  So
        does one whose people are not all users here: two that differ in these alone are of others (C-4).
        """
        found = None
        is_whole = all(self._users.get(one.user_id) in members for one in channel.members)
        if channel.kind == "notes":
            found = await notes_of(tx, *members)
        elif channel.kind == "group" and is_whole and not any(one.visible_from for one in members.values()):
            found = await group_of(tx, sorted(members))
        if found is not None:
            where = channel.origin or channel.id
            self._report.merge(channel.kind, where, "the same people have one here; it goes on there")
        return found

    async def _converted(
        self, tx: Transaction, channel: PortableChannel, members: Mapping[str, PortableMember]
    ) -> tuple[PortableChannel, dict[str, PortableMember]]:
        """Return a group of too many people as the private channel that its people make of it (C-5)."""
        where = channel.origin or channel.id
        why = f"of more than {MOST_IN_GROUP} people: a private channel that all of them manage"
        self._report.change("group", where, why)
        names: list[str] = []
        for marks, piece in chunks(sorted(members)):
            sql = f"select user_name from users where id in ({marks})"  # noqa: S608
            names += [name for (name,) in await tx.fetch(sql, *piece)]
        name = ", ".join(sorted(names, key=text.fold))[:MAX_NAME]
        managers = {user_id: replace(one, role=MANAGER) for user_id, one in members.items()}
        return replace(channel, kind="", is_private=True, was_group=True, name=name), managers

    def _closed(self, channel: PortableChannel) -> PortableChannel:
        """Return a private channel without members as it is after the last one has left (B-5)."""
        why = "none of its members is a user here: archived, and admins alone see that it is there"
        self._report.change("private channel", channel.origin or channel.id, why)
        return channel if channel.archived_at is not None else replace(channel, archived_at=now_ms())

    async def _known(self, tx: Transaction, channel: PortableChannel) -> dict[str, PortableMember]:
        """Return the members who are users here, by the ids that they have here."""
        known = {self._users[one.user_id]: one for one in channel.members if one.user_id in self._users}
        here: set[str] = set()
        for marks, piece in chunks(sorted(known)):
            sql = f"select id from users where removed_at is null and id in ({marks})"  # noqa: S608
            here |= {user_id for (user_id,) in await tx.fetch(sql, *piece)}
        if any(self._users.get(one.user_id) not in here for one in channel.members):
            why = "some of its members are no users here"
            self._report.change(channel.kind or "channel", channel.origin or channel.id, why)
        return {user_id: known[user_id] for user_id in sorted(here)}

    def _name(self, channel: PortableChannel) -> str | None:
        if channel.kind:
            return None
        try:
            return text.made_name("name", channel.name)
        except BadRequest:
            where = channel.origin or channel.id
            self._report.change("channel", where, "the name can't be one here; its id stands for it")
            return f"channel {channel.id}"

    async def _insert(self, tx: Transaction, channel: PortableChannel, name: str | None) -> None:
        is_private = _is_private(channel)
        row: dict[str, Any] = {
            "id": channel.id,
            "kind": channel.kind or "channel",
            "name": name,
            "name_key": None if is_private or name is None else text.fold(name),
            "is_private": int(is_private),
            "is_default": int(not (is_private or channel.is_opt_in)),
            "was_group": int(channel.was_group),
            "topic": self._note(channel, "topic", MAX_TOPIC),
            "description": self._note(channel, "description", MAX_DESCRIPTION),
            "archived_at": channel.archived_at,
            "public_from": _bound(channel.public_from),
            "created_at": channel.created_at,
            "updated_at": channel.updated_at,
            "created_by": self._users.get(channel.created_by, ""),
        }
        for column, choices in _CHOICES.items():
            wanted = getattr(channel, column)
            row[column] = wanted if wanted in choices else choices[0]
        if channel.kind:
            row["history_for"] = "joiners"
        marks = ", ".join(f"${number}" for number in range(1, len(row) + 1))
        await tx.fetch(f"insert into rooms ({', '.join(row)}) values ({marks})", *row.values())  # noqa: S608

    def _note(self, channel: PortableChannel, field: str, most: int) -> str:
        try:
            return text.note(field, getattr(channel, field), most=most)
        except BadRequest as problem:
            self._report.omit(field, channel.origin or channel.id, problem.sentence)
            return ""

    async def _let_in(
        self, tx: Transaction, channel: PortableChannel, members: Mapping[str, PortableMember]
    ) -> None:
        """Make the members those of the channel; every process learns of it by the log."""
        alike: dict[tuple[str, str, str], list[str]] = defaultdict(list)
        for user_id, one in members.items():
            role = MANAGER if one.role == MANAGER and not channel.kind else "member"
            alike[role, _bound(one.visible_from), self._users.get(one.added_by, "")].append(user_id)
        for (role, visible_from, added_by), joined in alike.items():
            await membership.change(
                tx, channel.id, joined=joined, role=role, visible_from=visible_from, added_by=added_by or None
            )
        if not alike:
            await membership.change(tx, channel.id)
        for user_id, one in members.items():
            await tx.fetch(
                "update memberships set joined_at = $3 where room_id = $1 and user_id = $2",
                channel.id,
                user_id,
                one.joined_at,
            )
        if not (_is_private(channel) or channel.is_opt_in):
            left = {self._users[one] for one in channel.left if one in self._users}
            await membership.change(tx, channel.id, left=sorted(left - members.keys()))
        if (
            channel.is_private
            and not channel.kind
            and (next_one := await successor(tx, channel.id, is_default=False)) is not None
        ):
            await tx.fetch(
                "update memberships set role = $3 where room_id = $1 and user_id = $2",
                channel.id,
                next_one,
                MANAGER,
            )


def _counted_as(channel: PortableChannel) -> str:
    if channel.kind:
        return {"group": "groups", "notes": "notes"}[channel.kind]
    return "private channels" if channel.is_private else "channels"


def _is_private(channel: PortableChannel) -> bool:
    return channel.is_private or bool(channel.kind)


def _bound(message_id: str) -> str:
    """Return from which message on somebody sees a room; if that can't be read, nothing of before."""
    return message_id if _BOUND.match(message_id) else f"{now_ms():012x}".ljust(32, "0")
