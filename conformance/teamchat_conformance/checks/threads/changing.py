"""THR-EDIT, THR-DEL: replies are edited and deleted, and threadMeta is what the rest of them make it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from teamchat_conformance.checks.steps import (
    MESSAGE,
    at,
    each_bad,
    forbidden,
    ids,
    is_gone,
    item,
    message,
    messages,
    summary,
    thread,
    together,
    unchanged,
    unknown,
    wrong_values,
)
from teamchat_conformance.checks.threads._area import area
from teamchat_conformance.checks.threads.replying import meta_of
from teamchat_conformance.expect import check_shape, milliseconds, require
from teamchat_conformance.verdicts import note

if TYPE_CHECKING:
    from teamchat_conformance.actors import Actor
    from teamchat_conformance.run import Run

area.required(
    "THR-EDIT-01", "§4 Threads", "Editing one's reply answers 200, its id, the new content, updatedAt"
)
area.required("THR-EDIT-02", "§4 Threads", "The thread then has the new content")
area.required("THR-EDIT-03", "§4 Threads", "Nobody else edits a reply, no admin either, and it stays")
area.required("THR-EDIT-04", "§7", "Editing a reply that is not there is refused with 404")
area.required(
    "THR-EDIT-05", "§7", "An edit without content, or with one that is no text, is refused with 400"
)
area.recommended("THR-EDIT-06", "D-03", "A reply under another parent's id is not there")
area.recommended("THR-EDIT-07", "D-03", "A message of the channel itself is no reply to edit")
area.recommended("THR-EDIT-08", "D-26", "An edit of a reply leaves threadMeta as it was")
area.required("THR-DEL-01", "§4 Threads", "The author deletes a reply: success, and it is not in the thread")
area.required("THR-DEL-02", "§4 Threads", "An admin deletes another's reply")
area.required("THR-DEL-03", "§4 Threads", "Another user may not delete a reply, and it stays")
area.required("THR-DEL-04", "§2 Thread", "Deleting the latest reply makes the one before it the latest")
area.required("THR-DEL-05", "§2 Thread", "Whose only reply is deleted takes part no more")
area.required("THR-DEL-06", "§2 Thread", "Without its last reply the parent has no threadMeta")
area.required("THR-DEL-07", "§7", "Deleting a reply that is not there, or no longer, is refused with 404")
area.required("THR-DEL-08", "§2 Thread", "Deleting a reply as a message recalculates threadMeta as well")
area.required("THR-DEL-09", "§2 Thread", "Ten deletions at once are all counted")
area.recommended(
    "THR-DEL-11", "D-28", "After a deletion the participants stand in the order of their first replies"
)
area.recommended("THR-DEL-10", "D-03", "A reply can't be deleted under another parent's id")


async def _thread_of(run: Run, *authors: Actor) -> tuple[str, str, list[dict[str, Any]]]:
    """Make a message with a reply by each of these; return channel, parent's id and replies."""
    channel = await run.channel()
    parent = str((await run.post(run.w, channel))["id"])
    return channel, parent, [await _reply(run, author, parent) for author in authors]


async def _reply(run: Run, author: Actor, parent: str) -> dict[str, Any]:
    answer = await author.post(at("messages", parent, "thread"), {"content": run.text()})
    reply: dict[str, Any] = answer.expect(200).shape({"reply": MESSAGE})["reply"]
    return reply


@area.scenario("THR-EDIT-01", "THR-EDIT-02", "THR-EDIT-08")
async def the_author_edits_a_reply(run: Run) -> None:
    channel, parent, (reply, _) = await _thread_of(run, run.u, run.v)
    meta = meta_of(await message(run.v, channel, parent))
    content = run.text("edited")
    answer = await run.u.put(at("messages", parent, "thread", reply["id"]), {"content": content})
    with run.verdict("THR-EDIT-01"):
        wanted = {"id": reply["id"], "content": content, "updatedAt": milliseconds}
        answer.expect(200).shape({"message": wanted})
    with run.verdict("THR-EDIT-02"):
        found = await item(run.v, at("messages", parent, "thread"), "replies", reply["id"])
        require(found.get("content") == content, "the thread still has the old content")
    with run.verdict("THR-EDIT-08"):
        now = meta_of(await message(run.v, channel, parent))
        require(now == meta, f"an edit changed threadMeta from {meta} to {now}"[:600])


