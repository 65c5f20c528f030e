"""What every storage must do."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from teamchat_storage_postgres import PostgresOptions
from teamchat_storage_postgres.storage import open_postgres

from teamchat import Storage
from teamchat.testing import StorageContract


class TestPostgres(StorageContract):
    @pytest.fixture(autouse=True)
    def _database(self, options: PostgresOptions) -> None:
        self._options = options

    def open_storage(self, tmp_path: Path) -> AbstractAsyncContextManager[Storage]:
        return open_postgres(self._options)
