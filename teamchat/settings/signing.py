"""The secret that signs access tokens: the configured one, or one that is made once and kept (D-10).

The generated secret appears in the data directory completely or not at all, is readable only by its owner,
and survives a power cut once it is used; two servers that start at once agree on it. Servers on one database
with separate directories can't: they have to be given the same ``auth.jwtSecret``, and refuse to start
otherwise (`teamchat.cluster.agreement`).
"""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from teamchat.errors import SettingsError
from teamchat.settings.checks import MIN_SECRET_BYTES
from teamchat.settings.keys import Settings
from teamchat.storage.disk import sync

SECRET_NAME = "jwt-secret"  # noqa: S105 - the name of the file


def jwt_secret(settings: Settings) -> bytes:
    """Return the key for access tokens; on the first start without one, generate and keep it."""
    if settings.auth.jwt_secret is not None:
        return settings.auth.jwt_secret.encode()
    directory = Path(settings.storage.path)
    with _refusing("or configure auth.jwtSecret"):
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileExistsError):
            _create(directory)
        _take_back(directory / SECRET_NAME)
    return _read_kept(directory)


def kept_secret(settings: Settings) -> bytes | None:
    """Return the key for access tokens if there is one; change nothing. Raises `SettingsError`."""
    if settings.auth.jwt_secret is not None:
        return settings.auth.jwt_secret.encode()
    try:
        return _read_kept(Path(settings.storage.path))
    except (FileNotFoundError, NotADirectoryError):
        return None


def keep_secret(settings: Settings, secret: bytes) -> None:
    """Keep a secret that was made elsewhere, in place of one that may be there. Raises `SettingsError`."""
    with secret_to_keep(settings, secret) as keep:
        keep()


@contextmanager
def secret_to_keep(settings: Settings, secret: bytes) -> Iterator[Callable[[], None]]:
    """Write a secret that was made elsewhere to the disk, and yield what puts it in its place.

    Whatever can be wrong with the directory is wrong before that. No server may run. Raises `SettingsError`.
    """
    directory = Path(settings.storage.path)
    with _refusing():
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        for leftover in directory.glob(f".{SECRET_NAME}-*"):  # Of one that was killed.
            leftover.unlink()
        fresh = _write(directory, secret)

    def keep() -> None:
        with _refusing():
            fresh.rename(directory / SECRET_NAME)
            sync(directory)

    try:
        yield keep
    finally:
        fresh.unlink(missing_ok=True)


@contextmanager
def _refusing(otherwise: str = "") -> Iterator[None]:
    """Turn an `OSError` into a sentence for the operator; `otherwise` is what else helps."""
    try:
        yield
    except OSError as error:
        is_full = error.errno in {errno.ENOSPC, errno.EDQUOT}
        remedies = "Make room" if is_full else "Make the directory writable", otherwise
        raise SettingsError(
            "storage.path: the signing secret can't be kept there "
            f"({error.strerror or type(error).__name__}). {', '.join(filter(None, remedies))}."
        ) from error


def _take_back(file: Path) -> None:
    """Take the secret back from others if its mode was widened."""
    if file.stat().st_mode & 0o077:
        file.chmod(0o600)


def _read_kept(directory: Path) -> bytes:
    """Return the secret that is kept. Raises `SettingsError`, or an `OSError` if there is none."""
    try:
        kept = (directory / SECRET_NAME).read_bytes().strip()
    except (FileNotFoundError, NotADirectoryError):
        raise
    except OSError as error:
        raise SettingsError(
            f"storage.path: the file {SECRET_NAME} there can't be read ({error.strerror}). "
            "Run this as the server's user."
        ) from error
    if len(kept) < MIN_SECRET_BYTES:
        raise SettingsError(
            f"storage.path: the file {SECRET_NAME} there is damaged. Stop the server and restore it, or "
            "remove it: then another is made, and clients fetch new access tokens."
        )
    return kept


def _create(directory: Path) -> None:
    """Write a new secret under a name of its own, then link it into place unless one is there."""
    target = directory / SECRET_NAME
    if target.exists():
        return
    fresh = _write(directory, secrets.token_hex(MIN_SECRET_BYTES).encode())
    try:
        os.link(fresh, target)
    finally:
        fresh.unlink()
    sync(directory)


def _write(directory: Path, secret: bytes) -> Path:
    """Write a secret to the disk under a name of its own, and return where."""
    fresh = directory / f".{SECRET_NAME}-{secrets.token_hex(8)}"
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(secret + b"\n")
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        fresh.unlink()
        raise
    return fresh
