"""NEG-IDOR-01: who may do what to whose things, tried for every endpoint and every kind of asker.

Those who may not are tried first, and have changed nothing; those who may come last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from teamchat_conformance.checks.estate import Estate
from teamchat_conformance.checks.hostile._area import ALIVE, area, still_alive
from teamchat_conformance.endpoints import ENDPOINTS, Endpoint
from teamchat_conformance.http import Client

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

area.required("NEG-IDOR-01", "§4, §7", "Everybody may do to each thing what the interface lets them, no more")

EVERYBODY = "UVWA"
"""U made the thing and is in the conversation, V is in it too, W is neither, A is an admin; N is nobody."""

MAY = {
    "GET /channels/:channelId/messages": EVERYBODY,
    "POST /channels/:channelId/messages": EVERYBODY,
    "POST /channels/:channelId/messages/image": EVERYBODY,
    "GET /channels/:channelId/messages/image/:filename": EVERYBODY,
    "GET /messages/:messageId/thread": EVERYBODY,
    "POST /messages/:messageId/thread": EVERYBODY,
    "POST /messages/:messageId/thread/image": EVERYBODY,
    "POST /messages/:messageId/reactions": EVERYBODY,
    "DELETE /messages/:messageId/reactions": EVERYBODY,
    "GET /conversations/:conversationId/messages": "UV",
    "POST /conversations/:conversationId/messages": "UV",
    "POST /conversations/:conversationId/messages/image": "UV",
    "GET /conversations/:conversationId/messages/image/:filename": "UV",
    "PUT /messages/:messageId": "U",
    "PUT /messages/:messageId/thread/:replyId": "U",
    "PUT /conversations/:conversationId/messages/:messageId": "U",
    "PUT /channels/:channelId": "A",
    "DELETE /messages/:messageId": "UA",
    "DELETE /messages/:messageId/thread/:replyId": "UA",
    "DELETE /conversations/:conversationId/messages/:messageId": "U",
    "DELETE /webhooks/:webhookId": "A",
    "DELETE /channels/:channelId": "A",
    "DELETE /users/:id": "A",
}
"""Who may, by endpoint, in an order in which nothing is gone before it is asked for."""

SILENT = {"DELETE /conversations/:conversationId/messages/:messageId": "VA"}
"""Where the interface does not say whether these may."""

_BY_NAME = {one.name: one for one in ENDPOINTS}


def _askers(run: Run) -> dict[str, Client]:
    return {"N": run.n, "U": run.u, "V": run.v, "W": run.w, "A": run.a}


def _may_not(name: str) -> str:
    return "".join(one for one in "NUVWA" if one not in MAY[name] + SILENT.get(name, ""))


async def _refused(estate: Estate, one: Endpoint, who: str, asker: Client) -> None:
    answer = await estate.ask(asker, one)
    if who == "N":
        answer.error(401)
    else:
        answer.error(403, accept=(400, 404))


@area.scenario("NEG-IDOR-01", ALIVE)
async def whose_things_they_are(run: Run) -> None:
    estate = await Estate.make(run)
    before = await estate.picture()
    askers = _askers(run)
    with run.verdict("NEG-IDOR-01"):
        for name in MAY:
            for who in _may_not(name):
                await _refused(estate, _BY_NAME[name], who, askers[who])
        await estate.require_unchanged(before)
        for name, allowed in MAY.items():
            one = _BY_NAME[name]
            for who in allowed:
                thing = estate if one.method != "DELETE" or "reactions" in name else await Estate.make(run)
                (await thing.ask(askers[who], one)).expect(200)
    await still_alive(run)
