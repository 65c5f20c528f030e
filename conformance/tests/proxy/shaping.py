"""Faults of the form: the server did what it should, and tells of it otherwise."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from conformance.tests.proxy.asking import Answer, Ask, Fault, Forward

Edit = Callable[[dict[str, Any], str], None]
LEAKED = "leaked by the proxy"


def status(route: str, code: int) -> Fault:
    """Answer what succeeds with another status."""

    async def handle(ask: Ask, forward: Forward) -> Answer:
        answer = await forward(ask)
        return replace(answer, status=code) if answer.ok else answer

    return Fault(f"{route} succeeds with {code}", route, handle)


def refusal(route: str, right: int, wrong: int) -> Fault:
    """Refuse with another status than the right one."""

    async def handle(ask: Ask, forward: Forward) -> Answer:
        answer = await forward(ask)
        return replace(answer, status=wrong) if answer.status == right else answer

    return Fault(f"{route} refuses with {wrong} in place of {right}", route, handle)


def edited(name: str, route: str, edit: Callable[[Any, Ask], Any], *, learns: bool = False) -> Fault:
    """Answer what succeeds with another body: what `edit` returns, or what it has changed in place."""

    async def handle(ask: Ask, forward: Forward) -> Answer:
        answer = await forward(ask)
        if not answer.ok or (told := answer.json) is None:
            return answer
        changed = edit(told, ask)
        return answer.with_json(told if changed is None else changed)

    return Fault(name, route, handle, learns=learns)


def without(route: str, path: str) -> Fault:
    """Leave a field out. In a path, ``*`` stands for every item of a list."""
    return edited(f"{route} without {path}", route, lambda told, _: each(told, path, _take_away))


def leaking(route: str, path: str) -> Fault:
    """Answer a field too much."""
    return edited(f"{route} with {path}", route, lambda told, _: each(told, path, _add))


def as_text(route: str, path: str) -> Fault:
    """Answer a number as a string."""
    return edited(f"{route} with {path} as a string", route, lambda told, _: each(told, path, _stringify))


def as_number(route: str, path: str) -> Fault:
    """Answer a string as a number."""
    return edited(f"{route} with {path} as a number", route, lambda told, _: each(told, path, _number))


def telling(route: str, path: str, value: Any) -> Fault:
    """Answer a field with something else."""

    def put(table: dict[str, Any], key: str) -> None:
        table[key] = value

    return edited(f"{route} always tells {path} {value!r:.24}", route, lambda told, _: each(told, path, put))


def header(route: str, name: str, value: str | None) -> Fault:
    """Answer with another header, or without it."""

    async def handle(ask: Ask, forward: Forward) -> Answer:
        answer = await forward(ask)
        return answer.with_header(name, value) if answer.ok else answer

    return Fault(f"{route} with {name} {value}", route, handle)


def errors(name: str, change: Callable[[Answer], Answer]) -> Fault:
    """Change every error."""

    async def handle(ask: Ask, forward: Forward) -> Answer:
        answer = await forward(ask)
        return change(answer) if answer.status >= 400 else answer

    return Fault(name, "*", handle)


def as_html() -> Fault:
    """Call all JSON by another media type."""

    async def handle(ask: Ask, forward: Forward) -> Answer:
        answer = await forward(ask)
        is_json = answer.header("content-type").startswith("application/json")
        return answer.with_header("Content-Type", "text/html") if is_json else answer

    return Fault("JSON goes as text/html", "*", handle)


def everywhere(name: str, change: Callable[[dict[str, Any]], None]) -> Fault:
    """Change every message in every answer."""

    async def handle(ask: Ask, forward: Forward) -> Answer:
        answer = await forward(ask)
        if not answer.ok or not isinstance(told := answer.json, dict):
            return answer
        before = json.dumps(told)
        for message in messages_in(told):
            change(message)
        return answer if json.dumps(told) == before else answer.with_json(told)

    return Fault(name, "*", handle)


def messages_in(told: Any) -> list[dict[str, Any]]:
    """Return every message in an answer, wherever."""
    if isinstance(told, list):
        return [one for item in told for one in messages_in(item)]
    if not isinstance(told, dict):
        return []
    inner = [one for value in told.values() for one in messages_in(value)]
    return [told, *inner] if "reactions" in told and "id" in told else inner


def each(tree: Any, path: str, edit: Edit) -> None:
    """Edit the field at a path, where there is one."""
    first, _, rest = path.partition(".")
    if first == "*":
        for item in tree:
            each(item, rest, edit)
    elif not rest:
        edit(tree, first)
    elif tree.get(first) is not None:
        each(tree[first], rest, edit)


def _take_away(table: dict[str, Any], key: str) -> None:
    table.pop(key, None)


def _add(table: dict[str, Any], key: str) -> None:
    table[key] = LEAKED


def _stringify(table: dict[str, Any], key: str) -> None:
    if key in table:
        table[key] = str(table[key])


def _number(table: dict[str, Any], key: str) -> None:
    table[key] = len(table[key])
