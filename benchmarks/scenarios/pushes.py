"""How long one message takes to thousands of devices, and whether posts notice (J, Traps).

Each member of a channel has a device, at one of four push services that take everything, in a process of
their own and without TLS.  The channel is mentioned as a whole: "all sent" is from then until the last push
was taken, "CPU s" the server's processor time meanwhile.  Posts to another channel come at an even pace,
before and meanwhile; those of all rounds are told together, for one has too few of them for a 99th
percentile, and of all else the medians.  Wanted: all sent within 10 s for 5,000
devices, and the 99th percentile of posts meanwhile at most twice the quiet one.
"""

from __future__ import annotations

import tempfile
import time
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from typing import Any

import trio
from cryptography.hazmat.primitives.asymmetric import ec
from teamchat_web_push.encryption import AUTH_BYTES, point_of
from teamchat_web_push.vapid import base64url

from benchmarks import yardsticks
from benchmarks.chat import Chat
from benchmarks.client import ask, request
from benchmarks.loop import Loop
from benchmarks.report import Report, Row, medians, middle, ms, percentile
from benchmarks.server import Server, running
from benchmarks.sizes import Sizes
from benchmarks.storages import Place, places
from benchmarks.team import Team, fill, insert
from benchmarks.yardsticks.push_service import HOSTS
from teamchat.model import now_ms
from teamchat.model.ids import new_id

_CHANNELS = 3
_WARM_UP = 20  # posts
_LOOK_SECONDS = 0.2
_MOST_SECONDS = 120.0
_REST_SECONDS = 3.0  # within two seconds the messages of a place are one push
_WEEK_MS = 7 * 24 * 3600 * 1000
_PUSH = {"contact": "mailto:admin@example.org", "allowedHosts": list(HOSTS)}


def run(sizes: Sizes) -> Report:
    """Measure each storage by itself."""
    report = Report(f"Pushes: one message to {sizes.devices:,} devices, posts at {sizes.rate:g}/s")
    with tempfile.TemporaryDirectory() as directory, ExitStack() as stack:
        port = stack.enter_context(yardsticks.taking_pushes())
        for place in places(stack, Path(directory), report, "pushes"):
            for what, row in _measured(place, sizes, port).items():
                report.rows[f"{place.name}: {what}"] = row
    return report


def _measured(place: Place, sizes: Sizes, port: int) -> dict[str, Row]:
    with Loop() as loop:
        with running(place.directory, storage=place.storage, sections={"push": _PUSH}) as server:
            admin_id = Chat(loop, server).user_id
        team = trio.run(_fill, place, admin_id, sizes, port)
        with running(place.directory, storage=place.storage, sections={"push": _PUSH}) as server:
            chat = Chat(loop, server)
            with chat.poster() as poster:
                poster.paced(sizes.rate, _WARM_UP)
                quiet: list[float] = []
                meanwhile: list[float] = []
                sending: list[Row] = []
                for _ in range(sizes.rounds):
                    quiet += poster.paced(sizes.rate, sizes.posts)
                    since = len(poster.begun)
                    poster.start(sizes.rate)
                    sending.append(_push(chat, server, team, port, sizes.devices))
                    poster.stop()
                    meanwhile += poster.times(since)
                    loop.pause(_REST_SECONDS)
    return {
        "quiet": _posts(quiet),
        f"{sizes.devices:,} devices": medians(sending) | _posts(meanwhile),
    }


def _posts(times: list[float]) -> Row:
    return {"post, median ms": ms(middle(times)), "post, p99 ms": ms(percentile(times, 0.99))}


def _push(chat: Chat, server: Server, team: Team, port: int, devices: int) -> Row:
    """Mention everybody, and wait until all devices have it."""
    wanted = _taken(chat, port)["count"] + devices
    cpu, began = server.processor_seconds(), time.perf_counter()
    ask(chat.loop, chat.port, chat.post_to(f"/channels/{team.large}/messages", {"content": "@channel look"}))
    while (taken := _taken(chat, port))["count"] < wanted:
        if time.perf_counter() - began > _MOST_SECONDS:
            raise RuntimeError(f"{wanted - taken['count']} of {devices} devices got no push")
        chat.loop.pause(_LOOK_SECONDS)
    return {
        "all sent, s": round(taken["last"] - began, 2),
        "CPU s": round(server.processor_seconds() - cpu, 2),
        "too many": taken["count"] - wanted,
    }


def _taken(chat: Chat, port: int) -> dict[str, Any]:
    found: dict[str, Any] = ask(chat.loop, port, request("GET", "/")).json()
    return found


async def _fill(place: Place, admin_id: str, sizes: Sizes, port: int) -> Team:
    """Write the team, a session for each of its people, and a device for each session."""
    users = sizes.devices
    team = await fill(place.opened(), admin_id, users=users, channels=_CHANNELS, memberships=users)
    sessions = [new_id() for _ in team.users]
    now = now_ms()
    key = base64url(point_of(ec.generate_private_key(ec.SECP256R1()).public_key()))
    auth = base64url(bytes(AUTH_BYTES))
    devices = []
    for number, (user, session) in enumerate(zip(team.users, sessions, strict=True)):
        host = HOSTS[number % len(HOSTS)]
        endpoint = f"http://{host}:{port}/{place.name}/{number}"
        digest = sha256(endpoint.encode()).hexdigest()
        devices.append((new_id(), user, session, endpoint, digest, host, key, auth, "", "en", now))
    async with place.opened() as storage, storage.write() as tx:
        await insert(
            tx,
            "sessions (id, user_id, created_at, last_used_at, expires_at, ends_at, ip, user_agent)",
            [
                (session, user, now, now, now + _WEEK_MS, now + _WEEK_MS, "127.0.0.1", "")
                for session, user in zip(sessions, team.users, strict=True)
            ],
        )
        await insert(
            tx,
            "web_push_subscriptions (id, user_id, session_id, endpoint, endpoint_hash, host, p256dh, auth,"
            " device_name, language, created_at)",
            devices,
        )
    return team
