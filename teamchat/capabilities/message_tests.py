"""What capabilities can say of messages, and what else stands in them, for whoever looks through many."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from teamchat.interfaces import Transaction
from teamchat.model import Caller

MessageTest = Callable[[Transaction, Caller, Sequence[str], str], Awaitable[Collection[str]]]
"""Returns those of some messages, which the caller sees, of which something is true.

The last argument is a user's id where the test is about a user, as in ``mentions:``, and empty otherwise.
"""


class MessageText(NamedTuple):
    """A text that a message has besides its content, and the field that it stands in: ``files[0].name``."""

    field: str
    text: str


MessageTexts = Callable[[Transaction, Sequence[str]], Awaitable[Mapping[str, Sequence[MessageText]]]]
"""Returns the texts of those of some messages that have any, by ids, whoever sees them.

They change only in a transaction that posts, edits or deletes the message (F-1).
"""
