"""Faults of the event stream."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from conformance.tests.proxy.asking import Fault
from conformance.tests.proxy.streams import Frame, Listener


def silent(kind: str) -> Fault:
    """Never send an event of this type."""
    return _of(f"no {kind} comes", kind, lambda _, __: [])


def twice(kind: str) -> Fault:
    return _of(f"{kind} comes twice", kind, lambda _, frame: [frame, frame])


def eventless(kind: str, field: str) -> Fault:
    """Leave a field of the payload out."""
    return _of(
        f"{kind} without {field}",
        kind,
        lambda _, frame: [frame.telling({k: v for k, v in frame.payload.items() if k != field})],
    )


def retold(name: str, kind: str, change: Callable[[Any], Any]) -> Fault:
    """Tell an event otherwise: `change` gets a payload of its own, and returns another."""
    return _of(name, kind, lambda _, frame: [frame.telling(change(json.loads(json.dumps(frame.payload))))])


def public(kind: str) -> Fault:
    """Send an event to everybody who listens."""

    def hear(listener: Listener, frame: Frame) -> list[Frame]:
        for other in listener.others:
            if frame.data not in other.heard and other.user_id != listener.user_id:
                other.heard.add(frame.data)
                listener.send_to_others.append((other, frame))
        if frame.data in listener.heard:
            return []
        listener.heard.add(frame.data)
        return [frame]

    return _of(f"{kind} comes to everybody", kind, hear)


def reordered(kind: str) -> Fault:
    """Send the first event of a type after the second."""

    def hear(listener: Listener, frame: Frame) -> list[Frame]:
        if listener.held:
            return [frame, listener.held.pop()]
        if listener.heard:
            return [frame]
        listener.heard.add(frame.data)
        listener.held.append(frame)
        return []

    return _of(f"{kind} comes out of order", kind, hear)


def deaf() -> Fault:
    """Send nothing to a user's second stream but the beginning."""

    def hear(listener: Listener, frame: Frame) -> list[Frame]:
        is_deaf = any(one.user_id == listener.user_id for one in listener.others[: _place(listener)])
        return [] if is_deaf and frame.type not in ("", "CONNECTED") else [frame]

    return Fault("a user's second stream is deaf", hear=hear)


def resuming(name: str, change: Callable[[Frame], list[Frame]]) -> Fault:
    """Change the first event that a resumed stream repeats."""

    def hear(listener: Listener, frame: Frame) -> list[Frame]:
        is_first = listener.resumes and frame.type not in ("", "CONNECTED") and not listener.held
        if is_first:
            listener.held.append(frame)
        return change(frame) if is_first else [frame]

    return Fault(name, hear=hear)


def preceded(kind: str, told: str, change: Callable[[Any], Any]) -> Fault:
    """Tell an event of the type `told` before each of another type, with a payload made from that one's."""
    return _of(
        f"{told} comes before {kind}", kind, lambda _, frame: [Frame.of(told, change(frame.payload)), frame]
    )


def framed(name: str, change: Callable[[Frame], bytes], kind: str = "") -> Fault:
    """Write every event otherwise."""

    def hear(listener: Listener, frame: Frame) -> list[Frame]:
        is_meant = frame.type == kind if kind else bool(frame.type)
        return [replace(frame, raw=change(frame))] if is_meant else [frame]

    return Fault(name, hear=hear)


def _of(name: str, kind: str, change: Callable[[Listener, Frame], list[Frame]]) -> Fault:
    def hear(listener: Listener, frame: Frame) -> list[Frame]:
        return change(listener, frame) if frame.type == kind else [frame]

    return Fault(name, hear=hear)


def _place(listener: Listener) -> int:
    return next(number for number, one in enumerate(listener.others) if one is listener)
