"""Every error as ``{"error": sentence}`` in application/json, whatever raised it (decision D-01).

An unexpected failure shows the client nothing, and the log only the types and frames of the exceptions,
because a message or a local variable may hold somebody's text or token. The message of a `StorageError` is
logged too: it has the code with which a database says why it refused a statement, and nothing that was given.
The endpoint and its plugin are named.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping
from typing import Any

from teamchat.errors import Problem, StorageError
from teamchat.observability.logs import get_logger
from teamchat.web.refusals import Error, of_problem, response
from teamchat.web.responses import Response, Unencodable

_logger = get_logger(__name__)
__all__ = ["Error", "answer", "outline", "response"]
NOWHERE: Mapping[str, str] = {}


def answer(error: BaseException, of: Mapping[str, str] = NOWHERE) -> Response:
    """Return the response for `error`; `of` names the failed endpoint in the log."""
    error = unwrapped(error)
    if isinstance(error, Problem):
        return of_problem(error)
    fields: dict[str, Any] = dict(of)
    _logger.error("unexpected failure: %s", outline(error), **fields)
    return response(500, "The server failed. Nothing more can be said here; its log says more.")


def outline(error: BaseException) -> str:
    """Return the types and frames of an exception and its causes, with a storage's messages alone."""
    return " | ".join(_frames(one) for one in _chain(error))


def unwrapped(error: BaseException) -> BaseException:
    """Return what a nursery wrapped, if that was one thing alone; else the error as it is."""
    inner = error
    while isinstance(inner, BaseExceptionGroup):
        if len(inner.exceptions) != 1:
            return error
        inner = inner.exceptions[0]
    return inner


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    waiting = [error]
    while waiting:
        one = waiting.pop(0)
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        if isinstance(one, BaseExceptionGroup):
            waiting += one.exceptions
        cause = one.__cause__ or (None if one.__suppress_context__ else one.__context__)
        waiting += [cause] if cause is not None else []


def _frames(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    places = [f"{frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}" for frame in frames[-12:]]
    # Of all messages these alone may be written: they hold no value that was given.
    detail = f" ({error})" if isinstance(error, StorageError | Unencodable) else ""
    return f"{type(error).__qualname__}{detail} at {' > '.join(places) or 'nowhere'}"
