"""NEG-INJ: texts that mean something to what stands behind a server.

A text is taken as it is or refused; nothing is read, done, or waited for because of it.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING
from urllib.parse import quote

import trio

from teamchat_conformance.checks.estate import Estate
from teamchat_conformance.checks.hostile._area import ALIVE, area, still_alive
from teamchat_conformance.checks.steps import at, item, message, messages_at
from teamchat_conformance.expect import require
from teamchat_conformance.fixtures.corpus import BOMBS, INJECTIONS, NEW_LINES
from teamchat_conformance.fixtures.images import encoded, png

if TYPE_CHECKING:
    from teamchat_conformance.expect import Answered
    from teamchat_conformance.http import Client
    from teamchat_conformance.run import Run

area.required("NEG-INJ-01", "§4", "Texts that are code elsewhere are kept or refused, and do nothing")
area.required("NEG-INJ-02", "§4", "Line ends in a path or a query make no header")
area.recommended("NEG-INJ-03", "§7", "No text keeps the server busy")

_SLOWEST_SECONDS = 5.0


async def _soon(run: Run, asked: Awaitable[Answered]) -> Answered:
    began = trio.current_time()
    answer = await asked
    took = trio.current_time() - began
    require(took < run.wait(_SLOWEST_SECONDS), f"{answer.method} {answer.target[:80]} took {took:.1f} s")
    return answer


async def _kept(run: Run, estate: Estate, text: str) -> None:
    """Put a text wherever text goes, and require that it is read as it was written."""
    channel = estate.channel_id
    posted = await _soon(run, run.u.post(messages_at(channel), {"content": text}))
    posted.expect(200).shape({"message": {"content": text}})
    read = await message(run.v, channel, posted.json["message"]["id"])
    require(read["content"] == text, f"{text!r} is read as {read['content']!r}")
    name = f"{run.text()} {text}"
    renamed = await _soon(run, run.a.put(at("channels", channel), {"name": name}))
    if renamed.expect(200, 400).status == 200:
        found = (await item(run.u, "/channels", "channels", channel))["name"]
        require(found == name, f"the name {name!r} is read as {found!r}")
    target = at("messages", estate.message_id, "reactions")
    reacted = await _soon(run, run.u.post(target, {"reaction": text}))
    if reacted.expect(200, 400).status == 200:
        require(text in reacted.json["message"]["reactions"], f"the reaction {text!r} is another")
        (await run.u.delete(target, {"reaction": text})).expect(200)


async def _nothing_else(run: Run, estate: Estate, text: str) -> None:
    """Put a text where it names nothing, and require that it does not."""
    listed = messages_at(estate.channel_id)
    for query in (f"limit={quote(text)}", f"before={quote(text)}"):
        answer = (await _soon(run, run.u.get(f"{listed}?{query}"))).expect(200, 400, 404)
        if answer.status == 200:
            require(
                all(one["channelId"] == estate.channel_id for one in answer.json["messages"]),
                f"{query} lists another channel's messages",
            )
    image = {"filename": text, "image": encoded(png())}
    (await _soon(run, run.u.post(f"{listed}/image", image))).expect(200, 400)
    (await _soon(run, run.a.post("/users/add", {"email": text, "role": text}))).error(400)
    await _lets_nobody_in(run, text)


async def _lets_nobody_in(run: Run, text: str) -> None:
    """Sign in by a text; at an address of its own, for servers count failed attempts by address."""
    body = {"email": text, "password": text}
    if run.has("dev"):
        (await _soon(run, run.n.post("/auth/dev-login", body))).error(400, 401, 403, 404)
    if run.has("pw", "ips"):
        asked = run.from_elsewhere().post("/auth/password-login", body)
        (await _soon(run, asked)).error(401, accept=(400, 429))


@area.scenario("NEG-INJ-01", ALIVE)
async def code_of_all_kinds(run: Run) -> None:
    estate = await Estate.make(run)
    users = {one: await one.get("/auth/me") for one in (run.u, run.v)}
    with run.verdict("NEG-INJ-01"):
        for text in INJECTIONS:
            await _kept(run, estate, text)
            await _nothing_else(run, estate, text)
        for one, was in users.items():
            require((await one.get("/auth/me")).ok() == was.ok(), "a user changed")
    await still_alive(run)


@area.scenario("NEG-INJ-02", ALIVE)
async def line_ends_in_targets(run: Run) -> None:
    channel = await run.channel()
    with run.verdict("NEG-INJ-02"):
        for ends in NEW_LINES:
            for target in (
                f"{messages_at(channel)}?limit={ends}",
                f"{messages_at(channel)}?before={ends}",
                f"{messages_at(channel)}/image/{ends}",
                f"{messages_at(channel)}/image/1700000000000-x.png?size={ends}",
                f"/channels/{ends}/messages",
                f"/{ends}",
                f"/auth/oauth/{ends}/callback?code={ends}&state={ends}",
                f"/auth/oauth/providers?next={ends}",
            ):
                answer = await run.u.get(target)
                names = [name for name, _ in answer.headers]
                require("x-injected" not in names, f"{target} made a header of its own")
                require(answer.status < 500, f"{target} makes the server fail")
    await still_alive(run)


@area.scenario("NEG-INJ-03", ALIVE)
async def texts_that_take_forever(run: Run) -> None:
    channel, someone = await run.channel(), await run.new_user()
    with run.verdict("NEG-INJ-03"):
        for text in BOMBS:
            image = {"filename": text, "image": encoded(png())}
            requests: tuple[tuple[Client, str, str, dict[str, str]], ...] = (
                (run.a, "POST", "/users/add", {"email": text, "role": "user"}),
                (run.a, "POST", "/channels", {"name": text}),
                (someone, "PUT", "/users/me", {"userName": text}),
                (run.u, "POST", f"{messages_at(channel)}/image", image),
                (run.n, "POST", "/auth/dev-login", {"email": text}),
                (run.n, "POST", "/auth/login", {"email": text}),
            )
            for asker, method, target, body in requests:
                answer = await _soon(run, asker.ask(method, target, body))
                require(answer.status < 500, f"{answer.target} fails at a long text")
                require(answer.status >= 400, f"{answer.target} takes a name of {len(text)} characters")
    await still_alive(run)
