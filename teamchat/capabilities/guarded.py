"""Calling what capabilities do within the transaction of a change, so that a failure has a name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, TypeVar

import trio

from teamchat.capabilities.declared import Declared, DeclaringTransaction
from teamchat.errors import Problem, StorageError, TeamchatError
from teamchat.interfaces import Transaction
from teamchat.observability.logs import get_logger

CHANGE_SECONDS = 5.0
"""How long what one capability does with one change may take; all other writers wait meanwhile."""
_SPARE_SECONDS = 0.1

T = TypeVar("T")
_log = get_logger(__name__)


class ChangeFailed(TeamchatError):
    """What a capability does in the transaction of a change has failed; the message names its plugin."""


class TooMuch(ChangeFailed):
    """There is too much of something for one transaction; `Changes.user_settling` does it in parts.

    It is raised, too, for what has taken longer than it may.
    """


class ChangeGuard(AbstractContextManager["ChangeGuard"]):
    """Calls methods of capabilities with a transaction in which each may append what it has declared.

    Each has `CHANGE_SECONDS`, and up to a tenth of a second more: then it raises `TooMuch`.  Passes on a
    `Problem`, and raises `ChangeFailed` for whatever else goes wrong.
    """

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self._scope: trio.CancelScope | None = None  # until the first call
        self._called = "", ""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._scope is None:
            return
        self._scope.__exit__(kind, error, traceback)
        if self._scope.cancelled_caught:
            name, label = self._called
            _log.error("a capability took too long within a transaction", plugin=label, at=name)
            raise TooMuch(f"{name} of {label} took longer than {CHANGE_SECONDS:g} seconds") from error

    async def call(
        self, name: str, method: Callable[..., Awaitable[T]], label: str, declared: Declared, *arguments: Any
    ) -> T:
        """Call a method of the plugin `label`."""
        self._called = name, label
        self._allow_time()
        try:
            return await method(DeclaringTransaction(self._tx, declared), *arguments)
        except (Problem, StorageError, TooMuch):
            raise
        except Exception as error:
            _log.error("a capability failed within a transaction", plugin=label, at=name, exc_info=error)
            raise ChangeFailed(f"{name} of {label} failed") from error

    def _allow_time(self) -> None:
        # Setting a deadline costs a post 4 microseconds each time: those that are called at once share one.
        now = trio.current_time()
        deadline = now + CHANGE_SECONDS + _SPARE_SECONDS
        if self._scope is None:
            self._scope = trio.CancelScope(deadline=deadline)
            self._scope.__enter__()
        elif self._scope.deadline < now + CHANGE_SECONDS:
            self._scope.deadline = deadline
