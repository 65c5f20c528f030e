"""ERR: what errors look like, and which there are (interface, part 7). Most are decided by monitors."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from teamchat_conformance.checks.steps import at, messages_at
from teamchat_conformance.expect import require
from teamchat_conformance.registry import Area
from teamchat_conformance.verdicts import note

if TYPE_CHECKING:
    from teamchat_conformance.expect import Answered
    from teamchat_conformance.run import Run

area = Area("ERR", "Errors")

area.required("ERR-SHAPE-01", "§7", "Every error is a JSON object with a text that is called error")
area.required("ERR-SHAPE-02", "§7", "Every error has that one field")
area.required("ERR-SHAPE-03", "§7", "Every error is application/json")
area.recommended("ERR-SHAPE-04", "D-01", "So are those made before anyone knows what is asked for")
area.required("ERR-SHAPE-05", "§7", "So is every 429")
area.recommended("ERR-CODE-01", "§7", "No status is used but those of the interface, and a few standard ones")
area.required("ERR-CODE-02", "§7", "No request that is well formed makes the server fail")
area.required("ERR-CODE-03", "§7", "No request that is badly formed makes the server fail")
area.recommended("ERR-LEAK-01", "D-01", "Errors tell nothing of the inside, and no secret")
area.recommended("ERR-LEAK-02", "D-01", "An error about markup is JSON, which no browser shows as a page")
area.monitor("ERR-SHAPE-01", "ERR-SHAPE-02", "ERR-SHAPE-03", "ERR-SHAPE-05")
area.monitor("ERR-CODE-01", "ERR-CODE-02", "ERR-CODE-03", "ERR-LEAK-01")

_MARKUP = "<b>bold</b><script>alert(1)</script>"
_TOO_LARGE = 400_000
_JSON = {"Content-Type": "application/json"}


def _has_the_shape(answer: Answered) -> None:
    answer.error(*range(400, 500))
    if answer.media_type != "application/json":
        raise answer.miss("expected application/json")
    if len(answer.json) != 1:
        raise answer.miss("expected one field")


@area.scenario("ERR-SHAPE-04", "ERR-LEAK-02")
async def errors_made_early(run: Run) -> None:
    channel = await run.channel()
    large = json.dumps({"content": "x" * _TOO_LARGE}).encode()
    with run.verdict("ERR-SHAPE-04"):
        _has_the_shape(await run.u.post(messages_at(channel), raw=b'{"', headers=_JSON))
        _has_the_shape(await run.u.get(f"/{run.id}/nowhere"))
        _has_the_shape(await run.n.get(f"/{run.id}"))
        _has_the_shape(await run.u.ask("PATCH", "/channels"))
        answer = await run.u.post(messages_at(channel), raw=large, headers=_JSON)
        if answer.status == 200:
            note(f"a message of {_TOO_LARGE} characters is taken")
        else:
            _has_the_shape(answer)
    with run.verdict("ERR-LEAK-02"):
        for answer in (
            await run.u.get(at(_MARKUP)),
            await run.u.get(f"{messages_at(channel)}?limit={at(_MARKUP)[1:]}"),
            await run.u.post(messages_at(channel), {_MARKUP: _MARKUP}),
            await run.u.post(messages_at(_MARKUP), {"content": _MARKUP}),
            await run.a.post("/users/add", {"email": _MARKUP, "role": _MARKUP}),
        ):
            if answer.status >= 400:
                answer.error(*range(400, 500))
            require("html" not in answer.media_type, f"{answer.target} answers {answer.media_type}")
