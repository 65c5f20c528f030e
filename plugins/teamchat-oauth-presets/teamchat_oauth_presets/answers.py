"""Read what a provider answered, strictly: a value of another type than documented vouches for nobody.

Python is too kind for this: ``"false"`` and ``[0]`` are true, ``True`` is an ``int``, and a missing field
reads as None.  So every value goes through one of these, and each raises `OAuthFailed` instead of guessing.
"""

from __future__ import annotations

from typing import Any

from teamchat import OAuthFailed


def not_verified() -> OAuthFailed:
    """Return the one error of this plugin: the provider does not vouch for an email (decision D-20)."""
    return OAuthFailed("email_not_verified")


def require(holds: bool) -> None:
    """Raise unless the condition holds."""
    if not holds:
        raise not_verified()


def fields(value: Any) -> dict[str, Any]:
    """Return a JSON object."""
    if not isinstance(value, dict):
        raise not_verified()
    return value


def text(value: Any) -> str:
    """Return a string that is not blank."""
    if not isinstance(value, str) or not value.strip():
        raise not_verified()
    return value


def number(value: Any) -> int:
    """Return a whole number greater than zero, as the ids of GitHub and GitLab are."""
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise not_verified()
    return value
