"""Which declared endpoint a request is for, found without a framework's request.

What must stay true: it finds an endpoint only where Werkzeug's routing would find the same one; whatever it
does not find (another method, HEAD, a plugin's plain view, nothing at all) is Quart's to answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from teamchat.web.endpoints import Endpoint

Parameters = dict[str, str]


class _Node:
    """The endpoints at one path, by method, and what may follow: a fixed segment, or else any."""

    __slots__ = ("any", "endpoints", "fixed")

    def __init__(self) -> None:
        self.endpoints: dict[str, Endpoint] = {}
        self.fixed: dict[str, _Node] = {}
        self.any: _Node | None = None


class Router:
    """Declared endpoints by method and path. A fixed segment goes before a parameter."""

    def __init__(self) -> None:
        self._root = _Node()

    def add(self, endpoint: Endpoint, rule: str) -> None:
        """Take up an endpoint under a rule such as ``/messages/<messageId>``."""
        node = self._root
        for segment in rule.split("/")[1:]:
            if segment.startswith("<"):
                node.any = node = node.any or _Node()
            else:
                node = node.fixed.setdefault(segment, _Node())
        node.endpoints.setdefault(endpoint.method, endpoint)

    def find(self, method: str, path: str) -> tuple[Endpoint, Parameters] | None:
        """Return the endpoint of a request and its path parameters, or None."""
        segments = path.split("/")
        if segments[0]:
            return None
        values: list[str] = []
        endpoint = _walk(self._root, segments, 1, method, values)
        if endpoint is None:
            return None
        return endpoint, dict(zip(endpoint.path_parameters, values, strict=True))


def _walk(node: _Node, segments: list[str], at: int, method: str, values: list[str]) -> Endpoint | None:
    """Return the endpoint at the end of the segments, leaving the parameters' values in `values`."""
    if at == len(segments):
        return node.endpoints.get(method)
    segment = segments[at]
    if (fixed := node.fixed.get(segment)) and (found := _walk(fixed, segments, at + 1, method, values)):
        return found
    if node.any is None or not segment:
        return None
    values.append(segment)
    found = _walk(node.any, segments, at + 1, method, values)
    if found is None:
        values.pop()
    return found
