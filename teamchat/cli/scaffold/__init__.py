"""Makes a new plugin: a distribution of its own, whose tests pass at once.

There is a template for each kind of thing that a plugin can offer.  In a template ``$plugin`` is the plugin's
name, ``$package`` its Python package, ``$Class`` the class in it, ``$snake`` the name with underscores.
"""

from __future__ import annotations

import keyword
import re
import shutil
from collections.abc import Iterator
from importlib import metadata
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from string import Template
from typing import NamedTuple

from teamchat.errors import SettingsError


class Kind(NamedTuple):
    """Something a plugin can offer: how a sentence calls it, and the lines of configuration that use it."""

    what: str
    use: tuple[str, ...] = ()


KINDS = {
    "capability": Kind("a capability", ("[$plugin]", "most = 5")),
    "routes": Kind("an endpoint"),
    "service": Kind("something that runs beside the server"),
    "message-filter": Kind("a filter of messages", ("[plugins.$plugin]", 'words = ["darn"]')),
    "file-check": Kind("a check of files", ("[plugins.$plugin]", 'endings = [".exe"]')),
    "event-listener": Kind("a listener to what happens"),
    "command": Kind("a verb of the command line"),
    "image-store": Kind("a store of images", ("[images]", 'backend = "$plugin"', 'path = "pictures"')),
    "file-store": Kind("a store of files", ("[files]", 'backend = "$plugin"')),
    "mailer": Kind("a mailer", ("[email]", 'backend = "$plugin"', 'path = "mbox"')),
    "auth-mode": Kind(
        "a way to sign in",
        (
            "[auth]", 'authMode = "$plugin"', "",
            "[plugins.$plugin.badges]", '"1234-5678" = "ada@example.org"',
        ),
    ),
    "oauth-provider": Kind(
        "a provider of identities",
        ("[oauth.presets.$plugin]", 'clientId = "…"', 'clientSecret = { env = "CLIENT_SECRET" }'),
    ),
    "storage": Kind("a storage", ("[storage]", 'backend = "$plugin"')),
}  # fmt: skip
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*\Z")
_MOST_NAME = 28  # so that org.example.$plugin is none too long for a capability


def make(kind: str, name: str, directory: Path) -> Path:
    """Write a plugin called `name` into ``directory/teamchat-<name>`` and return that.

    Raises `SettingsError` if the kind or the name is none, if something is there already, if a plugin of that
    name is installed, or if it can't be written; then nothing is left of it.
    """
    if kind not in KINDS:
        raise SettingsError(f"There is no kind {kind!r} of plugin. There are: {', '.join(KINDS)}.")
    plugin = name.removeprefix("teamchat-")
    if not _NAME.match(plugin) or len(plugin) > _MOST_NAME or keyword.iskeyword(plugin):
        raise SettingsError(
            f"A plugin's name is made of {_MOST_NAME} lower-case letters, digits and dashes at most, such as "
            "lunch-menu."
        )
    target = directory / f"teamchat-{plugin}"
    words = _words(kind, plugin)
    if _is_installed(words["distribution"]) and not target.exists():
        raise SettingsError(
            f"{words['distribution']} is installed here already, and this one would take its place. "
            "Choose another name, or uninstall it first."
        )
    if (others := _offering(plugin) - {words["distribution"]}) and not target.exists():
        raise SettingsError(f"{min(others)} has a plugin called {plugin} already. Choose another name.")
    try:
        target.mkdir(parents=True)
        try:
            for template, file in _files(kind, words["package"]).items():
                _write(template, target / file, words)
        except OSError:
            shutil.rmtree(target, ignore_errors=True)
            raise
    except FileExistsError:
        raise SettingsError(f"{target} is there already and is left as it is.") from None
    except OSError as error:
        raise SettingsError(f"{target} can't be made: {error.strerror or type(error).__name__}.") from None
    return target


def _is_installed(distribution: str) -> bool:
    try:
        metadata.distribution(distribution)
    except metadata.PackageNotFoundError:
        return False
    return True


def _offering(plugin: str) -> set[str]:
    """Return the distributions that have a plugin of this name."""
    entries = metadata.entry_points(group="teamchat", name=plugin)
    return {entry.dist.name for entry in entries if entry.dist is not None}


def _words(kind: str, plugin: str) -> dict[str, str]:
    what, use = KINDS[kind]
    shown = "\n".join(("", "```toml", *use, "```", "")) if use else ""
    words = {
        "plugin": plugin,
        "distribution": f"teamchat-{plugin}",
        "package": f"teamchat_{plugin.replace('-', '_')}",
        "snake": plugin.replace("-", "_"),
        "Class": "".join(part.capitalize() for part in plugin.split("-")),
        "what": what,
        "Sentence": what[0].upper() + what[1:],
    }
    return words | {"use": Template(shown).substitute(words)}


def _files(kind: str, package: str) -> dict[str, str]:
    """Return where each template goes; beside module and test a kind may have others, for the package."""
    folder = files(__name__).joinpath("templates", kind)
    others = {*_within(folder)} - {"module.py.tmpl", "test.py.tmpl"}
    return {f"{kind}/{name}": f"{package}/{name.removesuffix('.tmpl')}" for name in sorted(others)} | {
        "pyproject.toml.tmpl": "pyproject.toml",
        "README.md.tmpl": "README.md",
        f"{kind}/module.py.tmpl": f"{package}/__init__.py",
        f"{kind}/test.py.tmpl": f"tests/test_{package.removeprefix('teamchat_')}.py",
    }


def _within(folder: Traversable, path: str = "") -> Iterator[str]:
    """Yield the paths of the files in a folder."""
    for one in folder.iterdir():
        if one.is_dir():
            yield from _within(one, f"{path}{one.name}/")
        else:
            yield f"{path}{one.name}"


def _write(template: str, file: Path, words: dict[str, str]) -> None:
    text = files(__name__).joinpath("templates", template).read_text("utf-8")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(Template(text).substitute(words), "utf-8")
