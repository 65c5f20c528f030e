"""Links to a file that need no header, for ``<video>`` and for downloads (extension G-5).

A ticket is for one file and one session, and lasts five minutes; whether its user still sees the file is
asked anew at each use.  Kept is its digest, so nobody who reads the database can use one.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import TYPE_CHECKING

from teamchat import NotFound, Transaction, Unauthorized
from teamchat.model import Caller, User, now_ms

if TYPE_CHECKING:
    from teamchat import Teamchat

LASTS_MS = 5 * 60 * 1000
_MOST = 100
_FIND = "select user_id, session_id from files_tickets where hash = $1 and file_id = $2 and expires_at > $3"


async def give(tx: Transaction, caller: Caller, file_id: str) -> tuple[str, int]:
    """Return a ticket for a file that the caller sees, and when it expires, in epoch milliseconds."""
    ticket, expires_at = secrets.token_urlsafe(32), now_ms() + LASTS_MS
    await tx.fetch(
        "insert into files_tickets (hash, file_id, user_id, session_id, expires_at)"
        " values ($1, $2, $3, $4, $5)",
        _hash(ticket),
        file_id,
        caller.user.id,
        caller.session_id,
        expires_at,
    )
    return ticket, expires_at


async def holder(app: Teamchat, file_id: str, ticket: str) -> Caller:
    """Return who was given a ticket for a file, as they are now.

    Raises `NotFound` for one that is not valid, also if its session has ended, or is good for nothing until
    its user has set up a second factor (M-1).
    """
    if len(ticket) <= _MOST:
        async with app.storage.read() as tx:
            rows = await tx.fetch(_FIND, _hash(ticket), file_id, now_ms())
        for user_id, session_id in rows:
            try:
                caller = await app.accounts.ask_again(Caller(User(user_id, "", "", False), session_id))
            except Unauthorized:
                break
            if not await app.accounts.second_steps.is_missing(caller, app.accounts.as_of):
                return caller
    raise NotFound("No such file.")


def _hash(ticket: str) -> str:
    return hashlib.sha256(ticket.encode("utf-8", "surrogatepass")).hexdigest()
