"""The page on checking an installation: what it shows is what is said, of a good one and of a harmed one."""

from __future__ import annotations

import base64
import re
import socket

from tests.docs.machine import Machine, channel_of, like
from tests.docs.pages import blocks
from tests.operations.conftest import PIXEL

PAGE = "how-to/check-an-installation.md"
[CHECK] = blocks(PAGE, "sh")
[SHOWN] = blocks(PAGE, "text")
DISK = {"warning\\ ": r"(ok|warning|problem)\ +", "MiB": "[KMG]iB"}


def test_every_line_that_the_page_shows_is_said(machine: Machine) -> None:
    with machine.serves("teamchat serve") as server, server.sign_in() as ada:
        upload = {"filename": "a.svg", "image": base64.b64encode(PIXEL).decode()}
        assert ada.post(f"{channel_of(ada)}/messages/image", json=upload).status_code == 200
        with socket.create_server(("127.0.0.1", 0)) as mail:
            port = mail.getsockname()[1]
            smtp = {"HOST": "127.0.0.1", "PORT": str(port), "SENDER": "chat@example.org"}
            machine.environment |= {f"TEAMCHAT_EMAIL__{key}": value for key, value in smtp.items()}
            machine.environment |= {"TEAMCHAT_AUTH__AUTHMODE": "password"}
            good = machine.types(CHECK)
        [image] = (machine.root / "teamchat-data" / "images").glob("*.svg")
        image.unlink()
        bad = machine.types(CHECK, status=1)
        assert server.end() == 0
    assert not [line for line in good.splitlines() if line.startswith("problem")]
    assert "problem  mail " in bad, "its server was there no more"
    said = [*good.splitlines(), *bad.splitlines()]
    for line in SHOWN.splitlines():
        if "-> Make room" not in line:  # That depends on the disk, and so do its level and its unit.
            pattern = re.sub(r"^warning\\ |MiB", lambda found: DISK[found[0]], like(line).pattern)
            assert any(re.fullmatch(pattern, each) for each in said), line
    subjects = iter(_subjects(bad))
    assert all(subject in subjects for subject in _subjects(SHOWN)), "not in this order"


def _subjects(said: str) -> list[str]:
    """Return what each finding is about."""
    return [line[9:24].strip() for line in said.splitlines() if not line.startswith(" ")]


def test_a_trial_mail_is_sent_and_an_installation_that_is_not_there_is_a_problem(machine: Machine) -> None:
    said = machine.types(CHECK, status=1)
    assert "\nproblem  directory " in said
    assert not [*machine.root.iterdir()]
    files = {"TEAMCHAT_EMAIL__BACKEND": "files", "TEAMCHAT_EMAIL__SENDER": "chat@example.org"}
    with machine.serves("teamchat serve") as server:
        machine.environment |= files
        said = machine.types(f"{CHECK.strip()} --mail you@example.org")
        assert server.end() == 0
    assert "a trial was handed over for you@example.org" in said
    [mail] = (machine.root / "teamchat-data" / "mails").iterdir()
    assert "you@example.org" in mail.read_text()
