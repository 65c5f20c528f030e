"""What belongs to other people is written nowhere.

Of what a list or an event tells, only what the run itself has made is kept.  A thing is
the run's own if its text holds the run's id, or its id came in the answer to a request that made or changed
it.  Everything else stands as ``<foreign>``, and so does what was cut off before it could be told.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from teamchat_conformance.http import Exchange

FOREIGN = "<foreign>"
_MAKING = ("POST", "PUT")
_IDS = ("id", "messageId", "parentMessageId", "threadId", "conversationId", "channelId")
_TEXTS = ("name", "userName", "email", "content")
_LEARNED_FROM = "/auth/me"
_LEAST_TEXT = 6
_BEGINNING = re.compile(r"[\[{]\s*(?=[\[{\"])")
_QUOTED = re.compile(r"""(['"])(.{6,200}?)\1""")
_MOST_UNREAD = 200


class Own:
    """Knows what the run has made."""

    def __init__(self, run_id: str, ids: Iterable[str] = ()) -> None:
        self.run_id = run_id
        self.ids = set(ids)
        self.theirs: set[str] = set()

    def learn(self, exchange: Exchange) -> None:
        """Take up the ids in the answer to a request that made something, or told who is asking."""
        makes = exchange.method in _MAKING or exchange.target == _LEARNED_FROM
        if makes and 200 <= exchange.status < 300:
            self.ids.update(_ids_in(mended(exchange.body.decode("utf-8", "replace"))))

    def learn_theirs(self, exchange: Exchange) -> None:
        """Take up from a list what others have called and written; what is the run's is known by now."""
        if exchange.method == "GET" and 200 <= exchange.status < 300 and exchange.body[:1] in (b"{", b"["):
            for thing in self._foreign_in(mended(exchange.body.decode("utf-8", "replace"))):
                texts = (thing.get(name) for name in _TEXTS)
                self.theirs.update(
                    text for text in texts if isinstance(text, str) and len(text) >= _LEAST_TEXT
                )

    def masked(self, value: Any) -> Any:
        """Return a JSON value in which what is foreign is masked."""
        if isinstance(value, list):
            return [self._masked_item(item) for item in value]
        if isinstance(value, dict):
            if any(isinstance(value.get(name), str) for name in _IDS):
                return value if self._owns(value) else FOREIGN
            return {self.masked(key): self.masked(inner) for key, inner in value.items()}
        return FOREIGN if isinstance(value, str) and value in self.theirs else value

    def body(self, text: str) -> str:
        """Return a body in which what is foreign is masked; it stays as it is when nothing is."""
        if not text.lstrip().startswith(("{", "[")):
            return text
        value = mended(text)
        if value is None:
            return text[:_MOST_UNREAD] if self._is_safe(text) else FOREIGN
        masked = self.masked(value)
        return text if masked == value else json.dumps(masked, ensure_ascii=False)

    def stream(self, text: str) -> str:
        """Return the text of an event stream with the data of foreign events masked."""
        lines = (self._data_line(line) if line.startswith("data:") else line for line in text.splitlines())
        return "\n".join(lines)

    def prose(self, text: str) -> str:
        """Return a text with JSON in it, masked where that is foreign."""
        parts, at = [], 0
        while found := _BEGINNING.search(text, at):
            end = _end(text, found.start())
            fragment = text[found.start() : end]
            value = mended(fragment)
            masked = self.masked(value)
            shown = fragment if masked == value else json.dumps(masked, ensure_ascii=False)
            parts += [text[at : found.start()], shown]
            at = end
        return _QUOTED.sub(self._unquoted, "".join([*parts, text[at:]]))

    def has_told(self, kind: Any, payload: Any) -> bool:
        """Return whether an event is about something of the run's, or about nobody's."""
        return kind == "CONNECTED" or not payload or (isinstance(payload, dict) and self._owns(payload))

    def _unquoted(self, found: re.Match[str]) -> str:
        return FOREIGN if found[2] in self.theirs else found[0]

    def _foreign_in(self, value: Any) -> Iterator[dict[str, Any]]:
        """Yield the things in lists that are not the run's."""
        if isinstance(value, dict):
            for inner in value.values():
                yield from self._foreign_in(inner)
        elif isinstance(value, list):
            for item in value:
                if isinstance(item, dict) and not self._owns(item):
                    yield item

    def _masked_item(self, item: Any) -> Any:
        return FOREIGN if isinstance(item, dict) and not self._owns(item) else self.masked(item)

    def _owns(self, thing: dict[str, Any]) -> bool:
        if any(thing.get(name) in self.ids for name in _IDS if isinstance(thing.get(name), str)):
            return True
        return self.run_id in json.dumps(thing)

    def _is_safe(self, text: str) -> bool:
        return not any(f'"{name}"' in text for name in _IDS)

    def _data_line(self, line: str) -> str:
        value = mended(line.removeprefix("data:"))
        if isinstance(value, dict) and self.has_told(value.get("type"), value.get("payload")):
            return line
        return f"data: {FOREIGN}"


def mended(text: str) -> Any:
    """Return a JSON value; of one that is cut off, as much as is whole. None if it is none at all."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    cut, closing = 0, ""
    for at, depth in _places(text):
        cut, closing = at, depth
    try:
        return json.loads(text[:cut] + closing[::-1]) if cut else None
    except (ValueError, RecursionError):
        return None


def _places(text: str) -> Iterator[tuple[int, str]]:
    """Yield where a JSON text may be cut off so that what is before is whole, with the brackets then open."""
    depth, in_string, is_escaped = "", False, False
    for at, character in enumerate(text):
        if in_string:
            if is_escaped:
                is_escaped = False
            elif character == "\\":
                is_escaped = True
            elif character == '"':
                in_string = False
        elif character == '"':
            in_string = True
        elif character in "{[":
            depth += "}" if character == "{" else "]"
            if len(depth) > 64:
                return
            yield at + 1, depth
        elif character in "}]":
            depth = depth[:-1]
            yield at + 1, depth
            if not depth:
                return
        elif character == "," and depth:
            yield at, depth


def _end(text: str, start: int) -> int:
    """Return where the JSON that begins at `start` ends, or the end of the text if it is cut off."""
    for at, depth in _places(text[start:]):
        if not depth:
            return start + at
    return len(text)


def _ids_in(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if isinstance(inner, str) and (key == "id" or key.endswith("Id")):
                yield inner
            else:
                yield from _ids_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _ids_in(inner)
