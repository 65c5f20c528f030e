"""Packages of npm that the tests hold a server against, which node runs beside it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

KEPT = Path(__file__).parents[1] / "build" / "npm"
INSTALL_SECONDS = 180


def npm_package(name: str, version: str) -> Path:
    """Return the folder of a package, which npm installs once; skip the test where that can't be.

    Each has a folder of its own, for npm removes what stands beside it and was not asked for.
    """
    prefix = KEPT / f"{name}@{version}"
    folder = prefix / "node_modules" / name
    if shutil.which("node") is None:
        pytest.skip("node is not on this machine")
    if not folder.exists():
        if shutil.which("npm") is None:
            pytest.skip(f"npm is not on this machine, and {name} not in build/npm")
        prefix.mkdir(parents=True, exist_ok=True)
        command = ["npm", "install", "--prefix", str(prefix), "--no-save", "--no-audit", "--no-fund"]
        try:
            subprocess.run(
                [*command, f"{name}@{version}"], check=True, capture_output=True, timeout=INSTALL_SECONDS
            )
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            pytest.skip(f"npm can't install {name}@{version} here: {type(error).__name__}")
    return folder
