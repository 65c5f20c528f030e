"""What is published: one version, names that are teamchat's own, archives that are whole and hold no more."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
from collections.abc import Iterable
from email import message_from_bytes
from email.message import Message
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZipFile

import httpx2
import pytest

import teamchat
import teamchat_conformance
from tests.docs.machine import Machine
from tests.docs.pages import blocks
from tests.docs.recipes import recipe

ROOT = Path(__file__).parent.parent.parent
DIST = runpy.run_path(str(ROOT / "deploy" / "dist.py"))
DISTRIBUTIONS: list[Path] = DIST["distributions"]()
SERVER = "teamchat-server"
OTHERS = re.compile(r"teamchat(?![\w-])")
each_distribution = pytest.mark.parametrize("directory", DISTRIBUTIONS, ids=lambda path: path.name)


def project(directory: Path) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((directory / "pyproject.toml").read_text())["project"]
    return found


@each_distribution
def test_every_version_is_the_same(directory: Path) -> None:
    assert project(directory)["version"] == teamchat.__version__ == teamchat_conformance.__version__


@each_distribution
def test_nothing_asks_for_the_package_of_somebody_else(directory: Path) -> None:
    declared = project(directory)
    extras = declared.get("optional-dependencies", {}).values()
    asked = [*declared["dependencies"], *(line for lines in extras for line in lines)]
    assert not [line for line in asked if OTHERS.match(line)]
    if directory.parent.name == "plugins":
        minor = teamchat.__version__.rpartition(".")[0]
        assert declared["name"] == directory.name
        assert f"{SERVER}=={minor}.*" in asked


def test_a_new_plugin_does_not_ask_for_it_either() -> None:
    template = ROOT / "teamchat" / "cli" / "scaffold" / "templates" / "pyproject.toml.tmpl"
    asked = re.findall(r'ies = \["(.*?)"\]|test = \["(.*?)"\]', template.read_text())
    assert [left or right for left, right in asked] == [SERVER, f"{SERVER}[testing]"]


def test_no_page_says_to_install_it() -> None:
    said = re.compile(r"(?:pip|pipx|uv)[\w ]* install (?:-\S+ )*['\"]?teamchat(?![\w-])")
    pages = [*ROOT.glob("docs/*/*.md"), *ROOT.glob("*.md"), *ROOT.glob("plugins/*/README.md")]
    told = [(page.name, found[0]) for page in pages for found in said.finditer(page.read_text())]
    assert [page for page, _ in told] == ["CHANGELOG.md"]  # which says that one must not.


def test_links_of_a_readme_lead_to_the_pages_of_the_version_or_nowhere() -> None:
    text = "![seen](a.png) [a page](../../docs/x.md#y), [here](https://example.org), [there](#below)"
    assert DIST["elsewhere"](text, "plugins/teamchat-a", None) == (
        " a page, [here](https://example.org), [there](#below)"
    )
    assert DIST["elsewhere"](text, "plugins/teamchat-a", "https://git.example.org/v1/") == (
        "![seen](https://git.example.org/v1/plugins/teamchat-a/a.png) "
        "[a page](https://git.example.org/v1/docs/x.md#y), [here](https://example.org), [there](#below)"
    )


class Built(NamedTuple):
    """What a source archive and a wheel hold, by name."""

    archive: dict[str, bytes]
    wheel: dict[str, bytes]

    @property
    def metadata(self) -> Message:
        [told] = [data for name, data in self.wheel.items() if name.endswith(".dist-info/METADATA")]
        return message_from_bytes(told)


def built(target: Path, directory: Path) -> Built:
    """Read what was built of a distribution into a directory."""
    stem = f"{project(directory)['name'].replace('-', '_')}-{teamchat.__version__}"
    with tarfile.open(target / f"{stem}.tar.gz") as tar:
        files = [member for member in tar if member.isfile()]
        assert {(member.uid, member.uname, member.gid, member.gname) for member in files} == {(0, "", 0, "")}
        read = {member.name.removeprefix(f"{stem}/"): tar.extractfile(member) for member in files}
        archive = {name: file.read() for name, file in read.items() if file}
    with ZipFile(target / f"{stem}-py3-none-any.whl") as wheel:
        return Built(archive, {name: wheel.read(name) for name in wheel.namelist()})


def tracked(directory: Path) -> set[str]:
    listed = subprocess.run(["git", "ls-files"], cwd=directory, check=True, capture_output=True, text=True)
    return {name for name in listed.stdout.splitlines() if (directory / name).is_file()}


def check(made: Built, directory: Path) -> None:
    """Assert that the archives are whole, and hold nothing but what git tracks."""
    package = "teamchat" if directory == ROOT else project(directory)["name"].replace("-", "_")
    files = tracked(directory)
    code = {name for name in files if name.startswith(f"{package}/")}
    assert {name for name in made.wheel if ".dist-info/" not in name} == code
    assert f"{package}/py.typed" in code
    assert made.archive.keys() <= files | {"PKG-INFO", "LICENSE"}
    assert made.archive.keys() >= code | {"pyproject.toml", "README.md", "LICENSE"}
    assert made.archive["LICENSE"] == (ROOT / "LICENSE").read_bytes()
    if directory != ROOT:
        assert made.archive.keys() >= {name for name in files if name.startswith("tests/")}
    [told] = [data for name, data in made.wheel.items() if name.endswith("licenses/LICENSE")]
    assert told == (ROOT / "LICENSE").read_bytes()
    assert made.metadata["License-Expression"] == "MIT"
    assert made.metadata["Description-Content-Type"] == "text/markdown"
    readme = made.metadata.get_payload()
    assert isinstance(readme, str)
    assert not re.findall(r"\]\((?!https?:|mailto:|#)[^)]*\)", readme)
    assert not holding(made.archive, str(ROOT).encode()) | holding(made.wheel, str(ROOT).encode())


def holding(files: dict[str, bytes], text: bytes) -> set[str]:
    return {name for name, data in files.items() if text in data}


def test_one_plugin_is_built_whole(tmp_path: Path) -> None:
    directory = ROOT / "plugins" / "teamchat-auth-magic-link"
    DIST["build"](directory, tmp_path)
    check(built(tmp_path, directory), directory)


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All that is published."""
    target: Path = tmp_path_factory.mktemp("built") / "dist"
    DIST["main"]([str(target)])
    return target


