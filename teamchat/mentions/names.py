"""Who is meant by the names in a text: the entities that the server makes of it (E-3)."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

from teamchat.accounts.names import WORDS
from teamchat.mentions.entities import MOST, Entity
from teamchat.mentions.parsing import goes_on, places
from teamchat.model.text import MAX_USER_NAME, fold

_LONGEST = 2 * MAX_USER_NAME  # A name may be written with more characters than it has: letters and accents.
_END = re.compile(r"\S(?!\w)")
Users = Mapping[str, tuple[str, bool]]
"""Users by their names: the id of each, and whether they see a message (`sight.named`)."""


async def parsed(
    text: str, taken: Sequence[Entity], named: Callable[[Sequence[str]], Awaitable[Users]]
) -> tuple[list[Entity], dict[str, bool]]:
    """Return an entity for each name and word that is mentioned in a text, in order.

    Beside them stands who sees the message of the users that they are of.  Nothing is looked for in the parts
    that are `taken`. At an ``@`` the longest name counts; the words win.
    """
    if "@" not in text:
        return [], {}
    free = [at for at in places(text) if not any(one.offset <= at < one.end for one in taken)][:MOST]
    found = [(at, list(_candidates(text, at, _until(at, taken, len(text))))) for at in free]
    users = await named(sorted({name for _, names in found for _, name in names if name not in WORDS}))
    made: list[Entity] = []
    for at, names in found:
        if made and at < made[-1].end:
            continue
        entity = _entity(at, names, users)
        if entity is not None:
            made.append(entity)
    sees = dict(users.values())
    return made, {one.id: sees[one.id] for one in made if one.type == "user"}


def _until(at: int, taken: Sequence[Entity], length: int) -> int:
    """Return where a name has to end that begins at a place."""
    return min((one.offset for one in taken if one.offset > at), default=length)


def _entity(at: int, names: Sequence[tuple[int, str]], users: Users) -> Entity | None:
    for end, name in reversed(names):
        if name in WORDS:
            return Entity("wide", at, end - at, WORDS[name])
        if name in users:
            return Entity("user", at, end - at, users[name][0])
    return None


def _candidates(text: str, at: int, until: int) -> Iterator[tuple[int, str]]:
    """Yield what may be a name after an ``@``, folded, each with its end; the longest comes last."""
    line = text.find("\n", at, at + 1 + _LONGEST)
    last = min(until, at + 1 + _LONGEST, len(text) if line < 0 else line)
    if at + 1 < last and text[at + 1].isspace():
        return
    for found in _END.finditer(text, at + 1, last):
        end = found.end()
        if not goes_on(text, end):
            yield end, fold(text[at + 1 : end])
