"""What statements returned last, for bodies that go on by it before the database has answered again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, NamedTuple

from teamchat import StorageError
from teamchat_storage_postgres.exchange import Row

MOST_KEPT = 10_000


class WronglySupposed(StorageError):
    """A statement did not return what a body has supposed; it is to be run anew without supposing."""

    def __init__(self) -> None:
        super().__init__("A statement returned something else than was supposed.")


class Supposition(NamedTuple):
    """What a statement is supposed to return; `is_last` says that it did so last."""

    rows: list[Row]
    sql: str
    params: Sequence[Any]
    is_last: bool


class LastAnswers:
    """What questions that are asked again and again were answered last; the oldest go first.

    Nothing is true because it stands here: each is asked again, and its answer compared.  Answers have a row
    at most, and hold nothing that people have written.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, tuple[Any, ...]], list[Row]] = OrderedDict()

    def to(self, sql: str, params: Sequence[Any]) -> list[Row] | None:
        """Return what was answered last, or None."""
        key = sql, tuple(params)
        if (rows := self._kept.get(key)) is not None:
            self._kept.move_to_end(key)
        return rows

    def keep(self, sql: str, params: Sequence[Any], rows: list[Row], *, is_new: bool = True) -> None:
        """Keep what was answered now, unless it is long; without `is_new` only where there is an answer."""
        key = sql, tuple(params)
        if len(rows) > 1 or not (is_new or key in self._kept):
            self._kept.pop(key, None)
            return
        self._kept[key] = rows
        self._kept.move_to_end(key)
        if len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)

    def has_changed(self, supposed: Supposition, found: list[Row]) -> bool:
        """Return whether something else was found than was supposed, and keep that for the next time."""
        if found == supposed.rows:
            return False
        if supposed.is_last:
            self.keep(supposed.sql, supposed.params, found)
        return True
