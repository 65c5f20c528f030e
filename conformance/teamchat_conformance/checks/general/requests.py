"""GEN-HTTP-14 to -16, -20, -25: how a body may be sent, and what may stand in it."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from teamchat_conformance.checks.general._area import area
from teamchat_conformance.checks.steps import messages, messages_at, summary
from teamchat_conformance.expect import require

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

area.required("GEN-HTTP-14", "§4", "A charset beside application/json does no harm")
area.recommended("GEN-HTTP-25", "RFC 9110 §8.3.1", "A media type is the same in any letter case")
area.recorded("GEN-HTTP-15", "§4", "What comes of JSON under another content type, or none")
area.recommended("GEN-HTTP-16", "D-02", "Fields that nobody asked for are ignored")
area.recommended("GEN-HTTP-20", "D-07a", "A request with Content-Encoding is refused with 415")


@area.scenario("GEN-HTTP-14", "GEN-HTTP-25", "GEN-HTTP-15")
async def kinds_of_content(run: Run) -> None:
    channel = await run.channel()
    target = messages_at(channel)

    def body() -> bytes:
        return json.dumps({"content": run.text()}).encode()

    with run.verdict("GEN-HTTP-14"):
        for kind in ("application/json; charset=utf-8", "application/json;charset=UTF-8"):
            (await run.u.post(target, raw=body(), headers={"Content-Type": kind})).expect(200)
    with run.verdict("GEN-HTTP-25"):
        headers = {"Content-Type": "Application/JSON"}
        (await run.u.post(target, raw=body(), headers=headers)).expect(200)
    form = urlencode({"content": run.text()}).encode()
    told = {
        "none": await run.u.post(target, raw=body()),
        "text/plain": await run.u.post(target, raw=body(), headers={"Content-Type": "text/plain"}),
        "a form's": await run.u.post(
            target, raw=form, headers={"Content-Type": "application/x-www-form-urlencoded"}
        ),
    }
    run.record("GEN-HTTP-15", {what: summary(answer) for what, answer in told.items()})


@area.scenario("GEN-HTTP-16")
async def fields_nobody_asked_for(run: Run) -> None:
    channel = await run.channel()
    content = run.text()
    with run.verdict("GEN-HTTP-16"):
        body = {
            "content": content,
            "id": run.text(),
            "createdAt": 1,
            "author": {"id": run.v.user_id},
            "x-more": [{}],
        }
        told = (await run.u.post(messages_at(channel), body)).expect(200)
        told.shape({"message": {"content": content, "author": {"id": run.u.user_id}}})
        message = told.json["message"]
        require(
            message["id"] != body["id"] and message["createdAt"] != 1, "a field of the body was taken over"
        )


@area.scenario("GEN-HTTP-20")
async def compression(run: Run) -> None:
    channel = await run.channel()
    packed = gzip.compress(json.dumps({"content": run.text()}).encode())
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    with run.verdict("GEN-HTTP-20") as finding:
        answer = await run.u.get("/users", headers={"Accept-Encoding": "gzip"})
        finding.value = {"Content-Encoding of an answer": answer.header("content-encoding")}
        (await run.u.post(messages_at(channel), raw=packed, headers=headers)).error(415, accept=(400,))
        require(await messages(run.u, channel) == [], "what was refused was posted")
