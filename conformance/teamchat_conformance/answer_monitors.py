"""The monitors of answers: their form, the form of errors, and what must never stand in them.

Nothing is judged here but answers of endpoints that the interface has, save where a
check says "every answer"; and a list of other people's things is looked at for its form alone, never kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from teamchat_conformance.endpoints import ENDPOINTS, Endpoint, Known
from teamchat_conformance.expect import Answered, any_text, check_shape, milliseconds, text
from teamchat_conformance.http import Exchange
from teamchat_conformance.registry import Registry
from teamchat_conformance.sse import Event, Observer
from teamchat_conformance.tally import Tally
from teamchat_conformance.verdicts import Finding

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

IDS = frozenset(
    ("id", "channelId", "threadId", "userId", "messageId", "parentMessageId", "conversationId", "createdBy")
)
"""Fields that hold an id wherever they stand (interface, part 2)."""

TIMES = frozenset(("createdAt", "updatedAt", "lastReplyAt", "lastMessageAt"))
"""Fields that hold epoch milliseconds wherever they stand (interface, part 2)."""

_MAY_BE_NULL = frozenset({"updatedAt", "lastMessageAt"})
_NAMED = frozenset({200, 302, 400, 401, 403, 404, 429, 500})
_ODD = frozenset({405, 413, 414, 415, 431})
_OF_CAPABILITIES = frozenset({409, 410, 412, 416, 460, 507})
"""What the endpoints of capabilities may answer besides (X-12)."""

_LEAKS = re.compile(
    r"Traceback|File \"|\bat \S+:\d+:\d+|/(?:usr|home|var|opt|etc|root|srv)/\S+|[A-Za-z]:\\\\\w+"
    r"|\b(?:SELECT|INSERT INTO|UPDATE|DELETE FROM)\b.+\b(?:FROM|VALUES|SET|WHERE)\b|SQLITE|sqlite3?\b|psycopg"
    r"|node_modules|site-packages|\.(?:py|js|ts|go|rs|java):\d+|\b[A-Z]\w+(?:Error|Exception)\b"
)
_PASSWORD_KEY = re.compile(r"password_?hash|pwd_?hash|hashed_?password|\bhash\b|\bsalt\b|\Apassword\Z", re.I)
_HASH = re.compile(
    rb"[:$.](?:[0-9a-fA-F]{128}(?<=[0-9a-fA-F]{32}[:$.][0-9a-fA-F]{128})"
    rb"|(?<=\$)(?i:2[abxy]|argon2(?:id|i|d)|scrypt|pbkdf2[\w-]*|5|6|7)\$)"
)
"""What kept passwords look like; it begins with what is rare, since everything is looked through."""
_KEY = re.compile(rb'"([^"\\]{1,40})"\s*:')
_SHORTEST_LEAK = 4
_MESSAGE = {
    "id": text,
    "channelId": text,
    "author": {"id": text, "userName": text},
    "content": any_text,
    "createdAt": milliseconds,
}


def walk(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every field of a JSON value with its name; items of an array bear the array's name.

    The keys of ``reactions`` are people's texts, so nothing beneath them is yielded.
    """
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name, inner
            if name != "reactions":
                yield from walk(inner, name)
    elif isinstance(value, list):
        for inner in value:
            if not isinstance(inner, dict | list):
                yield f"{key}[]", inner
            yield from walk(inner, key)


def wrong_id(name: str, value: Any) -> str:
    """Tell what is wrong with a field that holds an id, or nothing."""
    if name in IDS or name == "participants[]":
        return "" if text(value) else f"{name} is {json.dumps(value)[:80]}, no id"
    return ""


def wrong_time(name: str, value: Any) -> str:
    """Tell what is wrong with a field that holds a time, or nothing."""
    if name not in TIMES or milliseconds(value) or (value is None and name in _MAY_BE_NULL):
        return ""
    return f"{name} is {json.dumps(value)[:80]}, no epoch milliseconds"


