"""Whether an installation is in order: configuration, directory, database, images, mail."""

from __future__ import annotations

from teamchat.errors import OperatorError
from teamchat.operations.checking.database import check_database
from teamchat.operations.checking.findings import Finding, Level, Say, problem
from teamchat.operations.checking.place import check_configuration, check_directory
from teamchat.operations.checking.services import check_images, check_mail, check_servers
from teamchat.operations.installation import Installation

__all__ = ["Finding", "Level", "check"]


async def check(installation: Installation, say: Say, mail_to: str | None = None) -> bool:
    """Check everything, say each finding as it is found, and return whether there was no problem."""
    all_good = True

    def note(finding: Finding) -> None:
        nonlocal all_good
        all_good = all_good and finding.level is not Level.PROBLEM
        say(finding)

    for finding in await check_configuration(installation):
        note(finding)
    for finding in check_directory(installation):
        note(finding)
    try:
        async with installation.existing_storage() as storage:
            note(await check_servers(storage))
            await check_database(storage, installation.settings.storage.backend, note)
            for finding in await check_images(installation, storage):
                note(finding)
    except OperatorError as error:
        note(problem("database", f"can't be opened: {error}", "Nothing else could be checked."))
    note(await check_mail(installation, mail_to))
    return all_good
