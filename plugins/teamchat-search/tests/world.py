"""A server with people and rooms, what they say there, and its index, on the storage of the tests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from teamchat_search import SEARCHING
from teamchat_search.asking import Request
from teamchat_search.index import Index, index_of
from teamchat_search.indexing import Indexing
from teamchat_search.limits import Limits
from teamchat_search.search import Results, Search

from teamchat import Capability, Storage
from teamchat.application import Application
from teamchat.chat import Draft
from teamchat.chat.channel_drafts import NewChannel, NewPrivateChannel
from teamchat.model import Caller
from teamchat.testing import CapabilityContract
from tests.storages import open_storage


class SearchContract(CapabilityContract):
    """Makes the applications."""

    def capability(self) -> Capability:
        return SEARCHING

    def open_storage(self, directory: Path) -> AbstractAsyncContextManager[Storage]:
        directory.mkdir(parents=True, exist_ok=True)
        return open_storage(directory)


@dataclass
class World:
    """A server with three users, and a channel."""

    app: Application
    search: Search
    index: Index
    indexing: Indexing
    ada: Caller
    bob: Caller
    eve: Caller
    general: str
    users: dict[str, Caller] = field(default_factory=dict)

    async def say(self, text: str, room: str | None = None, by: Caller | None = None) -> str:
        """Post a message; return its id."""
        room, by = room or self.general, by or self.ada
        post = self.app.chat.conversations.post if room.startswith("dm:") else self.app.chat.messages.post
        return (await post(by, room, Draft(text))).id

    async def reply(self, text: str, parent: str, by: Caller | None = None) -> str:
        """Post a reply; return its id."""
        return (await self.app.chat.threads.reply(by or self.ada, parent, Draft(text))).reply.id

    async def private(self, name: str, *members: Caller) -> str:
        """Make a private channel of ada's and others'."""
        made = NewPrivateChannel(name, members=[one.user.id for one in members])
        return (await self.app.chat.channels.create(self.ada, made)).id

    async def public(self, name: str) -> str:
        """Make a public channel."""
        return (await self.app.chat.channels.create(self.ada, NewChannel(name))).id

    async def conversation(self, one: Caller, other: Caller) -> str:
        """Open a direct conversation."""
        return (await self.app.chat.conversations.open(one, other.user.id)).conversation.id

    async def results(
        self, query: str, by: Caller | None = None, limit: int = 200, cursor: str | None = None, **more: Any
    ) -> Results:
        """Search as somebody."""
        return await self.search.recent(by or self.ada, Request(query=query, **more), limit, cursor)

    async def find(self, query: str, by: Caller | None = None, **more: Any) -> list[str]:
        """Return the ids of what somebody finds, newest first."""
        found = await self.results(query, by, **more)
        assert found.is_complete
        assert found.next is None
        return [hit.message.id for hit in found.hits]

    async def texts(self, query: str, by: Caller | None = None, **more: Any) -> list[str]:
        """Return the texts of what somebody finds."""
        return [hit.message.content for hit in (await self.results(query, by, **more)).hits]

    async def documents(self) -> int:
        """Return how many documents the index has."""
        async with self.app.storage.read() as tx:
            if self.app.storage.dialect == "sqlite":
                rows = await tx.fetch("select id from search_grams_docsize")
                assert not await tx.fetch("select 1 from search_erased")
                return len(rows)
            return len(await tx.fetch("select 1 from search_documents"))


@asynccontextmanager
async def opened(tmp_path: Path, capabilities: Sequence[Capability] = ()) -> AsyncIterator[World]:
    """Open a server in whose index nothing is yet; `World.indexing.catch_up` does that."""
    async with SearchContract().application(tmp_path) as app:

        async def user(email: str) -> Caller:
            _, signed_in = await app.accounts.sign_in(email, "192.0.2.1", "tests")
            return await app.accounts.authenticate(signed_in.access_token)

        ada = await user("admin@localhost")
        for email in ("bob@example.org", "eve@example.org"):
            await app.accounts.users.add(ada, email)
        [channel] = await app.chat.channels.list(ada)
        index = index_of(app.storage.dialect)
        assert index is not None
        search = Search(app, Limits(60))
        bob, eve = await user("bob@example.org"), await user("eve@example.org")
        yield World(app, search, index, Indexing(app, index), ada, bob, eve, channel.id)
