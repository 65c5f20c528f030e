"""An exchange as people read it: HTTP text, a line of curl to repeat it, and a message taken apart."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from urllib.parse import urlsplit

from teamchat_conformance.report.document import Checked, Played, Sent

_DROPPED = ("user-agent", "x-conformance-check", "x-sent", "accept-encoding", "connection", "host")
_TELLING = ("content-type", "location", "retry-after", "www-authenticate", "etag", "content-encoding")
_BY_HAND = "x-sent"
_USUAL = ("content-type", "application/json")
_MOST_IN_A_LINE = 200
_FENCE = ' fence"}'
_SENTENCE = re.compile(
    r"(?P<sent>[A-Z]+ /\S* by .{1,60}?): (?P<wanted>.+?); got (?P<got>(?:\d{3}|nothing)\b.*)\Z", re.DOTALL
)


@dataclass(frozen=True)
class Sentence:
    """A message: what was sent, wanted and got; or `got` alone, if it does not say so much."""

    sent: str
    wanted: str
    got: str


def taken_apart(message: str) -> Sentence:
    """Take the message of a miss apart."""
    found = _SENTENCE.match(message)
    return Sentence(found["sent"], found["wanted"], found["got"]) if found else Sentence("", "", message)


def failing(played: Played, check: Checked) -> Sent | None:
    """Return the exchange that showed the fault, if it is known which."""
    return played.exchange(check.decisive.failing) if check.decisive else None


def telling(played: Played, check: Checked) -> list[Sent]:
    """Return the exchanges that a check is about: first the one that failed, then those that led to it.

    Where it is not known which failed: those that the message names, else all but the fences.
    """
    numbers = check.decisive.exchanges if check.decisive else []
    found = [sent for number in numbers if (sent := played.exchange(number))]
    if last := failing(played, check):
        before = [sent for sent in found if sent.number < last.number and not _is_fence(sent)]
        return [last, *reversed(before)]
    said = taken_apart(check.message).sent
    named = [sent for sent in found if said and said.startswith(f"{sent.method} {sent.target} ")]
    return (named or [sent for sent in found if not _is_fence(sent)] or found)[::-1]


def _is_fence(sent: Sent) -> bool:
    return sent.request_body.endswith(_FENCE)


def sent_line(sent: Sent) -> str:
    """Return a request in one line, with the headers and the body that make it what it is."""
    said = [f"{sent.method} {sent.target} by {sent.actor}"]
    odd = [f"{name}: {value}" for name, value in sent.request_headers if _matters(sent, name.lower(), value)]
    if odd:
        said.append(f"with {'; '.join(odd)}")
    if sent.request_body:
        said.append(f"sending {cut(sent.request_body, _MOST_IN_A_LINE)}")
    return " ".join(said)


def _matters(sent: Sent, name: str, value: str) -> bool:
    """Return whether a header is another than every request of the same kind has."""
    if name == "authorization":
        return not (value.startswith("Bearer <access token") and not sent.actor.startswith("nobody"))
    return name not in (*_DROPPED, "content-length", "accept") and (name, value) != _USUAL


def request_text(sent: Sent, most: int, *, is_brief: bool = False) -> str:
    """Return the request as HTTP text; a brief one without the headers that all requests have."""
    headers = [pair for pair in sent.request_headers if not is_brief or pair[0].lower() not in _DROPPED]
    head = [f"{sent.method} {sent.target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers)]
    return "\n".join(head) + _body(sent.request_body, most)


def response_text(sent: Sent, most: int, *, is_brief: bool = False) -> str:
    """Return the answer as HTTP text; a brief one with the headers alone that may matter."""
    if not sent.status:
        return f"no answer{f' ({sent.failure})' if sent.failure else ''}"
    headers = [pair for pair in sent.headers if not is_brief or pair[0].lower() in _TELLING]
    head = [f"HTTP/1.1 {sent.status}", *(f"{name}: {value}" for name, value in headers)]
    return "\n".join(head) + _body(sent.body, most)


def curl(sent: Sent, base_url: str) -> str:
    """Return a line of curl that asks the same. Secrets stand in it as their labels, to be put in."""
    if any(name.lower() == _BY_HAND for name, _ in sent.request_headers):
        return ""
    parts = ["curl", "-sS", "-i"]
    if sent.target.partition("?")[0].endswith("/events"):
        parts.append("-N")
    if sent.method != "GET":
        parts += ["-X", sent.method]
    for name, value in sent.request_headers:
        if name.lower() not in _DROPPED:
            parts += ["-H", f"{name}: {value}"]
    if sent.request_body:
        parts += ["--data-raw", sent.request_body]
    return " ".join(map(_quoted, [*parts, _address(base_url, sent.target)]))


def brief(value: object, most: int) -> str:
    """Return a JSON value in one line, cut."""
    return cut(json.dumps(value, ensure_ascii=False), most)


def cut(text: str, most: int) -> str:
    """Return a text of at most so many characters and a remark."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text)} characters)"


def _body(body: str, most: int) -> str:
    return f"\n\n{cut(body, most)}" if body else ""


def _address(base_url: str, target: str) -> str:
    """Return the address; the target of a stream holds the path of the base already."""
    base = urlsplit(base_url.rstrip("/"))
    has_path = base.path and target.startswith(f"{base.path}/")
    return f"{base.scheme}://{base.netloc}{'' if has_path else base.path}{target}"


def _quoted(text: str) -> str:
    """Quote for a shell; what could not be typed goes as an escape of bash's."""
    if all(character.isprintable() for character in text):
        return shlex.quote(text)
    escaped = "".join(_escaped(character) for character in text)
    return f"$'{escaped}'"


def _escaped(character: str) -> str:
    if character in "\\'":
        return f"\\{character}"
    if character.isprintable():
        return character
    return "".join(f"\\x{byte:02x}" for byte in character.encode())
