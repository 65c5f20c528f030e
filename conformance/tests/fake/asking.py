"""A request as a handler sees it: who asks, for what, with which fields; and the table of routes."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from conformance.tests.fake.model import Session, User
from conformance.tests.fake.wire import Request, Response

if TYPE_CHECKING:
    from conformance.tests.fake.server import Fake

Access = Literal["open", "user", "webhook"]
Handler = Callable[["Fake", "Ask"], "Any | Awaitable[Any]"]


class Refusal(Exception):
    """Not like that. The status and the sentence are answered."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence


@dataclass(frozen=True)
class Route:
    method: str
    path: str
    access: Access
    mode: str | None
    handler: Handler

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"

    def match(self, parts: tuple[str, ...]) -> dict[str, str] | None:
        """Return the parameters of a path, or None if it is another's."""
        own = self.path.split("/")[1:]
        if len(own) != len(parts):
            return None
        pairs = list(zip(own, parts, strict=True))
        if any(not name.startswith(":") and name != part for name, part in pairs):
            return None
        return {name[1:]: part for name, part in pairs if name.startswith(":")}


ROUTES: list[Route] = []

UNSEEN = frozenset("\u200b\u2060\ufeff\u00ad\u034f\ufe0f\U000e0041")
"""Some of the characters that nobody sees."""


def route(
    method: str, path: str, access: Access = "user", mode: str | None = None
) -> Callable[[Handler], Handler]:
    """Take up a handler. One for a sign-in `mode` is only there in that mode."""

    def take(handler: Handler) -> Handler:
        ROUTES.append(Route(method, path, access, mode, handler))
        return handler

    return take


@dataclass
class Ask:
    """One request, with its asker found out."""

    fake: Fake
    request: Request
    route: Route
    params: dict[str, str]
    ip: str
    asker: User | None = None
    session: Session | None = None

    @property
    def user(self) -> User:
        assert self.asker is not None
        return self.asker

    @property
    def bearer(self) -> str:
        """The token of the Authorization header, or an empty text."""
        scheme, _, token = self.request.headers.get("authorization", "").partition(" ")
        return token.strip() if scheme.lower() == "bearer" else ""

    @cached_property
    def body(self) -> dict[str, Any]:
        """The JSON object that was sent."""
        if self.request.headers.get("content-encoding", "identity") != "identity":
            raise Refusal(415, "The body must not be encoded")
        if self.fake.has("charset-refused") and "charset" in self.request.headers.get("content-type", ""):
            raise Refusal(415, "No charset is known")
        try:
            text = self.request.body.decode("utf-8")
            found = json.loads(text, parse_constant=_no_constant)
        except (ValueError, RecursionError):
            raise Refusal(500 if self.fake.has("bad-json-fails") else 400, "The body is not JSON") from None
        if not isinstance(found, dict):
            raise Refusal(400, "The body must be an object")
        return found

    def must_be_admin(self) -> None:
        if not self.user.is_admin and not self.fake.has(f"any-user {self.route.name}"):
            raise Refusal(403, "Only an admin may do this")

    def text(self, name: str, *, most: int | None = None, blank: bool = False) -> str:
        """Return a text of the body."""
        value = self.body.get(name)
        if self.fake.has("anything-is-text") and name in self.body:
            value = str(value)
        if not isinstance(value, str):
            raise Refusal(400, f"{name} must be a text")
        if not blank and not value.strip():
            raise Refusal(400, f"{name} must not be empty")
        if most is not None and len(value) > most:
            raise Refusal(400, f"{name} must have at most {most} characters")
        if "\0" in value or not _is_unicode(value):
            raise Refusal(400, f"{name} has characters that are no text")
        return value

    def name(self, field: str = "name", most: int = 80) -> str:
        """Return a name of the body: trimmed, and without what could fool a reader."""
        value = self.text(field).strip()
        if len(value) > most:
            raise Refusal(400, f"{field} must have at most {most} characters")
        if any(
            ord(c) < 32 or c in "\x7f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069" for c in value
        ):
            raise Refusal(400, f"{field} has characters that no name may have")
        if any(c in UNSEEN for c in value) and not self.fake.has("names-unseen"):
            raise Refusal(400, f"{field} has characters that nobody sees")
        return value if self.fake.has("names-unsqueezed") else " ".join(value.split())

    def content(self) -> str:
        """Return the text of a message, which may be blank if pictures come with it."""
        return self.text("content", most=16_000, blank=bool(self.body.get("images")))

    def email(self) -> str:
        """Return an address of the body."""
        value = self.text("email", most=254)
        name, at, domain = value.partition("@")
        bad = any(c.isspace() or ord(c) < 32 for c in value)
        if not name or not at or not domain or "@" in domain or bad:
            raise Refusal(400, "email must be an address")
        return value

    def password(self, field: str = "password") -> str:
        """Return a new password of the body."""
        value = self.text(field, most=1024, blank=True)
        if len(value) < 8:
            raise Refusal(400, f"{field} must have at least 8 characters")
        return value


def unknown(what: str) -> NoReturn:
    """Refuse what names something that is not there."""
    raise Refusal(404, f"There is no such {what}")


def _is_unicode(text: str) -> bool:
    """Tell whether a text has no half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def success(**more: Any) -> dict[str, Any]:
    """Return the answer of what has nothing else to say."""
    return {"success": True, **more}


def redirect(location: str) -> Response:
    return Response(302, b"", {"Location": location, "Content-Type": "text/plain"})
