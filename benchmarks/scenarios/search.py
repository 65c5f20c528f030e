"""How long a search takes in a long history of many languages, on both storages, and what its index costs.

A user of many private rooms asks, one question at a time; each row is one kind of question, "median ms"
and "p95 ms" its answer's. Half of the messages are in public channels, a third in rooms of the user's,
the others in rooms that they are not in. "backfill" is how fast a server that finds this history makes
its index, with nothing else to do; "posts" how many posts a second are answered while it does. "MB" is the
size of the index. "posts with search" and "without" are measured in turns: as fast as the server takes them,
and what processor time a post takes the server until it is in the index. Wanted: a median of 30 ms and a 95th
percentile of 100 ms for each question, and at most a tenth fewer posts with search.
"""

from __future__ import annotations

import random
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlencode

import trio

from benchmarks.chat import Chat
from benchmarks.client import request
from benchmarks.indexing import is_filled, until_filled, until_heard
from benchmarks.loop import Loop
from benchmarks.report import Report, Row, middle, ms, percentile
from benchmarks.sentences import sentence
from benchmarks.server import Server, running
from benchmarks.sizes import Sizes
from benchmarks.storages import Place, places
from teamchat.model import now_ms
from teamchat.model.ids import id_at
from teamchat.storage.statements import flat, in_pieces, values

_RARE = "quokkasaurus"
_SEED = 24
_SPACING_MS = 60_000


def run(sizes: Sizes) -> Report:
    """Measure each storage by itself."""
    report = Report(f"Search: {sizes.messages:,} messages, a user of {sizes.rooms} private rooms")
    with tempfile.TemporaryDirectory() as directory, ExitStack() as stack:
        for place in places(stack, Path(directory), report, "search"):
            for what, row in _measured(place, sizes).items():
                report.rows[f"{place.name}: {what}"] = row
    return report


def _measured(place: Place, sizes: Sizes) -> dict[str, Row]:
    rows: dict[str, Row] = {}
    with Loop() as loop:
        off = {"search": {"enabled": False}}
        with running(
            place.directory, storage=place.storage, sections=off
        ) as server:  # It makes its database.
            admin_id = Chat(loop, server).user_id
        trio.run(_fill, place, admin_id, sizes)
        on = {"search": {"perMinute": 1_000_000}}
        with running(place.directory, storage=place.storage, sections=on) as server:
            began = time.perf_counter()
            chat = Chat(loop, server)
            while_indexing = _posts(chat, sizes)
            is_filling = not trio.run(is_filled, place)
            seconds, size = trio.run(until_filled, place, began)
            rows["backfill"] = {"messages/s": round(sizes.messages / seconds), "MB": round(size / 1e6, 1)}
            rows["posts while indexing"] = (
                {"posts/s": while_indexing} if is_filling else {"posts/s": "too few"}
            )
            for what, query in _queries(admin_id).items():
                rows[what] = _asked(chat, query, sizes)
            rows["a common word, by relevance"] = _asked(chat, "nicht", sizes, "relevance")
    return rows | _with_and_without(place, sizes)


def _with_and_without(place: Place, sizes: Sizes) -> dict[str, Row]:
    taken: dict[str, list[tuple[int, float]]] = {"posts without search": [], "posts with search": []}
    with Loop() as loop:
        for _ in range(sizes.rounds):
            for what, turns in taken.items():
                is_on = what == "posts with search"
                section = {"search": {"enabled": is_on}}
                with running(place.directory, storage=place.storage, sections=section) as server:
                    chat = Chat(loop, server)
                    turns.append(_posts_and_their_cost(chat, server, place if is_on else None, sizes))
    return {
        what: {
            "posts/s": middle([rate for rate, _ in turns]),
            "processor ms a post": ms(middle([seconds for _, seconds in turns])),
        }
        for what, turns in taken.items()
    }


