"""What happens to mentions when a message is posted or edited, in its transaction (E-2 to E-8).

Entities come with the message or are made from its text, and are stored as they are for all readers. Whom
they reach is decided there and then: those who see the message at that moment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from msgspec import UNSET, Struct

from teamchat.capabilities import Outcome, Written
from teamchat.chat import sight
from teamchat.errors import BadRequest, Forbidden
from teamchat.interfaces import Transaction
from teamchat.mentions.entities import MOST, Entity, MentionDraft, checked, fields_of, kept
from teamchat.mentions.everybody import concerned
from teamchat.mentions.listening import Keywords
from teamchat.mentions.names import parsed
from teamchat.mentions.stored import entities_of, store
from teamchat.mentions.wide import WideMentions
from teamchat.model.ids import could_be_id, new_id
from teamchat.read_state import mentioned
from teamchat.read_state.mentioned import Telling, Where
from teamchat.read_state.threads.follows import Thread, follow
from teamchat.storage.statements import chunks


class Unreached(Struct, frozen=True, rename="camel"):
    """Those whom a message mentions and who do not see it: ids of users."""

    unreached: Sequence[str]


class Mentioning:
    """Mentions of one server, as messages are written."""

    def __init__(self, wide: WideMentions) -> None:
        self._wide = wide
        self._keywords = Keywords()

    async def write(self, tx: Transaction, written: Written) -> Outcome:
        """Store whom a message mentions, and tell its author who of them does not see it.

        Raises `BadRequest` for entities that do not fit the text or name what the author does not see, and
        `Forbidden` for a mention of everybody that was asked for and is not allowed.
        """
        before = [] if written.before is None else await entities_of(tx, written.message.id)
        entities, known = await self._entities(tx, written, before)
        if entities != before:
            await store(tx, written.message.id, entities)
        named = [one.id for one in entities if one.type == "user" and one.id != written.message.author.id]
        seeing = await _seeing(tx, written, list(dict.fromkeys(named)), known)
        telling = await self._reach(tx, written, seeing, entities)
        # Who has a webhook's token sees no list of members, and may be nobody who ever did.
        may_know = written.caller is not None
        unreached = [one for one, sees in seeing.items() if not sees and may_know]
        beside = Unreached(unreached) if unreached else None
        return Outcome(fields_of(entities) if entities else None, beside, telling)

    async def _entities(
        self, tx: Transaction, written: Written, before: Sequence[Entity]
    ) -> tuple[list[Entity], dict[str, bool]]:
        """Return the entities that a message has from now on, and of some users whether they see it."""
        draft: MentionDraft = written.fields
        text = written.message.content
        if draft.entities is not UNSET:
            given = checked(draft.entities, written.asked)
            await _check_seen(tx, written, given)
            had = {one.id for one in before if one.type == "wide"}
            asked = {one.id for one in given if one.type == "wide"}
            if asked - had and not await self._wide.may(tx, written):
                raise Forbidden("You may not mention everybody here.")
            return given if text == written.asked else kept(given, written.asked, text), {}
        if written.before == text:
            return list(before), {}
        stay = kept(before, written.before or "", text)
        if draft.parse is False:
            return stay, {}
        made, known = await parsed(text, stay, partial(sight.named, tx, written.room.id, _stands_at(written)))
        if any(one.type == "wide" for one in made) and not await self._wide.may(tx, written):
            made = [one for one in made if one.type != "wide"]
        return sorted([*stay, *made], key=lambda one: one.offset)[:MOST], known

    async def _reach(
        self, tx: Transaction, written: Written, seeing: Mapping[str, bool], entities: Sequence[Entity]
    ) -> Telling | None:
        """Note whom a message reaches; `seeing` are those whom it names, and whether they see it.

        Returns whom a new message reaches, if anybody.
        """
        message, room = written.message, written.room
        is_new = written.before is None
        found = await self._keywords.found(tx, written)
        if is_new and not found and not entities:
            return None
        parent_id = None if message.thread_id is UNSET else message.thread_id
        where = Where(message.id, room.id, parent_id, message.id if is_new else new_id())
        listening = found if is_new else found | await self._still_listening(tx, written)
        causes = dict.fromkeys(sorted(listening), "keyword")
        causes |= {one: "both" if one in listening else "user" for one, sees in seeing.items() if sees}
        newly = await self._note(tx, where, causes, is_new=is_new)
        if parent_id is not None and newly:
            await follow(tx, Thread(parent_id, room.id), dict.fromkeys(newly, message.id))
        is_wide = any(one.type == "wide" and one.id == "channel" for one in entities)
        if is_wide:
            await mentioned.reach_all(tx, where, message.author.id)
        elif not is_new:
            await mentioned.reach_all_no_longer(tx, message.id)
        if not is_new or not (causes or is_wide):
            return None
        reached = sorted(causes)
        return Telling(reached, (), is_wide, message.id, is_wide=is_wide, known=reached, there=reached)

    async def _note(
        self, tx: Transaction, where: Where, causes: Mapping[str, str], *, is_new: bool
    ) -> Sequence[str]:
        """Return who is reached for the first time."""
        if is_new:
            await mentioned.reach(tx, where, causes)
            return list(causes)
        for_all = await concerned(tx, where.message_id, list(causes)) if causes else ()
        newly, _ = await mentioned.reach_again(tx, where, causes, for_all)
        return newly

    async def _still_listening(self, tx: Transaction, written: Written) -> set[str]:
        """Return whom the message has reached by a keyword that stands in it still."""
        reached = await mentioned.reached_by(tx, written.message.id)
        by_keyword = {one for one, cause in reached.items() if cause != "user"}
        return by_keyword & await self._keywords.owners(tx, written.message.content) if by_keyword else set()


def _stands_at(written: Written) -> str:
    """Return the message by which it is decided who sees one: of a reply its parent."""
    return written.message.thread_id or written.message.id


async def _seeing(
    tx: Transaction, written: Written, users: Sequence[str], known: Mapping[str, bool]
) -> dict[str, bool]:
    """Return whether these users see a message, of some of whom it is known."""
    asked = [one for one in users if one not in known]
    found = await sight.who_sees(tx, written.room.id, _stands_at(written), asked) if asked else set()
    return {one: known.get(one, one in found) for one in users}


async def _check_seen(tx: Transaction, written: Written, entities: Sequence[Entity]) -> None:
    """Raise `BadRequest` unless the author sees what entities name (E-2)."""
    ids: dict[str, set[str]] = {}
    for one in entities:
        ids.setdefault(one.type, set()).add(one.id)
    ids.pop("wide", None)
    for kind, asked in ids.items():
        if asked - await _seen(tx, written, kind, sorted(one for one in asked if could_be_id(one))):
            raise BadRequest(f"entities names a {kind} that there is not.")


async def _seen(tx: Transaction, written: Written, kind: str, ids: Sequence[str]) -> set[str]:
    if kind == "user":
        found: set[str] = set()
        for marks, piece in chunks(ids):
            rows = await tx.fetch(f"select id from users where id in ({marks})", *piece)  # noqa: S608
            found |= {id_ for (id_,) in rows}
        return found
    if kind == "channel":
        return await sight.channels(tx, written.caller, ids, own=written.room.id)
    if kind == "message" and written.caller is not None:
        return await sight.messages(tx, written.caller, ids)
    return set()
