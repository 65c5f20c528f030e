"""HLTH: is anybody there (interface, part 4, Health)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teamchat_conformance.expect import require
from teamchat_conformance.registry import Area
from teamchat_conformance.verdicts import note

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

area = Area("HLTH", "Health")

area.required("HLTH-01", "§4 Health", "GET /health answers 200 to anybody")
area.required("HLTH-02", "§4 Health", "GET /health answers plain text that says OK")


@area.scenario("HLTH-01", "HLTH-02")
async def anybody_may_ask(run: Run) -> None:
    with run.verdict("HLTH-01"):
        (await run.n.get("/health")).expect(200)
        (await run.n.get("/health", token="garbage")).expect(200)
    with run.verdict("HLTH-02"):
        answer = await run.n.get("/health")
        require(answer.media_type == "text/plain", f"GET /health is {answer.media_type}, not text/plain")
        text = answer.body.decode("utf-8", "replace").strip()
        if text != "OK":
            require("ok" in text.lower(), f"GET /health says {text[:40]!r}")
            note("OK stands within a longer text")
