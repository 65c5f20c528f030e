"""PUSH: encrypted pushes to the devices of users (capability web-push, extension J).

The suite loads this by an entry point; the server never does.  What is sent is seen by a push service of the
suite's on 127.0.0.1, if the server lets it (``push.allowedHosts``).
"""

from __future__ import annotations

from contextlib import suppress
from time import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import trio

from teamchat_conformance.checks.places import make_private
from teamchat_conformance.checks.steps import at, soon, the_only, unknown
from teamchat_conformance.endpoints import Endpoint, Field
from teamchat_conformance.expect import array, integer, optional, require, text
from teamchat_conformance.registry import Area
from teamchat_conformance.verdicts import note
from teamchat_web_push.loopback import Browser, LoopbackService

if TYPE_CHECKING:
    from teamchat_conformance.actors import Actor
    from teamchat_conformance.http import Client
    from teamchat_conformance.run import Run

_SUBSCRIPTIONS = "/push/subscriptions"
_SHOWN: dict[str, Any] = {
    "id": text,
    "deviceName": text,
    "createdAt": integer,
    "lastSentAt": optional(integer),
    "lastError": optional(text),
}
_KNOWN = dict.fromkeys(_SHOWN)
_TEST = {"sent": {"status": None, "reason": None}}
_WHY = {"subscriptionId": None, "at": None, "outcome": None, "reason": None}
SECONDS = 60.0
"""How long a push may take."""
_UNSEEN = "the server lets no push go to 127.0.0.1 (push.allowedHosts): nothing was seen"

