"""From what a run has recorded to what may be written: the one door through which everything goes."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable
from typing import Any

from teamchat_conformance.instance import Instance
from teamchat_conformance.report.foreign import FOREIGN, Own
from teamchat_conformance.report.redaction import Redactor
from teamchat_conformance.runner import Result
from teamchat_conformance.sse import Event

GIVEN = "<given>"
_STRANGE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffd]")
_SECRET_KEYS = ("password", "access_token", "client_secret")
_SHOWN_TYPES = (
    "text/",
    "application/json",
    "application/x-www-form-urlencoded",
    "image/svg+xml",
    "application/xml",
)


class Cleaner:
    """Cleans what one run has recorded."""

    def __init__(self, result: Result) -> None:
        providers = (one.id for one in result.instance.oauth.provider)
        self._own = Own(result.run_id, providers)
        for exchange in result.recorder.exchanges:
            self._own.learn(exchange)
        for exchange in result.recorder.exchanges:
            self._own.learn_theirs(exchange)
        self._redactor = Redactor({**_given(result.instance), **result.recorder.secrets})

    def text(self, text: str) -> str:
        """Return a sentence, in which there may be JSON."""
        return self._redactor.text(self._own.prose(written(text)))

    def target(self, target: str) -> str:
        """Return the path and query of a request."""
        return self._redactor.text(written(target))

    def output(self, text: str) -> str:
        """Return what a server that the suite has started has written."""
        return self._redactor.text(written(text))

    def value(self, value: Any) -> Any:
        """Return a value that was written down, as JSON."""
        try:
            plain = json.loads(json.dumps(value, default=_plain))
        except (TypeError, ValueError, RecursionError):
            return self.text(repr(value))
        return self._walk(self._own.masked(plain))

    def sent(self, body: bytes) -> str:
        """Return the body of a request."""
        text = _decoded(body, "")
        return self._redactor.text(text) if text is not None else f"<{len(body)} bytes>"

    def got(self, body: bytes, media_type: str) -> str:
        """Return the body of an answer."""
        text = _decoded(body, media_type)
        if text is None:
            return f"<{len(body)} bytes of {media_type or 'no type'}>"
        is_stream = media_type == "text/event-stream" or text.startswith("data:")
        return self._redactor.text(self._own.stream(text) if is_stream else self._own.body(text))

    def headers(self, headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        """Return headers."""
        return [(written(name), self._redactor.header(name, written(value))) for name, value in headers]

    def event(self, event: Event) -> tuple[str, Any]:
        """Return type and payload of an event."""
        if not self._own.has_told(event.type, event.payload):
            return FOREIGN, None
        return self._redactor.text(written(str(event.type))), self._walk(event.payload)

    def instance(self, instance: Instance) -> dict[str, Any]:
        """Return the description of the server, without its secrets."""
        tree: dict[str, Any] = self._walk(_without_secrets(dataclasses.asdict(instance)))
        return tree

    def _walk(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._redactor.text(written(value))
        if isinstance(value, dict):
            return {self._walk(str(key)): self._named(str(key), inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self._walk(item) for item in value]
        return value

    def _named(self, key: str, value: Any) -> Any:
        """Return the value of a key, which may tell that it is a secret."""
        if not isinstance(value, str):
            return self._walk(value)
        pair = self._redactor.text(json.dumps({key: written(value)}))
        try:
            return next(iter(json.loads(pair).values()))
        except (ValueError, AttributeError):
            return "<secret>"


def written(text: str) -> str:
    """Return a text that can be written as UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _decoded(body: bytes, media_type: str) -> str | None:
    """Return a body as text, or None if it is none."""
    if media_type and not media_type.startswith(_SHOWN_TYPES):
        return None
    text = body.decode("utf-8", "replace")
    strange = len(_STRANGE.findall(text))
    return None if strange > max(4, len(text) // 10) else text


def _given(instance: Instance) -> dict[str, str]:
    """Return the secrets in a description."""
    found = {
        instance.admin.password: "password of the admin",
        instance.admin.access_token: "access token of the admin",
        instance.mail.password: "password of the mail account",
        **{one.client_secret: f"client secret of {one.id}" for one in instance.oauth.provider},
        **{value: f"environment {name}" for name, value in instance.launch.env.items() if len(value) > 15},
    }
    return {value: label for value, label in found.items() if value}


def _without_secrets(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        if key in ("env", "config", "profiles"):
            return dict.fromkeys(value, GIVEN)
        return {name: _without_secrets(inner, name) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_without_secrets(item) for item in value]
    return GIVEN if key in _SECRET_KEYS and value else value


def _plain(value: Any) -> Any:
    """Return what JSON does not know as something that it knows."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    return str(value)
