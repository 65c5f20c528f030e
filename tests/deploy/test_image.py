"""The image's own steps, followed without containers, end in a server that is healthy."""

from __future__ import annotations

import os
import re
import stat
import subprocess
from pathlib import Path

import httpx2
import pytest
import trio

from teamchat.testing import DEADLINE
from tests.deploy.containerfile import Stage, follow
from tests.harness import free_port

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    return follow(ROOT / "deploy" / "Containerfile", ROOT, tmp_path_factory.mktemp("image"))


@pytest.mark.slow
def test_everything_is_kept_in_the_volume_and_is_for_the_server_alone(image: Stage) -> None:
    [volume] = image.volumes
    assert volume == image.workdir == image.env["TEAMCHAT_STORAGE__PATH"]
    assert stat.S_IMODE(Path(image.inside(volume)).stat().st_mode) == 0o700
    assert image.user == "teamchat"


def test_both_stages_have_the_same_python() -> None:
    bases = re.findall(r"^FROM (\S+)", (ROOT / "deploy" / "Containerfile").read_text(), re.MULTILINE)
    assert len(bases) == 2
    assert len(set(bases)) == 1


@pytest.mark.slow
async def test_the_image_starts_and_is_healthy(image: Stage) -> None:
    port = free_port()
    own = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    environ = own | image.environ() | {"TEAMCHAT_SERVER__PORT": str(port)}
    [*rest, last] = image.healthcheck
    checking = image.argv([*rest, last.replace(":3000/", f":{port}/")])

    async def is_healthy() -> bool:
        return (await trio.run_process(checking, check=False, capture_stderr=True)).returncode == 0

    assert not await is_healthy()
    process = await trio.lowlevel.open_process(
        image.argv([*image.entrypoint, *image.command]),
        env=environ,
        cwd=image.inside(image.workdir),
        stdout=subprocess.PIPE,
    )
    try:
        with trio.fail_after(DEADLINE):
            while not await is_healthy():  # noqa: ASYNC110  # It is another process.
                await trio.sleep(0.05)
        assert process.stdout is not None
        said = (await process.stdout.receive_some()).decode()
        assert "The first user is admin@localhost with the password" in said
        async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=DEADLINE) as client:
            page = await client.get("/")
            assert "<html" in page.text
            [script] = re.findall(r'<script type="module" src="([^"]+)"', page.text)
            assert (await client.get(script)).status_code == 200
    finally:
        process.terminate()
        with trio.CancelScope(shield=True):
            assert await process.wait() == 0
    assert {"teamchat.db", "jwt-secret", "images"} <= set(os.listdir(image.inside(image.workdir)))


@pytest.mark.slow
async def test_a_word_behind_the_image_is_a_verb(image: Stage) -> None:
    done = await trio.run_process(
        image.argv([*image.entrypoint, "check"]),
        env=image.environ() | {"PATH": os.environ["PATH"]},
        cwd=image.inside(image.workdir),
        capture_stdout=True,
        check=False,
    )
    assert done.stdout.decode().startswith(
        "ok       configuration         in order; people sign in by password\n"
    )
