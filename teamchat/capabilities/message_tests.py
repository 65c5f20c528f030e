"""What capabilities can say of messages, for whoever looks through many."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence

from teamchat.interfaces import Transaction
from teamchat.model import Caller

MessageTest = Callable[[Transaction, Caller, Sequence[str], str], Awaitable[Collection[str]]]
"""Returns those of some messages, which the caller sees, of which something is true.

The last argument is a user's id where the test is about a user, as in ``mentions:``, and empty otherwise.
"""
