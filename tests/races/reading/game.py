"""A game of read states: its people and places, what was asked in it, and what was told."""

from __future__ import annotations

from random import Random
from typing import Any

import httpx2

from tests.races.reading.device import Device
from tests.races.reading.feed import Feed
from tests.races.reading.judge import Change, Look
from tests.races.reading.place import Place, Words
from tests.races.reading.site import Site, User

KEYWORDS = ("deploy", "outage", "release")


class Game:
    """One game: the places, everything that was asked, and what was told of read states."""

    def __init__(self, site: Site, root: User, seed: int, most: int) -> None:
        self.site, self.seed = site, seed
        self.users: list[User] = []
        self.devices: list[Device] = []
        self.places: dict[str, Place] = {}
        self.items: dict[tuple[str, str], list[Change | Look]] = {}
        self.asked: list[tuple[str, str, int, int]] = []
        """Requests that an event may tell of: its type, what it is about, when asked and answered."""
        self.said: dict[str, list[Words]] = {}
        """What stands in messages: in each at first, and after each edit."""
        self.places_of: dict[str, str] = {}
        """In which place messages are."""
        self.feeds: dict[str, Feed] = {}
        self.start = 0
        self.wrong: list[str] = []
        self.root, self.left = root, most
        """Who makes the game's own admin one; and how many acts are left."""
        self.chance = Random(seed)
        self.messages: dict[str, list[str]] = {}
        """What was said in each place, replies too."""
        self.parents: dict[str, list[str]] = {}
        """The messages of each place that have a thread, or could."""
        self.own: dict[str, list[str]] = {}
        """What each user has said."""
        self.edited: set[str] = set()
        """Messages whose edit is under way."""
        self.given: dict[str, list[tuple[str, str]]] = {}
        """The reactions of each user: the message, and what."""
        self.removed = ""
        """The one user who is removed, once they are."""

    @property
    def admin(self) -> User:
        """The one who is in every channel, and does whatever only some may do."""
        return self.users[0]

    async def noted(
        self, user: User, method: str, path: str, body: Any = None, *, event: str = "", about: str = ""
    ) -> httpx2.Response:
        """Ask, and note when, if an event tells of it."""
        start = self.site.tick()
        answer = await self.site.ask(user, method, path, body)
        if event and answer.status_code == 200:
            self.asked.append((event, about, start, self.site.tick()))
        return answer

    def note(self, user: User, place: str, item: Change | Look) -> None:
        """Keep what a device asked to change of its user's state in a place, or what it was told of it."""
        self.items.setdefault((user.id, place), []).append(item)

    def parent(self, place: str, chance: Random) -> str:
        """Return one of the newest messages of a place that have a thread, or could."""
        parents = self.parents.get(place)
        return chance.choice(parents[-4:]) if parents else ""

    def position(self, place: str, chance: Random) -> str:
        """Return where somebody may stand in a place: at a new message, before all or after all."""
        return chance.choice([*self.messages[place][-6:], "0" * 32, "f" * 32])

    def feed_of(self, user: User) -> Feed:
        return self.feeds.setdefault(user.id, Feed())
