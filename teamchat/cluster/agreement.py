"""What all members must have in common: the signing secret, and where images and files are stored.

The storage has a mark of the secret. A process whose secret has another mark starts only if no member is
alive, because it and the others would refuse each other's tokens. Nobody can find the secret from its mark,
which is too short to tell a right guess from a wrong one. A member counts as alive by its next beat, not just
by its row, so a server that was killed is in nobody's way for long.

Images and files are compared by a random name that is stored among them. A difference there is logged, not
refused.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Protocol

import trio

from teamchat.cluster.members import BEAT_SECONDS, Members, beats_in, silent
from teamchat.cluster.shared_settings import set_shared_setting_in, shared_setting_in
from teamchat.errors import SettingsError
from teamchat.interfaces import FileStore, ImageStore, Storage, Transaction
from teamchat.observability.logs import get_logger

NAME_KEY = "store-id"
"""The key under which a store of images or files keeps its random name."""
_WATCH_SECONDS = 2.5 * BEAT_SECONDS
_MOST_NAME = 64
_LOOKS = 4
_LOOK_SECONDS = 0.5

_log = get_logger(__name__)

Renew = Callable[[Transaction], Awaitable[object]]


async def agree_on_secret(storage: Storage, members: Members, mark: str, renew: Renew) -> None:
    """Become a member. `mark` is that of this process's secret; `renew` mends what an older secret made.

    Raises `SettingsError` if a living member has another secret.
    """
    if await _join(storage, members, mark, renew, {}):
        return
    _log.warning("a server with another signing secret was here; waiting to see whether it still runs")

    async def read() -> list[tuple[str, int]]:
        async with storage.read() as tx:
            return await beats_in(tx)

    async with storage.write() as tx:
        await members.call_in(tx)
    dead = await silent(read, _WATCH_SECONDS)
    if dead is None or not await _join(storage, members, mark, renew, dead):
        raise SettingsError(
            "auth.jwtSecret: another server runs on this storage with another secret, and the two would "
            "refuse each other's tokens. Give all servers the same auth.jwtSecret; to change it, end them "
            "all first."
        )


async def _join(storage: Storage, members: Members, mark: str, renew: Renew, dead: Mapping[str, int]) -> bool:
    """Become a member if no living one has another secret, and return whether that was so."""
    async with storage.write() as tx:
        if await shared_setting_in(tx, "secret") != mark:
            if any(dead.get(member) != beats for member, beats in await beats_in(tx)):
                return False
            await tx.fetch("delete from members")
            await renew(tx)
            await set_shared_setting_in(tx, "secret", mark)
        await members.join_in(tx)
    return True


class Place(Protocol):
    """A store that members share, as far as they compare whether it is the same one."""

    setting: str
    """What stands in the table of shared settings."""
    warning: str

    async def name(self) -> str | None:
        """Return the random name that is kept there, if there is one."""

    async def give(self, name: str) -> None:
        """Keep a name there, where there is none."""


class PlaceOfImages:
    """The place of the images."""

    setting = "images"
    warning = (
        "images.path: another server on this storage keeps its images elsewhere, so each shows only "
        "those that were uploaded to it. Give all servers the same directory, or another images.backend"
    )

    def __init__(self, images: ImageStore) -> None:
        self._images = images

    async def name(self) -> str | None:
        return await _text(await self._images.get(NAME_KEY))

    async def give(self, name: str) -> None:
        await self._images.put(NAME_KEY, name.encode())


class PlaceOfFiles:
    """The place of the files."""

    setting = "files"
    warning = (
        "files: another server on this storage keeps its files elsewhere, so each has only those that were "
        "uploaded to it. Give all servers the same directory (files-directory.path), or another files.backend"
    )

    def __init__(self, files: FileStore) -> None:
        self._files = files

    async def name(self) -> str | None:
        return await _text(await self._files.read(NAME_KEY))

    async def give(self, name: str) -> None:
        await self._files.put(NAME_KEY, name.encode())


async def agree_on_place(storage: Storage, members: Members, place: Place) -> None:
    """Compare a place with that of the other members, and warn of a difference."""
    try:
        known = await _known_name(storage, members, place)
        is_same = known is None or await _is_named(place, known)
    except Exception as error:  # It may be away for a while; the rest of the chat need not be.
        _log.warning(
            f"the place of the {place.setting} could not be compared with the other servers'", exc_info=error
        )
        return
    if not is_same:
        _log.warning(place.warning)


async def _known_name(storage: Storage, members: Members, place: Place) -> str | None:
    """Return the name of the other members' place; None without others: then this one's is given one."""
    named = await place.name()
    async with storage.write() as tx:
        known = await shared_setting_in(tx, place.setting)
        is_first = known is None or all(member == members.id for member, _ in await beats_in(tx))
        if not is_first:
            return known
        chosen = named or known or secrets.token_hex(16)
        await set_shared_setting_in(tx, place.setting, chosen)
    if named is None:
        await place.give(chosen)
    return None


async def _is_named(place: Place, known: str) -> bool:
    """Look a few times: a server that starts at this moment may be about to write the name."""
    for _ in range(_LOOKS):
        if await place.name() == known:
            return True
        await trio.sleep(_LOOK_SECONDS)
    return False


async def _text(chunks: AsyncIterator[bytes] | None) -> str | None:
    if chunks is None:
        return None
    name = b"".join([bytes(chunk) async for chunk in chunks])
    return name[:_MOST_NAME].decode("ascii", "replace")
