"""The page about notices on phones: a server starts on what it configures, and offers pushes then."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import trio

from tests.docs.pages import blocks
from tests.harness import running

CONTACT, SESSIONS, ALLOWED = blocks("how-to/get-notices-on-phones.md", "toml")
[TRY] = blocks("how-to/get-notices-on-phones.md", "sh")


async def test_a_server_offers_pushes_with_what_the_page_configures(tmp_path: Path) -> None:
    sections = tomllib.loads(CONTACT) | tomllib.loads(SESSIONS)
    sections["push"] = sections["push"] | tomllib.loads(ALLOWED)["push"]
    async with running(tmp_path, **sections) as server, await server.sign_in() as ada:
        assert "web-push" in (await ada.get("/capabilities")).json()["capabilities"]
        assert len((await ada.get("/push/key")).json()["key"]) == 87


async def test_the_operator_is_told_whose_devices_there_are_none_of(tmp_path: Path) -> None:
    async with running(tmp_path, **tomllib.loads(CONTACT)) as server:
        await (await server.sign_in("anna@example.org")).aclose()
        program, verb, *rest = TRY.split()
        installed = Path(sys.executable).with_name(program)  # The environment need not be on the PATH.
        command = [installed, verb, "--config", str(server.directory / "teamchat.json"), *rest]
        done = await trio.run_process(command, capture_stdout=True, capture_stderr=True, check=False)
    assert done.returncode == 1
    assert "has turned notices on nowhere" in done.stderr.decode()
