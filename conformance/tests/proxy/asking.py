"""What a fault works with: a request, the answer to it, and the events of a stream."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlencode

if TYPE_CHECKING:
    from conformance.tests.proxy.server import Proxy
    from conformance.tests.proxy.streams import Frame, Listener

Headers = list[tuple[str, str]]


@dataclass
class Answer:
    """What is answered. Header names are as they came; the body's length is written anew."""

    status: int
    headers: Headers
    body: bytes

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def json(self) -> Any:
        """The body, or None where it is no JSON."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None

    def header(self, name: str) -> str:
        return next((value for key, value in self.headers if key.lower() == name.lower()), "")

    def with_header(self, name: str, value: str | None) -> Answer:
        """Return the answer with a header replaced, or left out."""
        kept = [(key, old) for key, old in self.headers if key.lower() != name.lower()]
        return replace(self, headers=kept if value is None else [*kept, (name, value)])

    def with_json(self, value: Any, status: int | None = None) -> Answer:
        """Return the answer with another body, of which the caches know nothing."""
        told = replace(
            self, status=status or self.status, body=json.dumps(value, ensure_ascii=False).encode()
        )
        return told.with_header("ETag", None).with_header("Content-Type", "application/json")


def as_json(value: Any, status: int = 200) -> Answer:
    """Return an answer that no server gave."""
    return Answer(status, [("Content-Type", "application/json")], json.dumps(value).encode())


def refused(status: int) -> Answer:
    return as_json({"error": "No"}, status)


@dataclass(frozen=True)
class Ask:
    """One request, read whole. `source` is the address it came from."""

    proxy: Proxy
    method: str
    target: str
    headers: Headers
    body: bytes
    source: str
    params: dict[str, str] = field(default_factory=dict)

    @cached_property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @cached_property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(self.target.partition("?")[2], keep_blank_values=True))

    @cached_property
    def json(self) -> dict[str, Any]:
        """The object that was sent; empty where there is none."""
        try:
            found = json.loads(self.body)
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}

    @property
    def token(self) -> str:
        """The token of the Authorization header, or an empty text."""
        given = self.header("authorization")
        return given[7:].strip() if given.lower().startswith("bearer ") else ""

    @property
    def user_id(self) -> str:
        return subject_of(self.token)

    def header(self, name: str) -> str:
        return next((value for key, value in self.headers if key.lower() == name), "")

    def by(self, token: str) -> Ask:
        """Return the same request of somebody else."""
        others = [(key, value) for key, value in self.headers if key.lower() != "authorization"]
        return replace(self, headers=[*others, ("Authorization", f"Bearer {token}")])

    def without_header(self, name: str) -> Ask:
        return replace(self, headers=[(key, value) for key, value in self.headers if key.lower() != name])

    def asking(self, **query: str | None) -> Ask:
        """Return the same request with other parameters in its query; None leaves one out."""
        kept = {key: value for key, value in {**self.query, **query}.items() if value is not None}
        return replace(self, target=f"{self.path}?{urlencode(kept)}" if kept else self.path)

    def saying(self, **fields: Any) -> Ask:
        """Return the same request with other fields in its body."""
        return replace(self, body=json.dumps({**self.json, **fields}).encode())


Forward = Callable[[Ask], Awaitable[Answer]]
Handle = Callable[[Ask, Forward], Awaitable[Answer]]
Hear = Callable[["Listener", "Frame"], "list[Frame]"]


@dataclass(frozen=True)
class Fault:
    """One fault: what it does with the requests of a route, or with the events of every stream.

    A route is a method and a path, in which ``:name`` stands for any one part, or ``*`` for everything.
    """

    name: str
    route: str = ""
    handle: Handle | None = None
    hear: Hear | None = None
    learns: bool = False
    """Whether it has to do with what passed in other requests: then all are read whole."""

    def match(self, method: str, path: str) -> dict[str, str] | None:
        """Return the parameters of a request that the fault is to see, or None."""
        if self.handle is None:
            return None
        if self.route == "*":
            return {}
        own_method, _, own_path = self.route.partition(" ")
        if own_method not in ("*", method):
            return None
        found = _pattern(own_path).fullmatch(path)
        return found and {name: unquote(value) for name, value in found.groupdict().items()}


def _pattern(path: str) -> re.Pattern[str]:
    parts = (
        f"(?P<{part[1:]}>[^/]+)" if part.startswith(":") else re.escape(part) for part in path.split("/")
    )
    return re.compile("/".join(parts))


def subject_of(token: str) -> str:
    """Return whose access token this says it is; whether it is good is not looked at."""
    payload = [*token.split("."), "", ""][1]
    try:
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except ValueError:
        return ""
    return str(claims.get("sub", "")) if isinstance(claims, dict) else ""
