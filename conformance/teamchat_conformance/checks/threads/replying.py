"""THR-NEW: replies, and what the parent's threadMeta tells of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from teamchat_conformance.checks.steps import (
    MESSAGE,
    at,
    bot_says,
    each_bad,
    hidden,
    ids,
    is_gone,
    items,
    message,
    messages,
    no_trace,
    thread,
    together,
    unchanged,
    unknown,
    wrong_values,
)
from teamchat_conformance.checks.threads._area import area
from teamchat_conformance.expect import array, check_shape, integer, milliseconds, require, text, told

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

META = {
    "replyCount": integer,
    "lastReplyAt": milliseconds,
    "lastReplyBy": {"id": text, "userName": text},
    "participants": array(text),
}
"""The fields of threadMeta (interface, part 2, Thread)."""

area.required("THR-NEW-01", "§4 Threads", "A reply answers 200, the reply and the parent's threadMeta")
area.required(
    "THR-NEW-02", "§2 Thread", "The reply names its parent, the channel, its author, the content sent"
)
area.required(
    "THR-NEW-03", "§2 Thread", "After the first reply threadMeta counts one, by and with its author"
)
area.required("THR-NEW-04", "§2 Message", "The parent in the channel's list carries the same threadMeta")
area.required("THR-NEW-05", "§2 Thread", "A second reply counts, is the last, and its author takes part")
area.recommended("THR-NEW-06", "§2 Thread", "Who replies twice stands among the participants once")
area.required("THR-NEW-07", "§2 Thread", "lastReplyAt is the time of the latest reply")
area.required("THR-NEW-08", "§4 Threads", "A reply to a reply is refused")
area.required("THR-NEW-09", "§4 Threads", "A reply to a direct message is refused")
area.required("THR-NEW-10", "§7", "A reply to a message that is not there is refused with 404")
area.required("THR-NEW-11", "§7", "A reply without content, or with one that is no text, is refused with 400")
area.recommended(
    "THR-NEW-12", "D-28", "Participants are those who replied, the first first; not the parent's author"
)
area.required("THR-NEW-13", "§1", "One replies to what a webhook posted")
area.required("THR-NEW-14", "§2 Thread", "Of twenty replies at once all are listed and counted")
area.required("THR-NEW-15", "§4 Threads", "An outsider can't reply to a direct message, nor learn of it")


def meta_of(parent: dict[str, Any]) -> dict[str, Any]:
    """Return the threadMeta of a message or of an answer, whole and well formed."""
    if wrong := check_shape(parent.get("threadMeta"), META, "threadMeta"):
        require(False, wrong)
    meta: dict[str, Any] = parent["threadMeta"]
    return meta


@area.scenario(
    "THR-NEW-01", "THR-NEW-02", "THR-NEW-03", "THR-NEW-04", "THR-NEW-05", "THR-NEW-06", "THR-NEW-07",
    "THR-NEW-12",
)  # fmt: skip
async def a_thread_grows(run: Run) -> None:
    channel = await run.channel()
    parent = await run.post(run.w, channel)
    content = run.text("a reply")
    answer = await run.u.post(at("messages", parent["id"], "thread"), {"content": content})
    with run.verdict("THR-NEW-01"):
        answer.expect(200).shape({"reply": MESSAGE, "threadMeta": META})
    first = answer.shape({"reply": MESSAGE, "threadMeta": META})
    u, v = ({"id": one.user_id, "userName": one.user_name} for one in (run.u, run.v))
    with run.verdict("THR-NEW-02"):
        wanted = {"threadId": parent["id"], "channelId": channel, "author": u, "content": content}
        answer.shape({"reply": wanted})
    with run.verdict("THR-NEW-03"):
        answer.shape({"threadMeta": {"replyCount": 1, "lastReplyBy": u, "participants": [run.u.user_id]}})
    with run.verdict("THR-NEW-04"):
        await _parent_carries(run, channel, parent["id"], first["threadMeta"])
    second = await run.reply(run.v, parent["id"])
    with run.verdict("THR-NEW-05"):
        meta = meta_of(second)
        require(not (wrong := check_shape(meta, {"replyCount": 2, "lastReplyBy": v}, "threadMeta")), wrong)
        require(set(meta["participants"]) == {run.u.user_id, run.v.user_id}, "participants are not U and V")
        await _parent_carries(run, channel, parent["id"], meta)
    third = await run.reply(run.u, parent["id"])
    people = meta_of(third)["participants"]
    with run.verdict("THR-NEW-06"):
        require(len(people) == len(set(people)), f"participants repeat: {people}")
    with run.verdict("THR-NEW-12"):
        require(people == [run.u.user_id, run.v.user_id], f"participants are {people}, not U, then V")
    with run.verdict("THR-NEW-07"):
        for one in (first, second, third):
            require(
                meta_of(one)["lastReplyAt"] == one["reply"].get("createdAt"), "lastReplyAt is another time"
            )


async def _parent_carries(run: Run, channel: str, id: str, meta: dict[str, Any]) -> None:
    listed = (await message(run.v, channel, id)).get("threadMeta")
    require(listed == meta, f"the list has threadMeta {listed}, the answer had {meta}"[:600])


@area.scenario("THR-NEW-08", "THR-NEW-10", "THR-NEW-11")
async def what_is_no_reply_is_refused(run: Run) -> None:
    channel = await run.channel()
    parent = await run.post(run.u, channel)
    reply = (await run.reply(run.u, parent["id"]))["reply"]

    async def everything() -> list[Any]:
        return [await messages(run.v, channel), await thread(run.v, parent["id"])]

    with run.verdict("THR-NEW-08"):
        async with unchanged(everything):
            answer = await run.v.post(at("messages", reply["id"], "thread"), {"content": run.text()})
            answer.error(400, accept=(403, 404))
    with run.verdict("THR-NEW-10"):
        is_gone(await run.u.post(at("messages", unknown(run), "thread"), {"content": run.text()}))
    with run.verdict("THR-NEW-11"):
        async with unchanged(everything):
            target = at("messages", parent["id"], "thread")
            await each_bad(lambda body: run.u.post(target, body), [{}, *wrong_values("content")])


@area.scenario("THR-NEW-09", "THR-NEW-15")
async def direct_messages_have_no_threads(run: Run) -> None:
    conversation = await run.conversation(run.u, run.v)
    secret = run.text("private")
    direct = await run.direct(run.u, conversation, secret)
    target = at("messages", direct["id"], "thread")

    async def everything() -> list[dict[str, Any]]:
        return await items(run.u, at("conversations", conversation, "messages"), "messages")

    with run.verdict("THR-NEW-09"):
        async with unchanged(everything):
            (await run.v.post(target, {"content": run.text()})).error(400, accept=(403, 404))
    with run.verdict("THR-NEW-15"):
        async with unchanged(everything):
            no_trace(hidden(await run.w.post(target, {"content": run.text()})), secret)


@area.scenario("THR-NEW-13")
async def a_bots_message_is_answered(run: Run) -> None:
    channel = await run.channel()
    posted = told(await bot_says(run, await run.webhook(channel)), "message")
    with run.verdict("THR-NEW-13"):
        answered = await run.reply(run.u, posted["id"])
        require(
            answered["reply"]["id"] in ids(await thread(run.v, posted["id"])),
            "the reply is not in the thread",
        )


@area.scenario("THR-NEW-14")
async def twenty_replies_at_once(run: Run) -> None:
    channel = await run.channel()
    parent = await run.post(run.u, channel)
    people = (run.a, run.b, run.u, run.v, run.w)
    target = at("messages", parent["id"], "thread")
    with run.verdict("THR-NEW-14"):
        answers = await together(*(people[n % 5].post(target, {"content": run.text()}) for n in range(20)))
        made = {answer.expect(200).shape({"reply": MESSAGE})["reply"]["id"] for answer in answers}
        listed = ids(await thread(run.v, parent["id"]))
        require(len(made) == 20, f"20 replies were given {len(made)} ids")
        require(sorted(listed) == sorted(made), f"the thread lists {len(listed)} of 20 replies")
        meta = meta_of(await message(run.v, channel, parent["id"]))
        require(meta["replyCount"] == 20, f"replyCount is {meta['replyCount']} after 20 replies at once")
        require(
            sorted(meta["participants"]) == sorted(one.user_id for one in people),
            "participants are not the five",
        )