def test_make_dist_does_what_the_pages_say() -> None:
    build, _, _ = blocks("how-to/install-from-wheels.md", "console")
    [released] = blocks("how-to/release.md", "console")
    made, download, copied = [line.removeprefix("$ ") for line in build.splitlines()]
    assert recipe(made)[-1] == ".venv/bin/python deploy/dist.py dist "
    assert recipe(released.removeprefix("$ ").strip())[-1].endswith(
        "deploy/dist.py dist --pages https://git.example.org/teamchat/blob/v0.2.0"
    )
    assert download.split()[-1] == copied.split()[1] == "deploy/requirements.lock"


@pytest.mark.slow
@each_distribution
def test_every_distribution_is_built_whole(directory: Path, everything: Path) -> None:
    check(built(everything, directory), directory)
    assert len(list(everything.iterdir())) == 2 * len(DISTRIBUTIONS)


def without_teamchat(directory: Path) -> Path:
    """Return a directory with all that is installed here but teamchat: what the lock would bring."""
    directory.mkdir()
    for entry in Path(sysconfig.get_paths()["purelib"]).iterdir():
        if not re.match(r"teamchat|_?_?editable|as_here", entry.name):
            (directory / entry.name).symlink_to(entry)
    return directory


@pytest.mark.slow
def test_wheels_are_installed_by_the_page_with_no_index_and_serve(tmp_path: Path, everything: Path) -> None:
    bare = Machine(tmp_path, {})
    _, install, former = blocks("how-to/install-from-wheels.md", "console")
    commands = [line.removeprefix("# ") for line in install.splitlines()]
    shutil.copytree(everything, bare.root / "dist")
    shutil.copy(ROOT / "deploy" / "requirements.lock", bare.root / "dist")
    names = [project(directory)["name"] for directory in DISTRIBUTIONS]
    every = [*(name for name in names if name not in commands[2]), ""]
    bare.environment = {"PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}

    bare.types(commands[0].replace("python3", sys.executable))
    [packages] = (bare.root / "opt" / "teamchat").glob("lib/python*/site-packages")
    (packages / "wheels.pth").write_text(f"{without_teamchat(bare.root / 'third-party')}\n")
    bare.types(commands[1])
    bare.types(commands[2])
    assert bare.types(commands[3]) == f"teamchat {teamchat.__version__}\n"
    said = bare.types(f"{commands[2]} {' '.join(every)}")
    assert "Successfully installed" in said
    bare.types(former.removeprefix("# "))  # There is none, which is no failure.
    bare.types("/opt/teamchat/bin/pip check")
    where = bare.types("/opt/teamchat/bin/python -c 'import teamchat; print(teamchat.__file__)'")
    assert where.startswith(str(packages))

    listed = bare.types("/opt/teamchat/bin/teamchat plugins")
    assert entry_points(DISTRIBUTIONS) == set(re.findall(r"^([\w-]+): active", listed, re.MULTILINE))
    bare.types("/opt/teamchat/bin/teamchat new-plugin lunch --kind auth-mode")
    bare.types("/opt/teamchat/bin/teamchat-conformance list --area MSG")
    with bare.serves(f"/opt/teamchat/bin/teamchat serve --config {configured(bare)}") as server:
        assert "<html" in httpx2.get(f"{server.base}/").text
        given = {"email": "ada@example.org", "password": "correct horse"}
        answer = httpx2.post(f"{server.base}/auth/password-login", json=given)
        assert answer.status_code == 200, answer.text
        assert server.end() == 0


def configured(machine: Machine) -> Path:
    return machine.write(
        "teamchat.toml",
        f'[storage]\npath = "{machine.root}/data"\n[chat.initialUser]\nuserName = "Ada"\n'
        f'email = "ada@example.org"\npassword = "correct horse"\n',
    )


def entry_points(directories: Iterable[Path]) -> set[str]:
    found = [project(each).get("entry-points", {}).get("teamchat", {}) for each in directories]
    return {name for each in found for name in each}
