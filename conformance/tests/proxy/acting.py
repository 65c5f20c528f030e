"""Faults of the deed: something is not done, done for somebody who may not, or forgotten."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from conformance.tests.proxy.asking import Answer, Ask, Fault, Forward, Handle, as_json, refused, subject_of

_NOT_ENTITLED = (401, 403, 404)


def fault(name: str, route: str, *, learns: bool = False) -> Callable[[Handle], Fault]:
    """Make a fault of what it does with a request."""
    return lambda handle: Fault(name, route, handle, learns=learns)


def unasked(route: str) -> Fault:
    """Ask nobody to sign in: who is refused is taken for the admin."""

    async def handle(ask: Ask, forward: Forward) -> Answer:
        answer = await forward(ask)
        return await forward(ask.by(ask.proxy.admin)) if answer.status == 401 else answer

    return Fault(f"{route} asks for no sign-in", route, handle, learns=True)


def anybody(route: str) -> Fault:
    """Let everybody do what admins may."""

    async def handle(ask: Ask, forward: Forward) -> Answer:
        answer = await forward(ask)
        return await forward(ask.by(ask.proxy.admin)) if answer.status == 403 else answer

    return Fault(f"{route} is for any user", route, handle, learns=True)


def as_author(route: str, *, admins_only: bool = False) -> Fault:
    """Let others than the author do it; with `admins_only`, the admin alone."""

    async def handle(ask: Ask, forward: Forward) -> Answer:
        answer = await forward(ask)
        token = ask.proxy.author_token(ask.params["messageId"])
        may = bool(token and ask.token) and (not admins_only or is_admin(ask))
        return await forward(ask.by(token)) if answer.status in (403, 404) and may else answer

    who = "admins" if admins_only else "anybody"
    return Fault(f"{route} is for {who} beside the author", route, handle, learns=True)


def as_participant(route: str, *, admins_only: bool = False) -> Fault:
    """Let others than the two of a conversation do it."""

    async def handle(ask: Ask, forward: Forward) -> Answer:
        answer = await forward(ask)
        token = participant_token(ask, ask.params["conversationId"])
        may = bool(token and ask.token) and (not admins_only or is_admin(ask))
        return await forward(ask.by(token)) if answer.status in (403, 404) and may else answer

    who = "admins" if admins_only else "outsiders"
    return Fault(f"{route} is for {who} too", route, handle, learns=True)


def participant_token(ask: Ask, conversation: str) -> str:
    """Return a token of one of the two of a conversation that was seen, or an empty text."""
    two = ask.proxy.seen.get(conversation, {}).get("participants", [])
    return next((token for user, token in ask.proxy.tokens.items() if user in two), "")


def is_admin(ask: Ask) -> bool:
    """Return whether the suite's first admin asks."""
    return subject_of(ask.token) == subject_of(ask.proxy.admin)


def swallowed(route: str, told: Any = None) -> Fault:
    """Say that it was done, and do nothing."""

    async def handle(ask: Ask, forward: Forward) -> Answer:
        return as_json(told or {"success": True})

    return Fault(f"{route} does nothing", route, handle)


def accepting(route: str, *codes: int, told: Any = None) -> Fault:
    """Say of what is refused that it was done, as of the last that was; or with what is `told`."""

    async def handle(ask: Ask, forward: Forward) -> Answer:
        answer = await forward(ask)
        if answer.ok:
            ask.proxy.kept[route] = answer
        if answer.status in (codes or (400,)):
            return as_json(told) if told else ask.proxy.kept.get(route, as_json({"success": True}))
        return answer

    return Fault(f"{route} takes what it should refuse", route, handle)


def lasting(route: str, ends: str) -> Fault:
    """Go on to answer what has been answered, though `ends`, another route, has put an end to it."""

    async def handle(ask: Ask, forward: Forward) -> Answer:
        answer = await forward(ask)
        if answer.ok:
            ask.proxy.kept[ask.target] = answer
            return answer
        return ask.proxy.kept.get(ask.target, answer) if answer.status in _NOT_ENTITLED else answer

    return Fault(f"{route} lives on after {ends}", route, handle)


def undone(route: str, field: str, old: Callable[[Ask], Any]) -> Fault:
    """Do it and undo it at once: `old` says what the field was before."""

    async def handle(ask: Ask, forward: Forward) -> Answer:
        before = old(ask)
        answer = await forward(ask)
        if answer.ok and before is not None:
            await ask.proxy.send(ask.saying(**{field: before}))
        return answer

    return Fault(f"{route} is not kept", route, handle, learns=True)


def rewritten(name: str, route: str, change: Callable[[Ask], Ask], *, learns: bool = False) -> Fault:
    """Ask the server for something else."""

    async def handle(ask: Ask, forward: Forward) -> Answer:
        return await forward(change(ask))

    return Fault(name, route, handle, learns=learns)


def refusing(
    name: str, route: str, code: int, which: Callable[[Ask], bool], *, learns: bool = False
) -> Fault:
    """Refuse what should be done."""

    async def handle(ask: Ask, forward: Forward) -> Answer:
        return refused(code) if which(ask) else await forward(ask)

    return Fault(name, route, handle, learns=learns)


def repeating(name: str, route: str, key: Callable[[Ask], Any], *codes: int) -> Fault:
    """Answer what worked once as it was answered then, when it is refused later."""

    async def handle(ask: Ask, forward: Forward) -> Answer:
        answer = await forward(ask)
        if answer.ok:
            ask.proxy.kept[route, key(ask)] = answer
        elif answer.status in codes:
            return ask.proxy.kept.get((route, key(ask)), answer)
        return answer

    return Fault(name, route, handle)


def there(route: str, told: Any) -> Fault:
    """Have an endpoint that this mode should not have."""

    async def handle(ask: Ask, forward: Forward) -> Answer:
        return as_json(told)

    return Fault(f"{route} is there in every mode", route, handle)


def at_path(ask: Ask, path: str) -> Ask:
    """Return the same request at another path."""
    query = ask.target.partition("?")[2]
    return replace(ask, target=f"{path}?{query}" if query else path)
