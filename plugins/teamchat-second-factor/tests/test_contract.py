"""What every capability must do, asked of second factors; tests/second_factor asks the rest."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path

from teamchat_second_factor import SECOND_FACTOR

from teamchat import Capability, Storage
from teamchat.testing import CapabilityContract
from tests.storages import open_storage


class TestSecondFactor(CapabilityContract):
    def capability(self) -> Capability:
        return SECOND_FACTOR

    def open_storage(self, directory: Path) -> AbstractAsyncContextManager[Storage]:
        directory.mkdir(parents=True, exist_ok=True)
        return open_storage(directory)
