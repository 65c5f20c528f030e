"""Every endpoint of the interface (part 4) as data.

The order is the interface's, for families of checks are numbered by it; an endpoint that
is ever added stands at the end.  What a request needs, what stands in its body and what may stand in its
answer is said here and nowhere else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Literal

Auth = Literal["open", "access", "magic", "webhook"]
Kind = Literal["json", "text", "image", "stream", "redirect"]
Known = Mapping[str, Any]
"""Fields that may stand in an object: each a table of its own, or None where it is not looked into."""


@dataclass(frozen=True)
class Field:
    """A field of a request's body; all of them are strings."""

    name: str
    is_required: bool = True


@dataclass(frozen=True)
class Endpoint:
    """One endpoint. `needs` are as a check has them; `known` is None where the answer is not told."""

    method: str
    path: str
    auth: Auth = "access"
    admin_only: bool = False
    fields: tuple[Field, ...] = ()
    needs: tuple[str, ...] = ()
    known: Known | None = None
    kind: Kind = "json"
    successes: tuple[int, ...] = (200,)

    @property
    def name(self) -> str:
        """How the interface writes it."""
        return f"{self.method} {self.path}"

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names in the path."""
        return tuple(part[1:] for part in self.path.split("/") if part.startswith(":"))

    def fits(self, path: str) -> bool:
        """Return whether a path, without its query, is one of this endpoint's."""
        return _pattern(self.path).fullmatch(path) is not None

    @property
    def required_fields(self) -> tuple[str, ...]:
        """The names of the fields that must be there."""
        return tuple(field.name for field in self.fields if field.is_required)

    def target(self, values: Mapping[str, str]) -> str:
        """Put escaped values into the path."""
        return "/".join(values[part[1:]] if part.startswith(":") else part for part in self.path.split("/"))

    def is_well_formed(self, body: bytes) -> bool:
        """Return whether a body is what this endpoint asks for; one that asks for none takes any."""
        if not self.fields:
            return True
        try:
            told = json.loads(body)
        except (ValueError, RecursionError):
            return False
        if not isinstance(told, dict):
            return False
        return all(
            isinstance(told[field.name], str) and told[field.name] != ""
            if field.name in told
            else not field.is_required
            for field in self.fields
        )


@cache
def _pattern(path: str) -> re.Pattern[str]:
    return re.compile("/".join("[^/]+" if part.startswith(":") else part for part in path.split("/")))


def _texts(*names: str) -> tuple[Field, ...]:
    """Fields of a body; a name that ends with a question mark may be left out."""
    return tuple(Field(name.rstrip("?"), not name.endswith("?")) for name in names)


def _keys(names: str, **inner: Known) -> dict[str, Any]:
    return {**dict.fromkeys(names.split()), **inner}


