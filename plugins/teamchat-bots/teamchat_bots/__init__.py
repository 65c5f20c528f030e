"""Bots: accounts that programs have, and nobody signs in to: the capability `bots`, version 1 (K-2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from teamchat import Capability, DraftFields, Options, Parts, UserFields, hookimpl
from teamchat.settings import Settings, plugin_options
from teamchat_bots.bots import MOST_BOTS, Bots, Going
from teamchat_bots.endpoints import section_for
from teamchat_bots.exported import BotsExported
from teamchat_bots.fields import BotFields, read_fields
from teamchat_bots.rate import PER_SECOND, NoFields, Rate, is_by_a_bot
from teamchat_bots.tables import CHECKS, MIGRATIONS

if TYPE_CHECKING:
    from teamchat import Teamchat

_TOKENS = "tokens"


def parts(app: Teamchat, _: Options) -> Parts:
    """Return what the capability brings to one server."""
    bots, rate = Bots(app), Rate(app.accounts.clock)
    return Parts(
        limits={
            "perOwner": MOST_BOTS,
            "messagesPerSecond": PER_SECOND,
            "byEveryone": int(app.settings.chat.bots_by == "everyone"),
        },
        routes=[section_for(bots)],
        changes=Going(),
        draft_fields=DraftFields(kind=NoFields, write=rate.count, concerns=is_by_a_bot),
        user_fields=UserFields(kind=BotFields, read=read_fields),
        may=bots.may,
    )


def has_tokens(settings: Settings, _: Options) -> bool:
    """Return whether tokens are on: there is no other way for a bot to do anything."""
    plugins = settings.plugins
    return _TOKENS not in plugins.disabled and plugin_options(plugins, _TOKENS, Options).enabled


BOTS = Capability(
    name="bots",
    version=1,
    tables=MIGRATIONS,
    checks=CHECKS,
    export=BotsExported(),
    client="client",
    is_possible=has_tokens,
    parts=parts,
)


@hookimpl
def capabilities() -> Sequence[Capability]:
    """Offer the capability."""
    return [BOTS]
