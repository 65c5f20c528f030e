"""What a message mentions: entities, and how they are kept when the text changes (E-1, E-2, E-4).

The text stays readable by itself; an entity says who is meant by a part of it. Offsets and lengths count code
points, as Python does, not UTF-16 units.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from teamchat.errors import BadRequest
from teamchat.mentions.parsing import goes_on, is_word

MOST = 100
"""How many entities a message has at most."""
_Count = Annotated[int, Meta(ge=0, lt=2**31)]
_BEGINS = {"user": "@", "group": "@", "wide": "@", "channel": "#", "message": ""}


class Entity(Struct, frozen=True, rename="camel"):
    """Who or what is meant by a part of a message's text: `id` is that of a user, a channel or a message.

    Of the type ``wide`` it is ``channel`` or ``here``.
    """

    type: Literal["user", "group", "channel", "message", "wide"]
    offset: _Count
    length: Annotated[int, Meta(ge=1, lt=2**31)]
    id: Annotated[str, Meta(max_length=64)]

    @property
    def end(self) -> int:
        """Where the part of the text ends."""
        return self.offset + self.length

    @property
    def mention(self) -> str | None:
        """How it stands among a message's mentions; None for what is no mention."""
        if self.type == "wide":
            return f"@{self.id}"
        return self.id if self.type in ("user", "group") else None


Given = Annotated[list[Entity], Meta(max_length=MOST)]


class MentionDraft(Struct, frozen=True, rename="camel"):
    """What somebody says of whom they mention: their `entities`, or with `parse` false that nobody is."""

    entities: Given | UnsetType = UNSET
    parse: bool | UnsetType = UNSET


class MentionFields(Struct, frozen=True, rename="camel"):
    """What a message has that mentions somebody: whom, each once, and where in the text."""

    mentions: Sequence[str] | UnsetType = UNSET
    entities: Sequence[Entity] | UnsetType = UNSET


def fields_of(entities: Sequence[Entity]) -> MentionFields:
    """Return the fields of a message with these entities."""
    mentions = dict.fromkeys(one.mention for one in entities if one.mention is not None)
    return MentionFields(list(mentions) or UNSET, list(entities) or UNSET)


def checked(entities: Sequence[Entity], text: str) -> list[Entity]:
    """Return entities in the order of a text. Raises `BadRequest` for those that do not fit it (E-2)."""
    ordered = sorted(entities, key=lambda one: one.offset)
    end = 0
    for one in ordered:
        if one.offset < end:
            raise BadRequest("entities overlap.")
        end = one.end
        if end > len(text):
            raise BadRequest("entities has one that ends after the content.")
        if not text.startswith(_BEGINS[one.type], one.offset):
            raise BadRequest(f"entities has one of a {one.type} whose text begins otherwise.")
        if one.type == "wide" and one.id not in ("channel", "here"):
            raise BadRequest("entities has a wide one that is neither channel nor here.")
    return ordered


def _place(words: str, text: str, start: int) -> int | None:
    """Return where words stand in a text, from a place on, and not as a part of longer ones."""
    while (at := text.find(words, start)) >= 0:
        end = at + len(words)
        follows = at > 0 and is_word(text[at - 1])
        if not follows and not (is_word(words[-1]) and goes_on(text, end)):
            return at
        start = at + 1
    return None


def kept(entities: Sequence[Entity], before: str, after: str) -> list[Entity]:
    """Return those entities of a text whose words still stand in another one, in their order (E-4)."""
    found: list[Entity] = []
    at = 0
    for one in entities:
        place = _place(before[one.offset : one.end], after, at)
        if place is not None:
            found.append(Entity(one.type, place, one.length, one.id))
            at = place + one.length
    return found
