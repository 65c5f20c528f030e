"""Pages of messages as zstd and gzip, for who takes them so (RFC 9110, sections 8.4 and 12.5.3)."""

from __future__ import annotations

import gzip
import json
import sys
from typing import Any

import pytest

from teamchat.chat.kept_pages import CODINGS, FAR
from teamchat.web.sections.messages import COMPRESSED_FROM
from tests.web.client import Answer
from tests.web.conftest import World

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

GZIP = [("Accept-Encoding", "gzip")]
READ = {"gzip": gzip.decompress, "zstd": zstd.decompress, None: bytes}


@pytest.fixture
async def path(world: World) -> str:
    """A channel's page, which is long enough."""
    for number in range(10):
        await world.message(world.eve, f"{number} " + "and so on " * 20)
    return f"/channels/{await world.channel()}/messages"


def page_of(answer: Answer) -> Any:
    return json.loads(READ[answer.headers.get("content-encoding")](answer.body))


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        ("gzip", "gzip"),
        ("GZIP", "gzip"),
        ("x-gzip", "gzip"),
        ("zstd", "zstd"),
        ("gzip, deflate, br, zstd", "zstd"),
        ("deflate, gzip;q=0.1, br", "gzip"),
        ("gzip;q=1.0, zstd;q=0.9", "gzip"),
        ("gzip ; q = 0.5,zstd;q=0.9", "zstd"),
        ("gzip, zstd;q=0", "gzip"),
        ("zstd;q=odd", "zstd"),
        ("*", "zstd"),
        ("*;q=0.1", "zstd"),
        ("*, zstd;q=0", "gzip"),
        ("*;q=0, gzip", "gzip"),
        ("identity, gzip", "gzip"),
        ("identity;q=0, gzip", "gzip"),
        ("identity;q=0.5, zstd;q=0.5", "zstd"),
    ],
)
async def test_who_takes_a_coding_is_sent_the_same_page_in_less(
    world: World, path: str, accepted: str, coding: str
) -> None:
    plain = await world.bob.call("GET", path)
    packed = await world.bob.call("GET", path, headers=[("Accept-Encoding", accepted)])
    assert packed.headers["content-encoding"] == coding
    assert packed.headers["content-length"] == str(len(packed.body))
    assert packed.headers["content-type"] == "application/json"
    assert page_of(packed) == plain.json()
    assert len(packed.body) < len(plain.body) / 3
    assert (await world.bob.call("GET", path, headers=[("Accept-Encoding", coding)])).body == packed.body


@pytest.mark.parametrize(
    "accepted",
    [
        None,
        "",
        "identity",
        "br, deflate",
        "gzip;q=0",
        "*;q=0",
        "gzip; q=0.000",
        "zstd;q=0.2, identity;q=0.3",
        "zstd;q=0.2, identity",
        # Who takes nothing that there is is sent it as it is: the header is no reason to answer nothing.
        "identity;q=0",
        "br, *;q=0",
    ],
)
async def test_who_does_not_is_sent_it_as_it_is(world: World, path: str, accepted: str | None) -> None:
    headers = [] if accepted is None else [("Accept-Encoding", accepted)]
    answer = await world.bob.call("GET", path, headers=headers)
    assert "content-encoding" not in answer.headers
    assert len(answer.json()["messages"]) == 10


async def test_a_coding_in_a_header_of_its_own_counts_too(world: World, path: str) -> None:
    headers = [("Accept-Encoding", "gzip"), ("Accept-Encoding", "zstd;q=0")]
    answer = await world.bob.call("GET", path, headers=headers)
    assert answer.headers["content-encoding"] == "gzip"


async def test_caches_on_the_way_are_told_that_the_coding_was_asked_for(world: World, path: str) -> None:
    for headers in ([], GZIP, [("Accept-Encoding", "zstd")]):
        answer = await world.bob.call("GET", path, headers=headers)
        assert answer.all("vary") == ["Accept-Encoding", "Origin"]


@pytest.mark.parametrize("coding", CODINGS)
async def test_head_tells_the_same_headers(world: World, path: str, coding: str) -> None:
    headers = [("Accept-Encoding", coding)]
    whole = await world.bob.call("GET", path, headers=headers)
    head = await world.bob.call("HEAD", path, headers=headers)
    assert head.body == b""
    for name in ("content-encoding", "content-length", "vary"):
        assert head.all(name) == whole.all(name)


async def test_a_short_page_is_not_worth_it(world: World) -> None:
    path = f"/channels/{await world.channel()}/messages"
    answer = await world.bob.call("GET", path, headers=GZIP)
    assert len(answer.body) < COMPRESSED_FROM
    assert answer.json()["messages"] == []
    alone = await world.bob.call("GET", path, headers=[("Accept-Encoding", "identity;q=0, gzip")])
    assert (alone.headers["content-encoding"], page_of(alone)) == ("gzip", answer.json())


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
