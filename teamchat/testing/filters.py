"""What every message filter must do, whatever it looks for."""

# Tests assert; that is what they are.
# ruff: noqa: S101

from __future__ import annotations

from abc import ABC, abstractmethod

import pytest
import trio

from teamchat.chat.filters import FILTER_SECONDS
from teamchat.errors import Problem
from teamchat.interfaces import MessageFilter, Posting
from teamchat.model import text

_LONGEST = 16_000
TEXTS = (
    "hello",
    " leading and trailing ",
    "Grüße ✉ 你好 🏳️‍🌈",
    "line\nbreaks\r\nand\ttabs",
    "`code` <b>markup</b> & [links](https://example.org)",
    "a" * _LONGEST,
    "\u202eright to left",
    "-" * _LONGEST,
    "((((" * (_LONGEST // 4),
    "ab " * (_LONGEST // 3),
)
"""Messages that the chat accepts."""


def a_posting(content: str, *, images: tuple[str, ...] = ()) -> Posting:
    """Return a message to a channel."""
    return Posting(content, images, "0190-author", "0190-channel", None)


class MessageFilterContract(ABC):
    """Tests of a filter. Subclass it with a name that begins with ``Test`` and give one method::

    class TestPoliteness(MessageFilterContract):
        def make_filter(self):
            return Politeness(words=["please"])
    """

    @abstractmethod
    def make_filter(self) -> MessageFilter:
        """Return the filter, as the hook ``message_filters`` does."""

    def test_it_has_a_name(self) -> None:
        assert self.make_filter().name, "a filter needs a name: the log names the one that fails"

    @pytest.mark.parametrize("content", TEXTS, ids=lambda content: repr(content[:20]))
    async def test_a_message_is_let_pass_changed_or_refused_with_a_sentence(self, content: str) -> None:
        await self._judged(self.make_filter(), a_posting(content))

    async def test_a_message_of_images_alone_is_no_trouble(self) -> None:
        await self._judged(self.make_filter(), a_posting("", images=("1-a.png",)), may_be_blank=True)

    async def test_replies_revisions_and_posts_of_webhooks_are_no_trouble(self) -> None:
        asked = self.make_filter()
        for posting in (
            Posting("hello", (), "0190-author", None, "0190-parent"),
            Posting("hello", (), "0190-author", None, None, "0190-message"),
            Posting("hello", (), "webhook:0190-hook", None, None),
        ):
            await self._judged(asked, posting)

    async def test_many_messages_may_be_asked_about_at_once(self) -> None:
        asked, contents = self.make_filter(), [f"number {number}" for number in range(20)]
        alone = [await self._judged(asked, a_posting(content)) for content in contents]
        together: dict[int, str | None] = {}

        async def ask(number: int) -> None:
            together[number] = await self._judged(asked, a_posting(contents[number]))

        async with trio.open_nursery() as nursery:
            for number in range(len(contents)):
                nursery.start_soon(ask, number)
        assert [together[number] for number in range(len(contents))] == alone, (
            "asked about many messages at once, the filter says other things than of each alone"
        )

    async def _judged(
        self, asked: MessageFilter, posting: Posting, *, may_be_blank: bool = False
    ) -> str | None:
        """Return what the filter makes of a message, or None if it refuses it."""
        refusal: Problem | None = None
        made = ""
        try:
            with trio.fail_after(FILTER_SECONDS):
                made = await asked.filter(posting)
        except Problem as raised:
            refusal = raised
        except trio.TooSlowError:
            pytest.fail(f"the filter takes more than {FILTER_SECONDS} seconds for {_shown(posting)}")
        except Exception as raised:
            raise AssertionError(
                f"the filter fails at {_shown(posting)}: a refusal is a Problem such as BadRequest"
            ) from raised
        if refusal is not None:
            assert 400 <= refusal.status < 500, "a message is refused with a status of 4xx"
            assert len(posting.content) < 100 or posting.content not in refusal.sentence, (
                "the refusal repeats the whole message"
            )
            return None
        assert isinstance(made, str), f"filter() must return the content to store, and returned {made!r}"
        try:
            return text.content(made, most=_LONGEST, may_be_blank=may_be_blank)
        except Problem as unfit:
            pytest.fail(f"what the filter makes of {_shown(posting)} can't be stored: {unfit.sentence}")


def _shown(posting: Posting) -> str:
    """Say which message it is, in words that fit into a line."""
    kind = "a revision" if posting.message_id else "a reply" if posting.parent_id else "a message"
    return f"{kind} of {posting.author_id} with the content {posting.content[:40]!r}"
