"""Whether posts notice what is long: a large channel that is deleted, and what concerns very many people.

A channel with a long history, of which one message in ten is a reply and one in twenty has a reaction, and
the newest tenth stands in the event log, is deleted while posts to another channel come at an even pace.
That is done in rounds, each with its share of all messages, and quiet times take turns with them.
"answer" is that of the deletion, "swept" the time until nothing of it is left in the database, "CPU s" the
server's processor time until then.  Then come ten seconds in which what is left goes out of the search index.
After that a message with many replies is deleted, of which the newest tenth stands in the event log too.
Then a channel with many members and without a history is deleted, one that as many are in by default is made
private, and a user is removed who is in many channels.
Wanted: the 99th percentile of posts meanwhile at most twice the quiet one.
"""

from __future__ import annotations

import json
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import trio

from benchmarks import server as servers
from benchmarks.asking import Asker
from benchmarks.chat import Chat
from benchmarks.client import ask, request
from benchmarks.indexing import is_filled
from benchmarks.loop import Loop
from benchmarks.report import Report, Row, medians, middle, ms, percentile
from benchmarks.server import Server, running
from benchmarks.sizes import Sizes
from benchmarks.storages import Place, places
from benchmarks.team import fill, insert
from teamchat.events import InRoom, NewMessage
from teamchat.interfaces import Storage
from teamchat.model import Author, Message, now_ms
from teamchat.model.ids import id_at, new_id

_WARM_UP = 20  # posts
_BATCH = 2000
_LOOK_SECONDS = 0.5
_MOST_SECONDS = 3600.0
_AFTER_SECONDS = 10.0
_REPLY, _REACTION, _LOGGED = 10, 20, 10
_CHANNELS = 3


class _Large(NamedTuple):
    """The ids of channels, of a message with many replies, and of a user who is in many other channels."""

    long: Sequence[str]
    thread: str
    crowded: str
    default: str
    member: str
    hoarder: str


def run(sizes: Sizes) -> Report:
    """Measure each storage by itself."""
    report = Report(
        f"Long work: {sizes.rounds} channels of {_each(sizes):,} messages are deleted, one after another;"
        f" posts at {sizes.rate:g}/s, ms"
    )
    with tempfile.TemporaryDirectory() as directory, ExitStack() as stack:
        for place in places(stack, Path(directory), report, "long"):
            for what, row in _measured(place, sizes).items():
                report.rows[f"{place.name}: {what}"] = row
    return report


def _measured(place: Place, sizes: Sizes) -> dict[str, Row]:
    with Loop() as loop:
        with running(place.directory, storage=place.storage) as server:
            admin_id = Chat(loop, server).user_id
        large = trio.run(_fill, place, admin_id, sizes)
        with running(place.directory, storage=place.storage) as server:
            chat = Chat(loop, server)
            if not servers.left_out:
                _wait(chat, lambda: _until(lambda: is_filled(place)))
            with chat.poster() as poster:
                poster.paced(sizes.rate, _WARM_UP)
                measure = partial(_measure, chat, server, poster, sizes)
                delete = partial(request, "DELETE", token=chat.token)
                quiet: list[float] = []
                meanwhile: list[float] = []
                rounds: list[Row] = []
                for long in large.long:
                    quiet += poster.paced(sizes.rate, sizes.posts)
                    since = len(poster.begun)
                    rounds.append(measure(delete(f"/channels/{long}"), partial(_until_gone, place, long)))
                    meanwhile += poster.times(since)
                after = poster.paced(sizes.rate, round(min(_AFTER_SECONDS * sizes.rate, sizes.posts)))
                thread = measure(
                    delete(f"/messages/{large.thread}"), partial(_until_removed, place, large.thread)
                )
                crowded = measure(
                    delete(f"/channels/{large.crowded}"), partial(_until_gone, place, large.crowded)
                )
                body = json.dumps({"isPrivate": True, "members": [large.member]}).encode()
                private = measure(request("PUT", f"/channels/{large.default}/privacy", chat.token, body))
                removed = measure(delete(f"/users/{large.hoarder}"))
    return {
        "quiet": _posts(quiet),
        f"{_each(sizes):,} messages are deleted": medians(rounds) | _posts(meanwhile),
        "afterwards": _posts(after),
        f"a message with {sizes.replies:,} replies is deleted": thread,
        f"a channel of {sizes.members:,} members is deleted": crowded,
        f"one that {sizes.members:,} are in by default is made private": private,
        f"a user of {sizes.rooms:,} channels is removed": removed,
    }


def _each(sizes: Sizes) -> int:
    return sizes.messages // sizes.rounds


def _measure(
    chat: Chat,
    server: Server,
    poster: Asker,
    sizes: Sizes,
    asked: bytes,
    until: Callable[[], Awaitable[None]] | None = None,
) -> Row:
    """Ask for something long, and wait until it is done; posts come meanwhile."""
    since, cpu, began = len(poster.begun), server.processor_seconds(), time.perf_counter()
    poster.start(sizes.rate)
    answer = ask(chat.loop, chat.port, asked)
    if answer.status != 200:
        raise RuntimeError(f"the server answered {answer.status}: {answer.body[:200]!r}")
    row: Row = {"answer": ms(time.perf_counter() - began)}
    if until is not None:
        _wait(chat, until)
        row["swept, s"] = round(time.perf_counter() - began, 1)
    row["CPU s"] = round(server.processor_seconds() - cpu, 2)
    chat.loop.pause(1 / sizes.rate)
    poster.stop()
    return row | _posts(poster.times(since))


