"""CTX: a message by its id, and pages that are cut anywhere (extension H-1, capability message-context)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from teamchat_conformance.checks.places import make_private
from teamchat_conformance.checks.steps import MESSAGE, at, ids, messages_at, unknown
from teamchat_conformance.endpoints import Endpoint
from teamchat_conformance.expect import array, boolean, optional, require, text, told
from teamchat_conformance.registry import Area

if TYPE_CHECKING:
    from teamchat_conformance.actors import Actor
    from teamchat_conformance.run import Run

_PLACE = {"id": text, "kind": text, "name": optional(text), "isPrivate": boolean}
_KNOWN_MESSAGE = dict.fromkeys(
    ("id", "channelId", "author", "content", "createdAt", "updatedAt", "reactions", "images", "threadId")
)
_CUT = "new query `after` (oldest `limit` that are newer) and `around` (half before, it, half after)"
_CARRY = (
    "Pages with `around` or `after`, and every page where `message-context` is announced, carry `hasBefore`, "
    "`hasAfter`, `asOf`"
)
_EVEN = "With `around` an even `limit` takes one more before than after"

area = Area(
    "CTX",
    "Messages in their context",
    capability="message-context",
    endpoints=(
        Endpoint(
            "GET",
            "/messages/:messageId",
            known={
                "message": {**_KNOWN_MESSAGE, "threadMeta": None},
                "place": dict.fromkeys(_PLACE),
                "asOf": None,
            },
        ),
    ),
    fields=frozenset({"hasBefore", "hasAfter", "asOf", "place", "kind", "name", "isPrivate"}),
)
_ROW = "| message, place {id, kind, name, isPrivate} |"
_LISTS = "GET | /channels/:id/messages, /conversations/:id/messages, /messages/:id/thread"
_CONTINUES = "a stream opened with `lastEventId=<asOf>` continues exactly there"

area.required("CTX-ONE-01", "H", "A message, a reply too, is read by its id, with its place", words=[_ROW])
area.required(
    "CTX-ONE-02",
    "H, X-3",
    "One that the caller does not see is answered as one that is not there (404)",
    words=["The answer equals that for an id nobody ever had"],
)
area.required("CTX-CUT-01", "H-1", "A page after a message holds the oldest that are newer", words=[_CUT])
area.required(
    "CTX-CUT-02", "H-1", "A page around a message holds half before, it, and half after", words=[_CUT]
)
area.required(
    "CTX-CUT-03",
    "H-1",
    "With an even limit one more before than after; near an end what there is",
    words=[_EVEN],
)
area.required(
    "CTX-CUT-04",
    "H-1",
    "The id of a deleted message is a position",
    words=["deleted or future ids are fine"],
)
area.required(
    "CTX-CUT-05",
    "H",
    "More than one of before, after and around is 400",
    words=["at most one of before, after, around, else 400"],
)
area.required("CTX-CUT-06", "H", "Threads and conversations are cut in the same way", words=[_LISTS])
area.required("CTX-SAYS-01", "H", "Every page says whether there is more before and after it", words=[_CARRY])
area.required(
    "CTX-SAYS-02",
    "X-7",
    "A stream opened at a page's asOf brings what came after it, and nothing of it",
    words=[_CONTINUES],
)


async def _page(who: Actor, target: str, key: str = "messages") -> dict[str, Any]:
    answer = await who.get(target)
    return dict(answer.shape({key: array(MESSAGE), "hasBefore": boolean, "hasAfter": boolean, "asOf": text}))


def _is(page: dict[str, Any], wanted: Sequence[str], *more: bool, key: str = "messages") -> None:
    """Require a page to hold these, and to say whether there are more before and after."""
    told_of = [page["hasBefore"], page["hasAfter"]]
    require(ids(page[key]) == list(wanted), f"{ids(page[key])} instead of {list(wanted)}")
    require(told_of == list(more), f"hasBefore and hasAfter are {told_of}, not {list(more)}")


@area.scenario("CTX-ONE-01", "CTX-ONE-02")
async def a_message_is_asked_for(run: Run) -> None:
    """Read a message, a reply and a direct message by their ids, and what nobody sees."""
    channel, direct = await run.channel(), await run.conversation(run.u, run.v)
    posted = str((await run.post(run.u, channel))["id"])
    reply = str((await run.reply(run.v, posted))["reply"]["id"])
    said = str((await run.direct(run.u, direct))["id"])
    with run.verdict("CTX-ONE-01"):
        for id, place, kind in (
            (posted, channel, "channel"),
            (reply, channel, "channel"),
            (said, direct, "direct"),
        ):
            answer = (await run.v.get(at("messages", id))).shape({"message": MESSAGE, "place": _PLACE})
            found = (answer["message"]["id"], answer["place"]["id"], answer["place"]["kind"])
            require(found == (id, place, kind), f"{id} in {place} is answered as {found}")
    with run.verdict("CTX-ONE-02"):
        hidden = [said]
        if run.announced.version("private-channels"):
            secret = await make_private(run, run.u)
            hidden.append(str((await run.post(run.u, str(secret["id"])))["id"]))
        nothing = (await run.w.get(at("messages", unknown(run)))).expect(404)
        for id in hidden:
            answer = (await run.w.get(at("messages", id))).expect(404)
            require(
                answer.body == nothing.body, "what is hidden is answered otherwise than what is not there"
            )


@area.scenario(*(f"CTX-CUT-{number:02}" for number in range(1, 7)), "CTX-SAYS-01")
async def pages_are_cut(run: Run) -> None:
    """Post nine messages, and read pages of them from all sides."""
    channel, direct = await run.channel(), await run.conversation(run.u, run.v)
    posted = [str((await run.post(run.u, channel))["id"]) for _ in range(9)]

    async def page(**query: object) -> dict[str, Any]:
        return await _page(run.v, messages_at(channel, **query))

    with run.verdict("CTX-CUT-01"):
        _is(await page(limit=3, after=posted[2]), posted[3:6], True, True)
        _is(await page(limit=3, after=posted[5]), posted[6:], True, False)
        _is(await page(limit=3, after=posted[8]), [], True, False)
    with run.verdict("CTX-CUT-02"):
        _is(await page(limit=5, around=posted[4]), posted[2:7], True, True)
        _is(await page(limit=9, around=posted[4]), posted, False, False)
    with run.verdict("CTX-CUT-03"):
        _is(await page(limit=4, around=posted[4]), posted[2:6], True, True)
        _is(await page(limit=5, around=posted[0]), posted[:3], False, True)
        _is(await page(limit=5, around=posted[8]), posted[6:], True, False)
    with run.verdict("CTX-SAYS-01"):
        _is(await page(limit=3), posted[6:], True, False)
        _is(await page(limit=3, before=posted[6]), posted[3:6], True, True)
        _is(await page(limit=3, before=posted[2]), posted[:2], False, True)
        _is(await page(limit=9), posted, False, False)
    with run.verdict("CTX-CUT-04"):
        (await run.u.delete(at("messages", posted[4]))).expect(200)
        _is(await page(limit=5, around=posted[4]), posted[2:4] + posted[5:7], True, True)
        _is(await page(limit=2, after=posted[4]), posted[5:7], True, True)
    with run.verdict("CTX-CUT-05"):
        for query in (
            {"before": posted[1], "after": posted[1]},
            {"before": posted[1], "around": posted[1]},
            {"after": posted[1], "around": posted[1]},
        ):
            (await run.v.get(messages_at(channel, **query))).expect(400)
    with run.verdict("CTX-CUT-06"):
        replies = [str((await run.reply(run.v, posted[0]))["reply"]["id"]) for _ in range(5)]
        said = [str((await run.direct(run.u, direct))["id"]) for _ in range(5)]
        thread = await _page(
            run.u, at("messages", posted[0], "thread", limit=3, around=replies[2]), "replies"
        )
        _is(thread, replies[1:4], True, True, key="replies")
        _is(
            await _page(run.v, at("conversations", direct, "messages", limit=2, after=said[2])),
            said[3:],
            True,
            False,
        )


@area.scenario("CTX-SAYS-02")
async def a_stream_goes_on_from_a_page(run: Run) -> None:
    """Read a page, post, and open a stream at the page's asOf."""
    channel = await run.channel()
    shown = told(await run.u.post(messages_at(channel), {"content": run.text()}), "message")["id"]
    page = await _page(run.v, messages_at(channel))
    with run.verdict("CTX-SAYS-02"):
        require(ids(page["messages"]) == [shown], "the page does not hold what was posted before it was read")
        later = str((await run.post(run.u, channel))["id"])
        async with run.listen(run.v, query=f"lastEventId={page['asOf']}") as observer:
            await observer.expect("NEW_MESSAGE", id=later)
            await run.fence(observer)
            again = [one for one in observer.events if one.payload.get("id") == shown]
            require(not again, "the stream brings once more what was in the page")
