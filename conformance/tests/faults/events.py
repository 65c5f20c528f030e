"""Faults of the event stream."""

from __future__ import annotations

import json
from typing import Any

from conformance.tests.faults.case import Case, found, together
from conformance.tests.proxy.acting import refusing, rewritten
from conformance.tests.proxy.hearing import (
    deaf,
    eventless,
    framed,
    public,
    reordered,
    resuming,
    retold,
    silent,
    twice,
)
from conformance.tests.proxy.streams import Frame


def _named(frame: Frame) -> bytes:
    return b"event: " + frame.type.encode() + b"\n" + frame.raw


def _in_two_lines(frame: Frame) -> bytes:
    return frame.id_line + f"data: {frame.data[:-1]}\ndata: }}".encode()


def _payload_as_text(frame: Frame) -> bytes:
    text = json.dumps({"type": frame.type, "payload": json.dumps(frame.payload)})
    return frame.id_line + f"data: {text}".encode()


def _raw_line_ends(frame: Frame) -> bytes:
    return frame.id_line + f"data: {frame.data}".replace("\\n", "\n").encode()


def _in_latin_1(frame: Frame) -> bytes:
    return frame.id_line + f"data: {frame.data}".encode("latin-1", "replace")


def _of_before(payload: Any) -> Any:
    """Tell of a thread as if the reply were still there; of one without replies, that there is one."""
    after = payload.get("threadMeta") or {
        "replyCount": 0,
        "lastReplyAt": 1,
        "lastReplyBy": {},
        "participants": [],
    }
    payload["threadMeta"] = {**after, "replyCount": after["replyCount"] + 1}
    return payload


def _greeted(frame: Frame) -> bytes:
    return b'data: {"type": "HELLO", "payload": {}}\n\n' + frame.raw


def _unchanged(payload: Any) -> Any:
    payload["content"] = "as it was before"
    return payload


FRAMES = [
    found(framed("events are named", _named), "SSE-FRAME-04 SSE-FRAME-02", "EVT-NEWMSG-02"),
    found(framed("something comes before CONNECTED", _greeted, "CONNECTED"), "SSE-FRAME-01", "EVT-NEWMSG-02"),
    found(framed("data comes in two lines", _in_two_lines), "SSE-FRAME-03", "EVT-NEWMSG-02"),
    found(framed("a payload is a text", _payload_as_text, "NEW_MESSAGE"), "SSE-FRAME-07", "EVT-NEWMSG-02"),
    found(framed("line ends stand as they are", _raw_line_ends), "SSE-FRAME-10"),
    found(framed("the stream is Latin-1", _in_latin_1), "SSE-FRAME-09", "SSE-FRAME-10"),
    found(eventless("CONNECTED", "connectionId"), "SSE-CONN-01"),
    found(
        retold("CONNECTED names somebody else", "CONNECTED", lambda p: {**p, "userId": "x"}), "SSE-CONN-02"
    ),
    found(twice("CONNECTED"), "SSE-CONN-05", "EVT-NEWMSG-02"),
    found(
        rewritten(
            "the stream's token counts in the header alone", "GET /events", lambda ask: ask.asking(token="")
        ),
        "SSE-OPEN-01",
    ),
    found(
        refusing(
            "the stream's token counts in the query alone",
            "GET /events",
            401,
            lambda a: "token" not in a.query,
        ),
        "SSE-OPEN-02",
    ),
]

WHO = [
    found(silent("NEW_DM_MESSAGE"), "SSE-DM-01", quick=True),
    found(public("NEW_DM_MESSAGE"), "SSE-DM-02 SSE-DM-05 SSE-DM-08"),
    found(public("UPDATE_DM_MESSAGE"), "SSE-DM-03"),
    found(public("DELETE_DM_MESSAGE"), "SSE-DM-04"),
    found(public("NEW_CONVERSATION"), "SSE-DM-06"),
    found(deaf(), "SSE-LIFE-05"),
    found(silent("NEW_WEBHOOK"), "SSE-ALL-02 PRIV-HOOK-03"),
    found(reordered("NEW_MESSAGE"), "SSE-ORDER-01", alone=True),
    found(silent("REMOVE_USER"), "SSE-ALL-03"),
    found(resuming("a resumed stream loses an event", lambda _: []), "SSE-LIFE-04", alone=True),
    found(
        resuming("a resumed stream repeats an event", lambda frame: [frame, frame]),
        "SSE-RESUME-03",
        alone=True,
    ),
]

