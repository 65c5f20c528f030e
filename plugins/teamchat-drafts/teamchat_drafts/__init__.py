"""Drafts that follow from device to device: the capability `drafts`, version 1 (extension H-8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from teamchat import Capability, DraftFields, Options, Parts, hookimpl
from teamchat_drafts.drafts import MOST_DRAFTS, Drafts
from teamchat_drafts.endpoints import section_for
from teamchat_drafts.events import DraftChanged
from teamchat_drafts.exported import DraftsExported
from teamchat_drafts.sending import DraftId, Going, sent, was_draft
from teamchat_drafts.tables import CHECKS, MIGRATIONS, Tombstones

if TYPE_CHECKING:
    from teamchat import Teamchat


def parts(app: Teamchat, _: Options) -> Parts:
    """Return what the capability brings to one server."""
    return Parts(
        limits={"perUser": MOST_DRAFTS},
        routes=[section_for(Drafts(app))],
        changes=Going(),
        draft_fields=DraftFields(kind=DraftId, write=sent, concerns=was_draft),
        jobs=[Tombstones(app.storage).sweep],
    )


DRAFTS = Capability(
    name="drafts",
    version=1,
    tables=MIGRATIONS,
    events=[DraftChanged],
    checks=CHECKS,
    export=DraftsExported(),
    client="client",
    parts=parts,
)


@hookimpl
def capabilities() -> Sequence[Capability]:
    """Offer the capability."""
    return [DRAFTS]
