"""What endpoints answer beside JSON, and what they can ask of a request; nothing of it is a framework's."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from teamchat.web import Redirect, Request, Response, Section, Stream
from tests.web.client import Client
from tests.web.conftest import World

TEXT = b"soup of the day"


class Pieces:
    """A body in pieces that knows whether it was closed."""

    def __init__(self) -> None:
        self.is_closed = False
        self.taken = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for letter in TEXT:
            self.taken += 1
            yield bytes([letter])

    async def aclose(self) -> None:
        self.is_closed = True


def menu(pieces: Pieces) -> Section:
    section = Section("menu")

    @section.endpoint("GET", "/page", answer="text/html", open=True)
    async def page() -> Response:
        return Response("<h1>Soup</h1>", "text/html; charset=utf-8", etag="soup")

    @section.endpoint("GET", "/file", answer=bytes, open=True)
    async def file() -> Stream:
        return Stream(pieces, "text/x-menu", size=len(TEXT), etag="menu", headers={"X-Day": "Monday"})

    @section.endpoint("GET", "/endless", answer=bytes, open=True)
    async def endless() -> Stream:
        return Stream(pieces, "text/x-menu")

    @section.endpoint("GET", "/away", open=True)
    async def away() -> Redirect:
        return Redirect("https://example.org/ä menu\r\nX-Evil: 1?day=%20&a=b#top")

    @section.endpoint("POST", "/empty", open=True)
    async def empty() -> Response:
        return Response(status=204)

    @section.endpoint("GET", "/asked", answer=dict, open=True)
    async def asked(request: Request) -> dict[str, Any]:
        return {
            "asked": f"{request.method} {request.path}",
            "gzip": request.accepts_coding("gzip"),
            "all": request.headers.getlist("X-Many"),
            "one": request.headers.get("x-MANY"),
            "none": request.headers.get("x-few", "few"),
        }

    return section


@pytest.fixture
def pieces() -> Pieces:
    return Pieces()


@pytest.fixture
def client(world: World, pieces: Pieces) -> Client:
    return Client(world.rebuilt(menu(pieces)))


async def test_a_text_of_any_media_type(client: Client) -> None:
    answer = await client.call("GET", "/page")
    assert (answer.status, answer.body) == (200, b"<h1>Soup</h1>")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert (answer.headers["content-length"], answer.headers["etag"]) == ("13", '"soup"')


@pytest.mark.parametrize("path", ["/file", "/endless"])
async def test_a_stream_is_sent_as_it_is_made_and_closed(client: Client, pieces: Pieces, path: str) -> None:
    answer = await client.call("GET", path)
    assert (answer.status, answer.body, pieces.is_closed) == (200, TEXT, True)
    assert answer.headers.get("content-length") == (str(len(TEXT)) if path == "/file" else None)


@pytest.mark.parametrize("path", ["/file", "/endless"])
async def test_of_a_stream_nothing_is_made_for_head(client: Client, pieces: Pieces, path: str) -> None:
    answer = await client.call("HEAD", path)
    assert (answer.status, answer.body, pieces.taken, pieces.is_closed) == (200, b"", 0, True)


@pytest.mark.parametrize("given", ['"menu"', 'W/"menu"', '"other", "menu"', "*"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_who_has_it_already_is_told_so(client: Client, pieces: Pieces, given: str, method: str) -> None:
    answer = await client.call(method, "/file", headers=[("if-none-match", given)])
    assert (answer.status, answer.body, pieces.taken, pieces.is_closed) == (304, b"", 0, True)
    assert (answer.headers["etag"], answer.headers["x-day"]) == ('"menu"', "Monday")
    assert not {"content-type", "content-length"} & set(answer.headers)


@pytest.mark.parametrize("given", ['"other"', "menu", "", '"menu', "soup"])
async def test_who_has_another_is_sent_it(client: Client, given: str) -> None:
    assert (await client.call("GET", "/file", headers=[("if-none-match", given)])).body == TEXT


async def test_a_redirect_holds_nothing_that_a_url_can_not(client: Client) -> None:
    answer = await client.call("GET", "/away")
    assert (answer.status, answer.body) == (302, b"")
    location = "https://example.org/%C3%A4%20menu%0D%0AX-Evil:%201?day=%20&a=b#top"
    assert answer.headers["location"] == location


async def test_an_empty_answer_has_no_length(client: Client) -> None:
    answer = await client.call("POST", "/empty")
    assert (answer.status, answer.body) == (204, b"")
    assert not {"content-type", "content-length"} & set(answer.headers)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "is_taken"),
    [
        (None, False),
        ("", False),
        ("gzip", True),
        ("br, GZIP ;q=0.5", True),
        ("br", False),
        ("gzip;q=0", False),
        ("gzip; q = 0.000, br", False),
        ("gzip;q=0.001", True),
        ("*", True),
        ("*;q=0", False),
        ("*, gzip;q=0", False),
        ("x-gzip", True),
    ],
)
async def test_a_request_tells_which_coding_it_takes(
    client: Client, given: str | None, is_taken: bool
) -> None:
    headers = [] if given is None else [("accept-encoding", given)]
    assert (await client.ok("GET", "/asked", headers=headers))["gzip"] is is_taken


async def test_headers_are_found_whatever_their_case(client: Client) -> None:
    told = await client.ok("GET", "/asked?x=1", headers=[("X-Many", "a"), ("x-many", "b")])
    assert told == {"asked": "GET /asked", "gzip": False, "all": ["a", "b"], "one": "a", "none": "few"}
