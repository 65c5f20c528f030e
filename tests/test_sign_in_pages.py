"""The pages on signing in are true: their configurations are accepted, and their walk-throughs run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from teamchat.plugins import Plugins
from teamchat.settings import backend_options, load

HOW_TO = Path(__file__).parent.parent / "docs" / "how-to"
PAGES = ["sign-in-with-magic-links.md", "sign-in-with-passwords.md", "sign-in-for-development.md"]
DEADLINE = 30


def blocks(page: str, language: str) -> list[str]:
    found = re.findall(rf"^```{language}\n(.*?)^```$", (HOW_TO / page).read_text(), re.MULTILINE | re.DOTALL)
    assert found, f"{page} has no {language}"
    return found


@contextmanager
def served(directory: Path) -> Iterator[str]:
    """Run `teamchat serve` on a free port in a directory with a ``teamchat.toml``; yield its address."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TEAMCHAT_")}
    process = subprocess.Popen(
        [sys.executable, "-m", "teamchat", "serve", "--port", "0"],
        cwd=directory,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        text=True,
    )
    try:
        assert process.stdout is not None
        said = iter(process.stdout.readline, "")
        yield next(re.findall(r"ready on (\S+)", line)[0] for line in said if "ready on" in line)
        process.terminate()
        assert process.wait(DEADLINE) == 0
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("page", PAGES)
async def test_every_configuration_on_the_page_is_accepted_by_its_mode(page: str, tmp_path: Path) -> None:
    plugins = Plugins.load()
    for text in blocks(page, "toml"):
        file = tmp_path / "teamchat.toml"
        file.write_text(text)
        settings = load(file, {"SMTP_PASSWORD": "secret", "ADMIN_PASSWORD": "correct horse battery"})
        mode = plugins.auth_mode(settings.auth.auth_mode)
        async with mode.open(mode.options()) as chosen:
            chosen.check(settings)
        if settings.email is not None:
            mailer = plugins.mailer(settings.email.backend)
            backend_options(settings.email, mailer)


@pytest.mark.skipif(shutil.which("curl") is None, reason="the walk-throughs use curl")
@pytest.mark.parametrize(
    ("page", "answers"),
    [
        (PAGES[0], ['{"success":true,"message":', '{"accessToken":"', '"refreshToken":"']),
        (PAGES[1], ['"userId":"', '"tokenType":"Bearer"', '{"success":true,"message":']),
        (PAGES[2], ['"email":"admin@localhost","isAdmin":true']),
    ],
)
def test_the_walk_through_of_the_page_runs(page: str, answers: list[str], tmp_path: Path) -> None:
    (tmp_path / "teamchat.toml").write_text(blocks(page, "toml")[-1])
    script = "\n".join(blocks(page, "sh"))
    assert "BASE=http://127.0.0.1:3000" in script
    # The page says that the mail is there a moment later; a script must wait for it.
    wait = "until ls teamchat-data/mails/*.eml > /dev/null 2>&1; do sleep 0.05; done\nMAIL=$("
    with served(tmp_path) as base:
        script = script.replace("BASE=http://127.0.0.1:3000", f"BASE={base}").replace("MAIL=$(", wait)
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            check=False,
        )
    assert done.returncode == 0, done.stderr + done.stdout
    assert not [answer for answer in answers if answer not in done.stdout], done.stdout
