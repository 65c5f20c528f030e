"""PRES and TYPING: who is there and who types (capabilities presence and typing, extension I).

The suite loads this by entry points; the server never does.
"""

from __future__ import annotations

from time import time
from typing import TYPE_CHECKING, Any

from teamchat_conformance.checks.places import make_private, make_public
from teamchat_conformance.checks.steps import at, soon, unknown
from teamchat_conformance.endpoints import Endpoint
from teamchat_conformance.expect import require
from teamchat_conformance.registry import Area

if TYPE_CHECKING:
    from teamchat_conformance.actors import Actor
    from teamchat_conformance.expect import Answered
    from teamchat_conformance.http import Client
    from teamchat_conformance.run import Run
    from teamchat_conformance.sse import Observer

SPEC = "I"
_PRESENCE = {"presence": {"userId": None, "status": None, "isDnd": None, "lastSeen": None}}

presence = Area(
    "PRES",
    "Who is there",
    capability="presence",
    endpoints=(
        Endpoint("GET", "/presence", known=_PRESENCE),
        Endpoint("PUT", "/presence/me", known={"status": None}),
        Endpoint("PUT", "/events/:connectionId", known={}, successes=(204,)),
    ),
)
presence.required("PRES-SHOW-01", SPEC, "Another session's stream is 404", words=["another session's: 404"])
presence.required(
    "PRES-STATUS-01",
    SPEC,
    "Who says that they are active is online for whoever asks",
    words=["`online` while a stream is active or was within the last 5 minutes"],
)
presence.required(
    "PRES-HIDE-01",
    SPEC,
    "Who hides is offline for others, without lastSeen",
    words=["Hidden users are `offline` for others, without `lastSeen`"],
)
presence.required(
    "PRES-HIDE-02",
    SPEC,
    "Who hides and has a stream open is told of no more than who has none",
    words=["Hidden users are `offline` for others, without `lastSeen`"],
)
presence.required(
    "PRES-STATUS-02",
    SPEC,
    "Who has a stream open, and never said that they are active, is away",
    words=["`away` streams but none active", "then `away` while any stream is open"],
)
presence.required(
    "PRES-STATUS-03",
    SPEC,
    "Who is paused is said to be so beside their status",
    words=["`dnd` beside them while paused (J)", "{userId, status, isDnd?, lastSeen?}"],
)
presence.required(
    "PRES-SEEN-01", SPEC, "lastSeen is a whole minute", words=["`lastSeen` is rounded to the minute"]
)
presence.required(
    "PRES-HIDE-03",
    SPEC,
    "Who shares no presence is offline for others, without lastSeen",
    words=[
        "in /me/notifications `sharePresence`",
        "Hidden users are `offline` for others, without `lastSeen`",
    ],
)
presence.required(
    "PRES-TOLD-01",
    SPEC,
    "Streams that have named a user are told of a change, without an id, and others are not",
    words=["only to streams that named the user in `presenceOf`", "Both unlogged (X-8)"],
)
presence.required(
    "PRES-WATCH-01",
    "X-9",
    "A stream with scope=joined is told of a public channel that it watches, and of no hidden one",
    words=["limits a stream to places one is a member of, to those it *watches* (I-1)"],
)
presence.required(
    "PRES-STATUS-04",
    SPEC,
    "Who says that they are away is away, though they are active",
    words=["status (`auto`, `away`, `offline`; v3's path)"],
)
presence.recommended("PRES-LIST-02", SPEC, "More than 200 users are refused with 400")
presence.recommended("PRES-LIST-01", SPEC, "Unknown users are left out of GET /presence")

