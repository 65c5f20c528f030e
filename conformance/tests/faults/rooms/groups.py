"""Faults of groups (GRP), notes (NOTE), archived channels (ARCH) and roles of users (ROLE)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from conformance.tests.faults.case import Case, found, together
from conformance.tests.proxy.acting import accepting, anybody, as_author, at_path, fault, rewritten, swallowed
from conformance.tests.proxy.asking import Answer, Ask, Fault, Forward, refused
from conformance.tests.proxy.hearing import silent
from conformance.tests.proxy.rooms import (
    is_any_admin,
    only_from_now,
    passing_over_unknown,
    reopened,
    shown,
)
from conformance.tests.proxy.shaping import edited, errors, refusal, telling
from conformance.tests.proxy.streams import Frame, Listener

CHANNEL = "/channels/:channelId"
MEMBERS = f"{CHANNEL}/members"
GROUP = "/groups/:channelId"


@fault("the same people have many groups", "POST /groups", learns=True)
async def _many(ask: Ask, forward: Forward) -> Answer:
    """Make another group of the same people: one with the first admin too, who leaves it."""
    answer = await forward(ask)
    if not answer.ok or answer.json["isNew"]:
        return answer
    first = await ask.proxy.ask("GET", "/auth/me")
    another = await forward(ask.saying(userIds=[*ask.json["userIds"], first.json["user"]["id"]]))
    await ask.proxy.ask("POST", f"/channels/{another.json['channel']['id']}/leave")
    return another


@fault("the group of some people is the first that they had", "POST /groups")
async def _the_first(ask: Ask, forward: Forward) -> Answer:
    people = frozenset([*ask.json.get("userIds", ()), ask.user_id])
    if people not in ask.proxy.kept:
        ask.proxy.kept[people] = await forward(ask)
    return ask.proxy.kept[people]  # type: ignore[no-any-return]


def _turned_round(told: Any, _: Ask) -> None:
    names = told["channel"]["name"].split(", ")
    told["channel"]["name"] = ", ".join(names[::-1])


@fault("a group becomes public with what was said in it", f"PUT {CHANNEL}/privacy")
async def _shown(ask: Ask, forward: Forward) -> Answer:
    answer = await forward(ask)
    is_refused = answer.status == 400 and ask.json.get("history") == "show"
    return await forward(ask.saying(history="hide")) if is_refused else answer


_FIELDS = ("id", "name", "isPrivate", "createdAt", "createdBy", "memberCount")


def _with_groups(told: Any, ask: Ask) -> None:
    for one in list(ask.proxy.seen.values()):
        if one.get("kind") in ("group", "notes"):
            row = {key: one[key] for key in _FIELDS}
            told["channels"].append({**row, "isArchived": False, "lastMessageAt": None})


def _without_topic(ask: Ask) -> Ask:
    return ask.saying(topic="") if "topic" in ask.json else ask


GROUPS = [
    found(_many, "GRP-NEW-02 GRP-NEW-03 GRP-NEW-04"),
    together(
        found(telling(f"GET {MEMBERS}", "members.*.role", "manager"), "GRP-NEW-01"),
        found(edited("a group's name begins with the last", f"GET {CHANNEL}", _turned_round), "GRP-NAME-01"),
        found(rewritten("no topic is kept", f"PUT {CHANNEL}", _without_topic), "GRP-NAME-02"),
    ),
    together(
        found(accepting("POST /groups"), "GRP-NEW-06"),
        found(passing_over_unknown("POST /groups", "userIds"), "GRP-NEW-05"),
        found(accepting(f"POST {GROUP}/members"), "GRP-ADD-02"),
    ),
    together(
        found(_the_first, "GRP-END-02"),
        found(accepting(f"POST {CHANNEL}/leave"), "GRP-END-01"),
    ),
    together(
        found(telling(f"GET {MEMBERS}", "members.*.role", "member"), "GRP-CONV-01"),
        found(_shown, "GRP-CONV-03"),
        found(only_from_now(f"POST {MEMBERS}"), "GRP-CONV-05"),
        found(accepting(f"POST {GROUP}/convert", 403, 404), "GRP-CONV-04"),
    ),
    together(
        found(accepting(f"POST {GROUP}/members", 404), "GRP-PAIR-01"),
        found(accepting("POST /messages/:messageId/thread"), "GRP-PAIR-02"),
    ),
]


@fault("all have the notes of who asked first", "PUT /me/notes")
async def _shared(ask: Ask, forward: Forward) -> Answer:
    return await forward(ask.by(ask.proxy.kept.setdefault("who asked first", ask.token)))


async def _noted(ask: Ask, forward: Forward) -> Answer:
    answer = await forward(ask)
    ask.proxy.kept.setdefault("notes", set()).add(answer.json["channel"]["id"])
    return answer


def _of_no_notes(listener: Listener, frame: Frame) -> list[Frame]:
    notes = listener.kept.get("notes", ())
    return [] if frame.type == "NEW_MESSAGE" and frame.payload["channelId"] in notes else [frame]


NOTES = [
    together(
        found(telling("PUT /me/notes", "channel.kind", "channel"), "NOTE-NEW-01"),
        found(telling("PUT /me/notes", "isNew", True), "NOTE-NEW-02"),
        found(_shared, "NOTE-NEW-03"),
    ),
    together(
        found(accepting(f"DELETE {CHANNEL}", 403), "NOTE-DENY-01 GRP-DENY-02"),
        found(accepting(f"POST {MEMBERS}", 403), "NOTE-ADD-01"),
        found(Fault("notes are silent", "PUT /me/notes", _noted, _of_no_notes), "NOTE-USE-01"),
        found(edited("admins are listed groups and notes", "GET /admin/channels", _with_groups, learns=True),
              "NOTE-DENY-02 GRP-DENY-04"),
        found(as_author("DELETE /messages/:messageId", admins_only=True), "GRP-DENY-01"),
        found(refusal(f"PUT {CHANNEL}/privacy", 404, 403), "GRP-DENY-03"),
    ),
]  # fmt: skip


def _in_other_words(answer: Answer) -> Answer:
    is_archived = answer.status == 403 and "archived" in str((answer.json or {}).get("error"))
    return answer.with_json({"error": "It is old."}) if is_archived else answer


def _closed(route: str) -> Fault:
    """Refuse in an archived channel what should be done there."""

    async def handle(ask: Ask, forward: Forward) -> Answer:
        message = ask.proxy.seen.get(ask.params["messageId"], {})
        channel = await shown(ask, str(message.get("channelId")), ask.token)
        return refused(403) if channel.get("isArchived") else await forward(ask)

    return Fault(f"{route} is refused where it is archived", route, handle, learns=True)


@fault("archived is for ever", f"POST {CHANNEL}/unarchive", learns=True)
async def _for_ever(ask: Ask, forward: Forward) -> Answer:
    """Answer who may bring it back the channel as it is."""
    as_it_is = replace(at_path(ask, f"/channels/{ask.params['channelId']}"), method="GET")
    return await forward(as_it_is if is_any_admin(ask) else ask)


ARCHIVES = [
    together(
        found(anybody(f"POST {CHANNEL}/archive"), "ARCH-SET-02"),
        found(rewritten("archived channels are listed with the others", "GET /channels",
                        lambda ask: ask.asking(archived=None)), "ARCH-LIST-01"),
        found(_for_ever, "ARCH-SET-01 ARCH-SET-03 ARCH-BACK-01"),
    ),
    together(
        found(errors("what is archived is told in other words", _in_other_words),
              "ARCH-DENY-01 ARCH-DENY-02 ARCH-DENY-03 ARCH-DENY-04 ARCH-DENY-05 ARCH-DENY-06"),
        found(_closed("GET /messages/:messageId/thread"), "ARCH-READ-01"),
        found(_closed("DELETE /messages/:messageId"), "ARCH-DEL-01"),
        found(reopened(f"POST {CHANNEL}/join"), "ARCH-DENY-05"),
    ),
    together(
        found(reopened(f"POST {CHANNEL}/messages"), "ARCH-DENY-07 ARCH-DENY-01"),
    ),
]  # fmt: skip

ROLE = "PUT /users/:id/role"


@fault("a role that is as it was is told", ROLE)
async def _told_again(ask: Ask, forward: Forward) -> Answer:
    other = {"admin": "user", "user": "admin"}.get(str(ask.json.get("role")))
    if other:
        await forward(ask.saying(role=other))
    return await forward(ask)


def _as_user(ask: Ask) -> Ask:
    return ask.saying(role="user") if ask.json.get("role") == "admin" else ask


ROLES = [
    together(
        found(accepting(ROLE), "ROLE-PUT-05 ROLE-PUT-06", alone=True),
        found(silent("UPDATE_USER"), "ROLE-TOLD-01"),
    ),
    together(
        found(rewritten("nobody becomes admin", ROLE, _as_user),
              "ROLE-PUT-01 ROLE-PUT-02", alone=True),
        found(anybody(ROLE), "ROLE-PUT-03"),
        found(refusal(ROLE, 404, 400), "ROLE-PUT-04"),
        found(_told_again, "ROLE-SAME-01"),
    ),
]  # fmt: skip

DEACTIVATE, ACTIVATE = "POST /users/:id/deactivate", "POST /users/:id/activate"


@fault("it is remembered who was deactivated", DEACTIVATE)
async def _remembering(ask: Ask, forward: Forward) -> Answer:
    ask.proxy.kept.setdefault("deactivated", set()).add(ask.params["id"])
    return await forward(ask)


def _nameless(told: Any, ask: Ask) -> None:
    for one in told["messages"]:
        if one["author"]["id"] in ask.proxy.kept.get("deactivated", ()):
            one["author"]["userName"] = "Somebody"


AUDIT = "GET /admin/audit"


def _oldest_first(told: Any, _: Ask) -> None:
    told["entries"].reverse()


def _for_ever_next(told: Any, _: Ask) -> None:
    told["next"] = None


def _telling_all(told: Any, ask: Ask) -> None:
    """Tell of every entry whatever was seen last: a message with what was said, a webhook with its token."""
    for one in told["entries"]:
        one["details"]["said"] = [str(seen) for seen in ask.proxy.seen.values()]


def _without_most(told: Any, _: Ask) -> None:
    told["entries"] = [one for one in told["entries"] if not one["action"].endswith((".create", ".role"))]


def _without_members(told: Any, _: Ask) -> None:
    told["entries"] = [
        one for one in told["entries"] if not one["action"].startswith(("member.", "channel.privacy"))
    ]


def _members_alone(told: Any, _: Ask) -> None:
    told["entries"] = [one for one in told["entries"] if one["action"].startswith("member.")]


def _naming(told: Any, ask: Ask) -> None:
    """Name whoever asks as the actor of what nobody who is known did."""
    for one in told["entries"]:
        one["actorId"] = one["actorId"] or ask.user_id


AUDITS = [
    found(edited("members and privacy have no entry", AUDIT, _without_members), "AUDIT-MEM-01 AUDIT-PRIV-01"),
    found(edited("members alone have entries", AUDIT, _members_alone),
          "AUDIT-USER-02 AUDIT-CHAN-02 AUDIT-CHAN-03 AUDIT-SET-01 AUDIT-IN-01", alone=True),
    found(edited("who failed to sign in is named", AUDIT, _naming), "AUDIT-FAIL-01", kind="password"),
    together(
        found(edited("the oldest entry comes first", AUDIT, _oldest_first), "AUDIT-GET-01 AUDIT-USER-01"),
        found(edited("the log ends with every page", AUDIT, _for_ever_next), "AUDIT-GET-02"),
        found(anybody(AUDIT), "AUDIT-WHO-01"),
        found(edited("what was said stands in the log", AUDIT, _telling_all), "AUDIT-TEXT-01"),
        found(rewritten("who did it is not asked", AUDIT, lambda ask: ask.asking(actorId=None)),
              "AUDIT-GET-03"),
    ),
    together(
        found(edited("what was made has no entry", AUDIT, _without_most), "AUDIT-CHAN-01 AUDIT-HOOK-01"),
    ),
]  # fmt: skip

DEACTIVATION = [
    together(
        found(swallowed(DEACTIVATE),
              "DEACT-END-01 DEACT-END-02 DEACT-IN-01 DEACT-LIST-01 DEACT-TOLD-01 DEACT-LAST-01", alone=True),
    ),
    together(
        found(swallowed(ACTIVATE), "DEACT-BACK-01 DEACT-SAME-01"),
        found(anybody(DEACTIVATE), "DEACT-WHO-01"),
        found(refusal(DEACTIVATE, 404, 400), "DEACT-WHO-02"),
    ),
    together(
        found(_remembering, "DEACT-STAY-01"),
        found(edited("who is deactivated has no name", f"GET {CHANNEL}/messages", _nameless),
              "DEACT-STAY-01"),
    ),
]  # fmt: skip

CASES: list[Case] = [*GROUPS, *NOTES, *ARCHIVES, *ROLES, *AUDITS, *DEACTIVATION]
