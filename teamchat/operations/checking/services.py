"""Checks of what the server depends on: the image store, mail, and other servers."""

from __future__ import annotations

import os
import secrets
import socket
import ssl
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack

import trio

from teamchat.capabilities import KeptFile
from teamchat.errors import MailDelayed, MailRefused, OperatorError
from teamchat.interfaces import FileStore, ImageStore, Mail, Storage
from teamchat.model import now_ms
from teamchat.model.ids import new_id
from teamchat.operations.checking.findings import Finding, ok, problem, warning
from teamchat.operations.installation import Installation
from teamchat.operations.running import is_running
from teamchat.operations.stored_files import is_some, is_there, is_whole, pieces_of, put_file
from teamchat.operations.stored_images import keys_of, read_image
from teamchat.settings import EmailSettings, backend_options
from teamchat.storage.capability_tables import tables_in

_SECONDS = 20.0
_SAMPLED = 20
_AHEAD_MS = 5 * 60_000


async def check_images(installation: Installation, storage: Storage) -> list[Finding]:
    """Put a probe into the image store, get it and delete it; look for the newest images there."""
    try:
        with trio.fail_after(_SECONDS):
            async with installation.images() as store:
                return [await _probe(store), await _sample(store, storage)]
    except Exception as error:
        return [problem("image store", f"does not work: {_why(error)}", "See images in the configuration.")]


async def _probe(store: ImageStore) -> Finding:
    key, data = f"check-{secrets.token_hex(16)}", secrets.token_bytes(1000)
    begun = time.perf_counter()
    await store.put(key, data)
    try:
        came_back = await read_image(store, key)
    finally:
        await store.delete(key)
    took = (time.perf_counter() - begun) * 1000
    if came_back != data:
        return problem("image store", "gave other bytes than it was given", "Check its disk or its service.")
    if await is_some(await store.get(key)):
        return problem("image store", "does not delete", "See what this user may do there.")
    return ok("image store", f"puts, gets and deletes in {took:.0f} ms")


async def _sample(store: ImageStore, storage: Storage) -> Finding:
    async with storage.read() as tx:
        rows = await tx.fetch(
            "select filename, thumbnail_type from images order by filename desc limit $1", _SAMPLED
        )
    keys = [key for name, thumb in rows for key in keys_of(name, has_thumbnail=thumb is not None)]
    missing = [key for key in keys if not await is_some(await store.get(key))]
    if missing:
        return problem(
            "image store",
            f"{len(missing)} of the {len(keys)} newest images are not there",
            "Is this the place where they were kept? If they are lost, restore the last backup.",
        )
    return ok("image store", f"has the {len(keys)} newest images" if keys else "works; it has no images yet")


async def check_files(installation: Installation, storage: Storage) -> list[Finding]:
    """Put a probe into the store of files, read and remove it; look for files there that the tables name."""
    try:
        with trio.fail_after(_SECONDS):
            async with installation.files() as store:
                if store is None:
                    return []
                return [await _probe_files(store), await _sample_files(installation, store, storage)]
    except Exception as error:
        return [problem("file store", f"does not work: {_why(error)}", "See files in the configuration.")]


async def _probe_files(store: FileStore) -> Finding:
    key, data = f"check-{secrets.token_hex(16)}", secrets.token_bytes(1000)

    async def pieces() -> AsyncIterator[bytes]:
        yield data

    begun = time.perf_counter()
    await put_file(store, key, len(data), pieces())
    try:
        found = await pieces_of(store, key)
        came_back = b"" if found is None else b"".join([piece async for piece in found])
    finally:
        await store.remove(key)
    took = (time.perf_counter() - begun) * 1000
    if came_back != data:
        return problem("file store", "gave other bytes than it was given", "Check its disk or its service.")
    if await is_there(store, key):
        return problem("file store", "does not remove", "See what this user may do there.")
    return ok("file store", f"writes, reads and removes in {took:.0f} ms")


async def _sample_files(installation: Installation, store: FileStore, storage: Storage) -> Finding:
    files: list[KeptFile] = []
    async with storage.read() as tx:
        there = {table.name for table in await tables_in(tx)}
        for one in installation.kept_files():
            if one.table in there:
                for start in ("", secrets.token_hex(2)):  # The first, and some that are others each time.
                    files += await one.after(tx, start, _SAMPLED)
    files = list(dict.fromkeys(files))
    missing = [file for file in files if not await is_whole(store, file)]
    if missing:
        return problem(
            "file store",
            f"{len(missing)} of {len(files)} files are not there, or not to their end",
            "Is this the place where they were kept? If they are lost, restore the last backup.",
        )
    return ok("file store", f"has {len(files)} files that were looked for" if files else "works")


