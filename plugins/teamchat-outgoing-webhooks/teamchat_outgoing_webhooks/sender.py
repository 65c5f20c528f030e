"""One target: which events it is sent, and how often that is tried.

What must stay true: a target gets its events one after another, in order, each at least once as long as it
answers within the tries; after those the event is given up and the log says so.  What it did not ask for
never leaves the server, direct messages least of all.  A redirect is not followed: the request was for one
address.
"""

from __future__ import annotations

import json
import logging
from typing import Any

import httpx2
import trio

from teamchat import LoggedEvent
from teamchat_outgoing_webhooks.options import Target
from teamchat_outgoing_webhooks.signing import headers

PAUSES = (1.0, 5.0, 30.0, 120.0)
"""How long to wait before each further try, in seconds."""
ANSWER_SECONDS = 10.0
_GONE = 410

_log = logging.getLogger(__name__)
logging.getLogger("httpx2").setLevel(logging.WARNING)  # It logs whole addresses, which may hold a token.


class Sender:
    """Sends a target's events. It is an event listener (`teamchat.EventListener`)."""

    def __init__(self, target: Target, transport: httpx2.AsyncBaseTransport | None = None) -> None:
        self.name = f"outgoing-webhooks:{target.name}"
        self._target = target
        self._transport = transport

    async def hear(self, event: LoggedEvent) -> None:
        """Send an event if the target wants it; return when it was taken or given up."""
        payload = json.loads(event.payload)
        if not self._wants(event, payload):
            return
        body = json.dumps({"type": event.type, "payload": payload}, ensure_ascii=False).encode()
        for pause in (*PAUSES, None):
            why = await self.send(str(event.seq), body)
            if why is None:
                return
            if pause is None or why == str(_GONE):
                _log.error("target %s: event %d was given up (%s)", self._target.name, event.seq, why)
                return
            _log.warning("target %s: event %d waits %g s (%s)", self._target.name, event.seq, pause, why)
            await trio.sleep(pause)

    def _wants(self, event: LoggedEvent, payload: dict[str, Any]) -> bool:
        target = self._target
        if event.audience is not None and not target.include_direct_messages:
            return False
        if target.events and event.type not in target.events:
            return False
        return not target.channels or payload.get("channelId") in target.channels

    async def send(self, message_id: str, body: bytes) -> str | None:
        """Send once; return None if it was taken, else in a word why not."""
        try:
            with trio.fail_after(ANSWER_SECONDS):
                async with httpx2.AsyncClient(transport=self._transport, trust_env=False) as client:
                    signed = headers(self._target.secret, message_id, body)
                    async with client.stream(
                        "POST", self._target.url, content=body, headers=signed
                    ) as answer:
                        pass  # What stands in an answer is not read, however much a target sends.
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            return type(error).__name__
        except trio.TooSlowError:
            return "no answer"
        return None if answer.is_success else str(answer.status_code)
