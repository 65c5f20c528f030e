"""The documentation is true of this commit: generated pages match, links lead somewhere, commands run."""

from __future__ import annotations

import importlib
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import msgspec
import pytest
import trio

from teamchat.interfaces import hookspecs
from teamchat.plugins import Plugins
from teamchat.storage.sqlite import SqliteOptions
from tests.docs.pages import blocks
from tests.test_architecture import LAYERS

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted(ROOT.glob("docs/*/*.md")),
]
PLUGINS = sorted(ROOT.glob("plugins/teamchat-*"))
READMES = [
    ROOT / "SECURITY.md",
    ROOT / "conformance" / "README.md",
    *(each / "README.md" for each in PLUGINS),
]


def generator() -> ModuleType:
    spec = spec_from_file_location("docs_generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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


def test_every_verb_that_a_plugin_brings_is_told_in_its_readme() -> None:
    prose = "\n".join(page.read_text() for page in READMES)
    brought = Plugins.load().commands()
    assert brought
    for command in brought:
        assert re.search(rf"teamchat {command.name}[ `\n]", prose), (
            f"no page tells of teamchat {command.name}"
        )


@pytest.mark.parametrize("plugin", PLUGINS, ids=lambda plugin: plugin.name)
def test_every_key_of_a_plugins_options_is_told_in_its_readme(plugin: Path) -> None:
    package = importlib.import_module(plugin.name.replace("-", "_"))
    modules = [package] + [
        importlib.import_module(module.name)
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    ]
    structs = [value for module in modules for value in vars(module).values() if is_options(value, package)]
    keys = {key for struct in structs for key in struct.__struct_encode_fields__}
    assert not untold(keys, plugin / "README.md")


def test_every_key_of_the_built_in_storage_is_told_in_the_reference() -> None:
    assert not untold(
        SqliteOptions.__struct_encode_fields__, ROOT / "docs" / "reference" / "configuration.md"
    )


def untold(keys: Iterable[str], page: Path) -> list[str]:
    """Return the keys that a page neither sets nor names as code."""
    text = page.read_text()
    return [key for key in keys if not re.search(rf"(?<![\w.-]){key} =|[`.]{key}[`\]]", text)]


def is_options(value: object, package: ModuleType) -> bool:
    """Return whether this is a struct of configuration: those alone refuse keys that they do not know."""
    return (
        isinstance(value, type)
        and issubclass(value, msgspec.Struct)
        and value.__module__.partition(".")[0] == package.__name__
        and value.__struct_config__.forbid_unknown_fields
    )


def test_every_hook_is_documented() -> None:
    hooks = [value for value in vars(hookspecs).values() if hasattr(value, "teamchat_spec")]
    assert hooks
    assert all(hook.__doc__ for hook in hooks)


def test_every_event_type_is_documented() -> None:
    payloads = generator().public_payloads()
    assert payloads
    assert not [payload for payload in payloads if not payload.__doc__]


def test_every_endpoint_parameter_and_object_is_documented() -> None:
    for described in trio.run(generator().http_reference.documents).values():
        for path, methods in described["paths"].items():
            for operation in methods.values():
                assert operation["summary"] != operation["operationId"], f"{path} has no summary"
                parameters = [each for each in operation.get("parameters", ()) if each["in"] != "path"]
                assert all(each.get("description") for each in parameters), path
        schemas = described["components"]["schemas"]
        assert not [name for name, schema in schemas.items() if not schema.get("description")]


def test_the_site_is_made_without_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = importlib.import_module("site_of_docs")
    monkeypatch.setattr(site, "BUILD", tmp_path)
    site.build()
    pages = {page.relative_to(tmp_path / "site") for page in (tmp_path / "site").rglob("*.html")}
    assert {Path(place).with_suffix(".html") for place in site.pages().values()} <= pages | {
        Path("index.html")
    }
    assert (tmp_path / "site" / "search.json").exists()
    for page in (tmp_path / "site").rglob("*.html"):
        elsewhere = re.search(
            r"<(?:script|link|img)[^>]+(?:src|href)=\"?(?:https?:)?//[^\s>]*", page.read_text()
        )
        assert not elsewhere, f"{page.name} asks another host: {elsewhere}"


def test_the_readme_opens_with_the_two_commands() -> None:
    opening = (ROOT / "README.md").read_text().splitlines()[:6]
    assert [line.split("#")[0].strip() for line in opening if line.startswith("$")] == [
        "$ make run",
        "$ make test",
    ]


@pytest.mark.parametrize("page", [*PAGES, *READMES], ids=lambda page: str(page.relative_to(ROOT)))
def test_relative_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text())
    assert not [target for target in targets if not (page.parent / target).exists()]


@pytest.mark.parametrize("page", [*PAGES, *READMES], ids=lambda page: str(page.relative_to(ROOT)))
def test_links_to_a_heading_lead_to_one_heading(page: Path) -> None:
    for target, anchor in set(re.findall(r"\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)", page.read_text())):
        found = anchors(page.parent / target if target else page).count(anchor)
        assert found == 1, f"{target}#{anchor} leads to {found} headings"


def test_every_decision_that_is_cited_can_be_read() -> None:
    cited = re.compile(r"\b[AH]-[1-9]\b|\bX-[1-9]\d?\b|\bD-\d{1,2}[ab]?\b")
    pages = [ROOT / "docs" / "reference" / f"{name}.md" for name in ("decisions", "extensions")]
    explained = {heading.upper() for page in pages for heading in anchors(page)}
    texts = {path: path.read_text() for path in tracked() if path.suffix in {".py", ".md", ".js", ".toml"}}
    unexplained = {
        f"{path.relative_to(ROOT)}: {found}"
        for path, text in texts.items()
        for found in cited.findall(text)
        if found.upper() not in explained
    }
    assert not unexplained


def anchors(page: Path) -> list[str]:
    """Return the anchors of a page's headings, as code hosts and the site make them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return [re.sub(r"[^\w\s-]", "", heading.lower()).strip().replace(" ", "-") for heading in headings]


def test_the_map_of_the_architecture_is_the_one_that_imports_are_held_to() -> None:
    page = ROOT / "docs" / "explanation" / "architecture.md"
    section = page.read_text().partition("## Where things are")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`[^|]*`) \|", section, re.MULTILINE)
    mapped = [set(re.findall(r"`(\w+)`", row)) for row in rows]
    assert mapped == [layer - {"__main__"} for layer in LAYERS], f"mend the map in {page.name}"


def test_members_that_an_explanation_names_are_there() -> None:
    sources = "\n".join(path.read_text() for path in tracked() if path.suffix in {".py", ".js"})
    words = set(re.findall(r"\w+", sources))
    named = {
        f"{page.name}: {owner}.{member}": {owner, member}
        for page in (ROOT / "docs" / "explanation").glob("*.md")
        for owner, member in re.findall(r"`([A-Z]\w*)\.(\w+)(?:\(\))?`", page.read_text())
    }
    assert named
    assert {place for place, parts in named.items() if not parts <= words} == set()


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
    script = "\n".join(blocks("../README.md", "sh"))
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
