"""Mentions: who is meant by a message, and whom it reaches (the capability `mentions`, extension E).

The capability `activity`, the feed of what concerns a user, goes with it.

It is part of the server, because whom a mention reaches depends on who sees what; but it is offered by the
same hooks as any other capability.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from teamchat.capabilities import Capability, DraftFields, MessageFields, Options, Parts
from teamchat.interfaces import Service
from teamchat.interfaces.hookspecs import hookimpl
from teamchat.mentions.activity.offer import ACTIVITY
from teamchat.mentions.activity.reminding import Reminding
from teamchat.mentions.entities import MOST, MentionDraft, MentionFields
from teamchat.mentions.exported import MentionsExported
from teamchat.mentions.stored import naming, read_fields
from teamchat.mentions.tables import CHECKS, MIGRATIONS
from teamchat.mentions.wide import WideMentions
from teamchat.mentions.writing import Mentioning, Unreached

if TYPE_CHECKING:
    from teamchat.application import Application
    from teamchat.interfaces.api import Teamchat


def parts(app: Teamchat, _: Options) -> Parts:
    """Return what the capability brings to one server."""
    chat = app.settings.chat
    wide = WideMentions(chat.wide_mentions, chat.wide_limit)
    mentioning = Mentioning(wide)
    return Parts(
        may=wide.rights,
        limits={"perMessage": MOST},
        message_fields=MessageFields(kind=MentionFields, read=read_fields),
        draft_fields=DraftFields(kind=MentionDraft, write=mentioning.write, beside=Unreached),
        message_tests={"mentions:": naming},
    )


MENTIONS = Capability(
    name="mentions",
    version=1,
    needs=["read-state", "threads", "notification-levels"],
    tables=MIGRATIONS,
    checks=CHECKS,
    export=MentionsExported(),
    parts=parts,
)


@hookimpl
def capabilities() -> Sequence[Capability]:
    """Offer the capabilities."""
    return [MENTIONS, ACTIVITY]


@hookimpl
def services(app: Application) -> Sequence[Service]:
    """Offer the service that gives reminders, where there are a feed and a capability that has some."""
    return [Reminding(app)] if app.reminders and "activity" in app.announced().capabilities else []
