"""How users are read from their table.

A removed user is a row with `removed_at`; no function here ever returns one.
"""

from __future__ import annotations

from teamchat.errors import Forbidden, Unauthorized
from teamchat.interfaces import Row, Transaction
from teamchat.model import Caller, User, text


def as_user(row: Row) -> User:
    """Make a `User` of ``id, user_name, email, is_admin``."""
    user_id, user_name, email, is_admin = row
    return User(user_id, user_name, email, bool(is_admin))


async def user_by_id(tx: Transaction, user_id: str) -> User | None:
    """Return a user, or None for an unknown or removed one."""
    rows = await tx.fetch(
        "select id, user_name, email, is_admin from users where id = $1 and removed_at is null", user_id
    )
    return as_user(rows[0]) if rows else None


async def user_by_email(tx: Transaction, email: str) -> User | None:
    """Return the user of an email, matched without regard to case (decision D-05)."""
    rows = await tx.fetch(
        "select id, user_name, email, is_admin from users where email_key = $1", text.fold(email)
    )
    return as_user(rows[0]) if rows else None


async def own_row(tx: Transaction, caller: Caller) -> User:
    """Return the caller's row as it is now; raise `Unauthorized` if there is none any more."""
    user = await user_by_id(tx, caller.user.id)
    if user is None:
        raise Unauthorized
    return user


async def find_caller(tx: Transaction, user_id: str, session_id: str, now: int) -> tuple[Caller, int]:
    """Return who acts in a session, and when it expires. Raises `Unauthorized` unless it is good `now`.

    Times are epoch milliseconds.
    """
    rows = await tx.fetch(
        """select u.id, u.user_name, u.email, u.is_admin, s.must_change_password, u.log_start, s.expires_at
           from sessions s join users u on u.id = s.user_id
           where s.id = $1 and s.user_id = $2 and s.expires_at > $3 and u.removed_at is null""",
        session_id,
        user_id,
        now,
    )
    if not rows:
        raise Unauthorized
    *user, must_change_password, log_start, expires_at = rows[0]
    return Caller(as_user(tuple(user)), session_id, bool(must_change_password), log_start), expires_at


def check_unchanged(caller: Caller, found: Caller) -> None:
    """Raise `Forbidden` if a caller, as they are found now, is an admin no longer (decision D-39)."""
    if caller.user.is_admin and not found.user.is_admin:
        raise Forbidden("You are no administrator any more. Try again.")


def check_admin(caller: Caller) -> None:
    """Raise `Forbidden` unless the caller is an admin."""
    if not caller.user.is_admin:
        raise Forbidden("Only an admin may do this.")
