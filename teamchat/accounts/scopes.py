"""What a token may be used for (extension K-1): less than its user may do, never more.

An endpoint names the scopes of which a token needs one; if it names none, it is only for sessions. Without
the scope ``admin``, an admin's token has no admin rights anywhere.
"""

from __future__ import annotations

from collections.abc import Collection

from teamchat.errors import Forbidden
from teamchat.model import Caller

SCOPES = ("read", "write", "files", "events", "manage", "admin")
ADMIN = "admin"
SESSION_ALONE: tuple[str, ...] = ()
"""The scopes of what is done in a session only: passwords, sessions, tokens, second factors."""


def check_scopes(caller: Caller, scopes: Collection[str]) -> None:
    """Raise `Forbidden` if the caller has a token, and none of these scopes."""
    if caller.scopes is None or not caller.scopes.isdisjoint(scopes):
        return
    if not scopes:
        raise Forbidden("No token may do this: sign in.")
    raise Forbidden(f"This token may not do this: it lacks the scope {' or '.join(scopes)}.")


def check_within_places(caller: Caller) -> None:
    """Raise `Forbidden` if the caller's token is limited to some places: for what belongs to none."""
    if caller.places is not None:
        raise Forbidden("This token is limited to some places, and this belongs to none of them.")
