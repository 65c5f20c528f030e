"""QUOTE: messages that quote others, and who is shown what (capability quotes, extension H-4).

The suite loads this by an entry point; the server never does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

from teamchat_conformance.checks.places import require_silence, with_past
from teamchat_conformance.checks.steps import at, message, messages_at, no_trace
from teamchat_conformance.expect import require, told
from teamchat_conformance.registry import Area

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

SPEC = "H-4"

area = Area(
    "QUOTE",
    "Quotes",
    capability="quotes",
    fields=frozenset({"quoted", "quotedMessageId"}),
)
area.required(
    "QUOTE-SAME-01",
    SPEC,
    "A message carries what it quotes of its own place, without the quote in that",
    words=["Message carries `quoted`", "(Message without its own quote)"],
)
area.required(
    "QUOTE-SAME-02",
    SPEC,
    "What is quoted is shown as it is now, and is gone when it is deleted",
    words=["The stored message holds the id and nothing else"],
)
area.required(
    "QUOTE-SAME-03",
    SPEC,
    "Replies quote and are quoted, and so are direct messages",
    words=["draft `quotedMessageId`, a message the author sees (else 400)"],
)
area.required(
    "QUOTE-OTHER-01",
    SPEC,
    "Of what stands elsewhere a message carries the id alone, and each reader asks with their own sight",
    words=["each reader asks GET /messages/:id with their own sight, and gets 404 for what they do not see"],
)
area.required(
    "QUOTE-OTHER-02",
    SPEC,
    "What not all who see the message see is not told with it, in its own place neither",
    words=["exactly if the quoted message is in the same place with the same bound for all"],
)
area.required(
    "QUOTE-ASK-01",
    SPEC,
    "What the author does not see is refused with 400, as what is not there",
    words=["a message the author sees (else 400)"],
)
area.required(
    "QUOTE-TOLD-01",
    SPEC,
    "The event of a message carries what its page does",
    words=["since pages and events are the same bytes for everyone"],
)
area.required(
    "QUOTE-TOLD-02",
    "X-15",
    "Resumed across an edit or a deletion nothing tells what was quoted, and what quotes it is there",
    words=["and where it stands as `quoted` in others' (H-4)"],
)


@area.scenario("QUOTE-SAME-01", "QUOTE-SAME-02", "QUOTE-TOLD-01")
async def messages_quote_in_their_place(run: Run) -> None:
    """Quote a message in its channel, quote that again, edit what is quoted, and delete it."""
    channel = await run.channel()
    first = await run.post(run.u, channel)
    async with run.listen(run.w) as observer:
        second = await _quote(run, channel, str(first["id"]))
        third = await _quote(run, channel, str(second["id"]))
        with run.verdict("QUOTE-SAME-01"):
            for message, quoted in ((second, first), (third, second)):
                for shown in (message, await _message(run, channel, str(message["id"]))):
                    require(shown.get("quotedMessageId") == quoted["id"], "quotedMessageId is missing")
                    require(_says(shown) == quoted["content"], "quoted is not the message")
                    require("quoted" not in shown["quoted"], "what is quoted carries its own quote")
        with run.verdict("QUOTE-TOLD-01"):
            heard = (await observer.expect("NEW_MESSAGE", id=second["id"])).payload
            require(_says(heard) == first["content"], "the event does not carry quoted")
    with run.verdict("QUOTE-SAME-02"):
        told(await run.u.put(at("messages", first["id"]), {"content": "other words"}), "message")
        shown = await _message(run, channel, str(second["id"]))
        require(_says(shown) == "other words", "quoted is not as the message is now")
        require(shown["content"] == second["content"], "the message that quotes has changed")
        (await run.u.delete(at("messages", first["id"]))).expect(200)
        shown = await _message(run, channel, str(second["id"]))
        require("quoted" not in shown, "what was deleted stands there as quoted")


@area.scenario("QUOTE-SAME-03")
async def replies_and_direct_messages_quote(run: Run) -> None:
    """Quote a message in its thread, the reply in the channel, and a direct message in its conversation."""
    channel, talk = await run.channel(), await run.conversation(run.u, run.v)
    parent, said = await run.post(run.u, channel), await run.direct(run.u, talk)
    with run.verdict("QUOTE-SAME-03"):
        quoted = parent
        for target, key in (
            (at("messages", parent["id"], "thread"), "reply"),
            (messages_at(channel), "message"),
            (at("conversations", talk, "messages"), "message"),
        ):
            body = {"content": run.text(), "quotedMessageId": quoted["id"]}
            made = told(await run.v.post(target, body), key)
            require(made.get("quotedMessageId") == quoted["id"], f"the {key} has no quotedMessageId")
            require(_says(made) == quoted["content"], f"quoted of the {key} is not the message")
            quoted = made if key == "reply" else said


@area.scenario("QUOTE-TOLD-02")
async def what_was_quoted_is_gone(run: Run) -> None:
    """Quote two messages, edit one, delete the other, and resume a stream from before."""
    channel = await run.channel()
    async with run.listen(run.w, query="lastEventId=") as observer:
        await run.fence(observer)
    said = [await run.post(run.u, channel) for _ in range(2)]
    quoting = [await _quote(run, channel, str(one["id"])) for one in said]
    told(await run.u.put(at("messages", said[0]["id"]), {"content": "other words"}), "message")
    (await run.u.delete(at("messages", said[1]["id"]))).expect(200)
    with run.verdict("QUOTE-TOLD-02"):
        async with run.listen(run.w, query=f"lastEventId={observer.last_id}") as resumed:
            await run.fence(resumed)
            require_silence(resumed, *[one["content"] for one in said])
            for one in quoting:
                await resumed.expect("NEW_MESSAGE", id=one["id"], content=one["content"])


@area.scenario("QUOTE-OTHER-01", "QUOTE-ASK-01")
async def messages_of_elsewhere_are_quoted(run: Run) -> None:
    """Quote what was said in a direct conversation in a channel, and try to as one who does not see it."""
    channel = await run.channel()
    conversation = await run.conversation(run.u, run.v)
    said = await run.direct(run.u, conversation)
    with run.verdict("QUOTE-OTHER-01"):
        message = await _quote(run, channel, str(said["id"]), by="v")
        for shown in (message, await _message(run, channel, str(message["id"]))):
            require(shown.get("quotedMessageId") == said["id"], "quotedMessageId is missing")
            require("quoted" not in shown, "what not everybody sees is shown to all")
        (await run.v.get(at("messages", said["id"]))).expect(200)
        (await run.w.get(at("messages", said["id"]))).expect(404)
    with run.verdict("QUOTE-ASK-01"):
        answers = [
            (await run.w.post(messages_at(channel), {"content": "no", "quotedMessageId": quoted})).expect(400)
            for quoted in (said["id"], str(uuid4()).replace("-", "")[:32])
        ]
        require(answers[0].json == answers[1].json, "what is not seen is answered otherwise")
        no_id = {"content": "no", "quotedMessageId": "\0"}
        (await run.v.put(at("messages", message["id"]), no_id)).expect(400)


@area.scenario("QUOTE-OTHER-02")
async def what_was_said_before_is_quoted(run: Run) -> None:
    """Quote in a private channel what was said there before somebody was added."""
    with run.verdict("QUOTE-OTHER-02"):
        if run.announced.version("private-channels"):
            made, before = await with_past(run, run.u, run.v)
            text = str((await run.u.get(at("messages", before))).ok()["message"]["content"])
            async with run.listen(run.v) as late:
                message = await _quote(run, str(made["id"]), before, by="u")
                await late.expect("NEW_MESSAGE", id=message["id"])
                require_silence(late, text)
            require("quoted" not in message, "it carries what not everybody sees who sees it")
            no_trace(await run.v.get(messages_at(str(made["id"]))), text)
            (await run.v.get(at("messages", before))).expect(404)


async def _quote(run: Run, channel: str, quoted: str, *, by: str = "v") -> dict[str, Any]:
    body = {"content": f"about {quoted[-4:]}", "quotedMessageId": quoted}
    return told(await getattr(run, by).post(messages_at(channel), body), "message")


async def _message(run: Run, channel: str, message_id: str) -> dict[str, Any]:
    return await message(run.w, channel, message_id)


def _says(message: dict[str, Any]) -> Any:
    return message.get("quoted", {}).get("content")