_ME = _keys("id userName email isAdmin")
_SUCCESS = _keys("success")
_AUTHOR = _keys("id userName isBot")
_META = _keys("replyCount lastReplyAt participants", lastReplyBy=_keys("id userName"))
_MESSAGE = _keys(
    "id channelId content createdAt updatedAt reactions threadId images", author=_AUTHOR, threadMeta=_META
)
_CHANNEL = _keys("id name createdAt updatedAt")
_CONVERSATION = _keys("id participants lastMessageAt createdAt", otherUser=_keys("id userName"))
_WEBHOOK = _keys("id name channelId createdAt createdBy")
_NEW_WEBHOOK = _keys("id name channelId createdAt createdBy token")
_TOKENS = _keys("accessToken refreshToken exp tokenType")
_IMAGE = _texts("filename", "image", "thumbnail?")
_UPLOADED = _keys("success filename")

ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint("GET", "/health", "open", kind="text"),
    Endpoint(
        "POST", "/auth/dev-login", "open", fields=_texts("email"), needs=("dev",),
        known=_keys("token", user=_ME),
    ),
    Endpoint(
        "POST", "/auth/login", "open", fields=_texts("email"), needs=("magic",),
        known=_keys("success message"),
    ),
    Endpoint(
        "POST", "/auth/verify", "magic", fields=_texts("email"), needs=("magic",),
        known=_keys("accessToken refreshToken"),
    ),
    Endpoint(
        "POST", "/auth/password-login", "open", fields=_texts("email", "password"), needs=("pw",),
        known=_TOKENS,
    ),
    Endpoint(
        "POST", "/auth/request-password-reset", "open", fields=_texts("email"), needs=("pw",),
        known=_keys("success message"),
    ),
    Endpoint(
        "POST", "/auth/setup-password", "open", fields=_texts("email", "token?", "password"), needs=("pw",),
        known=_TOKENS,
    ),
    Endpoint(
        "POST", "/auth/register", "open", fields=_texts("email", "password"), needs=("pw", "open"),
        known=_TOKENS,
    ),
    Endpoint(
        "POST", "/auth/refresh", "open", fields=_texts("refreshToken"),
        known=_keys("accessToken refreshToken"),
    ),
    Endpoint("POST", "/auth/logout", fields=_texts("refreshToken")),
    Endpoint("GET", "/auth/me", known={"user": _ME}),
    Endpoint("GET", "/auth/sessions"),
    Endpoint("DELETE", "/auth/sessions"),
    Endpoint(
        "GET", "/auth/oauth/providers", "open", needs=("idp",),
        known=_keys("count", providers=_keys("id name loginUrl")),
    ),
    Endpoint("GET", "/auth/oauth/:providerId", "open", needs=("idp",), kind="redirect"),
    Endpoint("GET", "/auth/oauth/:providerId/callback", "open", needs=("idp",), kind="redirect"),
    Endpoint("GET", "/users", known={"users": _keys("id userName email isAdmin createdAt")}),
    Endpoint(
        "POST", "/users/add", admin_only=True, fields=_texts("email", "role", "password?"),
        known=_keys("success userId"),
    ),
    Endpoint(
        "POST", "/users/:id/reset-password", admin_only=True, fields=_texts("password"), known=_SUCCESS
    ),
    Endpoint("DELETE", "/users/:id", admin_only=True, known=_SUCCESS),
    Endpoint("POST", "/users/exit", known=_keys("success message")),
    Endpoint("PUT", "/users/me", fields=_texts("userName"), known={"user": _ME}),
    Endpoint("GET", "/channels", known={"channels": _CHANNEL}),
    Endpoint("POST", "/channels", admin_only=True, fields=_texts("name"), known={"channel": _CHANNEL}),
    Endpoint(
        "PUT", "/channels/:channelId", admin_only=True, fields=_texts("name"), known={"channel": _CHANNEL}
    ),
    Endpoint("DELETE", "/channels/:channelId", admin_only=True, known=_SUCCESS),
    Endpoint("GET", "/channels/:channelId/messages", known={"messages": _MESSAGE}),
    Endpoint(
        "POST", "/channels/:channelId/messages", fields=_texts("content"), known={"message": _MESSAGE}
    ),
    Endpoint("PUT", "/messages/:messageId", fields=_texts("content"), known={"message": _MESSAGE}),
    Endpoint("DELETE", "/messages/:messageId", known=_SUCCESS),
    Endpoint(
        "POST", "/messages/:messageId/reactions", fields=_texts("reaction"),
        known={"message": _keys("id reactions")},
    ),
    Endpoint(
        "DELETE", "/messages/:messageId/reactions", fields=_texts("reaction"),
        known={"message": _keys("id reactions")},
    ),
    Endpoint("POST", "/channels/:channelId/messages/image", fields=_IMAGE, known=_UPLOADED),
    Endpoint("GET", "/channels/:channelId/messages/image/:filename", kind="image"),
    Endpoint("POST", "/messages/:messageId/thread/image", fields=_IMAGE, known=_UPLOADED),
    Endpoint("POST", "/conversations/:conversationId/messages/image", fields=_IMAGE, known=_UPLOADED),
    Endpoint("GET", "/conversations/:conversationId/messages/image/:filename", kind="image"),
    Endpoint("GET", "/messages/:messageId/thread", known={"replies": _MESSAGE}),
    Endpoint(
        "POST", "/messages/:messageId/thread", fields=_texts("content"),
        known={"reply": _MESSAGE, "threadMeta": _META},
    ),
    Endpoint(
        "PUT", "/messages/:messageId/thread/:replyId", fields=_texts("content"), known={"message": _MESSAGE}
    ),
    Endpoint("DELETE", "/messages/:messageId/thread/:replyId", known=_SUCCESS),
    Endpoint("GET", "/conversations", known={"conversations": _CONVERSATION}),
    Endpoint(
        "POST", "/conversations", fields=_texts("targetUserId"),
        known=_keys("isNew", conversation=_CONVERSATION),
    ),
    Endpoint("GET", "/conversations/:conversationId/messages", known={"messages": _MESSAGE}),
    Endpoint(
        "POST", "/conversations/:conversationId/messages", fields=_texts("content"),
        known={"message": _MESSAGE},
    ),
    Endpoint(
        "PUT", "/conversations/:conversationId/messages/:messageId", fields=_texts("content"),
        known={"message": _MESSAGE},
    ),
    Endpoint("DELETE", "/conversations/:conversationId/messages/:messageId", known=_SUCCESS),
    Endpoint("GET", "/server/settings", known=_keys("name")),
    Endpoint("PUT", "/server/settings", admin_only=True, fields=_texts("name"), known=_keys("name")),
    Endpoint("GET", "/webhooks", admin_only=True, known={"webhooks": _WEBHOOK}),
    Endpoint(
        "POST", "/webhooks", admin_only=True, fields=_texts("name", "channelId"),
        known={"webhook": _NEW_WEBHOOK},
    ),
    Endpoint("DELETE", "/webhooks/:webhookId", admin_only=True, known=_SUCCESS),
    Endpoint(
        "POST", "/webhooks/:webhookId/messages", "webhook", fields=_texts("content"),
        known={"message": _MESSAGE},
    ),
    Endpoint("GET", "/events", kind="stream"),
)  # fmt: skip

NEEDS_A_TOKEN = tuple(one for one in ENDPOINTS if one.auth in ("access", "webhook"))
"""What answers 401 to nobody: AUTH-REQ is numbered by these."""

FOR_ADMINS = tuple(one for one in ENDPOINTS if one.admin_only)
"""What answers 403 to a user: AUTH-ADM is numbered by these."""

WITH_A_BODY = tuple(one for one in ENDPOINTS if one.fields)
"""What reads JSON: NEG-JSON is numbered by these."""


def numbered(prefix: str, endpoints: tuple[Endpoint, ...]) -> Iterator[tuple[str, Endpoint]]:
    """Yield the ids of a family of checks and the endpoint of each."""
    return ((f"{prefix}-{number:02}", one) for number, one in enumerate(endpoints, 1))


def endpoint(method: str, path: str) -> Endpoint:
    """Return the endpoint that the interface writes like this."""
    return next(one for one in ENDPOINTS if (one.method, one.path) == (method, path))


_FEWEST_PARAMETERS_FIRST = sorted(ENDPOINTS, key=lambda one: len(one.parameters))


@lru_cache(maxsize=16)
def find(method: str, target: str) -> Endpoint | None:
    """Return the endpoint that a request is for, or None if the interface has none there."""
    path = target.partition("?")[0]
    return next((one for one in _FEWEST_PARAMETERS_FIRST if one.method == method and one.fits(path)), None)
