"""The page on private channels says what admins and operators can see and do: every sentence is tried."""

from __future__ import annotations

import base64
import json
import sqlite3
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest

from teamchat.testing import PASSWORD
from tests.docs.machine import Machine, Running
from tests.operations.conftest import PIXEL
from tests.storages import sqlite_only

NAME, TOPIC = "Merger with Example", "the topic of it"
TEXTS = {kind: f"what was said in the {kind}" for kind in ("private", "group", "notes", "direct")}


@dataclass
class People:
    """Ada is an admin who is in nothing; the paths are of rooms of the others."""

    ada: httpx2.Client
    grace: httpx2.Client
    alan: httpx2.Client
    ids: dict[str, str]

    @property
    def private(self) -> str:
        return f"/channels/{self.ids['private']}"


@contextmanager
def people(server: Running, **channel: Any) -> Iterator[People]:
    with ExitStack() as stack:
        ada, grace, alan, mary = [
            stack.enter_context(server.sign_in(*[f"{name}@example.org"] if name else []))
            for name in ("", "grace", "alan", "mary")
        ]
        me = [one.get("/auth/me").json()["user"]["id"] for one in (alan, mary)]
        body = {"name": NAME, "topic": TOPIC, "members": me[:1]} | channel
        opened = grace.post("/conversations", json={"targetUserId": me[0]}).json()
        ids = {
            "private": grace.post("/private-channels", json=body).json()["channel"]["id"],
            "group": grace.post("/groups", json={"userIds": me}).json()["channel"]["id"],
            "notes": grace.put("/me/notes").json()["channel"]["id"],
            "direct": opened["conversation"]["id"],
        }
        for kind, id_ in ids.items():
            path = f"/conversations/{id_}" if kind == "direct" else f"/channels/{id_}"
            grace.post(f"{path}/messages", json={"content": TEXTS[kind]}).raise_for_status()
        yield People(ada, grace, alan, ids)


def entered(found: People) -> httpx2.Response:
    return found.ada.post(f"/admin{found.private}/enter", json={"reason": "a complaint"})


def said_in(client: httpx2.Client, path: str) -> list[str]:
    return [one["content"] for one in client.get(f"{path}/messages").json()["messages"]]


def entries(ada: httpx2.Client, channel: str) -> list[dict[str, Any]]:
    """Return what the audit log has of a channel, the oldest entry first."""
    found = ada.get("/admin/audit", params={"limit": 100}).json()["entries"]
    return [one for one in reversed(found) if one["targetId"] == channel]


def test_an_admin_who_is_not_in_it_sees_that_it_is_there_and_ends_what_they_must(machine: Machine) -> None:
    with machine.serves("teamchat serve") as server, people(server) as found:
        ada, private = found.ada, found.private
        listed = {one["name"]: one for one in ada.get("/admin/channels").json()["channels"]}
        assert listed.keys() == {"General", NAME}, "no groups, no notes"
        assert listed[NAME].keys() == {
            *("id", "name", "isPrivate", "isArchived", "createdAt", "createdBy", "memberCount"),
            "lastMessageAt",
        }
        assert listed[NAME]["memberCount"] == 2
        shown = json.dumps(ada.get("/channels").json())
        assert NAME not in shown
        for id_ in (found.ids["private"], found.ids["group"], found.ids["notes"]):
            for asked in (f"/channels/{id_}", f"/channels/{id_}/messages", f"/channels/{id_}/members"):
                assert ada.get(asked).status_code == 404
            hook = {"name": "spy", "channelId": id_}
            assert ada.post("/webhooks", json=hook).status_code == 404
        for id_ in (found.ids["group"], found.ids["notes"]):
            assert ada.post(f"/admin/channels/{id_}/enter", json={"reason": "x"}).status_code == 404
            assert ada.delete(f"/admin/channels/{id_}").status_code == 404
        assert ada.get(f"/conversations/{found.ids['direct']}/messages").status_code == 403

        assert entered(found).status_code == 200
        hook = ada.post("/webhooks", json={"name": "bot", "channelId": found.ids["private"]}).json()
        ada.post(f"{private}/leave").raise_for_status()
        assert [one["id"] for one in ada.get("/webhooks").json()["webhooks"]] == [hook["webhook"]["id"]]
        assert ada.delete(f"/webhooks/{hook['webhook']['id']}").status_code == 200
        assert ada.delete(f"/admin{private}").status_code == 200
        assert found.grace.get(f"{private}/messages").status_code == 404
        assert server.end() == 0


