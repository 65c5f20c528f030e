"""Fields that capabilities add to messages are read once a page and shown wherever a message is."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import UNSET, Struct, UnsetType

from teamchat import Capability, MessageFields, Parts, Payload
from teamchat.chat import membership
from teamchat.errors import PluginError
from teamchat.model import Caller
from teamchat.model.pages import Page
from tests.capabilities.serving import Served, served


class Votes(Struct, frozen=True, rename="camel"):
    """How many votes a message has."""

    vote_count: int | UnsetType = UNSET


class Voted(Payload, frozen=True):
    """Somebody voted."""

    type = "VOTED"
    changes_pages_of = "place_id"
    place_id: str


class Asked:
    """Answers with what it was given, and remembers what it was asked for."""

    def __init__(self) -> None:
        self.votes: dict[str, int] = {}
        self.calls: list[tuple[int, str | None]] = []

    async def read(self, tx: Any, ids: Sequence[str], caller: Caller | None) -> Mapping[str, Votes]:
        self.calls.append((len(ids), caller.user.email if caller else None))
        return {one: Votes(self.votes[one]) for one in ids if one in self.votes}


def polls(asked: Asked, **how: bool) -> Capability:
    fields = MessageFields(kind=Votes, read=asked.read, **how)
    return Capability(name="polls", events=[Voted], parts=lambda app, options: Parts(message_fields=fields))


async def posted(here: Served, *texts: str) -> tuple[str, list[str]]:
    ada = await here.user()
    [channel] = (await ada.ok("GET", "/channels"))["channels"]
    path = f"/channels/{channel['id']}/messages"
    return path, [(await ada.ok("POST", path, {"content": text}))["message"]["id"] for text in texts]


async def test_a_page_asks_once_and_shows_the_fields_where_there_are_some(tmp_path: Path) -> None:
    asked = Asked()
    async with served(tmp_path, polls(asked)) as here:
        path, ids = await posted(here, "a", "b", "c")
        assert asked.calls == []  # what was just posted has none
        asked.votes = {ids[1]: 3}
        ada = await here.user()
        page = (await ada.ok("GET", path))["messages"]
    assert [message.get("voteCount") for message in page] == [None, 3, None]
    assert asked.calls == [(3, None)]


async def test_the_newest_page_is_kept_until_an_event_says_it_has_changed(tmp_path: Path) -> None:
    asked = Asked()
    async with served(tmp_path, polls(asked)) as here:
        path, [message] = await posted(here, "a")
        ada = await here.user()
        for _ in range(2):
            await ada.ok("GET", path)
        assert len(asked.calls) == 1
        asked.votes = {message: 1}
        async with here.app.storage.write() as tx:
            await tx.append(Voted(path.split("/")[2]).to())
        assert (await ada.ok("GET", path))["messages"][0]["voteCount"] == 1


async def test_fields_that_differ_by_caller_are_asked_for_each_and_are_in_no_event(tmp_path: Path) -> None:
    asked = Asked()
    async with served(tmp_path, polls(asked, differ_by_caller=True)) as here:
        path, [message] = await posted(here, "a")
        asked.votes = {message: 1}
        ada, bob = await here.user(), await here.user("bob@example.org")
        for client in (ada, bob, ada):
            assert (await client.ok("GET", path))["messages"][0]["voteCount"] == 1
        await ada.ok("PUT", f"/messages/{message}", {"content": "b"})
        async with here.app.storage.read() as tx:
            [(payload,)] = await tx.fetch("select payload from events where type = 'UPDATE_MESSAGE'")
    assert [email for _, email in asked.calls] == ["admin@localhost", "bob@example.org", "admin@localhost"]
    assert "voteCount" not in json.loads(payload)


class Saved(Struct, frozen=True, rename="camel"):
    """When the caller saved a message, and what they noted."""

    saved_at: int | UnsetType = UNSET
    note: str | UnsetType = UNSET


class SavedBy:
    """What each has saved: each their own."""

    def __init__(self) -> None:
        self.saved: dict[tuple[str, str], Saved] = {}

    async def read(self, tx: Any, ids: Sequence[str], caller: Caller | None) -> Mapping[str, Saved]:
        assert caller is not None
        return {
            one: self.saved[caller.user.email, one] for one in ids if (caller.user.email, one) in self.saved
        }

    def capability(self) -> Capability:
        fields = MessageFields(kind=Saved, read=self.read, differ_by_caller=True)
        return Capability(name="drafts", parts=lambda app, options: Parts(message_fields=fields))


async def test_the_kept_page_is_shared_and_each_reads_their_own_fields_in_it(tmp_path: Path) -> None:
    asked, own = Asked(), SavedBy()
    async with served(tmp_path, own.capability(), polls(asked)) as here:
        path, ids = await posted(here, 'a "{}[]"', "b", "c")
        asked.votes = {ids[0]: 3, ids[1]: 1}
        own.saved = {
            ("admin@localhost", ids[0]): Saved(7, 'a quote " and a brace }'),
            ("admin@localhost", ids[2]): Saved(),
            ("bob@example.org", ids[1]): Saved(8),
        }
        ada, bob = await here.user(), await here.user("bob@example.org")
        pages = [await client.ok("GET", path) for client in (ada, bob, ada)]
        assert len(asked.calls) == 1, "the page was made once"
        page = (await here.app.chat.messages.page(await here.caller(), path.split("/")[2], Page(50))).messages
    assert pages[0] == pages[2]
    assert pages[0]["messages"] == msgspec.json.decode(msgspec.json.encode(page))
    for answer, saved in zip(pages, [[7, None, None], [None, 8, None], [7, None, None]], strict=True):
        assert [message.get("savedAt") for message in answer["messages"]] == saved
        assert [message.get("voteCount") for message in answer["messages"]] == [3, 1, None]
        assert [message["content"] for message in answer["messages"]] == ['a "{}[]"', "b", "c"]


async def test_a_kept_page_with_own_fields_is_not_for_who_no_longer_sees_the_room(tmp_path: Path) -> None:
    own = SavedBy()
    async with served(tmp_path, own.capability()) as here:
        path, _ = await posted(here, "a")
        ada, bob = await here.user(), await here.user("bob@example.org")
        await bob.ok("GET", path)
        async with here.app.storage.write() as tx:
            await membership.change(tx, path.split("/")[2], is_private=True)
        assert (await ada.ok("GET", path))["messages"]
        for _ in range(2):
            (await bob.call("GET", path)).problem(404)


async def test_an_empty_page_has_no_fields(tmp_path: Path) -> None:
    async with served(tmp_path, SavedBy().capability()) as here:
        path, _ = await posted(here)
        assert (await (await here.user()).ok("GET", path))["messages"] == []


async def test_a_new_message_has_its_fields_in_answer_and_event_if_they_are_asked_for(tmp_path: Path) -> None:
    class Always(Asked):
        async def read(self, tx: Any, ids: Sequence[str], caller: Caller | None) -> Mapping[str, Votes]:
            return {one: Votes(7) for one in ids}

    async with served(tmp_path, polls(Always(), of_new=True)) as here:
        ada = await here.user()
        [channel] = (await ada.ok("GET", "/channels"))["channels"]
        answer = await ada.ok("POST", f"/channels/{channel['id']}/messages", {"content": "a"})
        async with here.app.storage.read() as tx:
            [(payload,)] = await tx.fetch("select payload from events where type = 'NEW_MESSAGE'")
    assert answer["message"]["voteCount"] == json.loads(payload)["voteCount"] == 7


async def test_the_fields_are_described_in_the_openapi_document(tmp_path: Path) -> None:
    async with served(tmp_path, polls(Asked())) as here:
        from teamchat.web.openapi import document

        described = document(here.site.endpoints, here.app.capabilities.message_fields.offered)
    properties = described["components"]["schemas"]["Message"]["properties"]
    assert properties["voteCount"]["type"] == "integer"
    assert "voteCount" not in described["components"]["schemas"]["Message"]["required"]


async def test_two_capabilities_with_one_field_clash(tmp_path: Path) -> None:
    other = Capability(
        name="games",
        parts=lambda app, options: Parts(message_fields=MessageFields(kind=Votes, read=Asked().read)),
    )
    with pytest.raises(PluginError, match="voteCount"):
        async with served(tmp_path, polls(Asked()), other):
            pass


async def test_an_event_of_somebody_else_is_refused(tmp_path: Path) -> None:
    class Posted(Payload, frozen=True):
        type = "NEW_MESSAGE"

    for events, more in (([Posted], []), ([Voted], [polls(Asked())])):
        with pytest.raises(PluginError, match="which is somebody else's already"):
            async with served(tmp_path, Capability(name="games", events=events), *more):
                pass


@pytest.mark.parametrize("wrong", ["VOTED", "voted", "org.example.voted", "org.example.gamesvoted"])
async def test_a_name_with_a_dot_has_events_that_begin_with_it(tmp_path: Path, wrong: str) -> None:
    def games(type_: str) -> Capability:
        event = type(Payload)("Ended", (Payload,), {"type": type_}, frozen=True)
        return Capability(name="org.example.games", events=[event])

    with pytest.raises(
        PluginError, match=r"games of the plugin acme .* such as org\.example\.games\.\w*voted"
    ):
        async with served(tmp_path, games(wrong)):
            pass
    async with served(tmp_path, games("org.example.games.voted")) as here:
        assert "org.example.games.voted" in here.app.capabilities.event_types


def test_a_message_without_fields_is_the_same_bytes() -> None:
    from teamchat.capabilities.fields import Fields
    from teamchat.model import Author, Message

    message = Message("1", "2", Author("3", "Ada"), "hi", 1, None, {})
    with_fields = Fields([MessageFields(kind=Votes, read=Asked().read)])._with(message, {"vote_count": UNSET})
    assert with_fields is message
    shown = Fields([MessageFields(kind=Votes, read=Asked().read)])._with(message, {"vote_count": 1})
    assert msgspec.json.decode(msgspec.json.encode(shown)) == msgspec.json.decode(
        msgspec.json.encode(message)
    ) | {"voteCount": 1}
