"""Faults of capabilities whose checks come with who brings them: whom is shown what, and how much of it."""

from __future__ import annotations

from typing import Any

from conformance.tests.faults.case import Case, found, together
from conformance.tests.proxy.acting import accepting, fault, lasting, refusing, rewritten, swallowed
from conformance.tests.proxy.asking import Answer, Ask, Fault, Forward, as_json
from conformance.tests.proxy.hearing import public, twice
from conformance.tests.proxy.rooms import by_anybody, by_insider
from conformance.tests.proxy.shaping import edited, header, telling, without
from conformance.tests.proxy.streams import Frame, Listener

PIN = "POST /messages/:messageId/pin"
HISTORY = "/messages/:messageId/history"
MESSAGES = "POST /channels/:channelId/messages"
FOUND, PEOPLE, CHANNELS = "GET /search/messages", "GET /search/people", "GET /search/channels"

PINS = [
    together(
        found(by_anybody(PIN, 404), "PIN-HIDE-01"),
        found(by_insider("GET /channels/:channelId/pins", 200), "PIN-HIDE-02"),
        found(public("MESSAGE_PINNED"), "PIN-TOLD-02"),
        found(twice("MESSAGE_UNPINNED"), "PIN-TOLD-03"),
    ),
    found(accepting(PIN, 400, 403), "PIN-MOST-01 PIN-ARCH-01"),
]

SAVED = [
    together(
        found(by_anybody("PUT /me/saved/:messageId", 404), "SAVED-HIDE-01"),
        found(telling("GET /me/saved", "items", []), "SAVED-HIDE-02"),
    )
]


def _is_of_another(ask: Ask) -> bool:
    author = ask.proxy.seen.get(ask.params["messageId"], {}).get("author", {})
    return bool(author) and author["id"] != ask.user_id


REVISIONS = [
    together(
        found(by_anybody(f"GET {HISTORY}", 404), "HISTORY-HIDE-01"),
        found(refusing("managers read no history", f"GET {HISTORY}", 403, _is_of_another, learns=True),
              "HISTORY-READ-02"),
    )
]  # fmt: skip


def _all_that_were(told: Any, ask: Ask) -> Any:
    drafts = [one for one in ask.proxy.seen.values() if {"placeId", "version"} <= one.keys()]
    return {**told, "drafts": drafts}


DRAFTS = [
    found(by_anybody("PUT /me/drafts/:draftId", 404), "DRAFT-HIDE-01"),
    found(edited("no draft is hidden", "GET /me/drafts", _all_that_were, learns=True), "DRAFT-HIDE-02"),
]

TYPING = [
    together(
        found(public("TYPING"), "TYPING-SEEN-02"),
        found(swallowed("PUT /presence/me"), "TYPING-HIDE-01"),
    ),
    found(twice("TYPING"), "TYPING-OFTEN-01"),
]

FILES = [
    together(
        found(by_anybody("GET /files/:fileId", 404), "FILES-HIDE-01"),
        found(by_anybody("POST /uploads", 403, 404), "FILES-HIDE-02"),
        found(by_anybody("HEAD /uploads/:uploadId", 404), "FILES-HIDE-03"),
        found(header("GET /files/:fileId", "Vary", None), "FILES-SAFE-02"),
    ),
    together(
        found(accepting("POST /uploads", 400, 403, 413), "FILES-TUS-06 FILES-NAME-01 FILES-ARCH-01"),
        found(accepting(MESSAGES), "FILES-MOST-01"),
    ),
]


@fault("everybody finds what who finds most does", FOUND, learns=True)
async def _found_by_all(ask: Ask, forward: Forward) -> Answer:
    answers = [await forward(ask), *[await forward(ask.by(one)) for one in list(ask.proxy.tokens.values())]]
    return max(
        (one for one in answers if one.ok), key=lambda one: len(one.json["results"]), default=answers[0]
    )


@fault("an operator that names a hidden channel finds nothing", FOUND, learns=True)
async def _nothing_there(ask: Ask, forward: Forward) -> Answer:
    hidden = [str(one.get("name")) for one in ask.proxy.seen.values() if one.get("isPrivate") is True]
    is_named = any(f"in:#{name}" in ask.query.get("q", "") for name in hidden)
    nothing = {"results": [], "next": None, "isComplete": True}
    return as_json(nothing) if is_named else await forward(ask)


def _with_hidden(told: Any, ask: Ask) -> None:
    given, listed = ask.query["q"], {one["id"] for one in told["channels"]}
    for one in list(ask.proxy.seen.values()):
        if given in str(one.get("name")) and "memberCount" in one and one["id"] not in listed:
            told["channels"].append(one)


def _half(told: Any, _: Ask) -> Any:
    return {"channels": told["channels"][:10]}


def _ignoring(parameter: str, route: str = FOUND) -> Fault:
    return rewritten(f"{route} ignores {parameter}", route, lambda ask: ask.asking(**{parameter: None}))


