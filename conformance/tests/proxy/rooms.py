"""Faults of rooms: what is done for who does not see one or may not, what is lost, and how lists are cut."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from conformance.tests.proxy.asking import Answer, Ask, Fault, Forward
from conformance.tests.proxy.shaping import edited


async def insider(ask: Ask, channel: str) -> str:
    """Return a token of a manager of a channel, or else of a member; an empty text if nobody is known."""
    members: dict[str, str] = {}
    for token in list(ask.proxy.tokens.values()):
        if (role := await role_of(ask, channel, token)) and role not in members:
            members[role] = token
        if role == "manager":
            break
    return members.get("manager", members.get("member", ""))


async def role_of(ask: Ask, channel: str, token: str) -> str:
    """Return the role of somebody in a channel; an empty text for who is not in it."""
    return str((await shown(ask, channel, token)).get("role", ""))


async def shown(ask: Ask, channel: str, token: str) -> dict[str, Any]:
    """Return a channel as somebody sees it; nothing if they do not."""
    answer = await ask.proxy.ask("GET", f"/channels/{channel}", token)
    return dict(answer.json["channel"]) if answer.ok else {}


def is_any_admin(ask: Ask) -> bool:
    """Return whether one of the suite's admins asks."""
    return bool(ask.proxy.seen.get(ask.user_id, {}).get("isAdmin"))


def by_insider(route: str, *codes: int, admins_only: bool = False) -> Fault:
    """Let everybody do what somebody in the channel may, when they are refused with one of these codes."""

    async def handle(ask: Ask, forward: Forward) -> Answer:
        answer = await forward(ask)
        if answer.status not in codes or not ask.token or (admins_only and not is_any_admin(ask)):
            return answer
        token = await insider(ask, ask.params["channelId"])
        return await forward(ask.by(token)) if token else answer

    who = "admins outside" if admins_only else "anybody outside"
    return Fault(f"{route} is for {who}", route, handle, learns=True)


def by_anybody(route: str, *codes: int) -> Fault:
    """Let everybody do what somebody may, when they are refused with one of these codes."""

    async def handle(ask: Ask, forward: Forward) -> Answer:
        answer = await forward(ask)
        others = list(ask.proxy.tokens.values()) if answer.status in codes and ask.token else ()
        for token in others:
            told = await forward(ask.by(token))
            if told.ok:
                return told
        return answer

    return Fault(f"{route} is for all if it is for one", route, handle, learns=True)


def lost(route: str, *fields: str) -> Fault:
    """Pass over fields of the body."""

    async def handle(ask: Ask, forward: Forward) -> Answer:
        kept = {key: value for key, value in ask.json.items() if key not in fields}
        return await forward(replace(ask, body=json.dumps(kept).encode()) if kept != ask.json else ask)

    return Fault(f"{route} loses {', '.join(fields)}", route, handle)


def passing_over_unknown(route: str, field: str) -> Fault:
    """Pass over ids of users who are not there, instead of refusing them."""

    async def handle(ask: Ask, forward: Forward) -> Answer:
        answer = await forward(ask)
        if answer.status != 404 or not ask.json.get(field):
            return answer
        users = (await ask.proxy.ask("GET", "/users", ask.token)).json["users"]
        known = {user["id"] for user in users}
        return await forward(ask.saying(**{field: [id for id in ask.json[field] if id in known]}))

    return Fault(f"{route} passes over {field} that are unknown", route, handle)


def telling_hidden(route: str, in_body: bool = False) -> Fault:
    """Say of a channel that is hidden that it is there."""

    async def handle(ask: Ask, forward: Forward) -> Answer:
        answer = await forward(ask)
        id = ask.json.get("channelId") if in_body else ask.params["channelId"]
        is_there = answer.status == 404 and id in ask.proxy.seen
        return answer.with_json({"error": "You are not in it."}, 404) if is_there else answer

    return Fault(f"{route} says that one is not in it", route, handle, learns=True)


def only_from_now(route: str) -> Fault:
    """Show who comes in only what comes after, whatever the channel's historyFor is."""

    async def handle(ask: Ask, forward: Forward) -> Answer:
        channel = ask.params["channelId"]
        if token := await insider(ask, channel):
            await ask.proxy.ask("PUT", f"/channels/{channel}", token, {"historyFor": "joiners"})
        return await forward(ask)

    return Fault(f"{route} shows nothing of before", route, handle, learns=True)


def overlapping(route: str, key: str) -> Fault:
    """Begin each page with the last row of the one before."""

    async def handle(ask: Ask, forward: Forward) -> Answer:
        answer = await forward(ask)
        if not answer.ok:
            return answer
        told, last = answer.json, ask.proxy.kept.get((route, ask.query.get("cursor")))
        if told["next"]:
            ask.proxy.kept[route, told["next"]] = told[key][-1]
        return answer.with_json({**told, key: [last, *told[key]]}) if last else answer

    return Fault(f"pages of {route} overlap", route, handle)


def counting_cursors(route: str, key: str) -> Fault:
    """Let a cursor say how many rows came before."""

    async def handle(ask: Ask, forward: Forward) -> Answer:
        answer = await forward(ask.asking(limit="200", cursor=None))
        limit, start = int(ask.query.get("limit", "50")), int(ask.query.get("cursor", "0"))
        rows, end = answer.json[key], start + limit
        return answer.with_json(
            {**answer.json, key: rows[start:end], "next": str(end) if end < len(rows) else None}
        )

    return Fault(f"cursors of {route} count", route, handle)


def early(route: str) -> Fault:
    """Answer an asOf from which on a stream repeats what the answer holds."""

    def edit(told: Any, _: Ask) -> None:
        told["asOf"] = str(max(int(told["asOf"]) - 100, 0))

    return edited(f"the asOf of {route} is an old one", route, edit)


def reopened(route: str) -> Fault:
    """Take what is refused in an archived channel: bring it back, do it, and archive it again."""

    async def handle(ask: Ask, forward: Forward) -> Answer:
        answer = await forward(ask)
        if answer.status != 403 or "archived" not in answer.json["error"]:
            return answer
        path = f"/channels/{ask.params['channelId']}"
        await ask.proxy.ask("POST", f"{path}/unarchive")
        answer = await forward(ask)
        await ask.proxy.ask("POST", f"{path}/archive")
        return answer

    return Fault(f"{route} is open where it is archived", route, handle, learns=True)