area = Area(
    "PUSH",
    "Web Push",
    capability="web-push",
    endpoints=(
        Endpoint("GET", "/push/key", known={"key": None}),
        Endpoint("GET", _SUBSCRIPTIONS, known={"subscriptions": _KNOWN, "next": None}),
        Endpoint(
            "POST",
            _SUBSCRIPTIONS,
            fields=(Field("endpoint"),),
            known={"subscription": _KNOWN},
        ),
        Endpoint("GET", f"{_SUBSCRIPTIONS}/:subscriptionId", known={"subscription": _KNOWN}),
        Endpoint("DELETE", f"{_SUBSCRIPTIONS}/:subscriptionId", known={"success": None}),
        Endpoint("POST", f"{_SUBSCRIPTIONS}/:subscriptionId/test", known=_TEST),
        Endpoint("GET", "/me/notifications/why", known={"decisions": _WHY}),
    ),
)
for _id, _spec, _text, _words in (
    (
        "PUSH-KEY-01",
        "J-1",
        "The server's key is an uncompressed point of P-256, the same for everybody",
        "| GET | /push/key | key (base64url, uncompressed P-256) |",
    ),
    (
        "PUSH-SUB-01",
        "J",
        "A subscription is listed for its user, and for nobody else",
        "| GET, DELETE | /push/subscriptions, /push/subscriptions/:id | the caller's |",
    ),
    (
        "PUSH-SUB-02",
        "J-2",
        "Posting an endpoint again makes no second subscription",
        "Clients post it at every start",
    ),
    (
        "PUSH-SUB-03",
        "J-2",
        "A known endpoint moves to who posts it",
        "Posting a known endpoint moves it to the caller",
    ),
    (
        "PUSH-SUB-04",
        "J",
        "A subscription that its user removes is gone",
        "| GET, DELETE | /push/subscriptions, /push/subscriptions/:id | the caller's |",
    ),
    (
        "PUSH-SUB-05",
        "J",
        "A subscription is read by its id, and another's is 404",
        "| GET, DELETE | /push/subscriptions, /push/subscriptions/:id | the caller's |",
    ),
    (
        "PUSH-SUB-06",
        "X-13",
        "A repeated Idempotency-Key answers the same subscription, for another device it is 400",
        "D-07b holds on every new POST that creates something",
    ),
    (
        "PUSH-SUB-07",
        "X-11",
        "Subscriptions are listed in pages, by limit and cursor",
        "take `limit` (1–200, default 50, more means 200) and `cursor`, and answer `next`",
    ),
    (
        "PUSH-ADDR-01",
        "J-8",
        "Endpoints in private networks, and those without https, are 400",
        "no address of a private, loopback or link-local network",
    ),
    (
        "PUSH-SENT-01",
        "J-5",
        "A direct message arrives, signed, encrypted, and with its fields",
        "{v: 1, kind, placeId, threadId?, messageId, title, body, badge, tag, url}",
    ),
    ("PUSH-SENT-02", "J-3", "One's own messages are not pushed", "Not: own messages, reactions, edits"),
    (
        "PUSH-SENT-03",
        "J-5",
        "What a push shows is what its reader has chosen",
        '`preview` per user: `full`, `sender` ("Anna wrote in #design"), `none` ("New message")',
    ),
    (
        "PUSH-TEST-01",
        "J",
        "A device can be tried, and the service's status is told",
        "| POST | /push/subscriptions/:id/test | sent: {status} of the push service |",
    ),
    (
        "PUSH-GONE-01",
        "J-7",
        "A subscription that its service has forgotten goes",
        "404, 410 the subscription goes",
    ),
    (
        "PUSH-QUIET-01",
        "J-4",
        "What comes while paused is not pushed",
        "`pausedUntil` and quiet hours (`quietHours`: {tz, days, from, to}) hold pushes back",
    ),
    (
        "PUSH-WHY-01",
        "J",
        "The server says what was decided of a message",
        "decisions: {subscriptionId or `mail`, at, outcome, reason}; 7 days",
    ),
    (
        "PUSH-SUB-08",
        "J-2",
        "The eleventh subscription of a user ends the oldest",
        "the eleventh subscription ends the oldest",
    ),
    (
        "PUSH-SUB-09",
        "J-2",
        "A subscription ends with the session that it was made in",
        "A subscription belongs to the session it was made in and ends when that is ended",
    ),
    (
        "PUSH-HIDE-01",
        "X-3",
        "Of a message that one does not see nothing is said (404)",
        "The answer equals that for an id nobody ever had",
    ),
    (
        "PUSH-SUB-10",
        "J-2",
        "Posting a known endpoint with other keys has pushes encrypted for these",
        "Clients post it at every start (it repairs what the browser lost)",
    ),
    (
        "PUSH-SUB-11",
        "J-2",
        "It ends with its session alone, and with being shut out",
        "ends when that is ended (logout, revocation, session limit, removal)",
    ),
    (
        "PUSH-SUB-12",
        "X-12",
        "A device's name of 80 characters is taken, and a longer one is 400",
        "device and token names ≤ 80",
    ),
    (
        "PUSH-SIGN-01",
        "J-1",
        "What is signed holds for 24 hours at most, and says whom to write to",
        "`push.contact` is a `mailto:` or `https:` URI and is sent as `sub`",
    ),
    (
        "PUSH-SENT-04",
        "J-5",
        "What concerns its reader directly is urgent and kept for 24 hours, all else for 12",
        "TTL 12 h for messages, 24 h for mentions and direct; `Urgency: high` for those that",
    ),
    (
        "PUSH-SENT-05",
        "J-5",
        "Pushes of one place have a topic of 32 characters, which those of no other place have",
        "`Topic` = 32 characters of a keyed hash of the place, so the service keeps one per place",
    ),
    (
        "PUSH-SENT-06",
        "J-5",
        "A long message is cut after 200 characters, and the address leads to it",
        "`url` is `{appUrl}/#/messages/<id>`",
    ),
    (
        "PUSH-QUIET-02",
        "J-4",
        "Direct messages of people that one has named come through a pause",
        "direct mentions and direct messages pass if their author is in `urgentFrom`",
    ),
    (
        "PUSH-QUIET-03",
        "D-9",
        "Nothing of a muted place is pushed",
        "Muted: counts are told, but not in `badge`, and nothing notifies",
    ),
    (
        "PUSH-AGAIN-01",
        "J-7",
        "What the service finds too large is sent again without its text",
        "413 is sent again with `body` empty",
    ),
    (
        "PUSH-AGAIN-02",
        "J-7",
        "What the service has no time for is sent again when it says",
        "429, 5xx again after Retry-After",
    ),
    (
        "PUSH-AGAIN-03",
        "J-7",
        "A subscription that the service refuses is kept, and says so",
        "401, 403 kept, told in `lastError`",
    ),
):
    area.required(_id, _spec, _text, words=[_words])


