"""An installation as its configuration describes it, with its storage and its images, without a server.

Looking at an installation never creates or upgrades one. If there are no data yet, the error says so, and no
directory or database is left behind that was not there before. If the data are of an older version, whose
server may be running, the error says that.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from teamchat.capabilities import Capabilities, KeepsFiles
from teamchat.errors import SettingsError, StorageError
from teamchat.interfaces import FileStore, ImageStore, Storage
from teamchat.plugins import Plugins
from teamchat.settings import Settings, backend_options, load
from teamchat.storage.capability_tables import namespace
from teamchat.storage.moving import refuse_unfinished
from teamchat.storage.schema import MIGRATIONS
from teamchat.storage.sqlite import DATABASE_NAME, refuse_closed


@dataclass(frozen=True)
class Installation:
    """The settings of one installation, and the plugins they choose from."""

    settings: Settings
    plugins: Plugins
    file: Path | None = None
    """Where the settings were read from."""

    @classmethod
    def load(cls, file: Path | None, environ: Mapping[str, str]) -> Self:
        """Read the configuration and load the plugins. Raises an `OperatorError` if either fails."""
        settings = load(file, environ)
        plugins = Plugins.load(settings.plugins.disabled)
        plugins.require()
        return cls(settings, plugins, file)

    def capabilities(self) -> Capabilities:
        """Return the capabilities that are on. Raises an `OperatorError` for one that can't be taken."""
        return self.plugins.capabilities(self.settings.plugins)

    def served_capabilities(self) -> Capabilities:
        """Return those of `capabilities` that a server with these settings has."""
        return self.plugins.capabilities(self.settings.plugins, self.settings)

    def kept_files(self) -> list[KeepsFiles]:
        """Return what capabilities keep in the store of files, also those that are turned off."""
        return [kept for kept, _ in self.plugins.kept_files(self.settings.plugins)]

    def offered_namespaces(self) -> set[str]:
        """Return the namespaces of the tables of all capabilities that are offered, on or off."""
        return {namespace(offer.name) for _, offer in self.plugins.capability_offers()}

    @property
    def _file_backend(self) -> str | None:
        """The name of the store of files; None if no capability keeps any."""
        return next((name for _, name in self.plugins.kept_files(self.settings.plugins)), None)

    @property
    def directory(self) -> Path:
        """The data directory."""
        return Path(self.settings.storage.path)

    @property
    def image_directory(self) -> Path | None:
        """The directory of the images, or None if the image store has none. Raises `SettingsError`."""
        section = self.settings.images
        path = getattr(backend_options(section, self.plugins.image_store(section.backend)), "path", None)
        return Path(path) if isinstance(path, str) else None

    @property
    def file_directory(self) -> Path | None:
        """The directory of the files, or None if their store has none. Raises `SettingsError`."""
        name = self._file_backend
        if name is None:
            return None
        _, options = self.plugins.file_store(name, self.settings)
        path = getattr(options, "path", None)
        return Path(path) if isinstance(path, str) else None

    @property
    def has_directory(self) -> bool:
        """Whether the data directory is there, as far as this user can see."""
        return os.path.isdir(self.directory)

    @asynccontextmanager
    async def storage(self) -> AsyncIterator[Storage]:
        """Open the storage, whatever is in it; one that is not there is made."""
        section = self.settings.storage
        backend = self.plugins.storage(section.backend)
        async with backend.open(backend_options(section, backend)) as storage:
            yield storage

    @asynccontextmanager
    async def existing_storage(self) -> AsyncIterator[Storage]:
        """Open the storage of an installation that is there. Raises an `OperatorError` if there is none."""
        if self.settings.storage.backend == "sqlite":
            self._refuse_missing()
        await self._refuse_older()
        async with self.storage() as storage:
            await refuse_unfinished(storage)
            if not await has_users(storage):
                raise StorageError(
                    "The database has no users yet: this installation was never started. "
                    "Start it once with teamchat serve, or give another --config."
                )
            yield storage

    def _refuse_missing(self) -> None:
        """Refuse a directory without a database, and one of which this user can't tell."""
        refuse_closed(self.directory)
        if not os.path.exists(self.directory / DATABASE_NAME):
            what = "database in" if self.has_directory else "directory"
            raise SettingsError(
                f"storage.path: there is no {what} {self.settings.storage.path}, so there is no "
                "installation. Give --config, or go to the directory in which teamchat serve was started."
            )

    async def _refuse_older(self) -> None:
        """Leave a database alone that the server of an older version may be using."""
        section = self.settings.storage
        backend = self.plugins.storage(section.backend)
        if backend.schema is None:
            return
        present, newest = await backend.schema(backend_options(section, backend)), MIGRATIONS[-1].number
        if 0 < present < newest:
            raise StorageError(
                f"The database has schema {present}, and this version of teamchat uses {newest}. Stop the "
                "server and give teamchat upgrade, or use the version that the database is of."
            )

    @asynccontextmanager
    async def images(self) -> AsyncIterator[ImageStore]:
        """Open the image store."""
        section = self.settings.images
        backend = self.plugins.image_store(section.backend)
        async with backend.open(backend_options(section, backend)) as store:
            yield store

    @asynccontextmanager
    async def files(self, *, in_use: bool = False) -> AsyncIterator[FileStore | None]:
        """Open the store of files; None if no capability keeps any, or, with `in_use`, none that is on."""
        name = self.capabilities().file_backend if in_use else self._file_backend
        if name is None:
            yield None
            return
        backend, options = self.plugins.file_store(name, self.settings)
        async with backend.open(options) as store:
            yield store

    def keeps_files_as(self, other: Installation) -> bool:
        """Return whether two installations keep their files at the same location."""
        return self._location_of_files() == other._location_of_files()

    def _location_of_files(self) -> object:
        name, directory = self._file_backend, self.file_directory
        if name is None:
            return None
        if directory is not None:
            return name, directory.resolve()
        return name, self.plugins.file_store(name, self.settings)[1]

    def keeps_images_as(self, other: Installation) -> bool:
        """Return whether two installations keep their images at the same location."""
        return self._location_of_images() == other._location_of_images()

    def keeps_data_as(self, other: Installation) -> bool:
        """Return whether two installations have the same database."""
        return self._location_of_data() == other._location_of_data()

    def _location_of_data(self) -> object:
        section = self.settings.storage
        if section.backend == "sqlite":
            return self.directory.resolve()
        return section.backend, backend_options(section, self.plugins.storage(section.backend))

    def _location_of_images(self) -> object:
        section = self.settings.images
        if self.image_directory is not None:
            return section.backend, self.image_directory.resolve()
        return section.backend, backend_options(section, self.plugins.image_store(section.backend))


async def has_users(storage: Storage) -> bool:
    """Return whether an installation was ever started."""
    async with storage.read() as tx:
        return bool(await tx.fetch("select 1 from users limit 1"))
