"""SAVED: messages that somebody keeps for later (capability saved, extensions H-3 and H-7).

The suite loads this by an entry point; the server never does.
"""

from __future__ import annotations

from time import time
from typing import TYPE_CHECKING, Any

from teamchat_conformance.checks.places import Question, add, like_nothing, member_at, of, with_past
from teamchat_conformance.checks.steps import at
from teamchat_conformance.endpoints import Endpoint
from teamchat_conformance.expect import require
from teamchat_conformance.registry import Area

if TYPE_CHECKING:
    from teamchat_conformance.http import Client
    from teamchat_conformance.run import Run

ITEM = {"message": None, "note": None, "savedAt": None, "remindAt": None}

area = Area(
    "SAVED",
    "Saved messages",
    capability="saved",
    endpoints=(
        Endpoint("PUT", "/me/saved/:messageId", known={"item": ITEM}),
        Endpoint("DELETE", "/me/saved/:messageId", known={"success": None}),
        Endpoint("GET", "/me/saved", known={"items": ITEM, "next": None, "asOf": None}),
    ),
)
area.required(
    "SAVED-KEEP-01",
    "H-3",
    "A message that is saved is in its user's list with its note, and in nobody else's",
    words=["items: {message, note, savedAt, remindAt}, next"],
)
area.required(
    "SAVED-KEEP-02",
    "H-3",
    "The list has what was saved last first, and is read in pages",
    words=["Saved: newest saved first"],
)
area.required(
    "SAVED-KEEP-03",
    "H-3",
    "A note of more than 500 characters is 400",
    words=["note (≤ 500), remindAt → item"],
)
area.required(
    "SAVED-KEEP-04",
    "H-3",
    "What is saved again has the note and the time that it is given then",
    words=["note (≤ 500), remindAt → item"],
)
area.required(
    "SAVED-GONE-01",
    "H-3",
    "What is saved no longer, or deleted, is not in the list",
    words=["lost sight: hidden; regained: back; deleted: gone"],
)
area.required(
    "SAVED-TOLD-01",
    "H-3",
    "The user is told of each change, and nobody else is",
    words=["Event SAVED_CHANGED to the user", "SAVED_CHANGED {messageId, saved (boolean), remindAt}"],
)
area.required(
    "SAVED-TOLD-02",
    "D-35",
    "What is as it was is told nobody",
    words=["No event is sent for a change that did not happen or was rolled back"],
)
area.required(
    "SAVED-REMIND-01",
    "H-7",
    "A reminder that is due arrives as activity",
    words=["Reminders of saved messages arrive as activity (`kind: reminder`) and push"],
)
area.required(
    "SAVED-HIDE-01",
    "X-3",
    "What one does not see is saved by nobody: it is as what is not there",
    words=["The answer equals that for an id nobody ever had"],
)
area.required(
    "SAVED-HIDE-02",
    "H-3",
    "What one sees no more is hidden, and is back when one sees it again",
    words=["per X-2 when read (lost sight: hidden; regained: back; deleted: gone)"],
)


@area.scenario("SAVED-KEEP-01", "SAVED-KEEP-02", "SAVED-KEEP-03", "SAVED-GONE-01", "SAVED-TOLD-01")
async def messages_are_kept(run: Run) -> None:
    """Save three messages of a channel, one with a note; drop one, and delete another."""
    channel = await run.channel()
    first, second, third = [(await run.post(run.u, channel))["id"] for _ in range(3)]
    async with run.listen(run.v) as user, run.listen(run.w) as other:
        item = (await run.v.put(at("me", "saved", first), {"note": "later"})).ok()["item"]
        for one in (second, third):
            (await run.v.put(at("me", "saved", one), {})).expect(200)
        with run.verdict("SAVED-KEEP-01"):
            require(item["message"]["id"] == first, "the item is of another message")
            require(item["note"] == "later", "the note is another")
            require(item["remindAt"] is None, "remindAt is not null")
            require(item in (await run.v.get(at("me", "saved"))).ok()["items"], "the item is not listed")
            require(first not in await _kept(run.w), "another user's list holds it")
        with run.verdict("SAVED-KEEP-02"):
            ours = [one for one in await _kept(run.v) if one in (first, second, third)]
            require(ours == [third, second, first], "what was saved last is not the first")
            require(await _kept(run.v, limit=1) == await _kept(run.v), "pages of one are not the same list")
        with run.verdict("SAVED-KEEP-03"):
            (await run.v.put(at("me", "saved", second), {"note": "n" * 500})).expect(200)
            (await run.v.put(at("me", "saved", second), {"note": "n" * 501})).expect(400)
        with run.verdict("SAVED-GONE-01"):
            for _ in range(2):
                (await run.v.delete(at("me", "saved", second))).expect(200)
            (await run.u.delete(at("messages", third))).expect(200)
            ours = [one for one in await _kept(run.v) if one in (first, second, third)]
            require(ours == [first], "the list holds what is gone")
        with run.verdict("SAVED-TOLD-01"):
            heard = (await user.expect("SAVED_CHANGED", messageId=first, saved=True)).payload
            require(heard["remindAt"] is None, "remindAt is not null")
            await user.expect("SAVED_CHANGED", messageId=second, saved=False)
            await run.fence(other)
            require(not other.since(0, "SAVED_CHANGED"), "another user was told")


