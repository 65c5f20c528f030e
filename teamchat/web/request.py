"""A request, as an endpoint that names `request` is given it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    from teamchat.web.asgi import RawHeaders
    from teamchat.web.bodies import Body


_NOT_AT_ALL = re.compile(r"\s*q\s*=\s*0(\.0*)?\s*")


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
        weights = {}
        for one in ",".join(self.headers.getlist("Accept-Encoding")).split(","):
            name, _, weight = one.partition(";")
            weights[name.strip().lower()] = weight
        taken = weights.get(coding, weights.get("*"))
        return taken is not None and not _NOT_AT_ALL.fullmatch(taken)
