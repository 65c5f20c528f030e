"""How big a run is: what ``make bench`` takes by default, and the small form that a test can afford."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


def _size(default: Any, meaning: str) -> Any:
    return field(default=default, metadata={"meaning": meaning})


@dataclass(frozen=True)
class Sizes:
    """Every size; a scenario takes those it needs."""

    streams: tuple[int, ...] = _size((1000, 10_000), "numbers of streams for fan-out and memory")
    listeners: int = _size(1000, "streams in the scenarios that have one number of them")
    stalled: int = _size(100, "how many of the listeners never read")
    stalled_at_end: int = _size(20, "how many never read while the server is told to end")
    rate: float = _size(20.0, "posts a second where the pace is even")
    posts: int = _size(200, "posts at that pace, in each round")
    unread: int = _size(100, "connections, and streams of HTTP/2, that ask for a large page and do not read")
    unread_messages: int = _size(200, "messages of that page, of 64 KB each")
    missed: int = _size(100, "events that a client has to be given when it resumes")
    large: int = _size(8000, "characters in a post that is to fill buffers")
    messages: int = _size(1_000_000, "messages in the long history")
    connections: int = _size(16, "connections of the request load")
    seconds: float = _size(4.0, "seconds of each measurement that runs as fast as it can")
    users: int = _size(5000, "users of the large team")
    channels: int = _size(500, "channels of the large team, of which three fifths are private")
    memberships: int = _size(100_000, "memberships of the large team, about")
    joining: int = _size(200, "people who are added to a channel at once, at most half of the users")
    returning: int = _size(3000, "streams that come back at once after a restart, and tell what they show")
    devices: int = _size(5000, "devices that are pushed one message")
    rounds: int = _size(3, "interleaved rounds")
    settle: float = _size(2.0, "seconds of rest before memory is read")
    samples: int = _size(2000, "samples of each kind where times are compared")
    members: int = _size(5000, "members of the channel that is posted to where reading is measured")
    replies: int = _size(20_000, "replies to one message that is deleted")
    rooms: int = _size(200, "private rooms of the user who searches")
    places: int = _size(500, "places of the user who asks what is unread")
    file_bytes: int = _size(1024**3, "bytes of the large file")
    uploads: int = _size(50, "uploads at once")
    upload_bytes: int = _size(64 * 1024**2, "bytes of each of them")
    connected: int = _size(
        1500, "people of the company who are connected, with a stream of scope=joined each"
    )
    said: int = _size(20, "messages in each room of the company before it begins")
    times_real: float = _size(10.0, "how many times a real rate the company works at")
    working: float = _size(60.0, "seconds that it does")
    servers: tuple[int, ...] = _size(
        (2, 4), "numbers of servers on one PostgreSQL that a simulation is held to"
    )
    peer: str = _size("", "address of another server of this interface, for the scenario of that name")


QUICK = Sizes(
    streams=(20,),
    listeners=20,
    stalled=4,
    stalled_at_end=2,
    rate=100.0,
    posts=5,
    unread=3,
    unread_messages=5,
    missed=5,
    large=16_000,
    messages=100,
    connections=4,
    seconds=0.1,
    users=30,
    channels=8,
    memberships=100,
    joining=5,
    returning=10,
    devices=20,
    rounds=1,
    settle=0.1,
    samples=3,
    members=20,
    replies=40,
    rooms=5,
    places=9,
    file_bytes=300_000,
    uploads=3,
    upload_bytes=100_000,
    connected=12,
    said=3,
    times_real=2000.0,
    working=0.5,
    servers=(2,),
)
