"""The leak suite misses no endpoint, and finds what leaks: each endpoint of `LEAKS` does, in its own way."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from teamchat.chat import images_table, sight
from teamchat.chat.kept_pages import KeptPage
from teamchat.errors import BadRequest, Forbidden, NotFound
from teamchat.web import Section
from teamchat.web.endpoints import Endpoint
from teamchat.web.responses import Response
from tests.leaks.asking import ask_everything
from tests.leaks.parameters import HARMLESS, PARAMETERS, WHOLE_REQUESTS, name_of, parameters_of, unknown
from tests.leaks.things import Hidden, a_private_channel
from tests.leaks.world import World, open_world
from tests.storages import sqlite_only

pytestmark = sqlite_only("the suite is the same on every storage")
NO_ENDPOINTS = {"/events"}
"""What is served, but is no declared endpoint: the stream, which `test_streams` asks."""
MAILS = {"backend": "files", "sender": "chat@example.org"}


class Ballot(msgspec.Struct):
    """A body with ids in it that no table knows."""

    room_id: str
    choices: list[str]
    is_secret: bool = False


async def asked_by_two(world: World) -> Hidden:
    """Return a private channel that a stranger and an admin ask about: enough to find a leak."""
    thing = await a_private_channel(world)
    thing.askers = thing.askers[:2]
    return thing


@asynccontextmanager
async def opened(directory: Path, section: Section) -> AsyncIterator[tuple[Hidden, list[Endpoint]]]:
    """Yield a private channel, and the endpoints of a section that is served beside all others."""
    async with open_world(directory, section) as world:
        yield await asked_by_two(world), section.endpoints


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["dev", "magic-link", "password"])
async def test_every_parameter_of_every_endpoint_is_known_to_name_something_or_nothing(
    tmp_path: Path, mode: str
) -> None:
    auth = {"authMode": mode, "isInviteRequired": False}
    async with open_world(tmp_path, auth=auth, email=MAILS) as world:
        assert not unknown(world.site.endpoints), "say in tests/leaks/parameters.py what these name"
        rules = {rule.rule for rule in world.site.quart.url_map.iter_rules()}
        assert rules - {endpoint.rule for endpoint in world.site.endpoints} == NO_ENDPOINTS


@pytest.mark.slow
async def test_the_tables_name_no_parameter_that_is_gone(tmp_path: Path) -> None:
    taken = set()
    for mode in ("dev", "magic-link", "password"):
        auth = {"authMode": mode, "isInviteRequired": False}
        async with open_world(tmp_path / mode, auth=auth, email=MAILS) as world:
            for endpoint in world.site.endpoints:
                keys = {parameter.key for parameter in parameters_of(endpoint)}
                taken |= keys | {f"{name_of(endpoint)} {key}" for key in keys} | {name_of(endpoint)}
    gone = {*PARAMETERS, *HARMLESS, *WHOLE_REQUESTS} - taken
    assert not gone, sorted(gone)


async def test_a_new_endpoint_that_takes_an_id_is_asked_about_or_fails() -> None:
    section = Section("polls")

    @section.endpoint("POST", "/polls/:pollId/rounds/<int:round>", body=Ballot, query=("voter",))
    async def vote(poll_id: str, round: int, body: Ballot, voter: str | None) -> None:
        """Vote."""

    @section.endpoint("GET", "/channels/:channelId/polls")
    async def polls(channel_id: str, request: Any) -> None:
        """Read whatever the request says."""

    assert unknown(section.endpoints) == [
        "POST /polls/<pollId>/rounds/<int:round> path pollId",
        "POST /polls/<pollId>/rounds/<int:round> path round",
        "POST /polls/<pollId>/rounds/<int:round> query voter",
        "POST /polls/<pollId>/rounds/<int:round> body room_id",
        "POST /polls/<pollId>/rounds/<int:round> body choices",
        "GET /channels/<channelId>/polls takes the whole request",
    ]


@pytest.mark.slow
async def test_an_endpoint_that_gives_nobody_anything_is_not_taken_for_asked(tmp_path: Path) -> None:
    section = Section("empty")

    @section.endpoint("GET", "/channels/:channelId/nothing")
    async def nothing(channel_id: str) -> None:
        """Answer nobody."""
        raise NotFound

    async with opened(tmp_path, section) as (thing, endpoints):
        report = await ask_everything(thing, endpoints)
    assert report.asked
    assert not report.differences
    assert not report.answered


async def forbidden(app: Any, room: bool, **_: Any) -> Any:
    """403 for what is there."""
    raise Forbidden if room else NotFound


async def another_sentence(app: Any, room: bool, **_: Any) -> Any:
    raise NotFound("This channel is private.") if room else NotFound


async def a_header(app: Any, room: bool, **_: Any) -> Any:
    return Response(b"{}", "application/json", status=404, headers={"X-Cache": "hit"} if room else {})


async def an_entity_tag(app: Any, room: bool, **_: Any) -> Any:
    """The same answer, but 304 to who has guessed the tag."""
    return Response(b"{}", "application/json", etag="v1" if room else None)


async def the_body_first(app: Any, room: bool, content: str, **_: Any) -> Any:
    """The body is looked at where there is a channel."""
    if room and not content.strip():
        raise BadRequest("content is blank.")
    raise NotFound


async def a_stored_answer(app: Any, room: bool, key: str | None, **_: Any) -> Any:
    """What was answered under a key is repeated."""
    if room and key is not None and key.startswith("the key for"):
        return {"id": "what was made then"}
    raise NotFound


LEAKS: list[Callable[..., Awaitable[Any]]] = [
    forbidden,
    another_sentence,
    a_header,
    an_entity_tag,
    the_body_first,
    a_stored_answer,
]


@pytest.mark.slow
@pytest.mark.parametrize("leak", LEAKS, ids=lambda leak: leak.__name__)
async def test_what_leaks_is_found(tmp_path: Path, leak: Callable[..., Awaitable[Any]]) -> None:
    section = Section("leaky")

    class Said(msgspec.Struct):
        content: str

    async def there(app: Any, channel_id: str) -> bool:
        async with app.storage.read() as tx:
            return bool(await tx.fetch("select 1 from rooms where id = $1", channel_id))

    async def ask(app: Any, caller: Any, channel_id: str, key: str | None = None, content: str = "") -> Any:
        async with app.storage.read() as tx:
            sees = await tx.fetch("select 1 from memberships where user_id = $1", caller.user.id)
        if sees and await there(app, channel_id):
            return {"id": "everything"}
        return await leak(app, await there(app, channel_id), key=key, content=content)

    @section.endpoint("GET", "/leaky/:channelId")
    async def read(app: Any, caller: Any, channel_id: str) -> Any:
        """Read."""
        return await ask(app, caller, channel_id, content="x")

    @section.endpoint("POST", "/leaky/:channelId", body=Said)
    async def write(app: Any, caller: Any, channel_id: str, key: str | None, body: Said) -> Any:
        """Write."""
        return await ask(app, caller, channel_id, key, body.content)

    async with opened(tmp_path, section) as (thing, endpoints):
        report = await ask_everything(thing, endpoints)
    assert [one for one in report.differences if "/leaky/" in one]


async def test_a_question_that_leaves_a_trace_is_found(tmp_path: Path) -> None:
    section, visits = Section("visits"), []

    @section.endpoint("GET", "/visits/:channelId")
    async def visit(app: Any, caller: Any, channel_id: str) -> Any:
        """Count who asks."""
        visits.append(caller.user.id)
        if not caller.user.user_name.startswith("author"):
            raise NotFound
        return {"visitors": len(set(visits))}

    async with opened(tmp_path, section) as (thing, endpoints):
        report = await ask_everything(thing, endpoints)
    assert [one for one in report.differences if "left a trace" in one]


def everybody_sees_every_channel(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(sight, "_CHANNEL", sight._CHANNEL.replace(sight.SEEN, "r.kind <> 'gone' and $2 = $2"))


def everybody_sees_every_message(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(sight, "_MESSAGE", sight._MESSAGE.replace(sight._SEEN_MESSAGE, "$2 = $2"))


def pages_in_memory_are_for_everybody(patch: pytest.MonkeyPatch) -> None:
    of = KeptPage.of

    def for_all(messages: Any, encode: Any, *, is_for_all: bool, has_places: bool) -> Any:
        return of(messages, encode, is_for_all=True, has_places=has_places)

    patch.setattr(KeptPage, "of", for_all)


def an_admin_sees_everything(patch: pytest.MonkeyPatch) -> None:
    find = sight.message

    async def message(tx: Any, caller: Any, message_id: str) -> Any:
        if caller.user.is_admin:
            rows = await tx.fetch(
                f"select m.id, m.parent_id, m.author_id, {sight.ROOM} from messages m"
                " join rooms r on r.id = m.room_id where m.id = $1",
                message_id,
            )
            for id_, parent_id, author_id, *found in rows:
                return sight.SeenMessage(id_, sight.Room.of(found), parent_id, author_id)
        return await find(tx, caller, message_id)

    patch.setattr(sight, "message", message)


def images_are_for_everybody(patch: pytest.MonkeyPatch) -> None:
    sql = images_table._FIND.replace("i.room_id = $2", "$2 = $2")
    patch.setattr(images_table, "_FIND", sql)


BROKEN = [
    everybody_sees_every_channel,
    *(
        pytest.param(broken, marks=pytest.mark.slow)
        for broken in (
            an_admin_sees_everything,
            everybody_sees_every_message,
            pages_in_memory_are_for_everybody,
            images_are_for_everybody,
        )
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
async def test_a_server_that_leaks_in_one_place_is_found(
    tmp_path: Path, broken: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(monkeypatch)
    async with open_world(tmp_path) as world:
        report = await ask_everything(await asked_by_two(world), world.site.endpoints)
    assert report.differences
