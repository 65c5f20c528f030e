"""What a user's own devices are told about their choices."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET, UnsetType

from teamchat.events import Payload
from teamchat.read_state.levels.levels import Chosen
from teamchat.read_state.levels.settings import Defaults, Preview, QuietHours


class NotificationSettings(Payload, frozen=True):
    """What notifies the user is another: for one place, if `place_id` is there, or for all of them."""

    type = "NOTIFICATION_SETTINGS"
    place_id: str | UnsetType = UNSET
    level: Chosen | UnsetType = UNSET
    is_muted: bool | UnsetType = UNSET
    muted_until: int | UnsetType | None = UNSET
    ignore_channel_mentions: bool | UnsetType = UNSET
    defaults: Defaults | UnsetType = UNSET
    keywords: Sequence[str] | UnsetType = UNSET
    quiet_hours: QuietHours | UnsetType | None = UNSET
    paused_until: int | UnsetType | None = UNSET
    preview: Preview | UnsetType = UNSET
    urgent_from: Sequence[str] | UnsetType = UNSET
    share_presence: bool | UnsetType = UNSET
    share_typing: bool | UnsetType = UNSET
