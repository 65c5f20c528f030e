"""The end of the log, in memory: for clients that were away for a moment (decision D-34).

It has all frames with ``floor < position <= last``, in order, and nothing from before the log's own
beginning. Numbers without a frame in that range belong to internal events. The number of events and of bytes
is bounded; the oldest are dropped first. The text of a message that was deleted or edited since is not in
here.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from operator import attrgetter

from teamchat.storage.log import Blanking
from teamchat.stream.sse import Frame

MOST_EVENTS = 10_000
MOST_BYTES = 16 * 1024 * 1024
PORTION_BYTES = 32 * 1024
_PORTION_EVENTS = 512
_OVERHEAD = 400  # bytes that a frame takes beside its text, which is held with and without its id

_position = attrgetter("position")


def portion(frames: Sequence[Frame], after: int, reaches: int) -> tuple[Sequence[Frame], int]:
    """Return the first of `frames` with a position after `after`, and how far they reach.

    They are about 32 KiB at most, but at least one; all of `frames` together reach to `reaches`.
    """
    start = bisect_right(frames, after, key=_position)
    size = 0
    for end in range(start, min(start + _PORTION_EVENTS, len(frames))):
        size += len(frames[end].plain)
        if size >= PORTION_BYTES:
            break
    else:
        end = start + _PORTION_EVENTS - 1
    if end + 1 >= len(frames):
        return frames[start:], reaches
    return frames[start : end + 1], frames[end].position


class Recent:
    """The frames of the last events."""

    def __init__(self, most_events: int = MOST_EVENTS, most_bytes: int = MOST_BYTES) -> None:
        self.most_events = most_events
        self.floor = 0
        self.last = 0
        self._most_bytes = most_bytes
        self._frames: list[Frame] = []
        self._of_message: dict[str, list[Frame]] = {}  # those that carry what was said in it
        self._bytes = 0
        self._slack = most_events // 8  # The list is shortened by so many at a time, not by one.

    def begin(self, position: int) -> None:
        """Start over: hold what comes after `position`."""
        self.floor = self.last = position
        self._frames = []
        self._of_message = {}
        self._bytes = 0

    def extend(self, frames: Iterable[Frame], last: int) -> None:
        """Add the frames that follow; they reach to `last`."""
        for frame in frames:
            self._frames.append(frame)
            self._bytes += _size(frame)
            if frame.text_message is not None:
                self._of_message.setdefault(frame.text_message, []).append(frame)
        self.last = last
        self._forget(self._too_many())

    def forget_before(self, first: int) -> None:
        """Drop what the log itself has dropped: its first event is `first` now."""
        if first - 1 > self.floor:
            self._forget(bisect_right(self._frames, first - 1, key=_position))
            self.floor = min(first - 1, self.last)

    def after(self, position: int) -> tuple[Sequence[Frame], int] | None:
        """Return some of what follows `position` and how far that reaches; None if it was dropped."""
        if position < self.floor:
            return None
        return portion(self._frames, position, self.last)

    def blank(self, blanking: Blanking) -> None:
        """Let go of what was said in messages that were deleted or edited."""
        for message in self._held_of(blanking):
            for frame in self._of_message.get(message, ()):
                self._bytes -= _size(frame)
                frame.blank(blanking.fields)
                self._bytes += _size(frame)
            if blanking.fields is None:
                self._of_message.pop(message, None)

    def _held_of(self, blanking: Blanking) -> Iterable[str]:
        if blanking.message_ids is not None:
            return blanking.message_ids
        return [id_ for id_, own in self._of_message.items() if own[0].text_room == blanking.room_id]

    def _too_many(self) -> int:
        held = len(self._frames)
        if held <= self.most_events + self._slack and self._bytes <= self._most_bytes:
            return 0
        count, size = max(held - self.most_events, 0), self._bytes
        size -= sum(map(_size, self._frames[:count]))
        while size > self._most_bytes and count < held:
            size -= _size(self._frames[count])
            count += 1
        return count

    def _forget(self, count: int) -> None:
        if count:
            gone = self._frames[:count]
            del self._frames[:count]
            self._bytes -= sum(map(_size, gone))
            for frame in gone:
                if frame.text_message is not None:
                    self._forget_text(frame.text_message)
            self.floor = gone[-1].position

    def _forget_text(self, message: str) -> None:
        """The oldest frame of a message goes."""
        own = self._of_message[message]
        del own[0]
        if not own:
            del self._of_message[message]


def _size(frame: Frame) -> int:
    return 2 * len(frame.plain) + _OVERHEAD
