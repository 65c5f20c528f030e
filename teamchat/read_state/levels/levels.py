"""Which messages of a place concern whom: the levels that users have chosen, and the defaults (D-9).

`levels_in` asks for some users at once; what else is joined to it goes into one statement by `COLUMNS`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args

from teamchat.interfaces import Transaction
from teamchat.model import now_ms
from teamchat.storage.statements import chunks

Level = Literal["all", "mentions", "nothing"]
"""What is for somebody: every message, those that mention them, or none."""
Chosen = Literal["default", "all", "mentions", "nothing"]
"""What is chosen for a place; ``default`` is what the user has for all places of its kind."""
LEVELS: tuple[Chosen, ...] = get_args(Chosen)
DEFAULTS: Mapping[str, Level] = {"channel": "mentions", "group": "all", "direct": "all", "thread": "all"}
"""The levels of kinds of places, and of threads that one follows, where a user has chosen nothing."""

COLUMNS = """r.kind, n.level, n.is_muted, n.muted_until, n.ignores_wide,
s.of_channels, s.of_groups, s.of_direct, s.of_threads"""
"""What of a room `r`, a choice `n` and a user's settings `s` makes a `Listening`."""
_IN_ROOM = f"""select u.id, {COLUMNS} from users u join rooms r on r.id = $1
left join notification_levels n on n.room_id = r.id and n.user_id = u.id
left join notification_levels_settings s on s.user_id = u.id where u.id in ({{}})"""  # noqa: S608


class Choice(NamedTuple):
    """What a user has chosen for a place; `muted_until` is in epoch milliseconds, None without an end.

    One that has had its time is none any more: `is_muted` and `muted_until` say what holds at present.
    """

    level: Chosen = "default"
    is_muted: bool = False
    muted_until: int | None = None
    ignores_wide: bool = False

    @classmethod
    def of(cls, row: Sequence[Any]) -> Choice:
        """Return the choice of a row's `level`, `is_muted`, `muted_until` and `ignores_wide`."""
        level, is_muted, muted_until, ignores_wide = row
        if level is None:
            return NOTHING_CHOSEN
        return cls(level, bool(is_muted), muted_until, bool(ignores_wide)).at(now_ms())

    def at(self, now: int) -> Choice:
        """Return what holds at a time."""
        if self.is_muted and (self.muted_until is None or self.muted_until > now):
            return self
        return self._replace(is_muted=False, muted_until=None)


NOTHING_CHOSEN = Choice()


class Listening(NamedTuple):
    """What of a place is for a user: `level` there, `in_threads` in threads there that they follow.

    With `ignores_wide`, mentions of the whole channel are not for them.
    """

    level: Level
    in_threads: Level
    is_muted: bool = False
    ignores_wide: bool = False

    @property
    def has_keywords(self) -> bool:
        """Whether a user's keywords count as mentions there (E-7)."""
        return self.level != "nothing"

    @classmethod
    def of(cls, row: Sequence[Any]) -> Listening:
        """Return it of a row with `COLUMNS`."""
        kind, *chosen = row[:5]
        defaults = dict(zip(DEFAULTS, row[5:], strict=True))
        choice = Choice.of(chosen)
        threads: Level = defaults["thread"] or DEFAULTS["thread"]
        level: Level = defaults.get(kind) or DEFAULTS.get(kind, "nothing")
        if choice.level != "default":
            level = choice.level
            threads = "nothing" if level == "nothing" else threads
        return cls(level, threads, choice.is_muted, choice.ignores_wide)


async def levels_in(tx: Transaction, room_id: str, user_ids: Sequence[str]) -> dict[str, Listening]:
    """Return what of a room is for these users, whether they are in it or not."""
    found: dict[str, Listening] = {}
    for marks, piece in chunks(user_ids, after=1):
        for user_id, *row in await tx.fetch(_IN_ROOM.format(marks), room_id, *piece):
            found[user_id] = Listening.of(row)
    return found
