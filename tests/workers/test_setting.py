"""``server.workers`` is a number or a word, wherever it comes from."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from teamchat.errors import SettingsError
from teamchat.settings import EmailSettings, Settings, load
from teamchat.settings.reading import EnvText


@pytest.mark.parametrize("value", [1, 8, "auto"])
def test_the_file_gives_a_number_or_auto(tmp_path: Path, value: int | str) -> None:
    file = tmp_path / "teamchat.json"
    file.write_text(json.dumps({"server": {"workers": value}}))
    assert load(file).server.workers == value


@pytest.mark.parametrize(("text", "value"), [("3", 3), (" 2 ", 2), ("auto", "auto")])
def test_so_does_the_environment(text: str, value: int | str) -> None:
    assert load(None, {"TEAMCHAT_SERVER__WORKERS": text}).server.workers == value


@pytest.mark.parametrize("value", [0, 257, -1, 2.5, True, "2", "many", None, [2]])
def test_anything_else_is_refused_and_told_what_it_must_be(tmp_path: Path, value: Any) -> None:
    file = tmp_path / "teamchat.json"
    file.write_text(json.dumps({"server": {"workers": value}}))
    with pytest.raises(
        SettingsError, match=r"^server\.workers must be a whole number from 1 to 256, or auto\.$"
    ):
        load(file)


def test_settings_reach_a_worker_with_every_type_they_hold() -> None:
    """A backend's keys that came from the environment are parsed later, when their types are known."""
    given = Settings(email=EmailSettings(options={"port": EnvText("25"), "other": [EnvText("a")]}))
    taken = pickle.loads(pickle.dumps(given))
    assert taken == given
    assert type(taken.email.options["port"]) is EnvText
