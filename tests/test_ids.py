"""Ids sort by the time they were made, look like UUIDv7, and can't be guessed from one another (D-07)."""

from __future__ import annotations

import uuid

import pytest

from teamchat.model import ids


def test_d07_ids_made_in_one_millisecond_are_in_order_and_distinct(monkeypatch: pytest.MonkeyPatch) -> None:
    now = ids.time.time_ns()
    monkeypatch.setattr(ids.time, "time_ns", lambda: now)
    made = [ids.new_id() for _ in range(5_000)]
    assert made == sorted(set(made))


def test_d07_a_clock_that_steps_back_keeps_the_order(monkeypatch: pytest.MonkeyPatch) -> None:
    before = ids.new_id()
    earlier = ids.time.time_ns() - 3_600 * 10**9
    monkeypatch.setattr(ids.time, "time_ns", lambda: earlier)
    assert ids.new_id() > before


@pytest.mark.parametrize("ahead", [0, 1, 3_600_000])
def test_d07_an_id_after_another_is_greater_and_no_more_than_it_must(ahead: int) -> None:
    last = ids.id_at(ids.time.time_ns() // 1_000_000 + ahead, "another server's", within=1023)
    made = ids.new_id_after(last)
    assert made > last
    assert uuid.UUID(made).version == 7
    assert int(made[:12], 16) - int(last[:12], 16) <= 60_000


def test_d07_an_id_is_a_uuid7_that_urls_need_not_escape() -> None:
    made = uuid.UUID(ids.new_id())
    assert made.version == 7
    assert made.variant == uuid.RFC_4122


def test_d07_a_conversations_id_begins_with_dm() -> None:
    made = ids.new_conversation_id()
    assert ids.is_conversation_id(made)
    assert ids.could_be_id(made)
    assert not ids.is_conversation_id(ids.new_id())


@pytest.mark.parametrize(
    "text", ["", "x", "0" * 31, "0" * 33, "A" * 32, "0" * 32 + "\n", "dm:", "mm:" + "0" * 32]
)
def test_d08_what_has_no_ids_shape_can_be_none(text: str) -> None:
    assert not ids.could_be_id(text)
