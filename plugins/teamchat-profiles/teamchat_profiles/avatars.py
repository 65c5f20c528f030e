"""Faces: setting one, taking it away, and serving it under an address that never means another (L-3)."""

from __future__ import annotations

import base64
import binascii
import os
import struct
import subprocess
import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import trio

from teamchat import BadRequest, NotFound
from teamchat.model import Caller, User
from teamchat.observability.logs import get_logger
from teamchat_profiles.profiles import store

if TYPE_CHECKING:
    from teamchat import Teamchat

MOST_BYTES = 2 * 1024 * 1024
# As the process has them (picture.py), which is not imported here: it would bring Pillow into the server.
SIZES = (64, 128, 512)
_LENGTH = struct.Struct(">I")
_SECONDS = 20.0
_PROGRAM = Path(__file__).resolve().with_name("picture.py")
_BEGINNINGS = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"RIFF")

_log = get_logger(__name__)


class Face(NamedTuple):
    """A picture in WebP, and the version that it is of."""

    data: bytes
    version: str


class Avatars:
    """The faces of a server's users."""

    def __init__(self, app: Teamchat) -> None:
        self._app = app
        # A picture takes some 50 MiB of memory and a tenth of a second, in a process of its own.
        self._turn = trio.CapacityLimiter(1)

    async def set(self, caller: Caller, image: str) -> User:
        """Make a picture (Base64) the caller's face, cut to a square from its middle.

        Raises `BadRequest` for what is no picture in JPG, PNG or WebP of at most 2 MiB.
        """
        squares = await self._squares(_decoded(image))
        version = sha256(squares[-1]).hexdigest()[:16]
        user_id = caller.user.id
        async with self._app.storage.write() as tx:
            await tx.fetch("delete from profiles_avatars where user_id = $1", user_id)
            for size, data in zip(SIZES, squares, strict=True):
                await tx.fetch(
                    "insert into profiles_avatars (user_id, size, data) values ($1, $2, $3)",
                    user_id,
                    size,
                    base64.b64encode(data).decode(),
                )
            await store(tx, self._app, user_id, {"avatar_version": version})
            return await self._app.accounts.users.whole_in(tx, caller.user)

    async def remove(self, caller: Caller) -> User:
        """Take the caller's face away; who has none keeps none."""
        async with self._app.storage.write() as tx:
            await tx.fetch("delete from profiles_avatars where user_id = $1", caller.user.id)
            await store(tx, self._app, caller.user.id, {"avatar_version": ""})
            return await self._app.accounts.users.whole_in(tx, caller.user)

    async def check(self, user_id: str) -> None:
        """Raise `NotFound` for who has no face, or is not there."""
        await self.get(user_id, SIZES[0])

    async def get(self, user_id: str, size: int) -> Face:
        """Return a user's face. Raises `NotFound` for who has none, or is not there."""
        async with self._app.storage.read() as tx:
            rows = await tx.fetch(
                """select a.data, p.avatar_version from profiles_avatars a
                   join profiles p on p.user_id = a.user_id where a.user_id = $1 and a.size = $2""",
                user_id,
                size,
            )
        if not rows:
            raise NotFound("No such picture.")
        return Face(base64.b64decode(rows[0][0]), rows[0][1])

    async def _squares(self, data: bytes) -> Sequence[bytes]:
        made = None
        async with self._turn:
            with trio.move_on_after(_SECONDS):
                made = await trio.run_process(
                    [sys.executable, "-I", "-B", str(_PROGRAM)],
                    stdin=data,
                    capture_stdout=True,
                    stderr=subprocess.DEVNULL,
                    env={"PATH": os.defpath, "MALLOC_ARENA_MAX": "1"},
                    cwd="/",
                    check=False,
                    start_new_session=True,
                )
        squares = _separated(made.stdout) if made is not None and made.returncode == 0 else []
        if len(squares) != len(SIZES):
            _log.info("no face could be made of a picture", status=made and made.returncode)
            raise BadRequest("image is no picture that can be read, in JPG, PNG or WebP.")
        return squares


def _decoded(image: str) -> bytes:
    encoded = image.partition(",")[2] if image.startswith("data:") else image
    if len(encoded) > MOST_BYTES * 4 // 3 + 4:
        raise BadRequest("image is larger than 2 MiB.")
    try:
        data = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        raise BadRequest("image is not Base64.") from None
    if len(data) > MOST_BYTES:
        raise BadRequest("image is larger than 2 MiB.")
    if not data.startswith(_BEGINNINGS):
        raise BadRequest("image is none in JPG, PNG or WebP.")
    return data


def _separated(written: bytes) -> list[bytes]:
    found, at = [], 0
    while at + _LENGTH.size <= len(written):
        [length] = _LENGTH.unpack_from(written, at)
        at += _LENGTH.size
        found.append(written[at : at + length])
        at += length
    return found
