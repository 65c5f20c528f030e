"""THR-GET: a thread is read in pages, as a channel is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teamchat_conformance.checks.pages import (
    Pages,
    defaults_to_fifty,
    goes_back_from,
    has_the_order_of_posting,
    holds_to_the_limit,
    walks_through_all,
)
from teamchat_conformance.checks.steps import (
    MESSAGE,
    at,
    gone_or_empty,
    hidden,
    ids,
    no_failure,
    no_trace,
    thread,
    unknown,
)
from teamchat_conformance.checks.threads._area import area
from teamchat_conformance.expect import array, require

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

_MANY = 55

area.required(
    "THR-GET-01", "§4 Threads", "The thread lists replies, each with its parent, channel, author, content"
)
area.required("THR-GET-02", "§8", "Without limit a page of a thread holds exactly 50 replies")
area.required("THR-GET-03", "§4 Threads", "A page holds as many replies as limit says, all older than before")
area.required("THR-GET-04", "§4 Threads", "Paging back gives every reply once")
area.required("THR-GET-05", "§4 Threads", "Each parent lists its own replies alone")
area.required("THR-GET-06", "§4 Threads", "The thread of a message without replies is empty")
area.required("THR-GET-07", "§7", "The thread of a message that is not there is refused with 404")
area.recommended("THR-GET-08", "D-08", "A thread judges limit and before as a channel does")
area.required("THR-GET-09", "§4 Threads", "A before of another thread gives nothing of that thread")
area.required(
    "THR-GET-10", "§4 Conversations", "An outsider reads nothing through the thread of a direct message"
)
area.required("THR-GET-11", "D-08", "Pages of a thread hold the newest replies, the oldest first")


@area.scenario("THR-GET-01", "THR-GET-05", "THR-GET-06", "THR-GET-07", "THR-GET-09")
async def each_thread_is_its_own(run: Run) -> None:
    channel = await run.channel()
    one, other, quiet = [(await run.post(run.u, channel))["id"] for _ in range(3)]
    here = (await run.reply(run.v, one))["reply"]
    secret = run.text("elsewhere")
    await run.reply(run.v, other, secret)
    there = (await run.reply(run.v, other))["reply"]
    with run.verdict("THR-GET-01"):
        answer = (await run.u.get(at("messages", one, "thread"))).expect(200)
        answer.shape({"replies": array({**MESSAGE, "threadId": one, "channelId": channel})})
        require(here["id"] in ids(await thread(run.u, one)), "the reply is not in the thread")
    with run.verdict("THR-GET-05"):
        require(ids(await thread(run.u, one)) == [here["id"]], "a thread lists what is not its own")
        require(len(await thread(run.u, other)) == 2, "a thread does not list its two replies")
    with run.verdict("THR-GET-06"):
        (await run.u.get(at("messages", quiet, "thread"))).expect(200).shape({"replies": []})
    with run.verdict("THR-GET-07"):
        gone_or_empty(await run.u.get(at("messages", unknown(run), "thread")), "replies")
    with run.verdict("THR-GET-09"):
        no_trace(no_failure(await run.u.get(at("messages", one, "thread", before=there["id"]))), secret)


@area.scenario("THR-GET-02", "THR-GET-03", "THR-GET-04", "THR-GET-08", "THR-GET-11")
async def a_long_thread_is_read_in_pages(run: Run) -> None:
    channel = await run.channel()
    parent = (await run.post(run.u, channel))["id"]
    posted = [(await run.reply(run.v, parent))["reply"]["id"] for _ in range(_MANY)]
    target = at("messages", parent, "thread")
    pages = Pages(run.u, target, "replies")
    with run.verdict("THR-GET-02"):
        await defaults_to_fifty(pages)
    with run.verdict("THR-GET-03"):
        await holds_to_the_limit(pages)
        await goes_back_from(pages, posted, 29)
    with run.verdict("THR-GET-04"):
        await walks_through_all(pages, posted)
    with run.verdict("THR-GET-11"):
        await has_the_order_of_posting(pages, posted)
    with run.verdict("THR-GET-08"):
        for query in ("limit=0", "limit=-1", "limit=abc", "before=%20no%20id%20"):
            (await run.u.get(f"{target}?{query}")).error(400)
        no_failure(await run.u.get(f"{target}?before={unknown(run)}"))


@area.scenario("THR-GET-10")
async def outsiders_read_no_thread_of_a_direct_message(run: Run) -> None:
    conversation = await run.conversation(run.u, run.v)
    secret = run.text("private")
    direct = await run.direct(run.u, conversation, secret)
    with run.verdict("THR-GET-10"):
        answer = await run.w.get(at("messages", direct["id"], "thread"))
        no_trace(answer, secret)
        if answer.status == 200:
            gone_or_empty(answer, "replies")
        else:
            hidden(answer)
