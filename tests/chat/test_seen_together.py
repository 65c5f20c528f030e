"""Whoever sees one message sees another: said of a room, it must hold for everybody in it (H-4, X-2)."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from teamchat.chat import sight
from teamchat.interfaces import Transaction
from tests.chat.conftest import World

_NUMBERS = st.integers(0, 6)


class Room(NamedTuple):
    """A room: since when it is public for everybody, since when its members see it, and what was said."""

    is_private: bool
    public_from: int
    bounds: list[int]
    parents: list[int | None]  # By the number of a message: the number of the one it replies to.


@st.composite
def rooms(draw: st.DrawFn) -> Room:
    parents: list[int | None] = []
    for number in range(draw(st.integers(2, 6))):
        tops = [each for each in range(number) if parents[each] is None]
        parents.append(draw(st.sampled_from([None, *tops])))
    return Room(draw(st.booleans()), draw(_NUMBERS), draw(st.lists(_NUMBERS, max_size=3)), parents)


def _id(number: int) -> str:
    return f"{number:032x}"


class _Undone(Exception):
    pass


async def test_who_sees_the_one_sees_the_other_in_every_room(
    world: World, channel: str, ada: Any, bob: Any, eve: Any
) -> None:
    people = [ada, bob, eve]

    async def judge(tx: Transaction, room: Room) -> None:
        """Compare with what each person sees."""
        await _make(tx, channel, room, [one.user.id for one in people])
        ids = [_id(number + 1) for number in range(len(room.parents))]
        pairs = [(one, other) for one in ids for other in ids if one != other]
        for one, other in pairs:
            told = await sight.seen_together(tx, [(one, other)])
            seen = [await sight.messages(tx, person, [one, other]) for person in people]
            spoilt = [each for each in seen if one in each and other not in each]
            assert not (told and spoilt), "somebody is shown what they don't see"
            if not told:
                assert spoilt or not _stand_for_all(room), "it is kept from those who all see it"

    cases: list[Room] = []

    @settings(max_examples=60, deadline=None)
    @given(rooms())
    def collect(room: Room) -> None:
        cases.append(room)

    collect()
    for room in cases:
        with suppress(_Undone):
            async with world.storage.write() as tx:
                await judge(tx, room)
                raise _Undone


def _stand_for_all(room: Room) -> bool:
    """Whether the three are everybody who might see the room: one of them an outsider, if it is public."""
    return room.is_private or len(room.bounds) < 3


async def _make(tx: Transaction, room_id: str, room: Room, people: list[str]) -> None:
    await tx.fetch(
        "update rooms set is_private = $2, public_from = $3, is_default = 0 where id = $1",
        *(room_id, int(room.is_private), _id(room.public_from)),
    )
    await tx.fetch("delete from memberships where room_id = $1", room_id)
    for person, bound in zip(people, room.bounds, strict=False):
        await tx.fetch(
            "insert into memberships (room_id, user_id, visible_from, joined_at) values ($1, $2, $3, 0)",
            *(room_id, person, _id(bound)),
        )
    for number, parent in enumerate(room.parents):
        await tx.fetch(
            """insert into messages (id, room_id, parent_id, author_id, content, created_at)
            values ($1, $2, $3, $4, 'x', 0)""",
            *(_id(number + 1), room_id, None if parent is None else _id(parent + 1), people[0]),
        )
