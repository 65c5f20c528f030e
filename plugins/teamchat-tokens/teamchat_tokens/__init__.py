"""Tokens by which programs act for a user: the capability `tokens`, version 1 (extension K-1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from teamchat import Capability, Options, Parts, hookimpl
from teamchat_tokens.ending import Ending
from teamchat_tokens.endpoints import section_for
from teamchat_tokens.tables import CHECKS, MIGRATIONS
from teamchat_tokens.tokens import MOST_PLACES, MOST_TOKENS, Tokens
from teamchat_tokens.uses import Uses

if TYPE_CHECKING:
    from teamchat import Teamchat


def parts(app: Teamchat, _: Options) -> Parts:
    """Return what the capability brings to one server."""
    uses = Uses(app.storage)
    tokens = Tokens(app, uses)
    return Parts(
        limits={"perUser": MOST_TOKENS, "placesPerToken": MOST_PLACES},
        routes=[section_for(app, tokens)],
        changes=Ending(tokens),
        credentials=tokens,
        jobs=[tokens.sweep],
        services=[uses],
    )


TOKENS = Capability(name="tokens", version=1, tables=MIGRATIONS, checks=CHECKS, client="client", parts=parts)


@hookimpl
def capabilities() -> Sequence[Capability]:
    """Offer the capability."""
    return [TOKENS]
