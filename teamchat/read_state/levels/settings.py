"""What a user has chosen for all their places: what notifies them, when, and how much is shown (D-9, E-7, J).

The choices are checked here; holding a notification back is up to whatever sends it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Literal
from zoneinfo import ZoneInfo

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from teamchat.errors import BadRequest, NotFound
from teamchat.interfaces import Transaction
from teamchat.model import now_ms
from teamchat.model.ids import could_be_id
from teamchat.read_state.levels import keywords
from teamchat.read_state.levels.levels import DEFAULTS, Level

MOST_URGENT = 20
"""How many people a user names whose messages come through."""
_CLOCK = re.compile(r"(?:[01][0-9]|2[0-3]):[0-5][0-9]")
_ZONE = re.compile(r"[A-Za-z0-9_+/-]{1,64}")

Preview = Literal["full", "sender", "none"]
"""How much of a message a notification shows."""
Time = Annotated[int, Meta(ge=0, lt=2**53)]

_READ = """select of_channels, of_groups, of_direct, of_threads, quiet_hours, paused_until, preview,
shares_presence, shares_typing from notification_levels_settings where user_id = $1"""
_STORE = """insert into notification_levels_settings
(user_id, of_channels, of_groups, of_direct, of_threads, quiet_hours, paused_until, preview,
shares_presence, shares_typing) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
on conflict (user_id) do update set
of_channels = excluded.of_channels, of_groups = excluded.of_groups, of_direct = excluded.of_direct,
of_threads = excluded.of_threads, quiet_hours = excluded.quiet_hours,
paused_until = excluded.paused_until, preview = excluded.preview,
shares_presence = excluded.shares_presence, shares_typing = excluded.shares_typing"""


class Defaults(Struct, frozen=True):
    """The levels of channels, groups and direct conversations, and of threads that one follows."""

    channel: Level = DEFAULTS["channel"]
    group: Level = DEFAULTS["group"]
    direct: Level = DEFAULTS["direct"]
    thread: Level = DEFAULTS["thread"]


class QuietHours(Struct, frozen=True):
    """When notifications are held back: in the IANA time zone `tz`, on `days` (1 is Monday, 7 Sunday).

    `from` and `to` are ``HH:MM``; a `to` that is not after `from` is on the next day.
    """

    tz: str
    days: Sequence[Annotated[int, Meta(ge=1, le=7)]]
    start: str = msgspec.field(name="from")
    end: str = msgspec.field(name="to")


class Settings(Struct, frozen=True, rename="camel"):
    """What a user has chosen. `paused_until` is in epoch milliseconds; one in the past is none any more.

    `urgent_from` are the users whose messages come through in quiet hours and while paused. `share_presence`
    and `share_typing` say whether others are told that one is there, and that one types (I-4).
    """

    defaults: Defaults = Defaults()
    keywords: Sequence[str] = ()
    quiet_hours: QuietHours | None = None
    paused_until: int | None = None
    preview: Preview = "full"
    urgent_from: Sequence[str] = ()
    share_presence: bool = True
    share_typing: bool = True


class DefaultsChange(Struct, frozen=True):
    """Levels to be chosen; those that are not named stay."""

    channel: Level | UnsetType = UNSET
    group: Level | UnsetType = UNSET
    direct: Level | UnsetType = UNSET
    thread: Level | UnsetType = UNSET


class SettingsChange(Struct, frozen=True, rename="camel"):
    """What is to be chosen; what is not named stays.

    `keywords` are up to 20 of 2 to 64 characters, `urgent_from` up to 20 ids of users.
    """

    defaults: DefaultsChange | UnsetType = UNSET
    keywords: Sequence[str] | UnsetType = UNSET
    quiet_hours: QuietHours | UnsetType | None = UNSET
    paused_until: Time | UnsetType | None = UNSET
    preview: Preview | UnsetType = UNSET
    urgent_from: Sequence[str] | UnsetType = UNSET
    share_presence: bool | UnsetType = UNSET
    share_typing: bool | UnsetType = UNSET


async def read(tx: Transaction, user_id: str) -> Settings:
    """Return what a user has chosen."""
    words, urgent = await keywords.of_user(tx, user_id), await _urgent(tx, user_id)
    rows = await tx.fetch(_READ, user_id)
    if not rows:
        return Settings(keywords=words, urgent_from=urgent)
    *defaults, quiet, paused_until, preview, shares_presence, shares_typing = rows[0]
    hours = None if quiet is None else msgspec.json.decode(quiet, type=QuietHours)
    shares = bool(shares_presence), bool(shares_typing)
    return Settings(Defaults(*defaults), words, hours, _ahead(paused_until), preview, urgent, *shares)


async def change(tx: Transaction, user_id: str, settings: Settings, asked: SettingsChange) -> Settings:
    """Store what is asked for, and return what is chosen then; `settings` is what was until now.

    Raises `BadRequest` for what can't be, `NotFound` for an unknown user among `urgent_from`.
    """
    new = {name: value for name in asked.__struct_fields__ if (value := getattr(asked, name)) is not UNSET}
    if isinstance(asked.defaults, DefaultsChange):
        new["defaults"] = _joined(settings.defaults, asked.defaults)
    if isinstance(asked.keywords, Sequence):
        new["keywords"] = keywords.checked(asked.keywords)
    if isinstance(asked.quiet_hours, QuietHours):
        new["quiet_hours"] = _checked(asked.quiet_hours)
    if isinstance(asked.paused_until, int):
        new["paused_until"] = _ahead(asked.paused_until)
    if isinstance(asked.urgent_from, Sequence):
        new["urgent_from"] = await _known(tx, asked.urgent_from)
    changed = msgspec.structs.replace(settings, **new)
    if changed != settings:
        await _store(tx, user_id, settings, changed)
    return changed


async def _store(tx: Transaction, user_id: str, before: Settings, now: Settings) -> None:
    quiet = None if now.quiet_hours is None else msgspec.json.encode(now.quiet_hours).decode()
    levels = msgspec.structs.astuple(now.defaults)
    shares = int(now.share_presence), int(now.share_typing)
    await tx.fetch(_STORE, user_id, *levels, quiet, now.paused_until, now.preview, *shares)
    if now.keywords != before.keywords:
        await keywords.store(tx, user_id, now.keywords)
    if now.urgent_from != before.urgent_from:
        await tx.fetch("delete from notification_levels_urgent where user_id = $1", user_id)
        for place, other_id in enumerate(now.urgent_from):
            await tx.fetch(
                "insert into notification_levels_urgent (user_id, other_id, place) values ($1, $2, $3)",
                *(user_id, other_id, place),
            )


async def _urgent(tx: Transaction, user_id: str) -> list[str]:
    rows = await tx.fetch(
        "select other_id from notification_levels_urgent where user_id = $1 order by place", user_id
    )
    return [other_id for (other_id,) in rows]


async def _known(tx: Transaction, user_ids: Sequence[str]) -> list[str]:
    wanted = list(dict.fromkeys(user_ids))
    if len(wanted) > MOST_URGENT:
        raise BadRequest(f"urgentFrom has more than {MOST_URGENT} users.")
    for user_id in wanted:
        if not could_be_id(user_id) or not await tx.fetch(
            "select 1 from users where id = $1 and removed_at is null", user_id
        ):
            raise NotFound("No such user.")
    return wanted


def _joined(defaults: Defaults, asked: DefaultsChange) -> Defaults:
    named = {name: level for name, level in msgspec.structs.asdict(asked).items() if level is not UNSET}
    return msgspec.structs.replace(defaults, **named)


def _checked(hours: QuietHours) -> QuietHours:
    days = sorted(set(hours.days))
    if not days:
        raise BadRequest("quietHours names no day.")
    for time in (hours.start, hours.end):
        if not _CLOCK.fullmatch(time):
            raise BadRequest("from and to of quietHours are times such as 22:30.")
    if hours.start == hours.end:
        raise BadRequest("quietHours begin and end at the same time.")
    if not _is_zone(hours.tz):
        raise BadRequest("tz of quietHours is no time zone such as Europe/Berlin.")
    return QuietHours(hours.tz, days, hours.start, hours.end)


def _is_zone(name: str) -> bool:
    """Whether the time zones of this machine have one of that name."""
    if not _ZONE.fullmatch(name):
        return False
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # KeyError: unknown; the others: the name of a directory, say
        return False
    return True


def _ahead(time: int | None) -> int | None:
    """Return a time that is to come, None for any other."""
    return time if time is not None and time > now_ms() else None
