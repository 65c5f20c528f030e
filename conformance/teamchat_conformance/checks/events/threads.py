"""EVT of reactions and threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teamchat_conformance.checks.events._area import area, audience, same
from teamchat_conformance.checks.steps import at, bot_says, message
from teamchat_conformance.expect import require

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

area.recommended("EVT-NEWREACT-02", "D-36", "A reaction sends NEW_REACTION once to each")
area.recommended("EVT-NEWREACT-03", "D-27", "The same reaction again sends nothing")
area.recommended("EVT-DELREACT-02", "D-36", "Taking it back sends DELETE_REACTION once to each")
area.recommended("EVT-NEWREPLY-02", "D-36", "A reply sends NEW_THREAD_REPLY once to each, as answered")
area.recommended("EVT-NEWREPLY-03", "D-36", "A reply sends no NEW_MESSAGE")
area.recommended("EVT-NEWREPLY-04", "D-45", "NEW_THREAD_REPLY tells the author of the parent, a bot too")
area.recommended("EVT-UPDREPLY-02", "D-36", "An edit of a reply sends UPDATE_THREAD_REPLY once to each")
area.recommended("EVT-DELREPLY-02", "D-36", "Deleting a reply sends DELETE_THREAD_REPLY once to each")
area.required("EVT-DELREPLY-03", "§2 Thread", "DELETE_THREAD_REPLY has the threadMeta that is left")


@area.scenario("EVT-NEWREACT-02", "EVT-NEWREACT-03", "EVT-DELREACT-02")
async def a_reaction(run: Run) -> None:
    message_id = (await run.post(run.u, await run.channel()))["id"]
    target, reaction = at("messages", message_id, "reactions"), {"reaction": "🎉"}
    about = {"messageId": message_id, "userId": run.u.user_id, **reaction}
    async with audience(run, run.u, run.v, run.a) as everyone:
        (await run.u.post(target, reaction)).expect(200)
        with run.verdict("EVT-NEWREACT-02"):
            await everyone.once("NEW_REACTION", **about)
        with run.verdict("EVT-NEWREACT-03"):
            (await run.u.post(target, reaction)).expect(200)
            await everyone.once("NEW_REACTION", **about)
        (await run.u.delete(target, reaction)).expect(200)
        with run.verdict("EVT-DELREACT-02"):
            await everyone.once("DELETE_REACTION", **about)


@area.scenario("EVT-NEWREPLY-02", "EVT-NEWREPLY-03", "EVT-UPDREPLY-02", "EVT-DELREPLY-02", "EVT-DELREPLY-03")
async def a_thread(run: Run) -> None:
    channel = await run.channel()
    parent = str((await run.post(run.u, channel))["id"])
    async with audience(run, run.u, run.v, run.a) as everyone:
        answers = [await run.reply(actor, parent) for actor in (run.v, run.u, run.w)]
        replies = [str(answer["reply"]["id"]) for answer in answers]
        await everyone.quiet()
        came = {
            event.payload["reply"]["id"]: event.payload
            for event in everyone.observers[0].since(0, "NEW_THREAD_REPLY", parentMessageId=parent)
        }
        with run.verdict("EVT-NEWREPLY-02"):
            for observer in everyone.observers:
                number = len(observer.since(0, "NEW_THREAD_REPLY", parentMessageId=parent))
                require(number == 3, f"{observer.name} got {number} NEW_THREAD_REPLY of three replies")
            for answer in answers:
                told = came.get(answer["reply"]["id"], {})
                same(told, answer, "threadMeta")
                same(told.get("reply", {}), answer["reply"], "threadId", "author", "content", "createdAt")
        with run.verdict("EVT-NEWREPLY-03"):
            number = sum(everyone.count("NEW_MESSAGE", id=reply) for reply in replies)
            require(not number, f"{number} NEW_MESSAGE for replies")
        target = at("messages", parent, "thread", replies[1])
        edited = (await run.u.put(target, {"content": run.text("edited")})).ok()["message"]
        with run.verdict("EVT-UPDREPLY-02"):
            told = await everyone.once("UPDATE_THREAD_REPLY", id=replies[1])
            same(told, {**edited, "threadId": parent}, "threadId", "content", "updatedAt")
        for actor, reply in zip((run.v, run.u, run.w), replies, strict=True):
            (await actor.delete(at("messages", parent, "thread", reply))).expect(200)
            listed = (await message(run.v, channel, parent)).get("threadMeta")
            with run.verdict("EVT-DELREPLY-02"):
                await everyone.once("DELETE_THREAD_REPLY", id=reply, threadId=parent)
            with run.verdict("EVT-DELREPLY-03"):
                for event in everyone.observers[0].since(0, "DELETE_THREAD_REPLY", id=reply):
                    told = event.payload.get("threadMeta")
                    require(
                        _meta(told) == _meta(listed),
                        f"threadMeta in DELETE_THREAD_REPLY is {told}, the parent's is {listed}",
                    )


def _meta(told: object) -> object:
    """Return threadMeta, or None where it counts no reply: some leave it away then."""
    return None if isinstance(told, dict) and told.get("replyCount") == 0 else told


@area.scenario("EVT-NEWREPLY-04")
async def the_author_of_the_parent(run: Run) -> None:
    channel = await run.channel()
    by_bot = (await bot_says(run, await run.webhook(channel))).ok()["message"]
    async with audience(run, run.v) as everyone:
        for parent in (await run.post(run.u, channel), by_bot):
            await run.reply(run.w, str(parent["id"]))
            told = await everyone.once("NEW_THREAD_REPLY", parentMessageId=parent["id"])
            with run.verdict("EVT-NEWREPLY-04"):
                same(told, {"parentAuthorId": parent["author"]["id"]}, "parentAuthorId")
