"""CFG-DATA: what a restart must not touch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teamchat_conformance.checks.configuration._area import again, area, populate, started
from teamchat_conformance.checks.estate import Estate
from teamchat_conformance.checks.steps import at, messages
from teamchat_conformance.expect import require

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

area.recommended("CFG-DATA-01", "durability", "After a restart everything is as before", "launch")
area.recommended("CFG-DATA-02", "durability", "What was answered outlives the end of the process", "launch")


@area.scenario("CFG-DATA-01", "CFG-DATA-02", needs=("launch",))
async def a_restart(run: Run) -> None:
    async with started(run) as own:
        await populate(own.run)
        estate = await Estate.make(own.run)
        reaction = at("messages", estate.message_id, "reactions")
        (await own.run.v.post(reaction, {"reaction": "ok"})).expect(200)
        (await own.run.a.put("/server/settings", {"name": "A name to keep"})).expect(200)
        before = await _picture(estate)
        with run.verdict("CFG-DATA-01"):
            await again(own)
            await _sign_in_again(own.run)
            after = await _picture(estate)
            changed = [name for name in before if before[name] != after[name]]
            require(not changed, f"a restart changed {', '.join(changed)}")
        with run.verdict("CFG-DATA-02"):
            message = await own.run.post(own.run.u, estate.channel_id)
            await again(own, kill=True)
            await _sign_in_again(own.run)
            kept = [one["id"] for one in await messages(own.run.a, estate.channel_id)]
            require(message["id"] in kept, "a post that was answered with 200 is lost")


async def _sign_in_again(run: Run) -> None:
    for actor in (run.a, run.u, run.v):
        await run.sign_in.again(actor)


async def _picture(estate: Estate) -> dict[str, object]:
    """Return how everything looks, with the settings and the bytes of the images."""
    run = estate.run
    images = [
        at("channels", estate.channel_id, "messages", "image", estate.channel_image),
        at("conversations", estate.conversation_id, "messages", "image", estate.direct_image),
    ]
    return {
        **await estate.picture(),
        "settings": (await run.a.get("/server/settings")).ok(),
        "images": [(await run.u.get(image)).expect(200).body for image in images],
    }
