"""What is acknowledged outlasts a power cut, and is its owner's alone."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from teamchat.storage.disk import make_directory, remove_file, write_file
from tests.synced import noted_steps


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    return noted_steps(monkeypatch)


def test_a_file_is_synced_before_it_has_its_name_and_the_directory_after(
    tmp_path: Path, steps: list[str]
) -> None:
    for data in (b"one", b"another"):
        write_file(tmp_path / "file", data)
        assert (tmp_path / "file").read_bytes() == data
    assert steps == ["file", "rename", "directory"] * 2
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o600


def test_of_a_write_that_fails_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_file(tmp_path / "file", b"bytes")
    assert list(tmp_path.iterdir()) == []


def test_what_is_removed_stays_removed_and_what_is_not_there_is_no_error(
    tmp_path: Path, steps: list[str]
) -> None:
    (tmp_path / "file").write_bytes(b"bytes")
    remove_file(tmp_path / "file")
    remove_file(tmp_path / "file")
    assert (list(tmp_path.iterdir()), steps) == ([], ["directory"])


def test_a_directory_is_taken_back_from_others(tmp_path: Path) -> None:
    for path in (tmp_path / "new" / "one", tmp_path):
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(0o755)
        make_directory(path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
