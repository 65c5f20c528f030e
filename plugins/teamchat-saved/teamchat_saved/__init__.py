"""Messages that somebody keeps for later: the capability `saved`, version 1 (extensions H-3, H-7)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from teamchat import Capability, Options, Parts, hookimpl
from teamchat_saved.endpoints import section_for
from teamchat_saved.events import SavedChanged
from teamchat_saved.exported import SavedExported
from teamchat_saved.reminders import Due
from teamchat_saved.saved import MOST_SAVED, Going, Saved, are_saved
from teamchat_saved.tables import CHECKS, MIGRATIONS

if TYPE_CHECKING:
    from teamchat import Teamchat


def parts(app: Teamchat, _: Options) -> Parts:
    """Return what the capability brings to one server."""
    return Parts(
        limits={"perUser": MOST_SAVED},
        routes=[section_for(Saved(app))],
        changes=Going(),
        message_tests={"is:saved": are_saved},
        reminders=Due(),
    )


SAVED = Capability(
    name="saved",
    version=1,
    tables=MIGRATIONS,
    events=[SavedChanged],
    checks=CHECKS,
    export=SavedExported(),
    client="client",
    parts=parts,
)


@hookimpl
def capabilities() -> Sequence[Capability]:
    """Offer the capability."""
    return [SAVED]
