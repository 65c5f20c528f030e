"""The endpoints of drafts."""

from __future__ import annotations

from collections.abc import Sequence

from teamchat.model import Caller
from teamchat.web import Answer, Condition, Section, Success
from teamchat_drafts.drafts import DraftBody, Drafts
from teamchat_drafts.stored import Draft


class DraftAnswer(Answer, frozen=True):
    """The draft as it is now."""

    draft: Draft


class DraftsAnswer(Answer, frozen=True):
    """One's drafts, last changed first, at the position `as_of` of the log."""

    drafts: Sequence[Draft]
    as_of: str


def section_for(drafts: Drafts) -> Section:
    """Return the endpoints."""
    section = Section("drafts")

    @section.endpoint("GET", "/me/drafts", within_places=True, answer=DraftsAnswer)
    async def list_drafts(caller: Caller) -> DraftsAnswer:
        """List one's drafts."""
        found, as_of = await drafts.all(caller)
        return DraftsAnswer(found, str(as_of))

    @section.endpoint("GET", "/me/drafts/:draftId", within_places=True, answer=DraftAnswer)
    async def get_draft(caller: Caller, draft_id: str) -> DraftAnswer:
        """Read a draft."""
        return DraftAnswer(await drafts.one(caller, draft_id))

    @section.endpoint("PUT", "/me/drafts/:draftId", within_places=True, body=DraftBody, answer=DraftAnswer)
    async def save_draft(
        caller: Caller, draft_id: str, body: DraftBody, condition: Condition | None
    ) -> DraftAnswer:
        """Save a draft, if nobody has changed it meanwhile."""
        return DraftAnswer(await drafts.save(caller, draft_id, body, condition))

    @section.endpoint("DELETE", "/me/drafts/:draftId", within_places=True, answer=Success)
    async def delete_draft(caller: Caller, draft_id: str, condition: Condition | None) -> Success:
        """Delete a draft."""
        await drafts.delete(caller, draft_id, condition)
        return Success()

    return section
