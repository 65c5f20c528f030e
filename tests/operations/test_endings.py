"""However a command ends, its exit code tells, and nothing half written stays."""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import trio

from teamchat.operations.backup import back_up
from teamchat.operations.import_export.exporting import export_to
from teamchat.operations.installation import Installation
from tests.operations.conftest import ROOT, configure

pytestmark = pytest.mark.slow

IMAGES = 5
IMAGE_BYTES = 1024**2


@pytest.fixture(scope="module")
def lived_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the configuration of an installation, a backup of it, and an export."""
    directory = tmp_path_factory.mktemp("lived-in")
    config = configure(directory / "c.json", storage={"path": str(directory / "data"), "backend": "sqlite"})
    one = Installation.load(config, {})

    async def fill() -> None:
        async with one.storage() as storage, one.images() as images:
            async with storage.write() as tx:
                for number in range(200):
                    await tx.fetch(
                        "insert into users (id, user_name, email, is_admin, created_at)"
                        " values ($1, $2, $3, 1, 1)",
                        *(f"{number:032x}", f"Ada {number} 🦊", f"ada{number}@example.org"),
                    )
            for number in range(IMAGES):
                name = f"{number}-{number:032x}.png"
                await images.put(name, os.urandom(IMAGE_BYTES))
                async with storage.write() as tx:
                    await tx.fetch(
                        "insert into images (filename, room_id, uploaded_by, created_at, media_type, size)"
                        " values ($1, 'x', '1', 1, 'image/png', $2)",
                        *(name, IMAGE_BYTES),
                    )
        await back_up(one, directory / "backup.zip")
        await export_to(one, directory / "export")

    trio.run(fill)
    assert (
        ended("", "upgrade", "--config", config).returncode == 0
    )  # the tables of plugins, which a start makes
    return directory


def command(code: str, *arguments: str | Path) -> list[str]:
    """Return what runs some code, and then the command."""
    program = f"import sys\n{code}\nfrom teamchat.cli import main\nsys.exit(main(sys.argv[1:]))"
    return [sys.executable, "-c", program, *map(str, arguments)]


def ended(code: str, *arguments: str | Path, **more: Any) -> subprocess.CompletedProcess[str]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("TEAMCHAT_")}
    given: dict[str, Any] = {"stdout": subprocess.PIPE} | more
    return subprocess.run(
        command(code, *arguments),
        stderr=subprocess.PIPE,
        env=environ | {"PYTHONPATH": str(ROOT)} | given.pop("env", {}),
        text=True,
        check=False,
        timeout=60,
        **given,
    )


def test_a_reader_that_has_enough_is_no_error(lived_in: Path) -> None:
    arguments = ("user", "list", "--config", str(lived_in / "c.json"))
    reading, writing = os.pipe()
    os.close(reading)
    for more in ([], ["--json"]):
        done = ended("", *arguments, *more, stdout=writing)
        assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, "")
    assert ended("", "--help", stdout=writing).stderr == ""
    os.close(writing)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")
def test_what_can_not_be_printed_is_told(lived_in: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = ended("", "user", "list", "--config", lived_in / "c.json", stdout=full)
    assert done.returncode == 1
    assert done.stderr == "teamchat: What was done can't be printed (No space left on device).\n"


def test_a_terminal_without_a_sign_is_shown_its_number(lived_in: Path) -> None:
    latin = {"PYTHONIOENCODING": "latin-1"}
    done = ended("", "user", "list", "--config", lived_in / "c.json", env=latin)
    assert done.returncode == 0, done.stderr
    assert r"Ada 7 \U0001f98a" in done.stdout
    done = ended("", "user", "list", "--json", "--config", lived_in / "c.json", env=latin)
    assert json.loads(done.stdout)[7]["userName"] == "Ada 7 🦊"


def verbs(lived_in: Path, place: Path) -> dict[str, list[str | Path]]:
    """Return what each verb is given that writes below `place`, which is empty."""
    target = configure(place / "c.json", storage={"path": str(place / "data"), "backend": "sqlite"})
    return {
        "backup": ["backup", "--config", lived_in / "c.json", place / "backup.zip"],
        "export": ["export", "--config", lived_in / "c.json", place / "export"],
        "restore": ["restore", "--config", target, lived_in / "backup.zip"],
    }


def left(place: Path) -> list[str]:
    """Return what is left, but for the database, which is empty, and the configuration."""
    found = [str(path.relative_to(place)) for path in place.rglob("*") if path.is_file()]
    return [name for name in found if name != "c.json" and not name.startswith("data/teamchat.db")]


INTERRUPT = """
import os, signal
signal.signal(signal.SIGHUP, signal.{1})
signal.signal(signal.SIGINT, signal.{2})
from teamchat.cli.progress import Progress
told = Progress.__call__
def tell(self, what, done, total):
    told(self, what, done, total)
    if what == "images" and done == 2:
        os.kill(os.getpid(), signal.{0})