@area.scenario(
    "THR-EDIT-03", "THR-EDIT-04", "THR-EDIT-05", "THR-EDIT-06", "THR-EDIT-07", "THR-DEL-03", "THR-DEL-10"
)
async def what_is_not_ones_reply_is_left_alone(run: Run) -> None:
    channel, parent, (reply,) = await _thread_of(run, run.u)
    other = await run.post(run.u, channel)
    target = at("messages", parent, "thread", reply["id"])
    astray = at("messages", other["id"], "thread", reply["id"])

    async def everything() -> list[Any]:
        return [await messages(run.v, channel), await thread(run.v, parent)]

    with run.verdict("THR-EDIT-03"):
        for actor in (run.v, run.a):
            async with unchanged(everything):
                forbidden(await actor.put(target, {"content": run.text("not mine")}))
    with run.verdict("THR-DEL-03"):
        async with unchanged(everything):
            forbidden(await run.v.delete(target))
    with run.verdict("THR-EDIT-04"):
        is_gone(await run.u.put(at("messages", parent, "thread", unknown(run)), {"content": run.text()}))
    with run.verdict("THR-EDIT-05"):
        async with unchanged(everything):
            await each_bad(lambda body: run.u.put(target, body), [{}, *wrong_values("content")])
    with run.verdict("THR-EDIT-06"):
        async with unchanged(everything):
            is_gone(await run.u.put(astray, {"content": run.text()}), accept=(400, 403))
    with run.verdict("THR-EDIT-07"):
        async with unchanged(everything):
            top_level = at("messages", parent, "thread", other["id"])
            is_gone(await run.u.put(top_level, {"content": run.text()}))
    with run.verdict("THR-DEL-10"):
        async with unchanged(everything):
            is_gone(await run.u.delete(astray), accept=(400, 403))


@area.scenario("THR-DEL-01", "THR-DEL-02", "THR-DEL-07")
async def replies_are_deleted(run: Run) -> None:
    channel, parent, (own, judged, _) = await _thread_of(run, run.u, run.u, run.v)
    for id, deleter, reply in (("THR-DEL-01", run.u, own), ("THR-DEL-02", run.a, judged)):
        with run.verdict(id):
            target = at("messages", parent, "thread", reply["id"])
            (await deleter.delete(target)).expect(200).shape({"success": True})
            require(reply["id"] not in ids(await thread(run.v, parent)), "a deleted reply is in the thread")
    with run.verdict("THR-DEL-07"):
        async with unchanged(lambda: message(run.v, channel, parent)):
            for gone in (unknown(run), own["id"]):
                is_gone(await run.u.delete(at("messages", parent, "thread", gone)))


@area.scenario("THR-DEL-04", "THR-DEL-05", "THR-DEL-06")
async def a_thread_shrinks(run: Run) -> None:
    channel, parent, (first, second, third) = await _thread_of(run, run.u, run.v, run.u)

    async def delete(reply: dict[str, Any]) -> dict[str, Any]:
        (await run.a.delete(at("messages", parent, "thread", reply["id"]))).expect(200)
        return await message(run.v, channel, parent)

    with run.verdict("THR-DEL-04"):
        _is_latest(await delete(third), second, 2, {run.u.user_id, run.v.user_id})
    with run.verdict("THR-DEL-05"):
        _is_latest(await delete(second), first, 1, {run.u.user_id})
    with run.verdict("THR-DEL-06"):
        meta = (await delete(first)).get("threadMeta")
        empty = isinstance(meta, dict) and meta.get("replyCount") == 0
        require(meta is None or empty, f"threadMeta is {meta!r} without any reply")
        if meta is not None:
            note("threadMeta stays, with no reply counted")


def _is_latest(parent: dict[str, Any], reply: dict[str, Any], count: int, people: set[str]) -> None:
    author = {key: reply["author"][key] for key in ("id", "userName")}
    wanted = {"replyCount": count, "lastReplyAt": reply["createdAt"], "lastReplyBy": author}
    meta = meta_of(parent)
    require(not (wrong := check_shape(meta, wanted, "threadMeta")), wrong)
    require(set(meta["participants"]) == people, f"participants are {meta['participants']}, not {people}")


@area.scenario("THR-DEL-11")
async def one_of_many_replies_is_deleted(run: Run) -> None:
    channel, parent, replies = await _thread_of(run, run.v, run.w, run.u, run.v, run.w)
    with run.verdict("THR-DEL-11"):
        (await run.w.delete(at("messages", parent, "thread", replies[4]["id"]))).expect(200)
        found = meta_of(await message(run.v, channel, parent))["participants"]
        wanted = [one.user_id for one in (run.v, run.w, run.u)]
        require(found == wanted, "the participants are others, or in another order")


@area.scenario("THR-DEL-08")
async def a_reply_is_deleted_as_a_message(run: Run) -> None:
    channel, parent, (first, second) = await _thread_of(run, run.u, run.v)
    with run.verdict("THR-DEL-08"):
        before = await message(run.w, channel, parent)
        answer = await run.v.delete(at("messages", second["id"]))
        after = await message(run.w, channel, parent)
        if answer.status == 200:
            _is_latest(after, first, 1, {run.u.user_id})
        else:
            answer.error(400, 403, 404)
            require(after == before, "the deletion was refused, and threadMeta changed")
            note(f"replies are not deleted as messages: {summary(answer)}")


@area.scenario("THR-DEL-09")
async def ten_replies_are_deleted_at_once(run: Run) -> None:
    channel, parent, replies = await _thread_of(run, *((run.u, run.v) * 10))
    with run.verdict("THR-DEL-09"):
        targets = [at("messages", parent, "thread", reply["id"]) for reply in replies[:10]]
        for answer in await together(*(run.a.delete(target) for target in targets)):
            answer.expect(200)
        count = meta_of(await message(run.v, channel, parent))["replyCount"]
        require(count == 10, f"replyCount is {count} after ten of twenty replies were deleted")
        require(len(await thread(run.v, parent)) == 10, "the thread does not list ten replies")
