"""Fills the database of a server that is not running with a large team: users, channels, who is in them."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, NamedTuple

from teamchat.interfaces import Storage, Transaction
from teamchat.model import text
from teamchat.model.ids import new_id
from teamchat.storage.statements import flat, in_pieces, values

PRIVATE = 0.6
"""What share of the channels is private."""
IN_SMALL = 10
_GROWING = 12
_SEED = 24


class Team(NamedTuple):
    """The ids of users and private channels: all are in `large`, ten in `small`, hundreds in the others.

    `members` are those of every channel, public ones too, but for the administrator.
    """

    users: Sequence[str]
    large: str
    small: str
    growing: Sequence[str]
    members: Mapping[str, Sequence[str]] = {}


async def fill(
    opened: AbstractAsyncContextManager[Storage],
    admin_id: str,
    *,
    users: int,
    channels: int,
    memberships: int,
) -> Team:
    """Write so many of each, about; the administrator manages every private channel.

    Users have the emails of those whom `Chat.sign_in` has sign in; the first are in `small`.  Nobody of the
    second half of them is in a channel of `growing`.
    """
    people, rooms = [new_id() for _ in range(users)], [new_id() for _ in range(channels)]
    private = rooms[: max(3, round(PRIVATE * channels))]
    team = Team(people, private[0], private[1], private[2 : 2 + _GROWING])
    each = max(1, (memberships - users - IN_SMALL) // max(1, channels - 2))
    team = team._replace(members={room: _members(team, room, each) for room in rooms})
    async with opened as storage, storage.write() as tx:
        await insert(
            tx,
            "users (id, user_name, user_name_key, email, email_key, is_admin, created_at)",
            [_person(id_, number) for number, id_ in enumerate(people)],
        )
        await insert(
            tx,
            "rooms (id, kind, name, name_key, is_private, created_at, created_by)",
            [_channel(id_, number, id_ in private, admin_id) for number, id_ in enumerate(rooms)],
        )
        await insert(
            tx,
            "memberships (room_id, user_id, role, joined_at)",
            [(room, admin_id, "manager", 1) for room in private]
            + [(room, user, "member", 1) for room in rooms for user in team.members[room]],
        )
    return team


def _person(id_: str, number: int) -> tuple[Any, ...]:
    name, email = f"person-{number}", f"person-{number}@example.org"
    return (id_, name, text.fold(name), email, text.fold(email), 0, 1)


def _channel(id_: str, number: int, is_private: bool, admin_id: str) -> tuple[Any, ...]:
    name = f"Channel {number}"
    return (id_, "channel", name, None if is_private else text.fold(name), int(is_private), 1, admin_id)


def _members(team: Team, room: str, each: int) -> Sequence[str]:
    if room == team.large:
        return team.users
    if room == team.small:
        return team.users[: IN_SMALL - 1]
    among = team.users[: len(team.users) // 2] if room in team.growing else team.users
    return random.Random(f"{_SEED}{room}").sample(among, min(each, len(among)))


async def insert(tx: Transaction, into: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Write rows into a table, whose columns stand behind its name."""
    for piece in in_pieces(rows):
        width = len(piece[0])
        marks = ", ".join(f"{{{number}}}" for number in range(width))
        rows_of = values(f"({marks})", width, len(piece), 0)
        await tx.fetch(f"insert into {into} values {rows_of}", *flat(piece))
