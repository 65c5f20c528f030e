"""Choosing what notifies a user, and reading the choices (extension D-9)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import asdict

from teamchat.errors import NotFound
from teamchat.interfaces import Transaction
from teamchat.model import Caller
from teamchat.read_state.levels import settings
from teamchat.read_state.levels.events import NotificationSettings
from teamchat.read_state.levels.places import PlaceChange, choice_of, choose
from teamchat.read_state.levels.settings import Settings, SettingsChange
from teamchat.read_state.places import Place, ReadState, place_of, states_of

if TYPE_CHECKING:
    from teamchat.interfaces.api import Teamchat


class Notifications:
    """What notifies the users of a server."""

    def __init__(self, app: Teamchat) -> None:
        self._app = app
        self._storage = app.storage

    async def settings(self, caller: Caller) -> Settings:
        """Return what the caller has chosen for all their places."""
        async with self._storage.read() as tx:
            return await settings.read(tx, caller.user.id)

    async def change(self, caller: Caller, asked: SettingsChange) -> Settings:
        """Choose for all places; what is as it was changes nothing, and nobody is told (D-10)."""
        user_id = caller.user.id
        async with self._storage.write() as tx:
            before = await settings.read(tx, user_id)
            now = await settings.change(tx, user_id, before, asked)
            if now != before:
                await tx.append(NotificationSettings(**asdict(now)).to([user_id]))
        return now

    async def check_member(self, caller: Caller, place_id: str) -> None:
        """Raise `NotFound` for a place that the caller is no member of; `Forbidden` as `app.room` does."""
        async with self._storage.read() as tx:
            await self._place(tx, caller, place_id)

    async def change_place(self, caller: Caller, place_id: str, asked: PlaceChange) -> ReadState:
        """Choose for one place, and return its read state; the caller's devices are told of a change."""
        user_id = caller.user.id
        async with self._storage.write() as tx:
            room_id = (await self._place(tx, caller, place_id)).id
            before = await choice_of(tx, user_id, room_id)
            now = asked.made_to(before)
            if now != before:
                await choose(tx, user_id, room_id, now)
                level, is_muted, until, ignores_wide = now
                event = NotificationSettings(room_id, level, is_muted, until, ignores_wide)
                await tx.append(event.to([user_id]))
        async with self._storage.read() as tx:
            [state] = await states_of(tx, user_id, [await self._place(tx, caller, place_id)])
        return state

    async def _place(self, tx: Transaction, caller: Caller, place_id: str) -> Place:
        room = await self._app.room(tx, caller, place_id)
        place = await place_of(tx, caller.user.id, room.id)
        if place is None:
            raise NotFound("No such place.")
        return place
