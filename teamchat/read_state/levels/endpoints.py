"""The endpoints for choosing what notifies a user."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from teamchat.model import Caller
from teamchat.read_state.levels.places import PlaceChange
from teamchat.read_state.levels.settings import Defaults, Preview, QuietHours, SettingsChange
from teamchat.read_state.places import ReadState
from teamchat.web import Answer, Section

if TYPE_CHECKING:
    from teamchat.read_state.levels.service import Notifications


class NotificationChoices(Answer, frozen=True):
    """What one has chosen for all one's places.

    `paused_until` is in epoch milliseconds; the messages of `urgent_from` (users) come through while paused
    and in quiet hours.
    """

    defaults: Defaults
    keywords: Sequence[str]
    quiet_hours: QuietHours | None
    paused_until: int | None
    preview: Preview
    urgent_from: Sequence[str]
    share_presence: bool
    share_typing: bool


class ChosenForPlace(Answer, frozen=True):
    """The read state of the place, with what was chosen."""

    state: ReadState


def section_for(notifications: Notifications) -> Section:
    """Return the endpoints."""
    section = Section("notification levels")

    @section.endpoint("GET", "/me/notifications", within_places=True, answer=NotificationChoices)
    async def get_notifications(caller: Caller) -> NotificationChoices:
        """Read what notifies one."""
        return NotificationChoices(**asdict(await notifications.settings(caller)))

    @section.endpoint("PUT", "/me/notifications", body=SettingsChange, answer=NotificationChoices)
    async def change_notifications(caller: Caller, body: SettingsChange) -> NotificationChoices:
        """Choose what notifies one."""
        return NotificationChoices(**asdict(await notifications.change(caller, body)))

    @section.endpoint(
        "PUT",
        "/me/places/:placeId/notifications",
        body=PlaceChange,
        answer=ChosenForPlace,
        first=notifications.check_member,
    )
    async def change_notifications_of_place(
        caller: Caller, place_id: str, body: PlaceChange
    ) -> ChosenForPlace:
        """Choose what notifies one in a place."""
        return ChosenForPlace(await notifications.change_place(caller, place_id, body))

    return section
