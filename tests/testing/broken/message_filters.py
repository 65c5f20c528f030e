"""Filters of messages with one thing wrong."""

from __future__ import annotations

from typing import Any

import trio

from teamchat import BadRequest, MessageFilter, Posting, Unavailable
from teamchat.testing import MessageFilterContract
from tests.testing.faults import found_by

EACH = "test_a_message_is_let_pass_changed_or_refused_with_a_sentence"
OTHERS = "test_replies_revisions_and_posts_of_webhooks_are_no_trouble"


class Right:
    """`teamchat.MessageFilter`. What is wrong is in the subclasses."""

    name = "right"

    async def filter(self, posting: Posting) -> Any:
        return posting.content


class Contract(MessageFilterContract):
    asked: type[Any]

    def make_filter(self) -> MessageFilter:
        made: MessageFilter = self.asked()
        return made


@found_by(test_it_has_a_name="a filter needs a name")
class TestHasNoName(Contract):
    class asked(Right):  # noqa: N801
        name = ""


@found_by(**{EACH: "can't be stored: "})
class TestLengthens(Contract):
    class asked(Right):  # noqa: N801
        async def filter(self, posting: Posting) -> Any:
            return (
                f"{posting.content}{posting.content[:1]}" if len(posting.content) > 1000 else posting.content
            )


@found_by(**{EACH: "filter() must return the content to store, and returned None"})
class TestReturnsNothing(Contract):
    class asked(Right):  # noqa: N801
        async def filter(self, posting: Posting) -> Any:
            return None if "markup" in posting.content else posting.content


@found_by(**{EACH: "a refusal is a Problem such as BadRequest"})
class TestRefusesInItsOwnWay(Contract):
    class asked(Right):  # noqa: N801
        async def filter(self, posting: Posting) -> Any:
            if "markup" in posting.content:
                raise ValueError("no markup here")
            return posting.content


@found_by(**{EACH: "a message is refused with a status of 4xx"})
class TestRefusesAsTheServersFault(Contract):
    class asked(Right):  # noqa: N801
        async def filter(self, posting: Posting) -> Any:
            if "markup" in posting.content:
                raise Unavailable("No markup here.")
            return posting.content


@found_by(**{EACH: "the refusal repeats the whole message"})
class TestRepeatsWhatItRefuses(Contract):
    class asked(Right):  # noqa: N801
        async def filter(self, posting: Posting) -> Any:
            if len(posting.content) > 100:
                raise BadRequest(f"{posting.content} is too long.")
            return posting.content


@found_by(**{EACH: "the filter takes more than 1.5 seconds for a message of 0190-author"})
class TestTakesItsTime(Contract):
    class asked(Right):  # noqa: N801
        async def filter(self, posting: Posting) -> Any:
            if "((" in posting.content:
                await trio.sleep_forever()
            return posting.content


@found_by(test_a_message_of_images_alone_is_no_trouble="fails at a message of 0190-author")
class TestNeedsWords(Contract):
    class asked(Right):  # noqa: N801
        async def filter(self, posting: Posting) -> Any:
            return posting.content[0] + posting.content[1:]


@found_by(**{OTHERS: "the filter fails at a reply of 0190-author"})
class TestKnowsChannelsAlone(Contract):
    class asked(Right):  # noqa: N801
        async def filter(self, posting: Posting) -> Any:
            assert posting.room_id is not None
            return posting.content


@found_by(test_many_messages_may_be_asked_about_at_once="the filter says other things than of each alone")
class TestMixesMessages(Contract):
    class asked(Right):  # noqa: N801
        async def filter(self, posting: Posting) -> Any:
            self.posting = posting
            await trio.lowlevel.checkpoint()
            return self.posting.content
