"""Users' choices in ``teamchat export`` and ``teamchat import``: a record for each user."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from teamchat.capabilities import ExportPart, Imported
from teamchat.errors import Problem
from teamchat.interfaces import Transaction
from teamchat.read_state.levels import keywords, settings
from teamchat.read_state.levels.levels import Choice, Chosen
from teamchat.read_state.levels.places import choose
from teamchat.read_state.levels.settings import Defaults, Preview, QuietHours, Settings, SettingsChange
from teamchat.read_state.places import place_of

_PAGE = 200
_HAVING = """exists (select 1 from notification_levels_settings s where s.user_id = u.id)
or exists (select 1 from notification_levels n where n.user_id = u.id)"""
_AFTER = f"select u.id from users u where u.id > $1 and ({_HAVING}) order by u.id limit $2"  # noqa: S608
_HAS = f"select 1 from users u where u.id = $1 and ({_HAVING})"  # noqa: S608
_PLACES = """select room_id, level, is_muted, muted_until, ignores_wide from notification_levels
where user_id = $1 order by room_id"""
_KEYWORDS = """select keyword, since from notification_levels_keywords where user_id = $1 order by place"""
_Time = Annotated[int, Meta(ge=0, lt=2**53)]


class PortableKeyword(Struct, frozen=True):
    """A keyword, and since when it counts."""

    keyword: str
    since: _Time


class PortableLevel(Struct, frozen=True, rename="camel"):
    """What a user has chosen for a channel or a conversation."""

    channel_id: str
    level: Chosen
    is_muted: bool
    muted_until: _Time | None
    ignore_channel_mentions: bool


class PortableNotifications(Struct, frozen=True, rename="camel"):
    """What a user has chosen for all their places, and for some of them."""

    user_id: str
    defaults: Defaults
    keywords: Sequence[PortableKeyword]
    quiet_hours: QuietHours | None
    paused_until: _Time | None
    preview: Preview
    urgent_from: Sequence[str]
    places: Sequence[PortableLevel]
    share_presence: bool = True
    share_typing: bool = True


class NotificationsExported(ExportPart):
    """What the users of an installation have chosen."""

    record = PortableNotifications

    async def write(self, tx: Transaction) -> AsyncGenerator[Sequence[PortableNotifications], None]:
        """Yield what users have chosen, in the order of their ids."""
        after = ""
        while rows := await tx.fetch(_AFTER, after, _PAGE):
            yield [await _record(tx, user_id) for (user_id,) in rows]
            after = rows[-1][0]

    async def take(
        self, tx: Transaction, records: Sequence[PortableNotifications], imported: Imported
    ) -> None:
        """Take in what users have chosen who have chosen nothing here; who has keeps it."""
        for record in records:
            user = await imported.account(tx, record.user_id)
            if user is None:
                imported.omit(record.user_id, "nobody who has an account here")
            elif await tx.fetch(_HAS, user):
                imported.find()
            else:
                await _take(tx, user, record, imported)


async def _record(tx: Transaction, user_id: str) -> PortableNotifications:
    chosen = await settings.read(tx, user_id)
    return PortableNotifications(
        user_id,
        chosen.defaults,
        [PortableKeyword(*row) for row in await tx.fetch(_KEYWORDS, user_id)],
        chosen.quiet_hours,
        chosen.paused_until,
        chosen.preview,
        chosen.urgent_from,
        [
            PortableLevel(room_id, level, bool(is_muted), until, bool(ignores_wide))
            for room_id, level, is_muted, until, ignores_wide in await tx.fetch(_PLACES, user_id)
        ],
        chosen.share_presence,
        chosen.share_typing,
    )


async def _take(tx: Transaction, user: str, record: PortableNotifications, imported: Imported) -> None:
    urgent = [here for one in record.urgent_from if (here := imported.user(one)) is not None]
    asked = SettingsChange(
        defaults=settings.DefaultsChange(**msgspec.structs.asdict(record.defaults)),
        keywords=[one.keyword for one in record.keywords],
        quiet_hours=record.quiet_hours,
        paused_until=record.paused_until,
        preview=record.preview,
        urgent_from=urgent,
        share_presence=record.share_presence,
        share_typing=record.share_typing,
    )
    try:
        await settings.change(tx, user, Settings(), asked)
    except Problem as problem:
        imported.omit(record.user_id, str(problem))
        return
    await keywords.set_since(tx, user, {one.keyword: one.since for one in record.keywords})
    for place in record.places:
        room = imported.room(place.channel_id)
        if room is None or await place_of(tx, user, room) is None:
            where = f"{record.user_id} in {place.channel_id}"
            imported.omit(where, "its place was left out, or they are no member there")
        else:
            until = place.muted_until if place.is_muted else None
            choice = Choice(place.level, place.is_muted, until, place.ignore_channel_mentions)
            await choose(tx, user, room, choice)
    imported.create()
