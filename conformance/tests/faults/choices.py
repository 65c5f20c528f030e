"""What the contract leaves open, decided otherwise than the server decides it: none of it is a fault.

All together stand in one proxy.  Each says what it did, so that one that changes nothing is noticed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from conformance.tests.proxy.asking import Answer, Ask, Fault, Forward, refused
from conformance.tests.proxy.shaping import messages_in
from conformance.tests.proxy.streams import Frame, Listener

_MOST_ENCODED = 10 * 1024 * 1024 * 4 // 3
Change = Callable[[Answer, Ask], Answer]
MADE = "choices that were made"
"""Where in the proxy's memory their names stand."""


def _choice(name: str, route: str, change: Change) -> Fault:
    async def handle(ask: Ask, forward: Forward) -> Answer:
        return _noted(name, ask, before := await forward(ask), change(before, ask))

    return Fault(name, route, handle)


def _noted(name: str, ask: Ask, before: Answer, after: Answer) -> Answer:
    if after != before:
        ask.proxy.kept.setdefault(MADE, set()).add(name)
    return after


def _status(route: str, usual: int, other: int) -> Fault:
    """Refuse with another status that says the same."""
    return _choice(
        f"{route}: {other} for {usual}",
        route,
        lambda answer, _: replace(answer, status=other) if answer.status == usual else answer,
    )


def _listing(route: str, name: str, change: Callable[[list[Any]], list[Any]]) -> Fault:
    return _choice(
        f"{route}: another order of {name}",
        route,
        lambda answer, _: (
            answer.with_json({**answer.json, name: change(answer.json[name])}) if answer.ok else answer
        ),
    )


def _telling(name: str, route: str, edit: Callable[[Any], Any]) -> Fault:
    """Answer what succeeds with another body of the same meaning."""
    return _choice(
        name,
        route,
        lambda answer, _: answer.with_json(edit(answer.json)) if answer.ok and answer.json else answer,
    )


def _health(answer: Answer, _: Ask) -> Answer:
    return replace(answer, body=b"All OK.\n")


def _too_large(answer: Answer, ask: Ask) -> Answer:
    is_large = len(ask.body) > _MOST_ENCODED
    return replace(answer, status=413) if answer.status == 400 and is_large else answer


def _no_such_method(answer: Answer, _: Ask) -> Answer:
    return refused(404) if answer.status == 405 else answer


def _threads_of_none(told: Any) -> Any:
    """Tell of what no thread has begun at that it has none."""
    for message in messages_in(told):
        if "threadId" not in message and "threadMeta" not in message:
            message |= {"threadId": None, "threadMeta": None}
    return told


def _without_empty_dates(told: Any) -> Any:
    for conversation in told["conversations"]:
        if conversation.get("lastMessageAt") is None:
            conversation.pop("lastMessageAt", None)
    return told


def _bare_images(answer: Answer, _: Ask) -> Answer:
    for name in ("X-Content-Type-Options", "Content-Security-Policy", "Cross-Origin-Resource-Policy"):
        answer = answer.with_header(name, None)
    return answer


async def _any_limit(ask: Ask, forward: Forward) -> Answer:
    """Take a limit that is none for the usual one, and give no more than 100 on a page."""
    limit = ask.query.get("limit", "50")
    is_whole = limit.isascii() and limit.isdigit() and int(limit) > 0
    asked = ask.asking(limit=str(min(int(limit), 100)) if is_whole else None) if "limit" in ask.query else ask
    answer = await forward(asked)
    if asked.target != ask.target:
        ask.proxy.kept.setdefault(MADE, set()).add("limits are read as far as can be")
    return answer


async def _keys_unread(ask: Ask, forward: Forward) -> Answer:
    if ask.header("idempotency-key"):
        ask.proxy.kept.setdefault(MADE, set()).add("Idempotency-Key is not read")
    return await forward(ask.without_header("idempotency-key"))


def _framing(listener: Listener, frame: Frame) -> list[Frame]:
    """End lines with CR LF, and send comments between the events."""
    if not frame.type:
        return [frame]
    return [replace(frame, raw=b": still here\r\n\r\n" + frame.raw.replace(b"\n", b"\r\n") + b"\r\n\r")]


def _on(route: str, handle: Callable[[Ask, Forward], Awaitable[Answer]], name: str) -> Fault:
    return Fault(name, route, handle)


_DIRECT = "/conversations/:conversationId/messages"
_MESSAGES = "/channels/:channelId/messages"

CHOICES: tuple[Fault, ...] = (
    _choice("health answers in more words", "GET /health", _health),
    _choice("what is asked by another method is not there", "*", _no_such_method),
    _listing("GET /channels", "channels", lambda listed: listed[::-1]),
    _listing("GET /conversations", "conversations", lambda listed: listed[::-1]),
    _listing("GET /users", "users", lambda listed: listed[::-1]),
    _listing("GET /webhooks", "webhooks", lambda listed: listed[::-1]),
    _telling("conversations without a message have no date", "GET /conversations", _without_empty_dates),
    _telling("what has no thread says null", f"GET {_MESSAGES}", _threads_of_none),
    _telling("what has no thread says null when posted", f"POST {_MESSAGES}", _threads_of_none),
    _telling("signing out says nothing", "POST /auth/logout", lambda _: {}),
    _telling("sessions are a bare array", "GET /auth/sessions", lambda told: told["sessions"]),
    _telling("ending sessions says nothing", "DELETE /auth/sessions", lambda _: {}),
    _status(f"GET {_DIRECT}", 403, 404),
    _status(f"POST {_DIRECT}", 403, 404),
    _status(f"PUT {_DIRECT}/:messageId", 403, 404),
    _status(f"DELETE {_DIRECT}/:messageId", 403, 404),
    _status(f"GET {_DIRECT}/image/:filename", 403, 404),
    _status(f"POST {_DIRECT}/image", 403, 404),
    _status("PUT /messages/:messageId", 403, 404),
    _status("DELETE /messages/:messageId", 403, 404),
    _status("POST /messages/:messageId/thread", 404, 400),
    _status("POST /webhooks/:webhookId/messages", 404, 401),
    _status("POST /webhooks/:webhookId/messages", 403, 401),
    _status("POST /auth/dev-login", 401, 403),
    _choice("images beyond 10 MB are too large for the transport", f"POST {_MESSAGES}/image", _too_large),
    _choice("images come without protection", f"GET {_MESSAGES}/image/:filename", _bare_images),
    _on(f"GET {_MESSAGES}", _any_limit, "limits are read as far as can be"),
    _on(f"POST {_MESSAGES}", _keys_unread, "Idempotency-Key is not read"),
    Fault("streams have CR LF and comments", hear=_framing),
)
