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
from teamchat_conformance.checks.steps import at, soon, unknown
from teamchat_conformance.endpoints import Endpoint, Field
from teamchat_conformance.expect import array, integer, optional, require, text
from teamchat_conformance.registry import Area
from teamchat_conformance.verdicts import note
from teamchat_web_push.loopback import Browser, LoopbackService

if TYPE_CHECKING:
    from teamchat_conformance.actors import Actor
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
):
    area.required(_id, _spec, _text, words=[_words])


async def _subscribe(who: Actor, browser: Browser, name: str = "Phone") -> dict[str, Any]:
    body = {**browser.subscription, "deviceName": name}
    answer = (await who.post(_SUBSCRIPTIONS, body)).shape({"subscription": _SHOWN})
    return dict(answer["subscription"])


async def _listed(who: Actor) -> list[str]:
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
                    note("the server lets no push go to 127.0.0.1 (push.allowedHosts): nothing was seen")
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
        require(said not in f"{push['title']} {push['body']}", "it shows what was said")
        require(run.u.user_name not in f"{push['title']} {push['body']}", "it shows who said it")
    with run.verdict("PUSH-QUIET-01"):
        (await who.put("/me/notifications", {"pausedUntil": int(time() * 1000) + 3_600_000})).expect(200)
        held = str((await run.direct(run.u, place))["id"])
        why = at("me", "notifications", "why", messageId=held)
        await soon(lambda: _is_decided(who, why), SECONDS, "nothing is said of it")
        require(len(browser.payloads) == 3, "it was pushed")
        browser.answer = 410
        (await who.put("/me/notifications", {"pausedUntil": None})).expect(200)
    with run.verdict("PUSH-GONE-01"):
        await soon(lambda: _has_none(who), SECONDS, "the service has forgotten it, and it is listed")


async def _is_decided(who: Actor, why: str) -> bool:
    return bool((await who.get(why)).ok()["decisions"])


async def _has_none(who: Actor) -> bool:
    return not await _listed(who)


async def _next(service: LoopbackService, browser: Browser, count: int) -> dict[str, Any]:
    """Wait until a browser has had so many pushes, and return the last."""
    with suppress(trio.TooSlowError):
        await service.until(lambda: len(browser.payloads) >= count or bool(service.wrong), SECONDS)
    require(not service.wrong, f"the service found wrong: {service.wrong}")
    require(len(browser.payloads) >= count, "no push has come")
    return dict(browser.payloads[-1])
