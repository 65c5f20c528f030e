"""Dependencies run one way (docs/explanation/architecture.md), and this test holds them to it."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import teamchat
from teamchat.plugins import Plugins

ROOT = Path(__file__).parent.parent
CORE = ROOT / "teamchat"

# From the top down: a module may import from its own layer and from those below it.
LAYERS = [
    {"__main__", "cli"},
    {"operations"},
    {"server"},
    {"http"},
    {"mentions"},
    {"read_state"},
    {"web"},
    {"application"},
    {"chat", "accounts"},
    {"stream", "plugins", "settings", "storage"},
    {"cluster"},
    {"interfaces", "capabilities"},
    {"events", "observability"},
    {"model"},
    {"errors"},
]
# Not part of the running server: the façade that plugins import, and what their tests import.
OUTSIDE = {"__init__", "testing"}
# What `teamchat/__init__.py` says that plugins may import.
PUBLIC = {
    *("teamchat", "teamchat.application", "teamchat.settings", "teamchat.model", "teamchat.web"),
    "teamchat.web.outgoing",
    *(
        "teamchat.accounts.message",
        "teamchat.storage.schema",
        "teamchat.storage.log",
        "teamchat.storage.sqlite",
    ),
    *("teamchat.storage.statements", "teamchat.storage.disk"),
    "teamchat.observability.outages",
    *("teamchat.plugins", "teamchat.observability", "teamchat.observability.metrics", "teamchat.testing"),
    *("teamchat.accounts", "teamchat.model.text", "teamchat.model.slack", "teamchat.observability.logs"),
}
FRAMEWORKS = {"quart", "quart_trio", "flask", "werkzeug", "hypercorn", "httptools"}
KNOWS_HTTP = {"web", "server", "http", "cli", "__main__"}


def part_of(path: Path) -> str:
    first = path.relative_to(CORE).parts[0]
    return first.removesuffix(".py")


def imports(path: Path) -> set[str]:
    """Full names of what a module imports when it runs, leaving out what only its annotations need."""
    tree = ast.parse(path.read_text())
    hidden = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    names: set[str] = set()
    for node in ast.walk(tree):
        if id(node) in hidden:
            continue
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


MODULES = sorted(CORE.rglob("*.py"))


def test_every_module_has_its_layer() -> None:
    known = set().union(*LAYERS) | OUTSIDE
    assert {part_of(path) for path in MODULES} <= known


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(CORE)))
def test_imports_point_downwards(path: Path) -> None:
    part = part_of(path)
    if part in OUTSIDE:
        return
    height = next(i for i, layer in enumerate(LAYERS) if part in layer)
    above = set().union(*LAYERS[:height])
    imported = {name.split(".")[1] for name in imports(path) if name.startswith("teamchat.")}
    assert not imported & above, f"{path.name} imports from a layer above its own"
    assert "testing" not in imported


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(CORE)))
def test_only_the_web_layer_knows_http(path: Path) -> None:
    if part_of(path) in KNOWS_HTTP | OUTSIDE:
        return
    frameworks = {name.split(".")[0] for name in imports(path)} & FRAMEWORKS
    assert not frameworks


# What people said and where stands in these tables.
_SAID = re.compile(
    r"\b(?:from|join|into|update) (?:messages|reactions|threads|images|message_images|rooms|memberships)\b"
)
# These read them by an id that somebody gave, and ask whether that one sees it; the others of the chat are
# handed what was found so, the stream reads who is in which room, and the operator's commands see everything.
_FINDS = {"chat/sight.py", "chat/corpus.py"}
_IS_HANDED = {
    f"chat/{name}.py"
    for name in (
        *("records", "pages", "images_table", "rooms_table"),
        *("changes", "posting", "reactions", "channels", "deletion", "conversations", "retention"),
        *(
            "membership",
            "groups",
            "webhooks",
            "posting",
            "channel_rows",
            "joining",
            "leaving",
            "members",
            "privacy",
        ),
        "administration",
    )
} | {
    *("stream/places.py", "stream/rooms.py"),
    *(f"mentions/{name}.py" for name in ("everybody", "exported", "tables")),
    *(f"mentions/activity/{name}.py" for name in ("exported", "feed", "noting", "reminding", "tables")),
    *(
        f"read_state/{name}.py"
        for name in ("places", "following", "tables", "levels/levels", "levels/notices")
    ),
    *(f"read_state/threads/{name}.py" for name in ("following", "follows", "replying", "states", "tables")),
}
_SEES_ALL = {"operations", "storage", "testing"}


def test_what_people_said_is_read_where_sight_is_asked_alone() -> None:
    readers = {
        str(path.relative_to(CORE))
        for path in MODULES
        if part_of(path) not in _SEES_ALL and _SAID.search(path.read_text())
    }
    assert readers == _FINDS | _IS_HANDED
    plugins = ROOT.glob("plugins/teamchat-*/teamchat_*/**/*.py")
    assert not [path for path in plugins if _SAID.search(path.read_text())]


def test_what_reads_messages_by_their_ids_asks_sight_first() -> None:
    readers = {"teamchat.chat.records", "teamchat.chat.images_table"}
    askers = {path for path in MODULES if readers & imports(path) and part_of(path) == "chat"}
    unseen = {path.name for path in askers if "teamchat.chat.sight" not in imports(path)}
    # It is handed what others found.
    assert unseen == {"pages.py"}


def test_the_storage_driver_alone_knows_its_database() -> None:
    users = {path for path in MODULES if "apsw" in {name.split(".")[0] for name in imports(path)}}
    assert {path.parent for path in users} <= {CORE / "storage", CORE / "storage" / "sqlite"}


@pytest.mark.parametrize("plugin", sorted((ROOT / "plugins").glob("teamchat-*")), ids=lambda path: path.name)
def test_plugins_never_import_each_other(plugin: Path) -> None:
    own = plugin.name.replace("-", "_")
    for path in plugin.rglob("*.py"):
        others = {name.split(".")[0] for name in imports(path)}
        # The checks of a capability are an area of the conformance suite, which alone loads them.
        allowed = {own, "teamchat_conformance"} if path.name == "conformance.py" else {own}
        assert not {name for name in others if name.startswith("teamchat_")} - allowed


def test_the_facade_tells_what_plugins_may_import() -> None:
    told = ast.get_docstring(ast.parse((CORE / "__init__.py").read_text())) or ""
    assert {"teamchat", *re.findall(r"`(teamchat[.a-z]*)`", told)} == PUBLIC


def test_plugins_import_public_names_alone() -> None:
    code = [path.read_text() for path in ROOT.glob("plugins/teamchat-*/teamchat_*/**/*.py")]
    code += [path.read_text() for path in CORE.glob("cli/scaffold/templates/**/*.py.tmpl")]
    code += [path.read_text() for path in ROOT.glob("docs/tutorials/*.md")]
    imported = re.compile(r"^ *(?:from|import) (teamchat(?:\.[a-z0-9_.]+)?)(?: |$)", re.MULTILINE)
    assert {module for text in code for module in imported.findall(text)} <= PUBLIC


@pytest.mark.parametrize("offered", [teamchat.Capability, teamchat.Parts], ids=lambda kind: kind.__name__)
def test_what_a_capability_is_made_of_can_be_imported(offered: type[Any]) -> None:
    named = {name for kind in offered.__annotations__.values() for name in re.findall(r"[A-Z]\w+", kind)}
    theirs = set(dir(typing)) | {"None", "Struct"} | set(importlib.import_module("teamchat.settings").__all__)
    assert named - theirs <= set(teamchat.__all__)


def test_what_is_called_a_name_of_teamchat_is_one() -> None:
    sources = [*ROOT.glob("teamchat/**/*.py"), *ROOT.glob("plugins/**/*.py"), *ROOT.glob("docs/**/*.md")]
    called = {
        f"{path.relative_to(ROOT)}: {name}": name
        for path in sources
        for name in re.findall(r"`teamchat\.([A-Z]\w*)", path.read_text())
    }
    assert {place for place, name in called.items() if name not in teamchat.__all__} == set()


def test_the_core_asks_for_no_way_to_sign_in_by_its_name() -> None:
    """What it has to know of one, `SignInTraits` tells; it only passes on what ``auth.authMode`` says."""
    names = {name for plugin in Plugins.load().report() for name in plugin.offers.get("auth_modes", ())}
    assert len(names) >= 3
    asked = [
        (str(path.relative_to(CORE)), node.lineno)
        for path in MODULES
        if part_of(path) != "testing"
        for node in ast.walk(ast.parse(path.read_text()))
        if _compares(node, names) or _is_one_of(node, names - _FIELDS)
    ]
    assert not asked
    readers = {str(path.relative_to(CORE)) for path in MODULES if ".auth_mode" in path.read_text()}
    assert readers <= _READERS


_FIELDS = {"password"}
"""A mode that is called like a field of many bodies; what is forbidden is to compare with it."""
_READERS = {
    "accounts/accounts.py",  # the log says how somebody has signed in
    "operations/checking/stated.py",  # says how people sign in
    "settings/checks.py",
    "settings/keys.py",
    "web/documents.py",  # clients are told
    "plugins/registry.py",
}


def _compares(node: ast.AST, names: set[str]) -> bool:
    """Whether this compares something that is called a mode with a name, or takes a case of one."""
    match node:
        case ast.Compare(left=left, comparators=others):
            sides = [left, *others]
            asked = any("mode" in ast.unparse(side).lower() for side in sides)
            return asked and any(_is_one_of(inner, names) for side in sides for inner in ast.walk(side))
        case ast.match_case(pattern=pattern):
            return any(_is_one_of(inner, names - _FIELDS) for inner in ast.walk(pattern))
    return False


def _is_one_of(node: ast.AST, names: set[str]) -> bool:
    return isinstance(node, ast.Constant) and node.value in names


def public_modules() -> set[Path]:
    """Return the modules that define what plugins import."""
    offered = [
        thing
        for module in map(importlib.import_module, PUBLIC)
        for name, thing in vars(module).items()
        if not name.startswith("_")
    ]
    defining = {getattr(thing, "__module__", None) for thing in offered} | PUBLIC
    paths = {sys.modules[name].__file__ for name in defining if name and name.startswith("teamchat")}
    return {Path(path) for path in paths if path is not None}


def of_a_framework(tree: ast.Module) -> set[str]:
    """Return the names that a module has imported from a web framework, for its annotations alone too."""
    return {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
        if (getattr(node, "module", None) or alias.name).split(".")[0] in FRAMEWORKS
    }


def annotations(tree: ast.AST) -> Iterator[ast.expr]:
    """Yield what the public functions, attributes and classes of a module say of types."""
    for node in ast.iter_child_nodes(tree):
        name = getattr(node, "name", None) or ""
        if name.startswith("_") and name != "__init__":
            continue
        if isinstance(node, ast.ClassDef):
            yield from node.bases
        for said in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if isinstance(said, ast.expr):
                yield said
        yield from annotations(node)


@pytest.mark.parametrize("path", sorted(public_modules()), ids=lambda path: str(path.relative_to(CORE)))
def test_what_plugins_import_is_annotated_with_no_type_of_a_framework(path: Path) -> None:
    tree = ast.parse(path.read_text())
    named = {name.id for said in annotations(tree) for name in ast.walk(said) if isinstance(name, ast.Name)}
    assert not named & of_a_framework(tree)


def test_endpoints_are_declared_without_a_framework() -> None:
    code = "import sys, teamchat.web; print(*{name.split('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not FRAMEWORKS & set(loaded.stdout.split())


@pytest.mark.parametrize(("walk", "most"), [("One request", 20), ("One event", 9)])
def test_the_walk_of_a_post_names_few_modules_and_they_are_there(walk: str, most: int) -> None:
    page = (ROOT / "docs" / "explanation" / "architecture.md").read_text()
    section = page.partition(f"## {walk}\n")[2].partition("\n## ")[0]
    modules = re.findall(r"^\| `([a-z0-9_/]+\.py)` \|", section, re.MULTILINE)
    assert 5 < len(modules) <= most
    assert [module for module in modules if not (CORE / module).exists()] == []


def test_no_modules_import_each_other_in_a_circle_not_even_for_their_types() -> None:
    names = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in MODULES
    }
    graph = {name: _imported(name) & (names - {name}) for name in names}
    while leaves := {name for name, needs in graph.items() if not needs}:
        graph = {name: needs - leaves for name, needs in graph.items() if name not in leaves}
    assert graph == {}, "what stands here is in a circle, or imports what is"


def _imported(module: str) -> set[str]:
    """Return the modules that one names, for its annotations too: a submodule counts, and not its package."""
    path = ROOT.joinpath(*module.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = ROOT.joinpath(*node.module.split("."), alias.name)
                is_module = inner.with_suffix(".py").exists() or inner.is_dir()
                found.add(f"{node.module}.{alias.name}" if is_module else node.module)
    return found


def test_every_module_opens_with_its_rule() -> None:
    silent = [
        path
        for path in MODULES
        if path.read_text().strip() and ast.get_docstring(ast.parse(path.read_text())) is None
    ]
    assert not silent
