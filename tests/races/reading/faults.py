"""Servers that are broken in one place, for the suite to find: each function breaks its process.

A server loads one as a plugin (`install`), in every worker.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from msgspec.structs import replace

from teamchat.mentions import listening, writing
from teamchat.mentions.activity import feed, noting
from teamchat.mentions.activity import service as activity
from teamchat.read_state import badge, following, marking, mentioned, places, service
from teamchat.read_state.levels import following as levels_following
from teamchat.read_state.levels import keywords, levels
from teamchat.read_state.positions import Mark
from teamchat.read_state.threads import following as threads_following
from teamchat.read_state.threads import follows, states
from teamchat.read_state.threads import service as threads_service
from teamchat.stream import signals
from teamchat.stream.signalling import Signalling


def counts_are_kept() -> None:
    """What was counted once is told for as long as the user's position is the same."""
    count = places._count
    kept: dict[Any, int] = {}

    async def counted(tx: Any, asked: Mapping[str, Sequence[places.Place]], but: Any) -> Mapping[Any, int]:
        fresh = await count(tx, asked, but)
        return {
            (user_id, one.id): kept.setdefault((user_id, one.id, one.mark), fresh.get((user_id, one.id), 0))
            for user_id, own in asked.items()
            for one in own
        }

    places._count = counted


def replies_count() -> None:
    places._COUNT = places._COUNT.replace("and m.parent_id is null", "")


def what_is_not_seen_counts() -> None:
    places._COUNT = places._COUNT.replace("and m.id >= a.first_seen", "and a.first_seen >= ''")


def positions_move_back() -> None:
    """Whoever reads again what is older has the newer unread again, in the same generation."""

    def read(mark: Mark, position: str, generation: int | None, newest: str | None) -> Mark:
        if generation is not None and generation < mark.generation:
            return mark
        return Mark(min(position, newest or mark.position), mark.generation)

    Mark.read = read


def an_old_generation_reads() -> None:
    """A device that has not heard of a mark undoes it."""
    read = Mark.read
    Mark.read = lambda mark, position, _, newest: read(mark, position, None, newest)


def marking_makes_no_generation() -> None:
    """A mark as unread is not newer than what was read before."""
    unread = Mark.unread
    Mark.unread = lambda mark, first, newest: unread(mark, first, newest)._replace(generation=mark.generation)


def the_future_can_be_read() -> None:
    """A position after the newest message stands, and hides what comes."""
    read = Mark.read
    Mark.read = lambda mark, position, generation, newest: read(
        mark, position, generation, newest and "f" * 32
    )


def a_change_is_missed() -> None:
    """What changed first after an answer is not among what has changed since."""
    marked = service._marked
    service._marked = lambda since: (
        None if (found := marked(since)) is None else found._replace(change=found.change + 1)
    )


def what_was_left_is_not_told() -> None:
    async def nothing(*_: Any) -> list[str]:
        return []

    service._left = nothing


def who_comes_back_begins_as_before() -> None:
    """A new membership has a generation that an earlier one had."""

    async def generations(_tx: Any, _room_id: str, users: Sequence[str]) -> Mapping[str, int]:
        return dict.fromkeys(users, 0)

    following._generations = generations


def an_acknowledged_state_is_lost() -> None:
    """Every fourth change of a read state is answered, and not stored."""
    move, numbers = marking.move, iter(range(1, 1 << 60))

    async def moved(tx: Any, marks: Any) -> None:
        await move(tx, [one for one in marks if next(numbers) % 4])

    marking.move = moved


def who_is_stored_together_is_told_of_another() -> None:
    """Of those who read at the same time each is answered what the next one is."""
    found = marking.Marking._move

    async def moved(marks: Any, asked: Sequence[Any]) -> Sequence[Any]:
        answers = await found(marks, asked)
        return [*answers[1:], answers[0]]

    marking.Marking._move = moved


def who_reads_at_once_begins_where_all_began() -> None:
    """Of two marks of one place that are stored together the last one holds, as if the other had not been."""
    found = marking.Marking._found

    async def moved(marks: Any, asked: Sequence[Any]) -> Sequence[Any]:
        async with marks._storage.write() as tx:
            places = await found(marks, tx, [where for where, _ in asked])
            after = [
                (where, place, change(place.mark, place.newest))
                for (where, change), place in zip(asked, places, strict=True)
                if isinstance(place, marking.Place)
            ]
            await marking.move(tx, [(*key, mark) for key, mark in {w.key: m for w, _, m in after}.items()])
        changed = {id(place): mark != place.mark for _, place, mark in after}
        return [changed.get(id(one), one) for one in places]

    marking.Marking._move = moved


