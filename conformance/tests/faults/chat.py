"""Faults of channels, messages, threads, reactions, images, conversations and webhooks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from urllib.parse import quote

from conformance.tests.faults.case import Case, found
from conformance.tests.proxy.acting import (
    accepting,
    as_author,
    as_participant,
    at_path,
    fault,
    is_admin,
    lasting,
    participant_token,
    refusing,
    rewritten,
    swallowed,
    undone,
)
from conformance.tests.proxy.asking import Answer, Ask, Forward, as_json
from conformance.tests.proxy.shaping import (
    as_text,
    edited,
    everywhere,
    header,
    leaking,
    refusal,
    status,
    telling,
    without,
)

SETTINGS = [
    found(swallowed("PUT /server/settings", {"name": "Kept"}), "SET-PUT-02", alone=True),
    found(without("GET /server/settings", "name"), "SET-GET-01"),
    found(status("PUT /server/settings", 204), "SET-PUT-01", alone=True),
]


def _seen(ask: Ask, id: str, field: str) -> Any:
    return ask.proxy.seen.get(ask.params[id], {}).get(field)


@fault("a channel's messages outlive it", "GET /channels/:channelId/messages", learns=True)
async def _messages_outlive(ask: Ask, forward: Forward) -> Answer:
    answer = await forward(ask)
    channel = ask.params["channelId"]
    if answer.status == 404 and _seen(ask, "channelId", "name"):
        return as_json(
            {"messages": [one for one in ask.proxy.seen.values() if one.get("channelId") == channel]}
        )
    return answer


@fault("a channel's webhooks outlive it", "GET /webhooks", learns=True)
async def _webhooks_outlive(ask: Ask, forward: Forward) -> Answer:
    answer = await forward(ask)
    hooks = [one for one in ask.proxy.seen.values() if one.get("channelId") and one.get("name")]
    return answer.with_json({"webhooks": [{k: v for k, v in one.items() if k != "token"} for one in hooks]})


@fault("what stood in a thread outlives its channel", "GET /messages/:messageId/thread", learns=True)
async def _threads_outlive(ask: Ask, forward: Forward) -> Answer:
    answer = await forward(ask)
    parent = ask.params["messageId"]
    replies = [one for one in ask.proxy.seen.values() if one.get("threadId") == parent]
    return as_json({"replies": replies}) if answer.status == 404 and replies else answer


CHANNELS = [
    found(status("POST /channels", 201), "CHAN-NEW-01"),
    found(as_text("POST /channels", "channel.createdAt"), "CHAN-NEW-01"),
    found(without("GET /channels", "channels.*.createdAt"), "CHAN-LIST-01"),
    found(undone("PUT /channels/:channelId", "name", lambda a: _seen(a, "channelId", "name")), "CHAN-UPD-02"),
    found(without("PUT /channels/:channelId", "channel.updatedAt"), "CHAN-UPD-01"),
    found(
        refusing("only who made a channel renames it", "PUT /channels/:channelId", 403,
                 lambda ask: not is_admin(ask), learns=True),
        "CHAN-UPD-08",
    ),
    found(_messages_outlive, "CHAN-DEL-02"),
    found(_threads_outlive, "CHAN-DEL-04"),
    found(_webhooks_outlive, "CHAN-DEL-03"),
    found(refusal("DELETE /channels/:channelId", 404, 500), "CHAN-DEL-05"),
    found(swallowed("DELETE /channels/:channelId"), "CHAN-DEL-01"),
]  # fmt: skip


@fault("a post is lost", "POST /channels/:channelId/messages", learns=True)
async def _post_lost(ask: Ask, forward: Forward) -> Answer:
    answer = await forward(ask)
    ask.proxy.kept["posts"] = ask.proxy.kept.get("posts", 0) + answer.ok
    if answer.ok and ask.proxy.kept["posts"] % 5 == 0:
        await ask.proxy.ask("DELETE", f"/messages/{answer.json['message']['id']}", ask.token)
    return answer


def _untold(message: dict[str, Any]) -> None:
    message.pop("updatedAt", None)


def _updated(message: dict[str, Any]) -> None:
    message["updatedAt"] = message.get("updatedAt") or message.get("createdAt")


def _by_user(message: dict[str, Any]) -> None:
    """Turn a map of reactions inside out."""
    turned: dict[str, list[str]] = {}
    for reaction, users in (message.get("reactions") or {}).items():
        for user in users:
            turned.setdefault(user, []).append(reaction)
    message["reactions"] = turned


def _of_the_last(message: dict[str, Any]) -> None:
    message["reactions"] = {
        reaction: users[-1:] for reaction, users in (message.get("reactions") or {}).items()
    }


def _page(name: str, route: str, list_name: str, change: Any) -> Any:
    return edited(
        name, route, lambda told, ask: {**told, list_name: change(told[list_name], ask)}, learns=True
    )


def _with_the_cursor(listed: list[Any], ask: Ask) -> list[Any]:
    before = ask.proxy.seen.get(ask.query.get("before", ""))
    return [*listed[1:], before] if before and listed else listed


def _with_replies(listed: list[Any], ask: Ask) -> list[Any]:
    replies = [
        one for one in ask.proxy.seen.values() if one.get("threadId") in [item["id"] for item in listed]
    ]
    return [*listed, *replies]


def _oldest_first_page(route: str, list_name: str) -> Any:
    @fault(f"{route} gives the oldest page", route)
    async def handle(ask: Ask, forward: Forward) -> Answer:
        answer = await forward(ask.asking(limit="200"))
        if not answer.ok or not ask.query.get("limit", "50").isdigit():
            return await forward(ask)
        return answer.with_json(
            {**answer.json, list_name: answer.json[list_name][: int(ask.query.get("limit", 50))]}
        )

    return handle


def _limited_to_49(route: str) -> Any:
    return rewritten(
        f"{route} gives 49 by default", route, lambda ask: ask.asking(limit=ask.query.get("limit", "49"))
    )


def _hundred_at_most(ask: Ask) -> Ask:
    return ask.asking(limit="100") if ask.query.get("limit", "").isdigit() else ask


def _ignoring(parameter: str, route: str) -> Any:
    return rewritten(f"{route} ignores {parameter}", route, lambda ask: ask.asking(**{parameter: None}))


@fault("a repeated key may come with any body", "POST /channels/:channelId/messages")
async def _key_of_any_body(ask: Ask, forward: Forward) -> Answer:
    return await _first_of_key(ask, forward, (ask.header("idempotency-key"), ask.token))


@fault("a repeated key is anybody's", "POST /channels/:channelId/messages")
async def _key_of_anybody(ask: Ask, forward: Forward) -> Answer:
    return await _first_of_key(ask, forward, ask.header("idempotency-key"))


async def _first_of_key(ask: Ask, forward: Forward, key: Any) -> Answer:
    if not ask.header("idempotency-key"):
        return await forward(ask)
    if key not in ask.proxy.kept:
        ask.proxy.kept[key] = await forward(ask)
    return ask.proxy.kept[key]  # type: ignore[no-any-return]


MESSAGE = "/channels/:channelId/messages"
MESSAGES = [
    found(status(f"POST {MESSAGE}", 201), "MSG-NEW-01"),
    found(without(f"POST {MESSAGE}", "message.author.userName"), "MSG-NEW-01"),
    found(_post_lost, "MSG-NEW-14"),
    found(leaking(f"POST {MESSAGE}", "message.author.isBot"), "MSG-NEW-03"),
    found(everywhere("updatedAt is set from the beginning", _updated), "MSG-FORM-02", "MSG-EDIT-01"),
    found(everywhere("updatedAt is left out", _untold), "MSG-FORM-02 MSG-FORM-03", "MSG-EDIT-01"),
    found(
        _page("replies stand in the channel's list", f"GET {MESSAGE}", "messages", _with_replies),
        "MSG-LIST-04",
    ),
    found(_limited_to_49(f"GET {MESSAGE}"), "MSG-PAGE-01"),
    found(_ignoring("limit", f"GET {MESSAGE}"), "MSG-PAGE-02"),
    found(_page("before counts itself in", f"GET {MESSAGE}", "messages", _with_the_cursor), "MSG-PAGE-04"),
    found(_ignoring("before", f"GET {MESSAGE}"), "MSG-PAGE-04"),
    found(rewritten("a page holds 100 at most", f"GET {MESSAGE}", _hundred_at_most), "MSG-PAGE-18"),
    found(_oldest_first_page(f"GET {MESSAGE}", "messages"), "MSG-PAGE-05 MSG-PAGE-06"),
    found(
        _page("pages are newest first", f"GET {MESSAGE}", "messages", lambda listed, _: listed[::-1]),
        "MSG-PAGE-09",
    ),
    found(
        undone("PUT /messages/:messageId", "content", lambda a: _seen(a, "messageId", "content")),
        "MSG-EDIT-02",
    ),
    found(without("PUT /messages/:messageId", "message.updatedAt"), "MSG-EDIT-01"),
    found(as_author("PUT /messages/:messageId"), "MSG-EDIT-03 MSG-EDIT-04 MSG-EDIT-12 NEG-IDOR-01"),
    found(as_author("PUT /messages/:messageId", admins_only=True), "MSG-EDIT-04"),
    found(swallowed("DELETE /messages/:messageId"), "MSG-DEL-01", quick=True),
    found(as_author("DELETE /messages/:messageId"), "MSG-DEL-03 MSG-DEL-09"),
    found(
        refusing(
            "admins delete nothing of others'",
            "DELETE /messages/:messageId",
            403,
            lambda ask: (_seen(ask, "messageId", "author") or {}).get("id") != ask.user_id,
            learns=True,
        ),
        "MSG-DEL-02",
    ),
    found(
        rewritten(
            "repeated keys are not known", f"POST {MESSAGE}", lambda a: a.without_header("idempotency-key")
        ),
        "MSG-IDEM-01",
    ),
    found(_key_of_any_body, "MSG-IDEM-02"),
    found(_key_of_anybody, "MSG-IDEM-03"),
    found(accepting(f"POST {MESSAGE}"), "NEG-TYPE-01 MSG-NEW-05 IMG-REF-03"),
    found(accepting("POST /channels"), "NEG-TYPE-02"),
    found(accepting(f"POST {MESSAGE}", 401), "NEG-HELD-01"),
    found(refusal(f"POST {MESSAGE}", 404, 500), "NEG-ID-01"),
]


@fault("a reaction replaces the user's others", "POST /messages/:messageId/reactions", learns=True)
async def _replacing(ask: Ask, forward: Forward) -> Answer:
    answer = await forward(ask)
    if answer.ok:
        for reaction, users in answer.json["message"]["reactions"].items():
            if ask.user_id in users and reaction != ask.json.get("reaction"):
                target = f"/messages/{ask.params['messageId']}/reactions"
                answer = await ask.proxy.ask("DELETE", target, ask.token, {"reaction": reaction})
    return answer


@fault("taking a reaction back takes everybody's", "DELETE /messages/:messageId/reactions", learns=True)
async def _of_all(ask: Ask, forward: Forward) -> Answer:
    answer = await forward(ask)
    reaction = ask.query.get("reaction") or ask.json.get("reaction")
    for user in answer.json["message"]["reactions"].get(reaction, []) if answer.ok else ():
        target = f"/messages/{ask.params['messageId']}/reactions"
        answer = await ask.proxy.ask("DELETE", target, ask.proxy.tokens[user], {"reaction": reaction})
    return answer


REACTION = "/messages/:messageId/reactions"
REACTIONS = [
    found(everywhere("reactions go by user", _by_user), "REACT-ADD-02", "MSG-NEW-01"),
    found(_replacing, "REACT-ADD-05"),
    found(_of_all, "REACT-DEL-02 REACT-DEL-05"),
    found(everywhere("a reaction is of who gave it last", _of_the_last), "REACT-ADD-03 REACT-ADD-15"),
    found(accepting(f"POST {REACTION}"), "REACT-ADD-17 NEG-TYPE-03"),
    found(
        rewritten("a reaction to take back is read from the body alone", f"DELETE {REACTION}",
                  lambda ask: ask.asking(reaction=None)),
        "REACT-DEL-10",
    ),
    found(without(f"DELETE {REACTION}", "message.reactions"), "REACT-DEL-01"),
    found(as_author(f"POST {REACTION}"), "REACT-ADD-14"),
]  # fmt: skip


THREAD = "/messages/:messageId/thread"
REPLY = "/messages/:messageId/thread/:replyId"


def _by_reply_author(route: str) -> Any:
    @fault(f"{route} is for anybody", route, learns=True)
    async def handle(ask: Ask, forward: Forward) -> Answer:
        answer = await forward(ask)
        token = ask.proxy.author_token(ask.params["replyId"])
        return await forward(ask.by(token)) if answer.status == 403 and token else answer

    return handle


@fault("a thread's last reply stays the last when it is deleted", "*", learns=True)
async def _last_reply_stays(ask: Ask, forward: Forward) -> Answer:
    answer = await forward(ask)
    told = answer.json if answer.ok else None
    if not isinstance(told, dict):
        return answer
    if "threadMeta" in told:
        ask.proxy.kept[told["reply"]["threadId"]] = told["threadMeta"]
    if "messages" not in told:
        return answer
    for message in told["messages"]:
        if meta := message.get("threadMeta"):
            message["threadMeta"] = {
                **ask.proxy.kept.get(message["id"], meta),
                "replyCount": meta["replyCount"],
            }
    return answer.with_json(told)


def _turned_round(told: Any, _: Ask) -> None:
    for one in told["messages"]:
        if meta := one.get("threadMeta"):
            meta["participants"].reverse()


THREADS = [
    found(without(f"POST {THREAD}", "threadMeta"), "THR-NEW-01"),
    found(telling(f"POST {THREAD}", "threadMeta.participants", []), "THR-NEW-03"),
    found(edited("participants stand in another order", f"GET {MESSAGE}", _turned_round), "THR-DEL-11"),
    found(_last_reply_stays, "THR-DEL-04"),
    found(without(f"POST {THREAD}", "reply.threadId"), "THR-NEW-02"),
    found(telling(f"POST {THREAD}", "threadMeta.replyCount", 1), "THR-NEW-05"),
    found(
        accepting(f"POST {THREAD}", 400, 404, told={"reply": {"id": "x"}, "threadMeta": {}}),
        "THR-NEW-08 THR-NEW-09",
    ),
    found(_limited_to_49(f"GET {THREAD}"), "THR-GET-02"),
    found(
        _page("a thread's before counts itself in", f"GET {THREAD}", "replies", _with_the_cursor),
        "THR-GET-03",
    ),
    found(
        _page("a thread is newest first", f"GET {THREAD}", "replies", lambda listed, _: listed[::-1]),
        "THR-GET-11",
    ),
    found(_by_reply_author(f"PUT {REPLY}"), "THR-EDIT-03"),
    found(_by_reply_author(f"DELETE {REPLY}"), "THR-DEL-03"),
    found(swallowed(f"DELETE {REPLY}"), "THR-DEL-01"),
    found(undone(f"PUT {REPLY}", "content", lambda ask: _seen(ask, "replyId", "content")), "THR-EDIT-02"),
]


@fault("an image's bytes are cut off", "GET /channels/:channelId/messages/image/:filename")
async def _cut(ask: Ask, forward: Forward) -> Answer:
    answer = await forward(ask)
    return replace(answer, body=answer.body[:-1]) if answer.status == 200 else answer


@fault("a thumbnail is lost", "GET /channels/:channelId/messages/image/:filename")
async def _thumbnail_lost(ask: Ask, forward: Forward) -> Answer:
    return await forward(ask.asking(size=None))


@fault("an image is found under any place", "GET /:places/:place/messages/image/:filename")
async def _any_place(ask: Ask, forward: Forward) -> Answer:
    answer = await forward(ask)
    if answer.ok:
        ask.proxy.kept[ask.params["filename"]] = answer
    return ask.proxy.kept.get(ask.params["filename"], answer)


IMAGE = "/channels/:channelId/messages/image"
DIRECT_IMAGE = "/conversations/:conversationId/messages/image"
IMAGES = [
    found(status(f"POST {IMAGE}", 201), "IMG-UP-01"),
    found(telling(f"POST {IMAGE}", "filename", "picture.png"), "IMG-UP-05 IMG-UP-07"),
    found(accepting(f"POST {IMAGE}", 400, 413), "IMG-UP-10 IMG-UP-17"),
    found(
        refusing("images are small", f"POST {IMAGE}", 413, lambda ask: len(ask.body) > 4_000_000), "IMG-UP-16"
    ),
    found(_cut, "IMG-GET-01"),
    found(header(f"GET {IMAGE}/:filename", "Content-Type", "application/octet-stream"), "IMG-GET-02"),
    found(header(f"GET {IMAGE}/:filename", "Content-Type", "image/jpeg"), "IMG-GET-02 IMG-GET-05"),
    found(header(f"GET {IMAGE}/:filename", "X-Content-Type-Options", None), "IMG-GET-12"),
    found(_thumbnail_lost, "IMG-GET-04"),
    found(_any_place, "IMG-DM-03 IMG-DM-05"),
    found(as_participant(f"GET {DIRECT_IMAGE}/:filename"), "IMG-DM-03 IMG-DM-04"),
    found(header(f"GET {IMAGE}/:filename", "Cross-Origin-Resource-Policy", None), "IMG-GET-14"),
    found(lasting(f"GET {IMAGE}/:filename", "its message"), "IMG-REF-02"),
    found(refusal("POST /messages/:messageId/thread/image", 404, 500), "IMG-THR-03"),
]


@fault("everybody's conversations are listed", "GET /conversations", learns=True)
async def _of_everybody(ask: Ask, forward: Forward) -> Answer:
    answer = await forward(ask)
    if not answer.ok:
        return answer
    listed = {one["id"]: one for one in answer.json["conversations"]}
    for token in list(ask.proxy.tokens.values()):
        others = await ask.proxy.ask("GET", "/conversations", token)
        listed |= {one["id"]: one for one in others.json["conversations"]} if others.ok else {}
    return answer.with_json({"conversations": list(listed.values())})


@fault("a conversation is read as a channel", f"GET {MESSAGE}", learns=True)
async def _as_a_channel(ask: Ask, forward: Forward) -> Answer:
    place = ask.params["channelId"]
    token = participant_token(ask, place)
    return await forward(at_path(ask, f"/conversations/{quote(place)}/messages").by(token) if token else ask)


def _other_is_oneself(told: Any, ask: Ask) -> None:
    for conversation in told.get("conversations", [told.get("conversation")]):
        conversation["otherUser"] = {"id": ask.user_id, "userName": "me"}


def _of_who_asks(told: Any, ask: Ask) -> None:
    told["conversation"]["id"] += f".{ask.user_id}"


@fault(
    "anybody deletes a direct message",
    "DELETE /conversations/:conversationId/messages/:messageId",
    learns=True,
)
async def _outsiders_delete(ask: Ask, forward: Forward) -> Answer:
    answer = await forward(ask)
    token = ask.proxy.author_token(ask.params["messageId"])
    return await forward(ask.by(token)) if answer.status in (403, 404) and token else answer


DIRECT = "/conversations/:conversationId/messages"
CONVERSATIONS = [
    found(telling("POST /conversations", "isNew", True), "CONV-NEW-04"),
    found(without("GET /conversations", "conversations.*.lastMessageAt"), "CONV-LIST-04"),
    found(_of_everybody, "CONV-LIST-02"),
    found(as_participant(f"GET {DIRECT}", admins_only=True), "CONV-MSG-04"),
    found(as_participant(f"GET {DIRECT}"), "CONV-MSG-03", quick=True),
    found(as_participant(f"POST {DIRECT}"), "CONV-MSG-05"),
    found(_as_a_channel, "CONV-MSG-10"),
    found(_limited_to_49(f"GET {DIRECT}"), "CONV-MSG-08"),
    found(_ignoring("before", f"GET {DIRECT}"), "CONV-MSG-09"),
    found(
        _page("a conversation is newest first", f"GET {DIRECT}", "messages", lambda listed, _: listed[::-1]),
        "CONV-MSG-13",
    ),
    found(everywhere("updatedAt is set from the beginning", _updated), "CONV-MSG-12"),
    found(as_author(f"PUT {DIRECT}/:messageId"), "CONV-EDIT-02 CONV-EDIT-03"),
    found(swallowed(f"DELETE {DIRECT}/:messageId"), "CONV-DEL-01"),
    found(_outsiders_delete, "CONV-DEL-02 CONV-DEL-03"),
    found(edited("the other of two is oneself", "POST /conversations", _other_is_oneself), "CONV-NEW-03"),
    found(edited("the other of each is oneself", "GET /conversations", _other_is_oneself), "CONV-LIST-03"),
    found(edited("a conversation is of who asks", "POST /conversations", _of_who_asks), "CONV-NEW-05"),
]


def _with_tokens(told: Any, ask: Ask) -> None:
    for hook in told["webhooks"]:
        hook["token"] = ask.proxy.seen.get(hook["id"], {}).get("token", "f" * 64)


@fault("no token is asked of a webhook", "POST /webhooks/:webhookId/messages", learns=True)
async def _no_hook_token(ask: Ask, forward: Forward) -> Answer:
    answer = await forward(ask)
    token = _seen(ask, "webhookId", "token")
    return await forward(ask.by(token)) if answer.status in (401, 403) and token else answer


@fault("another webhook's token will do", "POST /webhooks/:webhookId/messages", learns=True)
async def _other_hook_token(ask: Ask, forward: Forward) -> Answer:
    answer = await forward(ask)
    hooks = {one.get("token") for one in ask.proxy.seen.values()} - {None}
    token = _seen(ask, "webhookId", "token")
    return await forward(ask.by(token)) if not answer.ok and token and ask.token in hooks else answer


@fault("a webhook posts wherever the body says", "POST /webhooks/:webhookId/messages", learns=True)
async def _posting_elsewhere(ask: Ask, forward: Forward) -> Answer:
    answer = await forward(ask)
    place = ask.json.get("channelId")
    if answer.ok and place:
        return await ask.proxy.ask(
            "POST", f"/channels/{place}/messages", body={"content": ask.json["content"]}
        )
    return answer


WEBHOOKS = [
    found(without("POST /webhooks", "webhook.createdBy"), "HOOK-NEW-01"),
    found(telling("POST /webhooks", "webhook.token", "short"), "HOOK-NEW-02"),
    found(telling("POST /webhooks", "webhook.token", "f" * 64), "HOOK-NEW-04"),
    found(edited("webhooks are listed with their tokens", "GET /webhooks", _with_tokens, learns=True),
          "HOOK-LIST-02 HOOK-POST-14"),
    found(edited("a webhook is listed for who made it", "GET /webhooks",
                 lambda told, a: {"webhooks": [h for h in told["webhooks"] if h["createdBy"] == a.user_id]}),
          "HOOK-LIST-03"),
    found(swallowed("DELETE /webhooks/:webhookId"), "HOOK-DEL-01 HOOK-DEL-02"),
    found(without("POST /webhooks/:webhookId/messages", "message.author.isBot"), "HOOK-POST-02"),
    found(_no_hook_token, "HOOK-POST-04 HOOK-POST-06 AUTH-REQ-41"),
    found(_posting_elsewhere, "HOOK-POST-09"),
    found(_other_hook_token, "HOOK-POST-05"),
    found(accepting("POST /webhooks", 400, 404), "HOOK-NEW-05 HOOK-NEW-07"),
]  # fmt: skip

PROPERTIES = [
    found(everywhere("reactions go by user", _by_user), "PROP-MODEL-03"),
    found(_page("before counts itself in", f"GET {MESSAGE}", "messages", _with_the_cursor),
          "PROP-PAGE-01"),
    found(_post_lost, "PROP-ACK-01"),
    found(undone("PUT /messages/:messageId", "content", lambda a: _seen(a, "messageId", "content")),
          "PROP-MODEL-02"),
]  # fmt: skip

CASES: list[Case] = [
    *SETTINGS, *CHANNELS, *MESSAGES, *REACTIONS, *THREADS, *IMAGES, *CONVERSATIONS, *WEBHOOKS, *PROPERTIES,
]  # fmt: skip
