"""What a server has taken though its body was malformed, and must therefore not be judged again.

The check that sent it says that it was taken.  Everything else that meets the thing later, in a list or an
event, would blame the server a second time for what the suite itself put there.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import unquote

from teamchat_conformance.endpoints import find
from teamchat_conformance.expect import Answered
from teamchat_conformance.http import Exchange
from teamchat_conformance.paths import at

_LISTED = ("POST /channels", "POST /webhooks", "POST /users/add")
_KEYS = ("message", "reply", "channel", "webhook", "user")


class Spoiled:
    """Watches the answers of a run and keeps the ids of what malformed bodies have made or changed."""

    def __init__(self) -> None:
        self._ids: set[str] = set()
        self._are_settings = False
        self._made: list[str] = []

    def answered(self, answered: Answered, exchange: Exchange) -> None:
        """Look at an answer: was something taken that is not what the endpoint asks for?"""
        endpoint = find(answered.method, answered.target)
        if endpoint is None or endpoint.is_well_formed(exchange.request_body):
            return
        if endpoint.method == "PUT" and endpoint.parameters:
            # A server may refuse an edit and keep it all the same; the check that sent it sees that.
            self._ids.add(unquote(answered.target.partition("?")[0].rpartition("/")[2]))
        if answered.status != 200:
            return
        self._are_settings |= endpoint.path == "/server/settings"
        for id in _ids(answered.body):
            if endpoint.name in _LISTED:
                self._made.append(at(endpoint.path.split("/")[1], id))
            self._ids |= {id, f"webhook:{id}"}  # what a webhook posts bears its name

    def take(self) -> list[str]:
        """Return where to delete what was made since the last time: others read the lists it stands in."""
        made, self._made = self._made, []
        return made

    def has(self, thing: Any) -> bool:
        """Return whether a message or a payload of an event is about any of it."""
        if isinstance(thing, dict):
            return any(self.has(value) for value in thing.values())
        return isinstance(thing, str) and thing in self._ids

    def has_settings(self) -> bool:
        """Return whether the server's own settings were changed by a malformed body."""
        return self._are_settings


def _ids(body: bytes) -> list[str]:
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        return []
    if not isinstance(told, dict):
        return []
    made = [told[key].get("id") for key in _KEYS if isinstance(told.get(key), dict)]
    return [id for id in (*made, told.get("userId")) if isinstance(id, str)]
