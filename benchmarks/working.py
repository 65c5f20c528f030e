"""A company at work on real servers: its database filled, its people signed in and listening, requests made.

Used by the scenarios ``company`` and ``simulation``.  Every request has its moment before anything begins
(`benchmarks.company`), and its time runs from that moment.
"""

from __future__ import annotations

import json
import random
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import trio

from benchmarks.asking import Asker
from benchmarks.chat import Chat
from benchmarks.client import Answer, ask_all, request
from benchmarks.company import DAY, POST, Asked, Company, Person
from benchmarks.counting import Witness
from benchmarks.indexing import until_filled
from benchmarks.loop import Loop
from benchmarks.sentences import sentence
from benchmarks.server import Server, running
from benchmarks.sizes import Sizes
from benchmarks.storages import Place
from benchmarks.streams import Hear, Streams
from benchmarks.team import fill, insert
from teamchat.chat.rooms_table import insert_direct
from teamchat.interfaces import Transaction
from teamchat.model import now_ms
from teamchat.model.ids import new_conversation_id, new_id
from teamchat.read_state.tables import BEGINNING

WARM_UP = 0.1
"""What share of the time warms up, and is not told."""
GENERATOR, DATABASE = "the load generator", "the database"
DIRECT_EACH = 3
STREAM = "/events?scope=joined&ephemeral=read"

_SEED = 24
_CONNECTIONS = 64  # of each kind at each server; requests that find none free wait, and their waiting counts
_LATE_SECONDS = 60.0  # how long answers and events are waited for after the end
_BEFORE_SECONDS = 0.5  # from the noting of all moments to the first
_WORDS = ("nicht", "werden", "which", "from", *(f"build-{number}" for number in range(0, 10_000, 97)))

Key = tuple[str, int]
"""A kind of request, and the number of a server."""


@dataclass
class Found:
    """What was seen of a company at work; times in seconds, `processor` in shares of one processor."""

    seconds: float
    times: Mapping[str, list[float]]
    refusals: Mapping[str, int]
    unanswered: Mapping[str, int]
    """Those that had no answer long after the end; their times are until then."""
    deliveries: list[float]
    last: list[float]
    missing_or_twice: int
    received: int
    processor: Mapping[str, float]
    looks: Sequence[Any]
    """What a look gave after the warming up, and one at the end."""


def chance() -> random.Random:
    """Return chance that is the same in every run."""
    return random.Random(_SEED)


def founded(loop: Loop, place: Place, sizes: Sizes) -> Company:
    """Fill the database of a place with a company, while no server runs on it."""
    with running(place.directory, storage=place.storage) as server:  # It makes its database.
        admin_id = Chat(loop, server).user_id
    return trio.run(_fill, place, admin_id, sizes)


@contextmanager
def serving(
    place: Place, count: int, sections: Mapping[str, dict[str, Any]] | None = None
) -> Iterator[list[Server]]:
    """Run so many servers on a place; every message is in the index of the search when it begins."""
    with ExitStack() as stack:
        servers = [
            stack.enter_context(running(place.directory, storage=place.storage, sections=sections))
            for _ in range(count)
        ]
        trio.run(until_filled, place, time.perf_counter())
        yield servers


