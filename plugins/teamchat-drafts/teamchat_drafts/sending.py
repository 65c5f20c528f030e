"""What becomes of drafts when they are sent, and when what they hang on is gone.

A message that is posted with `draftId` ends the draft in its own transaction, though it was never saved: what
is still on its way from another device is refused then.  What a token does not reach stays.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import UNSET, Struct, UnsetType

from teamchat import BadRequest, Changes, Outcome, Room, Transaction, Written
from teamchat.storage.statements import chunks
from teamchat_drafts.stored import bury, row_of

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# Such a row is as one that its user does not see; it keeps its version, which they knew.
_EMPTIED = """update drafts set room_id = '', thread_id = null, quoted_id = null, quoted_room = null,
content = '', entities = null, files = null where """
_UNQUOTED = "update drafts set quoted_id = null, quoted_room = null where "


class DraftId(Struct, frozen=True, rename="camel"):
    """Which draft a message was."""

    draft_id: str | UnsetType = UNSET


def checked_id(draft_id: str) -> str:
    """Return the id of a draft, in lower case. Raises `BadRequest` for what is no UUID."""
    lowered = draft_id.lower()
    if not _UUID.fullmatch(lowered):
        raise BadRequest("The id of a draft must be a UUID.")
    return lowered


def was_draft(written: Written) -> bool:
    """Return whether a message names the draft that it was; an edit ends none."""
    return written.fields.draft_id is not UNSET and written.before is None


async def sent(tx: Transaction, written: Written) -> Outcome:
    """End the draft that was posted."""
    if written.caller is not None:
        draft_id, user_id = checked_id(written.fields.draft_id), written.caller.user.id
        row = await row_of(tx, user_id, draft_id)
        if row is None or written.caller.reaches(row.room_id):
            await bury(tx, user_id, draft_id, row)
    return Outcome()


class Going(Changes):
    """Empties drafts of what is gone. No event tells of that but that of the deletion."""

    async def messages_going(self, tx: Transaction, ids: Sequence[str], room: Room) -> None:  # noqa: ARG002
        """Drafts in a thread go with it, and a draft that quotes a message quotes nothing any more."""
        for marks, piece in chunks(ids):
            await tx.fetch(f"{_EMPTIED} thread_id in ({marks})", *piece)
            await tx.fetch(f"{_UNQUOTED} quoted_id in ({marks})", *piece)

    async def room_going(self, tx: Transaction, room: Room) -> None:
        """Drafts go with their place; nothing quotes what was said in it."""
        await tx.fetch(f"{_EMPTIED} room_id = $1", room.id)
        await tx.fetch(f"{_UNQUOTED} quoted_room = $1", room.id)

    async def user_gone(self, tx: Transaction, user_id: str) -> None:
        """Nothing is kept of who is no user any more."""
        await tx.fetch("delete from drafts where user_id = $1", user_id)
