"""People and channels by their names, for who types the beginning of one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import trio
from msgspec import UNSET, UnsetType

from teamchat import BadRequest, NotFound
from teamchat.model import Caller, Channel, UserName, text
from teamchat_search.normal import is_of_word, normal

if TYPE_CHECKING:
    from teamchat import Teamchat

MOST_FOUND = 20
MOST_QUERY = 64
_AT_ONCE = 500
_BEGINNING, _INSIDE = 0, 1
_normal = lru_cache(maxsize=32768)(normal)
_SPACE = re.compile(r"\s+")


class FoundUser(UserName, frozen=True):
    """Somebody who was found. `is_deactivated` is there, and true, for one who can't sign in (L-1)."""

    is_deactivated: bool | UnsetType = UNSET


class Names:
    """Finds users and channels on one server."""

    def __init__(self, app: Teamchat) -> None:
        self._app = app

    async def people(self, caller: Caller, query: str, place_id: str | None) -> Sequence[FoundUser]:
        """Return users by name, of a place's members if one is given: first those of whom a word begins so.

        Raises `Forbidden` for a direct conversation of others.
        """
        term = _term(query)
        async with self._app.storage.read() as tx:
            among = None
            if place_id is not None:
                try:
                    room = await self._app.room(tx, caller, place_id)
                except NotFound:
                    return []
                among = await self._app.corpus.members(tx, room)
            # Nobody is offered to be mentioned who would hear nothing of it.
            present = "" if among is None else " and deactivated_at is null"
            rows = await tx.fetch(
                f"""select id, user_name, deactivated_at from users
                    where removed_at is null{present} order by id"""  # noqa: S608
            )
            others = await self._app.user_names(tx)
        found: list[tuple[int, str, str, FoundUser]] = []
        for number, (id_, name, deactivated_at) in enumerate(rows):
            if among is None or id_ in among:
                ranks = [_rank(_normal(one), term) for one in (name, *others.get(id_, ()))]
                if (rank := min((one for one in ranks if one is not None), default=None)) is not None:
                    user = FoundUser(id_, name, is_deactivated=deactivated_at is not None or UNSET)
                    found.append((rank, _normal(name), id_, user))
            if number % _AT_ONCE == 0:
                await trio.lowlevel.checkpoint()
        return [user for *_, user in sorted(found, key=lambda one: one[:3])[:MOST_FOUND]]

    async def channels(self, caller: Caller, query: str) -> Sequence[Channel]:
        """Return channels that the caller sees: by name, then by topic."""
        term = _term(query)
        async with self._app.storage.read() as tx:
            seen = await self._app.corpus.channels(tx, caller)
        found: list[tuple[int, str, str, Channel]] = []
        for number, channel in enumerate(seen):
            if isinstance(channel.kind, str):  # A group, or notes: they have no name of their own.
                continue
            rank = _rank(_normal(channel.name), term)
            if rank is None and isinstance(channel.topic, str) and term in _normal(channel.topic):
                rank = _INSIDE + 1
            if rank is not None:
                found.append((rank, _normal(channel.name), channel.id, channel))
            if number % _AT_ONCE == 0:
                await trio.lowlevel.checkpoint()
        return [channel for _, _, _, channel in sorted(found, key=lambda one: one[:3])[:MOST_FOUND]]


def _term(query: str) -> str:
    if len(query) > MOST_QUERY:
        raise BadRequest(f"q is longer than {MOST_QUERY} characters.")
    return _SPACE.sub(" ", normal(text.storable("q", query))).strip()


def _rank(name: str, term: str) -> int | None:
    """Return whether a term stands at the beginning of a word of a name, or inside; None for neither."""
    at = name.find(term)
    if at < 0:
        return None
    while at >= 0:
        if at == 0 or not is_of_word(name[at - 1]):
            return _BEGINNING
        at = name.find(term, at + 1)
    return _INSIDE
