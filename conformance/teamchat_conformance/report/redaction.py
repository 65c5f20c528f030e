"""What is a secret is written nowhere.

A value that the recorder knows stands in no report, in none of the forms in which it
may go over the wire, not even cut off in the middle; and what only looks like a secret, by the name it bears
or by its form, is taken for one.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from urllib.parse import quote, quote_plus

_HEAD = 8
_LEAST_PART = 12
_NAMES = (
    "password|newPassword|currentPassword|token|accessToken|refreshToken|access_token|refresh_token|id_token"
    "|client_secret|clientSecret|code|code_verifier|state|jwtSecret"
)
_NAMED = re.compile(rf"""(\\?["'](?:{_NAMES})\\?["']\s*:\s*\\?["'])(?!<)((?:[^"'\\]|\\[^"'])""" + r"{8,})")
_IN_QUERY = re.compile(rf"((?:[?&#]|^)(?:{_NAMES}|client_id_secret)=)(?!<|%3C)([^&\s\"'<>]{{8,}})")
_JWT = re.compile(r"eyJ[\w-]{8,}(?:\.[\w-]*){0,2}")
_TOKEN_CHARACTERS = re.compile(r"[\w~%+/=-]*(?:\.[\w~%+/=-]+)*")
_CREDENTIAL = re.compile(r"(\w+\s+)?(?!<)(\S{16,})\Z")
_COOKIE = re.compile(r"((?:^|;\s*)[^=;]+=)([^;]{8,})")


class Redactor:
    """Replaces secrets by their labels. `secrets` maps a value to its label, without brackets."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self._by_head: dict[str, list[tuple[str, str]]] = {}
        for value, label in secrets.items():
            if len(value) < _HEAD:
                continue
            for form in dict.fromkeys(_forms(value)):
                self._by_head.setdefault(form[:_HEAD], []).append((form, label))
        for forms in self._by_head.values():
            forms.sort(key=lambda pair: -len(pair[0]))
        self._heads = self._pattern()
        self._headers: dict[tuple[str, str], str] = {}

    def text(self, text: str) -> str:
        """Return a text without secrets."""
        known = "".join(self._without_known(text))
        named = _NAMED.sub(r"\1<secret>", _JWT.sub("<token>", known))
        return _IN_QUERY.sub(r"\1<secret>", named)

    def header(self, name: str, value: str) -> str:
        """Return a header's value without secrets; cookies and credentials are secrets whatever they are."""
        key = (name.lower(), value)
        if key not in self._headers:
            self._headers[key] = self._clean_header(*key)
        return self._headers[key]

    def _clean_header(self, name: str, value: str) -> str:
        value = self.text(value)
        match name:
            case "authorization" | "proxy-authorization":
                return _CREDENTIAL.sub(lambda found: f"{found[1] or ''}<credential>", value)
            case "cookie":
                return _COOKIE.sub(r"\1<cookie>", value)
            case "set-cookie":
                pair, semicolon, rest = value.partition(";")
                return _COOKIE.sub(r"\1<cookie>", pair) + semicolon + rest
        return value

    def _pattern(self) -> re.Pattern[str]:
        """Return what finds the places where a secret may begin, by its first two characters."""
        starts = sorted({head[:2] for head in self._by_head})
        return re.compile("|".join(map(re.escape, starts)) or "(?!)")

    def _without_known(self, text: str) -> Iterator[str]:
        done = at = 0
        while found := self._heads.search(text, at):
            start = found.start()
            end, label = self._secret_at(text, start)
            if end:
                yield text[done:start]
                yield f"<{label}>"
                done = at = end
            else:
                at = start + 1
        yield text[done:]

    def _secret_at(self, text: str, start: int) -> tuple[int, str]:
        """Return where the secret that begins here ends, and its label; or 0."""
        forms = self._by_head.get(text[start : start + _HEAD], ())
        for form, label in forms:
            if text.startswith(form, start):
                return start + len(form), label
        for form, label in forms:
            common = _common(form, text, start)
            if common >= _LEAST_PART and (common >= len(form) / 4 or start + common == len(text)):
                rest = _TOKEN_CHARACTERS.match(text, start + common)
                return (rest.end() if rest else start + common), label
        return 0, ""


def _forms(value: str) -> Iterator[str]:
    """Yield the forms in which a value may be written."""
    yield value
    yield json.dumps(value)[1:-1]
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    encoded = value.encode("utf-8", "replace")
    yield quote(encoded, safe="")
    yield quote(encoded)
    yield quote_plus(encoded)
    yield base64.b64encode(encoded).decode().rstrip("=")


def _common(form: str, text: str, start: int) -> int:
    """Return how many characters of a form stand in a text from `start` on."""
    low, high = 0, len(form)
    while low < high:
        middle = (low + high + 1) // 2
        if text.startswith(form[:middle], start):
            low = middle
        else:
            high = middle - 1
    return low
