"""The endpoints of the history of messages."""

from __future__ import annotations

from collections.abc import Sequence

from teamchat.model import Caller
from teamchat.web import Answer, Section, Success
from teamchat_edit_history.history import History, Revision


class RevisionsAnswer(Answer, frozen=True):
    """What a message says and said before, newest first."""

    revisions: Sequence[Revision]


def section_for(history: History) -> Section:
    """Return the endpoints."""
    section = Section("edit-history")

    @section.endpoint("GET", "/messages/:messageId/history", answer=RevisionsAnswer)
    async def get_history(caller: Caller, message_id: str) -> RevisionsAnswer:
        """Read what a message said before."""
        return RevisionsAnswer(await history.read(caller, message_id))

    @section.endpoint("DELETE", "/messages/:messageId/history", answer=Success)
    async def drop_history(caller: Caller, message_id: str) -> Success:
        """Drop what one's message said before."""
        await history.drop(caller, message_id)
        return Success()

    return section
