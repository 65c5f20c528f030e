"""PIN: pinned messages, and who is told of them (capability pins, extension H-2).

The suite loads this by an entry point; the server never does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from teamchat_conformance.checks.places import Question, like_nothing, require_silence, with_past
from teamchat_conformance.checks.steps import at, hidden, message
from teamchat_conformance.endpoints import Endpoint
from teamchat_conformance.expect import milliseconds, require, told
from teamchat_conformance.registry import Area

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

SPEC = "H-2"
PIN = {"id": None, "pinnedAt": None, "pinnedBy": None}

area = Area(
    "PIN",
    "Pinned messages",
    capability="pins",
    endpoints=(
        Endpoint("POST", "/messages/:messageId/pin", known={"message": PIN}),
        Endpoint("DELETE", "/messages/:messageId/pin", known={"message": PIN}),
    ),
    fields=frozenset({"pinnedAt", "pinnedBy"}),
)
area.required(
    "PIN-ADD-01",
    SPEC,
    "A pinned message has pinnedAt and pinnedBy, and its updatedAt stays",
    words=["`updatedAt` is untouched", "Message: optional `pinnedAt`, `pinnedBy`"],
)
area.required(
    "PIN-ADD-02",
    SPEC,
    "Pinning what is pinned answers 200 and changes nothing",
    words=["Pinning what is pinned, unpinning what is not: 200, nothing changes, no event"],
)
area.required("PIN-ADD-03", SPEC, "Replies may be pinned", words=["Replies may be pinned"])
area.required(
    "PIN-DEL-01",
    SPEC,
    "Unpinning takes the fields away; unpinning again answers 200",
    words=["Pinning what is pinned, unpinning what is not: 200, nothing changes, no event"],
)
area.required(
    "PIN-LIST-01",
    SPEC,
    "The pins of a channel are listed, the newest pin first",
    words=["messages, newest pin first (v3's path)"],
)
area.required(
    "PIN-LIST-02",
    SPEC,
    "A message that is deleted is pinned no longer",
    words=["messages, newest pin first (v3's path)"],
)
area.required(
    "PIN-TOLD-01",
    SPEC,
    "Who sees the place is told that a message is pinned, and that it is no longer",
    words=["Events MESSAGE_PINNED, MESSAGE_UNPINNED {messageId, placeId, by, at} to who sees the place"],
)
area.required(
    "PIN-TOLD-02",
    SPEC,
    "Nobody else is told, who came after the message neither",
    words=["Events MESSAGE_PINNED, MESSAGE_UNPINNED {messageId, placeId, by, at} to who sees the place"],
)
area.required(
    "PIN-TOLD-03",
    SPEC,
    "Pinning what is pinned, and unpinning what is not, tells nobody",
    words=["Pinning what is pinned, unpinning what is not: 200, nothing changes, no event"],
)
area.required(
    "PIN-MOST-01",
    SPEC,
    "A place has 100 pins, and one more is 400",
    words=["at most 100 a place (400 beyond)"],
)
area.required(
    "PIN-HIDE-01",
    "X-3",
    "What one does not see is pinned by nobody, and its pins are as those of nothing",
    words=["The answer equals that for an id nobody ever had"],
)
area.required(
    "PIN-HIDE-02",
    "X-2",
    "Who does not see a message of a place does not find it among the pins there",
    words=["Whatever hangs on", "pin, quote, revision", "is visible exactly when the message is"],
)
area.required(
    "PIN-ARCH-01",
    "B-6",
    "In an archived channel pinning is 403",
    words=["editing, reacting, pinning, adding"],
)


@area.scenario(
    *("PIN-ADD-01", "PIN-ADD-02", "PIN-ADD-03", "PIN-DEL-01", "PIN-LIST-01", "PIN-LIST-02"),
    *("PIN-TOLD-01", "PIN-TOLD-03"),
)
async def messages_are_pinned(run: Run) -> None:
    """Pin two messages and a reply of a channel, unpin one, and delete another."""
    channel = await run.channel()
    first, second = [(await run.post(run.u, channel))["id"] for _ in range(2)]
    async with run.listen(run.w) as observer:
        pinned = told(await run.v.post(at("messages", first, "pin")), "message")
        with run.verdict("PIN-TOLD-01"):
            heard = (await observer.expect("MESSAGE_PINNED", messageId=first)).payload
            require(heard["placeId"] == channel, "placeId is not the channel's id")
            require(heard["by"] == run.v.user_id, "by is not who has pinned it")
            require(milliseconds(heard["at"]), "at is not when")
        with run.verdict("PIN-ADD-01"):
            shown = await _message(run, channel, first)
            require(shown.get("pinnedBy") == run.v.user_id, "the message does not say who has pinned it")
            require(shown.get("pinnedAt") == pinned["pinnedAt"], "the message does not say when")
            require(shown["updatedAt"] is None, "updatedAt was touched")
        with run.verdict("PIN-ADD-02"):
            again = told(await run.u.post(at("messages", first, "pin")), "message")
            require(again == pinned, "pinning again has changed the pin")
        (await run.u.post(at("messages", second, "pin"))).expect(200)
        with run.verdict("PIN-LIST-01"):
            require(await _pins(run, channel) == [second, first], "the newest pin is not the first")
        with run.verdict("PIN-DEL-01"):
            for _ in range(2):
                (await run.w.delete(at("messages", first, "pin"))).expect(200)
            require("pinnedAt" not in await _message(run, channel, first), "the message is pinned still")
        with run.verdict("PIN-TOLD-01"):
            heard = (await observer.expect("MESSAGE_UNPINNED", messageId=first, by=run.w.user_id)).payload
            require(heard["placeId"] == channel, "placeId is not the channel's id")
            require(milliseconds(heard["at"]), "at is not when")
        with run.verdict("PIN-TOLD-03"):
            await run.fence(observer)
            for kind in ("MESSAGE_PINNED", "MESSAGE_UNPINNED"):
                times = len(observer.since(0, kind, messageId=first))
                require(times == 1, f"{kind} came {times} times")
    thread = at("messages", first, "thread")
    reply = told(await run.v.post(thread, {"content": "yes"}), "reply")["id"]
    with run.verdict("PIN-ADD-03"):
        (await run.u.post(at("messages", reply, "pin"))).expect(200)
        require(await _pins(run, channel) == [reply, second], "the reply is not among the pins")
    with run.verdict("PIN-LIST-02"):
        (await run.u.delete(at("messages", second))).expect(200)
        require(await _pins(run, channel) == [reply], "a deleted message is pinned still")


@area.scenario("PIN-MOST-01", "PIN-ARCH-01")
async def a_channel_is_full_of_pins(run: Run) -> None:
    """Pin a hundred messages and one; unpin one; archive the channel."""
    channel = await run.channel()
    posted = [str((await run.post(run.u, channel))["id"]) for _ in range(101)]
    for one in posted[:100]:
        (await run.u.post(at("messages", one, "pin"))).expect(200)
    with run.verdict("PIN-MOST-01"):
        (await run.u.post(at("messages", posted[100], "pin"))).error(400)
        require(len(await _pins(run, channel)) == 100, "there are not the hundred that there were")
        (await run.u.delete(at("messages", posted[0], "pin"))).expect(200)
        (await run.u.post(at("messages", posted[100], "pin"))).expect(200)
    with run.verdict("PIN-ARCH-01"):
        if run.announced.version("archive"):
            (await run.a.post(at("channels", channel, "archive"))).expect(200)
            (await run.u.post(at("messages", posted[0], "pin"))).error(403)
            require(posted[0] not in await _pins(run, channel), "it was refused, and is pinned")


@area.scenario("PIN-HIDE-01", "PIN-HIDE-02", "PIN-TOLD-02")
async def what_is_hidden_is_pinned(run: Run) -> None:
    """Pin a direct message, and one of a private channel that who came later does not see either."""
    conversation = await run.conversation(run.u, run.v)
    said = str((await run.direct(run.u, conversation))["id"])
    pins, hides = at("conversations", conversation, "pins"), run.announced.version("private-channels")
    async with run.listen(run.v) as late, run.listen(run.w) as outsider:
        (await run.v.post(at("messages", said, "pin"))).expect(200)
        with run.verdict("PIN-HIDE-01"):
            (await run.w.get(pins)).error(403)
            hidden(await run.w.delete(at("messages", said, "pin")))
            require(
                [one["id"] for one in (await run.u.get(pins)).ok()["messages"]] == [said], "it is not pinned"
            )
        made, before = await with_past(run, run.u, run.v) if hides else ({}, "")
        if hides:
            (await run.u.post(at("messages", before, "pin"))).expect(200)
            with run.verdict("PIN-HIDE-01"):
                for who in (run.v, run.w, run.b):
                    for method in ("POST", "DELETE"):
                        await like_nothing(who, Question(method, "/messages/{}/pin"), before)
                for who in (run.w, run.b):
                    await like_nothing(who, Question("GET", "/channels/{}/pins"), str(made["id"]))
            with run.verdict("PIN-HIDE-02"):
                for asker, found in ((run.u, [before]), (run.v, [])):
                    listed = (await asker.get(at("channels", str(made["id"]), "pins"))).ok()["messages"]
                    require([one["id"] for one in listed] == found, f"{asker.actor} finds other pins")
            (await run.u.delete(at("messages", before, "pin"))).expect(200)
        with run.verdict("PIN-TOLD-02"):
            await run.fence(late, outsider)
            require_silence(outsider, said)
            if hides:
                require_silence(outsider, before)
                require_silence(late, before)


async def _message(run: Run, channel: str, id: str) -> dict[str, Any]:
    return await message(run.w, channel, id)


async def _pins(run: Run, channel: str) -> list[str]:
    listed = (await run.w.get(at("channels", channel, "pins"))).ok()["messages"]
    return [str(one["id"]) for one in listed]
