"""What a push shows of a message, and how long it takes to find out."""

from __future__ import annotations

import time

import pytest
from teamchat_web_push.payload import MOST_BODY, Writer, plain

from teamchat import Noticed


def shown(content: str) -> str:
    message = Noticed("m", "r", "channel", "design", None, "a", "Anna", content, 0, 0)
    writer = Writer("https://chat.example.org")
    made = writer.of_message(message, "message", preview="full", language="en", badge=1, server="Team")
    return made.body


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("**bold *it* more**, `code` and ~~no~~ __yes__", "bold it more, code and no yes"),
        ("[the plan](https://example.org/plan) and ![a cat](cat.png)", "the plan and a cat"),
        ("> quoted\n\n# Title\n```py\nx = 1\n```", "quoted\nTitle\nx = 1"),
        ("2 * 3 * 4, snake_case and * this", "2 * 3 * 4, snake_case and * this"),
    ],
)
def test_marks_are_not_shown(content: str, words: str) -> None:
    assert plain(content) == words
    assert shown(content) == words


@pytest.mark.parametrize("mark", ["*a ", "**a ", "__a ", "~~a ", "`a ", "[", "![", "[](", "*a __b ~~c `d "])
def test_marks_that_nothing_ends_hold_up_nobody(mark: str) -> None:
    content = (mark * 16_000)[:16_000]
    begun = time.process_time()
    assert len(shown(content)) <= MOST_BODY
    assert time.process_time() - begun < 0.1
