"""What the parameters of endpoints name: something that may be hidden from who asks, or nothing of the kind.

Every text and number that an endpoint takes, in its path, its query or its body, stands in one of the two
tables here, or in `PARAMETERS` or `HARMLESS` of a plugin's own ``tests/hidden.py``, where `GIVEN` says what
one holds without which an endpoint answers nothing (a function: another thing in each question), `HEADERS`
what its request has in its head, `BODIES` what it reads of a body that it does not declare, `WHOLE_REQUESTS`
what else it reads and does not declare, `BY_WEBHOOK` which take a webhook's token, and `BY_THE_MOMENT` what
is given to those who see it only with what holds for a moment.  One that stands in none makes
`test_questions` fail: nobody adds an endpoint that takes an id without its being asked about.
"""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import msgspec

from teamchat.web.endpoints import Endpoint

ROOM, MESSAGE, IMAGE, WEBHOOK = "room", "message", "image", "webhook"
CHANNEL_NAME, SESSION = "name of a channel", "session"

PARAMETERS: Mapping[str, str] = {
    "path channelId": ROOM,
    "path conversationId": ROOM,
    "path placeId": ROOM,
    "path messageId": MESSAGE,
    "path replyId": MESSAGE,
    "path filename": IMAGE,
    "path webhookId": WEBHOOK,
    "query before": MESSAGE,
    "query after": MESSAGE,
    "query around": MESSAGE,
    "body channelId": ROOM,
    "body images": IMAGE,
    "body positions": ROOM,
    "body sessionId": SESSION,
    # A name that is refused tells that it is taken.
    "POST /channels body name": CHANNEL_NAME,
    "PUT /channels/<channelId> body name": CHANNEL_NAME,
}
"""What may be hidden; an endpoint's own entry goes before the one for all."""

_TYPED = "free text of who asks"
_SECRET = "a secret: who has it may use it"
_PUBLIC_USERS = "every user is on everybody's list of users"
HARMLESS: Mapping[str, str] = {
    "path id": _PUBLIC_USERS,
    "body targetUserId": _PUBLIC_USERS,
    "path providerId": "every way to sign in is announced to everybody",
    "path digest": "a file of the web client, the same for everybody",
    "path path": "a file of the web client, the same for everybody",
    "query limit": "a number of items",
    "query cursor": "how far a list was read that the caller sees",
    "query since": "a moment of who asks",
    "body position": "a place in the order of messages, whether one stands there or not",
    "body from": "a place in the order of messages, whether one stands there or not",
    "body generation": "a number of who asks",
    "query kinds": "which kinds of items there are",
    "query unread": "whether the items are unread",
    "GET /me/activity query before": "a place in the order of items",
    "GET /admin/audit query before": "a place in the order of entries",
    "query actorId": _PUBLIC_USERS,
    "query action": "which actions there are",
    "query targetId": "an admin alone is told, and of groups and what is said nothing (L-4)",
    "query filter": "which of the threads that who asks follows",
    "body defaults": "levels that there are",
    "body level": "a level that there is",
    "body mutedUntil": "a moment of who asks",
    "body pausedUntil": "a moment of who asks",
    "body preview": "how much is shown",
    "body quietHours": "hours of who asks",
    "body keywords": _TYPED,
    "body urgentFrom": _PUBLIC_USERS,
    "query archived": "which of the channels that the caller sees",
    "query joined": "which of the channels that the caller sees",
    "path userId": _PUBLIC_USERS,
    "path connectionId": "a stream of who asks, which proves its session; every other id is as good as none",
    "body watch": "what happens in these places is judged when it is told (tests/stream/test_showing.py)",
    "body presenceOf": _PUBLIC_USERS,
    "body userIds": _PUBLIC_USERS,
    "body members": _PUBLIC_USERS,
    "body topic": _TYPED,
    "body description": _TYPED,
    "body reason": _TYPED,
    "body postPolicy": _TYPED,
    "body invitePolicy": _TYPED,
    "body historyFor": _TYPED,
    "body history": _TYPED,
    "query size": "the image or its thumbnail",
    "query reaction": _TYPED,
    "body reaction": _TYPED,
    "body content": _TYPED,
    "body name": _TYPED,
    "body userName": _TYPED,
    "body email": "who has an account is held to decision D-16 by tests/security/test_enumeration.py",
    "body role": _TYPED,
    "body filename": _TYPED,
    "body image": _TYPED,
    "body thumbnail": _TYPED,
    "body password": _SECRET,
    "body newPassword": _SECRET,
    "body token": _SECRET,
    "body refreshToken": _SECRET,
}
"""What names nothing that could be hidden, and why."""

WHOLE_REQUESTS: Mapping[str, str] = {
    "GET /channels/<channelId>/messages": "which encodings the client takes",
    "GET /channels/<channelId>/messages/image/<filename>": "Sec-Fetch-Dest",
    "GET /conversations/<conversationId>/messages/image/<filename>": "Sec-Fetch-Dest",
    "GET /auth/oauth/<providerId>": "the address of the client",
    "GET /auth/oauth/<providerId>/callback": "what the provider has sent along",
    "GET /metrics": "the operator's token",
    "GET /": "which encodings the browser takes",
    "GET /sw.js": "which encodings the browser takes",
    "GET /manifest.webmanifest": "which encodings and languages the browser takes",
    "GET /client/<digest>/<path:path>": "which encodings the browser takes",
}
"""Endpoints that are given the whole request, and what they read there that they don't declare."""


