"""CONV-EDIT, CONV-DEL: a direct message is its author's to edit and delete."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teamchat_conformance.checks.conversations._area import area
from teamchat_conformance.checks.steps import (
    at,
    each_bad,
    forbidden,
    ids,
    is_gone,
    item,
    items,
    message,
    unchanged,
    unknown,
    wrong_values,
)
from teamchat_conformance.expect import milliseconds, require

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

area.required("CONV-EDIT-01", "§4 Conversations", "Editing answers 200 and the new content, and both read it")
area.required(
    "CONV-EDIT-02", "§4 Conversations", "The other participant may not edit a message, and it stays"
)
area.required("CONV-EDIT-03", "§4 Conversations", "Nobody outside the conversation edits a message of it")
area.required("CONV-EDIT-04", "§7", "Editing a message that is not there is refused with 404")
area.required(
    "CONV-EDIT-05", "§7", "An edit without content, or with one that is no text, is refused with 400"
)
area.recommended("CONV-EDIT-06", "D-03", "A message under the id of a conversation it is not in is not there")
area.required(
    "CONV-DEL-01", "§4 Conversations", "The author deletes a message: success, and it is gone for both"
)
area.recommended("CONV-DEL-02", "D-29", "The other participant may not delete a message")
area.required("CONV-DEL-03", "§4 Conversations", "Another user may not delete a message")
area.recommended("CONV-DEL-04", "D-29", "An admin who takes no part may not delete a message")
area.required("CONV-DEL-05", "§7", "Deleting a message that is not there, or no longer, is refused with 404")


def _one(conversation: str, id: str) -> str:
    return at("conversations", conversation, "messages", id)


@area.scenario("CONV-EDIT-01", "CONV-EDIT-02", "CONV-EDIT-03", "CONV-EDIT-04")
async def a_direct_message_is_edited(run: Run) -> None:
    conversation = await run.conversation(run.u, run.v)
    said = await run.direct(run.u, conversation)
    listed, target = at("conversations", conversation, "messages"), _one(conversation, said["id"])
    with run.verdict("CONV-EDIT-01"):
        content = run.text("edited")
        wanted = {"id": said["id"], "content": content, "updatedAt": milliseconds}
        (await run.u.put(target, {"content": content})).expect(200).shape({"message": wanted})
        for reader in (run.u, run.v):
            found = await item(reader, listed, "messages", said["id"])
            require(found.get("content") == content, f"{reader.actor} still reads the old content")
    for id, others in (("CONV-EDIT-02", (run.v,)), ("CONV-EDIT-03", (run.w, run.a))):
        with run.verdict(id):
            async with unchanged(lambda: items(run.u, listed, "messages")):
                for other in others:
                    forbidden(await other.put(target, {"content": run.text("not mine")}))
    with run.verdict("CONV-EDIT-04"):
        is_gone(await run.u.put(_one(conversation, unknown(run)), {"content": run.text()}))


@area.scenario("CONV-EDIT-05")
async def an_edit_that_is_none(run: Run) -> None:
    someone = await run.new_user()
    conversation = await run.conversation(someone, run.v)
    said = await run.direct(someone, conversation)
    listed, target = at("conversations", conversation, "messages"), _one(conversation, said["id"])
    with run.verdict("CONV-EDIT-05"):
        async with unchanged(lambda: items(run.v, listed, "messages")):
            await each_bad(lambda body: someone.put(target, body), [{}, *wrong_values("content")])


@area.scenario("CONV-EDIT-06")
async def a_message_keeps_to_its_conversation(run: Run) -> None:
    channel = await run.channel()
    conversation, other = await run.conversation(run.u, run.v), await run.conversation(run.u, run.w)
    said, posted = await run.direct(run.u, conversation), await run.post(run.u, channel)
    listed = at("conversations", conversation, "messages")
    with run.verdict("CONV-EDIT-06"):
        async with unchanged(lambda: item(run.v, listed, "messages", said["id"])):
            is_gone(await run.u.put(_one(other, said["id"]), {"content": run.text()}), accept=(400, 403))
        async with unchanged(lambda: message(run.v, channel, posted["id"])):
            is_gone(
                await run.u.put(_one(conversation, posted["id"]), {"content": run.text()}), accept=(400, 403)
            )


@area.scenario("CONV-DEL-01", "CONV-DEL-02", "CONV-DEL-03", "CONV-DEL-04", "CONV-DEL-05")
async def a_direct_message_is_deleted(run: Run) -> None:
    conversation = await run.conversation(run.u, run.v)
    listed = at("conversations", conversation, "messages")
    for id, other in (("CONV-DEL-02", run.v), ("CONV-DEL-03", run.w), ("CONV-DEL-04", run.a)):
        said = await run.direct(run.u, conversation)  # one for each: the one before may be gone
        with run.verdict(id):
            async with unchanged(lambda: items(run.u, listed, "messages")):
                forbidden(await other.delete(_one(conversation, said["id"])))
    said = await run.direct(run.u, conversation)
    target = _one(conversation, said["id"])
    with run.verdict("CONV-DEL-01"):
        (await run.u.delete(target)).expect(200).shape({"success": True})
        for reader in (run.u, run.v):
            left = ids(await items(reader, listed, "messages"))
            require(said["id"] not in left, f"{reader.actor} still reads a deleted message")
    with run.verdict("CONV-DEL-05"):
        for gone in (unknown(run), said["id"]):
            is_gone(await run.u.delete(_one(conversation, gone)))
