"""The endpoints of what one keeps."""

from __future__ import annotations

from collections.abc import Sequence

from teamchat.model import Caller
from teamchat.web import Answer, Section, Success, read_limit
from teamchat_saved.saved import Item, Keeping, Saved


class SavedAnswer(Answer, frozen=True):
    """The message as it is kept now."""

    item: Item


class SavedMessages(Answer, frozen=True):
    """What one keeps, newest first, at the position `as_of` of the log; `next` is the cursor to the rest."""

    items: Sequence[Item]
    next: str | None
    as_of: str


def section_for(saved: Saved) -> Section:
    """Return the endpoints."""
    section = Section("saved")

    @section.endpoint("GET", "/me/saved", within_places=True, answer=SavedMessages, query=("limit", "cursor"))
    async def list_saved(caller: Caller, limit: str | None, cursor: str | None) -> SavedMessages:
        """List the messages that one keeps."""
        page = await saved.page(caller, read_limit(limit), cursor)
        return SavedMessages(page.items, page.next, str(page.as_of))

    @section.endpoint(
        "PUT",
        "/me/saved/:messageId",
        body=Keeping,
        answer=SavedAnswer,
        optional=True,
        first=saved.check_sees,
    )
    async def save_message(caller: Caller, message_id: str, body: Keeping) -> SavedAnswer:
        """Keep a message for later, with a note or a reminder."""
        return SavedAnswer(await saved.keep(caller, message_id, body))

    @section.endpoint("DELETE", "/me/saved/:messageId", answer=Success)
    async def unsave_message(caller: Caller, message_id: str) -> Success:
        """Keep a message no longer."""
        await saved.drop(caller, message_id)
        return Success()

    return section
