"""What is looked at in every event and every stream of a run, whatever the scenario was about.

A monitor only looks.  What an event may hold is judged as it comes; what needs the
whole of a run, such as a secret that is told before the answer that makes it one, is judged at the end.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Set
from typing import TYPE_CHECKING, Any

from teamchat_conformance.events import EVENTS, OF_THE_STREAM, ONCE, subject
from teamchat_conformance.expect import Answered, check_shape
from teamchat_conformance.frames import BOM, Frame, is_field, taken_apart
from teamchat_conformance.http import Exchange
from teamchat_conformance.registry import Registry
from teamchat_conformance.sse import Event, Observer
from teamchat_conformance.tally import Tally
from teamchat_conformance.verdicts import Finding

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

_MOST_SECONDS = 5.0
_HASH = re.compile(r"[0-9a-f]{32}:[0-9a-f]{128}|\$(?:scrypt|argon2|2[aby])\$|eyJ[\w-]+\.eyJ[\w-]+\.[\w-]+")
_SECRET_KEY = re.compile(r'"[^"]*(?:password|hash|refreshtoken|accesstoken)[^"]*"\s*:', re.IGNORECASE)


class Shapes:
    """EVT-…-01: every event has the payload of its type. EVT-OTHER: what the table does not know."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._tally = Tally(*(one.shape_check for one in EVENTS), "EVT-OTHER-02")
        self._wrong: list[tuple[str, str, str, Any]] = []
        self._unknown: dict[str, str] = {}
        self._extra: set[tuple[str, str]] = set()
        self._seen = 0

    def answered(self, answered: Answered, exchange: Exchange) -> None:
        """Answers are no matter here."""

    def event(self, observer: Observer, event: Event) -> None:
        """Look at an event's payload."""
        if event.type in OF_THE_STREAM:
            return
        self._seen += 1
        known = self._run.interface.events.get(event.type)
        if known is None:
            self._unknown.setdefault(str(event.type), event.data[:300])
            return
        wrong = check_shape(event.payload, known.fields, f"{event.type}'s payload")
        if wrong:
            self._wrong.append((event.type, known.shape_check, f"to {observer.name}: {wrong}", event.payload))
        else:
            self._tally.look(known.shape_check)
        self._look_at_extra(event.type, event.payload, known.fields.keys() | known.also)

    def _look_at_extra(self, kind: str, payload: Any, known: Set[str]) -> None:
        known = known | self._run.interface.fields
        names = {name for name in payload if name not in known} if isinstance(payload, dict) else set()
        new = {(kind, name) for name in names} - self._extra
        self._extra |= new
        self._tally.look("EVT-OTHER-02", odd=f"{kind} holds also {', '.join(sorted(names))}" if new else "")

    def findings(self, registry: Registry) -> Iterator[Finding]:
        """Yield what was found about each type.

        An event may come before the answer that shows that it tells of the suite's own malformed body.
        """
        spoiled = self._run.spoiled
        for kind, id, wrong, payload in self._wrong:
            is_of_settings = kind == "UPDATE_SERVER_SETTINGS" and spoiled.has_settings()
            if not is_of_settings and not spoiled.has(payload):
                self._tally.look(id, wrong)
        yield from self._tally.findings(registry)
        if self._seen and "EVT-OTHER-01" in registry.checks:
            yield Finding("EVT-OTHER-01", "recorded", value=self._unknown or "none")


