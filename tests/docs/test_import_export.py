"""The page on export and import: into an empty installation, from Slack and from Mattermost."""

from __future__ import annotations

import base64
import json
import re
import zipfile
from pathlib import Path

import httpx2

from tests.docs.machine import Machine, channel_of, said_in, say
from tests.docs.pages import blocks
from tests.operations.conftest import PIXEL
from tests.operations.mattermost_team import write_team

EXPORT, IMPORT, SLACK, PUBLIC_ONLY, MATTERMOST = blocks("how-to/export-and-import.md", "sh")


def seen(client: httpx2.Client) -> list[object]:
    """Return what a reader sees: texts, times, names, reactions, replies and the bytes of images."""
    found: list[object] = []
    for message in said_in(client):
        replies = client.get(f"/messages/{message['id']}/thread").json()["replies"]
        images = [
            client.get(f"{channel_of(client)}/messages/image/{name}").content
            for name in message.get("images", [])
        ]
        told = [
            (each["content"], each["createdAt"], each["author"]["userName"]) for each in (message, *replies)
        ]
        found.append((told, sorted(message["reactions"]), images))
    return found


def test_an_export_comes_into_an_empty_installation_the_same(machine: Machine, tmp_path: Path) -> None:
    with machine.serves("teamchat serve") as server, server.sign_in() as ada:
        with server.sign_in("grace@example.org") as grace:
            first = say(grace, "Straße 🦊")
            grace.post(f"/messages/{first['id']}/thread", json={"content": "a reply"})
        ada.post(f"/messages/{first['id']}/reactions", json={"reaction": "👍"})
        upload = {"filename": "a.svg", "image": base64.b64encode(PIXEL).decode()}
        image = ada.post(f"{channel_of(ada)}/messages/image", json=upload).json()["filename"]
        say(ada, "look", images=[image])
        machine.types(EXPORT)
        before = seen(ada)
        assert server.end() == 0
    written = b"".join(file.read_bytes() for file in (machine.root / "chat-export").glob("*.json*"))
    assert b"passwordHash" not in written
    assert b"Bearer" not in written

    other = Machine(tmp_path / "other")
    other.root.mkdir()
    (machine.root / "chat-export").rename(other.root / "chat-export")
    refused = other.types(IMPORT, status=1)
    assert "there is no directory ./teamchat-data" in refused
    with other.serves("teamchat serve") as server, server.sign_in() as ada:
        said = other.types(IMPORT)
        assert re.search("^Imported: 1 users, 0 channels, 0 conversations, 2 messages, 1 replies", said, re.M)
        assert seen(ada) == before
        again = other.types(IMPORT)
        assert re.search(
            "^Imported: 0 users, 0 channels, 0 conversations, 0 messages, 0 replies", again, re.M
        )
        assert seen(ada) == before
        assert server.end() == 0


WORKSPACE = {
    "users.json": [
        {"id": "U1", "name": "grace", "profile": {"real_name": "Grace", "email": "grace@example.org"}}
    ],
    "channels.json": [{"id": "C1", "name": "general", "created": 1_500_000_000, "members": ["U1"]}],
    "groups.json": [{"id": "G1", "name": "secret", "created": 1_500_000_000, "members": ["U1"]}],
    "general/2017-07-14.json": [
        {"type": "message", "user": "U1", "text": "up &amp; running", "ts": "1500000000.000000"}
    ],
    "secret/2017-07-14.json": [{"type": "message", "user": "U1", "text": "psst", "ts": "1500000000.000000"}],
}


def test_a_workspace_of_slacks_comes_in_and_its_private_channel_to_its_members_alone(
    machine: Machine,
) -> None:
    with zipfile.ZipFile(machine.root / "my-workspace.zip", "w") as archive:
        for name, content in WORKSPACE.items():
            archive.writestr(name, json.dumps(content))
    with machine.serves("teamchat serve") as server, server.sign_in() as ada:
        said = machine.types(PUBLIC_ONLY)
        for told in ("Imported: ", "Left out: ", "Merged with what is here: "):
            assert f"\n{told}" in f"\n{said}"
        assert "import-report.jsonl names each of them." in said
        [told] = said_in(ada)
        assert told["content"] == "up & running"
        assert told["createdAt"] == 1_500_000_000_000
        assert told["author"]["userName"] == "Grace"
        report = (machine.root / "import-report.jsonl").read_text()
        [private] = [line for line in map(json.loads, report.splitlines()) if "private" in line["what"]]
        assert private["where"].startswith("G1")
        assert "--public-only" in private["why"]
        assert "psst" not in report
        assert "1 private channels" in machine.types(SLACK)
        assert [channel["name"] for channel in ada.get("/channels").json()["channels"]] == ["General"]
        with server.sign_in("grace@example.org") as grace:
            [secret] = [one for one in grace.get("/channels").json()["channels"] if one["isPrivate"]]
            [told] = grace.get(f"/channels/{secret['id']}/messages").json()["messages"]
            assert (secret["name"], told["content"]) == ("secret", "psst")
        assert server.end() == 0


def test_an_export_of_mattermosts_comes_in_with_what_was_read_there(machine: Machine, tmp_path: Path) -> None:
    team = write_team(tmp_path / "team")
    with zipfile.ZipFile(machine.root / "mattermost-export.zip", "w") as archive:
        for file in team.rglob("*"):
            archive.write(file, file.relative_to(team))
    with machine.serves("teamchat serve") as server:
        assert "13 messages, 2 replies" in machine.types(MATTERMOST)
        assert "psst" not in (machine.root / "import-report.jsonl").read_text()
        with server.sign_in("alan.t@navy.example") as alan:
            channels = {one["id"]: one["name"] for one in alan.get("/channels").json()["channels"]}
            group = "alan.t, gone, grace"
            assert sorted(channels.values()) == ["Fleet", "General", "Old", "Secret", "Town Square", group]
            places = alan.get("/me/places").json()["places"]
            unread = {channels.get(one["placeId"], one["kind"]): one["unreadCount"] for one in places}
            read = ("General", "Secret", "Town Square", group, "direct")
            assert unread == dict.fromkeys(read, 0) | {"Fleet": 5}
            [fleet] = [id_ for id_, name in channels.items() if name == "Fleet"]
            page = alan.get(f"/channels/{fleet}/messages").json()["messages"]
            [shown] = [one for one in page if one.get("images")]
            image = alan.get(f"/channels/{fleet}/messages/image/{shown['images'][0]}")
            assert image.content == PIXEL
        with server.client() as stranger:
            refused = stranger.post("/auth/dev-login", json={"email": "guest@navy.example"})
        assert refused.status_code == 401
        assert server.end() == 0
