"""One table of everything that can be asked for, whoever brought it: by path and method.

A fixed segment takes precedence over one with a form, such as ``<int:week>``; that over any segment; and that
over one that takes the rest of a path. An address has one spelling: ``/users/`` and ``//users`` are not
``/users``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, Protocol, Union

from teamchat.errors import MethodNotAllowed, NotFound
from teamchat.web.responses import Response
from teamchat.web.rules import Shape

if TYPE_CHECKING:
    from teamchat.web.endpoints import Endpoint
    from teamchat.web.events import EventStream
    from teamchat.web.request import Request
    from teamchat.web.site import Site

PathValues = Mapping[str, str]

_KEPT = 1024
"""So many answers of the table are kept, for the same channels are read again and again."""
_LONGEST_KEPT = 200
"""Paths of more characters are looked for each time: what is kept must not grow by who asks for them."""


class Served(Protocol):
    """What a request is for that is answered and done."""

    @property
    def rule(self) -> str | None:
        """Its path in the words of its declaration; None if there is none."""

    @property
    def path_parameters(self) -> Sequence[str]:
        """The names of the segments that the path leaves open."""

    async def serve(self, site: Site, request: Request) -> Response:
        """Return the answer to a request. Raises a `Problem`."""


Declared = Union["Endpoint", "EventStream"]
"""What was declared at one path, for one method."""
Target = Union[Served, "EventStream"]


class Route(NamedTuple):
    """A target at a path, which `path` has in the words of its declaration, for some methods.

    `spellings` are other shapes of the path under which it is found.
    """

    path: str
    methods: frozenset[str]
    shape: Shape
    target: Target
    spellings: tuple[Shape, ...] = ()

    @classmethod
    def to(cls, target: Declared) -> Route:
        """Return the route to what was declared; HEAD comes with GET."""
        methods = frozenset({"GET", "HEAD"} if target.method == "GET" else {target.method})
        return cls(target.rule, methods, Shape.of(target.rule), target)

    @property
    def asked(self) -> frozenset[str]:
        """The methods but HEAD and OPTIONS, which are taken wherever it is sensible."""
        return self.methods - {"HEAD", "OPTIONS"}

    def meets(self, other: Route) -> bool:
        """Return whether there are requests that both answer."""
        return bool(self.asked & other.asked) and self.shape.meets(other.shape)


class Nothing:
    """There is nothing at the address."""

    rule = None
    path_parameters = ()

    async def serve(self, site: Site, request: Request) -> Response:  # noqa: ARG002
        """Say so."""
        raise NotFound("There is nothing at this address.")


class OtherMethods:
    """The address takes other methods; OPTIONS asks which."""

    rule = None
    path_parameters = ()

    def __init__(self, allowed: Iterable[str]) -> None:
        self.allowed = sorted({*allowed, "OPTIONS"})

    async def serve(self, site: Site, request: Request) -> Response:  # noqa: ARG002
        """Name the methods."""
        if request.method == "OPTIONS":
            return Response(status=204, headers={"Allow": ", ".join(self.allowed)})
        raise MethodNotAllowed(self.allowed)


class Preflight:
    """A browser asks what pages of other origins may do here (decision D-06), whatever the address."""

    rule = None
    path_parameters = ()

    async def serve(self, site: Site, request: Request) -> Response:
        """Tell it."""
        response = Response(status=204)
        response.headers = site.headers.preflight(request.scope)
        return response


class _Node:
    """What is at one path, by method, and what may follow it."""

    __slots__ = ("any", "fixed", "formed", "rests", "targets")

    def __init__(self) -> None:
        self.targets: dict[str, Target] = {}
        self.fixed: dict[str, _Node] = {}
        self.formed: dict[re.Pattern[str], _Node] = {}
        self.any: _Node | None = None
        self.rests: dict[re.Pattern[str], _Node] = {}


class Table:
    """Targets by path and method."""

    def __init__(self) -> None:
        self._root = _Node()
        self._kept = lru_cache(_KEPT)(self._find)

    def add(self, route: Route) -> None:
        """Take up a route; what was there before keeps its place."""
        self._kept.cache_clear()
        for shape in (route.shape, *route.spellings):
            node = self._node_of(shape)
            for method in route.methods:
                node.targets.setdefault(method, route.target)

    def _node_of(self, shape: Shape) -> _Node:
        """Return the node at the end of a path, made on the way where it isn't there."""
        node = self._root
        for at, segment in enumerate(shape.segments[1:], 1):
            if segment.spans:
                rest = re.compile("/".join(one.pattern for one in shape.segments[at:]))
                node = node.rests.setdefault(rest, _Node())
                break
            if segment.text is not None:
                node = node.fixed.setdefault(segment.text, _Node())
            elif segment.takes_any:
                node.any = node = node.any or _Node()
            else:
                node = node.formed.setdefault(re.compile(segment.pattern), _Node())
        return node

    def find(self, method: str, path: str) -> tuple[Target, PathValues]:
        """Return what a request is for, and the segments that its path leaves open."""
        return self._kept(method, path) if len(path) <= _LONGEST_KEPT else self._find(method, path)

    def _find(self, method: str, path: str) -> tuple[Target, PathValues]:
        segments = path.split("/")
        values: list[str] = []
        others: set[str] = set()
        target = None if segments[0] else _walk(self._root, segments, 1, method, values, others)
        if target is not None:
            return target, dict(zip(target.path_parameters, values, strict=False))
        return OtherMethods(others) if others else _NOTHING, {}


PREFLIGHT = Preflight()
_NOTHING = Nothing()


def _walk(
    node: _Node, segments: list[str], at: int, method: str, values: list[str], others: set[str]
) -> Target | None:
    """Return the target at the end of the segments; what they leave open is left in `values`.

    Methods that are taken at the same path, where `method` is not, are left in `others`.
    """
    if at == len(segments):
        if (target := node.targets.get(method)) is None:
            others.update(node.targets)
        return target
    segment = segments[at]
    fixed = node.fixed.get(segment)
    if fixed is not None and (target := _walk(fixed, segments, at + 1, method, values, others)):
        return target
    following = [one for form, one in node.formed.items() if form.fullmatch(segment)] if node.formed else []
    if node.any is not None and segment:
        following.append(node.any)
    for one in following:
        values.append(segment)
        if target := _walk(one, segments, at + 1, method, values, others):
            return target
        values.pop()
    return _rest(node, segments[at:], method, values, others) if node.rests else None


def _rest(
    node: _Node, segments: list[str], method: str, values: list[str], others: set[str]
) -> Target | None:
    """Return the target that takes all segments that are left."""
    rest = "/".join(segments)
    for form, one in node.rests.items():
        if form.fullmatch(rest):
            if (target := one.targets.get(method)) is not None:
                values.append(rest)
                return target
            others.update(one.targets)
    return None
