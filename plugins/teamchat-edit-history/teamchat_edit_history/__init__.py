"""What edited messages said before: the capability `edit-history`, version 1 (extension H-6)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from teamchat import Capability, DraftFields, Options, Parts, hookimpl
from teamchat_edit_history.endpoints import section_for
from teamchat_edit_history.exported import HistoryExported
from teamchat_edit_history.history import MOST_REVISIONS, READERS, History
from teamchat_edit_history.keeping import Keeping, NoFields, is_edit
from teamchat_edit_history.tables import CHECKS, MIGRATIONS

if TYPE_CHECKING:
    from teamchat import Teamchat


def parts(app: Teamchat, _: Options) -> Parts:
    """Return what the capability brings to one server."""
    keeping = Keeping(app)
    return Parts(
        limits={"perMessage": MOST_REVISIONS, "readers": READERS[app.settings.chat.edit_history]},
        routes=[section_for(History(app))],
        changes=keeping,
        draft_fields=DraftFields(kind=NoFields, write=keeping.edited, concerns=is_edit),
        jobs=[keeping.sweep],
    )


EDIT_HISTORY = Capability(
    name="edit-history",
    version=1,
    tables=MIGRATIONS,
    checks=CHECKS,
    export=HistoryExported(),
    client="client",
    parts=parts,
)


@hookimpl
def capabilities() -> Sequence[Capability]:
    """Offer the capability."""
    return [EDIT_HISTORY]