class _Form:
    """GEN-HTTP-01 to -05 and GEN-FIELD-01: the form of answers, and of what events hold."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._tally = Tally(*(f"GEN-HTTP-0{n}" for n in range(1, 6)), "GEN-FIELD-01")
        self._extra: set[str] = set()
        self._seen: set[tuple[object, ...]] = set()
        self.findings = self._tally.findings

    def answered(self, answered: Answered, exchange: Exchange) -> None:
        endpoint = self._run.interface.find(answered.method, answered.target)
        if endpoint is None or self._is_known(
            endpoint.name, answered.status, answered.header("content-type"), hash(answered.body)
        ):
            return
        number = exchange.number
        if 200 <= answered.status < 300:
            wrong = (
                "" if answered.status in endpoint.successes else f"{endpoint.name} answers {answered.status}"
            )
            self._tally.look("GEN-HTTP-01", wrong, exchange=number)
        has_nothing = answered.status == 204 and not answered.body
        if has_nothing or answered.is_of_the_http_layer or not _is_json(endpoint, answered):
            return
        self._tally.look("GEN-HTTP-02", _wrong_media(endpoint, answered), exchange=number)
        told, wrong = _json_of(endpoint, answered)
        self._tally.look("GEN-HTTP-03", wrong, exchange=number)
        if answered.status == 200 and not wrong:
            self._fields(told, endpoint.name, number)
            self._look_for_extra(endpoint, told, number)

    def event(self, observer: Observer, event: Event) -> None:
        if not self._is_known(event.type, hash(event.data)):
            self._fields(event.payload, f"{event.type} to {observer.name}", 0)

    def _is_known(self, *what: object) -> bool:
        """Return whether the same was looked at before: what comes again is no better and no worse."""
        if what in self._seen:
            return True
        self._seen.add(what)
        return False

    def _fields(self, told: Any, where: str, number: int) -> None:
        for name, value in walk(told):
            if name == "threadId" and value is None:
                continue
            if name in IDS or name == "participants[]":
                self._say("GEN-HTTP-04", where, wrong_id(name, value), number)
            elif name in TIMES:
                self._say("GEN-HTTP-05", where, wrong_time(name, value), number)

    def _say(self, id: str, where: str, wrong: str, number: int) -> None:
        self._tally.look(id, f"{where}: {wrong}" if wrong else "", exchange=number)

    def _look_for_extra(self, endpoint: Endpoint, told: Any, number: int) -> None:
        if endpoint.known is None:
            return
        extra = (
            name
            for name in _extra(told, endpoint.known)
            if name.rpartition(".")[2] not in self._run.interface.fields
        )
        new = {f"{endpoint.name} has {name}" for name in extra} - self._extra
        self._extra |= new
        self._tally.look("GEN-FIELD-01", odd="; ".join(sorted(new)), exchange=number)


def _is_json(endpoint: Endpoint, answered: Answered) -> bool:
    """Return whether an answer is one that the interface wants to be JSON."""
    if 300 <= answered.status < 400 or answered.method == "HEAD":
        return False
    return endpoint.kind == "json" or answered.status >= 400


def _wrong_media(endpoint: Endpoint, answered: Answered) -> str:
    given = answered.header("content-type") or ""
    charset = re.search(r";\s*charset=\"?([^\s;\"]+)", given, re.I)
    if answered.media_type != "application/json":
        return f"{endpoint.name} answers {answered.status} as {given or 'nothing'}"
    if charset and charset[1].lower() != "utf-8":
        return f"{endpoint.name} answers in {charset[1]}"
    return ""


def _json_of(endpoint: Endpoint, answered: Answered) -> tuple[Any, str]:
    told, wrong = _read(answered.body)
    return told, f"{endpoint.name} answers {answered.status} with no JSON in UTF-8 ({wrong})" if wrong else ""


@lru_cache(maxsize=4)
def _read(body: bytes) -> tuple[Any, str]:
    """Return a body as JSON, and what keeps it from being any; each monitor asks for the same."""
    try:
        return json.loads(body.decode("utf-8"), parse_constant=_refuse), ""
    except (ValueError, RecursionError) as error:
        return None, str(error) or type(error).__name__


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _extra(told: Any, known: Known, prefix: str = "") -> Iterator[str]:
    """Yield the names of fields that no table has; names that begin with x are anyone's."""
    for one in told if isinstance(told, list) else [told]:
        if not isinstance(one, dict):
            continue
        for name, value in one.items():
            if name not in known:
                if not name.lower().startswith("x"):
                    yield prefix + name
            elif known[name] is not None:
                yield from _extra(value, known[name], f"{prefix}{name}.")


