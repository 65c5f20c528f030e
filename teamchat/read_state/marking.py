"""Moving the marks of places and answering what is unread then, together for all who ask at the same time.

Marks are nine in ten of what a company writes. Those that arrive while others are being stored are then
stored in one transaction: each after its own caller and place were checked, and each starting from where the
previous one has left the mark. What is unread is counted after the commit, in one reading transaction,
because only there is the end of the log known: on PostgreSQL, events get their numbers as they are committed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from teamchat.accounts.acting import acting_for_each
from teamchat.errors import BadRequest, Forbidden, NotFound
from teamchat.interfaces import Transaction
from teamchat.model import Caller
from teamchat.model.ids import could_be_id
from teamchat.read_state.following import move
from teamchat.read_state.places import Place, ReadState, some_places, states_of_all
from teamchat.read_state.positions import Mark
from teamchat.read_state.together import Together
from teamchat.storage.log import last_in

if TYPE_CHECKING:
    from teamchat.interfaces.api import Teamchat

Key = tuple[str, str]
"""A user and a place."""
Unreachable = NotFound | Forbidden
Change = Callable[[Mark, str | None], Mark]
"""Returns the mark after a change, of the mark before it and the newest message of the place.

It may raise `BadRequest`, which only who may ask is told of (decision D-03).
"""


class Where(NamedTuple):
    """A place, and who asks for it or moves their mark there."""

    caller: Caller
    place_id: str

    @property
    def key(self) -> Key:
        return self.caller.user.id, self.place_id


class Told(NamedTuple):
    """A read state, and the number of the event as of which it holds."""

    state: ReadState
    as_of: int


class Marking:
    """The marks of the places of a server."""

    def __init__(self, app: Teamchat) -> None:
        self._app = app
        self._storage = app.storage
        self._moving = Together(self._move)
        self._telling = Together(self._tell)

    async def move(self, where: Where, change: Change) -> bool:
        """Change a mark, and return whether it is another. Raises as `tell` and the change do."""
        return await self._moving.ask((where, change))

    async def tell(self, where: Where) -> Told:
        """Return a read state.

        Raises `NotFound` for a place that the caller is no member of; `Forbidden` as `app.room` does.
        """
        return await self._telling.ask(where)

    async def check(self, where: Where) -> None:
        """Raise what `tell` does."""
        async with self._storage.read() as tx:
            [found] = await self._found(tx, [where])
        if not isinstance(found, Place):
            raise found

    async def _move(self, asked: Sequence[tuple[Where, Change]]) -> list[bool | Exception]:
        marks: dict[Key, Mark] = {}
        with acting_for_each([where.caller for where, _ in asked]) as refused:
            async with self._storage.write() as tx:
                found = await self._found(tx, [where for where, _ in asked])
                answers = [
                    refused.get(number) or _moved(*asked[number], place, marks)
                    for number, place in enumerate(found)
                ]
                if marks:
                    await move(tx, [(*key, mark) for key, mark in marks.items()])
        # Of a transaction without any statement it is known now.
        return [refused.get(number, answer) for number, answer in enumerate(answers)]

    async def _tell(self, asked: Sequence[Where]) -> list[Told | Exception]:
        last = await self._storage.position()
        async with self._storage.read() as tx:
            found = await self._found(tx, asked)
            members = {
                where.key: place
                for where, place in zip(asked, found, strict=True)
                if isinstance(place, Place)
            }
            places: dict[str, list[Place]] = {}
            for (user_id, _), place in members.items():
                places.setdefault(user_id, []).append(place)
            states = await states_of_all(tx, places, readers=places)
            as_of = await last_in(tx, last)
        told = {(user_id, one.place_id): Told(one, as_of) for user_id, own in states.items() for one in own}
        return [
            told[where.key] if isinstance(place, Place) else place
            for where, place in zip(asked, found, strict=True)
        ]

    async def _found(self, tx: Transaction, asked: Sequence[Where]) -> list[Place | Unreachable]:
        """Return the places, each for its caller, or why it is not for them."""
        keys = {one.key: None for one in asked if could_be_id(one.place_id)}
        places = await some_places(tx, list(keys))
        return [
            place
            if (place := places.get(one.key)) is not None and one.caller.reaches(place.id)
            else await self._why_not(tx, one)
            for one in asked
        ]

    async def _why_not(self, tx: Transaction, where: Where) -> Unreachable:
        """Return what there is to say of what somebody is no member of, or does not see."""
        try:
            await self._app.room(tx, *where)
        except (NotFound, Forbidden) as problem:
            return problem
        return NotFound("No such place.")


def _moved(
    where: Where, change: Change, place: Place | Unreachable, marks: dict[Key, Mark]
) -> bool | Unreachable | BadRequest:
    """Note among `marks` where somebody stands now; return whether that is elsewhere, or why they can't."""
    if not isinstance(place, Place):
        return place
    before = marks.get(where.key, place.mark)
    try:
        after = change(before, place.newest)
    except BadRequest as problem:
        return problem
    if after != before:
        marks[where.key] = after
    return after != before
