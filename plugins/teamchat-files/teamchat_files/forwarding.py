"""Forwarding: a new file of one's own that shares the bytes of one that one sees (extension G-2)."""

from __future__ import annotations

import secrets
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct

from teamchat import Conflict, Gone, KeyedRequest, NotFound
from teamchat.model import Caller, now_ms
from teamchat_files import stored
from teamchat_files.seeing import seen
from teamchat_files.stored import FileRow

if TYPE_CHECKING:
    from teamchat import Teamchat
    from teamchat_files.uploads import Uploads


class NewPlace(Struct, frozen=True, rename="camel"):
    """Where a file is to be attached."""

    place_id: str


def there(found: FileRow) -> FileRow:
    """Return a file that has its bytes. Raises `Gone` for an expired, `NotFound` for a blocked one."""
    if found.state == "expired":
        raise Gone("This file has expired.")
    if not found.key:
        raise NotFound("No such file.")
    return found


async def forward(
    app: Teamchat, uploads: Uploads, caller: Caller, file_id: str, place_id: str, key: str | None
) -> FileRow:
    """Make a file for a place of a file that the caller sees; nothing is uploaded, and no room is taken.

    Like one that was uploaded it is the caller's alone until it stands in a message.  With the same `key`
    (Idempotency-Key) it is the same one.  Raises `Conflict` for one that is still looked at.
    """
    request = KeyedRequest(caller.user.id, "files", key)
    async with app.storage.write() as tx:
        found = there(await seen(app, tx, caller, file_id))
        await uploads.place(tx, caller, place_id)
        if found.state != "ready" or found.todo:
            raise Conflict("This file is still being looked at.")

        async def make() -> str:
            id_, now = secrets.token_hex(16), now_ms()
            made = found._replace(
                id=id_, place_id=place_id, uploader_id=caller.user.id, created_at=now, message_id=None
            )
            await stored.insert(tx, made)
            return id_

        return await request.once(tx, ["forward", file_id, place_id], make, partial(seen, app, tx, caller))
