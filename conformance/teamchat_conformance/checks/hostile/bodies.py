"""NEG-JSON, NEG-BODY: bodies that are no JSON, no object, or more than anyone can mean.

Whoever sends them may ask what they ask, so nothing but the body can be refused.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import trio

from teamchat_conformance.checks.estate import Estate
from teamchat_conformance.checks.hostile._area import ALIVE, JSON, area, still_alive
from teamchat_conformance.checks.steps import messages, messages_at, no_failure, summary
from teamchat_conformance.endpoints import WITH_A_BODY, endpoint, numbered
from teamchat_conformance.expect import require
from teamchat_conformance.fixtures import corpus
from teamchat_conformance.verdicts import note

if TYPE_CHECKING:
    from teamchat_conformance.expect import Answered
    from teamchat_conformance.run import Run

MALFORMED = dict(numbered("NEG-JSON", WITH_A_BODY))
_ALSO_401 = ("/auth/verify", "/auth/password-login", "/auth/refresh")
_FIVE = (
    ("POST", "/channels/:channelId/messages"),
    ("POST", "/channels"),
    ("PUT", "/users/me"),
    ("POST", "/messages/:messageId/reactions"),
    ("POST", "/webhooks"),
)
_SLOWEST_SECONDS = 5.0

for _id, _one in MALFORMED.items():
    area.required(_id, "§7", f"{_one.name} refuses JSON that breaks off with 400", *_one.needs)
area.required("NEG-BODY-01", "§7", "JSON that is no object is refused with 400")
area.required("NEG-BODY-02", "§7", "No body, where fields are asked for, is refused with 400")
area.required("NEG-BODY-03", "§7", "What only lenient readers take for JSON is refused with 400")
area.required("NEG-BODY-04", "§7", "Bytes that are no UTF-8 are refused, or replaced")
area.recorded("NEG-BODY-05", "RFC 8259 §8.1", "What comes of a byte order mark, and of UTF-16")
area.recommended("NEG-BODY-06", "D-07a", "JSON nested without end is refused")
area.recorded("NEG-BODY-07", "RFC 8259 §4", "Which of two fields of one name counts")
area.recommended("NEG-BODY-08", "D-07a", "Fields and numbers without end are refused, or ignored, at once")
area.recommended("NEG-BODY-09", "§7", "Names that mean something in a language change nothing")


@area.scenario(*MALFORMED, ALIVE)
async def json_that_breaks_off(run: Run) -> None:
    estate = await Estate.apart(run)
    someone = await run.new_user()
    before = await estate.picture()
    for id, one in MALFORMED.items():
        if not run.has(*one.needs):
            continue
        with run.verdict(id) as finding:
            options: dict[str, Any] = {"token": someone.token} if one.path == "/auth/logout" else {}
            answer = await estate.rightly(one, raw=corpus.MALFORMED, headers=JSON, **options)
            if one.path == "/auth/logout" and run.has("dev") and answer.status == 200:
                note("a dev sign-in ends whatever the body of POST /auth/logout is")
                continue
            answer.error(400, accept=(401,) if one.path in _ALSO_401 else ())
            if one.auth in ("access", "webhook"):
                await estate.require_unchanged(before)
        if finding.outcome == "fail":
            before = await estate.picture()  # the next is not to blame for what this one has changed
    await still_alive(run)


@area.scenario("NEG-BODY-01", "NEG-BODY-02", "NEG-BODY-03", "NEG-BODY-04", ALIVE)
async def what_is_no_object(run: Run) -> None:
    estate = await Estate.apart(run)
    with run.verdict("NEG-BODY-01"):
        before = await estate.picture()
        for method, path in _FIVE:
            for value in corpus.NOT_OBJECTS:
                raw = json.dumps(value).encode()
                (await estate.rightly(endpoint(method, path), raw=raw, headers=JSON)).error(400)
        await estate.require_unchanged(before)
    with run.verdict("NEG-BODY-02"):
        before = await estate.picture()
        for method, path in _FIVE:
            for headers in (JSON, {}):
                (await estate.rightly(endpoint(method, path), raw=b"", headers=headers)).error(400)
        await estate.require_unchanged(before)
    with run.verdict("NEG-BODY-03"):
        before = await estate.picture()
        for raw in corpus.NOT_JSON.values():
            (await _post(run, estate.channel_id, raw)).error(400)
        await estate.require_unchanged(before)
    with run.verdict("NEG-BODY-04"):
        for raw in corpus.NOT_UTF8:
            answer = (await _post(run, estate.channel_id, raw)).expect(400, accept=(200,))
            if answer.status == 200:
                require("\ufffd" in answer.json["message"]["content"], "bytes that are no text were kept")
    await still_alive(run)


async def _post(run: Run, channel: str, raw: bytes) -> Answered:
    return await run.u.post(messages_at(channel), raw=raw, headers=JSON)


@area.scenario("NEG-BODY-05", "NEG-BODY-07", ALIVE)
async def what_readers_differ_in(run: Run) -> None:
    channel = await run.channel()
    text = json.dumps({"content": run.text()})
    encoded = {
        "a byte order mark": b"\xef\xbb\xbf" + text.encode(),
        "UTF-16 with a mark": text.encode("utf-16"),
        "UTF-16 without": text.encode("utf-16-le"),
    }
    told = {what: summary(no_failure(await _post(run, channel, raw))) for what, raw in encoded.items()}
    run.record("NEG-BODY-05", told)
    twice = await _post(run, channel, b'{"content": "first", "content": "last"}')
    run.record("NEG-BODY-07", summary(no_failure(twice)))
    await still_alive(run)


@area.scenario("NEG-BODY-06", "NEG-BODY-08", ALIVE)
async def bodies_without_end(run: Run) -> None:
    channel = await run.channel()
    with run.verdict("NEG-BODY-06"):
        for raw in (
            b"[" * 100_000,
            b"[" * 100_000 + b"]" * 100_000,
            b'{"content": "x", "n": ' + b"[" * 50_000 + b"]" * 50_000 + b"}",
            b'{"a":' * 20_000 + b"1" + b"}" * 20_000,
        ):
            (await _post(run, channel, raw)).error(400, 413)
    many = {"content": run.text(), **{f"k{number}": 1 for number in range(100_000)}}
    with run.verdict("NEG-BODY-08"):
        for raw in (
            json.dumps(many).encode(),
            json.dumps({"content": run.text(), "k" * 1_000_000: 1}).encode(),
            b'{"content": "x", "n": ' + b"9" * 10_000 + b"}",
            b'{"content": "x", "n": 1e400, "m": -1e400}',
            b'{"content": ' + b"9" * 10_000 + b"}",
        ):
            began = trio.current_time()
            (await _post(run, channel, raw)).expect(200, 400, 413)
            took = trio.current_time() - began
            require(took < run.wait(_SLOWEST_SECONDS), f"a body without end took {took:.1f} s")
    await still_alive(run)


@area.scenario("NEG-BODY-09", ALIVE)
async def names_that_mean_something(run: Run) -> None:
    someone, other = await run.new_user(), await run.new_user()
    before = (await other.get("/auth/me")).ok()
    with run.verdict("NEG-BODY-09"):
        for template in corpus.PROTOTYPES:
            raw = template % json.dumps(run.text()).encode()
            (await someone.put("/users/me", raw=raw, headers=JSON)).expect(200, 400)
        require((await other.get("/auth/me")).ok() == before, "another user changed")
        for who in (someone, other):
            (await who.get("/auth/me")).expect(200).shape({"user": {"isAdmin": False}})
            (await who.get("/webhooks")).error(403)
        require(await messages(run.u, await run.channel()) == [], "a new channel has messages")
    await still_alive(run)
