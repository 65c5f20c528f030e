"""What counting unread messages costs: nothing for who posts, and little for who asks.

Posts to a channel of many members and to one of a single member alternate, then posts there that mention
three of them and posts as long that mention nobody; `benchmarks.comparing` says how to read these rows.  Then
somebody who is in many places, of which in one of eight there is something unread, asks for all of them, for
what has changed since, and marks one as read, one request at a time; "CPU ms" is the server's processor time
for each.

Last, all members of the large channel read what is posted there, each after another's turn, as fast as they
are answered, while posts come at an even pace: "reads/s" are those that were answered, "CPU ms" what the
server took for each, posts included; a post is timed before and meanwhile.
"""

from __future__ import annotations

import json
import random
import tempfile
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import trio

from benchmarks.asking import Asker
from benchmarks.chat import Chat
from benchmarks.client import ask_all, request
from benchmarks.comparing import compared, sampled, timed
from benchmarks.loop import Loop
from benchmarks.report import Report, Row, middle, ms, percentile
from benchmarks.server import EMAIL, Server, running
from benchmarks.sizes import Sizes
from teamchat.interfaces import Transaction
from teamchat.model import now_ms
from teamchat.model.ids import new_id
from teamchat.read_state.tables import BEGINNING
from teamchat.storage.sqlite import SqliteOptions, open_sqlite

_UNREAD = 20  # messages in a place with something unread
_ONE_OF = 8
_SAID = {"content": "a message about as long as what people write in a channel"}
_MENTIONING = {"content": "@person 1, @person 2 and @person 3: who of you will see to it"}


def run(sizes: Sizes) -> Report:
    """Fill a database while its server is down, and ask."""
    report = Report(f"Reading: {sizes.members:,} members, {sizes.places:,} places, {sizes.samples} samples")
    with tempfile.TemporaryDirectory() as directory:
        data = Path(directory)
        with running(data) as server, closing(HTTPConnection("127.0.0.1", server.port)) as connection:
            user_id = _signed_in(connection)[1]
        many, one, places = trio.run(_fill, data / "data", user_id, sizes)
        with running(data) as server, closing(HTTPConnection("127.0.0.1", server.port)) as connection:
            token, _ = _signed_in(connection)

            def post(is_many: bool, _: random.Random) -> float:
                path = f"/channels/{many if is_many else one}/messages"
                return timed(connection, "POST", path, _SAID, token, expected={200})[0]

            took = sampled(sizes.samples, post)
            report.rows["a post"] = compared(f"{sizes.members:,} members", took[True], "one", took[False])

            def mention(is_mentioning: bool, _: random.Random) -> float:
                said = _MENTIONING if is_mentioning else _SAID
                path = f"/channels/{many}/messages"
                return timed(connection, "POST", path, said, token, expected={200})[0]

            took = sampled(sizes.samples, mention)
            report.rows["a post that mentions"] = compared("three", took[True], "nobody", took[False])
            _ask(report, server, connection, token, places[0], sizes)
            with Loop() as loop:
                _read_at_once(report, loop, server, many, sizes)
    return report


def _read_at_once(report: Report, loop: Loop, server: Server, place: str, sizes: Sizes) -> None:
    """Have all members read a place after every post, and post meanwhile."""
    chat, path = Chat(loop, server), f"/me/places/{place}/read"
    emails = [f"person-{number}@example.org" for number in range(sizes.members - 1)]
    logins = [request("POST", "/auth/dev-login", body=json.dumps({"email": one}).encode()) for one in emails]
    tokens = [answer.json()["token"] for answer in ask_all(loop, server.port, logins)]
    said, seen = f"/channels/{place}/messages", json.dumps({"position": "f" * 32}).encode()

    def read(number: int) -> bytes:
        return request("PUT", path, tokens[number % len(tokens)], seen)

    with (
        Asker(loop, server.port, lambda _: chat.post_to(said, _SAID)) as poster,
        Asker(loop, server.port, read, connections=sizes.connections) as readers,
    ):
        alone = poster.paced(sizes.rate, sizes.posts)
        since, cpu = len(poster.begun), server.processor_seconds()
        poster.start(sizes.rate)
        took = readers.flood(sizes.seconds)
        poster.stop()
        cpu = server.processor_seconds() - cpu
        count = len(readers.answered)
        name = f"{sizes.members:,} users read at once"
        report.rows[name] = _row(readers.times()) | {
            "reads/s": round(count / took),
            "CPU ms": ms(cpu / count),
        }
        report.rows["a post at that pace, nobody reads"] = _row(alone)
        report.rows["a post at that pace, all read"] = _row(poster.times(since))