async def _subscribe(who: Client, browser: Browser, name: str = "Phone") -> dict[str, Any]:
    body = {**browser.subscription, "deviceName": name}
    answer = (await who.post(_SUBSCRIPTIONS, body)).shape({"subscription": _SHOWN})
    return dict(answer["subscription"])


async def _listed(who: Client) -> list[str]:
    answer = (await who.get(_SUBSCRIPTIONS)).shape({"subscriptions": array(_SHOWN), "next": optional(text)})
    return [str(one["id"]) for one in answer["subscriptions"]]


def _elsewhere(service: LoopbackService) -> Browser:
    """Return a browser of a service that every server takes; nothing is sent to it."""
    browser = service.browser()
    browser.endpoint = f"https://push.example.com/{browser.endpoint.rpartition('/')[2]}"
    return browser


@area.scenario(
    "PUSH-KEY-01",
    "PUSH-SUB-01",
    "PUSH-SUB-02",
    "PUSH-SUB-03",
    "PUSH-SUB-04",
    "PUSH-SUB-05",
    "PUSH-SUB-06",
    "PUSH-SUB-07",
    "PUSH-ADDR-01",
)
async def devices_are_subscribed(run: Run) -> None:
    """Subscribe a browser as two people in turn, remove it, and name addresses that can't be."""
    service = LoopbackService()
    browser = _elsewhere(service)
    one, other = await run.new_user(), await run.new_user()
    with run.verdict("PUSH-KEY-01"):
        key = (await one.get("/push/key")).shape({"key": text})["key"]
        require(len(key) == 87 and key.startswith("B"), f"the key is {key!r}")
        require((await other.get("/push/key")).ok()["key"] == key, "another user is given another key")
    made = await _subscribe(one, browser)
    with run.verdict("PUSH-SUB-01"):
        require(made["deviceName"] == "Phone", "its name is another")
        require(await _listed(one) == [made["id"]], "it is not listed")
        require(await _listed(other) == [], "another user's list holds it")
        (await other.delete(f"{_SUBSCRIPTIONS}/{made['id']}")).error(404)
    with run.verdict("PUSH-SUB-02"):
        again = await _subscribe(one, browser, "My phone")
        require(again["id"] == made["id"], "there is a second one")
    with run.verdict("PUSH-SUB-05"):
        own = f"{_SUBSCRIPTIONS}/{made['id']}"
        found = (await one.get(own)).shape({"subscription": _SHOWN})["subscription"]
        require(found["id"] == made["id"], "it is another")
        (await other.get(own)).error(404)
    with run.verdict("PUSH-SUB-06"):
        key, further = {"Idempotency-Key": run.text("key")}, _elsewhere(service)
        first, second = [
            (await one.post(_SUBSCRIPTIONS, further.subscription, headers=key)).ok()["subscription"]["id"]
            for _ in range(2)
        ]
        require(first == second, "there are two subscriptions")
        another = _elsewhere(service).subscription
        (await one.post(_SUBSCRIPTIONS, another, headers=key)).error(400)
        (await one.delete(f"{_SUBSCRIPTIONS}/{first}")).expect(200)
        (await one.post(_SUBSCRIPTIONS, further.subscription, headers=key)).error(400)
        require(await _listed(one) == [made["id"]], "it is made again under its key")
    with run.verdict("PUSH-SUB-07"):
        second = await _subscribe(one, _elsewhere(service))
        page = (await one.get(f"{_SUBSCRIPTIONS}?limit=1")).ok()
        following = urlencode({"limit": 1, "cursor": str(page["next"])})
        last = (await one.get(f"{_SUBSCRIPTIONS}?{following}")).ok()
        listed = [entry["id"] for entry in (*page["subscriptions"], *last["subscriptions"])]
        require(sorted(listed) == sorted([made["id"], second["id"]]), "pages of one are not the same list")
        require(last["next"] is None, "something follows the last page")
        (await one.delete(f"{_SUBSCRIPTIONS}/{second['id']}")).expect(200)
    with run.verdict("PUSH-SUB-03"):
        await _subscribe(other, browser)
        require(await _listed(one) == [], "it is still that of who was signed in before")
        require(len(await _listed(other)) == 1, "it is not that of who is signed in now")
    with run.verdict("PUSH-ADDR-01"):
        for endpoint in (
            "http://push.example.com/1",
            "https://192.168.0.1/1",
            "https://[::1]/1",
            "https://[fec0::1]/1",
            "https://169.254.169.254/latest/meta-data",
        ):
            (await one.post(_SUBSCRIPTIONS, {**browser.subscription, "endpoint": endpoint})).error(400)
    with run.verdict("PUSH-SUB-04"):
        await _subscribe(one, browser)
        (await one.delete(f"{_SUBSCRIPTIONS}/{(await _listed(one))[0]}")).expect(200)
        require(await _listed(one) == [], "it was removed, and is listed")


