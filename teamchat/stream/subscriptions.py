"""Which streams are open, and whose they are.

A stream is in here from its opening to its end, live or still resuming. A user has a limited number of them,
and the oldest makes room (D-37). Opening, joining and ending cost the same however many streams there are, of
one user or of all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING

from teamchat.stream.activity import StreamActivity
from teamchat.stream.rooms import Rooms

if TYPE_CHECKING:
    from teamchat.stream.stream import Stream

DISPLACED = "displaced by a newer stream"
"""Why a stream ended that made room for another of its user."""

# Dictionaries are sets that remember their order: the first stream of a user is the oldest.
_Streams = dict["Stream", None]


class Subscriptions:
    """The open streams. `rooms` and `activity` are told which users have some."""

    def __init__(self, most_a_user: int, activity: StreamActivity | None = None) -> None:
        self.rooms = Rooms()
        self.activity = activity or StreamActivity()
        self.live: _Streams = {}  # told of all that their users see
        # Live as well, and told of some rooms alone: those that their users are in, or that a token is for.
        self.scoped: _Streams = {}
        self.limited: _Streams = {}  # those of the open streams whose token is limited to places
        self._resuming: _Streams = {}
        self._by_user: dict[str, _Streams] = {}
        self._by_session: dict[str, _Streams] = {}
        self._asking: dict[str, _Streams] = {}
        self._by_id: dict[str, Stream] = {}
        self._watching: dict[str, _Streams] = {}  # by place
        self._naming: dict[str, _Streams] = {}  # by user
        self._most_a_user = most_a_user

    def __len__(self) -> int:
        return len(self.live) + len(self.scoped) + len(self._resuming)

    def all(self) -> tuple[Stream, ...]:
        """Return every open stream."""
        return (*self.live, *self.scoped, *self._resuming)

    def caught_up(self) -> Iterator[Stream]:
        """Return the streams that get live events, of either scope."""
        return chain(self.live, self.scoped)

    def live_of(self, user_id: str, *, scoped: bool = False) -> list[Stream]:
        """Return a user's streams among `live`, or among `scoped`."""
        own = self._by_user.get(user_id, ())
        return [stream for stream in own if stream.is_live and stream.is_scoped is scoped]

    def scoped_of(self, users: Collection[str] | None) -> Iterable[Stream]:
        """Return the streams among `scoped` of these users, and perhaps others; None are all users."""
        if users is None or len(self.scoped) <= len(users):
            return self.scoped
        return [stream for user in dict.fromkeys(users) for stream in self.live_of(user, scoped=True)]

    def asking(self, name: str) -> Iterable[Stream]:
        """Return the streams that ask for signals of that name, those that resume among them."""
        return self._asking.get(name, {})

    def asking_of(self, user_id: str, name: str) -> list[Stream]:
        """Return those of a user."""
        return [stream for stream in self._by_user.get(user_id, ()) if name in stream.asks]

    def by_id(self, connection_id: str) -> Stream | None:
        """Return the open stream of that id."""
        return self._by_id.get(connection_id)

    def watching(self, place_id: str) -> Collection[Stream]:
        """Return the streams that watch a place, whether their users see it or not (I-1)."""
        return self._watching.get(place_id, {})

    def naming(self, user_id: str) -> Collection[Stream]:
        """Return the streams that want to be told of a user's presence."""
        return self._naming.get(user_id, {})

    def watch(self, stream: Stream, places: Sequence[str]) -> None:
        """The stream watches these places from now on, and no others."""
        _reindex(self._watching, stream, stream.watches, places)
        stream.watches = tuple(places)

    def name(self, stream: Stream, users: Sequence[str]) -> None:
        """The stream wants to be told of these users from now on, and of no others."""
        _reindex(self._naming, stream, stream.presence_of, users)
        stream.presence_of = tuple(users)

    def activate(self, stream: Stream, until: float) -> None:
        """The stream is active until then, by the clock of `trio.current_time`."""
        stream.active_until = until
        self._tell_activity(stream.user_id)

    def sessions(self) -> Iterable[str]:
        """Return the sessions that have open streams."""
        return self._by_session.keys()

    def of_sessions(self, session_ids: Iterable[str]) -> list[Stream]:
        """Return the streams that were opened in these sessions."""
        return [stream for each in session_ids for stream in self._by_session.get(each, ())]

    def end_sessions(self, session_ids: Iterable[str]) -> None:
        """End all streams of these sessions."""
        _end_all(self.of_sessions(session_ids))

    def end_user(self, user_id: str) -> None:
        """End all streams of a user."""
        _end_all(self._by_user.get(user_id, ()))

    def add(self, stream: Stream) -> None:
        """Take a stream in, as one that has not caught up; the user's oldest is ended beyond the limit."""
        own = self._by_user.get(stream.user_id, {})
        if not own:
            self.rooms.connect(stream.user_id)
        for oldest in tuple(islice(own, max(len(own) + 1 - self._most_a_user, 0))):
            oldest.end(DISPLACED)
        self._resuming[stream] = None
        if stream.places is not None:
            self.limited[stream] = None
        self._by_user.setdefault(stream.user_id, {})[stream] = None
        self._by_session.setdefault(stream.session_id, {})[stream] = None
        for name in stream.asks:
            self._asking.setdefault(name, {})[stream] = None
        self._by_id[stream.connection_id] = stream
        if not own:
            self._tell_activity(stream.user_id)

    def join(self, stream: Stream) -> None:
        """The stream has caught up: it gets live events from now on."""
        del self._resuming[stream]
        (self.scoped if stream.is_scoped else self.live)[stream] = None
        stream.is_live = True

    def fall_back(self, stream: Stream) -> None:
        """The stream gets no live events any more, until it joins again."""
        self.live.pop(stream, None)
        self.scoped.pop(stream, None)
        self._resuming[stream] = None
        stream.is_live = False

    def remove(self, stream: Stream) -> None:
        """Take out a stream that has ended."""
        self.live.pop(stream, None)
        self.scoped.pop(stream, None)
        self._resuming.pop(stream, None)
        self.limited.pop(stream, None)
        self._by_id.pop(stream.connection_id, None)
        self.watch(stream, ())
        self.name(stream, ())
        indexes = [(self._by_user, stream.user_id), (self._by_session, stream.session_id)]
        for index, key in [*indexes, *((self._asking, name) for name in stream.asks)]:
            own = index.get(key, {})
            own.pop(stream, None)
            if not own:
                index.pop(key, None)
        if stream.user_id not in self._by_user:
            self.rooms.disconnect(stream.user_id)
        self._tell_activity(stream.user_id)

    def _tell_activity(self, user_id: str) -> None:
        own = self._by_user.get(user_id, ())
        self.activity.now(user_id, [stream.active_until for stream in own])


def _reindex(index: dict[str, _Streams], stream: Stream, before: Iterable[str], after: Iterable[str]) -> None:
    """Put a stream under other keys of an index than before."""
    for key in before:
        own = index.get(key, {})
        own.pop(stream, None)
        if not own:
            index.pop(key, None)
    for key in after:
        index.setdefault(key, {})[stream] = None


def _end_all(streams: Iterable[Stream]) -> None:
    """End streams for good: what was waiting for them is not theirs any more."""
    for stream in tuple(streams):  # Each takes itself out.
        stream.end("the session has ended", drop=True)
