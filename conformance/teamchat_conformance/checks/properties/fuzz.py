"""PROP-FUZZ: bodies that break the table of endpoints, bodies that keep it, paths and queries of chance.

All chance comes from the run's seed; nothing is sent that, well understood, would end
the session or the account of somebody who is still needed.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator
from random import Random
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from teamchat_conformance.checks.estate import Estate
from teamchat_conformance.checks.properties._area import area
from teamchat_conformance.checks.steps import at, no_failure, no_trace
from teamchat_conformance.endpoints import ENDPOINTS, WITH_A_BODY, Endpoint, endpoint
from teamchat_conformance.expect import Answered
from teamchat_conformance.paths import segment
from teamchat_conformance.rawhttp import raw

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

_NO_TEXT: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    1.5,
    10**30,
    [],
    {},
    ["text"],
    {"text": "text"},
    [[[[]]]],
    {"a": {"b": {"c": []}}},
)
_NO_OBJECT: tuple[Any, ...] = (None, True, 7, "text", [], [{}], [[["text"]]])
_AS_JSON = (("Content-Type", "application/json"),)
_MAY_BE_MISSING = ("role",)
"""What has a default (decision D-21)."""
_SCRIPTS = (
    (0x20, 0x7E), (0x20, 0x7E), (0xA1, 0x24F), (0x370, 0x3FF), (0x400, 0x4FF), (0x5D0, 0x5EA), (0x620, 0x64A),
    (0x905, 0x939), (0xE01, 0xE30), (0x1100, 0x11FF), (0x200B, 0x200F), (0x2028, 0x202E), (0x3040, 0x30FF),
    (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0xE000, 0xE0FF), (0x1D400, 0x1D7FF), (0x1F300, 0x1FAFF), (0x9, 0xA),
)  # fmt: skip
_PARTS = ("..", "%00", "%2e%2e%2f", "%ff", "0", "-1", "null", "undefined", "dm:", "a" * 2_000)
_MOST_CHARACTERS = 1_000
_GARBAGE = 200

area.required("PROP-FUZZ-01", "§7", "Bodies that break the table get 4xx and an error, and do nothing")
area.recommended("PROP-FUZZ-02", "D-04", "Up to 1,000 characters of any script come back the same")
area.required("PROP-FUZZ-03", "§7", "Paths and queries of chance never fail the server, nor tell of others")
area.required("PROP-FUZZ-04", "§7", "Bytes of chance in place of HTTP leave the server alive", "load")


def broken(one: Endpoint, good: dict[str, Any], random: Random) -> Any:
    """Return a body that an endpoint must refuse: a field missing or of a wrong type, or no object at all."""
    name = random.choice(one.required_fields)
    kind = random.randrange(4)
    if kind == 0:
        return random.choice(_NO_OBJECT)
    if kind == 1 and name not in _MAY_BE_MISSING:
        return {key: value for key, value in good.items() if key != name}
    return {**good, name: random.choice(_NO_TEXT)}


def any_text(random: Random) -> str:
    """Return a text of one or several scripts, with something in it that can be seen."""
    ranges = random.choices(_SCRIPTS, k=random.randint(1, 3))
    length = random.randint(1, _MOST_CHARACTERS - 2)
    return "«" + "".join(chr(random.randint(*random.choice(ranges))) for _ in range(length)) + "»"


@area.scenario("PROP-FUZZ-01")
async def bodies_that_break_the_table(run: Run) -> None:
    random, estate = Random(run.seed), await Estate.apart(run)
    before = await estate.picture()
    with run.verdict("PROP-FUZZ-01"):
        for one in _breakable(run):
            for _ in range(max(2, run.examples // 5)):
                body = broken(one, estate.body(one), random)
                answer = await estate.rightly(one, raw=json.dumps(body).encode(), headers=_AS_JSON)
                if not 400 <= answer.status < 500:
                    raise answer.miss(f"sent {str(body)[:200]}, expected a refusal")
                answer.error(answer.status)
        await estate.require_unchanged(before)


def _breakable(run: Run) -> Iterator[Endpoint]:
    """Yield the endpoints with a body that are in use here; to sign out well by a broken body is no use."""
    signing_out = endpoint("POST", "/auth/logout")
    return (one for one in WITH_A_BODY if one is not signing_out and run.has(*one.needs))


@area.scenario("PROP-FUZZ-02")
async def texts_of_any_script(run: Run) -> None:
    random, estate = Random(run.seed), await Estate.make(run)
    with run.verdict("PROP-FUZZ-02"):
        for write in _writers(run, estate):
            for _ in range(max(2, run.examples // 5)):
                content = any_text(random)
                answer = await write({"content": content})
                told = answer.ok()
                returned = (told.get("message") or told.get("reply"))["content"]
                if returned != content:
                    raise answer.miss(f"sent the content {ascii(content)[:200]}")


def _writers(run: Run, estate: Estate) -> Iterator[Callable[[Any], Awaitable[Answered]]]:
    """Yield everything that takes a content."""
    message, talk = at("messages", estate.message_id), at("conversations", estate.conversation_id, "messages")
    hook = at("webhooks", str(estate.webhook["id"]), "messages")
    yield lambda body: run.u.post(at("channels", estate.channel_id, "messages"), body)
    yield lambda body: run.u.put(message, body)
    yield lambda body: run.u.post(f"{message}/thread", body)
    yield lambda body: run.u.put(f"{message}/thread/{segment(estate.reply_id)}", body)
    yield lambda body: run.u.post(talk, body)
    yield lambda body: run.u.put(f"{talk}/{segment(estate.direct_id)}", body)
    yield lambda body: run.n.post(hook, body, token=estate.webhook["token"])


@area.scenario("PROP-FUZZ-03")
async def paths_and_queries_of_chance(run: Run) -> None:
    random, estate = Random(run.seed), await Estate.make(run)
    secret = run.text("between two")
    await run.direct(run.u, estate.conversation_id, secret)
    before = await estate.picture()
    with run.verdict("PROP-FUZZ-03"):
        for one in ENDPOINTS:
            if one.kind == "stream" or not run.has(*one.needs) or not (one.parameters or one.method == "GET"):
                continue
            for _ in range(max(2, run.examples // 5)):
                no_trace(no_failure(await _ask_anything(run, estate, one, random)), secret)
        await estate.require_unchanged(before)


async def _ask_anything(run: Run, estate: Estate, one: Endpoint, random: Random) -> Answered:
    """Ask an endpoint, as somebody who takes no part in the conversation, with a path and query of chance."""
    values = {name: _part(random) for name in one.parameters}
    if one.method == "GET" and random.random() < 0.5:
        values = estate.values(one)
    query = {random.choice(("limit", "before", "size", "x")): any_text(random)[:50] for _ in range(2)}
    target = f"{one.target(values)}?{urlencode(query)}"
    asker = run.a if one.admin_only else run.w
    body = (estate.body(one),) if one.fields else ()
    return await asker.ask(one.method, target, *body)


def _part(random: Random) -> str:
    """Return a part of a path that is no id of anything."""
    return random.choice(_PARTS) if random.random() < 0.3 else quote(any_text(random)[:50], safe="")


@area.scenario("PROP-FUZZ-04", needs=["load"])
async def bytes_of_chance(run: Run) -> None:
    random = Random(run.seed)
    with run.verdict("PROP-FUZZ-04"):
        for _ in range(_GARBAGE):
            async with raw(run) as connection:
                await connection.send(random.randbytes(random.randint(1, 4_000)))
        (await run.n.get("/health")).expect(200)
