"""Who has teamchat and its extra ``testing`` has all that `teamchat.testing` imports."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.mark.slow
def test_everything_it_imports_comes_with_teamchat_or_the_extra() -> None:
    declared = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["testing"]]
    brought = closure({name_of(line) for line in declared})
    distributions = metadata.packages_distributions()
    for module in sorted(imported() - sys.stdlib_module_names - {"teamchat"}):
        assert {normal(name) for name in distributions[module]} & brought, f"nothing declared brings {module}"


def imported() -> set[str]:
    """Return the top-level names that the modules of `teamchat.testing` import."""
    names: set[str] = set()
    for path in (ROOT / "teamchat" / "testing").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module.partition(".")[0])
    return names


def closure(names: set[str]) -> set[str]:
    """Return these distributions and all that they need, as far as they are installed."""
    seen: set[str] = set()
    while names:
        name = names.pop()
        seen.add(name)
        try:
            needed = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue
        names |= {name_of(line) for line in needed if "extra ==" not in line} - seen
    return seen


def name_of(requirement: str) -> str:
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert found
    return normal(found[0])


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.slow
@pytest.mark.parametrize("missing", ["pytest", "pytest_trio"])
def test_without_pytest_it_says_what_to_install(missing: str) -> None:
    program = f"import sys; sys.modules[{missing!r}] = None; import teamchat.testing"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    told = ran.stderr.splitlines()[-1]
    assert told.endswith(
        f"teamchat.testing needs {missing}, which is not installed here: pip install pytest pytest-trio"
    )
