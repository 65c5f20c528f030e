"""GEN-HTTP-17 to -19, -21: one connection, many at once, bodies in pieces, a burst."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from teamchat_conformance.checks.general._area import area
from teamchat_conformance.checks.steps import at, ids, messages, messages_at, together
from teamchat_conformance.expect import require
from teamchat_conformance.rawhttp import chunked, head, raw

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

area.recommended("GEN-HTTP-17", "RFC 9112 §9", "A connection serves many requests, and is closed when asked")
area.recommended("GEN-HTTP-18", "§4", "Twenty requests at once get each its own answer")
area.recommended(
    "GEN-HTTP-19", "RFC 9112 §7.1", "A body in chunks, or byte by byte, is a body like any other"
)
area.recorded("GEN-HTTP-21", "§8", "Whether there is a limit to a burst of 300 requests")


@area.scenario("GEN-HTTP-17")
async def one_connection_for_many(run: Run) -> None:
    with run.verdict("GEN-HTTP-17"):
        async with raw(run) as connection:
            target = f"{connection.prefix}/health"
            for _ in range(20):
                sent = head("GET", target, host=connection.host)
                (await connection.told("GET", "/health", sent)).expect(200)
                require(not connection.has_ended, "the connection was closed unasked")
            sent = head("GET", target, ("Connection", "close"), host=connection.host)
            (await connection.told("GET", "/health", sent)).expect(200)
            require(await connection.ended(run.wait(5)), "the connection stays open, though to be closed")


@area.scenario("GEN-HTTP-18")
async def many_at_once(run: Run) -> None:
    channels = [await run.channel() for _ in range(4)]
    posted = {channel: (await run.post(run.u, channel))["id"] for channel in channels}
    with run.verdict("GEN-HTTP-18"):
        answers = await together(*(run.u.get(messages_at(channel)) for channel in channels * 5))
        for channel, answer in zip(channels * 5, answers, strict=True):
            require(ids(answer.ok()["messages"]) == [posted[channel]], "an answer is another request's")


@area.scenario("GEN-HTTP-19")
async def bodies_in_pieces(run: Run) -> None:
    channel = await run.channel()
    target = messages_at(channel)
    await run.u.keep_good()
    given = (("Authorization", f"Bearer {run.u.token}"), ("Content-Type", "application/json"))
    with run.verdict("GEN-HTTP-19"):
        texts = [run.text("in chunks"), run.text("byte by byte"), run.text("both")]
        bodies = [json.dumps({"content": text}).encode() for text in texts]
        async with raw(run, run.u.actor) as connection:
            path = connection.prefix + target
            in_chunks = head("POST", path, *given, ("Transfer-Encoding", "chunked"), host=connection.host)
            length = ("Content-Length", str(len(bodies[1])))
            at_once = head("POST", path, *given, length, host=connection.host) + bodies[1]
            sent = [
                [in_chunks, chunked(bodies[0])],
                [at_once[place : place + 1] for place in range(len(at_once))],
                [in_chunks, *(bytes([one]) for one in chunked(bodies[2], 1))],
            ]
            for text, body, pieces in zip(texts, bodies, sent, strict=True):
                answer = await connection.told("POST", target, pieces, body=body)
                answer.expect(200).shape({"message": {"content": text}})
        found = [one["content"] for one in await messages(run.v, channel)]
        require(sorted(found) == sorted(texts), "what was sent in pieces is not what is read")


@area.scenario("GEN-HTTP-21", last=True)
async def a_burst(run: Run) -> None:
    statuses: list[int] = []
    limited = None
    for _ in range(10):
        answers = await together(*(run.u.get(at("auth", "me")) for _ in range(30)))
        statuses += [answer.status for answer in answers]
        limited = limited or next((answer for answer in answers if answer.status == 429), None)
    counts = {str(status): statuses.count(status) for status in sorted(set(statuses))}
    run.record(
        "GEN-HTTP-21", {"statuses": counts, "Retry-After": limited.header("retry-after") if limited else None}
    )