def _ask(
    report: Report, server: Server, connection: HTTPConnection, token: str, place: str, sizes: Sizes
) -> None:
    _, whole = timed(connection, "GET", "/me/places", None, token)
    found = json.loads(whole)
    since = f"/me/places?since={found['mark']}"
    for path in ("/me/places", since):
        cpu = server.processor_seconds()
        times = [timed(connection, "GET", path, None, token)[0] for _ in range(sizes.samples)]
        cpu = (server.processor_seconds() - cpu) / sizes.samples
        name = "all places" if path != since else "what has changed since"
        count = len(json.loads(whole)["places"]) if path != since else 0
        report.rows[name] = _row(times) | {"CPU ms": ms(cpu), "places": count}
    times = []
    for number in range(sizes.samples):
        verb = ("read", {"position": "f" * 32}) if number % 2 else ("unread", {"from": BEGINNING})
        times.append(timed(connection, "PUT", f"/me/places/{place}/{verb[0]}", verb[1], token)[0])
    report.rows["a place is read, or marked"] = _row(times)


def _row(times: list[float]) -> Row:
    return {"median ms": ms(middle(times)), "p99 ms": ms(percentile(times, 0.99))}


def _signed_in(connection: HTTPConnection) -> tuple[str, str]:
    _, answer = timed(connection, "POST", "/auth/dev-login", {"email": EMAIL})
    told = json.loads(answer)
    return str(told["token"]), str(told["user"]["id"])


async def _fill(data: Path, user_id: str, sizes: Sizes) -> tuple[str, str, list[str]]:
    """Make the two channels that are posted to, and the places of a user."""
    async with open_sqlite(SqliteOptions(str(data))) as storage, storage.write() as tx:
        people = [await _user(tx, number) for number in range(sizes.members - 1)]
        many, one = [await _room(tx, name, [user_id]) for name in ("many", "one")]
        for person in people:
            await _join(tx, many, person)
        places = []
        for number in range(sizes.places):
            room = await _room(tx, f"place {number}", [user_id, people[0]])
            ids = [await _message(tx, room, people[0]) for _ in range(_UNREAD)]
            await tx.fetch(
                """insert into read_state (user_id, room_id, position, generation, is_marked, changed)
                values ($1, $2, $3, 0, 0, 0)""",
                user_id,
                room,
                BEGINNING if number % _ONE_OF == 0 else ids[-1],
            )
            places.append(room)
    return many, one, places


async def _user(tx: Transaction, number: int) -> str:
    id_, name = new_id(), f"person {number}"
    await tx.fetch(
        """insert into users (id, user_name, user_name_key, email, email_key, is_admin, created_at)
        values ($1, $2, $2, $3, $3, 0, $4)""",
        id_,
        name,
        f"person-{number}@example.org",
        now_ms(),
    )
    return id_


async def _room(tx: Transaction, name: str, members: list[str]) -> str:
    id_ = new_id()
    await tx.fetch(
        """insert into rooms (id, kind, name, is_private, created_at, created_by)
        values ($1, 'channel', $2, 1, $3, $4)""",
        id_,
        name,
        now_ms(),
        members[0],
    )
    for member in members:
        await _join(tx, id_, member)
    return id_


async def _join(tx: Transaction, room_id: str, user_id: str) -> None:
    await tx.fetch(
        "insert into memberships (room_id, user_id, joined_at) values ($1, $2, $3)",
        room_id,
        user_id,
        now_ms(),
    )


async def _message(tx: Transaction, room_id: str, author_id: str) -> str:
    id_ = new_id()
    await tx.fetch(
        "insert into messages (id, room_id, author_id, content, created_at) values ($1, $2, $3, $4, $5)",
        id_,
        room_id,
        author_id,
        _SAID["content"],
        now_ms(),
    )
    return id_
