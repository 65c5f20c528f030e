"""PRIV-TELL: who hears of a private channel, on open streams and on resumed ones (X-5, X-6, B-10)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from teamchat_conformance.checks.places import (
    about,
    add,
    added,
    kinds,
    make_private,
    member_at,
    of,
    require_silence,
)
from teamchat_conformance.checks.private_channels._area import area
from teamchat_conformance.expect import require

if TYPE_CHECKING:
    from teamchat_conformance.checks.places import Channel
    from teamchat_conformance.run import Run

_JOINS = "whoever joins gets exactly the events after their join"
_TWICE = "so a resumed stream repeats nothing of a channel one was removed from meanwhile"

area.required(
    "PRIV-TELL-01", "B", "NEW_CHANNEL of a private channel comes to its members", words=["| who sees it |"]
)
area.required(
    "PRIV-TELL-02",
    "X-5",
    "Nothing of what happens in it comes to anybody else, admins included",
    words=["public: anyone; else the members then"],
)
area.required(
    "PRIV-TELL-03",
    "X-2",
    "Members hear messages, edits, replies, reactions and deletions",
    words=["| its members |"],
)
area.required(
    "PRIV-TELL-04",
    "B-10",
    "Who is added is told NEW_CHANNEL, and then the members CHANNEL_MEMBERS_ADDED",
    words=["adding sends NEW_CHANNEL to the added, then `CHANNEL_MEMBERS_ADDED` to members"],
)
area.required(
    "PRIV-TELL-05", "X-5", "Who is added hears what comes after, and nothing of before", words=[_JOINS]
)
area.required(
    "PRIV-TELL-06",
    "X-6, B-10",
    "Who is removed is told DELETE_CHANNEL with id, name and the reason removed",
    words=[
        "who loses it gets `DELETE_CHANNEL` {id, name, reason}",
        "removing sends DELETE_CHANNEL with reason `removed` to the removed",
    ],
)
area.required(
    "PRIV-TELL-07",
    "B-10",
    "Who is removed hears nothing more of it, and the stream stays open",
    words=["A removed user's stream stays open"],
)
area.required(
    "PRIV-TELL-08",
    "B-10",
    "Those left are told CHANNEL_MEMBER_REMOVED, and no DELETE_CHANNEL",
    words=["then `CHANNEL_MEMBER_REMOVED` to those left"],
)
area.required(
    "PRIV-TELL-09",
    "X-5",
    "A stream resumed by who was removed repeats nothing of the channel",
    words=[_TWICE],
)
area.required(
    "PRIV-TELL-10",
    "X-5",
    "A stream resumed from before one was added holds nothing of before that",
    words=[_JOINS],
)
area.required(
    "PRIV-TELL-11",
    "X-5",
    "What is left out of a resumed stream makes no gap, and no RESYNC",
    words=["What is left out makes no gap a client could see."],
)
area.required(
    "PRIV-TELL-12",
    "X-6",
    "A deleted private channel is told to its members alone, without a reason",
    words=["absent for a real deletion"],
)


async def _all_happens(run: Run, channel: Channel) -> list[str]:
    """Have a message posted, edited, answered, reacted to and deleted; return the ids and texts of all."""
    first, second, content = run.text(), run.text(), run.text()
    id = str((await run.post(run.u, channel["id"], first))["id"])
    (await run.u.put(f"/messages/{id}", {"content": second})).expect(200)
    reply = str((await run.reply(run.u, id, content))["reply"]["id"])
    (await run.u.post(f"/messages/{id}/reactions", {"reaction": "ok"})).expect(200)
    (await run.u.delete(f"/messages/{id}/reactions", {"reaction": "ok"})).expect(200)
    (await run.u.put(f"/messages/{id}/thread/{reply}", {"content": run.text()})).expect(200)
    (await run.u.delete(f"/messages/{id}/thread/{reply}")).expect(200)
    (await run.u.delete(f"/messages/{id}")).expect(200)
    return [str(channel["id"]), id, reply, first, second, content]


_TOLD = (
    "NEW_MESSAGE", "UPDATE_MESSAGE", "NEW_THREAD_REPLY", "NEW_REACTION", "DELETE_REACTION",
    "UPDATE_THREAD_REPLY", "DELETE_THREAD_REPLY", "DELETE_MESSAGE",
)  # fmt: skip


@area.scenario("PRIV-TELL-01", "PRIV-TELL-02", "PRIV-TELL-03", "PRIV-TELL-11", "PRIV-TELL-12")
async def who_hears(run: Run) -> None:
    async with run.listen(run.w, query="lastEventId=") as before:
        await run.fence(before)
    async with run.listen(run.v) as member, run.listen(run.w) as outsider, run.listen(run.b) as admin:
        made = await make_private(run, run.u, run.v)
        words = await _all_happens(run, made)
        (await run.u.put(of(made), {"topic": run.text()})).expect(200)
        await add(run.u, made, run.a)
        (await run.a.delete(of(made))).expect(200)
        await run.fence(member, outsider, admin)
        own = about(member, *words)
        with run.verdict("PRIV-TELL-01"):
            require(kinds(own)[:1] == ["NEW_CHANNEL"], f"a member is first told {kinds(own)[:1]}")
            require(own[0].payload.get("isPrivate") is True, "NEW_CHANNEL does not say that it is private")
            of_the_caller = own[0].payload.keys() & {"role", "isMember"}
            require(not of_the_caller, f"NEW_CHANNEL tells all the same {', '.join(of_the_caller)}")
        with run.verdict("PRIV-TELL-03"):
            came = [kind for kind in kinds(own) if kind in _TOLD]
            require(came == list(_TOLD), f"a member was told {', '.join(came)}")
            require("UPDATE_CHANNEL" in kinds(own), "a member was not told of the new topic")
        with run.verdict("PRIV-TELL-02"):
            for observer in (outsider, admin):
                require_silence(observer, *words)
        with run.verdict("PRIV-TELL-12"):
            gone = await member.expect("DELETE_CHANNEL", id=made["id"], seconds=run.wait(5))
            require(gone.payload.get("reason") is None, f"its reason is {gone.payload.get('reason')}")
    with run.verdict("PRIV-TELL-11"):
        async with run.listen(run.w, query=f"lastEventId={before.last_id}") as resumed:
            await run.fence(resumed)
            require_silence(resumed, *words)
            require(not resumed.since(0, "RESYNC"), "RESYNC was told")


@area.scenario("PRIV-TELL-04", "PRIV-TELL-05", "PRIV-TELL-06", "PRIV-TELL-07", "PRIV-TELL-08")
async def one_is_added_and_removed(run: Run) -> None:
    made = await make_private(run, run.u, run.w)
    id, seconds = str(made["id"]), run.wait(5)
    async with run.listen(run.v) as own, run.listen(run.w) as member:
        early = [str((await run.post(run.u, id))["id"]) for _ in range(2)]
        await add(run.u, made, run.v)
        late = [str((await run.post(run.u, id))["id"]) for _ in range(3)]
        await run.fence(own, member)
        with run.verdict("PRIV-TELL-04"):
            came = kinds(about(own, id))[:2]
            require(came == ["NEW_CHANNEL", "CHANNEL_MEMBERS_ADDED"], f"who was added is first told {came}")
            heard = await member.expect("CHANNEL_MEMBERS_ADDED", channelId=id, seconds=seconds)
            who = added(heard)
            require(who == [run.v.user_id], f"{who} are told as added")
            require(not member.since(0, "NEW_CHANNEL", id=id), "a member of before is told NEW_CHANNEL")
        with run.verdict("PRIV-TELL-05"):
            require_silence(own, *early)
            came = [event.payload.get("id") for event in own.since(0, "NEW_MESSAGE", channelId=id)]
            require(came == late, f"{len(came)} of the 3 messages after the join came, or in another order")
        mark = own.mark()
        (await run.u.delete(member_at(made, run.v))).expect(200)
        after = str((await run.post(run.u, id))["id"])
        await run.fence(own, member)
        with run.verdict("PRIV-TELL-06"):
            gone = [event.payload for event in own.since(mark, "DELETE_CHANNEL", id=id)]
            require(len(gone) == 1, f"DELETE_CHANNEL came {len(gone)} times")
            told = {key: gone[0].get(key) for key in ("name", "reason")}
            require(told == {"name": made["name"], "reason": "removed"}, f"DELETE_CHANNEL tells {told}")
        with run.verdict("PRIV-TELL-07"):
            require(own.ended_at is None, "the stream has ended")
            require_silence(own, after)
            require(kinds(about(own, id, since=mark)) == ["DELETE_CHANNEL"], "more of it was told")
        with run.verdict("PRIV-TELL-08"):
            left: dict[str, Any] = {"channelId": id, "userId": run.v.user_id, "by": run.u.user_id}
            await member.expect("CHANNEL_MEMBER_REMOVED", seconds=seconds, **left)
            require(not member.since(0, "DELETE_CHANNEL", id=id), "who is left is told DELETE_CHANNEL")


@area.scenario("PRIV-TELL-09", "PRIV-TELL-10")
async def streams_are_resumed(run: Run) -> None:
    made = await make_private(run, run.u, run.v)
    id = str(made["id"])
    positions = {}
    for who in (run.v, run.w):
        async with run.listen(who, query="lastEventId=") as observer:
            await run.fence(observer)
            positions[who.actor] = observer.last_id
    early = [str((await run.post(run.u, id))["id"]) for _ in range(2)]
    (await run.u.delete(member_at(made, run.v))).expect(200)
    await add(run.u, made, run.w)
    late = [str((await run.post(run.u, id))["id"]) for _ in range(2)]
    async with run.listen(run.v, query=f"lastEventId={positions[run.v.actor]}") as removed:
        with run.verdict("PRIV-TELL-09"):
            await run.fence(removed)
            require_silence(removed, *early, *late)
            came = [kind for kind in kinds(about(removed, id)) if kind != "DELETE_CHANNEL"]
            require(not came, f"who was removed is told {', '.join(came)}")
            require(removed.since(0, "DELETE_CHANNEL", id=id, reason="removed"), "DELETE_CHANNEL is missing")
    async with run.listen(run.w, query=f"lastEventId={positions[run.w.actor]}") as added:
        with run.verdict("PRIV-TELL-10"):
            await run.fence(added)
            require_silence(added, *early)
            came = [event.payload.get("id") for event in added.since(0, "NEW_MESSAGE", channelId=id)]
            require(came == late, f"{len(came)} of the 2 messages after the join came")
            require(added.since(0, "NEW_CHANNEL", id=id), "NEW_CHANNEL is missing")