def _posts(times: list[float]) -> Row:
    return {
        "posts": len(times),
        "median": ms(middle(times)),
        "p99": ms(percentile(times, 0.99)),
        "longest": ms(max(times, default=0.0)),
    }


def _wait(chat: Chat, until: Callable[[], Awaitable[None]]) -> None:
    """Wait in a thread of its own, so that posts go on meanwhile."""
    waiting = threading.Thread(target=trio.run, args=(until,), daemon=True)
    waiting.start()
    while waiting.is_alive():
        chat.loop.pause(0.05)


async def _until(done: Callable[[], Awaitable[bool]]) -> None:
    with trio.fail_after(_MOST_SECONDS):
        while not await done():  # noqa: ASYNC110  # Another process does it.
            await trio.sleep(_LOOK_SECONDS)


async def _until_gone(place: Place, room_id: str) -> None:
    async with place.opened() as storage:

        async def is_gone() -> bool:
            async with storage.read() as tx:
                return not [
                    *await tx.fetch("select 1 from rooms where id = $1", room_id),
                    *await tx.fetch("select 1 from events where text_room = $1 limit 1", room_id),
                ]

        await _until(is_gone)


async def _until_removed(place: Place, message_id: str) -> None:
    async with place.opened() as storage:

        async def is_removed() -> bool:
            async with storage.read() as tx:
                return not await tx.fetch("select 1 from messages where id = $1", message_id)

        await _until(is_removed)


async def _fill(place: Place, admin_id: str, sizes: Sizes) -> _Large:
    """Write the channels, who is in them, and what was said in one of them."""
    long, default = [new_id() for _ in range(sizes.rounds)], new_id()
    people = await fill(
        place.opened(),
        admin_id,
        users=sizes.members,
        channels=_CHANNELS,
        memberships=sizes.members,
    )
    async with place.opened() as storage:
        async with storage.write() as tx:
            member, hoarder = people.users[:2]
            own = [new_id() for _ in range(sizes.rooms)]
            await insert(
                tx,
                "rooms (id, kind, name, name_key, is_private, is_default, created_at, created_by)",
                [
                    *((id_, "channel", "Long", f"long {id_}", 0, 0, 1, admin_id) for id_ in long),
                    (default, "channel", "All", "all", 0, 1, 1, admin_id),
                    *((id_, "channel", "Own", None, 1, 0, 1, hoarder) for id_ in own),
                ],
            )
            await insert(
                tx,
                "memberships (room_id, user_id, role, joined_at)",
                [(id_, *who, 1) for id_ in own for who in ((hoarder, "manager"), (member, "member"))],
            )
        for channel in long:
            await _say(storage, channel, admin_id, _each(sizes))
        thread = await _reply(storage, default, admin_id, sizes.replies)
    return _Large(long, thread, people.large, default, member, hoarder)


async def _say(storage: Storage, room: str, admin_id: str, count: int) -> None:
    """Write a long history."""
    begin = now_ms() - count * 10
    for start in range(0, count, _BATCH):
        messages: list[tuple[Any, ...]] = []
        reactions: list[tuple[Any, ...]] = []
        threads: list[tuple[Any, ...]] = []
        parent = ""
        async with storage.write() as tx:
            for number in range(start, min(start + _BATCH, count)):
                at = begin + number * 10
                id_ = id_at(at, f"{room} {number}")
                text = f"message {number} of a long history, about as long as people write"
                under = parent if number % _REPLY == 1 else None
                parent = parent if under else id_
                messages.append((id_, room, under, admin_id, text, at, int(number % _REACTION == 0)))
                if under:
                    threads.append((under, 1, at, admin_id, f'["{admin_id}"]'))
                if number % _REACTION == 0:
                    reactions.append((id_, "👍", admin_id, 0))
                if number >= count - count // _LOGGED:
                    said = Message(id_, room, Author(admin_id, "admin"), text, at, None, {})
                    await tx.append(NewMessage.about(said).to(InRoom(room, 0, False, id_)))
            columns = "id, room_id, parent_id, author_id, content, created_at, is_decorated"
            await insert(tx, f"messages ({columns})", messages)
            columns = "parent_id, reply_count, last_reply_at, last_reply_by, participants"
            await insert(tx, f"threads ({columns})", threads)
            await insert(tx, "reactions (message_id, reaction, user_id, place)", reactions)


async def _reply(storage: Storage, room: str, admin_id: str, count: int) -> str:
    """Write a message and very many replies to it; return its id."""
    begin = now_ms() - count * 10
    parent = id_at(begin, f"{room} parent")
    columns = "messages (id, room_id, parent_id, author_id, content, created_at)"
    async with storage.write() as tx:
        await insert(tx, columns, [(parent, room, None, admin_id, "a question", begin)])
        threads = "threads (parent_id, reply_count, last_reply_at, last_reply_by, participants)"
        await insert(tx, threads, [(parent, count, now_ms(), admin_id, f'["{admin_id}"]')])
    for start in range(1, count + 1, _BATCH):
        replies: list[tuple[Any, ...]] = []
        async with storage.write() as tx:
            for number in range(start, min(start + _BATCH, count + 1)):
                at = begin + number * 10
                id_, text = id_at(at, f"{room} {number}"), f"reply {number}, about as long as people write"
                replies.append((id_, room, parent, admin_id, text, at))
                if number > count - count // _LOGGED:
                    said = Message(id_, room, Author(admin_id, "admin"), text, at, None, {}, thread_id=parent)
                    await tx.append(NewMessage.about(said).to(InRoom(room, 0, False, parent)))
            await insert(tx, columns, replies)
    return parent
