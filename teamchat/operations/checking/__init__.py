"""Whether an installation is in order, part by part: each finding says what to do about it.

A check creates and changes nothing; it needs no server, and disturbs none.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

from teamchat.errors import OperatorError
from teamchat.operations.checking.database import check_database
from teamchat.operations.checking.findings import Finding, Level, Say, problem
from teamchat.operations.checking.place import check_directory
from teamchat.operations.checking.services import (
    check_clock,
    check_files,
    check_images,
    check_mail,
    check_servers,
)
from teamchat.operations.checking.stated import check_certificate, check_configuration, check_secret
from teamchat.operations.installation import Installation

__all__ = ["Finding", "Level", "check"]
_PARTS = (check_directory, check_secret, check_certificate)


async def check(
    installation: Installation,
    say: Say,
    mail_to: str | None = None,
    waits: Callable[[], object] = lambda: None,
) -> bool:
    """Check everything, say each finding as it is found, and return whether there was no problem."""
    all_good = True

    def note(finding: Finding) -> None:
        nonlocal all_good
        all_good = all_good and finding.level is not Level.PROBLEM
        say(finding)

    for finding in await check_configuration(installation):
        note(finding)
    for finding in chain(*(check_part(installation) for check_part in _PARTS)):
        note(finding)
    note(await check_mail(installation, mail_to))
    try:
        async with installation.existing_storage() as storage:
            tables = installation.plugins.capabilities(installation.settings.plugins).tables
            await check_database(storage, installation.settings.storage.backend, note, tables)
            note(await check_clock(storage))
            for finding in await check_images(installation, storage):
                note(finding)
            for finding in await check_files(installation, storage):
                note(finding)
            note(await check_servers(storage, waits))
    except OperatorError as error:
        note(
            problem(
                "database",
                f"can't be opened: {error}",
                "Mend this, then check again: images and servers could not be looked at.",
            )
        )
    return all_good
