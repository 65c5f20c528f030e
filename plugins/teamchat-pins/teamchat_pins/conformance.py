"""PIN: pinned messages, and who is told of them (capability pins, extension H-2).

The suite loads this by an entry point; the server never does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from teamchat_conformance.checks.steps import at, message
from teamchat_conformance.endpoints import Endpoint
from teamchat_conformance.expect import require, told
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


@area.scenario(
    "PIN-ADD-01", "PIN-ADD-02", "PIN-ADD-03", "PIN-DEL-01", "PIN-LIST-01", "PIN-LIST-02", "PIN-TOLD-01"
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
            await observer.expect("MESSAGE_UNPINNED", messageId=first, by=run.w.user_id)
    thread = at("messages", first, "thread")
    reply = told(await run.v.post(thread, {"content": "yes"}), "reply")["id"]
    with run.verdict("PIN-ADD-03"):
        (await run.u.post(at("messages", reply, "pin"))).expect(200)
        require(await _pins(run, channel) == [reply, second], "the reply is not among the pins")
    with run.verdict("PIN-LIST-02"):
        (await run.u.delete(at("messages", second))).expect(200)
        require(await _pins(run, channel) == [reply], "a deleted message is pinned still")


async def _message(run: Run, channel: str, id: str) -> dict[str, Any]:
    return await message(run.w, channel, id)


async def _pins(run: Run, channel: str) -> list[str]:
    listed = (await run.w.get(at("channels", channel, "pins"))).ok()["messages"]
    return [str(one["id"]) for one in listed]