class Parameter(NamedTuple):
    """A parameter of an endpoint. `place` is ``path``, ``query`` or ``body``, `kind` what it may name.

    With `is_map` it is an object whose keys name it. `given` is what it holds in every question.
    """

    place: str
    name: str
    kind: str | None
    is_needed: bool
    takes_many: bool = False
    is_map: bool = False
    given: str | Callable[[], str] | None = None

    @property
    def key(self) -> str:
        """What the tables call it."""
        return f"{self.place} {self.name}"


def name_of(endpoint: Endpoint) -> str:
    """Return what an endpoint is called in tables and reports."""
    return f"{endpoint.method} {endpoint.rule}"


def parameters_of(endpoint: Endpoint) -> list[Parameter]:
    """Return all that an endpoint takes which could hold an id."""
    return [
        *(_parameter(endpoint, "path", name, is_needed=True) for name in endpoint.path_parameters),
        *(_parameter(endpoint, "query", name, is_needed=False) for name in endpoint.query),
        *(_of_body(endpoint) if endpoint.body is not None else ()),
    ]


def unknown(endpoints: Iterable[Endpoint]) -> list[str]:
    """Return what these endpoints take of which no table says what it names."""
    found = []
    known, harmless = _tables()
    for endpoint in endpoints:
        for parameter in parameters_of(endpoint):
            own = f"{name_of(endpoint)} {parameter.key}"
            if not {own, parameter.key} & (known.keys() | harmless.keys()):
                found.append(own)
        if "request" in _arguments(endpoint) and name_of(endpoint) not in _whole_requests():
            found.append(f"{name_of(endpoint)} takes the whole request")
    return found


@cache
def plugins_own() -> Sequence[ModuleType]:
    """Return what plugins say of themselves to the suite: the modules ``plugins/*/tests/hidden.py``."""
    return [_loaded(file) for file in sorted(Path(__file__).parents[2].glob("plugins/*/tests/hidden.py"))]


def _loaded(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"hidden_of_{file.parents[1].name}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def _whole_requests() -> set[str]:
    """Return the endpoints that say what they read of the whole request, those of plugins too."""
    return {*WHOLE_REQUESTS, *(name for one in plugins_own() for name in getattr(one, "WHOLE_REQUESTS", ()))}


@cache
def _tables() -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Return the two tables, with what plugins add to them."""
    known, harmless = dict(PARAMETERS), dict(HARMLESS)
    for module in plugins_own():
        known |= getattr(module, "PARAMETERS", {})
        harmless |= getattr(module, "HARMLESS", {})
    return known, harmless


def _parameter(
    endpoint: Endpoint,
    place: str,
    name: str,
    *,
    is_needed: bool,
    takes_many: bool = False,
    is_map: bool = False,
) -> Parameter:
    (known, _), key = _tables(), f"{place} {name}"
    kind = known.get(f"{name_of(endpoint)} {key}", known.get(key))
    given = _given().get(f"{name_of(endpoint)} {key}")
    return Parameter(place, name, kind, is_needed, takes_many, is_map, given)


@cache
def needed_headers() -> Mapping[str, Mapping[str, str]]:
    """Return what endpoints of plugins need in the head of a request, by endpoint."""
    return {key: one for module in plugins_own() for key, one in getattr(module, "HEADERS", {}).items()}


@cache
def needed_bodies() -> Mapping[str, bytes]:
    """Return what endpoints of plugins read by themselves that they declare no body for, by endpoint."""
    return {key: one for module in plugins_own() for key, one in getattr(module, "BODIES", {}).items()}


@cache
def by_the_moment() -> set[tuple[str, str]]:
    """Return endpoints of plugins, each with a parameter, that nobody here asks with what they need."""
    return {one for module in plugins_own() for one in getattr(module, "BY_THE_MOMENT", {})}


@cache
def _given() -> Mapping[str, str | Callable[[], str]]:
    """Return what parameters of plugins hold in every question, by endpoint and parameter."""
    return {key: value for module in plugins_own() for key, value in getattr(module, "GIVEN", {}).items()}


def _of_body(endpoint: Endpoint) -> Iterator[Parameter]:
    described = msgspec.inspect.type_info(endpoint.body)
    assert isinstance(described, msgspec.inspect.StructType)
    for field in described.fields:
        types = field.type.types if isinstance(field.type, msgspec.inspect.UnionType) else (field.type,)
        if all(isinstance(one, msgspec.inspect.BoolType | msgspec.inspect.NoneType) for one in types):
            continue
        takes_many = any(isinstance(one, msgspec.inspect.ListType) for one in types)
        is_map = any(isinstance(one, msgspec.inspect.DictType) for one in types)
        yield _parameter(
            endpoint,
            "body",
            field.encode_name,
            is_needed=field.required,
            takes_many=takes_many,
            is_map=is_map,
        )


def flags_of(endpoint: Endpoint) -> dict[str, bool]:
    """Return what a body says with yes or no and has to say, each as yes."""
    if endpoint.body is None:
        return {}
    described = msgspec.inspect.type_info(endpoint.body)
    assert isinstance(described, msgspec.inspect.StructType)
    return {
        field.encode_name: True
        for field in described.fields
        if field.required and isinstance(field.type, msgspec.inspect.BoolType)
    }


def _arguments(endpoint: Endpoint) -> set[str]:
    given = [endpoint.handler] if endpoint.first is None else [endpoint.handler, endpoint.first]
    return {name for one in given for name in inspect.signature(one).parameters}
