"""PRIV-HOOK: webhooks into private channels (B-11)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teamchat_conformance.checks.places import Question, add, like_nothing, make_private, of, require_silence
from teamchat_conformance.checks.private_channels._area import area
from teamchat_conformance.checks.steps import at, bot_says, ids, items, unknown
from teamchat_conformance.expect import require, told

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

area.required(
    "PRIV-HOOK-01",
    "B-11",
    "A webhook into an unseen channel is answered to an admin as into one nobody ever had",
    words=["POST /webhooks needs an admin who sees the channel; unknown and unseen are the same 404"],
)
area.required(
    "PRIV-HOOK-02",
    "B-11",
    "Who is no admin is told 403, of a webhook that exists and of none",
    words=["Of webhooks, a non-admin is told 403 whether one exists or not."],
)
area.required(
    "PRIV-HOOK-03",
    "B-11",
    "NEW_WEBHOOK and DELETE_WEBHOOK of it go to its members, and to nobody else",
    words=["NEW_WEBHOOK, DELETE_WEBHOOK of a private channel go to its members, not to everyone."],
)
area.required(
    "PRIV-HOOK-04",
    "B-11",
    "The webhook posts after its maker has left the channel, and its members read it",
    words=["The webhook outlives its maker's membership"],
)
area.required(
    "PRIV-HOOK-05",
    "B-11",
    "An admin who does not see the channel lists its webhooks and ends them",
    words=["GET and DELETE /webhooks show and end all of them to admins"],
)
area.required(
    "PRIV-HOOK-06", "B-11", "The webhook dies with the channel", words=["and dies with the channel"]
)
area.required(
    "PRIV-HOOK-07",
    "X-2",
    "What a webhook posts into it is told to its members alone",
    words=["| its members |"],
)


@area.scenario(
    "PRIV-HOOK-01",
    "PRIV-HOOK-02",
    "PRIV-HOOK-03",
    "PRIV-HOOK-04",
    "PRIV-HOOK-05",
    "PRIV-HOOK-06",
    "PRIV-HOOK-07",
)
async def webhooks_into_private_channels(run: Run) -> None:
    made = await make_private(run, run.u)
    asked = Question("POST", "/webhooks", {"name": run.text("bot")}, in_body="channelId")
    with run.verdict("PRIV-HOOK-01"):
        await like_nothing(run.a, asked, str(made["id"]))
    await add(run.u, made, run.a)
    async with run.listen(run.u) as member, run.listen(run.w) as outsider, run.listen(run.b) as admin:
        hook = await run.webhook(made["id"])
        other = await run.webhook(made["id"])
        with run.verdict("PRIV-HOOK-02"):
            for channel in (made["id"], unknown(run)):
                (await run.w.post("/webhooks", {"name": "bot", "channelId": channel})).error(403)
            for id in (hook["id"], unknown(run)):
                (await run.w.delete(at("webhooks", str(id)))).error(403)
        word = run.text("from a bot")
        said = told(await bot_says(run, hook, word), "message")
        with run.verdict("PRIV-HOOK-04"):
            (await run.a.post(of(made, "leave"))).expect(200)
            late = told(await bot_says(run, hook), "message")
            require(
                late["id"] in ids(await items(run.u, of(made, "messages"), "messages")), "nobody reads it"
            )
        with run.verdict("PRIV-HOOK-05"):
            there = ids(await items(run.b, "/webhooks", "webhooks"))
            require({hook["id"], other["id"]} <= set(there), "an admin is not shown all of them")
            (await run.b.delete(at("webhooks", str(other["id"])))).expect(200)
            (await bot_says(run, other)).error(401, 404)
        await run.fence(member, outsider, admin)
        with run.verdict("PRIV-HOOK-07"):
            await member.expect("NEW_MESSAGE", id=said["id"], seconds=run.wait(5))
            for observer in (outsider, admin):
                require_silence(observer, said["id"], word)
        with run.verdict("PRIV-HOOK-03"):
            await member.expect("NEW_WEBHOOK", id=hook["id"], seconds=run.wait(5))
            await member.expect("DELETE_WEBHOOK", id=other["id"], seconds=run.wait(5))
            for observer in (outsider, admin):
                require_silence(observer, hook["id"], other["id"], made["id"])
    with run.verdict("PRIV-HOOK-06"):
        (await run.b.delete(at("admin", "channels", str(made["id"])))).expect(200)
        require(hook["id"] not in ids(await items(run.b, "/webhooks", "webhooks")), "it is listed still")
        (await bot_says(run, hook)).error(401, 404)
