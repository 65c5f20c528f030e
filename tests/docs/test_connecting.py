"""The pages on what stands beside a server: systems that it tells, and the web client on another host."""

from __future__ import annotations

import json
import queue
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from teamchat.testing import DEADLINE
from tests.docs.beside import Beside, Handler, answering
from tests.docs.machine import Machine, say
from tests.docs.pages import blocks

TELL = "how-to/tell-other-systems.md"
TRACKER, ARCHIVE = blocks(TELL, "toml")
[BODY] = blocks(TELL, "json")
[CHECK] = blocks(TELL, "python")
WEB = "how-to/use-the-web-client.md"
LEFT_OUT, ELSEWHERE = blocks(WEB, "toml")
[EXPORT] = blocks(WEB, "sh")
SECRET = "the secret of the tracker"


@dataclass
class Told:
    """A request as the receiver's program gets it."""

    path: str
    headers: Any
    body: bytes


class Receiver(Beside):
    """The tracker: takes every request."""

    def __init__(self) -> None:
        super().__init__(Taking)
        self.told = queue.Queue[Told]()

    def next(self) -> Told:
        return self.told.get(timeout=DEADLINE)


class Taking(Handler):
    """One request to it."""

    server: Receiver

    def do_POST(self) -> None:  # noqa: N802 - its name in http.server
        self.server.told.put(Told(self.path, self.headers, self.body()))
        self.send_response(204)
        self.end_headers()


@pytest.fixture
def tracker() -> Iterator[Receiver]:
    with answering(Receiver()) as receiver:
        yield receiver


def is_genuine(later: float = 0) -> Callable[[str, Any, bytes], bool]:
    """Return the page's own function, whose clock may be so many seconds ahead."""
    module: dict[str, Any] = {}
    exec(CHECK, module)
    module["time"] = SimpleNamespace(time=lambda: time.time() + later)
    found: Callable[[str, Any, bytes], bool] = module["is_genuine"]
    return found


def test_a_system_is_told_and_sees_that_it_was_teamchat(machine: Machine, tracker: Receiver) -> None:
    machine.write("teamchat.toml", TRACKER.replace("https://tracker.example.org", tracker.base))
    check = is_genuine()
    with machine.serves("teamchat serve", TRACKER_SECRET=SECRET) as server, server.sign_in() as ada:
        message = say(ada, "Hello")
        ada.post(f"/messages/{message['id']}/reactions", json={"reaction": "+1"}).raise_for_status()
        ada.post(f"/messages/{message['id']}/thread", json={"content": "and"}).raise_for_status()
        came, reply = tracker.next(), tracker.next()
        assert server.end() == 0
    assert came.path == "/hooks/teamchat"
    assert check(SECRET, came.headers, came.body)
    assert not check(SECRET + ".", came.headers, came.body)
    assert not check(SECRET, came.headers, came.body + b" ")
    assert not is_genuine(later=301)(SECRET, came.headers, came.body)
    told, shown = json.loads(came.body), json.loads(BODY)
    assert told.keys() == shown.keys()
    assert told["payload"].keys() >= shown["payload"].keys()
    assert (told["type"], told["payload"]["content"]) == (shown["type"], shown["payload"]["content"])
    assert json.loads(reply.body)["type"] == "NEW_THREAD_REPLY", "a reaction is not among its events"
    assert int(reply.headers["Webhook-Id"]) > int(came.headers["Webhook-Id"])


def test_what_is_not_public_is_told_where_the_target_says_so(machine: Machine, tracker: Receiver) -> None:
    machine.write("teamchat.toml", ARCHIVE.replace("https://archive.example.org", tracker.base))
    with machine.serves("teamchat serve", ARCHIVE_SECRET=SECRET) as server, server.sign_in() as ada:
        others = []
        for email in ("grace@example.org", "alan@example.org"):
            with server.sign_in(email) as other:
                others.append(other.get("/auth/me").json()["user"]["id"])
        private = ada.post("/private-channels", json={"name": "Not the one that is named"}).json()
        group = ada.post("/groups", json={"userIds": others}).json()
        direct = ada.post("/conversations", json={"targetUserId": others[0]}).json()["conversation"]["id"]
        notes = ada.put("/me/notes").json()
        for text, path in {
            "private": f"/channels/{private['channel']['id']}",
            "group": f"/channels/{group['channel']['id']}",
            "direct": f"/conversations/{direct}",
            "notes": f"/channels/{notes['channel']['id']}",
        }.items():
            ada.post(f"{path}/messages", json={"content": text}).raise_for_status()
        say(ada, "the end")
        said = []
        while said[-1:] != ["the end"]:
            came = json.loads(tracker.next().body)["payload"]
            said += [came["content"]] if "content" in came else []
        assert server.end() == 0
    assert said == ["group", "direct", "notes", "the end"]


def test_a_system_can_be_tried(machine: Machine, tracker: Receiver) -> None:
    machine.write("teamchat.toml", TRACKER.replace("https://tracker.example.org", tracker.base))
    assert machine.types("teamchat try-webhook tracker", TRACKER_SECRET=SECRET) == "tracker took it.\n"
    came = tracker.next()
    assert json.loads(came.body)["type"] == "TRY"
    assert is_genuine()(SECRET, came.headers, came.body)


def test_a_server_can_be_without_the_page(machine: Machine) -> None:
    machine.write("teamchat.toml", LEFT_OUT)
    with machine.serves("teamchat serve") as server, server.sign_in() as ada:
        assert ada.get("/").status_code == 404
        assert ada.get("/config.json").status_code == 200
        assert ada.get("/auth/me").status_code == 200


def test_the_page_can_stand_on_another_host(machine: Machine) -> None:
    machine.write("teamchat.toml", ELSEWHERE)
    files = machine.root / "chat-client"
    with machine.serves("teamchat serve") as server:
        export = EXPORT.replace("/srv/chat-client", str(files)).replace(
            "https://api.example.org", server.base
        )
        printed = machine.types(export)
        with server.client() as client:
            for origin, is_accepted in {
                "https://chat.example.org": True,
                "https://preview.example.org": True,
                "https://elsewhere.example.org": False,
            }.items():
                answer = client.get("/config.json", headers={"Origin": origin})
                assert answer.headers.get("Access-Control-Allow-Origin") == (origin if is_accepted else None)
            served = client.get("/")
            assert (files / "index.html").read_bytes() == served.content
        assert server.end() == 0
    headers = dict(line.split(": ", 1) for line in printed.splitlines() if ": " in line)
    assert server.base in headers["Content-Security-Policy"]
    configuration = (files / "config.js").read_text().partition(" = ")[2].rstrip(";\n")
    assert json.loads(configuration)["API_BASE_URL"] == server.base
    kinds = {file.suffix for file in files.rglob("*") if file.is_file()}
    assert {".html", ".js", ".css", ".webmanifest"} <= kinds
    assert (files / "client").is_dir()