@area.scenario("PUSH-SUB-08", "PUSH-SUB-09")
async def subscriptions_end(run: Run) -> None:
    """Subscribe eleven browsers, end all sessions, and sign in again."""
    service, who = LoopbackService(), await run.new_user(name="who has many browsers")
    made = [str((await _subscribe(who, _elsewhere(service)))["id"]) for _ in range(11)]
    with run.verdict("PUSH-SUB-08"):
        require(set(await _listed(who)) == set(made[1:]), "they are not the ten that came last")
    (await who.delete("/auth/sessions")).expect(200)
    await run.sign_in.again(who)
    with run.verdict("PUSH-SUB-09"):
        await soon(lambda: _has_none(who), SECONDS, "its session was ended, and it is listed")


@area.scenario("PUSH-HIDE-01")
async def nothing_is_said_of_what_is_not_seen(run: Run) -> None:
    """Ask why a message of others was not pushed."""
    hidden = [unknown(run)]
    if run.announced.version("private-channels"):
        place = str((await make_private(run, run.a, run.u))["id"])
        hidden.append(str((await run.post(run.u, place))["id"]))
    with run.verdict("PUSH-HIDE-01"):
        for message in hidden:
            (await run.w.get(at("me", "notifications", "why", messageId=message))).error(404)


@area.scenario(
    "PUSH-SENT-01",
    "PUSH-SENT-02",
    "PUSH-SENT-03",
    "PUSH-TEST-01",
    "PUSH-GONE-01",
    "PUSH-QUIET-01",
    "PUSH-WHY-01",
)
async def pushes_arrive(run: Run) -> None:
    """Receive pushes with a service of the suite's, of direct messages to a new user."""
    service = LoopbackService()
    async with service.running():
        browser, own = service.browser(), service.browser()
        who = await run.new_user()
        taken = await who.post(_SUBSCRIPTIONS, {**browser.subscription, "deviceName": "Laptop"})
        if taken.status == 400:
            for check in ("SENT-01", "SENT-02", "SENT-03", "TEST-01", "GONE-01", "QUIET-01", "WHY-01"):
                with run.verdict(f"PUSH-{check}"):
                    note(_UNSEEN)
            return
        device = taken.ok()["subscription"]["id"]
        service.key = (await who.get("/push/key")).ok()["key"]
        await _subscribe(run.u, own)
        await _play(run, who, service, browser, own, str(device))


