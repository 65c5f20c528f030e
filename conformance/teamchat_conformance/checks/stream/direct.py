"""SSE-DM, SSE-SEC: what is between two stays between two; and no secret ever stands in an event."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any

from teamchat_conformance.checks.steps import at, together
from teamchat_conformance.checks.stream._area import about, area, listening_to
from teamchat_conformance.expect import require

if TYPE_CHECKING:
    from teamchat_conformance.expect import Answered
    from teamchat_conformance.run import Run
    from teamchat_conformance.sse import Observer

_EACH = 50
_AT_ONCE = 10

area.required("SSE-DM-01", "§6", "A direct message reaches the streams of both participants")
area.required("SSE-DM-02", "§6", "It reaches nobody else, an admin neither")
area.required("SSE-DM-03", "§6", "An edit of it is told to both participants and nobody else")
area.required("SSE-DM-04", "§6", "Its deletion is told to both participants and nobody else")
area.required("SSE-DM-05", "§6", "No text of a direct message stands in any event to someone else")
area.required("SSE-DM-06", "D-35", "NEW_CONVERSATION reaches the two participants alone")
area.required("SSE-DM-07", "D-35", "A reaction to a direct message is told to the participants alone")
area.required("SSE-DM-08", "§6", "Two conversations of one user, in use at once, stay apart")
area.required("SSE-SEC-01", "§2 User", "No password, hash or token stands in any event")
area.monitor("SSE-DM-05", "SSE-SEC-01")


@area.scenario("SSE-DM-01", "SSE-DM-02", "SSE-DM-03", "SSE-DM-04", "SSE-DM-06", "SSE-DM-07")
async def between_two(run: Run) -> None:
    one, other = await run.new_user(name="user X"), await run.new_user(name="user Y")
    async with listening_to(run, one, other, run.w, run.a) as observers:
        entitled, outsiders = observers[:2], observers[2:]
        place = await run.conversation(one, other)
        with run.verdict("SSE-DM-06"):
            await _told(run, entitled, "NEW_CONVERSATION", id=place)
            await _untold(run, outsiders, place)
        text, edited = run.text(), run.text()
        message_id = str((await run.direct(one, place, text))["id"])
        where = at("conversations", place, "messages", message_id)
        with run.verdict("SSE-DM-01"):
            await _told(run, entitled, "NEW_DM_MESSAGE", id=message_id, content=text)
        with run.verdict("SSE-DM-02"):
            await _untold(run, outsiders, place, message_id, text, kind="NEW_DM_MESSAGE")
        with run.verdict("SSE-DM-07"):
            (await other.post(at("messages", message_id, "reactions"), {"reaction": "👍"})).expect(200)
            await _told(run, entitled, "NEW_REACTION", messageId=message_id)
            await _untold(run, outsiders, message_id)
        with run.verdict("SSE-DM-03"):
            (await one.put(where, {"content": edited})).expect(200)
            await _told(run, entitled, "UPDATE_DM_MESSAGE", id=message_id, content=edited)
            await _untold(run, outsiders, place, message_id, edited, kind="UPDATE_DM_MESSAGE")
        with run.verdict("SSE-DM-04"):
            (await one.delete(where)).expect(200)
            await _told(run, entitled, "DELETE_DM_MESSAGE", id=message_id)
            await _untold(run, outsiders, place, message_id, kind="DELETE_DM_MESSAGE")


async def _told(run: Run, observers: list[Observer], kind: str, **fields: Any) -> None:
    for observer in observers:
        await observer.expect(kind, seconds=run.wait(5), **fields)


async def _untold(run: Run, outsiders: list[Observer], *marks: str, kind: str = "") -> None:
    """Require that no event, or none of a kind, has told outsiders of something."""
    await run.fence(*outsiders)
    for observer in outsiders:
        seen = about([event for event in observer.events if kind in ("", event.type)], *marks)
        require(not seen, f"{observer.name}, who takes no part, was told: {', '.join(seen)}")


@area.scenario("SSE-DM-08")
async def two_conversations_stay_apart(run: Run) -> None:
    places = await run.conversation(run.u, run.v), await run.conversation(run.u, run.w)
    said: dict[str, list[str]] = {place: [] for place in places}
    async with listening_to(run, run.v, run.w) as observers:
        for _ in range(_EACH // _AT_ONCE):
            for answer in await together(*(_say(run, place) for place in places * _AT_ONCE)):
                message = answer.ok()["message"]
                said[message["channelId"]].append(message["id"])
        with run.verdict("SSE-DM-08"):
            await run.fence(*observers)
            for observer, own, others in zip(observers, places, places[::-1], strict=True):
                came = [event.payload["id"] for event in observer.since(0, "NEW_DM_MESSAGE", channelId=own)]
                require(sorted(came) == sorted(said[own]), f"{len(came)} of {_EACH} reached {observer.name}")
                seen = about(observer.events, others, *said[others])
                require(not seen, f"{observer.name} was told of the other conversation: {', '.join(seen)}")


def _say(run: Run, place: str) -> Awaitable[Answered]:
    return run.u.post(at("conversations", place, "messages"), {"content": run.text()})
