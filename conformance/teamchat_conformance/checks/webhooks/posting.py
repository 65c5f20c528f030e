"""HOOK-POST: a webhook posts into its channel, by its own token, as itself."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from teamchat_conformance.checks.steps import (
    NOT_TEXT,
    at,
    each_bad,
    ids,
    message,
    messages,
    summary,
    together,
    unchanged,
    unknown,
)
from teamchat_conformance.checks.webhooks._area import area
from teamchat_conformance.expect import milliseconds, require, text

if TYPE_CHECKING:
    from teamchat_conformance.expect import Answered
    from teamchat_conformance.run import Run

area.required("HOOK-POST-01", "§4 Webhooks", "A webhook posts by its token and is answered the message")
area.required("HOOK-POST-02", "§2 Message", "The author is the webhook: its id, its name, isBot")
area.required("HOOK-POST-03", "§2 Message", "The channel's list shows the same author")
area.required("HOOK-POST-04", "§4 Webhooks", "A random token is refused with 401")
area.required("HOOK-POST-05", "§4 Webhooks", "Another webhook's token is refused with 403")
area.required("HOOK-POST-06", "§5 rule 16", "A user's access token is refused with 401")
area.required("HOOK-POST-07", "§7", "Content that is missing or no text is refused with 400")
area.required("HOOK-POST-08", "§7", "A webhook that is not there is not found, with a token of another")
area.required("HOOK-POST-09", "§2 Webhook", "A channelId in the body changes nothing")
area.required("HOOK-POST-10", "§4 Webhooks", "Nor do author, userName and isBot in the body")
area.required("HOOK-POST-11", "§4 Webhooks", "A token in the query is none")
area.recommended("HOOK-POST-12", "D-03", "A bad token comes before a bad body")
area.required("HOOK-POST-13", "§2 Webhook", "A webhook posts into its own channel alone")
area.recorded("HOOK-POST-15", "§8", "Whether there is a limit to a webhook's posts, or to their length")


def _at(hook: dict[str, Any]) -> str:
    return at("webhooks", hook["id"], "messages")


async def _post(run: Run, hook: dict[str, Any], body: Any = None, **options: Any) -> Answered:
    given = {"content": run.text("from a bot")} if body is None else body
    return await run.n.post(_at(hook), given, **{"token": hook["token"], **options})


@area.scenario("HOOK-POST-01", "HOOK-POST-02", "HOOK-POST-03", "HOOK-POST-13")
async def a_webhook_posts(run: Run) -> None:
    channel, elsewhere = await run.channel(), await run.channel()
    hook = await run.webhook(channel)
    content = run.text("from a bot")
    answer = await _post(run, hook, {"content": content})
    author = {"id": f"webhook:{hook['id']}", "userName": hook["name"], "isBot": True}
    with run.verdict("HOOK-POST-01"):
        fields = {"id": text, "channelId": channel, "content": content, "createdAt": milliseconds}
        answer.expect(200).shape({"message": {**fields, "author": {"id": text, "userName": text}}})
    with run.verdict("HOOK-POST-02"):
        answer.expect(200).shape({"message": {"author": author}})
    with run.verdict("HOOK-POST-03"):
        found = await message(run.u, channel, answer.ok()["message"]["id"])
        require(found["content"] == content, "the channel lists another content")
        wrong = [key for key, value in author.items() if found["author"].get(key) != value]
        require(not wrong, f"the channel lists an author with another {', '.join(wrong)}")
    with run.verdict("HOOK-POST-13"):
        require(await messages(run.u, elsewhere) == [], "a webhook posted into another channel")


@area.scenario("HOOK-POST-04", "HOOK-POST-05", "HOOK-POST-06", "HOOK-POST-08", "HOOK-POST-11", "HOOK-POST-12")
async def whose_token_it_is(run: Run) -> None:
    channel = await run.channel()
    hook, other = await run.webhook(channel), await run.webhook(channel)
    wrong = secrets.token_hex(32)
    async with unchanged(lambda: messages(run.u, channel)):
        with run.verdict("HOOK-POST-04"):
            for token in (wrong, hook["token"][:-1], hook["token"] + "0", "garbage"):
                (await _post(run, hook, token=token)).error(401)
        with run.verdict("HOOK-POST-05"):
            (await _post(run, hook, token=other["token"])).error(403, accept=(401, 404))
        with run.verdict("HOOK-POST-06"):
            for who in (run.a, run.u):
                (await who.post(_at(hook), {"content": run.text()})).error(401, accept=(403,))
        with run.verdict("HOOK-POST-08"):
            nowhere = {**hook, "id": unknown(run)}
            (await _post(run, nowhere)).error(404, accept=(401, 403))
        with run.verdict("HOOK-POST-11"):
            answer = await run.n.post(f"{_at(hook)}?token={hook['token']}", {"content": run.text()})
            answer.error(401)
        with run.verdict("HOOK-POST-12"):
            for body in ({}, {"content": 1}):
                (await _post(run, hook, body, token=wrong)).error(401)
            (await run.n.post(_at(hook), raw=b'{"', token=wrong)).error(401)


@area.scenario("HOOK-POST-07", "HOOK-POST-09", "HOOK-POST-10")
async def what_a_webhook_says(run: Run) -> None:
    channel, elsewhere = await run.channel(), await run.channel()
    hook = await run.webhook(channel)
    with run.verdict("HOOK-POST-07"):
        bodies: list[Any] = [{}, {"text": "x"}, *({"content": value} for value in NOT_TEXT)]
        await each_bad(lambda body: _post(run, hook, body), bodies)
        require(await messages(run.u, channel) == [], "what was refused was posted")
    with run.verdict("HOOK-POST-09"):
        body = {"content": run.text(), "channelId": elsewhere}
        answer = (await _post(run, hook, body)).expect(200, accept=(400,))
        require(await messages(run.u, elsewhere) == [], "a webhook posted where its body says")
        if answer.status == 200:
            answer.shape({"message": {"channelId": channel}})
            require(answer.json["message"]["id"] in ids(await messages(run.u, channel)), "it is not listed")
    with run.verdict("HOOK-POST-10"):
        own = {"author": {"id": run.u.user_id, "userName": "x"}, "userName": "x", "isBot": False}
        answer = (await _post(run, hook, {"content": run.text(), **own})).expect(200, accept=(400,))
        if answer.status == 200:
            author = {"id": f"webhook:{hook['id']}", "userName": hook["name"], "isBot": True}
            answer.shape({"message": {"author": author}})


@area.scenario("HOOK-POST-15", last=True)
async def how_much_a_webhook_may_say(run: Run) -> None:
    hook = await run.webhook(await run.channel())
    statuses: list[int] = []
    for _ in range(6):
        statuses += [one.status for one in await together(*(_post(run, hook) for _ in range(10)))]
    counts = {str(status): statuses.count(status) for status in sorted(set(statuses))}
    long = await _post(run, hook, {"content": "x" * 1_048_576})
    run.record("HOOK-POST-15", {"60 posts": counts, "1 MiB": summary(long)})
