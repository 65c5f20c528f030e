"""Durable posts and page reads, with an empty history and with a million messages."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import history, load, server

CONNECTIONS = 16
POST = json.dumps({"content": "hello, about as long as what people write to each other"}).encode()


async def run(*, messages: int = 1_000_000, seconds: float = 4.0, rounds: int = 3) -> dict[str, Any]:
    """Measure both histories in alternating rounds, each on a server of its own; medians, one process.

    Both servers live at once and only the measured one is busy, so that what else the machine does
    falls on both alike.
    """
    figures: dict[str, Any] = {"load generator alone": await _alone()}
    with tempfile.TemporaryDirectory() as empty, tempfile.TemporaryDirectory() as full:
        await _prepare(Path(empty), 0)
        await _prepare(Path(full), messages)
        series: dict[str, list[load.Result]] = {}
        async with server.running(Path(empty)) as small, server.running(Path(full)) as large:
            for _ in range(rounds):
                for label, running in (("empty", small), (f"{messages:,}", large)):
                    for kind, result in (await _measure(running.port, seconds)).items():
                        series.setdefault(f"{kind}, history {label}", []).append(result)
    return figures | {name: _summary(results) for name, results in series.items()}


async def _alone() -> dict[str, float]:
    return _summary([await load.capacity(connections=CONNECTIONS, seconds=1.0)])


async def _prepare(data: Path, messages: int) -> None:
    """Start a server once so that it makes its database, then fill the history while it is down."""
    async with server.running(data) as running:
        token, user = await _sign_in(running.port)
        channel = await _channel(running.port, token)
    await history.fill(data, channel, user, messages)


async def _measure(port: int, seconds: float) -> dict[str, load.Result]:
    token, _ = await _sign_in(port)
    path = f"/channels/{await _channel(port, token)}/messages"
    connection = await load.connect(port)
    for _ in range(50):
        await connection.ask(load.request("POST", path, token, POST))
    page = load.request("GET", path, token)
    post = load.request("POST", path, token, POST)
    return {
        "page reads/s": await load.hammer(port, page, connections=CONNECTIONS, seconds=seconds),
        "posts/s": await load.hammer(port, post, connections=CONNECTIONS, seconds=seconds),
    }


async def _sign_in(port: int) -> tuple[str, str]:
    connection = await load.connect(port)
    body = json.dumps({"email": server.EMAIL}).encode()
    _, answer = await connection.ask(load.request("POST", "/auth/dev-login", body=body))
    signed_in = json.loads(answer)
    return signed_in["token"], signed_in["user"]["id"]


async def _channel(port: int, token: str) -> str:
    connection = await load.connect(port)
    _, answer = await connection.ask(load.request("GET", "/channels", token))
    channel_id: str = json.loads(answer)["channels"][0]["id"]
    return channel_id


def _summary(results: list[load.Result]) -> dict[str, float]:
    return {
        "rate": round(median(result.rate for result in results)),
        "p50 ms": round(median(result.percentile(0.5) for result in results), 2),
        "p99 ms": round(median(result.percentile(0.99) for result in results), 2),
    }
