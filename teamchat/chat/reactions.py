"""Reactions to messages of every kind (decision D-27).

A user has a given reaction on a message once or not at all, whatever is repeated or happens at the same time,
and only a change sends an event. Reactions are listed in the order in which they were first used, and the
users of each in the order in which they reacted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from teamchat import events
from teamchat.capabilities import Capabilities
from teamchat.chat import permissions, sight
from teamchat.chat.records import reactions_of
from teamchat.errors import BadRequest
from teamchat.interfaces import Storage
from teamchat.model import Caller, text

MAX_DIFFERENT = 50


class Reacted(Struct, frozen=True, rename="camel"):
    """The answer to a reaction: the message's id and all its reactions."""

    id: str
    reactions: Mapping[str, Sequence[str]]


class Reactions:
    """Adding and removing reactions."""

    def __init__(self, storage: Storage, capabilities: Capabilities) -> None:
        self._storage = storage
        self._capabilities = capabilities

    async def check(self, caller: Caller, message_id: str) -> None:
        """Raise `NotFound` for no message the caller sees, `Forbidden` in an archived channel."""
        async with self._storage.read() as tx:
            permissions.check_open((await sight.message(tx, caller, message_id)).room)

    async def add(self, caller: Caller, message_id: str, reaction: str) -> Reacted:
        """React to a message. Raises `BadRequest` if it has 50 different reactions already."""
        async with self._storage.write() as tx:
            seen = await sight.message(tx, caller, message_id)
            permissions.check_open(seen.room)
            accepted, user_id = text.reaction(reaction), caller.user.id
            reactions = await reactions_of(tx, message_id)
            if user_id not in reactions.get(accepted, ()):
                if accepted not in reactions and len(reactions) >= MAX_DIFFERENT:
                    raise BadRequest(f"A message has at most {MAX_DIFFERENT} different reactions.")
                await tx.fetch(
                    """insert into reactions (message_id, reaction, user_id, place)
                    values ($1, $2, $3,
                      (select coalesce(max(place), 0) + 1 from reactions where message_id = $1))""",
                    message_id,
                    accepted,
                    user_id,
                )
                await tx.fetch("update messages set is_decorated = 1 where id = $1", message_id)
                reactions.setdefault(accepted, []).append(user_id)
                event = events.NewReaction(message_id, user_id, accepted)
                await tx.append(event.to(seen.audience))
                await self._capabilities.in_transaction.reaction_added(tx, seen, user_id, accepted)
        return Reacted(message_id, reactions)

    async def remove(self, caller: Caller, message_id: str, reaction: str) -> Reacted:
        """Take a reaction of the caller's own back, if it is there."""
        async with self._storage.write() as tx:
            seen = await sight.message(tx, caller, message_id)
            permissions.check_open(seen.room)
            accepted, user_id = text.reaction(reaction), caller.user.id
            removed = await tx.fetch(
                """delete from reactions where message_id = $1 and reaction = $2 and user_id = $3
                returning place""",
                message_id,
                accepted,
                user_id,
            )
            if removed:
                event = events.DeleteReaction(message_id, user_id, accepted)
                await tx.append(event.to(seen.audience))
                await self._capabilities.in_transaction.reaction_removed(tx, seen, user_id, accepted)
            reactions = await reactions_of(tx, message_id)
        return Reacted(message_id, reactions)
