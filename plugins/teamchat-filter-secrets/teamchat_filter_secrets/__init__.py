"""Keeps keys and tokens out of messages: refuses or masks what looks like one. Off until it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from teamchat import BadRequest, MessageFilter, Posting, hookimpl
from teamchat_filter_secrets.kinds import found_in, masked

if TYPE_CHECKING:
    from teamchat import Teamchat


class Options(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The keys of ``[plugins.filter-secrets]``. `on_match` says what happens to a message that holds one."""

    on_match: Literal["off", "mask", "refuse"] = "off"


class SecretsFilter:
    """Refuses messages that hold a secret, or masks it in them."""

    name = "secrets"

    def __init__(self, *, masks: bool) -> None:
        self._masks = masks

    async def filter(self, posting: Posting) -> str:
        """Return the content with secrets masked; raise `BadRequest` if they are to be refused instead."""
        if self._masks:
            return masked(posting.content)
        if kind := found_in(posting.content):
            raise BadRequest(f"This looks like {kind}. Send secrets another way, and replace this one.")
        return posting.content


@hookimpl
def message_filters(app: Teamchat) -> Sequence[MessageFilter]:
    """Offer the filter, if the settings ask for it."""
    on_match = app.plugin_options("filter-secrets", Options).on_match
    return [] if on_match == "off" else [SecretsFilter(masks=on_match == "mask")]
