"""What a search can ask capabilities of messages, and which texts they add to what is searched."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from teamchat.interfaces import Transaction
from teamchat.model import Caller

MessageTest = Callable[[Transaction, Caller, Sequence[str], str], Awaitable[Collection[str]]]
"""Returns those of the given messages that pass the test. The caller sees all of them.

The last argument is a user's id if the test is about a user, as in ``mentions:``, and empty otherwise.
"""


class MessageText(NamedTuple):
    """A text that a message has besides its content, and the field that holds it, like ``files[0].name``."""

    field: str
    text: str


MessageTexts = Callable[[Transaction, Sequence[str]], Awaitable[Mapping[str, Sequence[MessageText]]]]
"""Returns the texts of the given messages that have any, by message id, whoever sees them.

They may change only in a transaction that posts, edits or deletes the message (F-1).
"""
