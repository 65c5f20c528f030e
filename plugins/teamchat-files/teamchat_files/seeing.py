"""Who sees a file: its uploader until it stands in a message, then who sees the message (extension G-2).

A download may take hours, so it ends with the session or the token that it was begun with, as streams do.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import suppress
from typing import TYPE_CHECKING

import trio

from teamchat import Forbidden, NotFound, Transaction
from teamchat.model import Caller
from teamchat_files import stored
from teamchat_files.stored import FileRow

if TYPE_CHECKING:
    from teamchat import Teamchat

ASK_SECONDS = 1.0
"""How often it is asked, while bytes are sent, whether their reader is still signed in."""
_NO_FILE = "No such file."


async def seen(app: Teamchat, tx: Transaction, caller: Caller, file_id: str) -> FileRow:
    """Return a file that the caller sees, wherever it stands. Raises `NotFound` for any other.

    One that is still looked at, or was found harmful, is its uploader's alone.  What is not there takes as
    many steps as what is not seen (extension rule X-3).
    """
    found = await stored.nearest(tx, file_id)
    is_seen = found is not None and await _is_seen(app, tx, caller, found)
    if found is None or not is_seen or found.id != file_id:
        raise NotFound(_NO_FILE)
    return found


async def while_signed_in(
    app: Teamchat, caller: Caller, chunks: AsyncIterator[bytes]
) -> AsyncGenerator[bytes, None]:
    """Yield the bytes of a file. Raises `Unauthorized` when the caller's session or token has ended."""
    asked_at = trio.current_time()
    try:
        async for chunk in chunks:
            if trio.current_time() - asked_at >= ASK_SECONDS:
                with suppress(Forbidden):  # Who is no admin any more reads on.
                    await app.accounts.ask_again(caller)
                asked_at = trio.current_time()
            yield chunk
    finally:
        close = getattr(chunks, "aclose", None)
        if close is not None:
            await close()


async def _is_seen(app: Teamchat, tx: Transaction, caller: Caller, found: FileRow) -> bool:
    try:
        if found.message_id is None:
            await app.room(tx, caller, found.place_id)
        else:
            await app.message(tx, caller, found.message_id)
    except (NotFound, Forbidden):
        return False
    is_own = found.uploader_id == caller.user.id
    return is_own or (found.message_id is not None and found.state in {"ready", "expired"})
