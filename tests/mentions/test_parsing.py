"""Where somebody may be mentioned in a text, as the web client reads it (E-3)."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teamchat.mentions.parsing import places

FENCE = "```"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("@ada", [0]),
        ("hello @ada, and @bob", [6, 16]),
        ("mail@ada", []),
        ("_@ada", []),
        ("1@ada ü@ada", []),
        ("(@ada) **@ada**", [1, 9]),
        ("😀 @ada", [2]),
        ("👩‍👩‍👧‍👦 @ada", [8]),
        ("🇩🇪 @ada", [3]),
        ("`@ada` @bob", [7]),
        ("``a ` @ada`` @bob", [13]),
        ("`@ada", [1]),
        ("`a\n\n@ada`", [4]),
        (f"{FENCE}\n@ada\n{FENCE}\n@bob", [13]),
        (f"{FENCE}\n@ada", []),
        ("> @ada\n> `@bob`", [2]),
        (f"> {FENCE}\n> @ada\n> {FENCE}\n@bob", [19]),
        ("- `@ada\n- @bob`", [3, 10]),
        ("1. a\n   @ada", [8]),
        ("a\r\n@ada", [3]),
        ("https://example.org/@ada", []),
        ("(https://example.org/@ada) @bob", [27]),
        ("[@ada](https://example.org)", []),
        ("[@ada] (@bob)", [1, 8]),
        ("ada@example.org", []),
        ("www.example.org/@ada", []),
        ("mailto: @ada", [8]),
        ("-@ada", [1]),
        ("@@ada", [0, 1]),
    ],
)
def test_mentions_stand_where_the_client_shows_them(text: str, found: list[int]) -> None:
    assert places(text) == found


@given(st.text(alphabet="@a `>\n-[](1.)w:/htps*_~\r😀é", max_size=200))
def test_each_place_is_an_at_that_follows_no_letter(text: str) -> None:
    for at in places(text):
        assert text[at] == "@"
        assert at == 0 or not (text[at - 1].isalnum() or text[at - 1] == "_")


@pytest.mark.parametrize("piece", ["@a ", "[a", "`", "> ", "a@", "[[[]", "www.a", "1. ", "@", "http://(("])
def test_no_text_takes_long(piece: str) -> None:
    text = (piece * 16_000)[:16_000] + "@"
    started = time.perf_counter()
    places(text)
    assert time.perf_counter() - started < 2
