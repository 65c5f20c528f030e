"""Keywords are found where a word begins and ends, and in writings without boundaries anywhere (E-7)."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teamchat.mentions.phrases import Phrases


@pytest.mark.parametrize(
    ("word", "text", "is_found"),
    [
        ("deploy", "we Deploy today", True),
        ("deploy", "redeploy", False),
        ("deploy", "deployed", False),
        ("deploy", "deploy.", True),
        ("on call", "who is on call?", True),
        ("on call", "on  call", False),
        ("c++", "is it C++?", True),
        ("c++", "abc++", False),
        (".net", "some .NET", True),
        ("straße", "STRASSE", True),
        ("café", "cafe\u0301", True),
        ("発表", "明日の発表です", True),
        ("배포", "오늘 배포합니다", True),
        ("deploy", "今日deployする", True),
        ("go", "go", True),
        ("no", "know", False),
        ("हिन्द", "हिन्दी में", False),
        ("हिन्दी", "हिन्दी में", True),
        ("go", "❤️go", True),
        ("go", "go❤️", True),
    ],
)
def test_a_word_is_found_as_people_expect(word: str, text: str, is_found: bool) -> None:
    assert Phrases([(word, 1)]).found_in(text) == ({1} if is_found else set())


@given(
    st.lists(st.text(alphabet="ab c", min_size=2, max_size=5), max_size=8),
    st.text(alphabet="abc .", max_size=60),
)
def test_it_finds_what_a_search_for_each_word_finds(words: list[str], text: str) -> None:
    expected = {
        word
        for word in words
        for at in re.finditer(f"(?={re.escape(word)})", text)
        if not _is_inner(text, at.start()) and not _is_inner(text, at.start() + len(word))
    }
    assert Phrases((word, word) for word in words).found_in(text) == expected


def test_a_text_of_marks_alone_costs_little() -> None:
    phrases = Phrases([("\u0301" * 2, 1), ("a\u0301\u0301", 1)])
    started = time.perf_counter()
    phrases.found_in("a" + "\u0301" * 16_000)
    assert time.perf_counter() - started < 5


def test_a_hundred_thousand_words_cost_little() -> None:
    phrases = Phrases((f"keyword {number}", number) for number in range(100_000))
    started = time.perf_counter()
    for _ in range(100):
        assert phrases.found_in("a message as people write them, about keyword 77") == {77}
    assert time.perf_counter() - started < 1


def _is_inner(text: str, at: int) -> bool:
    return 0 < at < len(text) and text[at - 1].isalpha() and text[at].isalpha()
