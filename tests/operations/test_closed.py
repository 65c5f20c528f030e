"""Who may not read a directory is told so, whatever they asked for, and nothing that is not true."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio

from teamchat.errors import SettingsError
from teamchat.operations import checking
from teamchat.operations.backup import back_up
from teamchat.operations.checking import Finding, check
from teamchat.operations.import_export.exporting import export_to
from teamchat.operations.installation import Installation
from teamchat.storage.sqlite import refuse_closed
from tests.operations.conftest import ROOT, configure

UNPRIVILEGED: list[str] = []
if os.geteuid() == 0:  # To whom modes are nothing, unless that is taken away.
    UNPRIVILEGED = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all"]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        bool(UNPRIVILEGED) and shutil.which("setpriv") is None, reason="modes do not keep root out"
    ),
]
VERBS = (
    "backup out.zip",
    "export out",
    "user list",
    "user demote ada@example.org",
    "import export",
    "upgrade",
)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A directory with an installation (``c.json``, ``data``), and all that is brought in, in ``closed``."""
    one = Installation.load(configure(tmp_path / "c.json", storage={"path": str(tmp_path / "data")}), {})
    closed = tmp_path / "closed"
    closed.mkdir()

    async def fill() -> None:
        async with one.storage() as storage, storage.write() as tx:
            await tx.fetch(
                "insert into users (id, user_name, email, is_admin, created_at)"
                " values ('1', 'Ada', 'ada@example.org', 1, 1)"
            )
        await back_up(one, closed / "backup.zip")
        await export_to(one, closed / "export")

    trio.run(fill)
    yield tmp_path
    for directory in (closed, tmp_path / "data"):
        directory.chmod(0o700)


def said(place: Path, *arguments: str) -> str:
    """Give a command in a place as one whom modes keep out, expect that it fails, and return what it says."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("TEAMCHAT_")}
    done = subprocess.run(
        [*UNPRIVILEGED, sys.executable, "-m", "teamchat", *arguments, "--config", "c.json"],
        cwd=place,
        env=environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr + done.stdout


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("inner", ["", "inner"])
def test_who_may_not_look_into_the_data_directory_is_told(verb: str, inner: str, place: Path) -> None:
    data = place / "data" / inner
    configure(place / "c.json", storage={"path": str(data)})
    (place / "data").chmod(0)
    sentence = f"storage.path: {data} can't be used by this user. Run this as the server's user."
    assert said(place, *verb.split()) == f"teamchat: {sentence}\n"


@pytest.mark.parametrize("verb", ["serve --port 0", "user list", "upgrade"])
def test_who_may_not_use_a_file_of_the_database_is_told_which(verb: str, place: Path) -> None:
    database = place / "data" / "teamchat.db"
    database.chmod(0o400)
    sentence = (
        f"storage.path: {database} can't be used by this user. Run this as the server's user. "
        "The file has to belong to that user, with mode 600."
    )
    assert said(place, *verb.split()).endswith(f"teamchat: {sentence}\n")
    assert not (place / "data" / "teamchat.db-shm").exists(), "it would be read-only too, and stay so"


def test_who_may_not_read_the_secret_is_told_at_the_start_as_well(place: Path) -> None:
    secret = place / "data" / "jwt-secret"
    secret.write_text("s" * 64)
    secret.chmod(0)
    assert said(place, "serve", "--port", "0").endswith(
        "teamchat: storage.path: the file jwt-secret there can't be read (Permission denied). "
        "Run this as the server's user.\n"
    )


def test_a_file_system_that_is_read_only_is_not_taken_for_the_wrong_user(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = os.statvfs(place)
    fields = [*known[:8], known.f_flag | os.ST_RDONLY, known.f_namemax, known.f_fsid]
    monkeypatch.setattr(os, "statvfs", lambda _: os.statvfs_result(fields))
    with pytest.raises(SettingsError, match=r"data is on a file system that is read-only\. Mount it"):
        refuse_closed(place / "data")


def test_a_check_tells_the_wrong_user_of_every_part(place: Path) -> None:
    (place / "data").chmod(0)
    lines = said(place, "check")
    assert f"\nproblem  directory             {place}/data can't be used by this user." in lines
    assert "\nproblem  secret                storage.path: the file jwt-secret there can't be read" in lines
    assert "\nok       mail                  none is configured" in lines
    assert "\nproblem  database              can't be opened: storage.path: " in lines


@pytest.mark.parametrize(
    ("verb", "sentence"),
    [
        ("backup closed/new.zip", "closed/new.zip can't be written (Permission denied)."),
        ("export closed/new", "closed/new can't be written (Permission denied)."),
        ("import closed/export", "closed/export can't be read (Permission denied)."),
        ("import closed/slack.zip", "closed/slack.zip can't be read (Permission denied)."),
        ("import closed", "closed can't be read (Permission denied)."),
        (
            "restore closed/backup.zip",
            "closed/backup.zip can't be restored: it can't be read (Permission denied). Nothing was changed.",
        ),
    ],
)
def test_what_lies_where_this_user_may_not_look_is_no_unexpected_error(
    verb: str, sentence: str, place: Path
) -> None:
    (place / "closed").chmod(0)
    assert said(place, *verb.split()) == f"teamchat: {sentence}\n"


@pytest.mark.parametrize("closed", ["general", "general/2017-07-14.json"])
def test_a_part_of_slacks_export_that_can_not_be_read_is_named(closed: str, place: Path) -> None:
    slack = place / "slack"
    (slack / "general").mkdir(parents=True)
    for name in ("users.json", "general/2017-07-14.json"):
        (slack / name).write_text("[]")
    (slack / "channels.json").write_text(json.dumps([{"id": "C1", "name": "general", "created": 1}]))
    (slack / closed).chmod(0)
    said_of_it = said(place, "import", "slack")
    (slack / closed).chmod(0o700)
    assert said_of_it.endswith(f"teamchat: slack/{closed} can't be read (Permission denied).\n")


async def test_each_finding_is_said_before_the_next_is_looked_for(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def breaks(*_: object) -> Finding:
        raise ZeroDivisionError

    monkeypatch.setattr(checking, "check_mail", breaks)
    findings: list[Finding] = []
    with pytest.raises(ZeroDivisionError):
        await check(Installation.load(place / "c.json", {}), findings.append)
    assert {"configuration", "directory", "secret"} <= {finding.subject for finding in findings}
