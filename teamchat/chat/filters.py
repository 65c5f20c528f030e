"""What plugins may change or refuse in a message before it is stored.

A filter gets only what the chat's own rules already accept, and its result is checked against the same rules.
It runs before the transaction, so it may wait for something else. If it fails or takes too long, the message
is refused rather than let through unseen, and the log names the filter. Without filters, this costs nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import msgspec
import trio

from teamchat.chat.drafts import Draft, content_of, images_of
from teamchat.chat.sight import Room
from teamchat.errors import Problem, Unavailable
from teamchat.interfaces import MessageFilter, Posting
from teamchat.model.text import plain
from teamchat.observability.logs import get_logger

FILTER_SECONDS = 10.0

_log = get_logger(__name__)


class Filters:
    """The filters of all plugins, in the plugins' order. There are none until `use` is called."""

    def __init__(self, max_length: int) -> None:
        self._max_length = max_length
        self._filters: Sequence[MessageFilter] = ()
        self._label_of: Callable[[MessageFilter], str] = _unknown

    def use(
        self, filters: Sequence[MessageFilter], label_of: Callable[[MessageFilter], str] | None = None
    ) -> None:
        """Have every message pass these from now on; `label_of` names the plugin of one, for the log."""
        self._filters = tuple(filters)
        self._label_of = label_of or _unknown

    async def passed(
        self,
        draft: Draft,
        check: Callable[[], Awaitable[Room]],
        *,
        author_id: str,
        room_id: str | None = None,
        parent_id: str | None = None,
        message_id: str | None = None,
    ) -> Draft:
        """Return the draft as the filters leave it. `check` returns the room that it is said in, and
        raises if the author may not post there anyway.

        The rest is what a filter gets (`Posting`).  Raises what one raises to refuse it (a `Problem`),
        and `Unavailable` if one fails or takes too long.
        """
        if not self._filters:
            return draft
        room = await check()
        content_of(draft, most=self._max_length, may_be_blank=True)
        posting = Posting(draft.content, tuple(images_of(draft)), author_id, room_id, parent_id, message_id)
        posting = msgspec.structs.replace(posting, room_kind=room.kind, is_private=room.is_private)
        for each in self._filters:
            posting = msgspec.structs.replace(posting, content=await self._asked(each, posting))
        return msgspec.structs.replace(draft, content=posting.content)

    async def _asked(self, asked: MessageFilter, posting: Posting) -> str:
        try:
            with trio.fail_after(FILTER_SECONDS):
                content: object = await asked.filter(posting)
            if not isinstance(content, str):
                raise TypeError("a filter returns text")
            content = plain(content)
        except Problem:
            raise
        except trio.TooSlowError:
            self._fail("a message filter took too long", asked)
            raise Unavailable("The message could not be checked in time. Try again later.") from None
        except Exception as error:
            self._fail("a message filter failed", asked, error)
            raise Unavailable("The message could not be checked. Try again later.") from error
        return content

    def _fail(self, event: str, asked: MessageFilter, error: Exception | None = None) -> None:
        _log.error(event, filter=asked.name, plugin=self._label_of(asked), exc_info=error)


def _unknown(_: MessageFilter) -> str:
    return "unknown"
