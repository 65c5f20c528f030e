"""Mattermost's channels, groups and direct messages, and who sees each of them here.

What only some people could see there, the same people see here and nobody else. A public channel was public
for the people of its team; so it is public here if everybody who may sign in is in that team, or may join it
without being asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Literal, NamedTuple

from teamchat.chat.permissions import MANAGER
from teamchat.model import text
from teamchat.model.ids import CONVERSATION_PREFIX, id_at
from teamchat.operations.import_export.form import PortableChannel, PortableConversation, PortableMember
from teamchat.operations.import_export.mattermost.contents import Contents, is_of_two, key_of
from teamchat.operations.import_export.mattermost.people import People, user_id
from teamchat.operations.import_export.mattermost.shapes import Channel, ChannelMember, Place
from teamchat.operations.import_export.report import Report

_FOR_ALL = "town-square"
"""The channel that everybody of a team is in."""


class Seen(NamedTuple):
    """Who has looked at a place, and when they did last, in epoch milliseconds."""

    place: Place
    user: str
    at: int


class Rooms:
    """The rooms of an export. With `public_only`, public channels alone."""

    def __init__(self, contents: Contents, people: People, report: Report, *, public_only: bool) -> None:
        self._contents = contents
        self._people = people
        self._report = report
        self._public_only = public_only
        self._members: dict[Place, dict[str, ChannelMember]] = {}
        self._teams: dict[str, set[str]] = {}
        for name, user in contents.users.items():
            for team in user.teams or ():
                self._teams.setdefault(team.name, set()).add(name)
                for member in team.channels or ():
                    self._members.setdefault(("channel", team.name, member.name), {})[name] = member
        self._names = self._chosen_names()

    def channels(self) -> Iterator[PortableChannel]:
        """Yield channels, groups and notes."""
        for place, channel in self._contents.channels.items():
            is_public = self._is_public(channel)
            if not is_public and channel.type == "O":
                why = "not everybody was of its team: private here, with the same members"
                self._report.change("channel", where(place), why)
            if is_public or not self._left_out("private channel", place):
                yield self._channel(place, channel, is_public=is_public)
        for place, people in self._contents.directs.items():
            if is_of_two(place):
                continue
            kind: Literal["notes", "group"] = "notes" if len(people) == 1 else "group"
            if not people:
                self._report.omit("conversation", where(place), "of nobody")
            elif not self._left_out(kind, place):
                at = self._made_at(place)
                members = [PortableMember(user_id(one), joined_at=at) for one in place[1:]]
                yield PortableChannel(room_id(place), "", at, kind=kind, members=members, origin=where(place))

    def conversations(self) -> Iterator[PortableConversation]:
        """Yield the direct messages of two."""
        for place in self._contents.directs:
            if is_of_two(place) and not self._left_out("conversation", place):
                _, first, second = place
                pair = (user_id(first), user_id(second))
                yield PortableConversation(room_id(place), pair, self._made_at(place), origin=where(place))

    def seen(self) -> Iterator[Seen]:
        """Yield who has looked where, as far as that is told."""
        for place, members in self._members.items():
            for name, member in members.items():
                if member.last_viewed_at:
                    yield Seen(place, name, member.last_viewed_at)
        for place, people in self._contents.directs.items():
            for name, at in people.items():
                if at:
                    yield Seen(place, name, at)

    def _left_out(self, kind: str, place: Place) -> bool:
        if self._public_only:
            self._report.omit(kind, where(place), "it is not public; see --public-only")
        return self._public_only

    def _channel(self, place: Place, channel: Channel, *, is_public: bool) -> PortableChannel:
        at = self._made_at(place)
        return PortableChannel(
            id=room_id(place),
            name=self._names[place],
            created_at=at,
            is_private=not is_public,
            is_opt_in=is_public and not (channel.name == _FOR_ALL and self._has_everybody(channel.team)),
            topic=channel.header or "",
            description=channel.purpose or "",
            archived_at=channel.deleted_at or None,
            members=[
                PortableMember(user_id(name), _role(one), joined_at=at)
                for name, one in self._members.get(place, {}).items()
            ],
            origin=where(place),
        )

    def _is_public(self, channel: Channel) -> bool:
        if channel.type != "O":
            return False
        team = self._contents.teams.get(channel.team)
        return bool(team is not None and team.allow_open_invite) or self._has_everybody(channel.team)

    def _has_everybody(self, team: str) -> bool:
        return self._people.bound_to_teams <= self._teams.get(team, set())

    def _made_at(self, place: Place) -> int:
        """Return when a room was made, as nearly as the export tells."""
        return self._contents.first.get(place, self._contents.created_at)

    def _chosen_names(self) -> dict[Place, str]:
        """Return what channels are called: with their team, where several are called the same.

        By the name of a public one nobody can tell that there is a private one of the same.
        """
        channels = self._contents.channels
        shown = {place: one.display_name or one.name for place, one in channels.items()}
        public = {place for place, one in channels.items() if self._is_public(one)}
        for more in (self._team_name, lambda place: place[2], lambda place: f"{place[1]}/{place[2]}"):
            of_all = Counter(text.fold(name) for name in shown.values())
            of_public = Counter(text.fold(shown[place]) for place in public)
            shown = {
                place: f"{name} ({more(place)})" if taken[text.fold(name)] > 1 else name
                for place, name in shown.items()
                for taken in [of_public if place in public else of_all]
            }
        return shown

    def _team_name(self, place: Place) -> str:
        team = self._contents.teams.get(place[1])
        return (team and team.display_name) or place[1]


def _role(member: ChannelMember) -> str:
    return MANAGER if "channel_admin" in (member.roles or "").split() else ""


def room_id(place: Place) -> str:
    """Return the id that a place has here."""
    return (CONVERSATION_PREFIX if is_of_two(place) else "") + id_at(0, f"mattermost room {key_of(place)}")


def where(place: Place) -> str:
    """Return what the report calls a place."""
    return f"{place[1]}/{place[2]}" if place[0] == "channel" else " and ".join(place[1:])
