"""The page on files: each of its configurations is one that a server takes, and does what the page says."""

from __future__ import annotations

import re
import tomllib
from importlib import import_module
from typing import Any

import msgspec

from teamchat.plugins import Plugins
from teamchat.settings import load
from tests.docs.machine import Machine
from tests.docs.pages import blocks

PAGE = "how-to/share-files.md"
LIMITS, SCANNER, BUCKET = blocks(PAGE, "toml")
s3 = import_module("plugins.teamchat-files-s3.tests.conftest")


def options(machine: Machine, text: str) -> tuple[Any, Any]:
    """Load a configuration of the page; return the settings and the plugins."""
    for secret in re.findall(r"/run/secrets/(\w+)", text):
        machine.write(f"secrets/{secret}", s3.SECRET)
    text = text.replace("/run/secrets", f"{machine.root}/secrets")
    settings = load(machine.write("teamchat.toml", text), {})
    plugins = Plugins.load()
    plugins.require()
    plugins.check_settings(settings.plugins)
    return settings, plugins


def test_the_limits_are_those_of_the_capability(machine: Machine) -> None:
    settings, plugins = options(machine, LIMITS)
    [files] = [one for one in plugins.capabilities(settings.plugins).taken if one.name == "files"]
    taken = msgspec.to_builtins(files.options)
    assert taken == taken | tomllib.loads(LIMITS)["files"]


def test_the_address_is_the_scanners(machine: Machine) -> None:
    from teamchat.settings import plugin_options

    clamav = import_module("teamchat_files_clamav")
    settings, _ = options(machine, SCANNER)
    given = plugin_options(settings.plugins, "files-clamav", clamav.Options)
    assert clamav.ClamAV(given).name == "clamav"
    assert given.address == "/run/clamav/clamd.ctl"


def test_the_bucket_is_the_stores(machine: Machine) -> None:
    settings, plugins = options(machine, BUCKET)
    backend, given = plugins.file_store("s3", settings)
    assert backend.name == "s3"
    assert (given.bucket, given.endpoint) == ("chat-files", "https://s3.example.org")
    assert given.secret_access_key == s3.SECRET
