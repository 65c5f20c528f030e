"""What a company's people do in the busiest hour of a day: requests, each with its moment, chosen beforehand.

A real rate, for a person and a working day (`DAY`):

* 20 posts.  Slack's registration statement of 2019 tells of more than a billion messages a week and more than
  ten million daily users.
* 200 pages of messages, 5 reactions and 2 searches.  Mattermost's load test (simulcontroller of
  mattermost-load-test-ng), whose frequencies come from its customers, has for each post 9.5 channels and
  direct conversations that are opened or scrolled, 0.13 reactions and 0.02 searches; the last two are rounded
  up here, so that there is something to measure.
* 300 read marks: two for each of some 150 places turned to, when its messages are shown and when its reader
  turns away (extension D-7).  Here each moves the position, which is the dearer case.

Half of it is in direct conversations and half in channels; which of a person's own is chance, so large
channels get more of it.  The busiest hour has 15 % of the day.  So 5,000 people make 110 requests a second.

Arrivals are open-loop: each has its moment by chance (Poisson), whatever became of those before.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from benchmarks.counting import marked

POST, PAGE, REACTION, READ_MARK, SEARCH = "a post", "a page", "a reaction", "a read mark", "a search"
DAY: Mapping[str, float] = {POST: 20, PAGE: 200, REACTION: 5, READ_MARK: 300, SEARCH: 2}
BUSIEST_HOUR = 0.15
DIRECT = 0.5

_SIZE = 60  # characters in a post
_REACTIONS = ("+1", "tada", "eyes", "heart", "joy", "rocket", "wave", "ok")


class Person(NamedTuple):
    """Somebody who is connected: how they sign in, the channels they are in, their direct conversations."""

    email: str
    channels: Sequence[str]
    direct: Sequence[str]


class Company(NamedTuple):
    """Those who are connected; of each room the messages that it has, and how many of its members listen.

    `read` counts the marks of a person in a room: each is one message further.
    """

    people: Sequence[Person]
    messages: Mapping[str, Sequence[str]]
    listening: Mapping[str, int]
    words: Sequence[str]
    read: Counter[tuple[int, str]]


class Asked(NamedTuple):
    """A request of somebody at a moment, in seconds from the beginning; `number` is a post's."""

    due: float
    kind: str
    who: int
    room: str
    method: str
    path: str
    body: Any = None
    number: int = -1

    @property
    def data(self) -> bytes:
        """The body as it is sent."""
        return b"" if self.body is None else json.dumps(self.body).encode()


def rates(users: int, times: float = 1.0) -> dict[str, float]:
    """Return how many requests of each kind a second come in the busiest hour, at so many times that rate."""
    return {kind: times * users * a_day * BUSIEST_HOUR / 3600 for kind, a_day in DAY.items()}


def moments(rate: float, seconds: float, chance: random.Random) -> Iterator[float]:
    """Yield moments by chance at a mean rate."""
    at = chance.expovariate(rate)
    while at < seconds:
        yield at
        at += chance.expovariate(rate)


def planned(
    company: Company, a_second: Mapping[str, float], seconds: float, chance: random.Random
) -> list[Asked]:
    """Return what is asked in so many seconds, in order; posts are numbered from 0 in that order."""
    make = {POST: _post, PAGE: _page, REACTION: _react, READ_MARK: _read, SEARCH: _search}
    asked = [
        make[kind](company, due, chance)
        for kind, rate in a_second.items()
        for due in moments(rate, seconds, chance)
    ]
    asked.sort(key=lambda one: one.due)
    posts = [place for place, one in enumerate(asked) if one.kind == POST]
    for number, place in enumerate(posts):
        body = {"content": marked(number, _SIZE)}
        asked[place] = asked[place]._replace(number=number, body=body)
    return asked


def _somewhere(company: Company, chance: random.Random) -> tuple[int, str, str]:
    """Return somebody, a room of theirs, and the path of its messages."""
    who = chance.randrange(len(company.people))
    person = company.people[who]
    is_direct = not person.channels or (bool(person.direct) and chance.random() < DIRECT)
    room = chance.choice(person.direct if is_direct else person.channels)
    return who, room, f"/{'conversations' if is_direct else 'channels'}/{room}/messages"


def _post(company: Company, due: float, chance: random.Random) -> Asked:
    who, room, path = _somewhere(company, chance)
    return Asked(due, POST, who, room, "POST", path)


def _page(company: Company, due: float, chance: random.Random) -> Asked:
    who, room, path = _somewhere(company, chance)
    return Asked(due, PAGE, who, room, "GET", path)


def _react(company: Company, due: float, chance: random.Random) -> Asked:
    who, room, _ = _somewhere(company, chance)
    path = f"/messages/{chance.choice(company.messages[room])}/reactions"
    return Asked(due, REACTION, who, room, "POST", path, {"reaction": chance.choice(_REACTIONS)})


def _read(company: Company, due: float, chance: random.Random) -> Asked:
    who, room, _ = _somewhere(company, chance)
    said = company.messages[room]
    position = said[min(company.read[who, room], len(said) - 1)]
    company.read[who, room] += 1
    return Asked(due, READ_MARK, who, room, "PUT", f"/me/places/{room}/read", {"position": position})


def _search(company: Company, due: float, chance: random.Random) -> Asked:
    who, room, _ = _somewhere(company, chance)
    return Asked(due, SEARCH, who, room, "GET", f"/search/messages?q={chance.choice(company.words)}")
