"""Faults of what is announced, of oneself (ME), and of who is in a channel (MEM)."""

from __future__ import annotations

from typing import Any

from conformance.tests.faults.case import Case, found, together
from conformance.tests.proxy.acting import (
    accepting,
    anybody,
    at_path,
    fault,
    refusing,
    rewritten,
    swallowed,
)
from conformance.tests.proxy.asking import Answer, Ask, Forward, as_json, refused
from conformance.tests.proxy.rooms import (
    by_insider,
    counting_cursors,
    early,
    insider,
    is_any_admin,
    overlapping,
    passing_over_unknown,
    shown,
)
from conformance.tests.proxy.shaping import as_text, edited, header, refusal, telling, without

ANNOUNCED = [
    together(
        found(telling("GET /capabilities", "capabilities.roles.most", "many"), "CAP-DOC-04"),
        found(header("GET /capabilities", "Access-Control-Allow-Origin", None), "CAP-DOC-05"),
        found(telling("GET /capabilities", "links.openapi", "/nothing"), "CAP-DOC-06"),
    ),
]

ONESELF = [
    together(
        found(without("GET /me", "may"), "ME-GET-01"),
        found(telling("GET /me", "user.email", "nobody@example.org"), "ME-GET-02"),
        found(telling("GET /me", "role", "user"), "ME-GET-03"),
        found(refusal("GET /me", 401, 403), "ME-GET-04"),
        found(early("GET /me"), "ME-GET-05"),
    ),
]

CHANNEL = "/channels/:channelId"
MEMBERS = f"{CHANNEL}/members"
MEMBER = f"{MEMBERS}/:userId"


@fault("the channel made last is answered", f"GET {CHANNEL}", learns=True)
async def _newest(ask: Ask, forward: Forward) -> Answer:
    made = [one for one in ask.proxy.seen.values() if "memberCount" in one]
    return await forward(at_path(ask, f"/channels/{made[-1]['id']}") if made else ask)


def _own_alone(told: Any, _: Ask) -> Any:
    return {**told, "channels": [one for one in told["channels"] if one["isMember"]]}


def _is_bound_admin(ask: Ask) -> bool:
    policy = ask.proxy.seen.get(ask.params["channelId"], {}).get("postPolicy")
    return policy == "managers" and is_any_admin(ask)


def _with_one_text(ask: Ask) -> Ask:
    return ask.saying(topic="") if {"topic", "description"} <= ask.json.keys() else ask


CHANNELS = [
    together(
        found(rewritten("of two texts one is kept", "POST /channels", _with_one_text), "MEM-MAKE-01"),
        found(telling(f"GET {CHANNEL}", "channel.role", "member"), "MEM-MAKE-02"),
        found(accepting("POST /channels"), "MEM-MAKE-03 MEM-MAKE-04"),
        found(as_text(f"GET {CHANNEL}", "channel.memberCount"), "MEM-FORM-01"),
    ),
    found(_newest, "MEM-FORM-02"),
    found(edited("others are not listed", "GET /channels", _own_alone), "MEM-LIST-01 PRIV-CLOSE-04"),
    found(
        rewritten("all channels are listed as joined", "GET /channels", lambda ask: ask.asking(joined=None)),
        "MEM-LIST-02 MEM-LEAVE-01",
    ),
    together(
        found(rewritten("of two texts one is kept", f"PUT {CHANNEL}", _with_one_text), "MEM-PUT-01"),
        found(accepting(f"PUT {CHANNEL}"), "MEM-PUT-03"),
        found(anybody(f"PUT {CHANNEL}"), "MEM-PUT-04 MEM-PUT-05"),
    ),
    together(
        found(refusing("admins are bound by postPolicy", f"POST {CHANNEL}/messages", 403, _is_bound_admin,
                       learns=True), "MEM-POST-02"),
        found(anybody(f"POST {CHANNEL}/messages"), "MEM-POST-01"),
    ),
    together(
        found(early("GET /channels"), "MEM-ASOF-01"),
        found(rewritten("scope is passed over", "GET /events", lambda ask: ask.asking(scope=None)),
              "MEM-SCOPE-01 MEM-SCOPE-02"),
    ),
]  # fmt: skip


async def _members(ask: Ask, channel: str, token: str) -> list[dict[str, Any]]:
    answer = await ask.proxy.ask("GET", f"/channels/{channel}/members", token)
    return list(answer.json["members"]) if answer.ok else []


@fault("joining again is refused", f"POST {CHANNEL}/join")
async def _joined_already(ask: Ask, forward: Forward) -> Answer:
    is_member = (await shown(ask, ask.params["channelId"], ask.token)).get("isMember")
    return refused(400) if is_member else await forward(ask)


@fault("who leaves joins first", f"POST {CHANNEL}/leave")
async def _leaving_joins(ask: Ask, forward: Forward) -> Answer:
    await ask.proxy.ask("POST", f"/channels/{ask.params['channelId']}/join", ask.token)
    return await forward(ask)


def _all_anew(told: Any, _: Ask) -> None:
    told["added"] += told.pop("alreadyMembers")
    told["alreadyMembers"] = []


@fault("who was removed is not there to be removed", f"DELETE {MEMBER}")
async def _removed_already(ask: Ask, forward: Forward) -> Answer:
    members = {one["userId"] for one in await _members(ask, ask.params["channelId"], ask.token)}
    return await forward(ask) if ask.params["userId"] in members else refused(404)


