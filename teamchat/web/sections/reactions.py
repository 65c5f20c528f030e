"""Reactions to messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import UNSET, Struct, UnsetType

from teamchat.application import Application
from teamchat.errors import BadRequest
from teamchat.model import Caller
from teamchat.web.endpoints import Answer, Section

section = Section("reactions")


class Reaction(Struct, frozen=True):
    """A reaction: 1 to 64 characters."""

    reaction: str


class OptionalReaction(Struct, frozen=True):
    """A reaction that may stand in the query instead (decision D-27)."""

    reaction: str | UnsetType = UNSET


class MessageReactions(Answer, frozen=True):
    """A message's reactions: who reacted how."""

    id: str
    reactions: Mapping[str, Sequence[str]]


class Reactions(Answer, frozen=True):
    """The reactions after the change."""

    message: MessageReactions


async def _check(app: Application, caller: Caller, message_id: str) -> None:
    await app.chat.reactions.check(caller, message_id)


@section.endpoint("POST", "/messages/:messageId/reactions", body=Reaction, answer=Reactions, first=_check)
async def add_reaction(app: Application, caller: Caller, message_id: str, body: Reaction) -> Reactions:
    """React to a message."""
    reacted = await app.chat.reactions.add(caller, message_id, body.reaction)
    return Reactions(MessageReactions(reacted.id, reacted.reactions))


@section.endpoint(
    "DELETE",
    "/messages/:messageId/reactions",
    body=OptionalReaction,
    answer=Reactions,
    first=_check,
    optional=True,
    query=("reaction",),
)
async def remove_reaction(
    app: Application, caller: Caller, message_id: str, body: OptionalReaction, reaction: str | None
) -> Reactions:
    """Take a reaction back; it is named in the body or the query."""
    named = reaction if isinstance(body.reaction, UnsetType) else body.reaction
    if named is None:
        await _check(app, caller, message_id)
        raise BadRequest("reaction is missing.")
    reacted = await app.chat.reactions.remove(caller, message_id, named)
    return Reactions(MessageReactions(reacted.id, reacted.reactions))
