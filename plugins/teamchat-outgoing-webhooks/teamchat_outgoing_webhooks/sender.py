"""One target: which events it is sent, and how often that is tried.

A target gets its events one after another, in order, each at least once.  While it can't
be reached or asks to wait, its events wait; one that it answers with anything else than success is given up
after the tries, and the log says so, for what one event does to a target must not keep the others from it.
What it did not ask for never leaves the server, and what is not public only where that was said.  A redirect
is not followed: the request was for one address.
"""

from __future__ import annotations

import json
import logging
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any

import httpx2
import trio

from teamchat import LoggedEvent
from teamchat_outgoing_webhooks.options import Target
from teamchat_outgoing_webhooks.signing import headers

PAUSES = (1.0, 5.0, 30.0, 120.0)
"""How long to wait before each further try, in seconds."""
CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 10.0
REST_SECONDS = 1.0
REST_BYTES = 4096
"""What follows the head of an answer says nothing; up to here it is read for the sake of the connection."""

_AWAY = {"ConnectError", "ConnectTimeout", "429", "503"}
_GONE = "410"
_RESYNC = "RESYNC"
_CHANNEL_GONE = "DELETE_CHANNEL"

_log = logging.getLogger(__name__)
logging.getLogger("httpx2").setLevel(logging.WARNING)  # It logs whole addresses, which may hold a token.


class Sender:
    """Sends a target's events. It is an event listener (`teamchat.MissedEventsListener`).

    Its one connection is kept between events that follow each other soon.
    """

    def __init__(self, target: Target, transport: httpx2.AsyncBaseTransport | None = None) -> None:
        self.name = f"outgoing-webhooks:{target.name}"
        self._target = target
        self._client = httpx2.AsyncClient(
            transport=transport,
            verify=httpx2.create_ssl_context(),
            trust_env=False,
            timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        )

    async def aclose(self) -> None:
        """End the connection."""
        await self._client.aclose()

    async def hear(self, event: LoggedEvent) -> None:
        """Send an event if the target wants it; return when it was taken or given up."""
        if self._target.events and event.type not in self._target.events:
            return
        payload = json.loads(event.payload)
        if not self._may_have(event, payload):
            return
        if event.type == _RESYNC or self._is_of_its_channels(payload):
            await self._deliver(str(event.seq), event.type, payload)

    async def missed(self, first: int, last: int) -> None:  # noqa: ARG002  # the log names both
        """Send what clients of the stream are told then, if the target wants it."""
        if not self._target.events or _RESYNC in self._target.events:
            # The last event may have been sent before a crash, so its number alone might be taken for known.
            await self._deliver(f"{last}-missed", _RESYNC, {})

    async def _deliver(self, message_id: str, kind: str, payload: dict[str, Any]) -> None:
        body = json.dumps({"type": kind, "payload": payload}, ensure_ascii=False).encode()
        away = refused = 0
        while (why := await self.send(message_id, body)) is not None:
            if why in _AWAY:
                pause = PAUSES[min(away, len(PAUSES) - 1)]
                away += 1
            elif why != _GONE and refused < len(PAUSES):
                pause = PAUSES[refused]
                refused += 1
            else:
                _log.error("target %s: event %s was given up (%s)", self._target.name, message_id, why)
                return
            _log.warning("target %s: event %s waits %g s (%s)", self._target.name, message_id, pause, why)
            await trio.sleep(pause)

    def _may_have(self, event: LoggedEvent, payload: dict[str, Any]) -> bool:
        """Tell whether the target may know of an event: of what is not public, only what was said it may."""
        if not event.is_private:
            return True
        if event.room_kind == "channel":
            is_named = event.room_id in self._target.private_channels
            return is_named != event.is_for_outsiders
        if event.room_kind is None:
            # For users by their ids. A channel that was deleted is gone for the target too.
            is_deletion = event.type == _CHANNEL_GONE and "reason" not in payload
            return is_deletion and payload.get("id") in self._target.private_channels
        return {
            "group": self._target.include_groups,
            "notes": self._target.include_notes,
            "direct": self._target.include_direct_messages,
        }[event.room_kind]

    def _is_of_its_channels(self, payload: dict[str, Any]) -> bool:
        return not self._target.channels or payload.get("channelId") in self._target.channels

    async def send(self, message_id: str, body: bytes) -> str | None:
        """Send once; return None if it was taken, else in a word why not."""
        signed = headers(self._target.secret, message_id, body)
        try:
            with trio.fail_after(ANSWER_SECONDS):
                request = self._client.build_request("POST", self._target.url, content=body, headers=signed)
                answer = await self._client.send(request, stream=True)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            return type(error).__name__
        except trio.TooSlowError:
            return "no answer"
        await _end(answer)
        return None if answer.is_success else str(answer.status_code)


async def _end(answer: httpx2.Response) -> None:
    """Read what is left of an answer if it is short: only then can the connection be used again.

    A target may say that it is short and send more, in chunks; so what comes is counted, and not decoded.
    """
    if answer.is_closed:
        return  # It is all there.
    length = answer.headers.get("Content-Length", "0" if answer.status_code == 204 else "")
    read = 0
    try:
        if length.isdecimal() and int(length) <= REST_BYTES:
            with trio.move_on_after(REST_SECONDS) as reading:
                async for piece in answer.aiter_raw():
                    read += len(piece)
                    if read > REST_BYTES:
                        reading.cancel()  # which ends httpx2's generators from the inside
    except httpx2.HTTPError:
        return  # The head has said all that matters.
    finally:
        await answer.aclose()
