"""CHAN-DEL: a channel is deleted with its messages, threads, images and webhooks, and nothing else is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from teamchat_conformance.checks.channels._area import area
from teamchat_conformance.checks.images.uploads import channel_images, stored, upload
from teamchat_conformance.checks.steps import (
    at,
    bot_says,
    gone_or_empty,
    ids,
    is_gone,
    items,
    messages,
    messages_at,
    no_failure,
    summary,
    thread,
    together,
    unknown,
)
from teamchat_conformance.expect import require, told
from teamchat_conformance.fixtures.images import png

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

area.required("CHAN-DEL-01", "§4 Channels", "Deleting a channel answers success, and it is not listed")
area.required("CHAN-DEL-02", "§2 Channel", "Its messages are neither listed, edited, deleted nor reacted to")
area.required("CHAN-DEL-03", "§2 Channel", "Its webhooks are not listed, and their tokens post nothing")
area.required("CHAN-DEL-04", "§2 Channel", "The replies of its threads are gone too")
area.required("CHAN-DEL-05", "§7", "Deleting a channel that is not there, or no longer, is refused with 404")
area.required("CHAN-DEL-06", "§7", "Nothing is posted, uploaded, renamed or hooked in a deleted channel")
area.required("CHAN-DEL-07", "§2 Channel", "Another channel keeps its messages and webhooks")
area.required("CHAN-DEL-08", "§7", "The images of a deleted channel are gone")
area.recorded("CHAN-DEL-09", "D-23", "What comes of deleting a channel that was there at first", "exclusive")
area.required("CHAN-DEL-10", "§4 Channels", "Any admin deletes the channel that another made")
area.required("CHAN-DEL-11", "§2 Channel", "Posts at the moment of the deletion leave nothing behind")


@dataclass(frozen=True)
class _Furnished:
    """A channel with a message, a reply, an image and a webhook."""

    id: str
    parent: str
    reply: str
    image: str
    hook: dict[str, Any]


async def _furnished(run: Run) -> _Furnished:
    channel = await run.channel()
    parent = (await run.post(run.u, channel))["id"]
    reply = (await run.reply(run.u, parent))["reply"]["id"]
    hook = await run.webhook(channel)
    image = await stored(run.u, channel_images(channel), png())
    return _Furnished(channel, parent, reply, image, hook)


@area.scenario("CHAN-DEL-01", "CHAN-DEL-02", "CHAN-DEL-03", "CHAN-DEL-04", "CHAN-DEL-05", "CHAN-DEL-06",
               "CHAN-DEL-07", "CHAN-DEL-08")  # fmt: skip
async def a_channel_goes_with_all_that_is_in_it(run: Run) -> None:
    room, other = await _furnished(run), await _furnished(run)
    neighbours = await messages(run.v, other.id), await thread(run.v, other.parent)
    with run.verdict("CHAN-DEL-01"):
        (await run.a.delete(at("channels", room.id))).expect(200).shape({"success": True})
        require(
            room.id not in ids(await items(run.u, "/channels", "channels")), "the channel is still listed"
        )
    with run.verdict("CHAN-DEL-02"):
        gone_or_empty(await run.u.get(messages_at(room.id)), "messages")
        await _is_out_of_reach(run, at("messages", room.parent))
        is_gone(await run.u.post(at("messages", room.parent, "reactions"), {"reaction": "ok"}))
    with run.verdict("CHAN-DEL-03"):
        listed = ids(await items(run.a, "/webhooks", "webhooks"))
        require(room.hook["id"] not in listed, "a webhook of the deleted channel is still listed")
        (await bot_says(run, room.hook)).error(401, accept=(400, 403, 404))
    with run.verdict("CHAN-DEL-04"):
        gone_or_empty(await run.u.get(at("messages", room.parent, "thread")), "replies")
        await _is_out_of_reach(run, at("messages", room.parent, "thread", room.reply))
    with run.verdict("CHAN-DEL-05"):
        for gone in (unknown(run), room.id):
            is_gone(await run.a.delete(at("channels", gone)))
    with run.verdict("CHAN-DEL-06"):
        await _takes_nothing(run, room)
    with run.verdict("CHAN-DEL-07"):
        kept = await messages(run.v, other.id), await thread(run.v, other.parent)
        require(kept == neighbours, "deleting a channel changed another")
        (await bot_says(run, other.hook)).expect(200)
        require(
            other.hook["id"] in ids(await items(run.a, "/webhooks", "webhooks")), "another's webhook is gone"
        )
    with run.verdict("CHAN-DEL-08"):
        (await run.u.get(room.image)).error(404, accept=(400, 403))


async def _is_out_of_reach(run: Run, target: str) -> None:
    is_gone(await run.u.put(target, {"content": run.text()}))
    is_gone(await run.u.delete(target))


async def _takes_nothing(run: Run, room: _Furnished) -> None:
    is_gone(await run.u.post(messages_at(room.id), {"content": run.text()}))
    is_gone(await run.a.put(at("channels", room.id), {"name": run.text()}))
    is_gone(await upload(run.u, channel_images(room.id), png()))
    (await run.a.post("/webhooks", {"name": run.text(), "channelId": room.id})).error(400, 404)


@area.scenario("CHAN-DEL-10")
async def another_admin_deletes_it(run: Run) -> None:
    channel = await run.channel()
    with run.verdict("CHAN-DEL-10"):
        (await run.b.delete(at("channels", channel))).expect(200)
        require(
            channel not in ids(await items(run.u, "/channels", "channels")), "the channel is still listed"
        )


@area.scenario("CHAN-DEL-11")
async def posts_at_the_moment_of_deletion(run: Run) -> None:
    channel = await run.channel()
    known = [(await run.post(run.u, channel))["id"]]
    target = messages_at(channel)
    with run.verdict("CHAN-DEL-11"):
        posts = [one.post(target, {"content": run.text()}) for one in (run.u, run.v) * 5]
        answers = await together(*posts[:5], run.a.delete(at("channels", channel)), *posts[5:])
        answers.pop(5).expect(200)
        known += [told(no_failure(one), "message")["id"] for one in answers if one.status == 200]
        gone_or_empty(await run.v.get(target), "messages")
        for id in known:
            is_gone(await run.u.post(at("messages", id, "reactions"), {"reaction": "ok"}))


@area.scenario("CHAN-DEL-09", needs=("exclusive",), last=True)
async def a_channel_of_the_beginning_is_deleted(run: Run) -> None:
    listed = await items(run.u, "/channels", "channels")
    first = next((one for one in listed if run.id not in str(one.get("name"))), None)
    if first is None:
        run.record("CHAN-DEL-09", "there is no such channel")
        return
    answer = no_failure(await run.a.delete(at("channels", first["id"])))
    run.record("CHAN-DEL-09", summary(answer))
    if answer.status == 200:
        (await run.a.post("/channels", {"name": first["name"]})).expect(200)