def _posts_and_their_cost(
    chat: Chat, server: Server, indexed: Place | None, sizes: Sizes
) -> tuple[int, float]:
    """Return how many posts a second there are, and the processor time of the server that each takes."""
    if indexed is not None:
        trio.run(until_heard, indexed)
    with chat.poster(connections=sizes.connections) as poster:
        began = server.processor_seconds()
        seconds = poster.flood(sizes.seconds)
        if indexed is not None:
            trio.run(until_heard, indexed)
        count = len(poster.answered)
        return round(count / seconds), (server.processor_seconds() - began) / count


def _queries(user_id: str) -> dict[str, str]:
    return {
        "a rare word": _RARE,
        "a word that is nowhere": "nowheretobefound",
        "a common word": "nicht",
        "two characters of Chinese": "上海",
        "three words": "nicht werden auch",
        "a word with from: and in:": f"nicht from:{user_id} in:#General",
    }


def _asked(chat: Chat, query: str, sizes: Sizes, sort: str = "recent") -> Row:
    path = f"/search/messages?{urlencode({'q': query, 'sort': sort})}"
    message = request("GET", path, chat.token)
    with chat.asker(message, connections=1) as asker:
        for _ in range(max(2, min(sizes.samples, 40))):
            asker.paced(1000.0, 1)
        times = asker.times(1)
    return {"median ms": ms(middle(times)), "p95 ms": ms(percentile(times, 0.95))}


def _posts(chat: Chat, sizes: Sizes) -> int:
    with chat.poster(connections=sizes.connections) as poster:
        seconds = poster.flood(sizes.seconds)
        return round(len(poster.answered) / seconds)


async def _fill(place: Place, admin_id: str, sizes: Sizes) -> None:
    """Write the history: rooms, who is in them, and what was said there."""
    chance = random.Random(_SEED)
    begin = now_ms() - sizes.messages * _SPACING_MS
    async with place.opened() as storage:
        async with storage.write() as tx:
            [(general,)] = await tx.fetch("select id from rooms where name = 'General'")
            stranger = id_at(begin, "a stranger")
            await tx.fetch(
                """insert into users (id, user_name, user_name_key, email, email_key, is_admin, created_at)
                values ($1, 'stranger', 'stranger', 's@example.org', 's@example.org', 0, 1)""",
                stranger,
            )
            public = [general, *(id_at(begin, f"public {number}") for number in range(20))]
            own = [id_at(begin, f"own {number}") for number in range(sizes.rooms)]
            others = [id_at(begin, f"other {number}") for number in range(sizes.rooms)]
            for number, room in enumerate(public[1:] + own + others):
                is_private = int(room not in public)
                await tx.fetch(
                    """insert into rooms (id, kind, name, name_key, is_private, created_at, created_by)
                    values ($1, 'channel', $2, $3, $4, 1, $5)""",
                    *(room, f"Room {number}", None if is_private else f"room {number}", is_private, admin_id),
                )
                if is_private:
                    await tx.fetch(
                        """insert into memberships (room_id, user_id, role, joined_at)
                        values ($1, $2, 'manager', 1)""",
                        room,
                        admin_id if room in own else stranger,
                    )
        for start in range(0, sizes.messages, 2000):
            rows = []
            for number in range(start, min(start + 2000, sizes.messages)):
                at = begin + number * _SPACING_MS
                share = chance.random()
                room = chance.choice(public if share < 0.5 else own if share < 0.83 else others)
                text = sentence(chance)
                if number % max(1, sizes.messages // 3) == 7:
                    text, room = f"{text} {_RARE}", general
                author = admin_id if number % 10 == 0 else stranger
                rows.append((id_at(at, f"message {number}"), room, author, text, at))
            async with storage.write() as tx:
                for piece in in_pieces(rows):
                    listed = values("({0}, {1}, {2}, {3}, {4})", 5, len(piece), 0)
                    await tx.fetch(
                        f"insert into messages (id, room_id, author_id, content, created_at) values {listed}",
                        *flat(piece),
                    )