typing = Area(
    "TYPING",
    "Who types",
    capability="typing",
    endpoints=(Endpoint("POST", "/places/:placeId/typing", known={}, successes=(204,)),),
)
typing.required(
    "TYPING-TOLD-01",
    SPEC,
    "Streams that watch the place are told who types, without an id; the typist and others are not",
    words=["that watch the place and see it, minus the typist", "Both unlogged (X-8)"],
)
typing.required(
    "TYPING-TOLD-02",
    SPEC,
    "It is told in which thread, and for six seconds",
    words=["TYPING {placeId, threadId, userId, until}", "`until` is 6 s ahead"],
)
typing.required(
    "TYPING-OFTEN-02",
    SPEC,
    "Who goes on typing is told of again",
    words=["a client repeats every 4 s", "more than one a 3 s"],
)
typing.required(
    "TYPING-HIDE-02",
    SPEC,
    "Who shares no typing is never seen typing",
    words=["`sharePresence`, `shareTyping`"],
)
typing.required(
    "TYPING-SEEN-01",
    SPEC,
    "Typing in a place that one does not see is 404",
    words=["Typing tells that somebody is in a private place: X-2 at hand-out"],
)
typing.required(
    "TYPING-SEEN-02",
    SPEC,
    "Who does not see a place is not told who types there, though they watch it",
    words=["only to streams\n  that watch the place and see it"],
)
typing.required(
    "TYPING-OFTEN-01",
    SPEC,
    "More than one in 3 seconds is answered 204, and told once",
    words=["more than one a 3 s:\n  dropped, 204"],
)
typing.required(
    "TYPING-HIDE-01", SPEC, "Who hides is never seen typing", words=["TYPING of theirs is never sent"]
)


async def _show(asker: Client, stream: Observer, **shown: Any) -> Answered:
    return await asker.put(at("events", str(stream.events[0].payload["connectionId"])), shown)


async def _asked(asker: Client, *users: str) -> dict[str, dict[str, Any]]:
    found = (await asker.get(f"/presence?userIds={','.join(users)}")).ok()["presence"]
    return {str(one["userId"]): one for one in found}


@presence.scenario("PRES-SHOW-01", "PRES-STATUS-01", "PRES-HIDE-01", "PRES-LIST-01")
async def somebody_is_there(run: Run) -> None:
    """Be active at a stream, then hide, while another user asks."""
    async with run.listen(run.u) as own:
        with run.verdict("PRES-SHOW-01"):
            (await _show(run.v, own, isActive=True)).expect(404)
        with run.verdict("PRES-STATUS-01"):
            (await _show(run.u, own, isActive=True)).expect(204)
            found = await _asked(run.v, run.u.user_id)
            require(found[run.u.user_id]["status"] == "online", "the status is not online")
        with run.verdict("PRES-LIST-01"):
            require(
                list(await _asked(run.v, unknown(run), run.u.user_id)) == [run.u.user_id],
                "not that one alone",
            )
        with run.verdict("PRES-HIDE-01"):
            try:
                (await run.u.put("/presence/me", {"status": "offline"})).expect(200, 204)
                hidden = (await _asked(run.v, run.u.user_id))[run.u.user_id]
                require(hidden["status"] == "offline", "the status is not offline")
                require("lastSeen" not in hidden, "it has a lastSeen")
            finally:
                await run.u.put("/presence/me", {"status": "auto"})


@presence.scenario("PRES-HIDE-02")
async def somebody_hides_and_is_there(run: Run) -> None:
    """Ask for all there are, before and after somebody who hides opens a stream."""
    hidden = await run.new_user(name="somebody who hides")
    (await hidden.put("/presence/me", {"status": "offline"})).expect(200, 204)

    async def told() -> list[dict[str, Any]]:
        found = (await run.v.get("/presence")).ok()["presence"]
        return [one for one in found if one["userId"] == hidden.user_id]

    before = await told()
    async with run.listen(hidden) as own:
        (await _show(hidden, own, isActive=True)).expect(204)
        with run.verdict("PRES-HIDE-02"):
            require(await told() == before, "the stream makes a difference")


