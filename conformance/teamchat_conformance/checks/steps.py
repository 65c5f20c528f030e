"""Steps that many scenarios have in common: paths, many at once, refusals, what is not there.

Nothing here decides a check; it raises a `Miss` for whoever does.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import trio

from teamchat_conformance.expect import Answered, any_text, milliseconds, require, text
from teamchat_conformance.http import Client
from teamchat_conformance.paths import at as at
from teamchat_conformance.run import Run
from teamchat_conformance.verdicts import Miss, note

T = TypeVar("T")

NOT_TEXT: tuple[Any, ...] = (1, True, {}, ["a"], None)
"""Values of JSON that are no text."""

MESSAGE = {
    "id": text,
    "channelId": text,
    "author": {"id": text, "userName": text},
    "content": any_text,
    "createdAt": milliseconds,
}
"""The fields of every message (interface, part 2, Message)."""


_BETWEEN = 0.1
"""How many seconds pass before the same is asked again."""


def messages_at(channel_id: str, **query: object) -> str:
    """Return where the messages of a channel stand."""
    return at("channels", channel_id, "messages", **query)


def unknown(run: Run) -> str:
    """Return an id that nothing has."""
    return f"unknown-{run.id}"


async def together(*asked: Awaitable[Answered]) -> list[Answered]:
    """Ask all of these at once and return the answers in the order given. Raises the first `Miss`."""
    answers: list[Answered | Miss] = [Miss("not asked")] * len(asked)

    async def ask(place: int, one: Awaitable[Answered]) -> None:
        try:
            answers[place] = await one
        except Miss as miss:
            answers[place] = miss

    async with trio.open_nursery() as nursery:
        for place, one in enumerate(asked):
            nursery.start_soon(ask, place, one)
    for answer in answers:
        if isinstance(answer, Miss):
            raise answer
    return [answer for answer in answers if isinstance(answer, Answered)]


async def soon(is_so: Callable[[], Awaitable[bool]], seconds: float, why: str) -> None:
    """Ask again until it is so. Raises `Miss` with `why` where it is not after these seconds."""
    end = trio.current_time() + seconds
    while not await is_so():
        require(trio.current_time() < end, why)
        await trio.sleep(_BETWEEN)


async def items(asker: Client, target: str, key: str) -> list[dict[str, Any]]:
    """Read a list and return its items, each an object."""
    answer = await asker.get(target)
    listed = answer.ok().get(key) if isinstance(answer.ok(), dict) else None
    if not isinstance(listed, list) or not all(isinstance(item, dict) for item in listed):
        raise answer.miss(f"expected an array {key} of objects")
    return listed


async def messages(asker: Client, channel_id: str) -> list[dict[str, Any]]:
    """Return the messages of a channel (at most a page of them)."""
    return await items(asker, messages_at(channel_id), "messages")


async def item(asker: Client, target: str, key: str, id: str) -> dict[str, Any]:
    """Return the item of a list that has this id. Raises `Miss` if none has."""
    for one in await items(asker, target, key):
        if one.get("id") == id:
            return one
    raise Miss(f"GET {target} by {asker.actor}: {id} is not in the list")


async def message(asker: Client, channel_id: str, id: str) -> dict[str, Any]:
    """Return a message as the list of its channel has it."""
    return await item(asker, messages_at(channel_id), "messages", id)


async def bot_says(run: Run, hook: dict[str, Any], content: str | None = None) -> Answered:
    """Post by a webhook and return the answer."""
    target = at("webhooks", hook["id"], "messages")
    return await run.n.post(target, {"content": content or run.text()}, token=hook.get("token"))


async def thread(asker: Client, parent_id: str) -> list[dict[str, Any]]:
    """Return the replies to a message (at most a page of them)."""
    return await items(asker, at("messages", parent_id, "thread"), "replies")


async def uploaded(asker: Client, place_id: str, name: str, data: bytes = b"text") -> str:
    """Upload a file that is to stand in a place, and return its id (extension G)."""
    about = {"filename": name, "placeId": place_id}
    headers = {
        "Tus-Resumable": "1.0.0",
        "Upload-Length": str(len(data)),
        "Upload-Metadata": ",".join(
            f"{key} {b64encode(value.encode()).decode()}" for key, value in about.items()
        ),
        "Content-Type": "application/offset+octet-stream",
    }
    made = (await asker.ask("POST", at("uploads"), raw=data, headers=headers)).expect(201)
    return str(made.header("location")).rpartition("/")[2]


def the_only(listed: Sequence[T], what: str) -> T:
    """Return the one item of a list. Raises `Miss` where there is none, or more than one."""
    require(len(listed) == 1, f"{what}: one is wanted, and there are {len(listed)}")
    return listed[0]


def ids(listed: Iterable[dict[str, Any]]) -> list[Any]:
    """Return the ids of the items of a list, in their order."""
    return [one.get("id") for one in listed]


def never_edited(found: dict[str, Any]) -> None:
    """Require updatedAt to be there and null (interface, part 2, Message: "null when never edited")."""
    require("updatedAt" in found, "a message that was never edited has no updatedAt, which should be null")
    require(found["updatedAt"] is None, f"updatedAt is {found['updatedAt']!r}, never edited")


@asynccontextmanager
async def unchanged(read: Callable[[], Awaitable[Any]]) -> AsyncIterator[None]:
    """Require that what `read` returns is the same after what happens inside: a refusal leaves no trace."""
    before = await read()
    yield
    after = await read()
    require(before == after, f"something was refused and yet changed: from {before} to {after}"[:600])


async def each_bad(ask: Callable[[Any], Awaitable[Answered]], bodies: Iterable[Any]) -> None:
    """Send each of these bodies and require 400."""
    for body in bodies:
        (await ask(body)).error(400)


def wrong_values(field: str, **rest: Any) -> list[dict[str, Any]]:
    """Return bodies in which a field that should hold text holds something else."""
    return [{**rest, field: value} for value in NOT_TEXT]


def is_gone(answer: Answered, *, accept: Sequence[int] = (400,)) -> Answered:
    """Require that what was named is not there."""
    return answer.error(404, accept=accept)


def forbidden(answer: Answered) -> Answered:
    """Require that someone may not do this to what they can see."""
    return answer.error(403, accept=(400, 404))


def hidden(answer: Answered) -> Answered:
    """Require that someone may not do this to what is not theirs to see."""
    return answer.error(403, 404, accept=(400,))


def gone_or_empty(answer: Answered, key: str) -> None:
    """Require that a list is not there; an empty one is accepted."""
    if answer.status != 200:
        is_gone(answer)
        return
    answer.shape({key: []})
    note(f"{answer.method} {answer.target}: an empty list where 404 is the strict answer")


def no_trace(answer: Answered, *secrets: str) -> None:
    """Require that none of these texts stands in an answer."""
    for secret in secrets:
        if secret.encode() in answer.body:
            raise answer.miss("the answer holds what its asker may not read")


def no_failure(answer: Answered) -> Answered:
    """Require an answer that is no failure of the server."""
    if answer.status >= 500:
        raise answer.miss("expected anything but a failure")
    return answer


def summary(answer: Answered, *, most: int = 120) -> str:
    """Return in a line what came, for the record."""
    return f"{answer.status} {answer.body[:most].decode('utf-8', 'replace')}"
