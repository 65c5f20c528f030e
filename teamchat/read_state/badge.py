"""The one number that a client shows for everything unread (extension D-9)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from teamchat.read_state.places import ReadState
from teamchat.read_state.threads.states import ThreadState

COUNTS_ALL = {"direct", "group"}
"""In places of these kinds everything that is unread counts, elsewhere what mentions one."""


def badge(states: Sequence[ReadState], threads: Sequence[ThreadState]) -> int:
    """Return it, of the read states of all places and of the followed threads in which something is unread.

    A thread that one follows counts once, however often it mentions one; what mentions one there is among the
    mentions of its place too, and is taken out of these. What is muted does not count.
    """
    muted = {one.place_id for one in states if one.is_muted}
    followed = [one for one in threads if one.mention_count > 0]
    in_followed: Counter[str] = Counter()
    for thread in followed:
        in_followed[thread.place_id] += thread.mention_count
    in_places = sum(
        one.unread_count
        if one.kind in COUNTS_ALL
        else max(0, one.mention_count - in_followed.get(one.place_id, 0))
        for one in states
        if (one.unread_count or one.mention_count) and not one.is_muted
    )
    return in_places + sum(thread.place_id not in muted for thread in followed)
