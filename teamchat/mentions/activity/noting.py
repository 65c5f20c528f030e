"""What makes items of the feed, in the transaction in which it happens, and who is told (E-10).

One event is for all users whom one thing concerns. It goes only to those who see the message, so somebody who
is mentioned without seeing it is told nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from msgspec import UNSET, Struct

from teamchat.capabilities import Changes, Outcome, Written
from teamchat.chat import sight
from teamchat.chat.sight import Room, SeenMessage
from teamchat.events import Audience
from teamchat.interfaces import Transaction
from teamchat.mentions.activity.events import DeleteActivity, NewActivity
from teamchat.mentions.everybody import concerned, unconcerned
from teamchat.model.ids import id_at, new_id
from teamchat.read_state import mentioned
from teamchat.read_state.going import forget_all, forget_some, some_of
from teamchat.read_state.mentioned import Telling
from teamchat.read_state.threads.follows import followers

_ADDED = """select user_id, added_by, joined_at from memberships
where room_id = $1 and added_by is not null and added_by <> user_id"""
_IGNORING = """select user_id from notification_levels where room_id = $1 and ignores_wide = 1
order by user_id"""
_AUTHOR_IS_USER = "select 1 from users where id = $1 and removed_at is null"
_OF_USER = [
    some_of("activity_reactions", "message_id, user_id, reaction", "user_id = $1"),
    some_of("activity_reactions", "message_id, user_id, reaction", "author_id = $1"),
    some_of("activity_reminders", "user_id, message_id"),
]


class NoFields(Struct, frozen=True):
    """Bodies of messages have nothing for the feed."""


def concerns(written: Written) -> bool:
    """Return whether there may be somebody to tell: not of what is new, reaches nobody and is no reply."""
    is_reply = written.message.thread_id is not UNSET
    return is_reply or written.before is not None or Telling in written.from_others


async def write(tx: Transaction, written: Written) -> Outcome:
    """Tell whom a message concerns: those it mentions, and who follows the thread that it is in.

    Nobody is told twice, whether they are named or one of all; and nobody that it is gone while the one of
    both is there.
    """
    message = written.message
    if written.before is None:
        telling = written.from_others.get(Telling, Telling((), (), False, message.id))
    else:
        telling = await mentioned.to_tell(tx, message.id)
    parent_id = None if message.thread_id is UNSET else message.thread_id
    about = _About(written.room, message.id, parent_id or message.id, message.author.id)
    await _tell(tx, about, "mention", telling.reached, about.only(telling.users))
    gone = telling.gone
    if gone and (telling.is_wide or telling.nobody):
        by_all = await concerned(tx, message.id, gone)
        gone = [one for one in gone if one not in by_all]
    if parent_id is None:
        untold = await _not_told(tx, written) if telling.everybody or telling.nobody else []
        all_told = about.all_but([*telling.known, *untold])
        all_gone = about.all_but([*telling.there, *gone, *untold])
    else:
        is_told = written.before is None or telling.everybody or telling.nobody
        following = await _following(tx, about) if is_told else []
        those = await concerned(tx, message.id, following) if telling.is_wide or telling.nobody else set()
        all_told = about.only([one for one in following if one in those and one not in telling.known])
        all_gone = about.only([one for one in following if one in those and one not in telling.there])
        if written.before is None:
            others = [one for one in following if one not in those and one not in telling.known]
            await _tell(tx, about, "reply", message.id, about.only(others))
    if telling.everybody:
        await _tell(tx, about, "mention", telling.reached, all_told)
    for audience in (about.only(gone), all_gone if telling.nobody else ()):
        if audience:
            await tx.append(DeleteActivity(message.id, "mention").to(audience))
    return Outcome()


class _About(NamedTuple):
    """A message that concerns somebody. Who sees the one at which it stands sees it: a reply's parent."""

    room: Room
    message_id: str
    stands_at: str
    author_id: str

    def only(self, users: Sequence[str]) -> Audience:
        """Return these users, as far as they see it."""
        return only(self.room, self.stands_at, users) if users else ()

    def all_but(self, users: Sequence[str]) -> Audience:
        """Return the members of the room but these users and the author."""
        return everybody(self.room, self.stands_at, {*users, self.author_id})


async def _not_told(tx: Transaction, written: Written) -> list[str]:
    """Return members who are not told that everybody is meant; to an old message some may have come later."""
    if written.before is not None:
        return await unconcerned(tx, written.message.id)
    return [one for (one,) in await tx.fetch(_IGNORING, written.room.id)]


