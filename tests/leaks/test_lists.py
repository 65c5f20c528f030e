"""What takes no id tells nothing either: lists are as they were before something hidden was made (X-3)."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from pathlib import Path
from urllib.parse import urlencode

import pytest

from tests.leaks.asking import Told, told
from tests.leaks.by_design import TOLD
from tests.leaks.parameters import name_of, parameters_of
from tests.leaks.questions import Request
from tests.leaks.things import (
    THINGS,
    Asker,
    Make,
    a_channel_beyond_a_token,
    a_conversation_beyond_a_token,
    a_past_that_was_not_shown,
    a_public_channel_beyond_a_token,
    a_thread_that_is_being_removed,
    asker,
    send,
    strangers,
)
from tests.leaks.world import World, open_world
from tests.web.client import Client

_SAID_IN_PUBLIC = re.compile(rb'("kind":"channel",[^{}]*)"unreadCount":[0-9]+,')
_DEVICE = re.compile(rb'"id":"[0-9a-f]{32}",("deviceName":)')
_LAST = re.compile(rb'"lastMessageId":"[0-9a-f]{32}"')


# Who has a token that is limited sees the rest in a session; plugins/teamchat-tokens/tests hold their lists.
# Of a channel that everybody sees only the past is hidden, or what was deleted.
_SEEN = (
    a_channel_beyond_a_token,
    a_public_channel_beyond_a_token,
    a_conversation_beyond_a_token,
    a_past_that_was_not_shown,
    a_thread_that_is_being_removed,
)
LOST = [one for one in THINGS if one not in _SEEN]


@pytest.mark.slow
@pytest.mark.parametrize("make", LOST, ids=lambda make: make.__name__)
async def test_x3_lists_and_counts_are_the_same_with_it_and_without(tmp_path: Path, make: Make) -> None:
    async with open_world(tmp_path) as world:
        removed = (await world.person("removed")).id
        without = {one.name: await lists(world, one, removed) for one in await askers(world)}
        await make(world)
        for one in await askers(world):
            read = await lists(world, one, removed)
            assert len(read) >= 20
            for endpoint, said in without[one.name].items():
                if (one.name, endpoint) not in TOLD:
                    assert read[endpoint] == said, f"{one.name} asks {endpoint}"


async def test_who_was_removed_is_answered_as_who_has_a_token_that_nobody_ever_had(tmp_path: Path) -> None:
    async with open_world(tmp_path) as world:
        removed = await asker(world, "a removed user", await world.person("removed"))
        nobody = removed._replace(client=Client(world.site, "x" * len(removed.client.token or "")))
        admin = await world.person("admin")
        await admin.client.ok("DELETE", f"/users/{(await world.person('removed')).id}")
        for endpoint in world.site.endpoints:
            # Of the endpoints with ids `test_leaks` asks this, and more.
            path = re.sub(r"<(\w+:)?\w+>", "1", endpoint.rule)
            request = Request(endpoint.method, path, b"{}", (("content-type", "application/json"),))
            if not endpoint.open:
                answer = told(await send(removed.client, request), {}, set())
                assert answer == told(await send(nobody.client, request), {}, set()), name_of(endpoint)
                assert answer.status == 401, name_of(endpoint)


async def test_a_refresh_token_of_who_was_removed_is_refused_as_one_that_nobody_ever_had(
    tmp_path: Path,
) -> None:
    async with open_world(tmp_path) as world:
        user, signed_in = await world.app.accounts.sign_in("gone@example.org", "192.0.2.1", "tests")
        await (await world.person("admin")).client.ok("DELETE", f"/users/{user.id}")
        nobody = Client(world.site)
        given = signed_in.refresh_token
        refusals = [
            told(await nobody.call("POST", "/auth/refresh", {"refreshToken": token}), {}, set())
            for token in (given, "x" * len(given))
        ]
        assert refusals[0] == refusals[1]
        assert refusals[0].status == 401


async def test_a_limit_of_requests_counts_what_is_hidden_as_it_counts_nothing(tmp_path: Path) -> None:
    limit = {"attempts": 10, "windowSeconds": 3600}
    async with open_world(tmp_path, server={"rateLimit": limit}) as world:
        author, stranger = await world.person("author"), await world.person("stranger")
        author.client.peer = "192.0.2.20"
        made = await author.client.ok("POST", "/channels", {"name": "Hidden"})
        hidden = made["channel"]["id"]
        await world.change_members(hidden, is_private=True)
        answers = {}
        for peer, id_ in (("192.0.2.30", hidden), ("192.0.2.31", hidden[:-4] + "0000")):
            client = Client(world.site, stranger.token, peer)
            read = [await client.call("GET", f"/channels/{id_}/messages") for _ in range(15)]
            answers[id_] = [
                (one.status, one.body, abs(int(one.headers.get("retry-after", 3600)) - 3600) < 60)
                for one in read
            ]
        assert answers[hidden] == answers[hidden[:-4] + "0000"]
        assert [status for status, *_ in answers[hidden]] == [404] * 10 + [429] * 5


async def askers(world: World) -> list[Asker]:
    """Return who asks before something hidden is made and after it."""
    for name in ("author", "colleague", "correspondent", "removed"):
        await world.person(name)
    return [*await strangers(world), await asker(world, "a former member", await world.person("former"))]


async def lists(world: World, one: Asker, removed: str) -> dict[str, Told]:
    """Return what somebody is told wherever no id is asked for, but for the user who was removed."""
    read = {}
    for endpoint in world.site.endpoints:
        parameters = parameters_of(endpoint)
        given = {one.name: one.given for one in parameters if one.given is not None and one.place == "query"}
        if endpoint.method != "GET" or (not given and any(parameter.kind for parameter in parameters)):
            continue
        path = re.sub(r"<(\w+:)?\w+>", "1", endpoint.rule)
        answer = await send(one.client, Request("GET", f"{path}?{urlencode(given)}" if given else path))
        answer.body = re.sub(rb',?\{"id":"%b"[^{}]*\}' % removed.encode(), b"", answer.body)
        # Of a default channel everybody is a member, and so the one who was removed was counted.
        answer.body = re.sub(rb'"memberCount":[0-9]+', b'"memberCount":0', answer.body)
        # Whoever asks has said something in places of their own, before and after.
        answer.body = _LAST.sub(b"", _SAID_IN_PUBLIC.sub(rb"\1", answer.body))
        # All who ask subscribe one address, each taking it from the one before, under a new id.
        if endpoint.rule == "/push/subscriptions":
            answer.body = _DEVICE.sub(rb"\1", answer.body)
        if endpoint.rule == "/me/threads" and answer.status == 200:
            answer.body = _elsewhere(answer.body, one.channel["path channelId"])
        if endpoint.rule == "/search/files" and answer.status == 200:
            own = one.channel["path channelId"], one.conversation["path conversationId"]
            answer.body = _found_elsewhere(answer.body, own)
        answer.raw_headers = [pair for pair in answer.raw_headers if pair[0] != "content-length"]
        known = set(re.findall("[0-9a-f]{32}", answer.body.decode(errors="replace")))
        read[name_of(endpoint)] = told(answer, {}, known)
    return read


def _elsewhere(body: bytes, own: str) -> bytes:
    """Leave out the threads in the channel that who asks has said something in, before and after."""
    answer = json.loads(body)
    threads = [one for one in answer["threads"] if one["state"]["placeId"] != own]
    return json.dumps(answer | {"threads": threads}, separators=(",", ":")).encode()


def _found_elsewhere(body: bytes, own: Collection[str]) -> bytes:
    """Leave out what was found in places where who asks has sent files, before and after."""
    answer = json.loads(body)
    results = [one for one in answer["results"] if one["place"]["id"] not in own]
    return json.dumps(answer | {"results": results}, separators=(",", ":")).encode()
