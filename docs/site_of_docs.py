"""Builds the documentation site into ``build/site``: ``make docs`` runs it, with warnings as errors.

The pages are the Markdown of this repository, as it reads there: those in ``docs/``, and the README files
beside the code they describe.  They are gathered in ``build/docs``, with the links between them set to where
they are then; a link to a file that is no page is kept as its text.  Which pages there are is worked out from
the directories, so that none can be forgotten; their order is that of the README's table.  The site is plain
files that ask nothing of any other host; its search needs them served, by whatever server.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parent.parent
BUILD = ROOT / "build"
QUARTERS = {
    "tutorials": "Tutorials",
    "how-to": "How-to",
    "reference": "Reference",
    "explanation": "Explanation",
}
_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?\)")
_CONFIG = """\
[project]
site_name = "teamchat"
site_description = "A self-hosted team chat server."
docs_dir = "docs"
site_dir = "site"
use_directory_urls = false
nav = [
{nav}]

[project.theme]
font = false
features = [
  "content.code.copy", "navigation.footer", "navigation.sections", "navigation.top", "search.highlight",
]

[[project.theme.palette]]
media = "(prefers-color-scheme: light)"
scheme = "default"

[[project.theme.palette]]
media = "(prefers-color-scheme: dark)"
scheme = "slate"

[project.markdown_extensions]
admonition = {{}}
attr_list = {{}}
tables = {{}}
toc.permalink = true
pymdownx.highlight = {{}}
pymdownx.superfences = {{}}
"""


def pages() -> dict[Path, PurePosixPath]:
    """Return every page's file and where it stands in the site."""
    found = {
        ROOT / "README.md": PurePosixPath("index.md"),
        ROOT / "CHANGELOG.md": PurePosixPath("changelog.md"),
        ROOT / "CONTRIBUTING.md": PurePosixPath("contributing.md"),
        ROOT / "SECURITY.md": PurePosixPath("reporting-a-vulnerability.md"),
        ROOT / "conformance" / "README.md": PurePosixPath("conformance.md"),
    }
    for plugin in sorted(ROOT.glob("plugins/teamchat-*/README.md")):
        found[plugin] = PurePosixPath("plugins", f"{plugin.parent.name}.md")
    for page in sorted(ROOT.glob("docs/*/*.md")):
        found[page] = PurePosixPath(page.relative_to(ROOT / "docs").as_posix())
    return found


def moved(text: str, page: Path, places: Mapping[Path, PurePosixPath]) -> str:
    """Return a page's text with its links set to where the pages and pictures stand in the site."""

    def link(found: re.Match[str]) -> str:
        mark, words, target, anchor = found.groups()
        file = (page.parent / target).resolve()
        place = places.get(file) or (_picture(file) if mark else None)
        if place is None:
            return words
        address = os.path.relpath(place, places[page].parent)
        return f"{mark}[{words}]({address}{anchor or ''})"

    return _outside_code(text, lambda part: _LINK.sub(link, part))


def title(page: Path) -> str:
    """Return a page's first heading."""
    for line in page.read_text().splitlines():
        if line.startswith("# "):
            return line.removeprefix("# ").strip()
    raise SystemExit(f"{page.relative_to(ROOT)} has no heading.")


def navigation(places: Mapping[Path, PurePosixPath]) -> str:
    """Return the site's menu, as TOML."""
    _, _, table = (ROOT / "README.md").read_text().partition("## Where to go from here")
    lines = [_entry("teamchat", PurePosixPath("index.md"))]
    for directory, name in (*QUARTERS.items(), ("plugins", "Plugins")):
        inside = [(title(page), place) for page, place in places.items() if place.parent.name == directory]
        ordered = sorted(inside, key=lambda entry: (_position(table, entry[1]), entry))
        lines.append(f"  {{ {json.dumps(name)} = [{', '.join(_item(*entry) for entry in ordered)}] }},\n")
    rest = ("conformance.md", "contributing.md", "reporting-a-vulnerability.md", "changelog.md")
    byplace = {str(place): title(page) for page, place in places.items()}
    project = ", ".join(_item(byplace[place], PurePosixPath(place)) for place in rest)
    return "".join([*lines, f'  {{ "Project" = [{project}] }},\n'])


def build() -> None:
    """Gather the pages and have the site made. Exits with the generator's status if it warns of anything."""
    places = pages()
    shutil.rmtree(BUILD, ignore_errors=True)
    for page, place in places.items():
        target = BUILD / "docs" / place
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(moved(page.read_text(), page, places))
    if (ROOT / "docs" / "images").is_dir():
        shutil.copytree(ROOT / "docs" / "images", BUILD / "docs" / "images")
    (BUILD / "zensical.toml").write_text(_CONFIG.format(nav=navigation(places)))
    program = Path(sys.executable).parent / "zensical"
    made = subprocess.run([program, "build", "--strict", "--clean"], cwd=BUILD, check=False)  # noqa: S603
    if made.returncode:
        raise SystemExit(made.returncode)


def _position(text: str, place: PurePosixPath) -> int:
    """Return where a page is linked for the last time; one that is not linked comes last."""
    found = text.rfind(f"](docs/{place}")
    return len(text) if found < 0 else found


def _picture(file: Path) -> PurePosixPath | None:
    inside = ROOT / "docs"
    return PurePosixPath(file.relative_to(inside).as_posix()) if file.is_relative_to(inside) else None


def _outside_code(text: str, change: Callable[[str], str]) -> str:
    """Apply `change` to what is not within a fenced block."""
    parts = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if number % 2 else change(part) for number, part in enumerate(parts))


def _entry(name: str, place: PurePosixPath) -> str:
    return f"  {_item(name, place)},\n"


def _item(name: str, place: PurePosixPath) -> str:
    return f"{{ {json.dumps(name)} = {json.dumps(str(place))} }}"


if __name__ == "__main__":
    build()
