"""The area that the modules of this package add their checks to, and the check that ends each scenario."""

from __future__ import annotations

from teamchat_conformance.checks.steps import ids, messages, no_failure
from teamchat_conformance.expect import require
from teamchat_conformance.registry import Area
from teamchat_conformance.run import Run

area = Area("NEG", "Hostile and broken input")

ALIVE = "NEG-ALIVE-01"
JSON = {"Content-Type": "application/json"}

area.required(ALIVE, "§4", "After hostile input the server is well, and takes and shows a message")


async def still_alive(run: Run) -> None:
    """Decide `ALIVE`: ask for the server's health, and post and read a message."""
    with run.verdict(ALIVE):
        no_failure(await run.n.get("/health"))  # whether it is there is for GEN-HLTH to say
        channel = await run.channel()
        posted = await run.post(run.u, channel)
        require(ids(await messages(run.v, channel)) == [posted["id"]], "a message was taken and is not there")
