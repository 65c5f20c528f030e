"""Servers that would refuse each other's tokens do not run together; other images are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.two_servers.nodes import NotStarted, begin, begun, settings_of, storage_of

pytestmark = pytest.mark.slow

SECRET = "a secret of the tests that is long enough"


async def test_a_server_with_another_secret_does_not_start_beside_one(
    storage_kind: str, tmp_path: Path
) -> None:
    storage = storage_of(storage_kind, tmp_path)
    other = settings_of(storage, auth={"jwtSecret": SECRET})
    with begun(tmp_path, settings_of(storage)) as first:
        with pytest.raises(NotStarted) as refused:
            begin(tmp_path, other)
        told = str(refused.value)
        assert "teamchat: auth.jwtSecret: another server runs on this storage with another secret" in told
        assert SECRET not in told
        assert "Traceback" not in told
        answer = await first.client().post("/auth/dev-login", json={"email": "ada@example.org"})
        assert answer.status_code == 200
        assert first.end() == 0
    with begun(tmp_path, other) as second:
        client = second.client(answer.json()["token"])
        assert (await client.get("/auth/me")).status_code == 401


async def test_a_killed_server_does_not_keep_the_next_from_starting_with_its_secret(
    storage_kind: str, tmp_path: Path
) -> None:
    settings = settings_of(storage_of(storage_kind, tmp_path))
    begin(tmp_path, settings).kill()
    with begun(tmp_path, settings) as second:
        assert "secret" not in second.log.read_text()
        assert second.end() == 0


@pytest.mark.parametrize(("table", "said"), [("images", "images.path"), ("files-directory", "files")])
async def test_a_server_that_keeps_images_or_files_elsewhere_is_warned_of(
    storage_kind: str, tmp_path: Path, table: str, said: str
) -> None:
    storage = storage_of(storage_kind, tmp_path)
    elsewhere = settings_of(storage, **{table: {"path": str(tmp_path / "elsewhere")}})
    with (
        begun(tmp_path, settings_of(storage)) as first,
        begun(tmp_path, elsewhere) as second,
        begun(tmp_path, settings_of(storage)) as third,
    ):
        logs = [node.log.read_text() for node in (first, second, third)]
        assert [f"{said}: another server" in log for log in logs] == [False, True, False], logs
