"""Calling what a capability does within the transaction of a change, so that its failure has a name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import trio

from teamchat.capabilities.declared import Declared, DeclaringTransaction
from teamchat.errors import Problem, StorageError, TeamchatError
from teamchat.interfaces import Transaction
from teamchat.observability.logs import get_logger

CHANGE_SECONDS = 5.0
"""How long what one capability does with one change may take; all other writers wait meanwhile."""

T = TypeVar("T")
_log = get_logger(__name__)


class ChangeFailed(TeamchatError):
    """What a capability does in the transaction of a change has failed; the message names its plugin."""


async def guarded(
    name: str,
    tx: Transaction,
    method: Callable[..., Awaitable[T]],
    label: str,
    declared: Declared,
    *arguments: Any,
) -> T:
    """Call a method of the plugin `label` with a transaction in which it may append what it has declared.

    Passes on a `Problem`, and raises `ChangeFailed` for whatever else goes wrong.
    """
    try:
        with trio.fail_after(CHANGE_SECONDS):
            return await method(DeclaringTransaction(tx, declared), *arguments)
    except (Problem, StorageError):
        raise
    except trio.TooSlowError as error:
        _log.error("a capability took too long within a transaction", plugin=label, at=name)
        raise ChangeFailed(f"{name} of {label} took longer than {CHANGE_SECONDS:g} seconds") from error
    except Exception as error:
        _log.error("a capability failed within a transaction", plugin=label, at=name, exc_info=error)
        raise ChangeFailed(f"{name} of {label} failed") from error