def answers_say_they_hold_as_of_earlier() -> None:
    """So what a client adds is in the answer already."""
    last_in = service.last_in

    async def earlier(tx: Any, last: int) -> int:
        return await last_in(tx, last) - 1

    service.last_in = marking.last_in = earlier


def a_signal_goes_out_before_its_commit() -> None:
    """READ_STATE tells what is there when a request comes, not what there is after it."""
    read, send = service.ReadStates.read, service.ReadStates._send

    async def hasty(states: Any, caller: Any, place_id: str, *rest: Any) -> Any:
        send(states, caller, *await states.state(caller, place_id))
        return await read(states, caller, place_id, *rest)

    service.ReadStates.read, service.ReadStates._send = hasty, lambda *_: None


def signals_stay_in_their_process() -> None:
    async def carry(*_: Any) -> None:
        pass

    Signalling._carry_all = carry


def signals_take_the_place_of_those_for_others() -> None:
    signals._users_of = lambda _: None


def nobody_is_mentioned() -> None:
    async def none(*_: Any) -> Mapping[str, int]:
        return {}

    mentioned.in_places = none


def mentions_count_for_who_has_read_them() -> None:
    mentioned._IN_PLACES = mentioned._IN_PLACES.replace("m.message_id > a.after", "m.message_id > ''", 1)
    mentioned._IN_PLACES = mentioned._IN_PLACES.replace("w.message_id > a.after", "a.after > ''", 1)


def a_mention_where_one_follows_not_counts_nothing() -> None:
    mentioned._IN_THREADS = mentioned._IN_THREADS.replace(
        "and m.message_id > s.position", "and m.message_id > s.position and s.is_following = 1"
    )


def a_thread_is_read_and_its_place_not_told() -> None:
    store = threads_service._store

    async def stored(*about: Any) -> bool:
        await store(*about)
        return False

    threads_service._store = stored


def a_thread_is_read_and_its_place_has_not_changed() -> None:
    threads_service.move = _nothing


def muted_places_are_in_the_badge() -> None:
    count = service.badge
    service.badge = lambda states, unread: count([replace(one, is_muted=False) for one in states], unread)


# Of threads.


async def _nothing(*_: Any, **__: Any) -> None:
    pass


def threads_outlive_memberships() -> None:
    follows.leave = follows.leave_all_but_members = _nothing
    threads_following.leave = threads_following.leave_all_but_members = _nothing


def who_replies_does_not_follow() -> None:
    follows._REPLIED = follows._REPLIED.replace(
        "values ($1, $2, $3, $4, 0, 0, 1, 0, $4)", "values ($1, $2, $3, $4, 0, 0, 0, 0, $4)"
    )


def who_wrote_the_parent_does_not_follow() -> None:
    follows._AUTHOR = follows._AUTHOR.replace("where w.user_id <> $3", "where 1 = 0 and w.user_id <> $3")


def who_is_mentioned_does_not_follow() -> None:
    writing.follow = _nothing


def a_mention_begins_what_was_ended() -> None:
    follows._BEGIN = follows._BEGIN.replace("and threads_states.is_ended = 0", "")


def ones_own_replies_are_unread() -> None:
    states._COUNT = states._COUNT.replace("and x.author_id <> $1", "and x.author_id <> ''")
    states._IS_UNREAD = states._IS_UNREAD.replace("and x.author_id <> $1", "")


def threads_in_archived_places_are_unread() -> None:
    for name in ("_UNREAD", "_EVERY_UNREAD"):
        setattr(states, name, getattr(states, name).replace("r.archived_at is null and exists", "exists"))


def a_thread_that_names_one_is_in_the_badge_twice() -> None:
    service.badge = lambda places, threads: (
        badge.badge(places, []) + sum(one.mention_count > 0 for one in threads)
    )


# Of levels, keywords and what is for everybody.


def levels_outlive_memberships() -> None:
    levels_following.Following.members_changed = _nothing


def keywords_are_read_once() -> None:
    """Who chooses others is not heard of by a process that has read them."""
    version, first = keywords.version, []

    async def once(tx: Any) -> int:
        first.append(await version(tx))
        return first[0]

    keywords.version = once


def keywords_reach_who_chose_to_hear_nothing() -> None:
    levels.Listening.has_keywords = property(lambda _: True)


def keywords_reach_who_is_no_member() -> None:
    async def everybody(_: Any, __: Any, asked: Sequence[str]) -> set[str]:
        return set(asked)

    listening.members_among = everybody


