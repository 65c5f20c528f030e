"""Who is there and who types: the capabilities `presence` and `typing`, version 1 (extension I)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from teamchat import Capability, Options, Parts, Service, hookimpl
from teamchat_presence import endpoints
from teamchat_presence.events import PresenceUpdate, Typing
from teamchat_presence.exported import PresenceExported
from teamchat_presence.presence import Presence
from teamchat_presence.tables import CHECKS, MIGRATIONS
from teamchat_presence.typing import Typists
from teamchat_presence.watching import Watching

if TYPE_CHECKING:
    from teamchat import Teamchat


def presence_parts(app: Teamchat, _: Options) -> Parts:
    """Return what `presence` brings to one server."""
    return Parts(routes=[endpoints.presence(Presence(app))])


def typing_parts(app: Teamchat, _: Options) -> Parts:
    """Return what `typing` brings to one server."""
    return Parts(routes=[endpoints.typing(Typists(app))])


PRESENCE = Capability(
    name="presence",
    version=1,
    needs=["notification-levels"],
    tables=MIGRATIONS,
    events=[PresenceUpdate],
    checks=CHECKS,
    client="client",
    export=PresenceExported(),
    parts=presence_parts,
)
TYPING = Capability(name="typing", version=1, needs=["presence"], events=[Typing], parts=typing_parts)


@hookimpl
def capabilities() -> Sequence[Capability]:
    """Offer the two capabilities."""
    return [PRESENCE, TYPING]


@hookimpl
def services(app: Teamchat) -> Sequence[Service]:
    """Offer the service that tells streams who comes and goes, where presence is on."""
    return [Watching(app)] if "presence" in app.announced().capabilities else []