class Streams:
    """SSE-FRAME and SSE-CONN: every stream of the run by its bytes, and no event twice on one."""

    _IDS = tuple(f"SSE-FRAME-{number:02}" for number in (*range(1, 10), 13))

    def __init__(self, run: Run) -> None:
        self._run = run
        self._tally = Tally(*self._IDS, "SSE-CONN-05", "SSE-ORDER-05")

    def answered(self, answered: Answered, exchange: Exchange) -> None:
        """Answers are no matter here."""

    def event(self, observer: Observer, event: Event) -> None:
        """Streams are looked at when the run is over."""

    def findings(self, registry: Registry) -> Iterator[Finding]:
        """Take every stream apart and yield what was found."""
        for observer in self._run.observers:
            if observer.status == 200:
                self._look_at(observer)
        yield from self._tally.findings(registry)

    def _look_at(self, observer: Observer) -> None:
        frames, rest = taken_apart(observer.pieces)
        messages = [frame for frame in frames if frame.data]
        self._look_at_opening(observer, messages)
        for frame in frames:
            self._look_at_lines(observer, frame)
        for frame in messages:
            self._look_at_message(observer, frame)
        cut = bool(rest) and observer.ended_properly
        self._look("SSE-FRAME-06", observer, cut and f"the stream ended within a frame: {rest[:80]!r}")
        starts = b"".join(data for _, data in observer.pieces[:3])
        self._look("SSE-FRAME-13", observer, starts.startswith(BOM) and "the stream begins with a BOM")
        self._look_at_repeats(observer)

    def _look_at_opening(self, observer: Observer, messages: list[Frame]) -> None:
        if messages:
            told = _json(messages[0])
            is_first = isinstance(told, dict) and told.get("type") == "CONNECTED"
            self._look("SSE-FRAME-01", observer, not is_first and f"first came {messages[0].data[0][:80]!r}")
            number = sum(event.type == "CONNECTED" for event in observer.events)
            self._look("SSE-CONN-05", observer, number != 1 and f"{number} times CONNECTED")

    def _look_at_lines(self, observer: Observer, frame: Frame) -> None:
        own = [line for line in frame.lines if not is_field(line, b"id") and not is_field(line, b"retry")]
        strange = [line for line in own if not line.startswith((b":", b"data: "))]
        self._look("SSE-FRAME-02", observer, strange and f"the line {strange[0][:80]!r}")
        named = any(is_field(line, b"event") for line in own)
        self._look("SSE-FRAME-04", observer, named and f"an event: field in {frame.lines[0][:80]!r}")
        if not observer.resumes:
            more = len(own) < len(frame.lines)
            odd = f"{observer.name}: an id: or retry: line in {frame.lines[0][:80]!r}" if more else ""
            self._tally.look("SSE-FRAME-05", odd=odd)
        crooked = frame.ends != {b"\n"}
        self._look("SSE-FRAME-13", observer, crooked and f"lines end with {sorted(frame.ends)}, not LF")
        try:
            b"\n".join(frame.lines).decode("utf-8")
            wrong = ""
        except UnicodeDecodeError as error:
            wrong = f"not UTF-8: {error}"
        self._look("SSE-FRAME-09", observer, wrong)

    def _look_at_message(self, observer: Observer, frame: Frame) -> None:
        number = len(frame.data)
        self._look("SSE-FRAME-03", observer, number != 1 and f"{number} data lines in one message")
        wide = any(line[6:7] in (b" ", b"\t") for line in frame.data)
        self._look("SSE-FRAME-13", observer, wide and "more than one space after data:")
        if not observer.was_held:
            took = frame.ended - frame.began
            late = took > _MOST_SECONDS * self._run.instance.timing.factor
            self._look("SSE-FRAME-06", observer, late and f"a message was {took:.1f} s on its way")
        told = _json(frame)
        right = isinstance(told, dict) and isinstance(told.get("type"), str)
        right = right and isinstance(told.get("payload"), dict)
        self._look("SSE-FRAME-07", observer, not right and f"{frame.data[0][:80]!r}")
        if right:
            more = sorted(told.keys() - {"type", "payload"})
            self._look("SSE-FRAME-08", observer, more and f"{told['type']} has also {', '.join(more)}")

    def _look_at_repeats(self, observer: Observer) -> None:
        seen: Counter[tuple[str, str]] = Counter()
        most: Counter[tuple[str, str]] = Counter()
        for event in observer.events:
            if event.type not in ONCE:
                continue
            key = event.type, subject(event.type, event.payload)
            seen[key] += 1
            most[key] = max(most[key], seen[key])
            if _loses_sight(event):  # it may be seen again, and lost again (extensions, X-6)
                seen["NEW_CHANNEL", key[1]] = 0
            elif event.type == "NEW_CHANNEL":
                seen["DELETE_CHANNEL", key[1]] = 0
        for (kind, about), number in most.items():
            self._look("SSE-ORDER-05", observer, number > 1 and f"{number} times {kind} about {about}")

    def _look(self, id: str, observer: Observer, wrong: object) -> None:
        self._tally.look(id, f"{observer.name}: {wrong}" if wrong else "")


