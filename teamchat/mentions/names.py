"""Who is meant by what stands in a text: the entities that the server makes of it (E-3)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from teamchat.accounts.names import WORDS
from teamchat.interfaces import Transaction
from teamchat.mentions.entities import MOST, Entity
from teamchat.mentions.parsing import is_word, places
from teamchat.model.text import MAX_USER_NAME, fold
from teamchat.storage.statements import chunks

_LONGEST = 2 * MAX_USER_NAME  # A name may be written with more characters than it has: letters and accents.
_END = re.compile(r"\S(?!\w)")
_NAMED = "select user_name_key, id from users where user_name_key in ({})"


async def parsed(tx: Transaction, text: str, taken: Sequence[Entity]) -> list[Entity]:
    """Return an entity for each name and word that is mentioned in a text, in order.

    Nothing is looked for in the parts that are `taken`. At an ``@`` the longest name counts; the words win.
    """
    if "@" not in text:
        return []
    free = [at for at in places(text) if not any(one.offset <= at < one.end for one in taken)][:MOST]
    found = [(at, list(_candidates(text, at, _until(at, taken, len(text))))) for at in free]
    users = await _users(tx, {name for _, names in found for _, name in names if name not in WORDS})
    made: list[Entity] = []
    for at, names in found:
        if made and at < made[-1].end:
            continue
        entity = _entity(at, names, users)
        if entity is not None:
            made.append(entity)
    return made


def _until(at: int, taken: Sequence[Entity], length: int) -> int:
    """Return where a name has to end that begins at a place."""
    return min((one.offset for one in taken if one.offset > at), default=length)


def _entity(at: int, names: Sequence[tuple[int, str]], users: dict[str, str]) -> Entity | None:
    for end, name in reversed(names):
        if name in WORDS:
            return Entity("wide", at, end - at, WORDS[name])
        if name in users:
            return Entity("user", at, end - at, users[name])
    return None


def _candidates(text: str, at: int, until: int) -> Iterator[tuple[int, str]]:
    """Yield what may be a name after an ``@``, folded, each with its end; the longest comes last."""
    line = text.find("\n", at, at + 1 + _LONGEST)
    last = min(until, at + 1 + _LONGEST, len(text) if line < 0 else line)
    if at + 1 < last and text[at + 1].isspace():
        return
    for found in _END.finditer(text, at + 1, last):
        end = found.end()
        if end < last or end == len(text) or not is_word(text[end]):
            yield end, fold(text[at + 1 : end])


async def _users(tx: Transaction, names: set[str]) -> dict[str, str]:
    """Return the ids of those who have one of these names, by name."""
    found: dict[str, str] = {}
    for marks, piece in chunks(sorted(names)):
        found.update(dict(await tx.fetch(_NAMED.format(marks), *piece)))
    return found
