"""Builds what is published into a directory: of every distribution a source archive and, from that, a wheel.

`make dist` runs it. Of the working directory only what git tracks is taken, so nothing of the machine is in
an archive. Beside it are put the licence, which stands here once, and a README whose links lead somewhere
when it is read elsewhere.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from posixpath import normpath

from uv import find_uv_bin

ROOT = Path(__file__).parent.parent
_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|mailto:|#)([^)\s]+)\)")


def distributions() -> list[Path]:
    """Return the directories that each hold a distribution: the server's, the suite's, the plugins'."""
    return [ROOT, ROOT / "conformance", *sorted(ROOT.glob("plugins/teamchat-*"))]


def build(directory: Path, target: Path, pages: str | None = None) -> None:
    """Build the distribution in `directory` into `target`, without a network.

    `pages` is the address that the files of this version are read at; without one, links to them become text.
    """
    with tempfile.TemporaryDirectory() as made:
        staged = Path(made) / directory.name
        _stage(directory, staged, pages)
        subprocess.run(  # noqa: S603  # uv's own program, and paths of this repository
            [
                *(find_uv_bin(), "build", "--quiet", "--offline", "--no-config", "--no-build-isolation"),
                *("--python", sys.executable, "--no-create-gitignore", "--out-dir", target, staged),
            ],
            check=True,
        )


def elsewhere(text: str, directory: str, pages: str | None) -> str:
    """Return a README of `directory` (relative to the repository) as it is to read outside of it."""

    def replaced(link: re.Match[str]) -> str:
        image, label, path = link.groups()
        if pages is None:
            return "" if image else label
        return f"{image}[{label}]({pages.rstrip('/')}/{normpath(f'{directory}/{path}')})"

    return _LINK.sub(replaced, text)


def _stage(directory: Path, staged: Path, pages: str | None) -> None:
    for name in _tracked(directory):
        (staged / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(directory / name, staged / name)
    shutil.copy(ROOT / "LICENSE", staged / "LICENSE")
    readme = staged / "README.md"
    readme.write_text(elsewhere(readme.read_text("utf-8"), str(directory.relative_to(ROOT)), pages), "utf-8")


def _tracked(directory: Path) -> list[str]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=directory, check=True, capture_output=True)  # noqa: S607
    names = listed.stdout.decode().split("\0")
    return [name for name in names if (directory / name).is_file()]


def main(arguments: Sequence[str] | None = None) -> None:
    """Build everything into a directory, from which what was there goes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", type=Path)
    parser.add_argument("--pages", help="the address that the files of this version are read at")
    given = parser.parse_args(arguments)
    shutil.rmtree(given.target, ignore_errors=True)
    for directory in distributions():
        build(directory, given.target.absolute(), given.pages or None)


if __name__ == "__main__":
    main()
