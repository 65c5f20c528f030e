"""Posts that are sent again under their Idempotency-Key (decision D-07b)."""

from __future__ import annotations

from typing import Any

from conformance.tests.fake.asking import Ask, Refusal

_PLACES = ("/messages", "/thread")


class Repeats:
    """What was answered to posts with a key, by who sent them."""

    def __init__(self) -> None:
        self._answered: dict[tuple[str, str], tuple[str, bytes, Any]] = {}

    def find(self, ask: Ask) -> Any:
        """Return what was answered to the same post, or None. Raises `Refusal` if it was another."""
        if (name := _name(ask)) is None or ask.fake.has("keys-ignored"):
            return None
        path, body, told = self._answered.get(name, ("", b"", None))
        is_same = (path, body) == (ask.request.path, ask.request.body)
        if told is not None and not is_same and not ask.fake.has("key-takes-any-body"):
            raise Refusal(400, "The Idempotency-Key belongs to another request")
        return told

    def keep(self, ask: Ask, told: Any) -> None:
        """Keep what was answered."""
        if (name := _name(ask)) is not None:
            self._answered[name] = (ask.request.path, ask.request.body, told)


def _name(ask: Ask) -> tuple[str, str] | None:
    key = ask.request.headers.get("idempotency-key")
    if key is None or ask.fake.contrary or ask.asker is None or not ask.request.path.endswith(_PLACES):
        return None
    who = "anybody" if ask.fake.has("keys-of-anybody") else ask.user.id
    return (who, key) if ask.request.method == "POST" else None