async def _following(tx: Transaction, about: _About) -> list[str]:
    """Return who follows the thread of a reply and sees it, but its author."""
    found = [one for one in await followers(tx, about.stands_at) if one != about.author_id]
    return sorted(await sight.who_sees(tx, about.room.id, about.stands_at, found)) if found else []


async def _tell(tx: Transaction, about: _About, kind: str, item_id: str, audience: Audience) -> None:
    if audience:
        event = NewActivity(item_id, kind, about.room.id, about.author_id, about.message_id)
        await tx.append(event.to(audience))


def only(room: Room, message_id: str, users: Sequence[str]) -> Audience:
    """Return these users, as far as they see a message; of a reply, its parent is given."""
    audience = room.audience_of(message_id)
    return tuple(users) if isinstance(audience, tuple) else audience.only(users)


def everybody(room: Room, message_id: str, but: Collection[str]) -> Audience:
    """Return the members of a room as far as they see a message, without some."""
    audience = room.audience_of(message_id)
    if isinstance(audience, tuple):
        return tuple(one for one in audience if one not in but)
    return (audience.of_insiders if room.is_default else audience.of_members).without(sorted(but))


class Noting(Changes):
    """Notes reactions with their times, and tells who was added to a channel."""

    async def reaction_added(self, tx: Transaction, seen: SeenMessage, user_id: str, reaction: str) -> None:
        """The author has an item of it, unless it is their own."""
        if seen.author_id == user_id or not await tx.fetch(_AUTHOR_IS_USER, seen.author_id):
            return
        reached = new_id()
        await tx.fetch(
            """insert into activity_reactions (message_id, user_id, reaction, author_id, reached)
            values ($1, $2, $3, $4, $5) on conflict (message_id, user_id, reaction)
            do update set reached = excluded.reached""",
            *(seen.id, user_id, reaction, seen.author_id, reached),
        )
        audience = only(seen.room, seen.parent_id or seen.id, [seen.author_id])
        await tx.append(NewActivity(reached, "reaction", seen.room.id, user_id, seen.id).to(audience))

    async def reaction_removed(self, tx: Transaction, seen: SeenMessage, user_id: str, reaction: str) -> None:
        """It takes its item along."""
        gone = await tx.fetch(
            """delete from activity_reactions where message_id = $1 and user_id = $2 and reaction = $3
            returning reached""",
            *(seen.id, user_id, reaction),
        )
        if gone:
            audience = only(seen.room, seen.parent_id or seen.id, [seen.author_id])
            await tx.append(DeleteActivity(seen.id, "reaction").to(audience))

    async def room_made(self, tx: Transaction, room: Room) -> None:
        """Who is in it from the first because somebody wanted so is told."""
        await self._added(tx, room, None)

    async def members_changed(
        self,
        tx: Transaction,
        room: Room,
        joined: Sequence[str],
        left: Sequence[str],  # noqa: ARG002
    ) -> None:
        """Whom somebody else has added is told."""
        if joined:
            await self._added(tx, room, set(joined))

    async def user_settling(self, tx: Transaction, user_id: str, *, is_going: bool) -> bool:
        """Remove as much of it as one transaction can."""
        return is_going and await forget_some(tx, user_id, _OF_USER)

    async def user_gone(self, tx: Transaction, user_id: str) -> None:
        """Nothing is kept of who is no user any more. Raises `TooMuch` for very many reactions."""
        await forget_all(tx, user_id, _OF_USER)
        await tx.fetch("delete from activity_read where user_id = $1", user_id)

    async def _added(self, tx: Transaction, room: Room, among: set[str] | None) -> None:
        if room.kind not in ("channel", "group"):
            return
        concerned: dict[tuple[str, int], list[str]] = {}
        for user_id, by, joined_at in await tx.fetch(_ADDED, room.id):
            if among is None or user_id in among:
                concerned.setdefault((by, joined_at), []).append(user_id)
        now = await sight.made(tx, room.id)
        for (by, joined_at), users in sorted(concerned.items()):
            event = NewActivity(added_id(room.id, joined_at), "added", room.id, by)
            await tx.append(event.to(now.in_room.only(sorted(users))))


def added_id(room_id: str, joined_at: int) -> str:
    """Return the id of the item that somebody was added to a room."""
    return id_at(joined_at, f"added to {room_id}")
