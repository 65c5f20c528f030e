"""Handing live events to the streams: the loop that everything here is for.

* An event is framed once. Each form of what is sent together is made once, and its bytes are shared.
* On a direct transport, a delivery is one send that does not wait (about 5 microseconds, nearly all of them
  the kernel's). What a client does not take at once waits at its stream and delays nobody.
* Events that are there at the same time are sent together. A user who may see a private one among them gets
  all of theirs in the log's order; everybody else shares what is for everyone.
* After every `PORTION` deliveries the event loop runs other tasks, so that a request, which takes several
  turns, never waits for all streams. If other tasks take long, deliveries may take as long too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from time import perf_counter

import trio

from teamchat.events import Audience, InRoom, LoggedEvent, is_internal
from teamchat.observability.metrics import deliveries as deliveries_counted
from teamchat.stream.sse import Batch, Frame, SharedBytes
from teamchat.stream.stream import Stream
from teamchat.stream.subscriptions import Subscriptions
from teamchat.stream.transport import CLIENT_IS_GONE

PORTION = 32
MOST_SECONDS = 0.001
"""How long deliveries go on at a turn of the loop at most, if all else took as long at the last one."""
_TOGETHER_BYTES = 64 * 1024

Delivery = tuple[Sequence[Stream], Batch]


def hand_out(streams: Iterable[Stream], batch: Batch) -> None:
    """Send or leave a batch with each of these streams, without waiting."""
    for stream in streams:
        shared = batch[stream.form]
        send_now = stream.send_now
        if send_now is None:
            stream.put(shared)
            continue
        data = shared.data
        try:
            taken = send_now(data)
        except CLIENT_IS_GONE:
            stream.cut("the client has left")
            continue
        if not taken:
            stream.put(shared)
        elif taken < len(data):
            stream.put_rest(SharedBytes(data[taken:]))


async def deliver(deliveries: Iterable[Delivery]) -> None:
    """Hand out in portions, with a checkpoint after one, or after some if all others together take longer."""
    delivered, until = 0, 0.0
    for streams, batch in deliveries:
        for start in range(0, len(streams), PORTION):
            portion = streams[start : start + PORTION]
            hand_out(portion, batch)
            delivered += len(portion)
            deliveries_counted.value += len(portion)
            if delivered >= PORTION:
                delivered = 0
                if (left := perf_counter()) >= until:
                    await trio.lowlevel.checkpoint()
                    now = perf_counter()
                    until = now + min(now - left, MOST_SECONDS)


def together(events: Iterable[LoggedEvent]) -> Iterator[LoggedEvent | list[Frame]]:
    """Group events that may leave together, up to about 64 KiB; an internal one stands alone."""
    frames: list[Frame] = []
    size = 0
    for event in events:
        if is_internal(event.type):
            if frames:
                yield frames
            frames, size = [], 0
            yield event
            continue
        frames.append(Frame(event))
        size += len(frames[-1].plain)
        if size >= _TOGETHER_BYTES:
            yield frames
            frames, size = [], 0
    if frames:
        yield frames


def addressed(frames: Sequence[Frame], streams: Subscriptions) -> list[Delivery]:
    """Work out who gets what of `frames`, among the streams that are live at this moment."""
    deliveries = _addressed(frames, streams) if streams.live else []
    return [*deliveries, *_scoped(frames, streams)] if streams.scoped else deliveries


def _scoped(frames: Sequence[Frame], streams: Subscriptions) -> list[Delivery]:
    """Return what goes to streams that are told of their users' rooms alone; no others are looked at."""
    told: dict[Stream, list[Frame]] = {}
    for frame in frames:
        for stream in _may_be_told(frame.audience, streams):
            if stream.is_told(frame):
                told.setdefault(stream, []).append(frame)
    batches: dict[tuple[int, ...], tuple[list[Stream], Batch]] = {}
    for stream, own in told.items():
        key = tuple(frame.position for frame in own)
        batches.setdefault(key, ([], Batch(own)))[0].append(stream)
    return list(batches.values())


def _may_be_told(audience: Audience, streams: Subscriptions) -> Iterable[Stream]:
    """Return scoped streams among which are all that are told of an event, each once."""
    joined = streams.scoped_of(streams.rooms.joined(audience))
    watching = streams.watching(audience.room_id) if isinstance(audience, InRoom) else ()
    others = (*watching, *streams.limited)
    if not others or joined is streams.scoped:
        return joined
    return dict.fromkeys([*joined, *(one for one in others if one in streams.scoped)])


def _addressed(frames: Sequence[Frame], streams: Subscriptions) -> list[Delivery]:
    rooms = streams.rooms
    public: list[Frame] = []
    private: list[Frame] = []
    for frame in frames:
        (public if rooms.is_for_everyone(frame.audience) else private).append(frame)
    if not private:
        return [(tuple(streams.live), Batch(public))]
    named = {user for frame in private for user in rooms.connected(frame.audience)}
    deliveries = _private(frames, named, streams)
    if public:
        reached = {user for user in named if streams.live_of(user)}
        others = [each for each in streams.live if each.user_id not in reached] if reached else streams.live
        deliveries.append((tuple(others), Batch(public)))
    return deliveries


def _private(frames: Sequence[Frame], named: set[str], streams: Subscriptions) -> list[Delivery]:
    """Return what goes to users that some of `frames` name; those who see the same share its bytes."""
    batches: dict[tuple[int, ...], Batch] = {}
    deliveries: list[Delivery] = []
    for user in named:
        if own := streams.live_of(user):
            seen = [frame for frame in frames if streams.rooms.sees(user, frame.audience)]
            if seen:
                key = tuple(frame.position for frame in seen)
                deliveries.append((own, batches.setdefault(key, Batch(seen))))
    return deliveries
