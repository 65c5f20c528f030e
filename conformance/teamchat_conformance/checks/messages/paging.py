"""MSG-PAGE: the list of a channel in pages of `limit` messages, each older than `before`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from teamchat_conformance.checks.messages._area import area
from teamchat_conformance.checks.pages import (
    Pages,
    all_even_if_capped,
    defaults_to_fifty,
    goes_back_from,
    holds_to_the_limit,
    only_once,
    walks_through_all,
)
from teamchat_conformance.checks.steps import (
    at,
    ids,
    messages_at,
    no_failure,
    no_trace,
    summary,
    together,
    unknown,
)
from teamchat_conformance.expect import Answered, array, require, text, told

if TYPE_CHECKING:
    from teamchat_conformance.actors import Actor
    from teamchat_conformance.run import Run

_MANY = 60
_CROWD = 1_000

area.required("MSG-PAGE-01", "§8", "Without limit a page holds exactly 50 messages")
area.required("MSG-PAGE-02", "§4 Channel messages", "A page holds exactly as many messages as limit says")
area.required(
    "MSG-PAGE-03", "§4 Channel messages", "A limit with room for all gives all; if capped, paging does"
)
area.required("MSG-PAGE-04", "§4 Channel messages", "A page before a message holds older ones alone")
area.required("MSG-PAGE-05", "§4 Channel messages", "Paging back gives every message once, then nothing")
area.required("MSG-PAGE-06", "D-08", "The first page holds the newest messages")
area.required(
    "MSG-PAGE-07",
    "§4 Channel messages, D-08",
    "A page before a message holds those next to it, without a gap",
)
area.required("MSG-PAGE-08", "D-08", "Every page has the same order, that of posting")
area.required("MSG-PAGE-09", "D-08", "Pages are oldest first")
area.required("MSG-PAGE-10", "§4 Channel messages", "The page before the oldest message is empty")
area.recommended(
    "MSG-PAGE-11", "D-08", "A limit that is no positive number is refused with 400; a huge one is cut"
)
area.recommended("MSG-PAGE-12", "D-08", "A before that can't be an id is refused with 400")
area.required("MSG-PAGE-13", "§4 Channel messages", "A before of another place gives nothing of that place")
area.recommended("MSG-PAGE-14", "D-08", "A before whose message was deleted is still a position")
area.required(
    "MSG-PAGE-15",
    "§4 Channel messages, D-08",
    "New messages between two pages neither repeat nor hide old ones",
)
area.required(
    "MSG-PAGE-16", "§4 Channel messages, D-08", "Messages posted in the same moment are paged once each"
)
area.recommended("MSG-PAGE-18", "D-08", "A limit of more than 200 means 200")
area.recorded("MSG-PAGE-17", "§8", "How many of 1,000 messages are kept, and how many a page gives", "load")


async def _posted(run: Run, channel: str, count: int, by: Actor | None = None) -> list[str]:
    return [(await run.post(by or run.u, channel))["id"] for _ in range(count)]


@area.scenario(
    "MSG-PAGE-01", "MSG-PAGE-02", "MSG-PAGE-03", "MSG-PAGE-04", "MSG-PAGE-05", "MSG-PAGE-06", "MSG-PAGE-07",
    "MSG-PAGE-08", "MSG-PAGE-09", "MSG-PAGE-10",
)  # fmt: skip
async def sixty_messages_are_read_in_pages(run: Run) -> None:
    channel = await run.channel()
    posted = await _posted(run, channel, _MANY)
    pages = Pages(run.v, messages_at(channel), "messages")
    with run.verdict("MSG-PAGE-01"):
        await defaults_to_fifty(pages)
    with run.verdict("MSG-PAGE-02"):
        await holds_to_the_limit(pages)
    with run.verdict("MSG-PAGE-03"):
        await all_even_if_capped(pages, posted, _MANY)
        await all_even_if_capped(pages, posted, 200)
    with run.verdict("MSG-PAGE-04"):
        await goes_back_from(pages, posted, 29)
    with run.verdict("MSG-PAGE-05"):
        await walks_through_all(pages, posted)
    with run.verdict("MSG-PAGE-06"):
        require(
            set(ids(await pages.page("limit=10"))) == set(posted[-10:]),
            "the first page is not the newest ten",
        )
    with run.verdict("MSG-PAGE-07"):
        before = ids(await pages.page(f"limit=10&before={posted[29]}"))
        require(set(before) == set(posted[19:29]), "the page before the 30th is not the 20th to 29th")
    await _order(run, pages, posted)
    with run.verdict("MSG-PAGE-10"):
        require(await pages.page(f"before={posted[0]}") == [], "there is something before the oldest message")


async def _order(run: Run, pages: Pages, posted: list[str]) -> None:
    directions = set()
    with run.verdict("MSG-PAGE-08"):
        for query in ("", "limit=10", f"limit=10&before={posted[29]}"):
            places = [posted.index(one) for one in ids(await pages.page(query)) if one in posted]
            require(
                places in (sorted(places), sorted(places, reverse=True)), f"the page ?{query} has no order"
            )
            directions.add(places == sorted(places))
        require(len(directions) == 1, "some pages are oldest first, others newest first")
    with run.verdict("MSG-PAGE-09"):
        require(directions == {True}, "pages are not oldest first")


@area.scenario("MSG-PAGE-11", "MSG-PAGE-12", "MSG-PAGE-14")
async def odd_limits_and_positions(run: Run) -> None:
    channel = await run.channel()
    posted = await _posted(run, channel, 6)
    target = messages_at(channel)
    with run.verdict("MSG-PAGE-11"):
        for query in ("limit=0", "limit=-1", "limit=1.5", "limit=abc"):
            (await run.u.get(f"{target}?{query}")).error(400)
        huge = await run.u.get(f"{target}?limit=1000000000")
        require(_ids(huge) == set(posted), "a huge limit does not give what there is")
        for query in ("limit=", "limit=2&limit=3"):
            no_failure(await run.u.get(f"{target}?{query}"))
    with run.verdict("MSG-PAGE-12"):
        (await run.u.get(f"{target}?before=%20no%20id%20")).error(400)
        (await run.u.get(f"{target}?before={'x' * 10_000}")).expect(400, accept=(414, 431))
        for before in ("", unknown(run)):
            no_failure(await run.u.get(f"{target}?before={before}"))
    with run.verdict("MSG-PAGE-14"):
        (await run.u.delete(at("messages", posted[3]))).expect(200)
        left = await run.u.get(f"{target}?limit=2&before={posted[3]}")
        require(
            _ids(left) == set(posted[1:3]),
            "paging on from a deleted message goes astray",
        )


@area.scenario("MSG-PAGE-18")
async def more_than_a_page(run: Run) -> None:
    channel = await run.channel()
    posted = await _posted(run, channel, 201)
    with run.verdict("MSG-PAGE-18"):
        for limit in (200, 201, 1_000):
            page = await run.u.get(messages_at(channel, limit=limit))
            require(_ids(page) == set(posted[1:]), f"of 201 messages limit={limit} gives {len(_ids(page))}")


def _ids(answer: Answered) -> set[str]:
    """Return the ids in a list that was answered."""
    return set(ids(answer.expect(200).shape({"messages": array({"id": text})})["messages"]))


@area.scenario("MSG-PAGE-13")
async def a_position_opens_no_door(run: Run) -> None:
    channel, other = await run.channel(), await run.channel()
    here = await _posted(run, channel, 2)
    secret, private = run.text("elsewhere"), run.text("private")
    await run.post(run.v, other, secret)
    there = await run.post(run.v, other)
    conversation = await run.conversation(run.u, run.v)
    await run.direct(run.u, conversation, private)
    direct = await run.direct(run.u, conversation)
    with run.verdict("MSG-PAGE-13"):
        for place in (there["id"], direct["id"]):
            answer = no_failure(await run.w.get(messages_at(channel, before=place)))
            no_trace(answer, secret, private)
            if answer.status == 200:
                require(_ids(answer) <= set(here), "the page holds what is not the channel's")


@area.scenario("MSG-PAGE-15")
async def paging_while_others_post(run: Run) -> None:
    channel = await run.channel()
    old = await _posted(run, channel, 20)
    pages = Pages(run.v, messages_at(channel), "messages")
    with run.verdict("MSG-PAGE-15"):
        newest_first = await pages.has_newest_first()
        walked: list[list[dict[str, Any]]] = []
        page = await pages.page("limit=6")
        while page and len(walked) < 10:
            walked.append(page)
            await _posted(run, channel, 2)
            page = await pages.step_back(page, 6, newest_first)
        only_once(walked, old)


@area.scenario("MSG-PAGE-16")
async def forty_messages_of_one_moment(run: Run) -> None:
    channel = await run.channel()
    people = (run.a, run.b, run.u, run.v, run.w)
    answers = await together(
        *(people[n % 5].post(messages_at(channel), {"content": run.text()}) for n in range(40))
    )
    posted = [told(answer, "message")["id"] for answer in answers]
    with run.verdict("MSG-PAGE-16"):
        only_once(await Pages(run.v, messages_at(channel), "messages").walk(3), posted)


@area.scenario("MSG-PAGE-17", needs=("load",))
async def a_thousand_messages(run: Run) -> None:
    channel = await run.channel()
    posted = await _posted(run, channel, _CROWD)
    pages = Pages(run.v, messages_at(channel), "messages")
    widest = await run.v.get(messages_at(channel, limit=_CROWD))
    kept = Counter(one in posted for page in await pages.walk(50) for one in ids(page))[True]
    at_most = len(_ids(widest)) if widest.status == 200 else summary(widest)
    run.record("MSG-PAGE-17", {"kept of 1,000": kept, "given for limit=1000": at_most})
