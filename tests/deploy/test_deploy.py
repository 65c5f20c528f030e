"""What operators deploy with works, as far as a machine without systemd or containers can show."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import httpx2
import pytest
import trio
import yaml

from teamchat.settings import load
from tests.harness import DEADLINE, free_port

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


def test_what_the_container_copies_is_there() -> None:
    text = (DEPLOY / "Containerfile").read_text()
    sources = [name for line in re.findall(r"^COPY (.*) \S+$", text, re.MULTILINE) for name in line.split()]
    assert len(sources) > 4
    assert [name for name in sources if not (ROOT / name).exists()] == []


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


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory into which the wheels of all packages are installed, as `make server` does."""
    built, installed = tmp_path_factory.mktemp("wheels"), tmp_path_factory.mktemp("installed")
    plugins = sorted(str(path) for path in (ROOT / "plugins").glob("teamchat-*"))
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    offline = ["--no-deps", "--no-index"]
    build = ["wheel", *offline, "--no-build-isolation", "--wheel-dir", str(built), str(ROOT), *plugins]
    subprocess.run([*pip, *build], check=True)
    found = sorted(str(wheel) for wheel in built.glob("*.whl"))
    assert len(found) == len(plugins) + 1
    subprocess.run([*pip, "install", *offline, "--target", str(installed), *found], check=True)
    return installed


async def test_a_server_from_wheels_alone_serves_everything(wheels: Path, tmp_path: Path) -> None:
    # Isolated, and without the .pth files through which a development install finds the sources.
    libraries = sysconfig.get_paths()["purelib"]
    program = (
        f"import sys; sys.path[:0] = [{str(wheels)!r}]; sys.path.append({libraries!r})\n"
        "from teamchat.cli import main; raise SystemExit(main())"
    )
    port = free_port()
    config = tmp_path / "teamchat.json"
    config.write_text(
        json.dumps(
            {
                "auth": {"authMode": "dev"},
                "server": {"host": "127.0.0.1", "port": port},
                "storage": {"path": str(tmp_path / "data")},
            }
        )
    )
    command = [sys.executable, "-I", "-S", "-c", program, "serve", "--config", str(config)]
    process = await trio.lowlevel.open_process(command, stdout=subprocess.DEVNULL)
    try:
        async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=DEADLINE) as client:
            with trio.fail_after(DEADLINE):
                while not await answers(client):  # noqa: ASYNC110  # It is another process.
                    await trio.sleep(0.05)
            page = await client.get("/")
            assert "<html" in page.text
            [script] = re.findall(r'<script type="module" src="([^"]+)"', page.text)
            assert (await client.get(script)).status_code == 200
    finally:
        process.terminate()
        with trio.CancelScope(shield=True):
            assert await process.wait() == 0


async def answers(client: httpx2.AsyncClient) -> bool:
    try:
        return (await client.get("/health")).status_code == 200
    except httpx2.TransportError:
        return False
