"""The documentation is true of this commit: generated pages match, links lead somewhere, commands run."""

from __future__ import annotations

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from teamchat import hookspecs

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted(ROOT.glob("docs/*/*.md")),
]


def generator() -> ModuleType:
    spec = spec_from_file_location("docs_generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [ROOT / name for name in listed.splitlines() if (ROOT / name).is_file()]


@pytest.mark.parametrize("page", generator().PAGES)
def test_generated_reference_pages_are_up_to_date(page: str) -> None:
    assert generator().rendered(page) == (ROOT / "docs" / "reference" / page).read_text(), "run `make docs`"


def test_every_command_and_argument_is_documented() -> None:
    generate = generator()
    prose = "\n".join(page.read_text() for page in PAGES if page.name != "cli.md")
    commands = list(generate.cli_reference.commands(generate.cli_reference.cli.parser()))
    assert commands
    for name, parser, what in commands:
        assert what, name
        assert all(argument.help for argument in parser._actions), name
        assert f"{name}\n" in prose or f"{name} " in prose or f"{name}`" in prose, f"no page tells of {name}"


def test_every_hook_is_documented() -> None:
    hooks = [value for value in vars(hookspecs).values() if hasattr(value, "teamchat_spec")]
    assert hooks
    assert all(hook.__doc__ for hook in hooks)


def test_the_site_is_made_without_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = importlib.import_module("site_of_docs")
    monkeypatch.setattr(site, "BUILD", tmp_path)
    site.build()
    pages = {page.relative_to(tmp_path / "site") for page in (tmp_path / "site").rglob("*.html")}
    assert {Path(place).with_suffix(".html") for place in site.pages().values()} <= pages | {
        Path("index.html")
    }


def test_the_readme_opens_with_the_two_commands() -> None:
    opening = (ROOT / "README.md").read_text().splitlines()[:6]
    assert [line.split("#")[0].strip() for line in opening if line.startswith("$")] == [
        "$ make run",
        "$ make test",
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_relative_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text())
    assert not [target for target in targets if not (page.parent / target).exists()]


def test_every_page_is_reached_from_the_readme() -> None:
    reached: set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached:
            continue
        reached.add(page)
        targets = re.findall(r"\]\((?!https?:)([^)#]+\.md)", page.read_text())
        waiting += [(page.parent / target).resolve() for target in targets]
    assert {*PAGES, *ROOT.glob("plugins/teamchat-*/README.md")} <= reached


def test_no_file_names_a_package_registry() -> None:
    hosts = re.compile("|".join(["py" + r"pi\.org", "python" + "hosted", r"registry\.np" + "mjs"]))
    texts = {path: path.read_text(errors="ignore") for path in tracked()}
    assert not [path for path, text in texts.items() if hosts.search(text)]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[dict[str, str]]:
    """A server as a user starts it for the first time, on a free port; yields its address and password."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("TEAMCHAT_")}
    process = subprocess.Popen(
        [sys.executable, "-m", "teamchat", "serve", "--port", "0"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        text=True,
    )
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if "is ready on" in line:
            break
    output = "".join(lines)
    password = re.search(r"with the password (\S+)", output)
    address = re.search(r"is ready on (http://\S+)", output)
    assert password, output
    assert address, output
    yield {"PASSWORD": password[1], "BASE": address[1].rstrip("/")}
    process.terminate()
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 0, errors


@pytest.mark.skipif(shutil.which("curl") is None, reason="the README's walk-through uses curl")
def test_the_readme_walk_through_runs(server: dict[str, str], tmp_path: Path) -> None:
    script = "\n".join(blocks(ROOT / "README.md", "sh"))
    assert "BASE=http://127.0.0.1:3000" in script
    script = script.replace("BASE=http://127.0.0.1:3000", f"BASE={server['BASE']}")
    # The stream runs in the background: wait until it is open before the post, and until the post arrives.
    stream = tmp_path / "stream"
    script = script.replace(
        'Bearer $GRACE" &', f'Bearer $GRACE" > {stream} &\nuntil grep -q CONNECTED {stream}; do :; done'
    )
    script += f"\nuntil grep -q NEW_MESSAGE {stream}; do :; done\nkill $!\n"
    done = subprocess.run(
        ["bash", "-euc", script],
        env=os.environ | server,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    assert '"content":"hello, Grace"' in done.stdout
    assert '"content":"hello, Grace"' in stream.read_text()


def test_the_tutorials_plugin_works(tmp_path: Path) -> None:
    page = ROOT / "docs" / "tutorials" / "first-plugin.md"
    [project], [source] = blocks(page, "toml"), blocks(page, "python")
    package = tmp_path / "motd" / "teamchat_motd"
    package.mkdir(parents=True)
    (package.parent / "pyproject.toml").write_text(project)
    (package / "__init__.py").write_text(source)
    site = tmp_path / "site"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run(
        [*install, "--no-build-isolation", "--no-index", "--target", site, package.parent], check=True
    )
    listed = subprocess.run(
        [sys.executable, "-m", "teamchat", "plugins", "--json"],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(site), str(ROOT)])},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    [motd] = [plugin for plugin in json.loads(listed.stdout) if plugin["name"] == "motd"]
    assert motd["status"] == "active"
    assert motd["hooks"] == ["routes"]
