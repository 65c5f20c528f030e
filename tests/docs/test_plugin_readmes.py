"""The plugins' READMEs: a server starts on the configuration of each, and what its tables tell is so."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

import httpx2
import msgspec
import pytest
import trio
from msgspec import NODEFAULT, Struct

from teamchat.observability import metrics
from teamchat.plugins import PluginReport, Plugins
from teamchat.server import serve
from teamchat.settings import Settings, load
from teamchat.testing import DEADLINE
from tests.docs.machine import Machine
from tests.docs.pages import DOCS, ROOT, blocks
from tests.postgres import shared

README = "../plugins/teamchat-{}/README.md"
NAMES = sorted(path.name.removeprefix("teamchat-") for path in (ROOT / "plugins").glob("teamchat-*"))
CALLED = {"web-push": "push"}
"""Plugins whose table of the configuration, and so their name, is not that of their package."""
CHOSEN_IN = {"storages": "storage", "image_stores": "images", "mailers": "email", "file_stores": ""}
ENVIRONMENT = {
    "ACME_CLIENT_SECRET": "a client secret",
    "GOOGLE_CLIENT_SECRET": "a client secret",
    "SMTP_PASSWORD": "a password",
    "TRACKER_SECRET": "the secret of the tracker",
}
s3 = import_module("plugins.teamchat-files-s3.tests.conftest")


def configuration(name: str) -> str:
    [text] = blocks(README.format(name), "toml")
    return text


def report_of(name: str, plugins: Plugins) -> PluginReport:
    [found] = [report for report in plugins.report() if report.name == CALLED.get(name, name)]
    return found


def choices(settings: Settings) -> set[str]:
    """Return the names of all that the settings choose."""
    modes = Plugins.load().sign_in_modes(settings)
    chosen = {settings.storage.backend, settings.images.backend, *modes}
    return chosen | set(settings.oauth.presets) | ({settings.email.backend} if settings.email else set())


async def started_on(
    name: str, machine: Machine, replaced: Mapping[str, str] = MappingProxyType({}), **more: str
) -> list[str]:
    """Start a server on the configuration of a README; return the endpoints of the README that it lacks."""
    text = machine.here(configuration(name))
    for before, after in replaced.items():
        text = text.replace(before, after)
    for secret in re.findall(r"/run/secrets/(\w+)", text):
        machine.write(f"secrets/{secret}", s3.SECRET)
    text = text.replace("/run/secrets", f"{machine.root}/secrets")
    file = machine.write("teamchat.toml", text)
    data = {"TEAMCHAT_STORAGE__PATH": str(machine.root / "data"), "TEAMCHAT_SERVER__PORT": "0"}
    settings = load(file, ENVIRONMENT | data | more)
    plugins = Plugins.load(settings.plugins.disabled)
    plugins.require()
    told = report_of(name, plugins)
    if told.status != "disabled":
        offered = {offer for offers in told.offers.values() for offer in offers}
        assert CALLED.get(name, name) in settings.plugins.options or offered & choices(settings), (
            "it is not chosen"
        )
    with trio.fail_after(DEADLINE):
        async with trio.open_nursery() as nursery:
            port = await nursery.start(lambda task_status: serve(settings, plugins, task_status=task_status))
            lacking = await lacking_at(port, name)
            nursery.cancel_scope.cancel()
    return lacking


async def lacking_at(port: int, name: str) -> list[str]:
    endpoints = re.findall(r"`(GET|POST|PUT|DELETE) (/[\w/-]*)`", (DOCS / README.format(name)).read_text())
    async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=DEADLINE) as client:
        return [
            f"{method} {path}"
            for method, path in endpoints
            if (await client.request(method, path)).status_code in {404, 405}
        ]


@pytest.fixture(autouse=True)
def _measures_end_with_their_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics.count_requests, "is_on", False)


@pytest.mark.slow
@pytest.mark.parametrize(
    # That of oidc asks a provider elsewhere; the page on it is tested with one here.
    "name",
    [name for name in NAMES if name not in {"files-s3", "images-s3", "oidc", "storage-postgres"}],
)
async def test_a_server_starts_on_the_configuration_and_has_the_endpoints(
    name: str, machine: Machine
) -> None:
    more = {"TEAMCHAT_AUTH__ISINVITEREQUIRED": "false"}  # what people register with is there then alone
    if name == "email-sendmail":
        more["TEAMCHAT_EMAIL__COMMAND"] = "true"
    assert await started_on(name, machine, **more) == []


async def test_a_server_starts_on_the_configuration_with_a_store(machine: Machine) -> None:
    store = s3.S3Server()
    try:
        (store.directory / "chat-images").mkdir()
        address = {"TEAMCHAT_IMAGES__ENDPOINT": store.endpoint, "TEAMCHAT_IMAGES__ACCESSKEYID": s3.ACCOUNT}
        assert await started_on("images-s3", machine, **address) == []
    finally:
        store.remove()


async def test_a_server_starts_on_the_configuration_with_a_store_of_files(machine: Machine) -> None:
    store = s3.S3Server()
    try:
        (store.directory / "chat-files").mkdir()
        there = {"https://s3.example.org": store.endpoint, '"teamchat"': f'"{s3.ACCOUNT}"'}
        assert await started_on("files-s3", machine, there) == []
    finally:
        store.remove()


async def test_a_server_starts_on_the_configuration_with_a_database(machine: Machine) -> None:
    url = shared().url(shared().new_database())
    assert await started_on("storage-postgres", machine, DATABASE_URL=url) == []


def rows(name: str) -> list[tuple[str, str]]:
    """Return the keys of a README's table with what it tells of their defaults."""
    table = (DOCS / README.format(name)).read_text().partition("| Key | Meaning | Default |\n")[2]
    found = []
    for line in table.partition("\n\n")[0].splitlines()[1:]:
        keys, _, default = line.strip("| ").split(" | ")
        found += [(key, default) for key in re.findall(r"`(.+?)`", keys)]
    return found


