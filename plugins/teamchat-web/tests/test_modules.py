"""The client's modules as they are written: what each may import, and when."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from posixpath import normpath

import pytest
from teamchat_web.site import CLIENT, first_modules, static_imports

WITH_ALL_PARTS = True

LAYERS = ["lib", "api", "model", "view", "main.js"]
SOURCES = {path.relative_to(CLIENT).as_posix(): path.read_text() for path in sorted(CLIENT.rglob("*.js"))}
FIRST = first_modules(SOURCES)
# Something that begins a line begins a statement of the module, but for what closes the one before.
STATEMENT = re.compile(r"(?m)^(?![\s})\]])")
NEEDS = re.compile(r"(?m)^needs(?:Sheets)?\(")


def reached(name: str) -> set[str]:
    """A module and all that it imports statically."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        if (one := waiting.pop()) not in found:
            found.add(one)
            waiting += static_imports(one, SOURCES[one])
    return found


def loaded(name: str, source: str) -> Iterator[tuple[bool, str]]:
    """What a module imports when it is needed, and whether it waits for what that needs."""
    for call, target in re.findall(r"""(?m)^[^/*]*?(\bpart\()?import\("(\.[^"]+)"\)""", source):
        yield bool(call), normpath(Path(name).parent / target)


def waits(source: str) -> list[str]:
    """The statements of a module that await something while it runs."""
    bare = re.sub(r"(?m)(?://|^\s*/?\*).*$", "", source)
    return [one for one in STATEMENT.split(bare) if re.search(r"\bawait\b", one.partition("async")[0])]


def test_imports_point_downwards() -> None:
    for name, source in SOURCES.items():
        layer = name.split("/")[0]
        if layer not in LAYERS:
            continue
        for target in re.findall(r"""(?:from|import)\s*\(?\s*["'](\.[^"']+)["']""", source):
            path = (CLIENT / name).parent.joinpath(target).resolve()
            assert path.is_file(), f"{name} imports {target}"
            below = path.relative_to(CLIENT).parts[0]
            assert LAYERS.index(below) <= LAYERS.index(layer), f"{name} imports {target}"


@pytest.mark.parametrize(
    "source",
    [
        'await load("a");\n',
        'const { a } =\n  await import("./a.js");\n',
        "for await (const a of b) c(a);\n",
        "function a() {}\nif (b) {\n  await c();\n}\nasync function d() {}\n",
        "const a = {\n  b: await c(async () => d),\n};\n",
    ],
)
def test_waiting_while_a_module_runs_is_seen(source: str) -> None:
    assert len(waits(source)) == 1


def test_no_module_awaits_anything_while_it_runs() -> None:
    """WebKit never runs a module that imports one which is still waiting; see lib/parts.js."""
    assert not waits(
        "// await\nconst a = async () => await b;\nclass C {\n  async d() {\n    await e;\n  }\n}\n"
    )
    assert {name: found for name, source in SOURCES.items() if (found := waits(source))} == {}


@pytest.mark.slow
def test_whoever_loads_a_part_of_the_page_waits_for_what_it_needs() -> None:
    needing = {name for name, source in SOURCES.items() if NEEDS.search(source)}
    assert len(needing) > 10
    assert not needing & set(FIRST)
    for name, source in SOURCES.items():
        for waits_for_it, target in loaded(name, source):
            assert waits_for_it or not reached(target) & needing, f"{name} imports {target} without part()"


def test_every_module_opens_with_its_rule() -> None:
    assert not [name for name, source in SOURCES.items() if not source.startswith("//")]


def test_no_line_is_hard_to_read_and_no_module_long() -> None:
    for name, source in SOURCES.items():
        lines = source.splitlines()
        is_table = name.startswith(("strings/", "emoji/")) or name == "lib/more_icons.js"
        assert is_table or max(map(len, lines)) <= (125 if name.startswith("view/") else 110), name
        assert is_table or len(lines) <= 320, name


def test_the_client_knows_no_capability_by_its_name() -> None:
    known = re.compile(r"\bpin(s|ned|ning)?\b", re.IGNORECASE)
    files = [path for path in CLIENT.rglob("*") if path.suffix in {".js", ".css", ".html"}]
    assert not [path.name for path in files if path.parent.name != "emoji" and known.search(path.read_text())]


def test_nothing_makes_markup_or_code_out_of_text() -> None:
    dangerous = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|setHTMLUnsafe"
        r"|parseFromString|createContextualFragment|\.cssText|\"style\""
    )
    assert not [name for name, source in SOURCES.items() if dangerous.search(source)]


@pytest.mark.slow
def test_the_first_table_of_strings_has_the_first_views_words_and_whoever_needs_more_loads_more() -> None:
    def keys(name: str) -> set[str]:
        return set(re.findall(r'^  "([\w.]+)":', SOURCES[name], re.MULTILINE))

    def named(modules: set[str]) -> set[str]:
        return {key for name in modules for key in more if f'"{key}"' in SOURCES[name]}

    more, first = keys("strings/more/en.js"), set(FIRST)
    assert not more & keys("strings/en.js")
    assert not named(first)
    for name, source in SOURCES.items():
        for _, target in loaded(name, source):
            modules = reached(target)
            assert "lib/more_strings.js" in modules or not named(modules - first), (name, target)


def test_every_icon_that_is_named_is_there_and_the_first_views_come_with_the_page() -> None:
    def named(name: str, call: str) -> set[str]:
        return set(re.findall(rf"""\bicon{call}"([a-z-]+)\"""", SOURCES[name]))

    at_once = set(re.findall(r'id="icon-([a-z-]+)"', (CLIENT / "index.html").read_text()))
    later = set(re.findall(r'^  "?([a-z-]+)"?: "[Mm]', SOURCES["lib/more_icons.js"], re.MULTILINE))
    assert len(later) > 10
    assert not at_once & later
    for name in SOURCES:
        assert named(name, r"(?:\(|: )") <= at_once | later, name
    for name in FIRST:
        assert named(name, r"\(") <= at_once, name
