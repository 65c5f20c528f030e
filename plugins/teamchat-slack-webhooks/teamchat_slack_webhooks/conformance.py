"""SLACK: webhooks that take what tools send to Slack (capability slack-webhooks, extension K).

The suite loads this by an entry point; the server never does.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from teamchat_conformance.checks.steps import at, items, messages_at, the_only
from teamchat_conformance.endpoints import Endpoint
from teamchat_conformance.expect import require
from teamchat_conformance.registry import Area

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

SPEC = "K"
_ROW = "Slack's incoming payload (text, blocks and attachments as text) → `ok`; token as Bearer or `?token=`"
_FORM = "JSON, or a form field `payload`"
_RETRY = "D-07b holds on every new POST that creates something"
_SHAPE = 'Bodies stay `{"error"}` with one field'
_TOKENS = "Tokens in URLs (Slack path): only there"

area = Area(
    "SLACK",
    "Webhooks that take what tools send to Slack",
    capability="slack-webhooks",
    endpoints=(Endpoint("POST", "/webhooks/:webhookId/slack", auth="webhook", kind="text"),),
)
area.required("SLACK-POST-01", SPEC, "A payload with a text becomes a message", words=[_ROW])
area.required("SLACK-POST-02", SPEC, "Its author is the webhook, whatever name the payload has", words=[_ROW])
area.required("SLACK-POST-03", SPEC, "A form's field payload is taken too", words=[_FORM])
area.required("SLACK-POST-04", SPEC, "Blocks and attachments become text", words=[_ROW])
area.required(
    "SLACK-POST-05",
    "X-13",
    "A retry with the same Idempotency-Key posts once",
    words=[_RETRY],
)
area.required("SLACK-TOK-01", SPEC, "The token may stand in the query", words=[_ROW])
area.required("SLACK-TOK-02", SPEC, "Without the webhook's token it is 401", words=[_ROW])
area.required("SLACK-TOK-03", SPEC, "A webhook's token in the query opens nothing else", words=[_TOKENS])
area.required(
    "SLACK-BAD-01",
    "D-01",
    "What says nothing, or can't be read, is 400",
    words=[_SHAPE],
)
area.required(
    "SLACK-ARCH-01",
    "B-6",
    "In an archived channel it posts nothing (403)",
    words=["adding, joining and its webhooks\n  get 403"],
)
area.recommended("SLACK-LONG-01", SPEC, "What is too long is cut rather than refused")


@area.scenario(
    *("SLACK-POST-01", "SLACK-POST-02", "SLACK-POST-03", "SLACK-POST-04", "SLACK-POST-05"),
    *("SLACK-TOK-01", "SLACK-TOK-02", "SLACK-TOK-03", "SLACK-BAD-01", "SLACK-LONG-01", "SLACK-ARCH-01"),
)
async def tools_post_as_they_post_to_slack(run: Run) -> None:
    """Post by a webhook as JSON, as a form, with the token in the address, without it, and what is wrong."""
    channel = await run.channel()
    hook = await run.webhook(channel)
    path, token = at("webhooks", hook["id"], "slack"), str(hook["token"])

    async def send(payload: Any, **options: Any) -> Any:
        return await run.n.post(path, payload, **{"token": token, **options})

    async def said() -> list[dict[str, Any]]:
        return await items(run.u, messages_at(channel), "messages")

    text = run.text()
    with run.verdict("SLACK-POST-01"):
        (await send({"text": text, "username": "Somebody"})).expect(200)
        require([one["content"] for one in await said()] == [text], "the message is not in the channel")
    with run.verdict("SLACK-POST-02"):
        posted = the_only(await said(), "messages of the channel")
        author = posted["author"]
        require(author["userName"] == hook["name"], "the author has another name than the webhook")
        require(author.get("isBot") is True, "the author is no bot")
    with run.verdict("SLACK-POST-03"):
        form = urlencode({"payload": json.dumps({"text": f"{text} form"})}).encode()
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        (await run.n.ask("POST", path, raw=form, headers=kind, token=token)).expect(200)
        require(await _is_said(run, channel, f"{text} form"), "what came as a form is not in the channel")
    with run.verdict("SLACK-POST-04"):
        payload = {
            "blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": f"{text} block"}}],
            "attachments": [{"title": f"{text} title", "fields": [{"title": "a", "value": f"{text} field"}]}],
        }
        (await send(payload)).expect(200)
        for part in ("block", "title", "field"):
            require(await _is_said(run, channel, f"{text} {part}"), f"the {part} is not in the message")
    with run.verdict("SLACK-POST-05"):
        key = {"Idempotency-Key": run.text()}
        for _ in range(2):
            (await send({"text": f"{text} once"}, headers=key)).expect(200)
        found = [one for one in await said() if one["content"] == f"{text} once"]
        require(len(found) == 1, f"it was posted {len(found)} times")
    with run.verdict("SLACK-TOK-01"):
        (await run.n.post(f"{path}?token={token}", {"text": f"{text} query"}, token=None)).expect(200)
        require(await _is_said(run, channel, f"{text} query"), "the message is not in the channel")
    with run.verdict("SLACK-TOK-02"):
        (await run.n.post(path, {"text": text}, token=None)).expect(401)
        (await run.n.post(f"{path}?token={'0' * 64}", {"text": text}, token=None)).expect(401)
        other = str((await run.webhook(await run.channel()))["token"])
        (await run.n.post(path, {"text": text}, token=other)).error(401, 403)
        (await run.n.post(f"{path}?token={other}", {"text": text}, token=None)).error(401, 403)
    with run.verdict("SLACK-TOK-03"):
        usual = at("webhooks", hook["id"], "messages")
        (await run.n.post(f"{usual}?token={token}", {"content": text}, token=None)).expect(401)
    with run.verdict("SLACK-BAD-01"):
        for wrong in ({}, {"text": ""}, [text]):
            (await send(wrong)).expect(400)
    with run.verdict("SLACK-LONG-01"):
        (await send({"text": f"{text} long " + "w" * 100_000})).expect(200)
        require(await _is_said(run, channel, f"{text} long"), "the message is not in the channel")
    with run.verdict("SLACK-ARCH-01"):
        if run.announced.version("archive"):
            (await run.a.post(at("channels", channel, "archive"))).expect(200)
            (await send({"text": f"{text} late"})).error(403)
            require(not await _is_said(run, channel, f"{text} late"), "it was refused, and is in the channel")


async def _is_said(run: Run, channel: str, text: str) -> bool:
    return any(text in one["content"] for one in await items(run.u, messages_at(channel), "messages"))
