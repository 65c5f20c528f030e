"""Webhooks that take what tools send to Slack: the capability `slack-webhooks`, version 1 (extension K)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from teamchat import Capability, Options, Parts, hookimpl
from teamchat_slack_webhooks.endpoints import section_for

if TYPE_CHECKING:
    from teamchat import Teamchat


def parts(app: Teamchat, _: Options) -> Parts:
    """Return what the capability brings to one server."""
    return Parts(routes=[section_for(app)])


SLACK_WEBHOOKS = Capability(name="slack-webhooks", version=1, parts=parts)


@hookimpl
def capabilities() -> Sequence[Capability]:
    """Offer the capability."""
    return [SLACK_WEBHOOKS]
