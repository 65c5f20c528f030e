"""ARCH: channels that are read and no more written (extensions, part B, capability archive)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teamchat_conformance.checks.places import (
    FIELDS,
    KNOWN,
    Channel,
    contents,
    forget,
    listed,
    make_public,
    of,
    shown,
    upload,
)
from teamchat_conformance.checks.steps import at, bot_says, items, unknown
from teamchat_conformance.endpoints import Endpoint
from teamchat_conformance.expect import milliseconds, require, told
from teamchat_conformance.fixtures import images
from teamchat_conformance.registry import Area

if TYPE_CHECKING:
    from teamchat_conformance.actors import Actor
    from teamchat_conformance.expect import Answered
    from teamchat_conformance.run import Run

area = Area(
    "ARCH",
    "Archived channels",
    capability="archive",
    endpoints=(
        Endpoint("POST", "/channels/:channelId/archive", known={"channel": KNOWN}),
        Endpoint("POST", "/channels/:channelId/unarchive", known={"channel": KNOWN}),
    ),
    fields=FIELDS,
)
_MAY = "| POST | /channels/:channelId/archive, …/unarchive | manager, admin | channel |"
_SENTENCE = "The channel is archived."
_DENIED = (
    'posting, editing, reacting, pinning, adding, joining and its webhooks get 403 "The channel is archived."'
)

area.required(
    "ARCH-SET-01",
    "B",
    "An admin archives a channel, which says so and since when, and brings it back",
    words=[_MAY],
)
area.required("ARCH-SET-02", "B", "Who is neither manager nor admin archives nothing (403)", words=[_MAY])
area.required(
    "ARCH-SET-03",
    "B-6",
    "Archiving and bringing back send UPDATE_CHANNEL to who sees the channel",
    words=["archiving, unarchiving and a change of privacy send UPDATE_CHANNEL to who sees the channel"],
)
area.recommended("ARCH-SET-04", "D-03", "A channel that is not there is 404, to users too")
area.required(
    "ARCH-LIST-01",
    "B",
    "archived=no and archived=only list the others and these; without it, both",
    words=["Query `archived` = `no`, `only` (default: both, flagged)"],
)
area.required(
    "ARCH-READ-01",
    "B-6",
    "Its messages, threads and images are read",
    words=["whoever sees it reads and searches it"],
)
for _number, _what in enumerate(
    (
        "Posting and replying are",
        "Editing is",
        "Reacting is",
        "Its webhooks are",
        "Adding and joining are",
        "Uploading is",
    ),
    1,
):
    area.required(
        f"ARCH-DENY-{_number:02}",
        "B-6",
        f'{_what} refused with 403 "The channel is archived."',
        words=[_DENIED],
    )
area.required("ARCH-DENY-07", "B-6", "What is refused changes nothing and is told to nobody", words=[_DENIED])
area.required(
    "ARCH-DEL-01",
    "B-6",
    "Deleting what one may delete works",
    words=["deleting what one may delete still works"],
)
area.required("ARCH-BACK-01", "B", "Brought back, it is written again", words=[_MAY])


def _refused(answer: Answered) -> None:
    answer.error(403)
    if answer.json["error"] != _SENTENCE:
        raise answer.miss(f"expected the sentence {_SENTENCE!r}")


async def _channel(run: Run) -> Channel:
    """Make a channel, that nobody is in but admin A where there is membership."""
    return await make_public(run) if run.announced.version("membership") else {"id": await run.channel()}


async def _shown(run: Run, who: Actor, channel: Channel) -> Channel:
    """Return a channel as somebody sees it: by its id where there is membership, else as it is listed."""
    if run.announced.version("membership"):
        return await shown(who, channel)
    there = await items(who, "/channels", "channels")
    return next((one for one in there if one.get("id") == channel["id"]), {})


@area.scenario("ARCH-SET-01", "ARCH-SET-02", "ARCH-SET-03", "ARCH-SET-04", "ARCH-LIST-01")
async def a_channel_is_archived(run: Run) -> None:
    made, other = await _channel(run), await _channel(run)
    async with run.listen(run.w) as observer:
        with run.verdict("ARCH-SET-02"):
            for verb in ("archive", "unarchive"):
                (await run.u.post(of(made, verb))).error(403)
            require(not (await _shown(run, run.u, made)).get("isArchived"), "it was refused, and is archived")
        with run.verdict("ARCH-SET-01"):
            changed = told(await run.a.post(of(made, "archive")), "channel")
            for one in (changed, await _shown(run, run.u, made)):
                require(one.get("isArchived") is True, "it does not say that it is archived")
                require(milliseconds(one.get("archivedAt")), f"archivedAt is {one.get('archivedAt')!r}")
        with run.verdict("ARCH-LIST-01"):
            lists = {
                query: await listed(run.u, **({"archived": query} if query else {}))
                for query in ("", "no", "only")
            }
            there = {query: [one["id"] in found for one in (made, other)] for query, found in lists.items()}
            wanted = {"": [True, True], "no": [False, True], "only": [True, False]}
            require(there == wanted, f"whether the archived and the other are listed is {there}")
        with run.verdict("ARCH-SET-01"):
            back = told(await run.a.post(of(made, "unarchive")), "channel")
            for one in (back, await _shown(run, run.u, made)):
                require(not one.get("isArchived") and not one.get("archivedAt"), "it is archived still")
        with run.verdict("ARCH-SET-03"):
            await run.fence(observer)
            said = [
                bool(event.payload.get("isArchived"))
                for event in observer.since(0, "UPDATE_CHANNEL", id=made["id"])
            ]
            require(said == [True, False], f"what UPDATE_CHANNEL tells is isArchived {said}")
    with run.verdict("ARCH-SET-04"):
        for verb in ("archive", "unarchive"):
            for who in (run.a, run.u):
                (await who.post(at("channels", unknown(run), verb))).error(404)


@area.scenario(
    "ARCH-READ-01", *(f"ARCH-DENY-{number:02}" for number in range(1, 8)), "ARCH-DEL-01", "ARCH-BACK-01"
)
async def an_archived_channel_is_read_alone(run: Run) -> None:
    made = await _channel(run)
    id, words = str(made["id"]), [run.text() for _ in range(3)]
    first = str((await run.post(run.u, id, words[0]))["id"])
    second = str((await run.post(run.u, id, words[1]))["id"])
    reply = str((await run.reply(run.u, first))["reply"]["id"])
    (await run.u.post(f"/messages/{first}/reactions", {"reaction": "ok"})).expect(200)
    image, hook = await upload(run.u, made), await run.webhook(id)
    (await run.a.post(of(made, "archive"))).expect(200)
    never = {"content": words[2]}
    async with run.listen(run.w) as observer:
        with run.verdict("ARCH-DENY-01"):
            for who in (run.u, run.a):
                _refused(await who.post(of(made, "messages"), never))
                _refused(await who.post(f"/messages/{first}/thread", never))
        with run.verdict("ARCH-DENY-02"):
            _refused(await run.u.put(f"/messages/{first}", never))
            _refused(await run.u.put(f"/messages/{first}/thread/{reply}", never))
        with run.verdict("ARCH-DENY-03"):
            for target in (first, reply):
                _refused(await run.v.post(f"/messages/{target}/reactions", {"reaction": "no"}))
        with run.verdict("ARCH-DENY-04"):
            _refused(await bot_says(run, hook, words[2]))
        with run.verdict("ARCH-DENY-05"):
            if run.announced.version("membership"):
                _refused(await run.a.post(of(made, "members"), {"userIds": [run.v.user_id]}))
                _refused(await run.v.post(of(made, "join")))
        with run.verdict("ARCH-DENY-06"):
            picture = {"filename": "one.png", "image": images.encoded(images.png())}
            _refused(await run.u.post(of(made, "messages", "image"), picture))
        with run.verdict("ARCH-DENY-07"):
            await run.fence(observer)
            heard = [event.type for event in observer.events if id in event.data or first in event.data]
            require(not heard, f"it was refused, and told: {', '.join(heard)}")
            require(await contents(run.u, made) == words[:2], "it was refused, and has changed the messages")
    with run.verdict("ARCH-READ-01"):
        require(await contents(run.v, made) == words[:2], "its messages are not read")
        thread = (await run.v.get(f"/messages/{first}/thread")).ok()["replies"]
        require([one["id"] for one in thread] == [reply], "its thread is not read")
        (await run.v.get(of(made, "messages", "image", image))).expect(200)
    with run.verdict("ARCH-DEL-01"):
        (await run.u.delete(f"/messages/{second}")).expect(200)
        (await run.a.delete(f"/messages/{first}/thread/{reply}")).expect(200)
        require(await contents(run.u, made) == words[:1], "what was deleted is there")
    with run.verdict("ARCH-BACK-01"):
        (await run.a.post(of(made, "unarchive"))).expect(200)
        (await run.u.post(of(made, "messages"), {"content": words[2]})).expect(200)
        (await bot_says(run, hook)).expect(200)


area.required(
    "ARCH-HIDE-01",
    "X-3",
    "An unseen channel is archived by nobody: 404, admins included",
    words=["Admins are no exception on ordinary endpoints"],
)


@area.scenario("ARCH-HIDE-01")
async def what_is_hidden_is_not_archived(run: Run) -> None:
    with run.verdict("ARCH-HIDE-01"):
        if not run.announced.version("private-channels"):
            (await run.a.post(at("channels", unknown(run), "archive"))).error(404)
            return
        made = told(await run.u.post("/private-channels", {"name": run.text()}), "channel")
        forget(run, str(made["id"]))
        for who in (run.a, run.w):
            (await who.post(of(made, "archive"))).error(404)
        (await run.u.post(of(made, "archive"))).expect(200)
        require((await _shown(run, run.u, made)).get("isArchived") is True, "its manager has not archived it")
