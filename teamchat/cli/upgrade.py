"""``teamchat upgrade``: bring the database up to date, or only try whether that would work."""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING

from teamchat.cli.options import add_config
from teamchat.cli.working import installation, work
from teamchat.errors import SettingsError
from teamchat.observability import logs
from teamchat.settings import backend_options
from teamchat.storage import capability_tables

if TYPE_CHECKING:
    from teamchat.cli.options import Commands
    from teamchat.interfaces import Upgrade
    from teamchat.operations.installation import Installation


def add(commands: Commands) -> None:
    """Add the verb to the command line."""
    parser = commands.add_parser("upgrade", help="bring the database up to date", allow_abbrev=False)
    add_config(parser)
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="try it without changing anything, also beside a running server",
    )
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Upgrade as ``teamchat serve`` would on its start, and say what was done."""
    logs.configure()
    one = installation(options)
    found = work(lambda _: _rehearsed(one))
    if found.present == found.newest:
        _upgrade_capabilities(one, found, is_tried=options.dry_run)
    elif options.dry_run:
        print(
            f"The database has schema {found.present}; this version uses {found.newest}. The upgrade was "
            f"tried with all {found.rows} rows and works. Nothing was changed."
        )
    else:
        work(lambda _: _open(one))
        print(f"The database was upgraded from schema {found.present} to {found.newest}.")
    return 0


def _upgrade_capabilities(one: Installation, found: Upgrade, *, is_tried: bool) -> None:
    """Upgrade the tables of capabilities, or try it, and say what was done."""
    count = work(lambda _: _migrated(one, is_tried=is_tried))
    if not count:
        print(f"The database has schema {found.present}, which this version uses. There is nothing to do.")
    elif is_tried:
        print(
            f"The tables of capabilities are {count} migrations behind. The upgrade was tried and works. "
            "Nothing was changed."
        )
    else:
        print(f"The tables of capabilities were upgraded by {count} migrations.")


async def _rehearsed(installation: Installation) -> Upgrade:
    section = installation.settings.storage
    backend = installation.plugins.storage(section.backend)
    if backend.rehearse is None:
        raise SettingsError(
            f"The storage {section.backend} can't rehearse an upgrade; teamchat serve upgrades it."
        )
    tables = installation.served_capabilities().tables
    of_capabilities = partial(capability_tables.upgrade_in, wanted=tables)
    return await backend.rehearse(backend_options(section, backend), of_capabilities)


async def _open(installation: Installation) -> None:
    async with installation.storage() as storage:
        capabilities = installation.served_capabilities()
        await capability_tables.upgrade(storage, capabilities.tables)


async def _migrated(installation: Installation, *, is_tried: bool) -> int:
    """Return how many migrations of capabilities there are to run, and run them unless that is but tried."""
    capabilities = installation.served_capabilities()
    async with installation.storage() as storage:
        count = await capability_tables.rehearse(storage, capabilities.tables)
        if count and not is_tried:
            await capability_tables.upgrade(storage, capabilities.tables)
    return count
