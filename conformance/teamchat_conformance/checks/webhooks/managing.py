"""HOOK-NEW, HOOK-LIST, HOOK-DEL: admins make webhooks, see them all, and delete them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from teamchat_conformance.checks.steps import (
    NOT_TEXT,
    at,
    each_bad,
    ids,
    is_gone,
    items,
    messages,
    unknown,
)
from teamchat_conformance.checks.webhooks._area import area
from teamchat_conformance.expect import array, milliseconds, require, text

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

area.required("HOOK-NEW-01", "§4 Webhooks", "An admin makes a webhook and is told everything about it")
area.required("HOOK-NEW-02", "§8", "The token is 64 hexadecimal digits")
area.required("HOOK-NEW-03", "§2 Webhook", "createdBy is the admin who made it")
area.required("HOOK-NEW-04", "§2 Webhook", "Every webhook has a token of its own")
area.required("HOOK-NEW-05", "§7", "A webhook for a channel that is not there is refused with 404")
area.required(
    "HOOK-NEW-06", "§7", "A name or channelId that is missing, empty or no text is refused with 400"
)
area.required("HOOK-NEW-07", "§2 Webhook", "A conversation can't have a webhook")
area.required("HOOK-LIST-01", "§4 Webhooks", "GET /webhooks lists each with its five fields")
area.required("HOOK-LIST-02", "§2 Webhook", "The list tells no token")
area.required("HOOK-LIST-03", "§4 Webhooks", "Every admin sees every webhook")
area.required("HOOK-DEL-01", "§4 Webhooks", "An admin deletes a webhook: success, and it is not listed")
area.required("HOOK-DEL-02", "§4 Webhooks", "A deleted webhook's token posts nothing")
area.required("HOOK-DEL-03", "§7", "Deleting what is not there, or no longer, is refused with 404")
area.recommended("HOOK-DEL-04", "§4 Webhooks", "What a deleted webhook posted stays")

_LISTED: dict[str, Any] = {
    "id": text,
    "name": text,
    "channelId": text,
    "createdAt": milliseconds,
    "createdBy": text,
}


@area.scenario("HOOK-NEW-01", "HOOK-NEW-02", "HOOK-NEW-03", "HOOK-NEW-04")
async def an_admin_makes_webhooks(run: Run) -> None:
    channel, name = await run.channel(), run.text("bot")
    answer = await run.a.post("/webhooks", {"name": name, "channelId": channel})
    hook = answer.ok()["webhook"]
    run.undo_with(f"webhook {hook['id']}", lambda: run.a.delete(at("webhooks", hook["id"])))
    run.recorder.secret(str(hook.get("token", "")), "webhook token")
    with run.verdict("HOOK-NEW-01"):
        answer.shape({"webhook": {**_LISTED, "name": name, "channelId": channel, "token": text}})
    with run.verdict("HOOK-NEW-02"):
        require(re.fullmatch(r"[0-9a-fA-F]{64}", str(hook.get("token"))), "a token is not 64 hex digits")
    with run.verdict("HOOK-NEW-03"):
        require(hook["createdBy"] == run.a.user_id, "createdBy is not the admin who asked")
    with run.verdict("HOOK-NEW-04"):
        tokens = {hook["token"]} | {(await run.webhook(channel))["token"] for _ in range(19)}
        require(len(tokens) == 20, f"20 webhooks have {len(tokens)} tokens")


@area.scenario("HOOK-NEW-05", "HOOK-NEW-06", "HOOK-NEW-07")
async def what_makes_no_webhook(run: Run) -> None:
    channel = await run.channel()
    talk = await run.conversation(run.u, run.v)
    before = ids(await items(run.a, "/webhooks", "webhooks"))

    async def nothing_new() -> None:
        new = [one for one in await items(run.a, "/webhooks", "webhooks") if one["id"] not in before]
        made = [
            one for one in new if one.get("channelId") in (channel, talk) or run.id in str(one.get("name"))
        ]
        require(not made, "what was refused made a webhook")

    for id, where in (("HOOK-NEW-05", unknown(run)), ("HOOK-NEW-07", talk)):
        with run.verdict(id):
            is_gone(await run.a.post("/webhooks", {"name": run.text(), "channelId": where}))
            await nothing_new()
    with run.verdict("HOOK-NEW-06"):
        good = {"name": run.text(), "channelId": channel}
        bodies = [{key: good[key]} for key in good]
        bodies += [{**good, key: value} for key in good for value in ("", *NOT_TEXT)]
        await each_bad(lambda body: run.a.post("/webhooks", body), bodies)
        await nothing_new()


@area.scenario("HOOK-LIST-01", "HOOK-LIST-02", "HOOK-LIST-03")
async def admins_see_webhooks(run: Run) -> None:
    hook = await run.webhook(await run.channel())
    answer = await run.a.get("/webhooks")
    with run.verdict("HOOK-LIST-01"):
        listed = answer.expect(200).shape({"webhooks": array(_LISTED)})["webhooks"]
        found = next((one for one in listed if one["id"] == hook["id"]), None)
        require(found, "a new webhook is not listed")
        same = {key: hook[key] for key in _LISTED}
        require(found is not None and same == {key: found[key] for key in _LISTED}, f"listed as {found}")
    with run.verdict("HOOK-LIST-02"):
        for one in answer.ok()["webhooks"]:
            require("token" not in one, "the list of webhooks has tokens")
        require(hook["token"].encode() not in answer.body, "the list of webhooks holds a token")
    with run.verdict("HOOK-LIST-03"):
        require(hook["id"] in ids(await items(run.b, "/webhooks", "webhooks")), "another admin sees less")


@area.scenario("HOOK-DEL-01", "HOOK-DEL-02", "HOOK-DEL-03", "HOOK-DEL-04")
async def webhooks_are_deleted(run: Run) -> None:
    channel = await run.channel()
    hook = await run.webhook(channel)
    target = at("webhooks", hook["id"], "messages")
    posted = (await run.n.post(target, {"content": run.text()}, token=hook["token"])).ok()["message"]
    with run.verdict("HOOK-DEL-01"):
        (await run.a.delete(at("webhooks", hook["id"]))).expect(200).shape({"success": True})
        require(hook["id"] not in ids(await items(run.b, "/webhooks", "webhooks")), "it is still listed")
    with run.verdict("HOOK-DEL-02"):
        answer = await run.n.post(target, {"content": run.text()}, token=hook["token"])
        answer.error(401, accept=(403, 404))
        require(ids(await messages(run.u, channel)) == [posted["id"]], "a deleted webhook posted")
    with run.verdict("HOOK-DEL-03"):
        for gone in (unknown(run), hook["id"]):
            is_gone(await run.a.delete(at("webhooks", gone)))
    with run.verdict("HOOK-DEL-04"):
        require(posted["id"] in ids(await messages(run.u, channel)), "what a webhook posted went with it")