EVENTS = [
    together(
        found(eventless("NEW_CHANNEL", "createdAt"), "EVT-NEWCHAN-01", "EVT-NEWCHAN-02"),
        found(eventless("NEW_MESSAGE", "author"), "EVT-NEWMSG-01", "EVT-NEWMSG-02"),
        found(eventless("NEW_WEBHOOK", "name"), "EVT-NEWHOOK-01", "EVT-NEWHOOK-02"),
        found(eventless("UPDATE_SERVER_SETTINGS", "name"), "EVT-SET-01", "EVT-SET-02"),
        found(eventless("NEW_CONVERSATION", "createdAt"), "EVT-NEWCONV-01", "EVT-NEWCONV-02"),
        found(eventless("NEW_USER", "email"), "EVT-NEWUSER-01", "EVT-NEWUSER-02"),
        found(eventless("NEW_REACTION", "userId"), "EVT-NEWREACT-01", "EVT-NEWREACT-02"),
        found(eventless("NEW_THREAD_REPLY", "threadMeta"), "EVT-NEWREPLY-01", "EVT-NEWREPLY-02"),
    ),
    together(
        found(eventless("UPDATE_CHANNEL", "name"), "EVT-UPDCHAN-01", "EVT-UPDCHAN-02"),
        found(eventless("UPDATE_MESSAGE", "updatedAt"), "EVT-UPDMSG-01", "EVT-UPDMSG-02"),
        found(eventless("DELETE_WEBHOOK", "channelId"), "EVT-DELHOOK-01", "EVT-DELHOOK-02"),
        found(eventless("NEW_DM_MESSAGE", "participants"), "EVT-NEWDM-01", "EVT-NEWDM-02"),
        found(eventless("UPDATE_USER", "userName"), "EVT-UPDUSER-01", "EVT-UPDUSER-02"),
        found(eventless("DELETE_REACTION", "messageId"), "EVT-DELREACT-01", "EVT-DELREACT-02"),
        found(eventless("DELETE_THREAD_REPLY", "threadId"), "EVT-DELREPLY-01", "EVT-DELREPLY-02"),
    ),
    together(
        found(eventless("DELETE_CHANNEL", "name"), "EVT-DELCHAN-01", "EVT-DELCHAN-02"),
        found(eventless("DELETE_MESSAGE", "channelId"), "EVT-DELMSG-01", "EVT-DELMSG-02"),
        found(eventless("UPDATE_DM_MESSAGE", "participants"), "EVT-UPDDM-01", "EVT-UPDDM-02"),
        found(eventless("REMOVE_USER", "email"), "EVT-REMUSER-01", "EVT-REMUSER-02"),
    ),
    together(
        found(eventless("DELETE_DM_MESSAGE", "conversationId"), "EVT-DELDM-01", "EVT-DELDM-02"),
        found(eventless("USER_EXIT", "userName"), "EVT-EXIT-01", "EVT-EXIT-02"),
    ),
    found(silent("NEW_MESSAGE"), "EVT-NEWMSG-02"),
    found(silent("UPDATE_CHANNEL"), "EVT-UPDCHAN-02"),
    found(twice("NEW_REACTION"), "EVT-NEWREACT-02"),
    found(eventless("NEW_THREAD_REPLY", "parentAuthorId"), "EVT-NEWREPLY-04"),
    found(retold("DELETE_THREAD_REPLY tells of the thread as it was", "DELETE_THREAD_REPLY", _of_before),
          "EVT-DELREPLY-03", "EVT-DELREPLY-02"),
    found(retold("UPDATE_MESSAGE tells another text", "UPDATE_MESSAGE", _unchanged), "EVT-UPDMSG-02"),
]  # fmt: skip

CASES: list[Case] = [*FRAMES, *WHO, *EVENTS]
