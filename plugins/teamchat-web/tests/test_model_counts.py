"""Counting what is unread from what the server said and what the stream told after that (D-3, D-11)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Visit = Callable[..., Any]

# Counts without a server: message 1 is "01", and so on.
_COUNTING = """async () => {
  const root = document.querySelector("script[src$='/main.js']").src.replace("main.js", "");
  const { Unread } = await import(root + "model/unread.js");
  const { Counts } = await import(root + "model/counts.js");
  const unread = new Unread();
  const heard = { read: [], doubt: [] };
  unread.on("read", ({ position, generation }) => heard.read.push([position, generation]));
  unread.on("doubt", ({ id }) => heard.doubt.push(id));
  const name = (number) => String(number).padStart(2, "0");
  const base = {
    placeId: "a",
    kind: "channel",
    generation: 0,
    position: "00",
    unreadCount: 0,
    mentionCount: 0,
    lastMessageId: null,
    isMarkedUnread: false,
    level: "default",
    isMuted: false,
    mutedUntil: null,
    asOf: "0",
  };
  window.counting = {
    unread,
    heard,
    state: (state) => unread.take({ ...base, ...state }),
    add: (number, at, calls = false, list = "a") => unread.add(list, { id: name(number) }, calls, at),
    gone: (number, at, authorId = "somebody") => unread.gone("a", name(number), authorId, at),
    read: (number) => unread.markRead("a", name(number)),
    count: () => unread.count("a"),
    begin: () => unread.begin(new Counts(unread)),
  };
}"""


class Counting:
    def __init__(self, page: Any) -> None:
        self.page = page

    def __call__(self, steps: str) -> Any:
        """Run steps; return the value of the last."""
        *first, last = [step.strip() for step in steps.split(";") if step.strip()]
        body = "".join(f"{step};" for step in first)
        names = "unread, heard, state, add, gone, read, count, begin"
        return self.page.evaluate(f"() => {{ const {{ {names} }} = counting; {body} return {last}; }}")


@pytest.fixture
def unbegun(visit: Visit, standing: Any) -> Counting:
    page = visit(standing.base)
    page.evaluate(_COUNTING)
    return Counting(page)


@pytest.fixture
def at(unbegun: Counting) -> Counting:
    unbegun("begin()")
    return unbegun


def test_what_the_stream_brings_after_a_count_is_added_and_what_is_in_it_is_not(at: Counting) -> None:
    assert at("state({ unreadCount: 2, asOf: '10' }); add(1, 9); add(2, 10); add(3, 11); count()") == 3
    assert at("add(3, 11); count()") == 3  # told twice


def test_a_deletion_takes_one_away_once(at: Counting) -> None:
    assert at("state({ unreadCount: 2, asOf: '10' }); gone(1, 11); count()") == 1
    assert at("gone(1, 11); count()") == 1
    assert at("add(3, 12); gone(3, 13); count()") == 1
    assert at("state({ unreadCount: 1, asOf: '13' }); count()") == 1
    assert at("heard.doubt") == []


def test_what_was_read_is_not_taken_away_when_it_is_deleted(at: Counting) -> None:
    assert at("state({ position: '05', unreadCount: 1, asOf: '10' }); gone(4, 11); count()") == 1


def test_of_two_states_the_greater_generation_is_the_newer_and_then_the_greater_position(
    at: Counting,
) -> None:
    assert at("state({ position: '05', unreadCount: 1, asOf: '10' }); count()") == 1
    assert at("state({ position: '03', unreadCount: 3, asOf: '12' }); count()") == 1
    assert at("state({ position: '05', unreadCount: 2, asOf: '9' }); count()") == 1
    assert at("state({ position: '05', unreadCount: 2, asOf: '12' }); count()") == 2
    assert at("state({ position: '01', generation: 1, unreadCount: 5, asOf: '12' }); count()") == 5
    assert at("state({ position: '09', unreadCount: 0, asOf: '20' }); count()") == 5


def test_after_a_break_in_the_log_what_the_server_says_holds_if_it_is_older_too(at: Counting) -> None:
    at("state({ generation: 3, position: '05', unreadCount: 1, asOf: '90' }); add(7, 95); null")
    earlier = "{ generation: 1, position: '02', unreadCount: 4, asOf: '60' }"
    assert at(f"unread.tell('reopen', []); state({earlier}); count()") == 4
    assert at("state({ generation: 0, unreadCount: 9, asOf: '61' }); count()") == 4
    assert at("add(8, 62); count()") == 5


def test_a_state_that_comes_late_is_added_to_by_what_came_after_it(at: Counting) -> None:
    at("state({ asOf: '0' }); add(1, 1); add(2, 2); add(3, 3); null")
    assert at("state({ position: '01', unreadCount: 0, asOf: '1' }); count()") == 2


def test_what_was_shown_counts_as_read_before_the_server_has_heard_of_it(at: Counting) -> None:
    at("state({ unreadCount: 3, asOf: '3' }); add(4, 4); null")
    assert at("read(4); [count(), heard.read]") == [0, [["04", 0]]]
    assert at("add(5, 5); count()") == 1
    # A state of before: another device read less far.
    assert at("state({ position: '02', unreadCount: 3, asOf: '5' }); count()") == 1
    assert at("state({ position: '04', unreadCount: 1, asOf: '5' }); [count(), heard.read.length]") == [1, 1]


def test_a_mark_of_another_device_is_not_undone_by_what_was_shown_here_before(at: Counting) -> None:
    at("state({ unreadCount: 2, asOf: '2' }); read(2); null")
    marked = "{ position: '00', generation: 1, isMarkedUnread: true, unreadCount: 2, asOf: '2' }"
    assert at(f"state({marked}); count()") == 2
    assert at("read(2); [count(), unread.state('a').isMarkedUnread, heard.read.at(-1)]") == [
        0,
        False,
        ["02", 1],
    ]


def test_a_place_that_is_marked_without_a_message_of_others_is_read_too(at: Counting) -> None:
    at("state({ position: '01', generation: 1, isMarkedUnread: true, asOf: '2' }); null")
    assert at("read(2); heard.read") == [["02", 1]]


def test_nothing_is_told_where_nothing_is_unread(at: Counting) -> None:
    assert at("state({ position: '02', asOf: '2' }); read(2); read(3); heard.read") == []


def test_what_came_after_a_state_but_is_known_no_more_is_asked_for(at: Counting) -> None:
    at("state({ unreadCount: 0, asOf: '1' }); add(2, 2); add(3, 3); read(3); null")
    at("state({ position: '03', unreadCount: 0, asOf: '3' }); null")
    assert at("heard.doubt") == []
    marked = "{ position: '01', generation: 1, isMarkedUnread: true, unreadCount: 1, asOf: '2' }"
    assert at(f"state({marked}); heard.doubt") == ["a"]


@pytest.mark.parametrize(
    "told",
    [
        "state({ unreadCount: 3, mentionCount: 1, asOf: '3' }); gone(1, 4)",  # did that one mention?
        "state({ unreadCount: 3, asOf: '3' }); gone(1, 4, null)",  # by whom was it?
        "state({ unreadCount: 1000, asOf: '3' }); gone(1, 4)",  # 1000, or more?
    ],
)
def test_what_only_the_server_can_tell_is_asked_for(at: Counting, told: str) -> None:
    assert at(f"{told}; heard.doubt").count("a") >= 1


def test_a_count_at_its_limit_stays_there(at: Counting) -> None:
    assert at("state({ unreadCount: 1000, asOf: '3' }); add(1, 4); count()") == 1000


def test_a_badge_is_direct_messages_and_mentions_without_what_is_muted(at: Counting) -> None:
    at("unread.capabilities = { mentions: {} }; null")
    at("state({ unreadCount: 4, mentionCount: 1 }); null")
    at("state({ placeId: 'b', kind: 'direct', unreadCount: 2 }); null")
    at("state({ placeId: 'c', kind: 'group', unreadCount: 3 }); null")
    at("state({ placeId: 'd', kind: 'direct', unreadCount: 9, isMuted: true }); null")
    at(
        "state({ placeId: 'e', unreadCount: 5, mentionCount: 2, isMuted: true, mutedUntil: 1 }); null"
    )  # was muted
    assert at("unread.total()") == {"unread": 14, "mentions": 8}
    assert at("[unread.count('d'), unread.isMuted('d'), unread.isMuted('e')]") == [9, True, False]
    assert at("add(1, 1, true); add(1, 1, true, 'b'); unread.total()") == {"unread": 16, "mentions": 10}


def test_a_thread_that_one_does_not_follow_is_told_as_read_once_where_its_place_calls(at: Counting) -> None:
    at("unread.capabilities = { mentions: {} }; state({ mentionCount: 0 }); null")
    assert at("unread.markRead('t', '07', 'a'); heard.read") == []
    at("state({ mentionCount: 2, asOf: '1' }); null")
    assert at("unread.markRead('t', '07', 'a'); unread.markRead('t', '07', 'a'); heard.read") == [
        ["07", None]
    ]
    assert at("unread.markRead('t', '08', 'a'); heard.read.length") == 2
    # What calls is in a thread that one follows.
    followed = "{ messageId: 'f', following: true, mentionCount: 2, unreadCount: 2 }"
    at(f"unread.take({{ ...unread.state('a'), ...{followed} }}, 'f'); null")
    assert at("unread.markRead('t', '09', 'a'); heard.read.length") == 2
    assert at("unread.total().mentions") == 1
    assert at("unread.take({ ...unread.state('f'), following: false }, 'f'); unread.total().mentions") == 2


def test_where_the_server_knows_of_no_mentions_those_that_came_count(at: Counting) -> None:
    assert at("state({ asOf: '0' }); add(1, 1, true); add(2, 2); unread.mentionCount('a')") == 1
    assert at("state({ unreadCount: 2, asOf: '2' }); [count(), unread.mentionCount('a')]") == [2, 1]
    assert at("read(2); unread.mentionCount('a')") == 0


def test_what_came_before_counting_began_is_counted_and_what_was_shown_is_told_later(
    unbegun: Counting,
) -> None:
    assert unbegun("add(1, 1); [count(), unread.has('a', '01'), unread.total().unread]") == [0, False, 0]
    assert unbegun("begin(); [count(), unread.has('a', '01')]") == [1, True]
    assert unbegun("read(1); [count(), heard.read]") == [0, []]
    # The server comes to know of it.
    assert unbegun("state({ unreadCount: 1, asOf: '1' }); [count(), heard.read]") == [1, []]
    assert unbegun("read(1); [count(), heard.read]") == [0, [["01", 0]]]


def test_without_a_server_that_counts_there_is_what_came_since_the_page_was_opened(at: Counting) -> None:
    assert at("gone(1, 1); add(2, 2); add(3, 3, true); gone(2, 4); [count(), unread.mentionCount('a')]") == [
        1,
        1,
    ]
    assert at("[unread.has('a', '02'), unread.has('a', '03'), unread.has('a', '01')]") == [False, True, False]
    assert at("unread.answered('a', { id: '04' }); [count(), heard.read, heard.doubt]") == [0, [], []]


def test_a_place_that_is_gone_is_forgotten(at: Counting) -> None:
    at("state({ unreadCount: 2, asOf: '10' }); unread.forgetPlace('a'); null")
    assert at("[count(), unread.lists(), unread.state('a') ?? null]") == [0, [], None]
