"""MSG-DEL: the author or an admin deletes a message, and nothing of it is left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teamchat_conformance.checks.messages._area import area
from teamchat_conformance.checks.steps import (
    at,
    bot_says,
    forbidden,
    gone_or_empty,
    hidden,
    ids,
    is_gone,
    item,
    messages,
    no_failure,
    no_trace,
    together,
    unchanged,
    unknown,
)
from teamchat_conformance.expect import require, told

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

area.required(
    "MSG-DEL-01", "§4 Channel messages", "The author deletes a message: success, and it is not listed"
)
area.required("MSG-DEL-02", "§4 Channel messages", "An admin deletes another's message")
area.required("MSG-DEL-03", "§4 Channel messages", "Another user may not delete a message, and it stays")
area.required("MSG-DEL-04", "§7", "Deleting what is not there, or no longer, is refused with 404")
area.required("MSG-DEL-05", "§7", "A deleted message can't be edited, answered or reacted to")
area.recommended("MSG-DEL-06", "D-28", "Deleting a message deletes its thread")
area.required("MSG-DEL-07", "§4 Channel messages", "An admin deletes what a webhook posted")
area.recommended(
    "MSG-DEL-08", "D-29", "An admin can't delete a direct message of others as a channel message"
)
area.required(
    "MSG-DEL-09", "§4 Conversations", "An outsider can't delete a direct message as a channel message"
)
area.recommended("MSG-DEL-10", "§4 Channel messages", "Of ten deletions at once exactly one succeeds")

_LONG = 30
"""Replies of a long thread."""


@area.scenario("MSG-DEL-01", "MSG-DEL-02", "MSG-DEL-03", "MSG-DEL-04", "MSG-DEL-05")
async def messages_are_deleted(run: Run) -> None:
    channel = await run.channel()
    own, judged = [await run.post(run.u, channel) for _ in range(2)]
    with run.verdict("MSG-DEL-03"):
        async with unchanged(lambda: messages(run.w, channel)):
            forbidden(await run.v.delete(at("messages", own["id"])))
    for id, deleter, one in (("MSG-DEL-01", run.u, own), ("MSG-DEL-02", run.a, judged)):
        with run.verdict(id):
            (await deleter.delete(at("messages", one["id"]))).expect(200).shape({"success": True})
            for reader in (run.u, run.v):
                require(one["id"] not in ids(await messages(reader, channel)), "a deleted message is listed")
    with run.verdict("MSG-DEL-04"):
        for gone in (unknown(run), own["id"]):
            is_gone(await run.u.delete(at("messages", gone)))
    with run.verdict("MSG-DEL-05"):
        target = at("messages", own["id"])
        is_gone(await run.u.put(target, {"content": run.text()}))
        is_gone(await run.u.post(f"{target}/thread", {"content": run.text()}))
        is_gone(await run.u.post(f"{target}/reactions", {"reaction": "ok"}))
        require(await messages(run.v, channel) == [], "something came back into the list")


@area.scenario("MSG-DEL-06")
async def a_thread_goes_with_its_parent(run: Run) -> None:
    """One of a single reply, and a long one, which a server may remove in another way."""
    channel = await run.channel()
    threads = []
    for count in (1, _LONG):
        parent = str((await run.post(run.u, channel))["id"])
        replies = [str((await run.reply(run.v, parent))["reply"]["id"]) for _ in range(count)]
        (await run.u.delete(at("messages", parent))).expect(200)
        threads.append((parent, replies))
    with run.verdict("MSG-DEL-06"):
        for parent, replies in threads:
            gone_or_empty(await run.v.get(at("messages", parent, "thread")), "replies")
            for reply in {replies[0], replies[-1]}:
                is_gone(await run.v.put(at("messages", parent, "thread", reply), {"content": run.text()}))
                is_gone(await run.v.delete(at("messages", reply)))
            listed = ids(await messages(run.v, channel))
            require(not set(replies) & set(listed), "a reply moved into the channel")


@area.scenario("MSG-DEL-07")
async def an_admin_deletes_a_webhooks_message(run: Run) -> None:
    channel = await run.channel()
    posted = told(await bot_says(run, await run.webhook(channel)), "message")
    with run.verdict("MSG-DEL-07"):
        (await run.a.delete(at("messages", posted["id"]))).expect(200)
        require(posted["id"] not in ids(await messages(run.v, channel)), "the message is still listed")


@area.scenario("MSG-DEL-08", "MSG-DEL-09")
async def outsiders_delete_no_direct_messages(run: Run) -> None:
    conversation = await run.conversation(run.u, run.v)
    secret = run.text("private")
    direct = await run.direct(run.u, conversation, secret)
    listed = at("conversations", conversation, "messages")
    for id, outsider in (("MSG-DEL-09", run.w), ("MSG-DEL-08", run.a)):
        with run.verdict(id):
            async with unchanged(lambda: item(run.v, listed, "messages", direct["id"])):
                no_trace(hidden(await outsider.delete(at("messages", direct["id"]))), secret)


@area.scenario("MSG-DEL-10")
async def ten_deletions_at_once(run: Run) -> None:
    channel = await run.channel()
    posted = await run.post(run.u, channel)
    with run.verdict("MSG-DEL-10"):
        deleters = (run.u, run.a) * 5
        answers = await together(*(one.delete(at("messages", posted["id"])) for one in deleters))
        done = [no_failure(answer).status for answer in answers].count(200)
        require(done == 1, f"{done} of ten deletions of one message were answered 200")
        require(await messages(run.v, channel) == [], "the message is still listed")
