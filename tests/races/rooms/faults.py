"""Servers that are broken in one place, for the games of rooms to find: each function breaks its process."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from teamchat.chat import groups, joining, leaving, members, membership, permissions, privacy
from teamchat.stream.rooms import Rooms


async def _nothing(*_: Any, **__: Any) -> None:
    pass


def _anything(*_: Any, **__: Any) -> None:
    pass


def nobody_takes_over_from_the_last_manager() -> None:
    leaving.keep_a_manager = _nothing


def a_group_is_made_twice() -> None:
    groups.group_of = _nothing


def archived_channels_are_written_to() -> None:
    permissions.check_open = _anything


def managers_remove_one_another() -> None:
    members._role = _nothing


def the_last_of_a_group_leaves() -> None:
    members._check_may_leave = _nothing


def the_last_manager_steps_down() -> None:
    members._check_may_lower = _nothing


def who_is_not_in_it_adds_others() -> None:
    may = permissions.check_may_add

    def check(caller: Any, room: Any, *, is_member: bool) -> None:
        may(caller, room, is_member=True)

    permissions.check_may_add = check


def who_was_removed_hears_of_it_still() -> None:
    Rooms.sees = lambda *_: True  # type: ignore[method-assign]


def closing_puts_nobody_out() -> None:
    """Who is in a channel that becomes private, and was not named, is in it still."""
    change = membership.change

    async def changed(tx: Any, room_id: str, **what: Any) -> Any:
        return await change(tx, room_id, **{name: value for name, value in what.items() if name != "left"})

    privacy.membership = SimpleNamespace(change=changed, next_message=membership.next_message)


def joiners_of_groups_see_what_was_before() -> None:
    async def everything(*_: Any) -> str:
        return ""

    joining.first_seen_by_joiners = everything


FAULTS: list[Callable[[], None]] = [
    nobody_takes_over_from_the_last_manager,
    a_group_is_made_twice,
    archived_channels_are_written_to,
    managers_remove_one_another,
    the_last_of_a_group_leaves,
    the_last_manager_steps_down,
    who_is_not_in_it_adds_others,
    who_was_removed_hears_of_it_still,
    closing_puts_nobody_out,
    joiners_of_groups_see_what_was_before,
]