def _without_minus(ask: Ask) -> Ask:
    return ask.asking(q=ask.query["q"].replace(" -", " "))


SEARCH = [
    found(_found_by_all, "SEARCH-SEEN-02"),
    found(_nothing_there, "SEARCH-SEEN-03"),
    together(
        found(edited("hidden channels are found", CHANNELS, _with_hidden, learns=True), "SEARCH-NAME-03"),
        found(_ignoring("placeId", PEOPLE), "SEARCH-NAME-02"),
        found(_ignoring("tz"), "SEARCH-GRAM-03"),
        found(rewritten("minus is passed over", FOUND, _without_minus), "SEARCH-GRAM-04"),
    ),
    found(edited("half of the channels are found", CHANNELS, _half), "SEARCH-NAME-04"),
    together(
        found(_ignoring("from"), "SEARCH-ARGS-01"),
        found(_ignoring("limit"), "SEARCH-ARGS-02"),
    ),
]


@fault("whoever may not see what is quoted is shown it", "GET /channels/:channelId/messages", learns=True)
async def _shown_to_all(ask: Ask, forward: Forward) -> Answer:
    answer = await forward(ask)
    for one in answer.json["messages"] if answer.ok else ():
        if quoted := ask.proxy.seen.get(str(one.get("quotedMessageId"))):
            one["quoted"] = {**one, "id": quoted["id"], "content": quoted["content"]}
            answer = answer.with_json({**answer.json, "messages": [one]})
    return answer


QUOTES = [found(_shown_to_all, "QUOTE-OTHER-02")]

MENTIONS = [
    together(
        found(without("POST /messages/:messageId/thread", "unreached"), "MENTION-REACH-02"),
        found(accepting(MESSAGES), "MENTION-GIVEN-03"),
        found(telling("GET /me/places/:placeId", "state.unreadCount", 1), "READ-COUNT-06"),
    )
]

STATE = "GET /me/places/:placeId"


@fault("what nobody sees is counted, and is the last message", "* /me/places/:placeId", learns=True)
async def _counted_unseen(ask: Ask, forward: Forward) -> Answer:
    answer = await forward(ask)
    place = ask.params["placeId"]
    said = [id for id, one in ask.proxy.seen.items() if one.get("channelId") == place]
    state = (answer.json or {}).get("state", {})
    if state.get("lastMessageId") is None and said:
        return answer.with_json({**answer.json, "state": {**state, "lastMessageId": said[-1]}})
    return answer


def _many(told: Any, _: Ask) -> None:
    told["state"]["unreadCount"] += 2


def _read_all(told: Any, _: Ask) -> None:
    for one in told["threads"]:
        one["state"] |= {"unreadCount": 0, "mentionCount": 0}


READING = [
    found(_counted_unseen, "READ-HIDE-02"),
    found(accepting("PUT /me/read", told={"changed": 0}), "READ-ALL-02"),
    found(edited("two more are unread", STATE, _many), "READ-JOIN-03"),
    together(
        found(edited("nothing is unread in threads", "GET /me/threads", _read_all),
              "THREADS-FOLLOW-06 THREADS-COUNT-03"),
        found(edited("two more are unread", "PUT /me/threads/:messageId/unread", _many), "THREADS-COUNT-02"),
        found(telling("GET /me/places", "badge", 0), "THREADS-BADGE-01"),
        found(telling(STATE, "state.mentionCount", 0), "THREADS-FOLLOW-07"),
    ),
]  # fmt: skip


def _by_word(ask: Ask) -> Ask:
    """Take @here for @channel, and leave out what would be a webhook's to say."""
    return ask.saying(content=str(ask.json.get("content", "")).replace("@here", "@channel"))


EVERYBODY = [
    together(
        found(rewritten("@here is @channel", MESSAGES, _by_word), "MENTION-WIDE-02"),
        found(telling("POST /webhooks/:webhookId/messages", "message.mentions", ["@channel"]),
              "MENTION-WIDE-04"),
        found(rewritten("no keyword is kept", "PUT /me/notifications", lambda ask: ask.saying(keywords=[])),
              "MENTION-KEY-01"),
        found(accepting("PUT /users/me"), "MENTION-NAME-01"),
        found(swallowed("POST /users/:id/deactivate"), "MENTION-REACH-03"),
    ),
    found(telling(STATE, "state.mentionCount", 0), "MENTION-WIDE-03 MENTION-WIDE-05"),
]  # fmt: skip


def _as_long_as_ever(told: Any, ask: Ask) -> Any:
    """Add every item that was told once."""
    kept = ask.proxy.kept.setdefault(("feed", ask.user_id), {})
    kept |= {one["id"]: one for one in told["items"]}
    return {**told, "items": sorted(kept.values(), key=lambda one: str(one["id"]), reverse=True)}


