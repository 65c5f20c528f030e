"""What operators deploy with works, as far as a machine without systemd or containers can show."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from teamchat.settings import load

ROOT = Path(__file__).parent.parent.parent
DEPLOY = ROOT / "deploy"


def pins(lock: Path) -> dict[str, str]:
    return dict(re.findall(r"^([A-Za-z0-9._-]+)==(\S+)", lock.read_text(), re.MULTILINE))


def test_a_server_gets_the_versions_that_are_tested() -> None:
    tested, served = pins(ROOT / "requirements.lock"), pins(DEPLOY / "requirements.lock")
    assert served
    assert served.items() <= tested.items()
    assert not {"pytest", "ruff", "mypy", "playwright"} & served.keys()


def test_nothing_comes_in_by_another_package_of_the_name_teamchat() -> None:
    strangers = {"errbot", "ansible", "ansible-core", "slackclient"}
    for lock in (ROOT / "requirements.lock", DEPLOY / "requirements.lock"):
        assert not strangers & pins(lock).keys()


def test_the_composed_services_settings_are_keys_of_teamchat(tmp_path: Path) -> None:
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    given = {"APP_URL": "https://chat.example.org", "JWT_SECRET": "x" * 32, "POSTGRES_PASSWORD": "secret"}
    environment = {
        name: re.sub(r"\$\{(\w+):\?[^}]*\}", lambda found: given[found[1]], str(value))
        for name, value in services["teamchat"]["environment"].items()
    }
    settings = load(environ=environment)
    assert settings.storage.backend == "postgres"
    assert settings.storage.options["url"].startswith("postgresql://teamchat@database/")
    assert settings.auth.app_url == given["APP_URL"]
    assert set(services["teamchat"]["depends_on"]) <= services.keys()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze here")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    text = (DEPLOY / "teamchat.service").read_text()
    here = tmp_path / "teamchat.service"
    here.write_text(text.replace("/opt/teamchat/bin/teamchat", str(Path(sys.executable).parent / "teamchat")))
    said = subprocess.run(["systemd-analyze", "verify", here], capture_output=True, text=True, check=False)
    assert (said.returncode, said.stderr) == (0, "")