def what_is_for_everybody_counts_for_who_ignores_it() -> None:
    for name in ("_IN_PLACES", "_IN_THREADS"):
        ignored = f"and not {mentioned._IGNORES.format('a.user_id')}"
        setattr(mentioned, name, getattr(mentioned, name).replace(ignored, ""))


def what_is_for_everybody_counts_for_its_author() -> None:
    mentioned._IN_PLACES = mentioned._IN_PLACES.replace("and w.author_id <> $1", "")


def a_reply_to_everybody_counts_for_who_follows_not() -> None:
    mentioned._IN_PLACES = mentioned._IN_PLACES.replace("and w.parent_id is null", "")


def an_edit_takes_no_mention_away() -> None:
    again = mentioned.reach_again

    async def reached(tx: Any, where: Any, causes: Any, for_all: Any) -> Any:
        return await again(tx, where, await mentioned.reached_by(tx, where.message_id) | causes, for_all)

    mentioned.reach_again = reached


def an_edit_is_for_everybody_still() -> None:
    mentioned.reach_all_no_longer = _nothing


# Of the feed.


def what_one_device_has_shown_another_has_not() -> None:
    activity._STORE = activity._STORE.replace(
        "do update set position = excluded.position", "do update set position = activity_read.position"
    )


def reactions_that_were_withdrawn_stay_in_the_feed() -> None:
    noting.Noting.reaction_removed = _nothing


def feeds_hold_what_was_replied_to_others() -> None:
    feed._REPLIES = feed._REPLIES.replace("s.user_id = $1 and s.is_following = 1 and", "s.user_id <> $1 and")


def feeds_hold_what_was_replied_before_one_followed() -> None:
    feed._REPLIES = feed._REPLIES.replace("and m.id > s.since", "")


def feeds_hold_what_is_not_seen() -> None:
    async def all_of(_: Any, __: Any, ids: Sequence[str]) -> set[str]:
        return set(ids)

    feed.sight = SimpleNamespace(messages=all_of, channels=all_of)
    for name in ("_MENTIONS", "_REACTIONS"):
        setattr(feed, name, getattr(feed, name).replace(feed._IS_SEEN, "1 = 1"))


FAULTS: list[Callable[[], None]] = [
    counts_are_kept,
    replies_count,
    what_is_not_seen_counts,
    positions_move_back,
    an_old_generation_reads,
    marking_makes_no_generation,
    the_future_can_be_read,
    a_change_is_missed,
    what_was_left_is_not_told,
    who_comes_back_begins_as_before,
    an_acknowledged_state_is_lost,
    answers_say_they_hold_as_of_earlier,
    a_signal_goes_out_before_its_commit,
    signals_stay_in_their_process,
    signals_take_the_place_of_those_for_others,
    nobody_is_mentioned,
    mentions_count_for_who_has_read_them,
    a_mention_where_one_follows_not_counts_nothing,
    a_thread_is_read_and_its_place_not_told,
    a_thread_is_read_and_its_place_has_not_changed,
    muted_places_are_in_the_badge,
    threads_outlive_memberships,
    who_replies_does_not_follow,
    who_wrote_the_parent_does_not_follow,
    who_is_mentioned_does_not_follow,
    a_mention_begins_what_was_ended,
    ones_own_replies_are_unread,
    threads_in_archived_places_are_unread,
    a_thread_that_names_one_is_in_the_badge_twice,
    levels_outlive_memberships,
    keywords_are_read_once,
    keywords_reach_who_chose_to_hear_nothing,
    keywords_reach_who_is_no_member,
    what_is_for_everybody_counts_for_who_ignores_it,
    what_is_for_everybody_counts_for_its_author,
    a_reply_to_everybody_counts_for_who_follows_not,
    an_edit_takes_no_mention_away,
    an_edit_is_for_everybody_still,
    what_one_device_has_shown_another_has_not,
    reactions_that_were_withdrawn_stay_in_the_feed,
    feeds_hold_what_was_replied_to_others,
    feeds_hold_what_was_replied_before_one_followed,
    feeds_hold_what_is_not_seen,
    who_is_stored_together_is_told_of_another,
    who_reads_at_once_begins_where_all_began,
]


def install(fault: Callable[[], None], directory: Path) -> None:
    """Have the servers that work in a directory load a fault as a plugin."""
    information = directory / "fault-1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: fault\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[teamchat]\nfault = chosen_fault\n")
    lines = [f"from {fault.__module__} import {fault.__name__}", f"{fault.__name__}()"]
    (directory / "chosen_fault.py").write_text("\n".join(lines) + "\n")
