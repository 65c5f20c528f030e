"""Whose keywords are in a message: the text is searched once for those of all users (E-7)."""

from __future__ import annotations

from teamchat.capabilities import Written
from teamchat.chat import sight
from teamchat.chat.joining import members_among
from teamchat.interfaces import Transaction
from teamchat.mentions.phrases import Phrases
from teamchat.read_state.levels import keywords
from teamchat.read_state.levels.levels import levels_in


class Keywords:
    """The keywords of all users, kept in memory until any of them has changed."""

    def __init__(self) -> None:
        self._version = -1
        self._phrases: Phrases[tuple[str, str]] = Phrases()

    async def found(self, tx: Transaction, written: Written) -> set[str]:
        """Return whom a message reaches by a keyword that was not in it before.

        They are members of its place who see it and have not turned off what is said there.
        """
        message, room = written.message, written.room
        found = await self._found_in(tx, message.content)
        if found and written.before is not None:
            found -= self._phrases.found_in(written.before)
        owners = {user_id for user_id, _ in found} - {message.author.id}
        if not owners:
            return owners
        asked = sorted(owners)
        members = await members_among(tx, room, asked)
        seeing = await sight.who_sees(tx, room.id, message.thread_id or message.id, asked)
        listening = await levels_in(tx, room.id, asked)
        return {one for one in members & seeing if listening[one].has_keywords}

    async def owners(self, tx: Transaction, text: str) -> set[str]:
        """Return whose keywords stand in a text, wherever it is."""
        return {user_id for user_id, _ in await self._found_in(tx, text)}

    async def _found_in(self, tx: Transaction, text: str) -> set[tuple[str, str]]:
        """Return the keywords that stand in a text, each with whose it is."""
        version = await keywords.version(tx)
        if version != self._version:
            self._phrases = Phrases(
                (one.key, (one.user_id, one.key)) for one in await keywords.everybodys(tx)
            )
            self._version = version
        return self._phrases.found_in(text)
