"""Faults of messages that are read by their ids, and of pages that are cut anywhere."""

from __future__ import annotations

from typing import Any

from conformance.tests.faults.case import Case, found
from conformance.tests.proxy.acting import fault, rewritten
from conformance.tests.proxy.asking import Answer, Ask, Forward, refused
from conformance.tests.proxy.shaping import edited, without

ONE, PAGE, THREAD = (
    "GET /messages/:messageId",
    "GET /channels/:channelId/messages",
    "GET /messages/:messageId/thread",
)


def _ignoring(parameter: str, route: str) -> Any:
    return rewritten(f"{route} ignores {parameter}", route, lambda ask: ask.asking(**{parameter: None}))


@fault("what is hidden is answered otherwise than what is not there", ONE, learns=True)
async def _hidden(ask: Ask, forward: Forward) -> Answer:
    answer = await forward(ask)
    is_hidden = answer.status == 404 and ask.params["messageId"] in ask.proxy.seen
    return refused(404) if is_hidden else answer


@fault("near an end a page is filled up from the other side", PAGE)
async def _filled_up(ask: Ask, forward: Forward) -> Answer:
    answer = await forward(ask)
    is_short = answer.ok and len(answer.json["messages"]) < int(ask.query.get("limit", "50"))
    return await forward(ask.asking(around=None)) if is_short and "around" in ask.query else answer


@fault("an id that is gone is no position", PAGE)
async def _no_position(ask: Ask, forward: Forward) -> Answer:
    for name in ("around", "after"):
        id = ask.query.get(name)
        if id and not (await ask.proxy.ask("GET", f"/messages/{id}", ask.token)).ok:
            return refused(400)
    return await forward(ask)


def _with_one_position(ask: Ask) -> Ask:
    given = [name for name in ("around", "after", "before") if name in ask.query]
    return ask.asking(**dict.fromkeys(given[1:], None)) if given[1:] else ask


def _earlier(told: Any, _: Ask) -> Any:
    return {**told, "asOf": str(max(0, int(told["asOf"]) - 100))}


CASES: list[Case] = [
    found(without(ONE, "place"), "CTX-ONE-01"),
    found(_hidden, "CTX-ONE-02"),
    found(_ignoring("after", PAGE), "CTX-CUT-01"),
    found(_ignoring("around", PAGE), "CTX-CUT-02"),
    found(_filled_up, "CTX-CUT-03"),
    found(_no_position, "CTX-CUT-04"),
    found(rewritten("of several positions one counts", PAGE, _with_one_position), "CTX-CUT-05"),
    found(_ignoring("around", THREAD), "CTX-CUT-06"),
    found(
        edited("no page says that there is more", PAGE, lambda told, _: {**told, "hasBefore": False}),
        "CTX-SAYS-01",
    ),
    found(edited("asOf is that of an event long before", PAGE, _earlier), "CTX-SAYS-02"),
]
