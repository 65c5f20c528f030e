"""AUTH-REQ, AUTH-ADM, AUTH-ORDER: nobody gets in without a token, and users not where admins go.

Each request is good but for who sends it, and what was refused has changed nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from teamchat_conformance.checks.credentials._area import area
from teamchat_conformance.checks.estate import Estate
from teamchat_conformance.checks.steps import summary, unknown
from teamchat_conformance.endpoints import FOR_ADMINS, NEEDS_A_TOKEN, Endpoint, endpoint, numbered

if TYPE_CHECKING:
    from collections.abc import Mapping

    from teamchat_conformance.http import Client
    from teamchat_conformance.run import Run

WITHOUT_TOKEN = dict(numbered("AUTH-REQ", NEEDS_A_TOKEN))
NOT_ADMIN = dict(numbered("AUTH-ADM", FOR_ADMINS))
_ORDERED = (
    ("GET", "/channels/:channelId/messages"),
    ("POST", "/channels/:channelId/messages"),
    ("PUT", "/messages/:messageId"),
    ("DELETE", "/messages/:messageId"),
    ("POST", "/messages/:messageId/reactions"),
    ("POST", "/messages/:messageId/thread"),
    ("GET", "/conversations/:conversationId/messages"),
    ("PUT", "/channels/:channelId"),
    ("DELETE", "/users/:id"),
    ("POST", "/webhooks"),
)

for _id, _one in WITHOUT_TOKEN.items():
    area.required(_id, "§4, §7", f"{_one.name} without a token is refused with 401 and does nothing")
for _id, _one in NOT_ADMIN.items():
    area.required(
        _id, "§4, §7", f"{_one.name} by a user who is no admin is refused with 403 and does nothing"
    )
area.recommended(
    "AUTH-ORDER-01", "D-03", "Without a token 401 comes before anything wrong with ids and bodies"
)
area.recorded(
    "AUTH-ORDER-02", "§7", "What a user is told of what only admins may do, with bad ids and bodies"
)


@area.scenario(*WITHOUT_TOKEN)
async def nobody_gets_in(run: Run) -> None:
    await _all_refused(run, run.n, WITHOUT_TOKEN, 401)


@area.scenario(*NOT_ADMIN)
async def users_are_no_admins(run: Run) -> None:
    await _all_refused(run, run.u, NOT_ADMIN, 403)


async def _all_refused(run: Run, asker: Client, table: Mapping[str, Endpoint], status: int) -> None:
    """Decide each check by whether its request is refused; after a failure all is made anew."""
    estate, before = None, {}
    for id, one in table.items():
        if estate is None:
            estate = await Estate.make(run)
            before = await estate.picture()
        with run.verdict(id) as finding:
            (await estate.ask(asker, one)).error(status)
            if one.method != "GET":
                await estate.require_unchanged(before)
        if finding.outcome == "fail" and one.method != "GET":
            estate = None


@area.scenario("AUTH-ORDER-01", "AUTH-ORDER-02")
async def who_asks_is_looked_at_first(run: Run) -> None:
    estate = await Estate.make(run)
    nowhere = dict.fromkeys(("id", "channelId", "messageId", "conversationId"), unknown(run))
    with run.verdict("AUTH-ORDER-01"):
        for method, path in _ORDERED:
            one = endpoint(method, path)
            (await run.n.ask(method, one.target(nowhere), {"content": 1})).error(401)
            (await estate.ask(run.n, one, raw=b'{"')).error(401)
    renamed = endpoint("PUT", "/channels/:channelId")
    told = {
        "an unknown id": await estate.ask(run.u, renamed, nowhere),
        "a bad body": await run.u.ask("PUT", renamed.target(estate.values(renamed)), {"name": 1}),
        "no JSON": await estate.ask(run.u, renamed, raw=b"{"),
    }
    run.record("AUTH-ORDER-02", {what: summary(answer) for what, answer in told.items()})
