"""Changing one's profile and status, and when that is told (L-3, L-7).

Everybody who is there is told of a change, so a user is told of once in ten seconds at most: what changes
sooner is told when these are over, as it is then.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any
from zoneinfo import available_timezones

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import asdict

from teamchat import BadRequest, Changes, Transaction
from teamchat.model import Caller, User, now_ms, text

if TYPE_CHECKING:
    from teamchat import Teamchat

MOST = 100
BETWEEN_MS = 10_000
_FARTHEST_MS = 10 * 366 * 86_400_000
_LOCALE = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,8}")


class ProfileChange(Struct, frozen=True, rename="camel"):
    """What changes in one's profile; an empty text takes a field away, and what is missing stays."""

    full_name: str | UnsetType = UNSET
    title: str | UnsetType = UNSET
    pronouns: str | UnsetType = UNSET
    timezone: str | UnsetType = UNSET
    locale: str | UnsetType = UNSET


class NewStatus(Struct, frozen=True):
    """What one is at: an emoji, a text or both, and when it ends, in epoch milliseconds."""

    emoji: str = ""
    """What a reaction may be, of up to 64 characters."""
    text: str = ""
    until: int | None = None


class Going(Changes):
    """Nothing is kept of who is no user any more."""

    async def user_gone(self, tx: Transaction, user_id: str) -> None:
        """Remove the profile, and the picture with it."""
        await tx.fetch("delete from profiles_avatars where user_id = $1", user_id)
        await tx.fetch("delete from profiles where user_id = $1", user_id)


class Profiles:
    """The profiles of a server's users."""

    def __init__(self, app: Teamchat) -> None:
        self._app = app

    async def change(self, caller: Caller, change: ProfileChange) -> User:
        """Change the caller's profile. Raises `BadRequest` for what can't stand in it."""
        columns = {
            name: _checked(name, value) for name, value in asdict(change).items() if value is not UNSET
        }
        if not columns:
            raise BadRequest("fullName, title, pronouns, timezone or locale is missing.")
        return await self._set(caller, columns)

    async def set_status(self, caller: Caller, status: NewStatus) -> User:
        """Set the caller's status."""
        emoji = text.reaction(status.emoji, "emoji") if status.emoji.strip() else ""
        said = text.squeezed(text.note("text", status.text, most=MOST))
        now = now_ms()
        if not (emoji or said):
            raise BadRequest("emoji or text is missing.")
        if status.until is not None and not now < status.until <= now + _FARTHEST_MS:
            raise BadRequest("until is no time of the next ten years.")
        return await self._set(caller, _status(emoji, said, status.until))

    async def end_status(self, caller: Caller) -> User:
        """Take the caller's status away."""
        return await self._set(caller, _status("", "", None))

    async def _set(self, caller: Caller, columns: dict[str, Any]) -> User:
        async with self._app.storage.write() as tx:
            await store(tx, self._app, caller.user.id, columns)
            return await self._app.accounts.users.whole_in(tx, caller.user)


async def store(tx: Transaction, app: Teamchat, user_id: str, columns: dict[str, Any]) -> None:
    """Set columns of a user's profile, and have that told now or in its turn; what is so already is not."""
    await tx.fetch("insert into profiles (user_id) values ($1) on conflict do nothing", user_id)
    names = ", ".join(columns)
    [row] = await tx.fetch(f"select {names} from profiles where user_id = $1", user_id)  # noqa: S608
    if list(row) == list(columns.values()):
        return
    set_ = ", ".join(f"{name} = ${number}" for number, name in enumerate(columns, 2))
    await tx.fetch(f"update profiles set {set_} where user_id = $1", user_id, *columns.values())  # noqa: S608
    [(told_at,)] = await tx.fetch("select told_at from profiles where user_id = $1", user_id)
    now = now_ms()
    if now - BETWEEN_MS < told_at <= now:
        await tx.fetch("update profiles set due_at = $2 where user_id = $1", user_id, told_at + BETWEEN_MS)
    else:
        await tell(tx, app, user_id, now)


async def tell(tx: Transaction, app: Teamchat, user_id: str, now: int) -> None:
    """Tell everybody of a user as they are now, and note when their status ends, to tell of that."""
    await tx.fetch(
        """update profiles set status_emoji = '', status_text = '', status_until = null
           where user_id = $1 and status_until <= $2""",
        user_id,
        now,
    )
    await tx.fetch("update profiles set told_at = $2, due_at = status_until where user_id = $1", user_id, now)
    await app.accounts.users.changed_in(tx, user_id)


def _status(emoji: str, said: str, until: int | None) -> dict[str, Any]:
    return {"status_emoji": emoji, "status_text": said, "status_until": until}


def _checked(name: str, value: str) -> str:
    accepted = text.label({"full_name": "fullName"}.get(name, name), value, most=MOST)
    if not accepted:
        return ""
    if name == "timezone" and accepted not in _zones():
        raise BadRequest("timezone is none of the IANA time zones, such as Europe/Berlin.")
    if name == "locale" and not _LOCALE.fullmatch(accepted):
        raise BadRequest("locale is no language tag, such as en-GB (BCP 47).")
    return accepted


@cache
def _zones() -> frozenset[str]:
    """Return the names of time zones. Hundreds of files are opened to find them, for 7 ms."""
    return frozenset(available_timezones())
