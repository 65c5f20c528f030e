"""MSG-IDEM: a post that is sent again under its key is the same post (decision D-07b).

A key is sent with a header that no server needs to know; one that ignores it makes
messages twice, as it would without.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from teamchat_conformance.checks.messages._area import area
from teamchat_conformance.checks.steps import at, ids, items, messages_at
from teamchat_conformance.expect import require, told

if TYPE_CHECKING:
    from teamchat_conformance.expect import Answered
    from teamchat_conformance.http import Client
    from teamchat_conformance.run import Run

area.recommended("MSG-IDEM-01", "D-07b", "The same Idempotency-Key again answers the same, and posts once")
area.recommended("MSG-IDEM-02", "D-07b", "The same Idempotency-Key with another body is refused with 400")
area.recommended("MSG-IDEM-03", "D-07b", "Under the same Idempotency-Key another user posts another message")


async def _post(who: Client, target: str, content: str, key: str) -> Answered:
    return await who.post(target, {"content": content}, headers={"Idempotency-Key": key})


@area.scenario("MSG-IDEM-01", "MSG-IDEM-02", "MSG-IDEM-03")
async def a_post_is_sent_again(run: Run) -> None:
    channel = await run.channel()
    parent = (await run.post(run.u, channel))["id"]
    talk = await run.conversation(run.u, run.v)
    places = (
        (messages_at(channel), "messages", "message"),
        (at("messages", parent, "thread"), "replies", "reply"),
        (at("conversations", talk, "messages"), "messages", "message"),
    )
    for target, many, one in places:
        key, content = secrets.token_hex(16), run.text()
        async with run.listen(run.v) as stream:
            first = told(await _post(run.u, target, content, key), one)
            with run.verdict("MSG-IDEM-01"):
                again = told(await _post(run.u, target, content, key), one)
                require(again["id"] == first["id"], "the same key made another message")
                await run.fence(stream)
                heard = [event for event in stream.events if content in event.data]
                require(len(heard) == 1, f"of one message {len(heard)} events came")
        with run.verdict("MSG-IDEM-02"):
            before = await items(run.u, target, many)
            (await _post(run.u, target, run.text(), key)).error(400)
            require(await items(run.u, target, many) == before, "what was refused has changed the list")
        with run.verdict("MSG-IDEM-01"):
            require(_times(content, await items(run.v, target, many)) == 1, "the message is listed twice")
        with run.verdict("MSG-IDEM-03"):
            other = told(await _post(run.v, target, content, key), one)
            require(other["id"] != first["id"], "another user was answered the first one's message")
            require(other["id"] in ids(await items(run.u, target, many)), "another user's message is lost")


def _times(content: str, listed: list[dict[str, Any]]) -> int:
    return sum(one.get("content") == content for one in listed)
