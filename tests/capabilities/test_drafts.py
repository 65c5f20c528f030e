"""Capabilities take part in what is posted and edited: fields of bodies, rows, answers, and refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET, Struct, UnsetType

from teamchat import BadRequest, Capability, DraftFields, MessageFields, Outcome, Parts, Written
from teamchat.errors import PluginError
from teamchat.web.openapi import document
from teamchat.web.sections import messages
from tests.capabilities.serving import served


class MoodDraft(Struct, frozen=True, rename="camel"):
    """What somebody says of how they feel."""

    mood: str | UnsetType = UNSET
    has_file: bool | UnsetType = UNSET


class Mood(Struct, frozen=True, rename="camel"):
    """How the author feels."""

    mood: str | UnsetType = UNSET


class Wished(Struct, frozen=True, rename="camel"):
    """What the author alone is answered."""

    good_wishes: int


class Moods:
    """Keeps moods in memory, and what it was given."""

    def __init__(self) -> None:
        self.of: dict[str, str] = {}
        self.written: list[Written] = []
        self.reads = 0

    async def write(self, _tx: Any, written: Written) -> Outcome:
        self.written.append(written)
        mood = written.fields.mood
        if mood == "foul":
            raise BadRequest("mood is foul.")
        if mood is UNSET:
            return Outcome()
        self.of[written.message.id] = mood
        return Outcome(Mood(mood), Wished(1))

    async def stands_alone(self, _tx: Any, fields: MoodDraft, _message_id: str | None) -> bool:
        return fields.has_file is True

    async def read(self, _tx: Any, ids: Any, _caller: Any) -> Any:
        self.reads += 1
        return {one: Mood(self.of[one]) for one in ids if one in self.of}

    def offer(self) -> Capability:
        parts = Parts(
            message_fields=MessageFields(kind=Mood, read=self.read, of_new=True),
            draft_fields=DraftFields(
                kind=MoodDraft, write=self.write, beside=Wished, stands_alone=self.stands_alone
            ),
        )
        return Capability(name="moods", parts=lambda app, options: parts)


async def test_a_field_of_a_body_reaches_rows_answer_page_and_event(tmp_path: Path) -> None:
    moods = Moods()
    async with served(tmp_path, moods.offer()) as here:
        ada = await here.user()
        [channel] = (await ada.ok("GET", "/channels"))["channels"]
        path = f"/channels/{channel['id']}/messages"
        answer = await ada.ok("POST", path, {"content": "hello", "mood": "merry"})
        assert (answer["message"]["mood"], answer["goodWishes"], moods.reads) == ("merry", 1, 0)
        [shown] = (await ada.ok("GET", path))["messages"]
        assert shown["mood"] == "merry"
        async with here.app.storage.read() as tx:
            [(payload,)] = await tx.fetch("select payload from events where type = 'NEW_MESSAGE'")
        assert '"mood":"merry"' in payload
        plain = await ada.ok("POST", path, {"content": "hello"})
        assert "goodWishes" not in plain
        assert "mood" not in plain["message"]


class Counted(Struct, frozen=True):
    """What a capability leaves for those that need it."""

    characters: int


async def test_what_one_capability_has_found_out_another_is_given_and_one_without_work_is_not_called(
    tmp_path: Path,
) -> None:
    given: list[Any] = []

    async def count(_tx: Any, written: Written) -> Outcome:
        return Outcome(to_others=Counted(len(written.message.content)))

    async def take(_tx: Any, written: Written) -> Outcome:
        given.append(written.from_others)
        return Outcome()

    def is_loud(written: Written) -> bool:
        return written.from_others[Counted].characters > 5

    class Nothing(Struct, frozen=True):
        pass

    counting = Parts(draft_fields=DraftFields(kind=Nothing, write=count))
    taking = Parts(draft_fields=DraftFields(kind=Nothing, write=take, concerns=is_loud))
    offers = (
        Capability(name="a-taker", needs=["counter"], parts=lambda app, options: taking),
        Capability(name="counter", parts=lambda app, options: counting),
    )
    async with served(tmp_path, *offers) as here:
        ada = await here.user()
        [channel] = (await ada.ok("GET", "/channels"))["channels"]
        for content in ("short", "longer"):
            await ada.ok("POST", f"/channels/{channel['id']}/messages", {"content": content})
    assert given == [{Counted: Counted(6)}]


async def test_replies_direct_messages_and_edits_have_them_too(tmp_path: Path) -> None:
    moods = Moods()
    async with served(tmp_path, moods.offer()) as here:
        ada, bob = await here.user(), await here.user("bob@example.org")
        [channel] = (await ada.ok("GET", "/channels"))["channels"]
        posted = await ada.ok("POST", f"/channels/{channel['id']}/messages", {"content": "a"})
        thread = f"/messages/{posted['message']['id']}/thread"
        replied = await ada.ok("POST", thread, {"content": "b", "mood": "calm"})
        assert (replied["reply"]["mood"], replied["goodWishes"]) == ("calm", 1)
        me = await bob.ok("GET", "/auth/me")
        opened = await ada.ok("POST", "/conversations", {"targetUserId": me["user"]["id"]})
        direct = f"/conversations/{opened['conversation']['id']}/messages"
        assert (await ada.ok("POST", direct, {"content": "c", "mood": "shy"}))["message"]["mood"] == "shy"
        edited = await ada.ok("PUT", f"/messages/{posted['message']['id']}", {"content": "d", "mood": "sad"})
        assert edited["goodWishes"] == 1
        assert (moods.written[-1].before, moods.written[-1].asked) == ("a", "d")
        [_, after] = [
            one.message.content for one in moods.written if one.message.id == posted["message"]["id"]
        ]
        assert after == "d"


async def test_a_refusal_keeps_nothing_of_the_message(tmp_path: Path) -> None:
    async with served(tmp_path, Moods().offer()) as here:
        ada = await here.user()
        [channel] = (await ada.ok("GET", "/channels"))["channels"]
        path = f"/channels/{channel['id']}/messages"
        assert (await ada.call("POST", path, {"content": "hello", "mood": "foul"})).status == 400
        assert (await ada.call("POST", path, {"content": "hello", "mood": 3})).status == 400
        assert (await ada.ok("GET", path))["messages"] == []


async def test_a_message_may_need_no_text(tmp_path: Path) -> None:
    async with served(tmp_path, Moods().offer()) as here:
        ada = await here.user()
        [channel] = (await ada.ok("GET", "/channels"))["channels"]
        path = f"/channels/{channel['id']}/messages"
        assert (await ada.call("POST", path, {"content": " ", "hasFile": False})).status == 400
        assert (await ada.call("POST", path, {"content": " ", "hasFile": True})).status == 200


async def test_another_field_under_the_same_key_is_another_request(tmp_path: Path) -> None:
    async with served(tmp_path, Moods().offer()) as here:
        ada = await here.user()
        [channel] = (await ada.ok("GET", "/channels"))["channels"]
        path, key = f"/channels/{channel['id']}/messages", [("Idempotency-Key", "one")]
        body = {"content": "hello", "mood": "merry"}
        first = (await ada.call("POST", path, body, headers=key)).json()["message"]
        assert (await ada.call("POST", path, body, headers=key)).json()["message"] == first
        assert (await ada.call("POST", path, body | {"mood": "calm"}, headers=key)).status == 400


async def test_the_openapi_document_describes_them(tmp_path: Path) -> None:
    async with served(tmp_path, Moods().offer()) as here:
        brought = here.app.capabilities
        described = document(
            messages.section.endpoints, brought.message_fields.offered, brought.drafts.offered
        )
        schemas = described["components"]["schemas"]
        assert {"mood", "hasFile"} <= schemas["Draft"]["properties"].keys()
        assert {"mood", "hasFile"} <= schemas["MessageEdit"]["properties"].keys()
        assert "goodWishes" in schemas["OneMessage"]["properties"]
        assert "goodWishes" in schemas["Edited"]["properties"]


async def test_two_capabilities_can_not_take_the_same_field(tmp_path: Path) -> None:
    other = Capability(
        name="others",
        parts=lambda app, options: Parts(draft_fields=DraftFields(kind=MoodDraft, write=Moods().write)),
    )
    with pytest.raises(PluginError, match="add the field mood"):
        async with served(tmp_path, Moods().offer(), other):
            pass
