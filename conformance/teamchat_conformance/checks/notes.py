"""NOTE: one's own notes (extensions, part C, capability notes)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teamchat_conformance.checks.places import (
    CHANNEL,
    FIELDS,
    KNOWN,
    Channel,
    contents,
    like_nothing,
    listed,
    of,
    of_channel,
    of_message,
    pages,
    require_silence,
    roles,
)
from teamchat_conformance.checks.steps import at, together
from teamchat_conformance.endpoints import Endpoint
from teamchat_conformance.expect import boolean, require, told
from teamchat_conformance.registry import Area

if TYPE_CHECKING:
    from teamchat_conformance.actors import Actor
    from teamchat_conformance.run import Run

_AT = "/me/notes"
area = Area(
    "NOTE",
    "Notes",
    capability="notes",
    endpoints=(Endpoint("PUT", _AT, known={"channel": KNOWN, "isNew": None}),),
    fields=FIELDS,
)
_NOT = (
    "DELETE /channels/:id, archive, privacy, roles, webhooks and `/admin/channels/:id/enter` of one: "
    "403 to those in it, 404 to others"
)

area.required(
    "NOTE-NEW-01",
    "C",
    "One's notes are a private channel of kind notes, with oneself in it",
    words=['notes are one of `kind: "notes"` with one member'],
)
area.required(
    "NOTE-NEW-02",
    "C",
    "Asked for again, also at once, they are the same and not new",
    words=["| PUT | /me/notes | none → channel, isNew |"],
)
area.required(
    "NOTE-NEW-03",
    "C",
    "Everybody has notes of their own",
    words=["| PUT | /me/notes | none → channel, isNew |"],
)
area.required(
    "NOTE-USE-01",
    "X-2",
    "The owner writes and reads there, and is told of it",
    words=["| notes | the owner | the first |"],
)
area.required(
    "NOTE-HIDE-01",
    "X-3",
    "To others, admins included, they are as a channel nobody ever had",
    words=["The answer equals that for an id nobody ever had"],
)
area.required("NOTE-HIDE-02", "X-5", "Nobody else is told of what happens there", words=["the members then"])
area.required(
    "NOTE-ADD-01",
    "C-6, C-3",
    "Nobody can be added (403)",
    words=["Notes: nobody can be added.", "on notes 403"],
)
area.required(
    "NOTE-DENY-01",
    "C-8",
    "Deleting, archiving, privacy, roles, webhooks and entering are 403 to the owner",
    words=[_NOT],
)
area.required(
    "NOTE-DENY-02",
    "B-12, C-8",
    "GET /admin/channels lists no notes, and DELETE there is 404",
    words=["never kinds `group` and `notes`", "DELETE /admin/channels/:id of a group or of notes: 404"],
)


async def _notes(who: Actor) -> Channel:
    return told(await who.put(_AT), "channel")


@area.scenario("NOTE-NEW-01", "NOTE-NEW-02", "NOTE-NEW-03")
async def notes_are_made(run: Run) -> None:
    one, two = await run.new_user(name="who notes"), await run.new_user(name="another")
    with run.verdict("NOTE-NEW-02"):
        answers = [answer.ok() for answer in await together(one.put(_AT), one.put(_AT), one.put(_AT))]
        require(len({answer["channel"]["id"] for answer in answers}) == 1, "asked at once, they are several")
        require(sum(answer["isNew"] for answer in answers) == 1, "they are not new once")
    with run.verdict("NOTE-NEW-01"):
        made = (await one.put(_AT)).shape({"channel": CHANNEL, "isNew": boolean})["channel"]
        kind = {key: made.get(key) for key in ("kind", "isPrivate")}
        require(kind == {"kind": "notes", "isPrivate": True}, f"they are {kind}")
        require((await roles(one, made)).keys() == {one.user_id}, "somebody else is in them")
        require(made["id"] in await listed(one), "they are not listed to their owner")
    with run.verdict("NOTE-NEW-02"):
        again = (await one.put(_AT)).ok()
        require(
            again["channel"]["id"] == made["id"] and again["isNew"] is False,
            "asked for again, they are others",
        )
    with run.verdict("NOTE-NEW-03"):
        other = (await two.put(_AT)).ok()
        require(
            other["channel"]["id"] != made["id"] and other["isNew"] is True, "two people have the same notes"
        )


@area.scenario("NOTE-USE-01", "NOTE-HIDE-01", "NOTE-HIDE-02", "NOTE-ADD-01", "NOTE-DENY-01", "NOTE-DENY-02")
async def notes_are_ones_own(run: Run) -> None:
    word = run.text("a note")
    async with run.listen(run.a) as owner, run.listen(run.w) as other, run.listen(run.b) as admin:
        made = await _notes(run.a)
        id = str(made["id"])
        said = str((await run.post(run.a, id, word))["id"])
        run.undo_with("a note", lambda: run.a.delete(f"/messages/{said}"))
        await run.fence(owner, other, admin)
        with run.verdict("NOTE-USE-01"):
            require(word in await contents(run.a, made), "the owner does not read it")
            require(owner.since(0, "NEW_MESSAGE", id=said), "the owner is not told of it")
        with run.verdict("NOTE-HIDE-02"):
            for observer in (other, admin):
                require_silence(observer, id, said, word)
    with run.verdict("NOTE-HIDE-01"):
        for who in (run.w, run.b):
            require(id not in await listed(who), f"they are listed to {who.actor}")
            for question in of_channel(run):
                await like_nothing(who, question, id)
            for question in of_message():
                await like_nothing(who, question, said)
    with run.verdict("NOTE-ADD-01"):
        (await run.a.post(of(made, "members"), {"userIds": [run.u.user_id]})).error(403)
        require(
            (await roles(run.a, made)).keys() == {run.a.user_id}, "it was refused, and somebody is in them"
        )
    with run.verdict("NOTE-DENY-01"):
        (await run.a.delete(of(made))).error(403)
        (await run.a.put(of(made, "members", run.a.user_id), {"role": "manager"})).error(403)
        (await run.a.post("/webhooks", {"name": run.text("bot"), "channelId": id})).error(403)
        if run.announced.version("archive"):
            (await run.a.post(of(made, "archive"))).error(403)
        if run.announced.version("private-channels"):
            (await run.a.put(of(made, "privacy"), {"isPrivate": False, "history": "show"})).error(403)
            (await run.a.post(at("admin", "channels", id, "enter"), {"reason": "why"})).error(403)
        require(word in await contents(run.a, made), "it was refused, and they are gone")
    with run.verdict("NOTE-DENY-02"):
        if run.announced.version("private-channels"):
            everything = [row["id"] for row in await pages(run.b, "/admin/channels", "channels", limit=200)]
            require(id not in everything, "they are listed to admins")
            for who in (run.a, run.b):
                (await who.delete(at("admin", "channels", id))).error(404)
