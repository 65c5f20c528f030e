"""A request, as an endpoint that names `request` gets it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    from teamchat.web.asgi import RawHeaders
    from teamchat.web.bodies import Body


_WEIGHT = re.compile(r"\s*q\s*=\s*([01](?:\.[0-9]*)?)\s*")
_AS_IT_IS = "identity"


class Headers:
    """A request's headers as they came. Names are looked for in any case."""

    __slots__ = ("_raw",)

    def __init__(self, raw: RawHeaders) -> None:
        self._raw = raw

    def getlist(self, name: str) -> list[str]:
        """Return every value of a header."""
        wanted = name.lower().encode()
        return [value.decode("latin1") for key, value in self._raw if key == wanted]

    @overload
    def get(self, name: str) -> str | None: ...

    @overload
    def get(self, name: str, default: str) -> str: ...

    def get(self, name: str, default: str | None = None) -> str | None:
        """Return the first value of a header, or `default`."""
        wanted = name.lower().encode()
        for key, value in self._raw:
            if key == wanted:
                return value.decode("latin1")
        return default


class Request:
    """One request. `path_values` are the segments that the endpoint's path leaves open, by their names."""

    __slots__ = ("body", "headers", "path_values", "query_string", "scope")

    def __init__(self, scope: Any, path_values: Mapping[str, str], body: Body) -> None:
        self.scope = scope
        self.path_values = path_values
        self.body = body
        self.headers = Headers(scope["headers"])
        self.query_string: bytes = scope["query_string"]

    @property
    def method(self) -> str:
        """The method; ``HEAD`` where an endpoint of GET is asked for its headers alone."""
        return str(self.scope["method"])

    @property
    def path(self) -> str:
        """The path, decoded."""
        return str(self.scope["path"])

    def accepts_coding(self, coding: str) -> bool:
        """Whether the client takes a body in a coding such as ``gzip`` (RFC 9110, section 12.5.3)."""
        return _weight_of(coding, _weights(self._accepted_codings)) > 0

    def preferred_coding(self, *offered: str) -> str | None:
        """Return which of these codings, the best first, the client would have; None for ``identity``."""
        accepted = self._accepted_codings
        return _preferred(accepted, offered) if accepted else None

    @property
    def _accepted_codings(self) -> str:
        return ",".join(self.headers.getlist("Accept-Encoding"))


@lru_cache(maxsize=32)  # Few kinds of clients ask a server.
def _preferred(accepted: str, offered: tuple[str, ...]) -> str | None:
    weights = _weights(accepted)
    best = max(offered, key=lambda one: _weight_of(one, weights))
    weight = _weight_of(best, weights)
    return best if weight and weight >= weights.get(_AS_IT_IS, weights.get("*", 0)) else None


def _weights(accepted: str) -> Mapping[str, float]:
    """Return what each coding that a client names weighs; one with no weight, or an odd one, weighs 1."""
    weights = {}
    for one in accepted.lower().split(","):
        name, _, weight = one.partition(";")
        found = _WEIGHT.fullmatch(weight)
        weights[name.strip().removeprefix("x-")] = float(found[1]) if found else 1.0
    return weights


def _weight_of(coding: str, weights: Mapping[str, float]) -> float:
    unsaid = weights.get("*", 1.0 if coding == _AS_IT_IS else 0.0)
    return weights.get(coding, unsaid)
