"""SSE-ALL: all that is not between two reaches everyone signed in, its doer too (decision D-35)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from teamchat_conformance.checks.steps import at
from teamchat_conformance.checks.stream._area import area, listening_to

if TYPE_CHECKING:
    from teamchat_conformance.run import Run
    from teamchat_conformance.sse import Observer

area.required("SSE-ALL-01", "§1, D-35", "Channel, message, thread, reaction and user events reach everyone")
area.recommended("SSE-ALL-02", "D-35", "NEW_WEBHOOK and DELETE_WEBHOOK reach those who are no admins too")
area.recommended("SSE-ALL-03", "D-35", "NEW_USER and REMOVE_USER reach everyone")
area.recommended("SSE-ALL-04", "D-35", "Who does something gets the event of it")


@area.scenario("SSE-ALL-01", "SSE-ALL-02", "SSE-ALL-03", "SSE-ALL-04")
async def everyone_is_told(run: Run) -> None:
    async with listening_to(run, run.u, run.v, run.a) as observers:

        async def all_are_told(kind: str, **fields: Any) -> None:
            for observer in observers:
                await observer.expect(kind, seconds=run.wait(5), **fields)

        channel = await run.channel()
        message_id = (await run.post(run.u, channel))["id"]
        with run.verdict("SSE-ALL-01"):
            await all_are_told("NEW_CHANNEL", id=channel)
            await all_are_told("NEW_MESSAGE", id=message_id)
            (await run.u.post(at("messages", message_id, "reactions"), {"reaction": "👍"})).expect(200)
            await all_are_told("NEW_REACTION", messageId=message_id)
            await run.reply(run.v, message_id)
            await all_are_told("NEW_THREAD_REPLY", parentMessageId=message_id)
        guest = await run.new_user(name="a guest")
        with run.verdict("SSE-ALL-01"):
            name = run.text()
            (await guest.put("/users/me", {"userName": name})).expect(200)
            await all_are_told("UPDATE_USER", id=guest.user_id, userName=name)
        with run.verdict("SSE-ALL-03"):
            await all_are_told("NEW_USER", id=guest.user_id)
            (await run.a.delete(at("users", guest.user_id))).expect(200)
            await all_are_told("REMOVE_USER", id=guest.user_id)
        with run.verdict("SSE-ALL-02"):
            hook = str((await run.webhook(channel))["id"])
            await all_are_told("NEW_WEBHOOK", id=hook)
            (await run.a.delete(at("webhooks", hook))).expect(200)
            await all_are_told("DELETE_WEBHOOK", id=hook)
        with run.verdict("SSE-ALL-04"):
            await _own(run, observers[0], observers[2], channel, message_id)


async def _own(run: Run, user: Observer, admin: Observer, channel: str, message_id: str) -> None:
    """Look for a user's and an admin's own doings on their own streams."""
    await user.expect("NEW_MESSAGE", seconds=run.wait(5), id=message_id)
    await user.expect("NEW_REACTION", seconds=run.wait(5), messageId=message_id, userId=run.u.user_id)
    await admin.expect("NEW_CHANNEL", seconds=run.wait(5), id=channel)
