"""The keys of ``[push]``, and whether Web Push can work with the settings (extension J-1)."""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import urlsplit

from msgspec import Meta, field

from teamchat import Options, SettingsError

if TYPE_CHECKING:
    from teamchat.settings import Settings

Preview = Literal["full", "sender", "none"]
_LOCAL = (".localhost", ".local", ".internal", ".lan", ".home", ".test", ".invalid", ".arpa")


class PushOptions(Options, frozen=True, kw_only=True):
    """`contact` is a ``mailto:`` or ``https:`` address, by which a push service reaches the operator."""

    contact: Annotated[
        str | None,
        Meta(
            description="How push services reach you: mailto:… or https://…; without it, auth.appUrl.",
            examples=["mailto:admin@example.org"],
        ),
    ] = None
    preview: Annotated[
        Preview,
        Meta(description="The most that a push shows: full, sender (who and where), or none."),
    ] = "full"
    allowed_hosts: Annotated[
        list[str],
        Meta(description="Push services in private networks, by name or address; http is allowed for them."),
    ] = field(default_factory=list)


def subject(settings: Settings, options: PushOptions) -> str | None:
    """Return the address by which push services reach the operator, or None if there is none (RFC 8292).

    Raises `SettingsError` for a contact that is no such address.
    """
    if options.contact is None:
        url = settings.auth.app_url
        return url if _is_public(url) else None
    scheme, _, rest = options.contact.partition(":")
    if (scheme == "mailto" and "@" in rest) or (scheme == "https" and urlsplit(options.contact).hostname):
        return options.contact
    raise SettingsError("push.contact is an address such as mailto:admin@example.org or https://example.org.")


def is_possible(settings: Settings, options: PushOptions) -> bool:
    """Return whether push services would know whom to write to."""
    return subject(settings, options) is not None


def _is_public(url: str) -> bool:
    parts = urlsplit(url)
    host = (parts.hostname or "").rstrip(".")
    try:
        return parts.scheme == "https" and ip_address(host).is_global
    except ValueError:
        return parts.scheme == "https" and "." in host and not f".{host}".endswith(_LOCAL)
