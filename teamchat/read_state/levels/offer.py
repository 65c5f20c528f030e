"""The capability `notification-levels`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teamchat.capabilities import Capability, Options, Parts
from teamchat.read_state.levels import keywords
from teamchat.read_state.levels.endpoints import section_for
from teamchat.read_state.levels.events import NotificationSettings
from teamchat.read_state.levels.exported import NotificationsExported
from teamchat.read_state.levels.following import Following
from teamchat.read_state.levels.notices import LevelNotices
from teamchat.read_state.levels.service import Notifications
from teamchat.read_state.levels.settings import MOST_URGENT
from teamchat.read_state.levels.tables import CHECKS, MIGRATIONS

if TYPE_CHECKING:
    from teamchat.interfaces.api import Teamchat


def parts(app: Teamchat, _: Options) -> Parts:
    """Return what the capability brings to one server."""
    limits = {"keywords": keywords.MOST, "urgentFrom": MOST_URGENT}
    names = app.announced().capabilities
    return Parts(
        limits=limits,
        routes=[section_for(Notifications(app))],
        changes=Following(),
        notices=LevelNotices(has_mentions="mentions" in names, has_activity="activity" in names),
    )


LEVELS = Capability(
    name="notification-levels",
    version=1,
    needs=["read-state"],
    tables=MIGRATIONS,
    events=[NotificationSettings],
    checks=CHECKS,
    export=NotificationsExported(),
    parts=parts,
)
