"""GEN-HLTH: is anybody there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teamchat_conformance.checks.general._area import area
from teamchat_conformance.expect import require
from teamchat_conformance.verdicts import note

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

area.required("GEN-HLTH-01", "§4 Health", "GET /health answers 200 to anybody")
area.required("GEN-HLTH-02", "§4 Health", "GET /health answers plain text that says OK")
area.required("GEN-HLTH-03", "§4 Health", "GET /health answers 200 whatever token is sent along")


@area.scenario("GEN-HLTH-01", "GEN-HLTH-02", "GEN-HLTH-03")
async def anybody_may_ask(run: Run) -> None:
    with run.verdict("GEN-HLTH-01"):
        (await run.n.get("/health")).expect(200)
    with run.verdict("GEN-HLTH-02"):
        answer = (await run.n.get("/health")).expect(200)
        require(answer.media_type == "text/plain", f"GET /health is {answer.media_type}, not text/plain")
        text = answer.body.decode("utf-8", "replace").strip()
        if text != "OK":
            require("ok" in text.lower(), f"GET /health says {text[:40]!r}")
            note("OK stands within a longer text, or in other letters")
    with run.verdict("GEN-HLTH-03"):
        (await run.n.get("/health", token="garbage")).expect(200)
