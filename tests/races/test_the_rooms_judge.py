"""The games of rooms find what is broken: each of these servers is, in one place.

Every sixth is asked for by `make test-all`, all with ``TEAMCHAT_FAULTS=all``: each takes some games.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.races.reading.judge import Happened
from tests.races.reading.site import open_site
from tests.races.rooms.faults import FAULTS
from tests.races.rooms.judge import Verdict
from tests.races.rooms.model import ADDED, CHANGED, MANAGER, RANKED, REMOVED, Asked, Room
from tests.races.rooms.play import Done
from tests.races.test_rooms import played
from tests.storages import sqlite_only

pytestmark = sqlite_only("the judge is the same on every storage, and games are quicker on this one")
ROOT = Path(__file__).parents[2]
MOST_GAMES = 100
CHOSEN = FAULTS if os.environ.get("TEAMCHAT_FAULTS") == "all" else FAULTS[::6]


@pytest.mark.slow
@pytest.mark.parametrize("fault", CHOSEN, ids=lambda fault: fault.__name__)
async def test_a_broken_server_is_found(
    fault: Callable[[], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    async with open_site(tmp_path / "site", fault) as (site, root):
        for seed in range(1, MOST_GAMES):
            if await played(site, root, seed):
                return
    pytest.fail(f"{MOST_GAMES} games went well with a server that is broken")


class Told:
    """A game of one room that ada manages, an admin; each event is that of the request before it."""

    def __init__(self, *members: str, is_private: bool = False) -> None:
        room = Room(is_private=is_private, everyone={"ada", "bob", "eve", "max"})
        room.members, room.managers, room.since = (
            {"ada", *members},
            {"ada"},
            dict.fromkeys(["ada", *members], 0),
        )
        self.game: Any = SimpleNamespace(rooms={"room": room}, start=0, done=[], admins={"ada"}, readers=[])
        self.log: list[Happened] = []

    def asked(self, who: str, kind: str, *users: str, value: str = "") -> None:
        seq = len(self.log)
        self.game.done.append(Done(Asked(kind, who, "room", users, value), seq, seq + 1, 200, {}))

    def told(self, kind: str, **payload: Any) -> None:
        self.log.append(Happened(len(self.log) + 1, kind, payload | {"channelId": "room", "id": "room"}, ""))

    def joins(self, user: str) -> None:
        self.asked(user, "join")
        self.told(ADDED, members=[{"userId": user, "joinedAt": len(self.log)}], by=user)

    def leaves(self, user: str) -> None:
        self.asked(user, "leave")
        self.told(REMOVED, userId=user, by=user)

    def ranks(self, who: str, user: str) -> None:
        self.asked(who, "role", user, value=MANAGER)
        self.told(RANKED, userId=user, role=MANAGER)

    def closes(self, who: str, *users: str) -> None:
        self.asked(who, "close", *users)
        self.told(CHANGED, isPrivate=True)

    @property
    def wrong(self) -> list[str]:
        verdict = Verdict(self.game, self.log)
        verdict.play()
        return verdict.wrong


def test_an_admin_may_choose_anybody_to_manage_what_nobody_manages() -> None:
    game = Told()
    game.leaves("ada")
    game.joins("bob")
    game.joins("eve")
    game.ranks("ada", "eve")
    assert not game.wrong


@pytest.mark.parametrize("is_private", [False, True])
@pytest.mark.parametrize(("heir", "is_right"), [("bob", True), ("eve", True), ("max", False)])
def test_who_was_there_first_manages_what_its_manager_has_left(
    heir: str, is_right: bool, is_private: bool
) -> None:
    game = Told("bob", "eve", is_private=is_private)
    game.asked("ada", "add", "max")
    game.told(ADDED, members=[{"userId": "max", "joinedAt": 1}], by="ada")
    game.leaves("ada")
    game.told(RANKED, userId=heir, role=MANAGER)
    assert (not game.wrong) == is_right


@pytest.mark.parametrize(("heir", "is_right"), [("ada", True), ("bob", False)])
def test_who_closes_a_channel_without_a_manager_manages_it(heir: str, is_right: bool) -> None:
    game = Told()
    game.leaves("ada")
    game.joins("bob")
    game.closes("ada", "bob")
    game.told(RANKED, userId=heir, role=MANAGER)
    assert (not game.wrong) == is_right


def test_whoever_leaves_the_rest_have_a_manager_before_anything_else_happens() -> None:
    game = Told("bob")
    game.leaves("ada")
    game.joins("eve")
    assert game.wrong
