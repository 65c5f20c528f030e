"""What a stream's client shows: the places it watches, the users it names, and whether somebody is at it.

A client says so at any process (``PUT /events/:connectionId``, extension I-1), which passes it on to the one
that has the stream. It may be lost between processes; clients repeat it while they are active.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from sys import intern
from typing import TYPE_CHECKING

import msgspec
import trio
from msgspec import UNSET, UnsetType

from teamchat.errors import NotFound
from teamchat.model.ids import could_be_id, new_id
from teamchat.stream.activity import ACTIVE_SECONDS

if TYPE_CHECKING:
    from teamchat.stream.activity import StreamActivity
    from teamchat.stream.connection_ids import ConnectionIds
    from teamchat.stream.stream import Stream
    from teamchat.stream.subscriptions import Subscriptions

SHOWN = "_SHOWN"
_A_TEXT = 80  # users in one signal: it stays below 4,000 bytes


class Shown(msgspec.Struct, frozen=True):
    """What a client says of its stream; what it does not name stays as it is."""

    watch: Sequence[str] | UnsetType = UNSET
    presence_of: Sequence[str] | UnsetType = UNSET
    is_active: bool | UnsetType = UNSET


class _Piece(msgspec.Struct, frozen=True, array_like=True):
    """What goes to the process that has the stream. The pieces after the first add to `presence_of`."""

    connection_id: str
    change: str
    is_first: bool
    watch: Sequence[str] | None
    presence_of: Sequence[str] | None
    is_active: bool | None


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Piece).decode


class Showing:
    """Takes what clients say of their streams, here or by `tell`, which sends a text to other processes."""

    def __init__(
        self,
        streams: Subscriptions,
        ids: ConnectionIds,
        activity: StreamActivity,
        tell: Callable[[str, str], object] | None,
    ) -> None:
        self._streams = streams
        self._ids = ids
        self._activity = activity
        self._tell = tell

    def check(self, connection_id: str, session_id: str) -> None:
        """Raise `NotFound` unless it is the id of a stream of this session that is open.

        Whether one at another process is open still is not known here: then it passes, and changes nothing.
        """
        is_here = self._streams.by_id(connection_id) is not None
        if not self._ids.is_of(connection_id, session_id) or not (is_here or not self._activity.is_alone):
            raise NotFound("No such stream.")

    def show(self, connection_id: str, session_id: str, shown: Shown) -> None:
        """Take what a client says of its stream. Raises `NotFound` as `check` does."""
        self.check(connection_id, session_id)
        places, users = _possible(shown.watch), _possible(shown.presence_of)
        is_active = None if shown.is_active is UNSET else bool(shown.is_active)
        stream = self._streams.by_id(connection_id)
        if stream is not None:
            self._take(stream, _Piece(connection_id, "", True, places, users, is_active))
        elif self._tell is not None:
            for piece in _pieces(connection_id, places, users, is_active):
                self._tell(SHOWN, _encode(piece).decode())

    def hear(self, text: str) -> None:
        """Take what came to another process. What can't be read is of another version, and passed over."""
        try:
            piece = _decode(text)
        except msgspec.DecodeError:
            return
        stream = self._streams.by_id(piece.connection_id)
        if stream is not None:
            self._take(stream, piece)

    def _take(self, stream: Stream, piece: _Piece) -> None:
        if piece.is_first:
            stream.change = piece.change
        elif piece.change != stream.change:  # A newer one has come, or the first piece was lost.
            return
        if piece.watch is not None:
            self._streams.watch(stream, piece.watch)
        if piece.presence_of is not None:
            known = () if piece.is_first else stream.presence_of
            self._streams.name(stream, [*known, *map(intern, piece.presence_of)])
        if piece.is_active is not None:
            now = trio.current_time()
            # Who says again that nobody is there any more left when it was said first.
            until = now + ACTIVE_SECONDS if piece.is_active else min(stream.active_until, now)
            self._streams.activate(stream, until)


def _possible(ids: Sequence[str] | UnsetType) -> list[str] | None:
    """Return each of those once that can be ids; which of them are seen is asked when something happens."""
    if isinstance(ids, UnsetType):
        return None
    return [one for one in dict.fromkeys(ids) if could_be_id(one)]


def _pieces(
    connection_id: str, places: list[str] | None, users: list[str] | None, is_active: bool | None
) -> list[_Piece]:
    change = new_id()
    first = None if users is None else users[:_A_TEXT]
    rest = [] if users is None else users[_A_TEXT:]
    return [
        _Piece(connection_id, change, True, places, first, is_active),
        *(
            _Piece(connection_id, change, False, None, rest[start : start + _A_TEXT], None)
            for start in range(0, len(rest), _A_TEXT)
        ),
    ]