Progress.__call__ = tell
"""


def interrupted_by(name: str, *, hangup: str = "SIG_DFL", interrupt: str = "default_int_handler") -> str:
    """Return code that has a signal come in the middle, where the others are treated so."""
    return INTERRUPT.format(name, hangup, interrupt)


@pytest.mark.parametrize("verb", ["backup", "export", "restore"])
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_what_is_broken_off_leaves_nothing(verb: str, name: str, lived_in: Path, tmp_path: Path) -> None:
    done = ended(interrupted_by(name), *verbs(lived_in, tmp_path)[verb])
    assert done.returncode == 128 + signal.Signals[name]
    assert "Traceback" not in done.stderr
    assert "error" not in done.stderr
    assert left(tmp_path) == []
    done = ended("", *verbs(lived_in, tmp_path)[verb])
    assert done.returncode == 0, done.stderr


def test_what_was_protected_from_the_end_of_the_terminal_goes_on(lived_in: Path, tmp_path: Path) -> None:
    """As ``nohup`` does."""
    done = ended(interrupted_by("SIGHUP", hangup="SIG_IGN"), *verbs(lived_in, tmp_path)["backup"])
    assert done.returncode == 0, done.stderr
    assert left(tmp_path) == ["backup.zip"]


def test_a_background_job_of_a_script_ends_at_sigterm(lived_in: Path, tmp_path: Path) -> None:
    """A shell has it ignore SIGINT."""
    done = ended(interrupted_by("SIGTERM", interrupt="SIG_IGN"), *verbs(lived_in, tmp_path)["backup"])
    assert done.returncode == 128 + signal.SIGTERM
    assert left(tmp_path) == []


def test_an_import_that_is_broken_off_keeps_its_notes_and_can_be_given_again(
    lived_in: Path, tmp_path: Path
) -> None:
    target = verbs(lived_in, tmp_path)["restore"][2]
    assert ended("", "restore", "--config", target, lived_in / "backup.zip").returncode == 0
    export, report = shutil.copytree(lived_in / "export", tmp_path / "export"), tmp_path / "report.jsonl"
    with (export / "users.jsonl").open("a") as users:
        users.write(json.dumps({"id": "f" * 32, "userName": "Eve", "createdAt": 1}) + "\n")
    arguments = ["import", "--config", target, "--report", report, export]
    done = ended(interrupted_by("SIGINT").replace('"images" and done == 2', '"messages read"'), *arguments)
    assert (done.returncode, done.stderr) == (128 + signal.SIGINT, "")
    [noted] = map(json.loads, report.read_text().splitlines())
    assert (noted["where"], noted["outcome"]) == ("f" * 32, "changed")
    done = ended("", *arguments)
    assert done.returncode == 0, done.stderr
    assert "There already: 201 users" in done.stdout
    assert [json.loads(line) for line in report.read_text().splitlines()] == [noted]


FULL = f"""
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, ({IMAGE_BYTES // 2}, {IMAGE_BYTES // 2}))
"""


@pytest.mark.parametrize("verb", ["backup", "export", "restore"])
def test_a_full_disk_is_one_line_and_leaves_nothing(verb: str, lived_in: Path, tmp_path: Path) -> None:
    done = ended(FULL, *verbs(lived_in, tmp_path)[verb])
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("teamchat: ")
    assert f"({os.strerror(errno.EFBIG)})" in done.stderr
    assert left(tmp_path) == []
    done = ended("", *verbs(lived_in, tmp_path)[verb])
    assert done.returncode == 0, done.stderr
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY


@pytest.mark.parametrize("verb", ["backup", "export", "restore", "import", "upgrade", "check", "init"])
def test_a_directory_that_is_gone_is_one_line(verb: str, lived_in: Path, tmp_path: Path) -> None:
    given: dict[str, list[str | Path]] = {
        "backup": ["--config", lived_in / "c.json", "backup.zip"],
        "export": ["--config", lived_in / "c.json", "export"],
        "restore": [lived_in / "backup.zip"],
        "import": ["export"],
    }
    code = f"import os; os.mkdir({str(tmp_path / 'gone')!r}); os.chdir({str(tmp_path / 'gone')!r})\n"
    code += "os.rmdir(os.getcwd())"
    done = ended(code, verb, *given.get(verb, []))
    assert done.returncode == 1
    assert "unexpected" not in done.stderr
    if verb != "check":
        assert done.stderr.startswith("teamchat: ")
        assert done.stderr.count("\n") == 1 or verb == "backup"
