"""A refusal as clients get it: ``{"error": sentence}``, with the headers that HTTP wants (decision D-01)."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from teamchat.errors import (
    CodeNeeded,
    MethodNotAllowed,
    Problem,
    RangeNotSatisfiable,
    SecondFactorNeeded,
    TooManyRequests,
    Unauthorized,
    Unavailable,
)
from teamchat.web.responses import Response

_encode = msgspec.json.Encoder().encode


class Error(Struct, frozen=True):
    """The body of every error response (interface, part 7)."""

    error: str


def response(status: int, sentence: str, headers: dict[str, str] | None = None) -> Response:
    """Return an error response."""
    body = _encode(Error(sentence))
    return Response(body, "application/json", status=status, headers=headers)


def of_problem(problem: Problem) -> Response:
    """Return the response for a problem."""
    headers = {}
    if isinstance(problem, TooManyRequests | Unavailable) and problem.retry_after is not None:
        headers["Retry-After"] = str(problem.retry_after)
    if isinstance(problem, Unauthorized):
        headers["WWW-Authenticate"] = "Bearer"
    if isinstance(problem, SecondFactorNeeded | CodeNeeded):
        headers["WWW-Authenticate"] = f'SecondFactor methods="{", ".join(problem.methods)}"'
    if isinstance(problem, MethodNotAllowed):
        headers["Allow"] = ", ".join(problem.allowed)
    if isinstance(problem, RangeNotSatisfiable):
        headers["Content-Range"] = f"bytes */{problem.size}"
    return response(problem.status, problem.sentence, headers)
