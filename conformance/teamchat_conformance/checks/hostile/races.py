"""NEG-RACE: two requests about one thing at once, again and again; one order or the other must come of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teamchat_conformance.checks.hostile._area import ALIVE, area, still_alive
from teamchat_conformance.checks.steps import (
    at,
    ids,
    is_gone,
    items,
    message,
    messages,
    messages_at,
    no_failure,
    together,
)
from teamchat_conformance.expect import require

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

area.recommended(
    "NEG-RACE-01", "D-35", "Edited and deleted at once a message is gone, the deletion told last"
)
area.recommended("NEG-RACE-02", "D-35", "Edited twice at once a message holds the edit that was told last")
area.recommended("NEG-RACE-03", "D-27", "A reaction given and taken at once is there or not")
area.required("NEG-RACE-04", "§2 Channel", "A webhook posting into a channel being deleted leaves nothing")

_ROUNDS = 50


@area.scenario("NEG-RACE-01", "NEG-RACE-02", ALIVE)
async def edits_at_once(run: Run) -> None:
    channel = await run.channel()
    async with run.listen(run.v) as stream:
        with run.verdict("NEG-RACE-01"):
            for _ in range(_ROUNDS):
                target = at("messages", (await run.post(run.u, channel))["id"])
                for answer in await together(
                    run.u.put(target, {"content": run.text("edited")}), run.u.delete(target)
                ):
                    no_failure(answer).expect(200, 404, 400, 409)
            require(await messages(run.v, channel) == [], "a message edited while deleted is still there")
            await run.fence(stream)
            gone: set[str] = set()
            for event in stream.events:
                id = event.payload.get("id") if isinstance(event.payload, dict) else None
                gone |= {str(id)} if event.type == "DELETE_MESSAGE" else set()
                require(
                    event.type != "UPDATE_MESSAGE" or id not in gone, "an edit was told after the deletion"
                )
        with run.verdict("NEG-RACE-02"):
            posted = await run.post(run.u, channel)
            for _ in range(_ROUNDS):
                await _edited_twice(run, channel, posted["id"])
                await run.fence(stream)
                last = stream.since(0, "UPDATE_MESSAGE", id=posted["id"])[-1]
                found = (await message(run.v, channel, posted["id"]))["content"]
                said = last.payload.get("content")
                require(said == found, "the last event told another content than is read")
    await still_alive(run)


async def _edited_twice(run: Run, channel: str, id: str) -> None:
    texts = [run.text("edited"), run.text("edited")]
    answers = await together(*(run.u.put(at("messages", id), {"content": text}) for text in texts))
    for answer, text in zip(answers, texts, strict=True):
        answer.expect(200).shape({"message": {"content": text}})
    found = (await message(run.v, channel, id))["content"]
    require(found in texts, "after two edits at once a message holds neither")


@area.scenario("NEG-RACE-03", ALIVE)
async def a_reaction_given_and_taken(run: Run) -> None:
    channel = await run.channel()
    posted = await run.post(run.u, channel)
    target = at("messages", posted["id"], "reactions")
    with run.verdict("NEG-RACE-03"):
        for _ in range(_ROUNDS):
            for answer in await together(
                run.u.post(target, {"reaction": "ok"}), run.u.delete(target, {"reaction": "ok"})
            ):
                no_failure(answer)
            found = (await message(run.v, channel, posted["id"])).get("reactions")
            require(found in ({}, {"ok": []}, {"ok": [run.u.user_id]}), f"reactions are {found}")
    await still_alive(run)


@area.scenario("NEG-RACE-04", ALIVE)
async def a_webhook_posts_into_a_channel_that_goes(run: Run) -> None:
    with run.verdict("NEG-RACE-04"):
        for _ in range(10):
            channel = await run.channel()
            hook = await run.webhook(channel)
            posts = [
                run.n.post(
                    at("webhooks", hook["id"], "messages"), {"content": run.text()}, token=hook["token"]
                )
                for _ in range(5)
            ]
            for answer in await together(*posts, run.a.delete(at("channels", channel))):
                no_failure(answer)
            is_gone(await run.u.get(messages_at(channel)))
            require(hook["id"] not in ids(await items(run.a, "/webhooks", "webhooks")), "its webhook is left")
            token = {"token": hook["token"]}
            answer = await run.n.post(at("webhooks", hook["id"], "messages"), {"content": "x"}, **token)
            answer.error(401, accept=(403, 404))
    await still_alive(run)
