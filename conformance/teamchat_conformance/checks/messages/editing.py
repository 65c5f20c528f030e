"""MSG-EDIT: the author, and nobody else, edits a message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from teamchat_conformance.checks.messages._area import area
from teamchat_conformance.checks.steps import (
    at,
    bot_says,
    each_bad,
    forbidden,
    hidden,
    ids,
    is_gone,
    item,
    message,
    messages,
    no_failure,
    no_trace,
    summary,
    unchanged,
    unknown,
    wrong_values,
)
from teamchat_conformance.expect import milliseconds, require, told

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

area.required(
    "MSG-EDIT-01", "§4 Channel messages", "Editing answers 200, the same id, the new content, updatedAt"
)
area.required("MSG-EDIT-02", "§4 Channel messages", "Others then read the new content and the same updatedAt")
area.required("MSG-EDIT-03", "§4 Channel messages", "Another user may not edit a message, and it stays")
area.required(
    "MSG-EDIT-04", "§4 Channel messages", "An admin who is not the author may not edit a message either"
)
area.required("MSG-EDIT-05", "§7", "Editing a message that is not there, or no longer, is refused with 404")
area.required(
    "MSG-EDIT-06", "§7", "An edit without content, or with one that is no text, is refused with 400"
)
area.required("MSG-EDIT-07", "§4 Channel messages", "An edit changes content and updatedAt and nothing else")
area.required(
    "MSG-EDIT-08", "§2 Message", "updatedAt is no earlier than the posting, nor than the edit before"
)
area.required("MSG-EDIT-09", "§4 Channel messages", "Nobody edits what a webhook posted")
area.recommended(
    "MSG-EDIT-10", "D-04", "An edit to a blank content is refused; one to the same content is not"
)
area.recorded(
    "MSG-EDIT-11", "§4 Threads", "What PUT /messages/:id does to one's own reply and direct message"
)
area.required(
    "MSG-EDIT-12", "§4 Conversations", "An outsider can't edit a direct message as a channel message"
)


@area.scenario("MSG-EDIT-01", "MSG-EDIT-02", "MSG-EDIT-07", "MSG-EDIT-08")
async def the_author_edits_a_message(run: Run) -> None:
    channel = await run.channel()
    posted, _ = await run.post(run.u, channel), await run.post(run.u, channel)
    await run.reply(run.v, posted["id"])
    (await run.v.post(at("messages", posted["id"], "reactions"), {"reaction": "ok"})).expect(200)
    before = await messages(run.v, channel)
    require(posted["id"] in ids(before), "the message is not in the list")
    content = run.text("edited")
    answer = await run.u.put(at("messages", posted["id"]), {"content": content})
    with run.verdict("MSG-EDIT-01"):
        answer.expect(200).shape(
            {"message": {"id": posted["id"], "content": content, "updatedAt": milliseconds}}
        )
    edited = answer.shape({"message": {"updatedAt": milliseconds}})["message"]
    after = await messages(run.v, channel)
    seen = await message(run.v, channel, posted["id"])
    with run.verdict("MSG-EDIT-02"):
        require(seen.get("content") == content, "the list still has the old content")
        require(seen.get("updatedAt") == edited["updatedAt"], "answer and list differ in updatedAt")
    with run.verdict("MSG-EDIT-07"):
        require(ids(after) == ids(before), "the message changed its place in the list")
        old = _without_edit(next(one for one in before if one["id"] == posted["id"]))
        require(_without_edit(seen) == old, f"more than the content changed: {old} to {seen}"[:600])
    with run.verdict("MSG-EDIT-08"):
        second = await run.u.put(at("messages", posted["id"]), {"content": run.text()})
        again = second.expect(200).shape({"message": {"updatedAt": milliseconds}})["message"]
        times = [posted.get("createdAt", 0), edited["updatedAt"], again["updatedAt"]]
        require(times == sorted(times), f"posted, edited, edited again at {times}")


def _without_edit(one: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in one.items() if key not in ("content", "updatedAt")}


@area.scenario("MSG-EDIT-03", "MSG-EDIT-04", "MSG-EDIT-05", "MSG-EDIT-06", "MSG-EDIT-10")
async def other_edits_are_refused(run: Run) -> None:
    channel = await run.channel()
    content = run.text()
    posted, deleted = await run.post(run.u, channel, content), await run.post(run.u, channel)
    target = at("messages", posted["id"])
    (await run.u.delete(at("messages", deleted["id"]))).expect(200)
    for id, other in (("MSG-EDIT-03", run.v), ("MSG-EDIT-04", run.a)):
        with run.verdict(id):
            async with unchanged(lambda: messages(run.w, channel)):
                forbidden(await other.put(target, {"content": run.text("not mine")}))
    with run.verdict("MSG-EDIT-05"):
        for gone in (unknown(run), deleted["id"]):
            is_gone(await run.u.put(at("messages", gone), {"content": run.text()}))
        require(
            deleted["id"] not in ids(await messages(run.v, channel)), "an edit brought a deleted message back"
        )
    with run.verdict("MSG-EDIT-06"):
        async with unchanged(lambda: messages(run.w, channel)):
            await each_bad(lambda body: run.u.put(target, body), [{}, *wrong_values("content")])
    with run.verdict("MSG-EDIT-10"):
        async with unchanged(lambda: messages(run.w, channel)):
            await each_bad(
                lambda body: run.u.put(target, body), [{"content": blank} for blank in ("", " \n")]
            )
        (await run.u.put(target, {"content": content})).expect(200)


@area.scenario("MSG-EDIT-09")
async def nobody_edits_a_webhooks_message(run: Run) -> None:
    channel = await run.channel()
    posted = told(await bot_says(run, await run.webhook(channel)), "message")
    target = at("messages", posted["id"])
    with run.verdict("MSG-EDIT-09"):
        async with unchanged(lambda: messages(run.v, channel)):
            for actor in (run.a, run.u):
                forbidden(await actor.put(target, {"content": run.text("not mine")}))


@area.scenario("MSG-EDIT-11", "MSG-EDIT-12")
async def other_messages_as_channel_messages(run: Run) -> None:
    channel = await run.channel()
    parent = await run.post(run.u, channel)
    reply = (await run.reply(run.u, parent["id"]))["reply"]
    conversation = await run.conversation(run.u, run.v)
    secret = run.text("private")
    direct = await run.direct(run.u, conversation, secret)
    with run.verdict("MSG-EDIT-12"):
        listed = at("conversations", conversation, "messages")
        async with unchanged(lambda: item(run.u, listed, "messages", direct["id"])):
            answer = await run.w.put(at("messages", direct["id"]), {"content": run.text("not mine")})
            no_trace(hidden(answer), secret)
    answers = {
        what: no_failure(await run.u.put(at("messages", one["id"]), {"content": run.text()}))
        for what, one in (("own reply", reply), ("own direct message", direct))
    }
    run.record("MSG-EDIT-11", {what: summary(answer) for what, answer in answers.items()})
