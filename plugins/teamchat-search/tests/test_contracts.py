"""What every capability, service and verb must do, asked of search."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path

from teamchat_search import SEARCHING
from teamchat_search.command import SEARCH
from teamchat_search.index import index_of
from teamchat_search.indexing import Indexing

from teamchat import Capability, Command, Service, Storage
from teamchat.application import Application
from teamchat.testing import CapabilityContract, CommandContract, ServiceContract
from tests.storages import open_storage


class TestSearch(CapabilityContract):
    def capability(self) -> Capability:
        return SEARCHING

    def open_storage(self, directory: Path) -> AbstractAsyncContextManager[Storage]:
        directory.mkdir(parents=True, exist_ok=True)
        return open_storage(directory)


class TestIndexing(ServiceContract):
    def make_service(self, app: Application) -> Service:
        index = index_of(app.storage.dialect)
        assert index is not None
        return Indexing(app, index)


class TestCommand(CommandContract):
    arguments = ("status",)

    def command(self) -> Command:
        return SEARCH
