"""What the leak suite is told of webhooks that take Slack's payloads: they name the webhook alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_POST = "POST /webhooks/<webhookId>/slack"
HARMLESS: Mapping[str, str] = {"query token": "a secret: who has it may use it"}
WHOLE_REQUESTS: Mapping[str, str] = {_POST: "Slack's payload, and the token in the query"}
BODIES: Mapping[str, bytes] = {_POST: b'{"text": "only for those who are in here"}'}
BY_WEBHOOK = (_POST,)


async def fill(_client: Any, _base: str, _ids: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[str]]:
    """Do nothing: what is posted so is a message like any other."""
    return {}