async def check_mail(installation: Installation, recipient: str | None) -> Finding:
    """Reach the mail server, or with a recipient send a trial."""
    section = installation.settings.email
    if section is None:
        if recipient is not None:
            return problem("mail", "none is configured, so no trial was sent", "Configure [email].")
        return ok("mail", "none is configured")
    try:
        with trio.fail_after(_SECONDS):
            if recipient is not None:
                return await _send_trial(installation, section, recipient)
            return await _reach(section)
    except trio.TooSlowError:
        where = "" if section.host is None else f" of {section.host}:{section.port}"
        why = f"no answer{where} in {_SECONDS:.0f} seconds"
        return problem("mail", why, "Check email.host and email.port.")
    except MailRefused as error:
        return problem("mail", f"the trial was refused: {error}", "Check the sender and the recipient.")
    except MailDelayed as error:
        why = f"the trial was not taken now: {error}"
        return problem("mail", why, "Try again in some minutes, or with another recipient.")
    except Exception as error:
        if section.host is not None and (missed := _missed(error)) is not None:
            why = f"{section.host}:{section.port} can't be reached: {_why(missed)}"
            return problem("mail", why, "Check email.host and email.port, and what is between.")
        return problem("mail", f"does not work: {_why(error)}", "Check [email] in the configuration.")


def _missed(error: Exception) -> OSError | None:
    """Return the system's error because of which a server was not reached; the mailer may have told of it."""
    for each in (error, error.__cause__):
        if isinstance(each, OSError) and not isinstance(each, ssl.SSLError):
            return each
    return None


def _why(error: BaseException) -> str:
    """Say why something failed, in words that hold no secret."""
    if isinstance(error, OperatorError):
        return str(error)
    if isinstance(error, ExceptionGroup):
        return _why(error.exceptions[0])
    if isinstance(error, OSError) and error.errno is None and error.__cause__ is not None:
        return _why(error.__cause__)  # Trio's sums up those of all addresses.
    if isinstance(error, socket.gaierror):
        return str(error.strerror)
    if isinstance(error, OSError) and error.errno is not None and not isinstance(error, ssl.SSLError):
        return os.strerror(error.errno)
    return type(error).__name__


async def _reach(section: EmailSettings) -> Finding:
    if section.host is None:
        return ok("mail", f"configured ({section.backend}); --mail ADDRESS sends a trial")
    stream = await trio.open_tcp_stream(section.host, section.port)
    await stream.aclose()
    return ok("mail", "the server of email.host can be reached; --mail ADDRESS sends a trial")


async def _send_trial(installation: Installation, section: EmailSettings, recipient: str) -> Finding:
    text = "This mail was sent by teamchat check, to see whether mail works. It does."
    mail = Mail(new_id(), recipient, "A trial of teamchat", text, f"<p>{text}</p>")
    backend = installation.plugins.mailer(section.backend)
    async with AsyncExitStack() as stack:
        mailer = await stack.enter_async_context(backend.open(backend_options(section, backend)))
        await mailer.send(mail)
    return ok("mail", f"a trial was handed over for {recipient}")


async def check_clock(storage: Storage) -> Finding:
    """Compare the clock with the newest that was written: ids and the lives of tokens hang on it."""
    async with storage.read() as tx:
        [(event,)] = await tx.fetch("select max(created_at) from events")
        [(message,)] = await tx.fetch("select max(created_at) from messages")
    ahead = max(event or 0, message or 0) - now_ms()
    if ahead > _AHEAD_MS:
        return problem(
            "clock",
            f"this machine's stands {ahead / 60_000:,.0f} minutes before the newest message",
            "Set the clock (timedatectl). With a wrong one tokens live too long, or not at all.",
        )
    return ok("clock", "not before what was written last")


async def check_servers(storage: Storage, waits: Callable[[], object]) -> Finding:
    """Return whether servers run that have signed on; one that was killed has not signed off."""
    async with storage.read() as tx:
        [(count,)] = await tx.fetch("select count(*) from members")
    if not count:
        return ok("servers", "none runs")
    if await is_running(storage, waits):
        return ok("servers", f"{count} signed on, and alive")
    return warning(
        "servers",
        f"{count} signed on, and no sign of life",
        "If it was killed, the next start takes its place. If it hangs, end it first (kill -9).",
    )