async def _play(
    run: Run, who: Actor, service: LoopbackService, browser: Browser, own: Browser, device: str
) -> None:
    with run.verdict("PUSH-TEST-01"):
        answer = (await who.post(f"{_SUBSCRIPTIONS}/{device}/test", {})).ok()
        require(answer["sent"]["status"] == 201, f"it tells {answer}")
        require(len(browser.payloads) == 1, "nothing has come")
    place = await run.conversation(run.u, who)
    with run.verdict("PUSH-SENT-01"):
        message = str((await run.direct(run.u, place))["id"])
        push = await _next(service, browser, 2)
        require(not service.wrong, f"the service found wrong: {service.wrong}")
        require((push["v"], push["kind"]) == (1, "direct"), f"it is {push}")
        require(push["placeId"] == place and push["messageId"] == message, "it is about something else")
        require(isinstance(push["badge"], int) and push["badge"] >= 1, "its badge is none")
        require(len(push["body"]) <= 200 and message in push["url"], "its body or its url are others")
        require(browser.received[1].headers["urgency"] == "high", "it is not urgent")
    with run.verdict("PUSH-WHY-01"):
        why = at("me", "notifications", "why", messageId=message)
        await soon(lambda: _is_decided(who, why), SECONDS, "nothing is said of it")
        found = (await who.get(why)).ok()["decisions"]
        require([one["subscriptionId"] for one in found] == [device], "it is about other devices")
    with run.verdict("PUSH-SENT-02"):
        require(own.payloads == [], "the author was pushed their own message")
    with run.verdict("PUSH-SENT-03"):
        (await who.put("/me/notifications", {"preview": "none"})).expect(200)
        said = run.text()
        await run.direct(run.u, place, said)
        push = await _next(service, browser, 3)
        require(said not in _shown_of(push), "it shows what was said")
        require(run.u.user_name not in _shown_of(push), "it shows who said it")
        (await who.put("/me/notifications", {"preview": "sender"})).expect(200)
        await run.direct(run.u, place, said)
        push = await _next(service, browser, 4)
        require(said not in _shown_of(push), "with preview sender it shows what was said")
        require(run.u.user_name in _shown_of(push), "with preview sender it does not show who said it")
    with run.verdict("PUSH-QUIET-01"):
        (await who.put("/me/notifications", {"pausedUntil": int(time() * 1000) + 3_600_000})).expect(200)
        held = str((await run.direct(run.u, place))["id"])
        why = at("me", "notifications", "why", messageId=held)
        await soon(lambda: _is_decided(who, why), SECONDS, "nothing is said of it")
        require(held not in [push["messageId"] for push in browser.payloads], "it was pushed")
        browser.answer = 410
        (await who.put("/me/notifications", {"pausedUntil": None})).expect(200)
    with run.verdict("PUSH-GONE-01"):
        await soon(lambda: _has_none(who), SECONDS, "the service has forgotten it, and it is listed")


@area.scenario("PUSH-SUB-11", "PUSH-SUB-12")
async def subscriptions_end_one_by_one(run: Run) -> None:
    """Subscribe a browser in each of two sessions, end one, and shut the user out for a moment."""
    service, who = LoopbackService(), await run.new_user(name="who has two sessions")
    kept = (await _subscribe(who, _elsewhere(service), "n" * 80))["id"]
    with run.verdict("PUSH-SUB-12"):
        require(await _listed(who) == [kept], "one with a name of 80 characters is not listed")
        named = {**_elsewhere(service).subscription, "deviceName": "n" * 81}
        (await who.post(_SUBSCRIPTIONS, named)).error(400)
    if run.instance.auth.max_active_sessions > 1:
        await _end_one(run, who, service, str(kept))
    with run.verdict("PUSH-SUB-11"):
        if run.announced.version("deactivation"):
            for verb in ("deactivate", "activate"):
                (await run.a.post(at("users", who.user_id, verb))).expect(200)
            await run.sign_in.again(who)
            require(await _has_none(who), "its user was shut out, and it is listed")


