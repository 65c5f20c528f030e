"""The commented file that ``teamchat init`` writes."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from teamchat.plugins import Plugins
from teamchat.settings import Settings, load, plugin_options, sample
from teamchat.settings.reading import Kind
from tests.settings.writing import keys, written


def test_the_sample_as_written_loads_to_the_defaults(tmp_path: Path) -> None:
    assert load(written(tmp_path, sample())) == Settings()


def test_the_sample_parses_with_every_line_uncommented_and_holds_every_key(tmp_path: Path) -> None:
    text = re.sub(r"(?m)^#(?=\S)", "", sample())
    tree = tomllib.loads(text)
    environ = dict.fromkeys(re.findall(r'env = "(\w+)"', text), "z" * 40)
    settings = load(written(tmp_path, text), environ)
    assert settings.email
    assert settings.oauth.presets
    assert settings.oauth.custom
    for name, _ in keys(Settings):
        node = tree
        for part in name.split("."):
            assert part in node, name
            node = node[part]


def test_what_capabilities_bring_parses_with_every_line_uncommented(tmp_path: Path) -> None:
    text = re.sub(r"(?m)^#(?=\S)", "", sample(Plugins.load().tables()))
    environ = dict.fromkeys(re.findall(r'env = "(\w+)"', text), "z" * 40)
    section = load(written(tmp_path, text), environ).plugins
    for name, options in Plugins.load().tables().items():
        plugin_options(section, name, options)


def test_the_sample_holds_no_secret_that_someone_could_leave_in_place() -> None:
    for line in sample().splitlines():
        if re.match(r"#\w*(secret|password)\w* =", line, re.IGNORECASE):
            assert "env = " in line or line.endswith(("= true", "= false"))


def test_every_key_is_described() -> None:
    for name, field in keys(Settings):
        kind = Kind.of(field.type)
        assert kind.meta, name
        assert kind.meta.description, name
