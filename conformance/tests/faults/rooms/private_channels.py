"""Faults of private channels (PRIV): making them, hiding them, their history, what admins may of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from conformance.tests.faults.case import Case, found, together
from conformance.tests.proxy.acting import (
    accepting,
    anybody,
    as_author,
    fault,
    refusing,
    repeating,
    rewritten,
)
from conformance.tests.proxy.asking import Answer, Ask, Forward, as_json, refused
from conformance.tests.proxy.hearing import eventless, public
from conformance.tests.proxy.rooms import (
    by_insider,
    is_any_admin,
    lost,
    only_from_now,
    overlapping,
    passing_over_unknown,
    role_of,
    shown,
    telling_hidden,
)
from conformance.tests.proxy.shaping import edited, refusal, telling

CHANNEL = "/channels/:channelId"
MESSAGES = f"{CHANNEL}/messages"
MEMBERS = f"{CHANNEL}/members"
PRIVATE = "/private-channels"
LISTING = "GET /admin/channels"
ENTER = "POST /admin/channels/:channelId/enter"
PRIVACY = f"PUT {CHANNEL}/privacy"


def _for_joiners(ask: Ask) -> Ask:
    return ask.saying(historyFor=ask.json.get("historyFor", "joiners"))


def _clashing(route: str) -> Any:
    def is_taken(ask: Ask) -> bool:
        names = {one.get("name") for one in ask.proxy.seen.values() if "memberCount" in one}
        return ask.json.get("name") in names

    return refusing(f"{route} takes no name that a hidden channel has", route, 400, is_taken, learns=True)


@fault("managers alone add people", f"POST {MEMBERS}")
async def _managers_add(ask: Ask, forward: Forward) -> Answer:
    role = await role_of(ask, ask.params["channelId"], ask.token)
    return refused(403) if role == "member" else await forward(ask)


MAKING = [
    together(
        found(telling(f"POST {PRIVATE}", "channel.members.*.role", "member"), "PRIV-MAKE-01"),
        found(rewritten("historyFor is joiners by default", f"POST {PRIVATE}", _for_joiners), "PRIV-MAKE-02"),
        found(telling(f"GET {CHANNEL}", "channel.role", "member"), "PRIV-SEE-01"),
    ),
    together(
        found(accepting(f"POST {PRIVATE}"), "PRIV-MAKE-04 PRIV-MAKE-05 PRIV-MAKE-06"),
        found(passing_over_unknown(f"POST {PRIVATE}", "members"), "PRIV-MAKE-03"),
    ),
    together(
        found(rewritten("repeated keys make another private channel", f"POST {PRIVATE}",
                        lambda ask: ask.without_header("idempotency-key")), "PRIV-MAKE-07"),
        found(lost("POST /channels", "isPrivate"), "PRIV-MAKE-08"),
        found(telling("GET /me", "may", []), "PRIV-MAKE-09"),
    ),
    together(
        found(_clashing(f"POST {PRIVATE}"), "PRIV-NAME-01"),
        found(_clashing("POST /channels"), "PRIV-NAME-02"),
    ),
    found(_managers_add, "PRIV-INV-01"),
    together(
        found(lost(f"POST {PRIVATE}", "members"), "PRIV-HIDE-06 PRIV-ADM-01"),
        found(by_insider(f"* {CHANNEL}", 404, admins_only=True), "PRIV-HIDE-02"),
    ),
]  # fmt: skip


@fault("admins are listed all channels", "GET /channels", learns=True)
async def _all_for_admins(ask: Ask, forward: Forward) -> Answer:
    answer = await forward(ask)
    if not answer.ok or not is_any_admin(ask):
        return answer
    listed = {one["id"]: one for one in answer.json["channels"]}
    private = {id: one for id, one in ask.proxy.seen.items() if one.get("isPrivate") is True}
    return answer.with_json({**answer.json, "channels": list({**private, **listed}.values())})


@fault("an image's tag is looked at before who asks", f"GET {MESSAGES}/image/:filename", learns=True)
async def _tag_first(ask: Ask, forward: Forward) -> Answer:
    answer = await forward(ask)
    if answer.ok:
        ask.proxy.kept[ask.path] = answer.header("etag")
    tag = ask.proxy.kept.get(ask.path)
    is_same = answer.status == 404 and tag and ask.header("if-none-match") == tag
    return replace(answer.with_header("ETag", tag), status=304, body=b"") if is_same else answer


HIDING = [
    together(
        found(telling_hidden(f"GET {MESSAGES}"), "PRIV-HIDE-01 PRIV-HIDE-02"),
        found(as_author("GET /messages/:messageId/thread"), "PRIV-HIDE-03"),
        found(_tag_first, "PRIV-HIDE-04"),
        found(refusal(f"GET {CHANNEL}", 401, 404), "PRIV-HIDE-07"),
    ),
    found(_all_for_admins, "PRIV-SEE-02"),
    found(
        refusing("who may archive is asked before what is seen", f"POST {CHANNEL}/archive", 403,
                 lambda ask: bool(ask.token) and not is_any_admin(ask), learns=True),
        "ARCH-SET-04 ARCH-HIDE-01 PRIV-HIDE-01 GRP-HIDE-01 NOTE-HIDE-01",
    ),
    found(
        repeating("a key's answer is repeated to who was removed", f"POST {MESSAGES}",
                  lambda ask: (ask.user_id, ask.header("idempotency-key")), 404),
        "PRIV-HIDE-05",
    ),
]  # fmt: skip


@fault("everybody reads as who made the channel", f"GET {MESSAGES}", learns=True)
async def _no_bounds(ask: Ask, forward: Forward) -> Answer:
    answer = await forward(ask)
    maker = ask.proxy.seen.get(ask.params["channelId"], {}).get("createdBy")
    token = ask.proxy.tokens.get(str(maker))
    return await forward(ask.by(token)) if answer.ok and token else answer


@fault("a change of historyFor is for who is in it already", f"PUT {CHANNEL}", learns=True)
async def _history_goes(ask: Ask, forward: Forward) -> Answer:
    """Have who changes it remove everybody else, and add them again."""
    answer = await forward(ask)
    path = f"/channels/{ask.params['channelId']}/members"
    if not answer.ok or "historyFor" not in ask.json:
        return answer
    members = (await ask.proxy.ask("GET", path, ask.token)).json["members"]
    others = [one["userId"] for one in members if one["userId"] != ask.user_id]
    for id in others:
        await ask.proxy.ask("DELETE", f"{path}/{id}", ask.token)
    await ask.proxy.ask("POST", path, ask.token, {"userIds": others})
    return answer


HISTORY = [
    found(only_from_now(f"POST {MEMBERS}"), "PRIV-HIST-01"),
    together(
        found(_no_bounds, "PRIV-HIST-02 PRIV-HIST-05"),
        found(as_author("GET /messages/:messageId/thread"), "PRIV-HIST-03"),
        found(public("NEW_THREAD_REPLY"), "PRIV-HIST-06"),
    ),
    found(_no_bounds, "GRP-ADD-01 GRP-ADD-03"),
    together(
        found(by_insider(f"GET {MESSAGES}/image/:filename", 404), "PRIV-HIST-07"),
        found(telling(f"GET {MESSAGES}", "hasBefore", True), "PRIV-HIST-08"),
    ),
    found(_history_goes, "PRIV-HIST-04"),
]


def _with_topics(told: Any, ask: Ask) -> None:
    for row in told["channels"]:
        row["topic"] = ask.proxy.seen.get(row["id"], {}).get("topic", "")


@fault("nobody enters what is empty", ENTER, learns=True)
async def _nobody_enters(ask: Ask, forward: Forward) -> Answer:
    rows = (await ask.proxy.ask("GET", "/admin/channels?limit=200", ask.token)).json["channels"]
    empty = {row["id"] for row in rows if not row["memberCount"]}
    return refused(404) if ask.params["channelId"] in empty else await forward(ask)


@fault("a channel that an admin ends is left alone", "DELETE /admin/channels/:channelId", learns=True)
async def _left_alone(ask: Ask, forward: Forward) -> Answer:
    is_there = is_any_admin(ask) and ask.params["channelId"] in ask.proxy.seen
    return as_json({"success": True}) if is_there else await forward(ask)


ADMINS = [
    together(
        found(edited("admins are listed the topics", LISTING, _with_topics, learns=True), "PRIV-ADM-02"),
        found(anybody(LISTING), "PRIV-ADM-03"),
        found(overlapping(LISTING, "channels"), "PRIV-ADM-04"),
        found(_left_alone, "PRIV-ADM-08"),
        found(accepting(ENTER, 404), "PRIV-ADM-10"),
        found(telling(LISTING, "channels.*.isArchived", False), "PRIV-LAST-02"),
    ),
    together(
        found(_nobody_enters, "PRIV-ADM-09"),
        found(accepting(ENTER), "PRIV-ADM-07"),
        found(eventless("CHANNEL_MEMBERS_ADDED", "reason"), "PRIV-ADM-06"),
    ),
    found(only_from_now(ENTER), "PRIV-ADM-05"),
]


@fault("who was in a channel stays in it when it becomes private", PRIVACY, learns=True)
async def _all_stay(ask: Ask, forward: Forward) -> Answer:
    return await forward(ask.saying(members=list(ask.proxy.tokens)) if ask.json.get("isPrivate") else ask)


@fault("a default channel is closed without its members", PRIVACY)
async def _default_closed(ask: Ask, forward: Forward) -> Answer:
    answer = await forward(ask)
    has_no_members = ask.json.get("isPrivate") is True and "members" not in ask.json
    return await forward(ask.saying(members=[])) if answer.status == 400 and has_no_members else answer


@fault("a name that is taken gives way", PRIVACY)
async def _renamed(ask: Ask, forward: Forward) -> Answer:
    answer = await forward(ask)
    if answer.status != 400 or ask.json.get("isPrivate") is not False:
        return answer
    name = (await shown(ask, ask.params["channelId"], ask.token))["name"]
    await ask.proxy.ask("PUT", f"/channels/{ask.params['channelId']}", ask.token, {"name": f"{name} (2)"})
    return await forward(ask)


def _turning(word: str, other: str) -> Any:
    def change(ask: Ask) -> Ask:
        return ask.saying(history=other) if ask.json.get("history") == word else ask

    return rewritten(f"history {word} is taken for {other}", PRIVACY, change)


@fault("history is shown unless it is hidden", PRIVACY)
async def _shown_by_default(ask: Ask, forward: Forward) -> Answer:
    is_opening = ask.json.get("isPrivate") is False
    is_told = ask.json.get("history") in ("show", "hide")
    return await forward(ask.saying(history="show") if is_opening and not is_told else ask)


CONVERTING = [
    found(_all_stay, "PRIV-CLOSE-01 PRIV-CLOSE-05 PRIV-CLOSE-06"),
    found(anybody(PRIVACY), "PRIV-CLOSE-04 PRIV-OPEN-02"),
    together(found(_default_closed, "PRIV-CLOSE-03"), found(_renamed, "PRIV-OPEN-06")),
    together(
        found(accepting(PRIVACY), "PRIV-OPEN-07 PRIV-OPEN-01"),
        found(_turning("hide", "show"), "PRIV-OPEN-04"),
    ),
    found(_shown_by_default, "PRIV-OPEN-01"),
    found(_turning("show", "hide"), "PRIV-OPEN-03"),
]


@fault("a webhook's channel is looked at before who asks", "POST /webhooks", learns=True)
async def _looking_first(ask: Ask, forward: Forward) -> Answer:
    answer = await forward(ask)
    is_there = ask.json.get("channelId") in ask.proxy.seen
    return refused(404) if answer.status == 403 and not is_there else answer


@fault("a webhook ends with its maker's membership", "POST /webhooks/:webhookId/messages", learns=True)
async def _ends_with_maker(ask: Ask, forward: Forward) -> Answer:
    hook = ask.proxy.seen.get(ask.params["webhookId"], {})
    maker = ask.proxy.tokens.get(str(hook.get("createdBy")), "")
    is_seen = not maker or await shown(ask, str(hook.get("channelId")), maker)
    return await forward(ask) if is_seen else refused(401)


@fault("webhooks outlive their channel", "GET /webhooks", learns=True)
async def _outliving(ask: Ask, forward: Forward) -> Answer:
    answer = await forward(ask)
    hooks = [one for one in ask.proxy.seen.values() if {"channelId", "name", "token"} <= one.keys()]
    return answer.with_json({"webhooks": hooks}) if answer.ok else answer


def _ones_own(told: Any, ask: Ask) -> Any:
    return {"webhooks": [one for one in told["webhooks"] if one["createdBy"] == ask.user_id]}


HOOKS = [
    together(
        found(telling_hidden("POST /webhooks", in_body=True), "PRIV-HOOK-01"),
        found(_looking_first, "PRIV-HOOK-02"),
        found(public("NEW_WEBHOOK"), "PRIV-HOOK-03"),
    ),
    found(edited("webhooks are listed to who made them", "GET /webhooks", _ones_own), "PRIV-HOOK-05"),
    together(
        found(_ends_with_maker, "PRIV-HOOK-04"),
        found(public("DELETE_WEBHOOK"), "PRIV-HOOK-03"),
        found(_outliving, "PRIV-HOOK-06"),
    ),
]

CASES: list[Case] = [*MAKING, *HIDING, *HISTORY, *ADMINS, *CONVERTING, *HOOKS]