@presence.scenario(
    *("PRES-STATUS-02", "PRES-STATUS-03", "PRES-STATUS-04", "PRES-SEEN-01", "PRES-HIDE-03", "PRES-LIST-02")
)
async def somebody_has_a_stream(run: Run) -> None:
    """Open a stream and say nothing, pause, be active, and share no more."""
    who = await run.new_user(name="who is there")
    levels = run.announced.version("notification-levels")
    async with run.listen(who) as own:
        with run.verdict("PRES-STATUS-02"):
            found = (await _asked(run.v, who.user_id))[who.user_id]
            require(found["status"] == "away", f"the status is {found['status']}")
        with run.verdict("PRES-SEEN-01"):
            require(found.get("lastSeen", 0) % 60_000 == 0, f"lastSeen is {found.get('lastSeen')}")
        (await _show(who, own, isActive=True)).expect(204)
        with run.verdict("PRES-STATUS-04"):
            for chosen, shown in (("away", "away"), ("auto", "online")):
                (await who.put("/presence/me", {"status": chosen})).expect(200, 204)
                found = (await _asked(run.v, who.user_id))[who.user_id]
                require(found["status"] == shown, f"with {chosen} the status is {found['status']}")
        with run.verdict("PRES-STATUS-03"):
            if levels:
                paused = {"pausedUntil": int(time() * 1000) + 3_600_000}
                for settings, is_paused in ((paused, True), ({"pausedUntil": None}, False)):
                    (await who.put("/me/notifications", settings)).expect(200)
                    found = (await _asked(run.v, who.user_id))[who.user_id]
                    require(found["status"] == "online", f"the status is {found['status']}")
                    require(bool(found.get("isDnd")) is is_paused, f"isDnd is {found.get('isDnd')}")
        with run.verdict("PRES-HIDE-03"):
            if levels:
                (await who.put("/me/notifications", {"sharePresence": False})).expect(200)
                found = (await _asked(run.v, who.user_id))[who.user_id]
                require(found["status"] == "offline" and "lastSeen" not in found, f"it tells {found}")
    with run.verdict("PRES-LIST-02"):
        many = ",".join(unknown(run) + str(number) for number in range(201))
        (await run.v.get(f"/presence?userIds={many}")).error(400)


@presence.scenario("PRES-WATCH-01")
async def a_channel_is_watched(run: Run) -> None:
    """Watch a channel that one is not in, and a private one, by streams of what one is in."""
    if not run.announced.version("membership"):
        return
    open_to_all, other = await make_public(run), await make_public(run)
    async with run.listen(run.w, query="scope=joined") as watching:
        watched = [str(open_to_all["id"])]
        if run.announced.version("private-channels"):
            watched.append(str((await make_private(run, run.a))["id"]))
        if (await _show(run.w, watching, watch=watched)).status != 204:
            (await _show(run.w, watching, watch=watched[:1])).expect(204)
        with run.verdict("PRES-WATCH-01"):
            for place in (*watched[1:], str(other["id"]), watched[0]):
                said = str((await run.post(run.a, place))["id"])
            await watching.expect("NEW_MESSAGE", id=said, seconds=run.wait(5))
            places = {one.payload["channelId"] for one in watching.since(0, "NEW_MESSAGE")}
            require(places == {watched[0]}, "it was told of others than what it watches")


@presence.scenario("PRES-TOLD-01")
async def somebody_is_watched(run: Run) -> None:
    """Name a user on one stream and not on another; then they come."""
    who = await run.new_user(name="who is watched")
    async with (
        run.listen(run.v, query="ephemeral=presence") as watching,
        run.listen(run.w, query="ephemeral=presence") as other,
        run.listen(run.v) as silent,
    ):
        (await _show(run.v, watching, presenceOf=[who.user_id])).expect(204)
        async with run.listen(who) as own:
            (await _show(who, own, isActive=True)).expect(204)
            with run.verdict("PRES-TOLD-01"):
                # Nothing is told for 10 seconds after a server has started.
                event = await watching.expect(
                    "PRESENCE_UPDATE", seconds=run.wait(20), userId=who.user_id, status="online"
                )
                require(not event.id, "it has an id")
                await run.fence(watching, other, silent)
                for observer in (other, silent):
                    heard = observer.since(0, "PRESENCE_UPDATE", userId=who.user_id)
                    require(not heard, f"{observer.name} was told, who did not name them")


@typing.scenario("TYPING-TOLD-01", "TYPING-OFTEN-01", "TYPING-SEEN-01")
async def somebody_types(run: Run) -> None:
    """Type in a channel that another user watches."""
    channel = await run.channel()
    async with (
        run.listen(run.u, query="ephemeral=typing") as typist,
        run.listen(run.v, query="ephemeral=typing") as watching,
        run.listen(run.a, query="ephemeral=typing") as idle,
    ):
        for asker, stream in ((run.u, typist), (run.v, watching)):
            (await _show(asker, stream, watch=[channel])).expect(204)
        with run.verdict("TYPING-TOLD-01"):
            (await run.u.post(at("places", channel, "typing"), {"isTyping": True})).expect(204)
            event = await watching.expect(
                "TYPING", seconds=run.wait(6), placeId=channel, userId=run.u.user_id
            )
            require(not event.id, "it has an id")
        with run.verdict("TYPING-OFTEN-01"):
            (await run.u.post(at("places", channel, "typing"), {"isTyping": True})).expect(204)
            await run.fence(watching)
            times = len(watching.since(0, "TYPING", placeId=channel))
            require(times == 1, f"within a moment it was told {times} times")
        with run.verdict("TYPING-TOLD-01"):
            await run.fence(typist, watching, idle)
            for observer in (typist, idle):
                heard = [one for one in observer.since(0, "TYPING") if one.payload.get("placeId") == channel]
                require(not heard, f"{observer.name} was told")
        with run.verdict("TYPING-SEEN-01"):
            (await run.u.post(at("places", unknown(run), "typing"), {"isTyping": True})).expect(404)


