"""The capability `activity`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teamchat.capabilities import Capability, DraftFields, Options, Parts
from teamchat.interfaces import Storage
from teamchat.mentions.activity.endpoints import section_for
from teamchat.mentions.activity.events import ActivityRead, DeleteActivity, NewActivity
from teamchat.mentions.activity.exported import ActivityExported
from teamchat.mentions.activity.noting import NoFields, Noting, concerns, write
from teamchat.mentions.activity.service import Feed
from teamchat.mentions.activity.tables import CHECKS, KEPT_MS, MIGRATIONS
from teamchat.model import now_ms
from teamchat.read_state.positions import moment
from teamchat.read_state.tables import COUNTED_UP_TO

if TYPE_CHECKING:
    from teamchat.interfaces.api import Teamchat


_KEPT = [f"{table} where reached < $1" for table in ("activity_reactions", "activity_reminders")]


class Upkeep:
    """What is done every hour: reactions and reminders whose items have had their time are forgotten."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    async def run(self) -> None:
        """Do it; nobody waits for it unless there is something to do."""
        before = moment(now_ms() - KEPT_MS)
        async with self._storage.read() as tx:
            old = [one for one in _KEPT if await tx.fetch(f"select 1 from {one} limit 1", before)]  # noqa: S608
        for one in old:
            async with self._storage.write() as tx:
                await tx.fetch(f"delete from {one}", before)  # noqa: S608


def parts(app: Teamchat, _: Options) -> Parts:
    """Return what the capability brings to one server."""
    return Parts(
        limits={"countedUpTo": COUNTED_UP_TO},
        routes=[section_for(Feed(app))],
        changes=Noting(),
        draft_fields=DraftFields(kind=NoFields, write=write, concerns=concerns),
        jobs=[Upkeep(app.storage).run],
    )


ACTIVITY = Capability(
    name="activity",
    version=1,
    needs=["mentions"],
    tables=MIGRATIONS,
    events=[NewActivity, DeleteActivity, ActivityRead],
    checks=CHECKS,
    export=ActivityExported(),
    parts=parts,
)
