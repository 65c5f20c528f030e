"""What the tests of operations share."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests import forks

ROOT = Path(__file__).parents[2]
PIXEL = b'<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"><rect width="1" height="1"/></svg>'
SETTINGS: dict[str, dict[str, Any]] = {
    "auth": {"authMode": "dev", "isInviteRequired": False, "maxActiveSessions": 50},
    "chat": {"initialUser": {"userName": "Ada", "email": "admin@localhost", "password": "a long password"}},
    "server": {"host": "127.0.0.1", "port": 0},
}


def configure(file: Path, **sections: dict[str, Any]) -> Path:
    """Write a configuration in dev mode; `sections` are laid over it."""
    settings = {name: SETTINGS.get(name, {}) | sections.get(name, {}) for name in SETTINGS | sections}
    file.write_text(json.dumps(settings))
    return file


def teamchat(*arguments: str | Path, stdin: str = "", status: int = 0) -> str:
    """Run the command as an operator does, expect its exit status, and return what it wrote."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("TEAMCHAT_")}
    done = forks.run([*map(str, arguments)], environ, stdin)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The directory that `tests.harness.running` keeps its data in."""
    return tmp_path / "data"


async def talk(ada: httpx2.AsyncClient) -> tuple[str, str]:
    """Say something of every kind; return the channel and the image."""
    channel = (await ada.get("/channels")).json()["channels"][0]["id"]
    path = f"/channels/{channel}/messages"
    upload = {"filename": "a.svg", "image": base64.b64encode(PIXEL).decode()}
    image = (await ada.post(f"{path}/image", json=upload)).json()["filename"]
    posted = (await ada.post(path, json={"content": "Straße 🦊\n", "images": [image]})).json()["message"]
    await ada.post(f"/messages/{posted['id']}/reactions", json={"reaction": "👍"})
    await ada.post(f"/messages/{posted['id']}/thread", json={"content": "a reply"})
    return channel, image
