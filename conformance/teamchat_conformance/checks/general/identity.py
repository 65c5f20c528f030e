"""GEN-HTTP-06 to -08, -24: times that are true, and ids that are each one thing's."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from teamchat_conformance.checks.general._area import area
from teamchat_conformance.checks.steps import at, item, messages_at, together
from teamchat_conformance.expect import array, require

if TYPE_CHECKING:
    from teamchat_conformance.expect import Answered
    from teamchat_conformance.http import Client
    from teamchat_conformance.run import Run

area.required("GEN-HTTP-06", "§2", "createdAt is when a thing was made, by the server's clock")
area.recommended("GEN-HTTP-07", "§2", "Ids are all different, and none comes again after a deletion")
area.recorded("GEN-HTTP-08", "§2", "Whether a conversation's id may stand in a path raw, and escaped")
area.recommended("GEN-HTTP-24", "RFC 3986 §2.4", "An id that is escaped in a path is the same id")

_BATCH = 20


def clock_offset(answer: Answered) -> float:
    """Return by how many seconds the server's clock is ahead of ours, to the second."""
    told = answer.header("date")
    try:
        return parsedate_to_datetime(told).timestamp() - time.time() if told else 0.0
    except ValueError:
        return 0.0


@area.scenario("GEN-HTTP-06")
async def times_are_true(run: Run) -> None:
    offset = clock_offset(await run.n.get("/health"))
    began = time.time() + offset
    channel_id = await run.channel()
    message = await run.post(run.u, channel_id)
    someone = await run.new_user()
    made = {
        "a channel": await item(run.u, "/channels", "channels", channel_id),
        "a message": message,
        "a reply": (await run.reply(run.v, message["id"]))["reply"],
        "a direct message": await run.direct(run.u, await run.conversation(run.u, run.v)),
        "a webhook": await run.webhook(channel_id),
        "a user": await item(run.u, "/users", "users", someone.user_id),
    }
    ended = time.time() + offset
    with run.verdict("GEN-HTTP-06"):
        for what, one in made.items():
            seconds = one["createdAt"] / 1_000
            require(
                began - 2 <= seconds <= ended + 2,
                f"createdAt of {what} is {seconds - began:.1f} s after the start of {ended - began:.1f} s",
            )


@area.scenario("GEN-HTTP-07")
async def ids_are_each_one_things(run: Run) -> None:
    channel = await run.channel()
    parent = str((await run.post(run.u, channel))["id"])
    talk = await run.conversation(run.u, run.v)
    seen = [channel, parent]

    async def make(count: int, ask: Callable[[], Awaitable[Answered]], key: str) -> list[str]:
        made: list[str] = []
        for _ in range(0, count, _BATCH):
            answers = await together(*(ask() for _ in range(_BATCH)))
            made += [str(answer.ok()[key]["id"]) for answer in answers]
        return made

    def posting(asker: Client, target: str) -> Callable[[], Awaitable[Answered]]:
        return lambda: asker.post(target, {"content": run.text()})

    posted = await make(160, posting(run.u, messages_at(channel)), "message")
    seen += posted
    seen += await make(100, posting(run.v, at("messages", parent, "thread")), "reply")
    seen += await make(60, posting(run.u, at("conversations", talk, "messages")), "message")
    seen += [str((await run.webhook(channel))["id"]) for _ in range(20)]
    seen += [await run.channel() for _ in range(20)]
    for at_once in range(0, 100, _BATCH):
        gone = posted[at_once : at_once + _BATCH]
        await together(*(run.u.delete(at("messages", one)) for one in gone))
    seen += await make(140, posting(run.u, messages_at(channel)), "message")
    with run.verdict("GEN-HTTP-07"):
        twice = sorted({one for one in seen if seen.count(one) > 1})
        require(not twice, f"of {len(seen)} ids these came twice: {', '.join(twice[:5])}")


@area.scenario("GEN-HTTP-24")
async def an_escaped_id(run: Run) -> None:
    channel = await run.channel()
    message = await run.post(run.u, channel)
    with run.verdict("GEN-HTTP-24"):
        answer = await run.u.get(f"/channels/{_escaped(channel)}/messages")
        found = answer.expect(200).shape({"messages": array()})["messages"]
        require(message["id"] in [one.get("id") for one in found], "it names another channel")


@area.scenario("GEN-HTTP-08")
async def an_id_in_a_path(run: Run) -> None:
    talk = await run.conversation(run.u, run.v)
    direct: dict[str, Any] = await run.direct(run.u, talk)
    found = {}
    for how, written in (
        ("raw", talk),
        ("escaped", quote(talk, safe="")),
        ("wholly escaped", _escaped(talk)),
    ):
        answer = await run.u.get(f"/conversations/{written}/messages")
        is_it = answer.status == 200 and direct["id"].encode() in answer.body
        found[how] = f"{answer.status}, the conversation's messages" if is_it else str(answer.status)
    run.record("GEN-HTTP-08", {"id": talk, **found})


def _escaped(text: str) -> str:
    """Return a text with every byte escaped."""
    return "".join(f"%{byte:02X}" for byte in text.encode())