@area.scenario("SAVED-KEEP-04", "SAVED-TOLD-01", "SAVED-TOLD-02")
async def what_is_kept_changes(run: Run) -> None:
    """Save a message, then with another note, and with a time; save it so once more, and drop it twice."""
    saved = at("me", "saved", (await run.post(run.u, await run.channel()))["id"])
    (await run.v.put(saved, {"note": "at first"})).expect(200)
    async with run.listen(run.v) as user:
        body: dict[str, Any] = {"note": "then"}
        if run.announced.version("activity"):  # in which reminders arrive
            body["remindAt"] = int(time() * 1000) + 86_400_000
        with run.verdict("SAVED-KEEP-04"):
            item = (await run.v.put(saved, body)).ok()["item"]
            listed = (await run.v.get(at("me", "saved"))).ok()["items"]
            for shown in (item, *(one for one in listed if one["message"]["id"] == item["message"]["id"])):
                require(body.items() <= shown.items(), "the note or remindAt is another")
            require(item in listed, "the list has it otherwise")
        with run.verdict("SAVED-TOLD-01"):
            about = {"messageId": item["message"]["id"], "saved": True}
            await user.expect("SAVED_CHANGED", **about, remindAt=body.get("remindAt"))
        with run.verdict("SAVED-TOLD-02"):
            (await run.v.put(saved, body)).expect(200)
            for _ in range(2):
                (await run.v.delete(saved)).expect(200)
            await run.fence(user)
            told = [event.payload["saved"] for event in user.since(0, "SAVED_CHANGED")]
            require(told == [True, False], f"of one change and a removal it is told {told}")


@area.scenario("SAVED-HIDE-01", "SAVED-HIDE-02")
async def what_is_hidden_is_kept(run: Run) -> None:
    """Save a message of a private channel, leave it, and come back."""
    said = str((await run.direct(run.u, await run.conversation(run.u, run.v)))["id"])
    with run.verdict("SAVED-HIDE-01"):
        (await run.w.put(at("me", "saved", said), {})).error(404)
    if not run.announced.version("private-channels"):
        return
    made, before = await with_past(run, run.u, run.v)
    with run.verdict("SAVED-HIDE-01"):
        for who in (run.v, run.w, run.b):
            await like_nothing(who, Question("PUT", "/me/saved/{}", {}), before)
    after = str((await run.post(run.u, str(made["id"])))["id"])
    (await run.v.put(at("me", "saved", after), {"note": run.text()})).expect(200)
    (await run.u.delete(member_at(made, run.v))).expect(200)
    with run.verdict("SAVED-HIDE-02"):
        require(after not in await _kept(run.v), "it is listed to who does not see it")
        (await run.u.put(of(made), {"historyFor": "all"})).expect(200)
        await add(run.u, made, run.v)
        require(after in await _kept(run.v), "it is seen again, and not back")


@area.scenario("SAVED-REMIND-01")
async def a_reminder_comes(run: Run) -> None:
    """Save a message with a time that is soon."""
    message = (await run.post(run.u, await run.channel()))["id"]
    async with run.listen(run.v) as user:
        with run.verdict("SAVED-REMIND-01"):
            remind_at = int(time() * 1000) + 2000
            (await run.v.put(at("me", "saved", message), {"remindAt": remind_at})).expect(200)
            heard = await user.expect("NEW_ACTIVITY", seconds=30, messageId=message)
            require(heard.payload["kind"] == "reminder", "its kind is another")
            items = (await run.v.get(at("me", "activity", kinds="reminder"))).ok()["items"]
            require(heard.payload["id"] in [one["id"] for one in items], "the activity does not hold it")


async def _kept(asker: Client, **query: Any) -> list[str]:
    found: list[str] = []
    cursor: dict[str, Any] = {}
    while True:
        page = (await asker.get(at("me", "saved", **query, **cursor))).ok()
        found += [str(one["message"]["id"]) for one in page["items"]]
        if page["next"] is None:
            return found
        cursor = {"cursor": page["next"]}
