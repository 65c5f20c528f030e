"""A configuration that would be unsafe stops the start: soon, in one line, without telling a secret."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import trio

from teamchat.testing import DEADLINE
from tests.security.world import written

pytestmark = pytest.mark.slow

SHORT = "s3ntinel-of-thirty-one-bytes-xx"
assert len(SHORT) == 31

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "an empty secret": ({"auth": {"jwtSecret": ""}}, "auth.jwtSecret"),
    "a well-known secret": ({"auth": {"jwtSecret": "your-jwt-secret"}}, "auth.jwtSecret"),
    "a secret of 31 bytes": ({"auth": {"jwtSecret": SHORT}}, "auth.jwtSecret"),
    "a secret that is a number": ({"auth": {"jwtSecret": 12345678901234567}}, "auth.jwtSecret"),
    "an unknown section": ({"s3ntinel": {}}, "s3ntinel"),
    "an unknown key": ({"auth": {"jwtSecrett": "s3ntinel-value"}}, "auth.jwtSecrett"),
    "an unknown key of mail": ({"email": {"pasword": "s3ntinel-value"}}, "email.pasword"),
    "an unknown key of a backend": ({"storage": {"pathh": "s3ntinel-value"}}, "storage.pathh"),
    "an initial password that is too short": (
        {"chat": {"initialUser": {"email": "a@example.org", "password": "s3ntin"}}},
        "chat.initialUser.password",
    ),
    "a provider without its secret": (
        {"oauth": {"presets": {"github": {"clientId": "s3ntinel-value"}}}},
        "clientSecret",
    ),
    "an unknown way to sign in": ({"auth": {"authMode": "none"}}, "auth.authMode"),
    "magic links without mail": ({"auth": {"authMode": "magic-link"}}, "email"),
    "dev mode on a network": (
        {"auth": {"authMode": "dev"}, "server": {"host": "0.0.0.0"}},
        "auth.allowDevModeOnNetwork",
    ),
    "a proxy that is everybody's name": ({"server": {"trustedProxies": ["*"]}}, "server.trustedProxies"),
}


@pytest.mark.parametrize(("sections", "key"), REFUSED.values(), ids=REFUSED)
async def test_the_start_is_refused_naming_the_key_and_not_the_value(
    tmp_path: Path, sections: dict[str, Any], key: str
) -> None:
    # A port that was free a moment ago and that nobody else is likely to take meanwhile.
    [free] = await trio.open_tcp_listeners(0, host="127.0.0.1")
    port = free.socket.getsockname()[1]
    await free.aclose()
    sections = sections | {"server": {"port": port} | sections.get("server", {})}
    ended, answered = await start(written(tmp_path, sections), port)
    assert ended.returncode not in (0, None)
    assert not answered
    said = ended.stderr.decode()
    assert key in said
    assert len(said.splitlines()) == 1
    for value in values(sections):
        assert value not in said.replace(key, "")
    assert ended.stdout == b"", "a password that was made would be lost"


async def start(config: Path, port: int) -> tuple[subprocess.CompletedProcess[bytes], bool]:
    """Run the server until it gives up; tell whether it ever answered a request."""
    command = [sys.executable, "-m", "teamchat", "serve", "--config", str(config)]
    answered = False

    async def probe() -> None:
        nonlocal answered
        while True:
            try:
                async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
                    await stream.send_all(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
                    answered = answered or bool(await stream.receive_some())
            except (OSError, trio.BrokenResourceError):
                await trio.sleep(0.005)

    with trio.fail_after(DEADLINE):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(probe)
            ended = await trio.run_process(
                command, check=False, capture_stdout=True, capture_stderr=True, env=dict(os.environ)
            )
            nursery.cancel_scope.cancel()
    return ended, answered


def values(tree: Any) -> list[str]:
    """Return the texts in a configuration that must not be told; short ones are words of any message."""
    if isinstance(tree, dict):
        return [value for inner in tree.values() for value in values(inner)]
    return [tree] if isinstance(tree, str) and len(tree) > 5 and tree != "magic-link" else []