def defaults(name: str) -> dict[str, Any]:
    """Return the keys of a plugin's options, with their defaults: options alone refuse unknown keys."""
    package = import_module(f"teamchat_{name.replace('-', '_')}").__name__
    kinds = [kind for kind in Struct.__subclasses__() if kind.__module__.partition(".")[0] == package]
    options = [kind for kind in kinds if kind.__struct_config__.forbid_unknown_fields]
    fields = [field for kind in options for field in msgspec.structs.fields(kind)]
    return {
        field.encode_name: field.default if field.default_factory is NODEFAULT else field.default_factory()
        for field in fields
    }


@pytest.mark.parametrize("name", [name for name in NAMES if rows(name)])
def test_a_table_tells_keys_that_there_are_and_their_defaults(name: str) -> None:
    report, known = report_of(name, Plugins.load()), defaults(name)
    sections = {CHOSEN_IN[hook] for hook in report.offers} or {f"plugins.{name}", ""}
    for key, told in rows(name):
        section, _, own = key.rpartition(".")
        assert section in sections, key
        assert own in known, key
        if literal := re.fullmatch(r"`([^`]+)`|([\d.]+|true|false)", told):
            # Where a default is None, what is not given is decided later.
            assert known[own] in (read(literal[1] or literal[2]), None), key
        if told.startswith("none"):
            assert known[own] in (NODEFAULT, None, ""), key


def read(text: str) -> Any:
    """Return what a cell of a table tells: JSON, or a text without its quotes."""
    try:
        return json.loads(text)
    except ValueError:
        return text


@pytest.mark.slow
def test_the_tests_of_the_web_client_are_run_by_the_command_of_its_readme(tmp_path: Path) -> None:
    [command] = blocks(README.format("web"), "sh")
    command = command.strip().replace(".venv/bin/python", sys.executable)
    found = Machine(ROOT, {"HOME": str(tmp_path)}).types(f"{command} --collect-only --quiet")
    assert "plugins/teamchat-web/tests/test_policy.py::" in found
