"""Whether the time of an answer tells what is there that one does not see (extension rule X-3).

A stranger asks about private channels, messages, images and direct conversations of others, and as often
about ids of the same shape that nobody ever had; a conversation of others is told to be one (D-03), and is
compared with one in which nothing was said.  Both storages are asked; `benchmarks.comparing` says how to read
the table.
"""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

import trio

from benchmarks.comparing import compared, sampled, timed
from benchmarks.report import Report
from benchmarks.server import EMAIL, running
from benchmarks.sizes import Sizes
from benchmarks.storages import Place, places
from teamchat.chat import membership

_MOST_THINGS = 20
_MESSAGES = 60  # in each channel: more than a page
_PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
_SAID = {"content": "hello"}
_OTHERS = str.maketrans("0123456789abcdef", "123456789abcdef0")


class _Asked(NamedTuple):
    """A question: its path has the ids of a thing in braces."""

    method: str
    path: str
    body: Any = None
    status: int = 404


_ASKED: Mapping[str, _Asked] = {
    "the page of a private channel": _Asked("GET", "/channels/{room}/messages"),
    "an earlier page of it": _Asked("GET", "/channels/{room}/messages?before={message}"),
    "a post to it": _Asked("POST", "/channels/{room}/messages", _SAID),
    "an image of it": _Asked("GET", "/channels/{room}/messages/image/{image}"),
    "an upload to it": _Asked(
        "POST", "/channels/{room}/messages/image", {"filename": "a.png", "image": _PNG}
    ),
    "a thread in it": _Asked("GET", "/messages/{message}/thread"),
    "a reply in it": _Asked("POST", "/messages/{message}/thread", _SAID),
    "an edit in it": _Asked("PUT", "/messages/{message}", _SAID),
    "a reaction in it": _Asked("POST", "/messages/{message}/reactions", {"reaction": "x"}),
    "its pins": _Asked("GET", "/channels/{room}/pins"),
    "a pin in it": _Asked("POST", "/messages/{message}/pin"),
}
_ASKED_OF_DIRECT: Mapping[str, _Asked] = {
    "a thread of a direct message": _Asked("GET", "/messages/{message}/thread"),
    "an edit of a direct message": _Asked("PUT", "/messages/{message}", _SAID),
    "a reaction to a direct message": _Asked("POST", "/messages/{message}/reactions", {"reaction": "x"}),
}
_CONVERSATIONS: Mapping[str, _Asked] = {
    "a conversation of others": _Asked("GET", "/conversations/{room}/messages", None, 403),
    "a post to a conversation of others": _Asked("POST", "/conversations/{room}/messages", _SAID, 403),
    "an image of others": _Asked("GET", "/conversations/{room}/messages/image/{image}", None, 403),
}

Thing = Mapping[str, str]


def run(sizes: Sizes) -> Report:
    """Make what is hidden, and ask about it as a stranger."""
    report = Report(f"Hidden things: {sizes.samples} samples of each kind")
    with tempfile.TemporaryDirectory() as directory, ExitStack() as stack:
        for place in places(stack, Path(directory), report, "hidden"):
            _measure(place, sizes, report)
    return report


def _measure(place: Place, sizes: Sizes, report: Report) -> None:
    things = min(_MOST_THINGS, sizes.samples)
    with _serving(place) as connection:
        token = _signed_in(connection, EMAIL)
        private = [_filled(connection, token, _channel(connection, token, n)) for n in range(things)]
        people = [f"{n}@example.org" for n in range(2 * things)]
        direct = [_direct(connection, token, email, number < things) for number, email in enumerate(people)]
    trio.run(_make_private, place, [thing["room"] for thing in private])
    with _serving(place) as connection:
        stranger = _signed_in(connection, "stranger@example.org")
        told, quiet = direct[:things], direct[things:]
        compare = partial(_compare, report, place.name, connection, stranger, sizes)
        compare(_ASKED, private, [_nobodys(thing) for thing in private])
        compare(_ASKED_OF_DIRECT, told, [_nobodys(thing) for thing in told])
        quiet = [_nobodys(thing) | {"room": other["room"]} for thing, other in zip(told, quiet, strict=True)]
        compare(_CONVERSATIONS, told, quiet)


@contextmanager
def _serving(place: Place) -> Iterator[HTTPConnection]:
    with (
        running(place.directory, storage=place.storage) as server,
        closing(HTTPConnection("127.0.0.1", server.port)) as connection,
    ):
        yield connection


def _compare(
    report: Report,
    storage: str,
    connection: HTTPConnection,
    token: str,
    sizes: Sizes,
    questions: Mapping[str, _Asked],
    hidden: Sequence[Thing],
    others: Sequence[Thing],
) -> None:
    for name, asked in questions.items():

        def ask(is_hidden: bool, chance: random.Random, asked: _Asked = asked) -> float:
            thing = chance.choice(hidden if is_hidden else others)
            path = asked.path.format(**thing)
            return timed(connection, asked.method, path, asked.body, token, expected={asked.status})[0]

        took = sampled(sizes.samples, ask)
        report.rows[f"{storage}: {name}"] = compared("hidden", took[True], "nobody's", took[False])


def _signed_in(connection: HTTPConnection, email: str) -> str:
    return str(_made(connection, "/auth/dev-login", {"email": email})["token"])


def _channel(connection: HTTPConnection, token: str, number: int) -> str:
    made = _made(connection, "/channels", {"name": f"Private {number}"}, token)
    return f"/channels/{made['channel']['id']}"


def _direct(connection: HTTPConnection, token: str, email: str, is_filled: bool) -> Thing:
    _signed_in(connection, email)
    _, users = timed(connection, "GET", "/users", None, token)
    target = next(user["id"] for user in json.loads(users)["users"] if user["email"] == email)
    opened = _made(connection, "/conversations", {"targetUserId": target}, token)["conversation"]
    base = f"/conversations/{opened['id']}"
    return _filled(connection, token, base) if is_filled else {"room": opened["id"]}


def _filled(connection: HTTPConnection, token: str, base: str) -> Thing:
    """Say much in a room; return its id, and those of a message and an image in it."""
    upload = {"filename": "a.png", "image": _PNG}
    image = _made(connection, f"{base}/messages/image", upload, token)["filename"]
    said = [_made(connection, f"{base}/messages", _SAID, token)["message"]["id"] for _ in range(_MESSAGES)]
    return {"room": base.rpartition("/")[2], "message": said[_MESSAGES // 2], "image": image}


def _made(connection: HTTPConnection, path: str, body: Any, token: str = "") -> dict[str, Any]:
    _, data = timed(connection, "POST", path, body, token)
    made: dict[str, Any] = json.loads(data)
    return made


def _nobodys(thing: Thing) -> dict[str, str]:
    """Return ids that nobody ever had, of the same shape and moment."""
    return {name: _other(id_) for name, id_ in thing.items()}


def _other(id_: str) -> str:
    stem, dot, extension = id_.partition(".")
    return stem[:-8] + stem[-8:].translate(_OTHERS) + dot + extension


async def _make_private(place: Place, rooms: Sequence[str]) -> None:
    async with place.opened() as storage:
        for room in rooms:
            async with storage.write() as tx:
                await membership.change(tx, room, is_private=True)
