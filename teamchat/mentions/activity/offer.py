"""The capability `activity`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teamchat.capabilities import Capability, DraftFields, Options, Parts
from teamchat.interfaces import Storage
from teamchat.mentions.activity.endpoints import section_for
from teamchat.mentions.activity.events import DeleteActivity, NewActivity
from teamchat.mentions.activity.exported import ActivityExported
from teamchat.mentions.activity.noting import NoFields, Noting, write
from teamchat.mentions.activity.service import Feed
from teamchat.mentions.activity.tables import CHECKS, KEPT_MS, MIGRATIONS
from teamchat.model import now_ms
from teamchat.read_state.positions import moment
from teamchat.read_state.tables import COUNTED_UP_TO

if TYPE_CHECKING:
    from teamchat.interfaces.api import Teamchat


class Upkeep:
    """What is done every hour: reactions whose items have had their time are forgotten."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    async def run(self) -> None:
        """Do it; nobody waits for it unless there is something to do."""
        before = moment(now_ms() - KEPT_MS)
        async with self._storage.read() as tx:
            has_old = bool(
                await tx.fetch("select 1 from activity_reactions where reached < $1 limit 1", before)
            )
        if has_old:
            async with self._storage.write() as tx:
                await tx.fetch("delete from activity_reactions where reached < $1", before)


def parts(app: Teamchat, _: Options) -> Parts:
    """Return what the capability brings to one server."""
    return Parts(
        limits={"countedUpTo": COUNTED_UP_TO},
        routes=[section_for(Feed(app))],
        changes=Noting(),
        draft_fields=DraftFields(kind=NoFields, write=write),
        jobs=[Upkeep(app.storage).run],
    )


ACTIVITY = Capability(
    name="activity",
    version=1,
    needs=["mentions"],
    tables=MIGRATIONS,
    events=[NewActivity, DeleteActivity],
    checks=CHECKS,
    export=ActivityExported(),
    parts=parts,
)