class _Errors:
    """ERR-SHAPE, ERR-CODE and ERR-LEAK-01: what errors look like, and which there are."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._secrets = run.recorder.secrets
        self._tally = Tally(
            *(f"ERR-SHAPE-0{n}" for n in (1, 2, 3, 5)),
            "ERR-CODE-01", "ERR-CODE-02", "ERR-CODE-03", "ERR-LEAK-01",
        )  # fmt: skip
        self.findings = self._tally.findings

    def answered(self, answered: Answered, exchange: Exchange) -> None:
        endpoint = self._run.interface.find(answered.method, answered.target)
        if endpoint is None:
            return
        self._status(endpoint, answered, exchange)
        if answered.status >= 400:
            if not answered.is_of_the_http_layer:
                self._shape(endpoint, answered)
            self._leak(endpoint, answered, exchange)

    def event(self, observer: Observer, event: Event) -> None:
        """Events are no errors."""

    def _status(self, endpoint: Endpoint, answered: Answered, exchange: Exchange) -> None:
        said = f"{endpoint.name} answers {answered.status}"
        is_odd = answered.status in _ODD or answered.is_of_the_http_layer
        is_known = (
            answered.status in _NAMED
            or (answered.status == 304 and endpoint.kind == "image")
            or (answered.status in _OF_CAPABILITIES and endpoint not in ENDPOINTS)
        )
        self._tally.look(
            "ERR-CODE-01",
            "" if is_known or is_odd or answered.status in endpoint.successes else said,
            odd=said if is_odd else "",
            exchange=answered.exchange,
        )
        id = "ERR-CODE-02" if endpoint.is_well_formed(exchange.request_body) else "ERR-CODE-03"
        self._tally.look(id, said if answered.status >= 500 else "", exchange=answered.exchange)

    def _shape(self, endpoint: Endpoint, answered: Answered) -> None:
        if answered.method == "HEAD":  # It has no body (RFC 9110, section 9.3.2).
            return
        told, wrong = _json_of(endpoint, answered)
        said = f"{endpoint.name} answers {answered.status}"
        is_error = isinstance(told, dict) and text(told.get("error"))
        for id in ("ERR-SHAPE-01", "ERR-SHAPE-05") if answered.status == 429 else ("ERR-SHAPE-01",):
            self._look(id, answered, "" if is_error else f"{said} without the text error {wrong}")
        has_one = isinstance(told, dict) and len(told) == 1
        self._look("ERR-SHAPE-02", answered, "" if has_one else f"{said} with other fields than one")
        self._look("ERR-SHAPE-03", answered, _wrong_media(endpoint, answered))

    def _leak(self, endpoint: Endpoint, answered: Answered, exchange: Exchange) -> None:
        told = answered.body.decode("utf-8", "replace")
        asked = unquote(exchange.target) + exchange.request_body.decode("utf-8", "replace")
        found = [
            leak[0]
            for leak in _LEAKS.finditer(told)
            if leak[0] not in asked and len(leak[0]) > _SHORTEST_LEAK
        ]
        found += [label for value, label in self._secrets.items() if value in told and value not in asked]
        wrong = (
            f"{endpoint.name} answers {answered.status} and tells {', '.join(found)[:160]}" if found else ""
        )
        self._look("ERR-LEAK-01", answered, wrong)

    def _look(self, id: str, answered: Answered, wrong: str) -> None:
        self._tally.look(id, wrong, exchange=answered.exchange)


_DESCRIPTION = "GET /openapi.json"
"""What describes the interface names the fields of requests too; it may hold no password all the same."""


class _Secrets:
    """PWD-LEAK-01, OAUTH-PROV-06 and HOOK-POST-14: what must stand in no answer and no event.

    An event may come before the answer that makes a webhook's token known, so for tokens all events are
    looked through again when the run is over.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._tally = Tally("PWD-LEAK-01", "OAUTH-PROV-06", "HOOK-POST-14")
        self._webhook_tokens: set[bytes] = set()
        self._configured = [one.client_secret for one in run.instance.oauth.provider if one.client_secret]
        self._passwords: list[bytes] = []
        self._providers: list[bytes] = []
        self._known = -1
        self._seen: set[tuple[int, ...]] = set()

    def answered(self, answered: Answered, exchange: Exchange) -> None:
        endpoint = self._run.interface.find(answered.method, answered.target)
        if endpoint is not None and endpoint.kind == "image" and answered.status == 200:
            return
        headers = "\n".join(value for _, value in answered.headers).encode("latin1", "replace")
        where = f"{answered.method} {answered.target.partition('?')[0]}"
        self._look(where, answered.body, headers, exchange.number)
        if endpoint is not None and endpoint.name == "POST /webhooks" and answered.status == 200:
            self._learn(answered)

    def event(self, observer: Observer, event: Event) -> None:
        self._look(f"{event.type} to {observer.name}", event.data.encode(), b"", 0)

    def findings(self, registry: Registry) -> Iterator[Finding]:
        """Look through all events for tokens, and yield what was found."""
        if self._webhook_tokens:
            told: dict[str, str] = {}
            for observer in self._run.observers:
                for event in observer.events:
                    told.setdefault(event.data, f"{event.type} to {observer.name}")
            for data, where in told.items():
                self._find("HOOK-POST-14", where, data.encode(), self._webhook_tokens, 0)
        yield from self._tally.findings(registry)

    def _look(self, where: str, data: bytes, headers: bytes, number: int) -> None:
        """Look for secrets, unless the same was looked at and none has become known since."""
        self._sort_secrets()
        key = hash(data), len(self._passwords), len(self._providers), len(self._webhook_tokens)
        if key in self._seen:
            data = b""
        self._seen.add(key)
        data += b"\n" + headers
        self._tally.look("PWD-LEAK-01", self._password(where, data), exchange=number)
        if self._configured:
            self._find("OAUTH-PROV-06", where, data, self._providers, number)
        if self._webhook_tokens and number:
            self._find("HOOK-POST-14", where, data, self._webhook_tokens, number)

    def _sort_secrets(self) -> None:
        """Sort the secrets of the run by what they are, if there are more of them than there were."""
        secrets = self._run.recorder.secrets
        if len(secrets) != self._known:
            self._known = len(secrets)
            labelled = [(value.encode("utf-8", "replace"), label) for value, label in secrets.items()]
            self._passwords = [value for value, label in labelled if label.startswith("password")]
            self._providers = [value for value, label in labelled if label.startswith("provider")]
            self._providers += [one.encode() for one in self._configured]

    def _find(self, id: str, where: str, data: bytes, values: Iterable[bytes], number: int) -> None:
        wrong = f"{where} tells a secret" if any(value in data for value in values) else ""
        self._tally.look(id, wrong, exchange=number)

    def _password(self, where: str, data: bytes) -> str:
        names_fields = where == _DESCRIPTION
        keys = {key.decode("utf-8", "replace") for key in _KEY.findall(data) if not names_fields}
        if named := [key for key in keys if _PASSWORD_KEY.search(key)]:
            return f"{where} has a field {named[0]}"
        if _HASH.search(data):
            return f"{where} holds what looks like a hash"
        if any(value in data for value in self._passwords):
            return f"{where} holds a password"
        return ""

    def _learn(self, answered: Answered) -> None:
        told, _ = _read(answered.body)
        webhook = told.get("webhook") if isinstance(told, dict) else None
        token = webhook.get("token") if isinstance(webhook, dict) else None
        if text(token):
            self._webhook_tokens.add(str(token).encode())


class _Messages:
    """MSG-FORM-01: every message in a list has the fields of a message."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._spoiled = run.spoiled
        self._tally = Tally("MSG-FORM-01")
        self.findings = self._tally.findings

    def answered(self, answered: Answered, exchange: Exchange) -> None:
        endpoint = self._run.interface.find(answered.method, answered.target)
        if endpoint is None or answered.status != 200 or endpoint.known is None or endpoint.method != "GET":
            return
        for key in endpoint.known.keys() & {"messages", "replies"}:
            told, _ = _json_of(endpoint, answered)
            for message in told.get(key) or () if isinstance(told, dict) else ():
                if self._spoiled.has(message):
                    continue
                wrong = check_shape(message, _MESSAGE, "a message")
                self._tally.look("MSG-FORM-01", wrong, exchange=exchange.number)

    def event(self, observer: Observer, event: Event) -> None:
        """Events have monitors of their own."""


def answer_monitors(run: Run) -> tuple[Any, ...]:
    """Return the monitors of answers."""
    return _Form(run), _Errors(run), _Secrets(run), _Messages(run)
