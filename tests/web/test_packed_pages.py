"""Pages of messages as gzip, for who takes them so (RFC 9110, sections 8.4 and 12.5.3)."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from teamchat.chat.kept_pages import FAR
from teamchat.web.sections.messages import PACKED_FROM
from tests.web.client import Answer
from tests.web.conftest import World

GZIP = [("Accept-Encoding", "gzip")]


@pytest.fixture
async def path(world: World) -> str:
    """A channel's page, which is long enough."""
    for number in range(10):
        await world.message(world.eve, f"{number} " + "and so on " * 20)
    return f"/channels/{await world.channel()}/messages"


def page_of(answer: Answer) -> Any:
    packed = answer.headers.get("content-encoding") == "gzip"
    return json.loads(gzip.decompress(answer.body) if packed else answer.body)


@pytest.mark.parametrize("accepted", ["gzip", "GZIP", "deflate, gzip;q=0.1, br", "*", "identity;q=0, gzip"])
async def test_who_takes_gzip_is_sent_the_same_page_in_less(world: World, path: str, accepted: str) -> None:
    plain = await world.bob.call("GET", path)
    packed = await world.bob.call("GET", path, headers=[("Accept-Encoding", accepted)])
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.headers["content-length"] == str(len(packed.body))
    assert packed.headers["content-type"] == "application/json"
    assert page_of(packed) == plain.json()
    assert len(packed.body) < len(plain.body) / 3
    assert (await world.bob.call("GET", path, headers=GZIP)).body == packed.body


@pytest.mark.parametrize("accepted", [None, "", "identity", "br, zstd", "gzip;q=0", "*;q=0", "gzip; q=0.000"])
async def test_who_does_not_is_sent_it_as_it_is(world: World, path: str, accepted: str | None) -> None:
    headers = [] if accepted is None else [("Accept-Encoding", accepted)]
    answer = await world.bob.call("GET", path, headers=headers)
    assert "content-encoding" not in answer.headers
    assert len(answer.json()["messages"]) == 10


async def test_caches_on_the_way_are_told_that_the_coding_was_asked_for(world: World, path: str) -> None:
    for headers in ([], GZIP):
        answer = await world.bob.call("GET", path, headers=headers)
        assert answer.all("vary") == ["Accept-Encoding", "Origin"]


async def test_head_tells_the_same_headers(world: World, path: str) -> None:
    whole = await world.bob.call("GET", path, headers=GZIP)
    head = await world.bob.call("HEAD", path, headers=GZIP)
    assert head.body == b""
    for name in ("content-encoding", "content-length", "vary"):
        assert head.all(name) == whole.all(name)


async def test_a_short_page_is_not_worth_it(world: World) -> None:
    answer = await world.bob.call("GET", f"/channels/{await world.channel()}/messages", headers=GZIP)
    assert len(answer.body) < PACKED_FROM
    assert answer.json()["messages"] == []


async def test_what_was_posted_is_on_the_next_page_and_an_older_page_is_packed_too(
    world: World, path: str
) -> None:
    before = page_of(await world.bob.call("GET", path, headers=GZIP))
    last = await world.message(world.eve, "the last")
    answer = await world.bob.call("GET", path, headers=GZIP)
    assert [one["id"] for one in page_of(answer)["messages"]] == [
        *(one["id"] for one in before["messages"]),
        last["id"],
    ]
    older = await world.bob.call("GET", f"{path}?before={last['id']}", headers=GZIP)
    assert older.headers["content-encoding"] == "gzip"
    assert page_of(older)["messages"] == before["messages"]


async def test_a_kept_page_is_told_as_of_later_in_both(world: World, path: str) -> None:
    before = page_of(await world.bob.call("GET", path, headers=GZIP))
    other = (await world.admin.ok("POST", "/channels", {"name": "elsewhere"}))["channel"]["id"]
    for _ in range(FAR):
        await world.eve.ok("POST", f"/channels/{other}/messages", {"content": "elsewhere"})
    after = page_of(await world.bob.call("GET", path, headers=GZIP))
    assert int(after["asOf"]) > int(before["asOf"])
    assert after == (await world.bob.call("GET", path)).json()