async def _end_one(run: Run, who: Actor, service: LoopbackService, kept: str) -> None:
    with run.verdict("PUSH-SUB-11"):
        session = await run.sign_in.session(who.email, who.password)
        other = run.client("another session", str(session["accessToken"]))
        await _subscribe(other, _elsewhere(service))
        require(len(await _listed(who)) == 2, "the two are not listed")
        sessions = (await other.get("/auth/sessions")).ok()["sessions"]
        own = the_only([one["id"] for one in sessions if one["isCurrentSession"]], "current sessions")
        (await who.delete("/auth/sessions", {"sessionId": own})).expect(200)

        async def is_one() -> bool:
            return await _listed(who) == [kept]

        await soon(is_one, SECONDS, "of two sessions one was ended, and not its subscription alone")


@area.scenario(
    *("PUSH-SUB-10", "PUSH-SIGN-01", "PUSH-SENT-04", "PUSH-SENT-05", "PUSH-SENT-06"),
    *("PUSH-QUIET-02", "PUSH-QUIET-03", "PUSH-AGAIN-01", "PUSH-AGAIN-02", "PUSH-AGAIN-03"),
)
async def pushes_are_kept_and_tried_again(run: Run) -> None:
    """Receive pushes of a channel and of a conversation, in a pause, and by a service that is not well."""
    service = LoopbackService()
    async with service.running():
        browser, who = service.browser(), await run.new_user(name="who has a browser")
        taken = await who.post(_SUBSCRIPTIONS, {**browser.subscription, "deviceName": "Laptop"})
        if taken.status == 400:
            for check in ("SUB-10", "SIGN-01", "SENT-04", "SENT-05", "SENT-06", "QUIET-02", "QUIET-03"):
                with run.verdict(f"PUSH-{check}"):
                    note(_UNSEEN)
            for number in (1, 2, 3):
                with run.verdict(f"PUSH-AGAIN-0{number}"):
                    note(_UNSEEN)
            return
        channel, place = await run.channel(), await run.conversation(run.u, who)
        for_all = {"level": "all"}
        (await who.put(at("me", "places", channel, "notifications"), for_all)).expect(200)
        await _play_kinds(run, service, browser, channel, place)
        await _play_quiet(run, who, service, browser, channel, place)
        await _play_failures(run, who, service, browser, place)


async def _play_kinds(run: Run, service: LoopbackService, browser: Browser, channel: str, place: str) -> None:
    with run.verdict("PUSH-SENT-06"):
        said = str((await run.direct(run.u, place, "word " * 200))["id"])
        push = await _pushed(service, browser, said)
        require(0 < len(push["body"]) <= 200, f"its body has {len(push['body'])} characters")
        require(push["url"].endswith(f"/#/messages/{said}"), f"its address is {push['url']}")
    with run.verdict("PUSH-SIGN-01"):
        claims = the_only(browser.received, "pushes").claims
        lasts = claims.get("exp", 0) - time()
        require(0 < lasts <= 24 * 3600, f"its signature holds for {lasts:.0f} seconds")
        require(str(claims.get("sub")).startswith(("mailto:", "https:")), f"its sub is {claims.get('sub')}")
    for message in (await run.post(run.u, channel), await run.direct(run.u, place)):
        with run.verdict("PUSH-SENT-05"):
            await _pushed(service, browser, str(message["id"]))
    with run.verdict("PUSH-SENT-04"):
        require(len(browser.received) == 3, f"of three messages {len(browser.received)} are pushed")
        direct, posted, again = [one.headers for one in browser.received]
        for headers, urgency, seconds in ((direct, "high", 86_400), (posted, "normal", 43_200)):
            found = headers.get("urgency", "normal"), headers["ttl"]
            require(found == (urgency, str(seconds)), f"urgency and TTL are {found}")
    with run.verdict("PUSH-SENT-05"):
        direct, posted, again = [one.headers for one in browser.received]
        topics = [headers.get("topic", "") for headers in (direct, posted, again)]
        require([len(topic) for topic in topics] == [32] * 3, f"the topics are {topics}")
        require(topics[0] == topics[2], "two pushes of one place have two topics")
        require(topics[0] != topics[1], "two places have one topic")


