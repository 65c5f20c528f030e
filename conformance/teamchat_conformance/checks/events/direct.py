"""EVT of conversations: to the two who take part, and to nobody else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from teamchat_conformance.checks.events._area import area, audience, same
from teamchat_conformance.checks.steps import at
from teamchat_conformance.expect import require

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

area.recommended(
    "EVT-NEWCONV-02", "D-36", "A new conversation sends NEW_CONVERSATION once; an old one nothing"
)
area.recommended("EVT-NEWDM-02", "D-36", "A direct message sends NEW_DM_MESSAGE once to each participant")
area.recommended("EVT-UPDDM-02", "D-36", "An edit sends UPDATE_DM_MESSAGE once to each participant")
area.recommended("EVT-DELDM-02", "D-36", "A deletion sends DELETE_DM_MESSAGE once to each participant")


@area.scenario("EVT-NEWCONV-02", "EVT-NEWDM-02", "EVT-UPDDM-02", "EVT-DELDM-02")
async def a_conversation(run: Run) -> None:
    one, other = await run.new_user(name="user X"), await run.new_user(name="user Y")
    both = sorted((one.user_id, other.user_id))
    async with audience(run, one, other, run.w, run.a, participants=2) as told:
        place = await run.conversation(one, other)
        with run.verdict("EVT-NEWCONV-02"):
            payload = await told.once("NEW_CONVERSATION", id=place)
            _names_both(payload, both)
            require(await run.conversation(other, one) == place, "opened again it is another conversation")
            await told.once("NEW_CONVERSATION", id=place)
        message = await run.direct(one, place)
        where = at("conversations", place, "messages", message["id"])
        with run.verdict("EVT-NEWDM-02"):
            payload = await told.once("NEW_DM_MESSAGE", id=message["id"], channelId=place)
            same(payload, message, "author", "content")
            _names_both(payload, both)
        content = run.text("edited")
        (await one.put(where, {"content": content})).expect(200)
        with run.verdict("EVT-UPDDM-02"):
            await told.once("UPDATE_DM_MESSAGE", id=message["id"], content=content)
        (await one.delete(where)).expect(200)
        with run.verdict("EVT-DELDM-02"):
            await told.once("DELETE_DM_MESSAGE", id=message["id"], conversationId=place)


def _names_both(payload: dict[str, Any], both: list[str]) -> None:
    named = payload.get("participants")
    require(isinstance(named, list) and sorted(map(str, named)) == both, f"participants {named!r}")
