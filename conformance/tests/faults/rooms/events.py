"""Faults of what streams tell of rooms: who is told, what, and what a resumed stream repeats."""

from __future__ import annotations

from typing import Any

from conformance.tests.faults.case import Case, found, together
from conformance.tests.proxy.acting import rewritten
from conformance.tests.proxy.asking import Answer, Ask, Fault, Forward
from conformance.tests.proxy.hearing import eventless, preceded, public, retold, silent
from conformance.tests.proxy.streams import Frame, Listener

POSTS = "POST /channels/:channelId/messages"


def _without_oneself(listener: Listener, frame: Frame) -> list[Frame]:
    named = frame.payload.get("members", []) if frame.type == "CHANNEL_MEMBERS_ADDED" else []
    return [] if any(one["userId"] == listener.user_id for one in named) else [frame]


def _as_new(payload: Any) -> Any:
    id = payload["channelId"]
    return {"id": id, "name": "new", "createdAt": payload["members"][0]["joinedAt"]}


def _made_private(payload: Any) -> Any:
    return {**payload, "reason": "private"}


async def _who_sees_a_post(ask: Ask, forward: Forward) -> Answer:
    answer = await forward(ask)
    for user, token in list(ask.proxy.tokens.items()) if answer.ok else ():
        if (await ask.proxy.ask("GET", f"/channels/{ask.params['channelId']}", token)).ok:
            ask.proxy.kept.setdefault(("saw", user), []).append(answer.json["message"])
    return answer


def _told_again(listener: Listener, frame: Frame) -> list[Frame]:
    if frame.type != "CONNECTED" or not listener.resumes:
        return [frame]
    return [
        frame,
        *(Frame.of("NEW_MESSAGE", one) for one in listener.kept.get(("saw", listener.user_id), ())),
    ]


def _with_a_gap(listener: Listener, frame: Frame) -> list[Frame]:
    is_begin = frame.type == "CONNECTED" and listener.resumes
    return [frame, Frame.of("RESYNC", {})] if is_begin else [frame]


_JUDGED_AT_COMMIT = Fault(
    "a resumed stream repeats what one saw when it was said",
    POSTS,
    _who_sees_a_post,
    _told_again,
    learns=True,
)

CASES: list[Case] = [
    found(_JUDGED_AT_COMMIT, "PRIV-TELL-09 PRIV-CLOSE-07 PRIV-CLOSE-09"),
    together(
        found(public("CHANNEL_MEMBERS_ADDED"), "MEM-TOLD-01 MEM-TOLD-05"),
        found(public("CHANNEL_MEMBER_REMOVED"), "MEM-TOLD-02 MEM-TOLD-05 PRIV-TELL-07"),
        found(public("CHANNEL_MEMBER_UPDATED"), "MEM-TOLD-04"),
        found(preceded("CHANNEL_MEMBERS_ADDED", "NEW_CHANNEL", _as_new), "MEM-TOLD-03"),
    ),
    found(public("NEW_MESSAGE"), "PRIV-TELL-05 PRIV-HOOK-07"),
    together(
        found(silent("CHANNEL_MEMBERS_ADDED"), "GRP-ADD-04 MEM-TOLD-01 PRIV-TELL-04"),
        found(silent("CHANNEL_MEMBER_REMOVED"), "MEM-TOLD-02 PRIV-TELL-08"),
        found(silent("CHANNEL_MEMBER_UPDATED"), "MEM-TOLD-04"),
    ),
    together(
        found(eventless("CHANNEL_MEMBERS_ADDED", "by"), "MEM-ADDED-01 MEM-TOLD-01"),
        found(eventless("CHANNEL_MEMBER_REMOVED", "by"), "MEM-GONE-01 MEM-TOLD-02"),
        found(eventless("CHANNEL_MEMBER_UPDATED", "role"), "MEM-ROLE-01 MEM-TOLD-04"),
    ),
    together(
        found(rewritten("scope is joined", "GET /events", lambda ask: ask.asking(scope="joined")),
              "MEM-SCOPE-03"),
        found(Fault("who is added is not told of it", hear=_without_oneself), "MEM-SCOPE-04"),
    ),
    together(
        found(silent("NEW_CHANNEL"), "PRIV-TELL-01 PRIV-TELL-10 GRP-TOLD-01 PRIV-OPEN-05"),
        found(silent("UPDATE_CHANNEL"), "MEM-PUT-02 GRP-CONV-02 PRIV-OPEN-05"),
        found(Fault("a resumed stream tells of a gap", hear=_with_a_gap), "PRIV-TELL-11"),
    ),
    together(
        found(public("UPDATE_CHANNEL"), "PRIV-TELL-02"),
        found(silent("UPDATE_MESSAGE"), "PRIV-TELL-03"),
        found(retold("every channel that goes has become private", "DELETE_CHANNEL", _made_private),
              "PRIV-TELL-06 PRIV-TELL-12"),
    ),
    found(eventless("DELETE_CHANNEL", "reason"), "PRIV-TELL-06 PRIV-CLOSE-05"),
    found(public("DELETE_CHANNEL"), "PRIV-ADM-08 PRIV-CLOSE-05"),
    together(
        found(silent("DELETE_CHANNEL"), "PRIV-TELL-12"), found(public("UPDATE_MESSAGE"), "PRIV-TELL-02")
    ),
    found(public("NEW_CHANNEL"), "NOTE-HIDE-02 GRP-TOLD-01 PRIV-TELL-02"),
    found(silent("DELETE_WEBHOOK"), "PRIV-HOOK-03"),
]  # fmt: skip
