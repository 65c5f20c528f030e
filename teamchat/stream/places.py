"""What a stream gets whose token is limited to some places (extension K-1).

For an event that goes to those who see a room, that room decides. If an event goes to users by their ids, its
payload says which place it is about, or it is for just the two people of a direct conversation; the stream
gets no other. What goes to everybody is about no place.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import msgspec
from msgspec import Struct

from teamchat.events import Audience, InRoom
from teamchat.interfaces import Transaction
from teamchat.storage.statements import chunks

_PAIRS = "select pair_key from rooms where kind = 'direct' and id in ({})"


class _Placed(Struct, rename="camel"):
    place_id: str = ""
    channel_id: str = ""
    conversation_id: str = ""
    id: str = ""


class _Framed(Struct):
    payload: _Placed


_decode = msgspec.json.Decoder(_Framed, strict=False).decode


class Places(NamedTuple):
    """The ids of places, and the participants of those that are direct conversations."""

    ids: frozenset[str]
    pairs: frozenset[frozenset[str]]

    @classmethod
    async def read(cls, tx: Transaction, ids: frozenset[str]) -> Self:
        """Return the places of these ids."""
        pairs: set[frozenset[str]] = set()
        for marks, piece in chunks(sorted(ids)):
            rows = await tx.fetch(_PAIRS.format(marks), *piece)
            pairs |= {frozenset(pair_key.split(" ")) for (pair_key,) in rows}
        return cls(ids, frozenset(pairs))

    def have(self, audience: Audience, frame: bytes) -> bool:
        """Tell whether an event or a signal, framed, is about one of them, or is told to everybody."""
        if audience is None:
            return True
        if isinstance(audience, InRoom):
            return audience.room_id in self.ids
        try:
            about = _decode(frame.removeprefix(b"data: ")).payload
        except msgspec.DecodeError:
            return False
        named = {one for one in (about.place_id, about.channel_id, about.conversation_id) if one}
        if named:
            return named <= self.ids
        return about.id in self.ids or frozenset(audience) in self.pairs