class Work(AbstractContextManager["Work"]):
    """The people of a company, signed in and listening, each at one of the servers."""

    def __init__(self, loop: Loop, place: Place, servers: Sequence[Server], company: Company) -> None:
        names = ["the server"] if len(servers) == 1 else [f"server {n + 1}" for n in range(len(servers))]
        self.servers = dict(zip(names, servers, strict=True))
        self._loop = loop
        self._place = place
        self._ports = [server.port for server in servers]
        self._company = company
        self._came: list[tuple[int, float]] = []
        self._tokens = self._signed_in()
        self._streams = [self._listening(node) for node in range(len(servers))]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for streams in self._streams:
            streams.close()

    @property
    def received(self) -> int:
        """How many bytes have come on all streams."""
        return sum(streams.bytes for streams in self._streams)

    def do(self, asked: Sequence[Asked], seconds: float, look: Callable[[], Any] = lambda: None) -> Found:
        """Have all of this asked at its moment, and return what was seen after the warming up."""
        refusals: Counter[str] = Counter()
        by_key: dict[Key, list[Asked]] = defaultdict(list)
        for one in asked:
            by_key[one.kind, self._node(one.who)].append(one)
        with ExitStack() as stack:
            askers = {key: self._asker(stack, key, own, seconds, refusals) for key, own in by_key.items()}
            self._came.clear()
            began = time.perf_counter() + _BEFORE_SECONDS
            for key, own in by_key.items():
                askers[key].at([began + one.due for one in own])
            since = began + WARM_UP * seconds
            self._until(since)
            before, received, looks = self.processor(), self.received, [look()]
            self._until(began + seconds)
            processor = {name: taken - before[name] for name, taken in self.processor().items()}
            received = self.received - received
            looks.append(look())
            self._finish(askers)
        ended = time.perf_counter()
        times: dict[str, list[float]] = {kind: [] for kind in DAY}
        posts: dict[int, Asked] = {}
        unanswered: Counter[str] = Counter()
        for (kind, node), asker in askers.items():
            unanswered[kind] += asker.outstanding
            answered = asker.answered if not asker.outstanding else defaultdict(lambda: ended, asker.answered)
            times[kind] += [
                answered[number] - due
                for number, due in enumerate(asker.begun)
                if due >= since and (number in asker.answered or asker.outstanding)
            ]
            if kind == POST:
                own = by_key[kind, node]
                posts |= {own[number].number: own[number] for number in asker.answered}
        measured = (1 - WARM_UP) * seconds
        return Found(
            measured,
            times,
            refusals,
            unanswered,
            *self._delivered(posts, began, since),
            received,
            {name: taken / measured for name, taken in processor.items()},
            looks,
        )

    def is_at_first(self, one: Asked) -> bool:
        """Whether who asks is at the first server."""
        return self._node(one.who) == 0

    def flood(self, asked: Sequence[Asked], seconds: float, connections: int) -> tuple[int, float]:
        """Ask this of the first server as fast as answers come; return how many came, and the seconds."""
        with self._at_first(asked, connections) as asker:
            taken = asker.flood(seconds)
            return len(asker.answered), taken

    def pace(self, asked: Sequence[Asked], rate: float) -> tuple[int, float]:
        """Ask this of the first server once, at an even pace; return how many came, and the seconds."""
        with self._at_first(asked, _CONNECTIONS) as asker:
            return len(asker.paced(rate, len(asked))), len(asked) / rate

    def _at_first(self, asked: Sequence[Asked], connections: int) -> Asker:
        messages = [request(one.method, one.path, self._tokens[one.who], one.data) for one in asked]
        return Asker(
            self._loop,
            self._ports[0],
            lambda number: messages[number % len(messages)],
            connections=connections,
            refused=lambda _: None,  # somebody's third search at once
        )

    def _delivered(
        self, posts: Mapping[int, Asked], began: float, since: float
    ) -> tuple[list[float], list[float], int]:
        """Return the times of all deliveries, those of the last of each post, and how many are wrong."""
        listening = self._company.listening
        counts = Counter(number for number, _ in self._came)
        wrong = sum(abs(listening[post.room] - counts[number]) for number, post in posts.items())
        times: list[float] = []
        last: dict[int, float] = {}
        for number, moment in self._came:
            if number in posts and began + posts[number].due >= since:
                last[number] = moment - began - posts[number].due
                times.append(last[number])
        return times, list(last.values()), wrong

    def _node(self, who: int) -> int:
        return who % len(self._ports)

    def _signed_in(self) -> list[str]:
        tokens = [""] * len(self._company.people)
        for node, port in enumerate(self._ports):
            here = [who for who in range(len(tokens)) if self._node(who) == node]
            emails = [json.dumps({"email": self._company.people[who].email}).encode() for who in here]
            answers = ask_all(self._loop, port, [request("POST", "/auth/dev-login", body=e) for e in emails])
            for who, answer in zip(here, answers, strict=True):
                tokens[who] = answer.json()["token"]
        return tokens

    def _listening(self, node: int) -> Streams:
        tokens = [token for who, token in enumerate(self._tokens) if self._node(who) == node]
        streams = Streams(self._loop, self._ports[node], hear=self._hear)
        return streams.open([request("GET", STREAM, token) for token in tokens])

    def _hear(self, _: int) -> Hear:
        return Witness(lambda number: self._came.append((number, time.perf_counter())))

    def _asker(
        self, stack: ExitStack, key: Key, own: Sequence[Asked], seconds: float, refusals: Counter[str]
    ) -> Asker:
        kind, node = key
        messages = [request(one.method, one.path, self._tokens[one.who], one.data) for one in own]

        def refused(_: Answer) -> None:
            refusals[kind] += 1

        connections = min(_CONNECTIONS, max(4, round(len(own) / seconds)))  # so that none idles for long
        asker = Asker(
            self._loop, self._ports[node], messages.__getitem__, connections=connections, refused=refused
        )
        return stack.enter_context(asker)

    def _finish(self, askers: Mapping[Key, Asker]) -> None:
        """Wait for all answers, and then for what they tell streams; neither for ever."""
        self._loop.run(lambda: not any(one.outstanding for one in askers.values()), _LATE_SECONDS)
        seen = -1
        while seen != len(self._came):
            seen = len(self._came)
            self._loop.pause(1.0)

    def _until(self, moment: float) -> None:
        self._loop.pause(moment - time.perf_counter())

    def processor(self) -> dict[str, float]:
        """Return the seconds of processor time that each server, the database and this process took."""
        taken = {name: server.processor_seconds() for name, server in self.servers.items()}
        if self._place.storage:
            taken[DATABASE] = self._place.processor_seconds()
        return taken | {GENERATOR: time.process_time()}