def _joined_too(told: Any, ask: Ask) -> None:
    for one in list(ask.proxy.seen.values()):
        if one.get("isMember") and one["id"] not in [each["placeId"] for each in told["items"]]:
            told["items"].append({"id": f"added-{one['id']}", "kind": "added", "placeId": one["id"]})


FEED = [
    found(edited("items stay", "GET /me/activity", _as_long_as_ever), "ACTIVITY-KIND-05"),
    found(edited("who joins is told so", "GET /me/activity", _joined_too, learns=True), "ACTIVITY-KIND-06"),
    together(
        found(_ignoring("kinds", "GET /me/activity"), "ACTIVITY-LIST-01"),
        found(_ignoring("limit", "GET /me/activity"), "ACTIVITY-LIST-02"),
    ),
]


def _ten(told: Any, _: Ask) -> None:
    told["revisions"] = told["revisions"][:10]


async def _note_post(ask: Ask, forward: Forward) -> Answer:
    answer = await forward(ask)
    if answer.ok:
        message = answer.json["message"]
        ask.proxy.kept["posted", message["id"]] = message
    return answer


def _as_posted(listener: Listener, frame: Frame) -> list[Frame]:
    posted = listener.kept.get(("posted", frame.payload.get("id")))
    return [Frame.of(frame.type, posted)] if posted and listener.resumes else [frame]


@fault("all conversations of who has most are listed", "GET /conversations", learns=True)
async def _most_listed(ask: Ask, forward: Forward) -> Answer:
    answers = [await forward(ask), *[await forward(ask.by(one)) for one in list(ask.proxy.tokens.values())]]
    return max(answers, key=lambda one: len(one.body) if one.ok else 0)


LATER = [
    together(
        found(edited("ten texts are kept", f"GET {HISTORY}", _ten), "HISTORY-READ-03"),
        found(Fault("a resumed stream tells what was said at first", MESSAGES, _note_post, _as_posted),
              "QUOTE-TOLD-02"),
        found(telling("GET /me/places", "badge", 0), "MENTION-BADGE-01"),
    ),
    found(_most_listed, "TOKENS-PLACE-02"),
    found(accepting("POST /me/tokens", 400, 404), "TOKENS-PLACE-03"),
    together(
        found(lasting("GET /channels", "its token"), "TOKENS-END-02"),
        found(telling("GET /me/tokens", "tokens.*.ip", ""), "TOKENS-USED-01"),
    ),
]  # fmt: skip


def _all_devices(told: Any, ask: Ask) -> Any:
    """List every device that somebody had once."""
    kept = ask.proxy.kept.setdefault(("devices", ask.user_id), {})
    kept |= {one["id"]: one for one in told["subscriptions"]}
    return {"subscriptions": list(kept.values()), "next": None}


def _one_more(told: Any, ask: Ask) -> None:
    listed = [one["id"] for one in told["subscriptions"]]
    devices = [one for one in ask.proxy.seen.values() if "deviceName" in one and one["id"] not in listed]
    told["subscriptions"] += devices[:1]


DEVICES = [
    found(edited("devices stay", "GET /push/subscriptions", _all_devices),
          "PUSH-SUB-09 PUSH-SUB-11"),
    found(swallowed("DELETE /push/subscriptions/:id"), "PUSH-SUB-04"),
    found(edited("a device too many is listed", "GET /push/subscriptions", _one_more, learns=True),
          "PUSH-SUB-08"),
    together(
        found(telling("GET /presence", "presence.*.status", "online"),
              "PRES-STATUS-02 PRES-HIDE-03"),
        found(without("GET /presence", "presence.*.isDnd"), "PRES-STATUS-03"),
        found(telling("GET /presence", "presence.*.lastSeen", 61_234), "PRES-SEEN-01"),
        found(accepting("GET /presence", told={"presence": []}), "PRES-LIST-02"),
    ),
    found(public("PRESENCE_UPDATE"), "PRES-TOLD-01"),
    found(rewritten("nothing is watched", "PUT /events/:connectionId", lambda ask: ask.saying(watch=[])),
          "PRES-WATCH-01"),
    together(
        found(by_anybody("* /bots/:id/tokens", 403), "BOTS-BY-01"),
        found(accepting("POST /webhooks/:webhookId/slack", 401, 403), "SLACK-ARCH-01 SLACK-TOK-02"),
    ),
    together(
        found(rewritten("a status has no end", "PUT /me/status", lambda ask: ask.saying(until=None)),
              "PROF-STAT-02"),
        found(accepting("PUT /me/status"), "PROF-STAT-03"),
    ),
]  # fmt: skip

CASES: list[Case] = [
    *PINS,
    *SAVED,
    *REVISIONS,
    *DRAFTS,
    *TYPING,
    *FILES,
    *SEARCH,
    *QUOTES,
    *MENTIONS,
    *READING,
    *EVERYBODY,
    *FEED,
    *LATER,
    *DEVICES,
]
