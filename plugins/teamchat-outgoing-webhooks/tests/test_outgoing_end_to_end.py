"""A server that tells a target, over a real connection, also what happened while it was down."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import trio

from teamchat.testing import DEADLINE
from tests.harness import free_port, running

SECRET = "the target's own secret"


def plugins(url: str) -> dict[str, Any]:
    told = {"name": "tracker", "url": url, "secret": SECRET, "events": ["NEW_MESSAGE"]}
    return {"outgoing-webhooks": {"targets": [told]}}


async def post(server: Any, text: str) -> None:
    async with await server.sign_in() as ada:
        [channel] = (await ada.get("/channels")).json()["channels"]
        answer = await ada.post(f"/channels/{channel['id']}/messages", json={"content": text})
        assert answer.status_code == 200


@pytest.mark.slow
async def test_a_target_hears_of_a_message_and_after_a_restart_of_the_next(
    tmp_path: Path, tracker: Any
) -> None:
    for text in ("before", "after"):
        async with running(tmp_path, plugins=plugins(tracker.url)) as server:
            await post(server, text)
            told = await tracker.next()
            assert (told["type"], told["payload"]["content"]) == ("NEW_MESSAGE", text)
            assert await server.end() == 0


async def rooms_of(server: Any) -> tuple[dict[str, str], str]:
    """Make a room of each kind; return the paths to post to, and the private channel's id."""
    async with await server.sign_in() as ada:
        others = []
        for name in ("grace", "alan"):
            async with await server.sign_in(f"{name}@example.org") as one:
                others.append((await one.get("/auth/me")).json()["user"]["id"])
        [general] = (await ada.get("/channels")).json()["channels"]
        private = (await ada.post("/private-channels", json={"name": "Secret"})).json()["channel"]["id"]
        ids = {
            "private": private,
            "group": (await ada.post("/groups", json={"userIds": others})).json()["channel"]["id"],
            "notes": (await ada.put("/me/notes")).json()["channel"]["id"],
            "public": general["id"],
        }
        opened = (await ada.post("/conversations", json={"targetUserId": others[0]})).json()
        direct = {"direct": f"/conversations/{opened['conversation']['id']}/messages"}
        return direct | {name: f"/channels/{id_}/messages" for name, id_ in ids.items()}, private


@pytest.mark.slow
async def test_x14_of_what_is_not_public_a_target_hears_only_where_that_was_said(
    tmp_path: Path, tracker: Any
) -> None:
    async def sent(paths: dict[str, str], **keys: Any) -> tuple[dict[str, str], str, set[str]]:
        """Post everywhere, in public last; return the paths, the private channel, and what the target got."""
        told = plugins(tracker.url)
        told["outgoing-webhooks"]["targets"][0] |= {"events": ["NEW_MESSAGE", "NEW_DM_MESSAGE"]} | keys
        async with running(tmp_path, plugins=told) as server:
            paths, private = (paths, "") if paths else await rooms_of(server)
            async with await server.sign_in() as ada:
                for name, path in paths.items():
                    assert (await ada.post(path, json={"content": name})).status_code == 200
            found = {(await tracker.next())["payload"]["content"]}
            while "public" not in found:
                found.add((await tracker.next())["payload"]["content"])
            assert await server.end() == 0
        return paths, private, found

    paths, private, found = await sent({})
    assert found == {"public"}
    opened = {"privateChannels": [private], "includeGroups": True, "includeDirectMessages": True}
    assert (await sent(paths, **opened))[2] == {"private", "group", "direct", "public"}


@pytest.mark.slow
async def test_what_a_target_that_is_away_has_not_heard_is_sent_after_a_restart(
    tmp_path: Path, tracker: Any
) -> None:
    nowhere = f"http://127.0.0.1:{free_port()}/hook"
    async with running(tmp_path, plugins=plugins(nowhere)) as server:
        for text in ("first", "second"):
            await post(server, text)
        with trio.fail_after(DEADLINE):
            assert await server.end() == 0
    async with running(tmp_path, plugins=plugins(tracker.url)) as server:
        assert [(await tracker.next())["payload"]["content"] for _ in range(2)] == ["first", "second"]
        assert await server.end() == 0


@pytest.mark.slow
async def test_of_several_workers_one_tells_a_target(tmp_path: Path, tracker: Any) -> None:
    address = {"host": "127.0.0.1", "port": 0, "workers": 2}
    async with running(tmp_path, plugins=plugins(tracker.url), server=address) as server:
        for number in range(4):
            await post(server, str(number))
        assert [(await tracker.next())["payload"]["content"] for _ in range(4)] == ["0", "1", "2", "3"]
        assert await server.end() == 0
    assert tracker.came.statistics().current_buffer_used == 0


@pytest.mark.slow
async def test_a_target_can_be_tried(tmp_path: Path, tracker: Any) -> None:
    config = tmp_path / "teamchat.json"
    config.write_text(json.dumps({"plugins": plugins(tracker.url)}))
    command = [sys.executable, "-m", "teamchat", "try-webhook", "--config", str(config)]
    tried = await trio.run_process([*command, "tracker"], capture_stdout=True)
    assert tried.stdout == b"tracker took it.\n"
    assert (await tracker.next())["type"] == "TRY"
    unknown = await trio.run_process([*command, "nobody"], check=False, capture_stderr=True)
    assert unknown.returncode == 1
    assert b"There are: tracker." in unknown.stderr


async def test_a_try_at_a_target_that_is_away_says_so(tmp_path: Path) -> None:
    config = tmp_path / "teamchat.json"
    config.write_text(json.dumps({"plugins": plugins(f"http://127.0.0.1:{free_port()}/hook")}))
    command = [sys.executable, "-m", "teamchat", "try-webhook", "--config", str(config), "tracker"]
    gone = await trio.run_process(command, check=False, capture_stdout=True)
    assert (gone.returncode, gone.stdout) == (1, b"tracker did not take it: ConnectError.\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wrong", "key"),
    [
        ({"outgoing-webhooks": {"target": []}}, "plugins.outgoing-webhooks.target "),
        (
            {"outgoing-webhooks": {"targets": [{"name": "a", "url": "ftp://x", "secret": SECRET}]}},
            "url of 'a'",
        ),
        (
            {
                "outgoing-webhooks": {
                    "targets": [{"name": "a", "url": "http://x", "secret": SECRET, "events": ["new_message"]}]
                }
            },
            "events",
        ),
        ({"outgoing-webhook": {}}, "plugins.outgoing-webhook is for no plugin"),
    ],
)
async def test_a_wrong_key_ends_the_start_with_its_name(
    tmp_path: Path, wrong: dict[str, Any], key: str
) -> None:
    config = tmp_path / "teamchat.json"
    config.write_text(
        json.dumps({"server": {"port": 0}, "storage": {"path": str(tmp_path)}, "plugins": wrong})
    )
    command = [sys.executable, "-m", "teamchat", "serve", "--config", str(config)]
    ended = await trio.run_process(command, check=False, capture_stdout=True, capture_stderr=True)
    assert ended.returncode == 1
    assert key in ended.stderr.decode()
