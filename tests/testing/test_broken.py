"""The contracts can fail: each finds the one thing that is wrong, and says it in words.

In ``broken/`` are implementations that each get one thing wrong.  `found_by` names the tests that must find
it, each with words that must be in what it says; all others must pass.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from teamchat import testing

ROOT = Path(__file__).parent.parent.parent
MODULES = sorted((Path(__file__).parent / "broken").glob("*.py"))
PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tests.testing.reporting"]


def classes(module: Path) -> dict[str, Any]:
    """Return the broken implementations in a module by the name of their class."""
    spec = importlib.util.spec_from_file_location(f"broken_{module.stem}", module)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return {name: found for name, found in vars(loaded).items() if name.startswith("Test")}


@pytest.mark.parametrize(
    "module",
    [
        pytest.param(path, id=path.stem, marks=() if path.stem == "mailers" else pytest.mark.slow)
        for path in MODULES
    ],
)
def test_the_right_test_fails_and_says_why(module: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    ran = subprocess.run(
        [*PYTEST, str(module)],
        cwd=ROOT,
        env=os.environ | {"REPORT": str(report)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert report.is_file(), ran.stdout + ran.stderr
    failed: dict[str, dict[str, str]] = json.loads(report.read_text())
    expected = {name: found.found_by for name, found in classes(module).items()}
    assert {name: set(tests) for name, tests in failed.items()} == {
        name: set(tests) for name, tests in expected.items()
    }, ran.stdout
    for name, tests in expected.items():
        for test, words in tests.items():
            assert words in failed[name][test], (name, test)


def test_every_contract_has_broken_implementations() -> None:
    contracts = {name for name in testing.__all__ if name.endswith("Contract")}
    held = {
        base.__name__ for module in MODULES for found in classes(module).values() for base in found.__mro__
    }
    assert contracts <= held