async def _play_quiet(
    run: Run, who: Actor, service: LoopbackService, browser: Browser, channel: str, place: str
) -> None:
    muted = at("me", "places", channel, "notifications")
    with run.verdict("PUSH-QUIET-03"):
        (await who.put(muted, {"isMuted": True})).expect(200)
        unheard = str((await run.post(run.u, channel))["id"])
        said = await run.direct(run.u, place)
        await _pushed(service, browser, str(said["id"]))
        require(unheard not in [push["messageId"] for push in browser.payloads], "it was pushed")
    with run.verdict("PUSH-QUIET-02"):
        paused = {"pausedUntil": int(time() * 1000) + 3_600_000, "urgentFrom": [run.u.user_id]}
        (await who.put("/me/notifications", paused)).expect(200)
        await _pushed(service, browser, str((await run.direct(run.u, place))["id"]))
    (await who.put("/me/notifications", {"pausedUntil": None})).expect(200)


async def _play_failures(
    run: Run, who: Actor, service: LoopbackService, browser: Browser, place: str
) -> None:
    other = service.browser()
    with run.verdict("PUSH-SUB-10"):
        device = {**other.subscription, "endpoint": browser.endpoint, "deviceName": "Laptop"}
        (await who.post(_SUBSCRIPTIONS, device)).expect(200)
        browser.private, browser.auth = other.private, other.auth
        await _pushed(service, browser, str((await run.direct(run.u, place))["id"]))

    def recover(asked: Browser) -> None:
        asked.answer, asked.answer_headers = 201, {}

    service.on_push = recover
    with run.verdict("PUSH-AGAIN-01"):
        browser.answer = 413
        said = str((await run.direct(run.u, place))["id"])
        push = await _pushed(service, browser, said)
        require(push["body"] == "", f"what comes again is {push}")
    with run.verdict("PUSH-AGAIN-02"):
        browser.answer, browser.answer_headers = 429, {"Retry-After": "1"}
        await _pushed(service, browser, str((await run.direct(run.u, place))["id"]))
    with run.verdict("PUSH-AGAIN-03"):
        browser.answer = 403
        await run.direct(run.u, place)

        async def is_told() -> bool:
            listed = (await who.get(_SUBSCRIPTIONS)).ok()["subscriptions"]
            return bool(the_only(listed, "subscriptions")["lastError"])

        await soon(is_told, SECONDS, "it was refused, and lastError does not say so")


def _shown_of(push: dict[str, Any]) -> str:
    return f"{push['title']} {push['body']}"


async def _is_decided(who: Actor, why: str) -> bool:
    return bool((await who.get(why)).ok()["decisions"])


async def _has_none(who: Actor) -> bool:
    return not await _listed(who)


async def _pushed(service: LoopbackService, browser: Browser, message_id: str) -> dict[str, Any]:
    """Wait until a browser has had a push of a message, and return that."""

    def found() -> list[Any]:
        return [push for push in browser.payloads if push["messageId"] == message_id]

    service.wrong.clear()
    with suppress(trio.TooSlowError):
        await service.until(lambda: bool(found() or service.wrong), SECONDS)
    require(not service.wrong, f"the service found wrong: {service.wrong}")
    require(found(), "no push of it has come")
    return dict(found()[0])


async def _next(service: LoopbackService, browser: Browser, count: int) -> dict[str, Any]:
    """Wait until a browser has had so many pushes, and return the last."""
    with suppress(trio.TooSlowError):
        await service.until(lambda: len(browser.payloads) >= count or bool(service.wrong), SECONDS)
    require(not service.wrong, f"the service found wrong: {service.wrong}")
    require(len(browser.payloads) >= count, "no push has come")
    return dict(browser.payloads[-1])
