"""CONV-NEW, CONV-LIST, CONV-USER: two people have one conversation, and each sees it from their side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from teamchat_conformance.checks.conversations._area import area
from teamchat_conformance.checks.steps import (
    at,
    each_bad,
    ids,
    is_gone,
    item,
    items,
    no_failure,
    summary,
    together,
    unknown,
    wrong_values,
)
from teamchat_conformance.expect import Answered, array, boolean, check_shape, milliseconds, require, text
from teamchat_conformance.verdicts import note

if TYPE_CHECKING:
    from teamchat_conformance.actors import Actor
    from teamchat_conformance.run import Run

_ROUNDS = 20
_SLACK_MILLISECONDS = 1_000

CONVERSATION = {"id": text, "participants": array(text), "otherUser": {"id": text, "userName": text}}
"""The fields of a conversation (interface, part 2, Conversation)."""

area.required("CONV-NEW-01", "§4 Conversations", "Opening one answers 200, the conversation, isNew true")
area.required("CONV-NEW-02", "§2 Conversation", "Its participants are the two, and no one else")
area.required("CONV-NEW-03", "§2 Conversation", "otherUser is the one who was named")
area.required("CONV-NEW-04", "§4 Conversations", "Opening it again gives the same one, isNew false")
area.required("CONV-NEW-05", "§4 Conversations", "Opening it from the other side gives the same one")
area.required("CONV-NEW-06", "§7", "A conversation with nobody is refused with 404")
area.required("CONV-NEW-07", "§7", "A targetUserId that is missing or no text is refused with 400")
area.recommended("CONV-NEW-08", "D-29", "A conversation with oneself is refused with 400")
area.required("CONV-NEW-09", "§4 Conversations", "Both sides opening one at once get one, new to one of them")
area.required("CONV-NEW-10", "§4 Conversations", "Another pair has another conversation")
area.required("CONV-LIST-01", "§4 Conversations", "The list answers 200 with one's conversations")
area.required(
    "CONV-LIST-02", "§4 Conversations", "Conversations of others are in nobody's list, not even an admin's"
)
area.required("CONV-LIST-03", "§2 Conversation", "In the list too, otherUser is the other one for each")
area.required("CONV-LIST-04", "§2 Conversation", "lastMessageAt is the time of the last message")
area.recommended("CONV-LIST-05", "D-29", "Before the first message lastMessageAt is null")
area.recommended("CONV-LIST-06", "D-29", "The conversation spoken in last comes first")
area.recommended("CONV-USER-01", "D-22", "A conversation outlives the removal of the other one")


async def _open(actor: Actor, other: Actor) -> Answered:
    return await actor.post("/conversations", {"targetUserId": other.user_id})


async def _listed(actor: Actor, id: str) -> dict[str, Any]:
    return await item(actor, "/conversations", "conversations", id)


def _names(other: Actor) -> dict[str, str]:
    return {"id": other.user_id, "userName": other.user_name}


@area.scenario(
    "CONV-NEW-01", "CONV-NEW-02", "CONV-NEW-03", "CONV-NEW-04", "CONV-NEW-05", "CONV-NEW-10", "CONV-LIST-01",
    "CONV-LIST-02", "CONV-LIST-03", "CONV-LIST-04", "CONV-LIST-05", "CONV-LIST-06",
)  # fmt: skip
async def two_people_find_each_other(run: Run) -> None:
    one, two = await run.new_user(name="one of two"), await run.new_user(name="the other of two")
    answer = await _open(one, two)
    with run.verdict("CONV-NEW-01"):
        answer.expect(200).shape({"conversation": CONVERSATION, "isNew": True})
    made = answer.shape({"conversation": CONVERSATION, "isNew": boolean})["conversation"]
    with run.verdict("CONV-NEW-02"):
        require(sorted(made["participants"]) == sorted((one.user_id, two.user_id)), "participants are others")
    with run.verdict("CONV-NEW-03"):
        answer.shape({"conversation": {"otherUser": _names(two)}})
    with run.verdict("CONV-NEW-04"):
        (await _open(one, two)).expect(200).shape({"conversation": {"id": made["id"]}, "isNew": False})
    with run.verdict("CONV-NEW-05"):
        seen = {"id": made["id"], "otherUser": _names(one)}
        (await _open(two, one)).expect(200).shape({"conversation": seen, "isNew": False})
    third = await run.conversation(one, run.w)
    with run.verdict("CONV-NEW-10"):
        require(third != made["id"], "two pairs of people were given one conversation")
    with run.verdict("CONV-LIST-01"):
        (await one.get("/conversations")).expect(200).shape({"conversations": array(CONVERSATION)})
        await _listed(one, made["id"])
    with run.verdict("CONV-LIST-02"):
        for outsider in (run.w, run.a):
            listed = ids(await items(outsider, "/conversations", "conversations"))
            require(made["id"] not in listed, f"{outsider.actor} sees a conversation of others")
    with run.verdict("CONV-LIST-03"):
        for actor, other in ((one, two), (two, one)):
            wrong = check_shape(
                await _listed(actor, made["id"]), {"otherUser": _names(other)}, "the conversation"
            )
            require(not wrong, wrong)
    with run.verdict("CONV-LIST-05"):
        quiet = await _listed(one, made["id"])
        require(quiet.get("lastMessageAt") is None, f"lastMessageAt is {quiet.get('lastMessageAt')!r}")
        if "lastMessageAt" not in quiet:
            note("lastMessageAt is missing where null is the strict form")
    await _the_last_spoken_in(run, one, made["id"], third)


async def _the_last_spoken_in(run: Run, one: Actor, first: str, second: str) -> None:
    with run.verdict("CONV-LIST-04"):
        said = await one.post(at("conversations", first, "messages"), {"content": run.text()})
        sent_at = said.expect(200).shape({"message": {"createdAt": milliseconds}})["message"]["createdAt"]
        last = (await _listed(one, first)).get("lastMessageAt")
        near = isinstance(last, int) and abs(last - sent_at) <= _SLACK_MILLISECONDS
        require(near, f"lastMessageAt is {last!r}, the message's createdAt {sent_at}")
    with run.verdict("CONV-LIST-06"):
        for spoken_in, other in ((second, first), (first, second)):
            await run.direct(one, spoken_in)
            order = ids(await items(one, "/conversations", "conversations"))
            require(
                order == [spoken_in, other], "the conversation spoken in last is not the first of the list"
            )


@area.scenario("CONV-NEW-06", "CONV-NEW-07", "CONV-NEW-08")
async def nobody_to_talk_to(run: Run) -> None:
    with run.verdict("CONV-NEW-06"):
        is_gone(await run.u.post("/conversations", {"targetUserId": unknown(run)}))
    with run.verdict("CONV-NEW-07"):
        someone = await run.new_user()
        bodies = [{}, *wrong_values("targetUserId")]
        await each_bad(lambda body: someone.post("/conversations", body), bodies)
    with run.verdict("CONV-NEW-08"):
        (await _open(run.u, run.u)).error(400)


@area.scenario("CONV-NEW-09")
async def both_open_one_at_once(run: Run) -> None:
    people = [run.v, run.w, run.b, *[await run.new_user(name=f"user {n} of a circle") for n in range(4)]]
    pairs = [(one, two) for n, one in enumerate(people) for two in people[:n]][-_ROUNDS:]
    with run.verdict("CONV-NEW-09"):
        for one, two in pairs:
            known = ids(await items(one, "/conversations", "conversations"))
            answers = await together(_open(one, two), _open(two, one))
            told = [
                answer.expect(200).shape({"conversation": {"id": text}, "isNew": boolean})
                for answer in answers
            ]
            made = {each["conversation"]["id"] for each in told}
            require(len(made) == 1, "opened from both sides at once, a pair has two conversations")
            new = [each["isNew"] for each in told].count(True)
            require(new == 0 if made <= set(known) else new == 1, f"isNew was true {new} times for a pair")


@area.scenario("CONV-USER-01")
async def the_other_one_is_removed(run: Run) -> None:
    leaver = await run.new_user(name="one who is removed")
    conversation = await run.conversation(run.u, leaver)
    said = await run.direct(leaver, conversation)
    (await run.a.delete(at("users", leaver.user_id))).expect(200)
    with run.verdict("CONV-USER-01"):
        target = at("conversations", conversation, "messages")
        (await run.u.get("/conversations")).expect(200).shape({"conversations": array(CONVERSATION)})
        await _listed(run.u, conversation)
        kept = await item(run.u, target, "messages", said["id"])
        require(
            kept.get("content") == said.get("content"), "the message of one who was removed came back changed"
        )
        answer = no_failure(await run.u.post(target, {"content": run.text()}))
        if answer.status != 200:
            note(f"posting to one who was removed: {summary(answer)}")