async def _fill(place: Place, admin_id: str, sizes: Sizes) -> Company:
    team = await fill(
        place.opened(),
        admin_id,
        users=sizes.users,
        channels=sizes.channels,
        memberships=sizes.memberships,
    )
    by_chance = chance()
    connected = sorted(by_chance.sample(range(sizes.users), min(sizes.connected, sizes.users)))
    ids = [team.users[number] for number in connected]
    channels: dict[str, list[str]] = {id_: [] for id_ in ids}
    listening: Counter[str] = Counter()
    for room, members in team.members.items():
        for id_ in members:
            if id_ in channels:
                channels[id_].append(room)
                listening[room] += 1
    pairs = {
        tuple(sorted((id_, by_chance.choice(ids)))) for id_ in ids for _ in range(DIRECT_EACH) if len(ids) > 1
    }
    direct: dict[str, list[str]] = {id_: [] for id_ in ids}
    authors = {room: members[0] for room, members in team.members.items()}
    async with place.opened() as storage, storage.write() as tx:
        for one, other in sorted(pair for pair in pairs if pair[0] != pair[1]):
            room = new_conversation_id()
            await insert_direct(tx, room, (one, other), now_ms())
            direct[one].append(room)
            direct[other].append(room)
            authors[room], listening[room] = one, 2
        messages = await _say(tx, authors, sizes.said, by_chance)
        await insert(
            tx,
            "read_state (user_id, room_id, position, generation, is_marked, changed)",
            [(id_, room, BEGINNING, 0, 0, 0) for id_ in ids for room in (*channels[id_], *direct[id_])],
        )
    people = [
        Person(f"person-{number}@example.org", channels[id_], direct[id_])
        for number, id_ in zip(connected, ids, strict=True)
    ]
    return Company(people, messages, listening, _WORDS, Counter())


async def _say(
    tx: Transaction, authors: Mapping[str, str], each: int, by_chance: random.Random
) -> dict[str, list[str]]:
    """Write so many messages into each room, and return their ids."""
    said: dict[str, list[str]] = {room: [] for room in authors}
    rows: list[tuple[Any, ...]] = []
    for _ in range(each):
        for room, author in authors.items():
            said[room].append(new_id())
            rows.append((said[room][-1], room, author, sentence(by_chance), now_ms()))
    await insert(tx, "messages (id, room_id, author_id, content, created_at)", rows)
    return said