@fault("nobody removes themself", f"DELETE {MEMBER}")
async def _stays(ask: Ask, forward: Forward) -> Answer:
    is_oneself = ask.params["userId"] == ask.user_id
    return as_json({"success": True}) if is_oneself else await forward(ask)


def _is_too_large(ask: Ask) -> bool:
    return ask.query.get("limit", "").isdecimal() and int(ask.query["limit"]) > 200


def _with_any_limit(ask: Ask) -> Ask:
    limit = ask.query.get("limit", "50")
    return ask if limit.isdecimal() and int(limit) else ask.asking(limit=None)


PEOPLE = [
    together(found(_joined_already, "MEM-JOIN-01"), found(_leaving_joins, "MEM-LEAVE-02")),
    together(
        found(telling(f"GET {MEMBERS}", "members.*.role", "member"), "MEM-WHO-01"),
        found(refusing("large limits are refused", f"GET {MEMBERS}", 400, _is_too_large), "MEM-WHO-04"),
        found(rewritten("limits are read as far as can be", f"GET {MEMBERS}", _with_any_limit), "MEM-WHO-05"),
        found(overlapping(f"GET {MEMBERS}", "members"), "MEM-WHO-02"),
    ),
    found(counting_cursors(f"GET {MEMBERS}", "members"), "MEM-WHO-03"),
    together(
        found(edited("who is in it is added again", f"POST {MEMBERS}", _all_anew), "MEM-ADD-01"),
        found(passing_over_unknown(f"POST {MEMBERS}", "userIds"), "MEM-ADD-02"),
        found(accepting(f"POST {MEMBERS}"), "MEM-ADD-04"),
    ),
    found(by_insider(f"POST {MEMBERS}", 403), "MEM-ADD-03 PRIV-INV-02"),
    together(
        found(_removed_already, "MEM-KICK-01"),
        found(_stays, "MEM-KICK-04"),
        found(anybody(f"DELETE {MEMBER}"), "MEM-KICK-02 MEM-KICK-03"),
    ),
    found(
        rewritten("no channel is a default one", "POST /channels", lambda ask: ask.saying(isDefault=False)),
        "MEM-DEF-01",
    ),
]


@fault("nobody follows the last manager", "*", learns=True)
async def _no_heirs(ask: Ask, forward: Forward) -> Answer:
    """Tell as managers none but those who made a channel or were made its managers."""
    answer = await forward(ask)
    parts = ask.path.split("/")
    told = answer.json if answer.ok and parts[1] in ("channels", "private-channels") else None
    made = ask.proxy.kept.setdefault("made managers", set())
    if told and ask.method == "POST" and len(parts) == 2:
        made.add((told["channel"]["id"], ask.user_id))
    elif told and ask.method == "PUT" and "member" in told and told["member"]["role"] == "manager":
        made.add((parts[2], told["member"]["userId"]))
    elif told and "members" in told:
        for member in told["members"]:
            member["role"] = "manager" if (parts[2], member["userId"]) in made else "member"
        return answer.with_json(told)
    return answer


@fault("when somebody goes, all become managers", "*", learns=True)
async def _all_inherit(ask: Ask, forward: Forward) -> Answer:
    answer = await forward(ask)
    parts = ask.path.split("/")
    if not answer.ok or (ask.method != "DELETE" and parts[-1] not in ("leave", "privacy")):
        return answer
    of_one = parts[2] if parts[1] == "channels" else ""
    for channel in [of_one] if of_one else [id for id, one in ask.proxy.seen.items() if "memberCount" in one]:
        token = await insider(ask, channel)
        for member in await _members(ask, channel, token) if token else ():
            path = f"/channels/{channel}/members/{member['userId']}"
            await ask.proxy.ask("PUT", path, token, {"role": "manager"})
    return answer


@fault("who is shortest in it follows the last manager", "*", learns=True)
async def _youngest_inherits(ask: Ask, forward: Forward) -> Answer:
    parts = ask.path.split("/")
    if parts[1] != "channels" or (ask.method != "DELETE" and parts[-1] != "leave"):
        return await forward(ask)
    before = {one["userId"]: one["role"] for one in await _members(ask, parts[2], ask.proxy.admin)}
    answer = await forward(ask)
    after = await _members(ask, parts[2], ask.proxy.admin)
    for heir in [one for one in after if before.get(one["userId"]) == "member" and one["role"] == "manager"]:
        youngest = max(after, key=lambda one: int(one["joinedAt"]))
        for who, role in ((youngest, "manager"), (heir, "member")):
            path = f"/channels/{parts[2]}/members/{who['userId']}"
            await ask.proxy.ask("PUT", path, body={"role": role})
    return answer


MANAGERS = [
    together(
        found(accepting(f"PUT {MEMBER}", 400, 404), "MEM-MAN-03 MEM-MAN-05"),
        found(anybody(f"PUT {MEMBER}"), "MEM-MAN-02 MEM-MAN-04"),
    ),
    found(swallowed(f"PUT {MEMBER}"), "MEM-MAN-01"),
    found(_no_heirs, "MEM-LAST-01 MEM-LAST-02 MEM-LAST-03 PRIV-LAST-01 PRIV-CLOSE-08"),
    found(_all_inherit, "MEM-LAST-04 PRIV-CLOSE-02 MEM-LAST-06"),
    found(swallowed("POST /users/:userId/deactivate"), "MEM-LAST-05"),
    found(_youngest_inherits, "MEM-LAST-02 MEM-LAST-01"),
]

CASES: list[Case] = [*ANNOUNCED, *ONESELF, *CHANNELS, *PEOPLE, *MANAGERS]
