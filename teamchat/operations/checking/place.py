"""Checks of the configuration, the data directory and the room on its disk."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from teamchat import tls
from teamchat.errors import OperatorError
from teamchat.operations.checking.findings import Finding, ok, problem, warning
from teamchat.operations.installation import Installation
from teamchat.settings.signing import SECRET_NAME

_LITTLE_BYTES = 1024**3
_TOO_LITTLE_BYTES = 100 * 1024**2
_LOCAL = {"localhost", "127.0.0.1", "::1", None}


async def check_configuration(installation: Installation) -> list[Finding]:
    """Check what `serve` would refuse at start, and what it would not but should be known."""
    settings, plugins = installation.settings, installation.plugins
    found = []
    try:
        plugins.check_settings(settings.plugins)
        backend = plugins.auth_mode(settings.auth.auth_mode)
        async with backend.open(backend.options()) as mode:
            mode.check(settings)
        if settings.server.tls is not None:
            tls.context(settings.server.tls)
    except OperatorError as error:
        found.append(problem("configuration", str(error), "Change the configuration as it says."))
    url = urlsplit(settings.auth.app_url)
    if url.scheme != "https" and url.hostname not in _LOCAL:
        found.append(
            warning(
                "configuration",
                "auth.appUrl does not begin with https.",
                "Serve the application by TLS, or passwords and tokens can be read on the way.",
            )
        )
    if settings.auth.auth_mode == "dev":
        found.append(
            warning(
                "configuration",
                "auth.authMode is dev: anyone who reaches the server is anyone.",
                "Choose password or magic-link for anything but development.",
            )
        )
    return found or [ok("configuration", f"in order; people sign in by {settings.auth.auth_mode}")]


def check_directory(installation: Installation) -> Iterator[Finding]:
    """Check who may read the data directory, and the room on its disk."""
    directory = installation.directory
    if not installation.has_directory:
        yield problem(
            "directory",
            f"storage.path: there is no directory {directory}.",
            "Start the server once, or give the configuration it is started with.",
        )
        return
    yield from _check_modes(directory)
    yield _check_room(directory)


def _check_modes(directory: Path) -> Iterator[Finding]:
    if not os.access(directory, os.R_OK | os.W_OK | os.X_OK):
        yield problem(
            "directory", f"{directory} can't be written by this user.", "Run this as the server's user."
        )
        return
    wide = [
        path
        for path in (directory, directory / SECRET_NAME, *directory.glob("*.db*"))
        if path.exists() and stat.S_IMODE(path.stat().st_mode) & 0o077
    ]
    if wide:
        names = ", ".join(str(path) for path in wide)
        yield warning("directory", f"others may read {names}.", f"chmod go= {names}")
    else:
        yield ok("directory", f"{directory} is for its owner alone")


def _check_room(directory: Path) -> Finding:
    usage = shutil.disk_usage(directory)
    sentence = f"{usage.free / 1024**3:.1f} GiB are free ({usage.free / usage.total:.0%})"
    remedy = "Make room: without any, nothing can be written, though nothing is lost."
    if usage.free < _TOO_LITTLE_BYTES:
        return problem("disk", sentence, remedy)
    if usage.free < _LITTLE_BYTES:
        return warning("disk", sentence, remedy)
    return ok("disk", sentence)
