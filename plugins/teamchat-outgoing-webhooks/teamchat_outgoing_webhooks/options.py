"""The keys of ``[plugins.outgoing-webhooks]``."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

from msgspec import Meta, Struct, field

from teamchat import SettingsError
from teamchat_outgoing_webhooks.signing import SERIALISED, key

_TYPE = r"^([A-Z]+(_[A-Z]+)*|[A-Za-z0-9][A-Za-z0-9_:-]*\.[A-Za-z0-9_.:-]+)$"
"""Teamchat's own types are in capitals; those of plugins begin with a capability's name and a dot."""
_EventType = Annotated[str, Meta(pattern=_TYPE, examples=["NEW_MESSAGE"])]


class Target(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """Whom to tell.

    `events` names the types to send; empty means all. `channels` are ids, and empty means all. What is not
    public is sent only if that is said here, for each kind of room; of private channels, those that
    `private_channels` names by their ids. `secret` signs each request.
    """

    name: Annotated[
        str, Meta(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9._-]+$", examples=["issue-tracker"])
    ]
    url: Annotated[str, Meta(extra={"secret": True})]
    secret: Annotated[str, Meta(min_length=16, extra={"secret": True})]
    events: list[_EventType] = field(default_factory=list)
    channels: list[str] = field(default_factory=list)
    private_channels: list[str] = field(default_factory=list)
    include_groups: bool = False
    include_direct_messages: bool = False
    include_notes: bool = False

    def __repr__(self) -> str:
        return f"Target(name={self.name!r})"

    def check(self) -> None:
        """Raise `SettingsError` if the address is none, or the secret can't be read."""
        try:
            key(self.secret)
        except ValueError:
            raise SettingsError(
                f"plugins.outgoing-webhooks.targets: the secret of {self.name!r} begins with {SERIALISED}; "
                "what follows must then be base64. Copy it whole, or give one that begins otherwise."
            ) from None
        if not _is_address(self.url):
            raise SettingsError(
                f"plugins.outgoing-webhooks.targets: the url of {self.name!r} must begin with "
                "https:// or http:// and name a host."
            )


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # brackets without an end, or a port that is none
        return False


class Options(Struct, frozen=True, forbid_unknown_fields=True):
    """All targets. None are told anything unless they stand here."""

    targets: list[Target] = field(default_factory=list)
