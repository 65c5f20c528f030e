"""The files of a room: its messages that have some, newest first and page by page (X-2, X-11)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from teamchat import BadRequest
from teamchat.model import Caller, Message
from teamchat.web import Answer, Section, read_limit

if TYPE_CHECKING:
    from teamchat import Teamchat, Transaction

_CURSOR = re.compile(r"[A-Za-z0-9-]{1,64}")
_LAST = "~"  # Greater than every id.
_NEXT = """select distinct message_id from files
where place_id = $1 and message_id is not null and message_id < $2 order by message_id desc limit $3"""


class MessagesWithFiles(Answer, frozen=True):
    """Messages that have files, newest first; `next` is the cursor to those before them."""

    messages: Sequence[Message]
    next: str | None


def add_listing(section: Section, app: Teamchat) -> None:
    """Add the endpoints."""

    async def page(caller: Caller, tx: Transaction, room_id: str, limit: int, cursor: str | None) -> Answer:
        if cursor is not None and not _CURSOR.fullmatch(cursor):
            raise BadRequest("cursor is none that this server has given.")
        # One more than are shown says whether there are others; only what is seen counts.
        shown: list[Message] = []
        before = cursor or _LAST
        while len(shown) <= limit:
            ids = [id_ for (id_,) in await tx.fetch(_NEXT, room_id, before, limit + 1)]
            shown += await app.messages(tx, caller, ids)
            if len(ids) <= limit:
                break
            before = ids[-1]
        following = shown[limit - 1].id if len(shown) > limit else None
        return MessagesWithFiles(shown[:limit], following)

    @section.endpoint(
        "GET", "/channels/:channelId/files", answer=MessagesWithFiles, query=("limit", "cursor")
    )
    async def list_channel_files(
        caller: Caller, channel_id: str, limit: str | None, cursor: str | None
    ) -> Answer:
        """Read the messages of a channel that have files, replies among them."""
        async with app.storage.read() as tx:
            room = await app.channel(tx, caller, channel_id)
            return await page(caller, tx, room.id, read_limit(limit), cursor)

    @section.endpoint(
        "GET", "/conversations/:conversationId/files", answer=MessagesWithFiles, query=("limit", "cursor")
    )
    async def list_conversation_files(
        caller: Caller, conversation_id: str, limit: str | None, cursor: str | None
    ) -> Answer:
        """Read the messages of a conversation that have files, replies among them (participants)."""
        async with app.storage.read() as tx:
            room = await app.conversation(tx, caller, conversation_id)
            return await page(caller, tx, room.id, read_limit(limit), cursor)
