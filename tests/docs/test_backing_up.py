"""The page on backups: by hand, every night, and back again after everything was lost."""

from __future__ import annotations

import base64
import json
import re
import shutil
import stat
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2

from teamchat.testing import DEADLINE
from tests.docs.machine import Machine, channel_of, said_in, say
from tests.docs.pages import DOCS, blocks
from tests.operations.conftest import PIXEL

PAGE = "how-to/back-up-and-restore.md"
BACKUP, RESTORE = blocks(PAGE, "sh")
[NIGHTLY] = blocks(PAGE, "crontab")


@contextmanager
def talking(client: httpx2.Client) -> Iterator[list[str]]:
    """Post all the while; yield what was acknowledged before."""
    acknowledged, enough, over = list[str](), threading.Event(), threading.Event()

    def talk() -> None:
        while not over.wait(0.02):
            acknowledged.append(say(client, "hello")["id"])
            if len(acknowledged) == 5:
                enough.set()

    thread = threading.Thread(target=talk)
    thread.start()
    try:
        assert enough.wait(DEADLINE)
        yield list(acknowledged)
    finally:
        over.set()
        thread.join()


def test_what_was_acknowledged_is_there_after_everything_was_lost(machine: Machine) -> None:
    backups = machine.root / "var" / "backups"
    backups.mkdir(parents=True)
    with machine.serves("teamchat serve") as server, server.sign_in() as ada:
        upload = {"filename": "a.svg", "image": base64.b64encode(PIXEL).decode()}
        image = ada.post(f"{channel_of(ada)}/messages/image", json=upload).json()["filename"]
        say(ada, "look", images=[image])
        with talking(ada) as before:
            said = machine.types(BACKUP)
        token = ada.headers["Authorization"].removeprefix("Bearer ")
        server.kill()
    [file] = backups.iterdir()
    assert re.fullmatch(r"chat-\d{4}-\d\d-\d\d\.zip", file.name)
    assert f"{file} is written." in said
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    again = machine.types(BACKUP, status=1)
    assert re.fullmatch(r"teamchat: .* is there already.*\n", again)

    shutil.rmtree(machine.root / "teamchat-data")
    restore = RESTORE.replace("chat-2026-11-20.zip", file.name)
    assert restore != RESTORE
    with machine.serves(restore) as server, server.client(token) as ada:
        found = said_in(ada)
        assert {*before} <= {message["id"] for message in found}
        assert found[0]["content"] == "look"
        assert ada.get(f"{channel_of(ada)}/messages/image/{image}").content == PIXEL
        assert server.end() == 0
    assert "give --replace" in machine.types(restore.splitlines()[0], status=1)
    assert "is restored" in machine.types(f"{restore.splitlines()[0]} --replace --end-sessions")
    with machine.serves("teamchat serve") as server, server.client(token) as ada:
        assert ada.get("/auth/me").status_code == 401


def test_the_line_for_every_night_makes_a_backup_that_other_programs_read(machine: Machine) -> None:
    machine.install()
    data = machine.root / "var" / "lib" / "teamchat"
    machine.write("etc/teamchat/teamchat.toml", '[storage]\npath = "/var/lib/teamchat"\n')
    with (
        machine.serves("teamchat serve --config /etc/teamchat/teamchat.toml") as server,
        server.sign_in() as ada,
    ):
        say(ada, "hello")
        assert server.end() == 0
    assert (data / "teamchat.db").is_file()
    *when, command = NIGHTLY.split(maxsplit=5)
    assert when == ["15", "3", "*", "*", "*"]
    assert "%" not in command.replace(r"\%", ""), "a bare % ends the line for cron"
    command = machine.here(command.replace(r"\%", "%")).strip()
    # The directory is not there yet: that is told, and the exit code says so.
    assert re.match("teamchat: ", machine.types(f"sh -c '{command}'", status=1))
    [made] = re.findall(r"`install -d -o teamchat (.*?)`", (DOCS / PAGE).read_text())
    machine.types(f"install -d {made}")
    machine.types(f"sh -c '{command}'")
    [file] = (machine.root / "var" / "backups" / "teamchat").iterdir()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d\.zip", file.name)
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    with zipfile.ZipFile(file) as archive:
        manifest = json.loads(archive.read("manifest.json"))
        rows = [json.loads(line) for line in archive.read("tables/messages.jsonl").splitlines()]
        assert manifest["tables"]["messages"]["rows"] == len(rows) == 1
        assert len(manifest["tables"]["messages"]["sha256"]) == 64
        assert "tables/events.jsonl" not in archive.namelist()
        assert {"images.jsonl", "jwt-secret"} <= {*archive.namelist()}