class Secrecy:
    """SSE-DM-05 and SSE-SEC-01: no direct message where it does not belong, and no secret anywhere."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._tally = Tally("SSE-DM-05", "SSE-SEC-01")
        self._mark = re.compile(rf"tc-{re.escape(run.id)}-\d+")
        self._participants: dict[str, set[str]] = {}
        self._direct: dict[str, str] = {}
        self._public: set[str] = set()

    def answered(self, answered: Answered, exchange: Exchange) -> None:
        """Learn who takes part in which conversation, and what is said in it."""
        marks = self._mark.findall(exchange.request_body.decode("utf-8", "replace"))
        path = answered.target.partition("?")[0].split("/")
        if path[1:2] != ["conversations"] or exchange.method == "DELETE":
            self._public.update(marks)
            return
        if answered.status != 200 or exchange.method not in ("POST", "PUT"):
            return
        told = _loaded(answered.body)
        conversation = told.get("conversation") if isinstance(told, dict) else None
        if isinstance(conversation, dict):
            self._learn(conversation.get("id"), conversation.get("participants"))
        elif len(path) > 3 and isinstance(told, dict) and isinstance(told.get("message"), dict):
            place = told["message"].get("channelId")
            for mark in marks:
                self._direct.setdefault(mark, place if isinstance(place, str) else "")

    def event(self, observer: Observer, event: Event) -> None:
        """Events are looked through when the run is over."""

    def _learn_from(self, event: Event) -> None:
        """Learn who takes part, from what the participants are told."""
        if event.type in ("NEW_CONVERSATION", "NEW_DM_MESSAGE") and isinstance(event.payload, dict):
            id = event.payload.get("id" if event.type == "NEW_CONVERSATION" else "channelId")
            self._learn(id, event.payload.get("participants"))

    def _learn(self, id: Any, participants: Any) -> None:
        if isinstance(id, str) and isinstance(participants, list):
            self._participants.setdefault(id, {one for one in participants if isinstance(one, str)})

    def findings(self, registry: Registry) -> Iterator[Finding]:
        """Look through all events of all streams and yield what was found."""
        for observer in self._run.observers:
            for event in observer.events:
                self._learn_from(event)
        secret = {mark: place for mark, place in self._direct.items() if mark not in self._public and place}
        looked: set[str] = set()
        for observer in self._run.observers:
            for event in observer.events:
                if event.data not in looked:
                    looked.add(event.data)
                    self._tally.look("SSE-SEC-01", self._secret_in(event))
                self._look_for_leaks(observer, event, secret)
        yield from self._tally.findings(registry)

    def _look_for_leaks(self, observer: Observer, event: Event, secret: dict[str, str]) -> None:
        for mark in self._mark.findall(event.data):
            place = secret.get(mark)
            participants = self._participants.get(place or "")
            if place is None or not participants or not observer.user_id:
                continue
            leaked = observer.user_id not in participants
            self._tally.look(
                "SSE-DM-05", f"{event.type} told {observer.name} of {place}: {mark}" if leaked else ""
            )

    def _secret_in(self, event: Event) -> str:
        for value, label in self._run.recorder.secrets.items():
            if value in event.data:
                return f"{event.type} holds the {label}"
        if _SECRET_KEY.search(event.data.replace('\\"', "")) or _HASH.search(event.data):
            return f"{event.type} holds something like a password or a token"
        return ""


def event_monitors(run: Run) -> tuple[Shapes, Streams, Secrecy]:
    """Return the monitors of events and streams."""
    return Shapes(run), Streams(run), Secrecy(run)


def _loses_sight(event: Event) -> bool:
    """Tell whether a channel is gone for one user alone: its DELETE_CHANNEL says why."""
    has_reason = isinstance(event.payload, dict) and event.payload.get("reason")
    return event.type == "DELETE_CHANNEL" and bool(has_reason)


def _json(frame: Frame) -> Any:
    return _loaded(b"\n".join(line[5:] for line in frame.data))


def _loaded(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None
