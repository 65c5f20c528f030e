"""The suite knows nothing of any server: it imports the standard library, itself and a few libraries."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

import teamchat_conformance

SUITE = Path(teamchat_conformance.__file__).parent
LIBRARIES = {"h11", "httpx2", "hypothesis", "trio", "trustme"}


def roots_of(path: Path) -> set[str]:
    """Return the packages that a module imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path.name} has a relative import"
            found.add(str(node.module).partition(".")[0])
    return found


@pytest.mark.slow
def test_the_suite_imports_nothing_but_what_it_says_it_needs() -> None:
    allowed = sys.stdlib_module_names | LIBRARIES | {"teamchat_conformance"}
    for path in SUITE.rglob("*.py"):
        assert roots_of(path) <= allowed, path.relative_to(SUITE)


def test_the_proxy_shares_no_code_with_the_suite_or_a_server() -> None:
    for path in (Path(__file__).parent / "proxy").rglob("*.py"):
        assert roots_of(path) <= sys.stdlib_module_names | {"conformance", "h11", "trio"}, path.name


def test_every_module_of_the_suite_states_its_rule() -> None:
    for path in SUITE.rglob("*.py"):
        assert ast.get_docstring(ast.parse(path.read_text("utf-8"))), path.relative_to(SUITE)