@typing.scenario("TYPING-TOLD-02", "TYPING-OFTEN-02", "TYPING-HIDE-02")
async def somebody_types_a_reply(run: Run) -> None:
    """Type in a thread, go on with it, and do so as one who does not share it."""
    channel = await run.channel()
    parent, target = str((await run.post(run.u, channel))["id"]), at("places", channel, "typing")
    async with run.listen(run.v, query="ephemeral=typing") as watching:
        (await _show(run.v, watching, watch=[channel])).expect(204)

        async def types(who: Actor, **more: Any) -> None:
            (await who.post(target, {"isTyping": True, **more})).expect(204)

        with run.verdict("TYPING-TOLD-02"):
            now = int((await run.post(run.u, channel))["createdAt"])
            await types(run.u, threadId=parent)
            heard = (await watching.expect("TYPING", seconds=run.wait(6), userId=run.u.user_id)).payload
            require(heard.get("threadId") == parent, f"threadId is {heard.get('threadId')}")
            ahead = heard["until"] - now
            require(6_000 <= ahead <= 6_000 + run.wait(5) * 1000, f"until is {ahead} ms ahead")
        with run.verdict("TYPING-OFTEN-02"):
            mark = watching.mark()

            async def is_told() -> bool:
                await types(run.u, threadId=parent)
                return bool(watching.since(mark, "TYPING", userId=run.u.user_id))

            await soon(is_told, run.wait(10), "they type for longer than 3 seconds, and it is told once")
        with run.verdict("TYPING-HIDE-02"):
            if run.announced.version("notification-levels"):
                hidden = await run.new_user(name="somebody who shares no typing")
                (await hidden.put("/me/notifications", {"shareTyping": False})).expect(200)
                for who in (hidden, run.w):
                    await types(who)
                await watching.expect("TYPING", seconds=run.wait(6), userId=run.w.user_id)
                require(not watching.since(0, "TYPING", userId=hidden.user_id), "they were seen typing")


@typing.scenario("TYPING-SEEN-02", "TYPING-HIDE-01")
async def somebody_types_unseen(run: Run) -> None:
    """Type in a private channel that somebody watches who is not in it, and as one who hides."""
    hides = run.announced.version("private-channels")
    place = str(
        (await make_private(run, run.u, run.v))["id"] if hides else await run.conversation(run.u, run.v)
    )
    async with (
        run.listen(run.v, query="ephemeral=typing") as inside,
        run.listen(run.w, query="ephemeral=typing") as outside,
    ):
        for asker, stream in ((run.v, inside), (run.w, outside)):
            await _show(asker, stream, watch=[place])
        target = at("places", place, "typing")
        with run.verdict("TYPING-SEEN-02"):
            (await run.u.post(target, {"isTyping": True})).expect(204)
            await inside.expect("TYPING", seconds=run.wait(6), placeId=place)
            (await run.w.post(target, {"isTyping": True})).error(404 if hides else 403)
            await run.fence(outside)
            require(not outside.since(0, "TYPING", placeId=place), "who does not see the place was told")
        with run.verdict("TYPING-HIDE-01"):
            if run.announced.version("presence"):
                hidden = await run.new_user(name="somebody who hides")
                channel = await run.channel()
                (await _show(run.v, inside, watch=[channel])).expect(204)
                (await hidden.put("/presence/me", {"status": "offline"})).expect(200, 204)
                for who in (hidden, run.u):
                    (await who.post(at("places", channel, "typing"), {"isTyping": True})).expect(204)
                await inside.expect("TYPING", seconds=run.wait(6), placeId=channel, userId=run.u.user_id)
                require(not inside.since(0, "TYPING", userId=hidden.user_id), "who hides was seen typing")
