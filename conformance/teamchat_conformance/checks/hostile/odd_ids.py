"""NEG-ID: what can't be the id of anything, and ids of things of another kind.

Whoever asks could ask about a thing that is there, so that nothing but the id is wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from teamchat_conformance.checks.estate import Estate
from teamchat_conformance.checks.hostile._area import ALIVE, area, still_alive
from teamchat_conformance.checks.steps import at, is_gone, messages_at, unknown
from teamchat_conformance.endpoints import ENDPOINTS, Endpoint
from teamchat_conformance.fixtures.corpus import ODD_IDS
from teamchat_conformance.verdicts import note

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

area.required("NEG-ID-01", "§7", "A channel of an odd id is not found")
area.required("NEG-ID-02", "§7", "A message of an odd id is not found")
area.required("NEG-ID-03", "§7", "A reply of an odd id is not found")
area.required("NEG-ID-04", "§7", "A conversation of an odd id is not found")
area.required("NEG-ID-05", "§7", "A user of an odd id is not found")
area.required("NEG-ID-06", "§7", "A webhook of an odd id is not found")
area.required("NEG-ID-07", "§7", "A provider of an odd id is not found")
area.required("NEG-ID-08", "§7", "The id of a thing of another kind is the id of nothing")

_FAMILIES = {
    "NEG-ID-01": ("channelId", ()),
    "NEG-ID-02": ("messageId", (403,)),
    "NEG-ID-03": ("replyId", ()),
    "NEG-ID-04": ("conversationId", (403,)),
    "NEG-ID-05": ("id", ()),
    "NEG-ID-06": ("webhookId", (401, 403)),
}
_NOT_FOUND_IS_400 = ("/users/:id/reset-password",)
"""Where the interface has 400 for what is not there (part 4, Users)."""

_FEW = ODD_IDS[::6]
"""What is enough where each may cost the server the hash of a password."""

_TOO_LONG = 1_000


def _naming(parameter: str) -> list[Endpoint]:
    return [one for one in ENDPOINTS if parameter in one.parameters and one.auth != "open"]


@area.scenario(*_FAMILIES, ALIVE)
async def ids_of_nothing(run: Run) -> None:
    estate = await Estate.make(run)
    for id, (parameter, accept) in _FAMILIES.items():
        with run.verdict(id):
            before = await estate.picture()
            for odd in (*ODD_IDS, unknown(run)):
                too_long = (414, 431) if len(odd) > _TOO_LONG else ()
                for one in _naming(parameter):
                    if one.path in _NOT_FOUND_IS_400 and odd not in _FEW:
                        continue
                    answer = await estate.rightly(one, values={parameter: odd})
                    strict = (404, 400) if one.path in _NOT_FOUND_IS_400 else (404,)
                    answer.error(*strict, accept=(400, *accept, *too_long))
            await estate.require_unchanged(before)
    await still_alive(run)


@area.scenario("NEG-ID-07", ALIVE, last=True)
async def providers_of_nothing(run: Run) -> None:
    with run.verdict("NEG-ID-07"):
        for odd in ODD_IDS:
            answer = await run.from_elsewhere().get(f"/auth/oauth/{odd}")
            if answer.status == 429:
                note("the limit to OAuth attempts came first")
                break
            answer.error(404, accept=(400, 414, 431))
    await still_alive(run)


@area.scenario("NEG-ID-08", ALIVE)
async def ids_of_other_things(run: Run) -> None:
    estate = await Estate.make(run)
    content = {"content": run.text()}
    user, channel, message = run.v.user_id, estate.channel_id, estate.message_id
    hook, reply = str(estate.webhook["id"]), estate.reply_id
    before = await estate.picture()
    with run.verdict("NEG-ID-08"):
        for wrong in (user, message, reply, hook, estate.conversation_id):
            is_gone(await run.u.post(messages_at(wrong), content))
            is_gone(await run.a.delete(at("channels", wrong)))
        for wrong in (user, channel, hook, estate.conversation_id):
            is_gone(await run.u.put(at("messages", wrong), content))
            is_gone(await run.u.post(at("messages", wrong, "thread"), content))
        for wrong in (message, channel, hook):
            is_gone(await run.a.delete(at("users", wrong)))
            answer = await run.u.post(at("conversations", wrong, "messages"), content)
            is_gone(answer, accept=(400, 403))
            is_gone(await run.u.post("/conversations", {"targetUserId": wrong}))
        for wrong in (user, channel, message):
            is_gone(await run.a.delete(at("webhooks", wrong)))
        await estate.require_unchanged(before)
    await still_alive(run)
