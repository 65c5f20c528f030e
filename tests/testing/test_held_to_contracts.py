"""Whatever a distribution in ``plugins/`` offers, or teamchat itself, is held to the contract of its kind."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from teamchat import testing
from teamchat.interfaces import hookspecs

ROOT = Path(__file__).parent.parent.parent
DISTRIBUTIONS = [ROOT, *sorted((ROOT / "plugins").glob("teamchat-*"))]
CONTRACTS = {
    "storages": {"StorageContract"},
    "image_stores": {"ImageStoreContract"},
    "file_stores": {"FileStoreContract"},
    "mailers": {"MailerContract", "RemoteMailerContract"},
    "auth_modes": {"AuthModeContract"},
    "oauth_providers": {"OAuthProviderContract"},
    "routes": {"RoutesContract"},
    "services": {"ServiceContract"},
    "message_filters": {"MessageFilterContract"},
    "file_checks": {"FileCheckContract"},
    "event_listeners": {"EventListenerContract"},
    "commands": {"CommandContract"},
    "capabilities": {"CapabilityContract", "SecondStepContract"},
}


def hooks(package: Path) -> set[str]:
    """Return the hooks that the modules of a package implement."""
    return {
        node.name
        for node in _nodes(package)
        if isinstance(node, ast.FunctionDef) and "hookimpl" in map(ast.unparse, node.decorator_list)
    }


def contracts(tests: Path) -> set[str]:
    """Return the contracts that test classes subclass, also through other classes of the tests."""
    bases: dict[str, set[str]] = {}
    for node in _nodes(tests):
        if isinstance(node, ast.ClassDef):
            # A class is known by its last name, from whatever module a test takes it.
            bases.setdefault(node.name, set()).update(ast.unparse(base).split(".")[-1] for base in node.bases)
    held, found = set[str](), {name for name in bases if name.startswith("Test")}
    while found:
        held |= found
        found = {base for name in found for base in bases.get(name, ())} - held
    return held & set[str]().union(*CONTRACTS.values())


def _nodes(directory: Path) -> Iterator[ast.AST]:
    for path in directory.rglob("*.py"):
        if "broken" not in path.parts:
            yield from ast.walk(ast.parse(path.read_text()))


def test_every_hook_has_a_contract() -> None:
    assert set(CONTRACTS) == {
        name for name, spec in vars(hookspecs).items() if hasattr(spec, "teamchat_spec")
    }
    assert set.union(*CONTRACTS.values()) == {name for name in testing.__all__ if name.endswith("Contract")}


@pytest.mark.slow
@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=lambda path: path.name)
def test_what_a_distribution_offers_is_held_to_its_contract(distribution: Path) -> None:
    [package] = [path for path in distribution.glob("teamchat*") if (path / "__init__.py").is_file()]
    offered, held = hooks(package), contracts(distribution / "tests")
    assert offered
    assert not [hook for hook in offered if not CONTRACTS[hook] & held]