def test_who_enters_sees_what_a_joiner_sees_and_leaves_entries_in_the_audit_log(machine: Machine) -> None:
    with (
        machine.serves("teamchat serve") as server,
        people(server, historyFor="joiners") as found,
    ):
        ada, private = found.ada, found.private
        assert ada.post(f"/admin{private}/enter", json={}).status_code == 400, "a reason has to be given"
        assert entered(found).json()["channel"]["role"] == "manager"
        assert said_in(ada, private) == []
        ada.put(private, json={"historyFor": "all"}).raise_for_status()
        assert said_in(ada, private) == []
        ada.post(f"{private}/leave").raise_for_status()
        assert entered(found).status_code == 200
        assert said_in(ada, private) == [TEXTS["private"]]
        alan = found.alan.get("/auth/me").json()["user"]["id"]
        grace = found.grace.get("/auth/me").json()["user"]["id"]
        ada.put(f"{private}/members/{alan}", json={"role": "manager"}).raise_for_status()
        assert found.grace.delete(f"{private}/members/{alan}").status_code == 403
        ada.delete(f"{private}/members/{alan}").raise_for_status()
        ada.post(f"{private}/members", json={"userIds": [alan]}).raise_for_status()
        for step in ("archive", "unarchive"):
            ada.post(f"{private}/{step}").raise_for_status()
        opened = {"isPrivate": False, "history": "hide"}
        assert found.grace.put(f"{private}/privacy", json=opened).status_code == 403
        ada.put(f"{private}/privacy", json=opened).raise_for_status()
        ada.put(f"{private}/privacy", json={"isPrivate": True, "members": [grace]}).raise_for_status()
        ada.delete(private).raise_for_status()
        me = ada.get("/auth/me").json()["user"]["id"]
        done = [one for one in entries(ada, found.ids["private"]) if one["actorId"] == me]
        assert server.end() == 0
    assert [one["action"] for one in done] == [
        "channel.enter", "channel.update", "member.remove", "channel.enter", "member.role", "member.remove",
        "member.add", "channel.archive", "channel.unarchive", "channel.privacy", "member.remove",
        "channel.privacy", "channel.delete",
    ]  # fmt: skip
    assert {one["details"]["reason"] for one in done if one["action"] == "channel.enter"} == {"a complaint"}
    log = server.log.read_text()
    for secret in (NAME, TOPIC, "a complaint", *TEXTS.values()):
        assert secret not in log
        assert secret in ("a complaint", NAME) or secret not in json.dumps(done)


@pytest.mark.slow
def test_where_nobody_may_enter_the_list_and_deleting_stay(machine: Machine) -> None:
    machine.write("teamchat.toml", "[chat]\nadminsMayEnter = false\n")
    with machine.serves("teamchat serve") as server, people(server) as found:
        assert entered(found).status_code == 403
        assert len(found.ada.get("/admin/channels").json()["channels"]) == 2
        assert found.ada.delete(f"/admin{found.private}").status_code == 200
        assert server.end() == 0


@pytest.mark.slow
def test_with_passwords_an_admin_can_sign_in_as_anybody_who_sees_that_it_happened(machine: Machine) -> None:
    machine.environment |= {
        "TEAMCHAT_AUTH__AUTHMODE": "password",
        "TEAMCHAT_CHAT__INITIALUSER__EMAIL": "ada@example.org",
        "TEAMCHAT_CHAT__INITIALUSER__PASSWORD": PASSWORD,
    }
    with machine.serves("teamchat serve") as server, server.client() as nobody:

        def signed_in(email: str, password: str) -> httpx2.Client:
            body = {"email": email, "password": password}
            answer = nobody.post("/auth/password-login", json=body)
            assert answer.status_code == 200, answer.text
            return server.client(answer.json()["accessToken"])

        with signed_in("ada@example.org", PASSWORD) as ada:
            body = {"email": "grace@example.org", "password": "the password of Grace"}
            her_id = ada.post("/users/add", json=body).json()["userId"]
            with signed_in("grace@example.org", "the password of Grace") as grace:
                made = grace.post("/private-channels", json={"name": NAME}).json()["channel"]["id"]
                ada.post(f"/users/{her_id}/reset-password", json={"password": PASSWORD}).raise_for_status()
                assert grace.get("/auth/me").status_code == 401
            with signed_in("grace@example.org", PASSWORD) as as_grace:
                assert as_grace.get(f"/channels/{made}").status_code == 200
        assert server.end() == 0


@sqlite_only("it looks into the file of the database")
def test_who_has_the_database_a_backup_or_an_export_reads_everything(machine: Machine) -> None:
    with machine.serves("teamchat serve") as server, people(server) as found:
        upload = {"filename": "a.svg", "image": base64.b64encode(PIXEL).decode()}
        image = found.grace.post(f"{found.private}/messages/image", json=upload).json()["filename"]
        machine.types("teamchat backup all.zip")
        machine.types("teamchat export chat-export")
        assert server.end() == 0
    stored = sqlite3.connect(machine.root / "teamchat-data" / "teamchat.db")
    assert {text for (text,) in stored.execute("select content from messages")} == set(TEXTS.values())
    assert stored.execute("select count(*) from memberships where room_id = ?", [found.ids["private"]])
    stored.close()
    assert any(path.name == image for path in (machine.root / "teamchat-data").rglob("*"))
    with zipfile.ZipFile(machine.root / "all.zip") as archive:
        backup = b"".join(archive.read(name) for name in archive.namelist()).decode(errors="replace")
    export = "".join(file.read_text() for file in (machine.root / "chat-export").glob("*.jsonl"))
    for text in (NAME, TOPIC, *TEXTS.values(), *found.ids.values()):
        assert text in backup
        assert text in export
    assert (machine.root / "chat-export" / "images" / image).read_bytes() == PIXEL
