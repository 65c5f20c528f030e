"""A body that is held back over a real connection, while who sends it is removed (decision D-39)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import trio

from tests.security.world import Victim, attacked


async def begun(victim: Victim, path: str, token: str, body: bytes) -> trio.SocketStream:
    """Send a request without its last byte."""
    stream = await trio.open_tcp_stream("127.0.0.1", int(victim.base.rpartition(":")[2]))
    lines = [
        f"POST {path} HTTP/1.1",
        "Host: localhost",
        f"Authorization: Bearer {token}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        "Connection: close",
    ]
    await stream.send_all("\r\n".join(lines).encode() + b"\r\n\r\n" + body[:-1])
    return stream


async def ended(stream: trio.SocketStream, body: bytes) -> int:
    """Send the last byte and return the status."""
    answer = b""
    async with stream:
        await stream.send_all(body[-1:])
        async for piece in stream:
            answer += piece
    return int(answer.split()[1])


@pytest.mark.slow
@pytest.mark.parametrize("http1", ["native", "hypercorn"])
async def test_d39_requests_begun_before_their_user_was_removed_do_nothing(
    tmp_path: Path, http1: str
) -> None:
    async with attacked(tmp_path, server={"http1": http1}) as victim:
        admin = str((await victim.login())["accessToken"])
        user_id = await victim.add(admin, "eve@example.org", role="admin")
        eve = str((await victim.login("eve@example.org"))["accessToken"])
        channel = (await victim.ok("GET", "/channels", None, admin))["channels"][0]["id"]
        requests = {
            "/webhooks": {"name": "spy", "channelId": channel},
            "/users/add": {"email": "eve2@example.org", "role": "admin"},
            f"/channels/{channel}/messages": {"content": "still here"},
            "/channels": {"name": "of eve"},
        }
        bodies = {path: json.dumps(body).encode() for path, body in requests.items()}
        held = {path: await begun(victim, path, eve, body) for path, body in bodies.items()}
        await victim.ok("GET", "/auth/me", None, eve)  # By then those that came before have been let in.
        await victim.ok("DELETE", f"/users/{user_id}", None, admin)
        assert [await ended(stream, bodies[path]) for path, stream in held.items()] == [401] * 4
        assert (await victim.ok("GET", "/webhooks", None, admin))["webhooks"] == []
        assert len((await victim.ok("GET", "/users", None, admin))["users"]) == 1
        assert len((await victim.ok("GET", "/channels", None, admin))["channels"]) == 1
        assert (await victim.ok("GET", f"/channels/{channel}/messages", None, admin))["messages"] == []
