"""EVT of channels, their messages, webhooks, and the server's settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teamchat_conformance.checks.events._area import area, audience, same
from teamchat_conformance.checks.steps import at
from teamchat_conformance.expect import require
from teamchat_conformance.verdicts import Finding

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

area.recommended("EVT-NEWCHAN-02", "D-36", "Making a channel sends NEW_CHANNEL once to each, as answered")
area.recommended("EVT-UPDCHAN-02", "D-36", "Renaming it sends UPDATE_CHANNEL once to each, with the new name")
area.recommended("EVT-DELCHAN-02", "D-36", "Deleting it sends DELETE_CHANNEL once to each")
area.recorded("EVT-DELCHAN-03", "§6", "Events of the messages and webhooks that go with a channel")
area.recommended("EVT-NEWMSG-02", "D-36", "A post sends NEW_MESSAGE once to each, as answered")
area.recommended("EVT-NEWMSG-03", "D-36", "A webhook's post sends NEW_MESSAGE with the bot as author")
area.recommended("EVT-UPDMSG-02", "D-36", "An edit sends UPDATE_MESSAGE once to each, as answered")
area.recommended(
    "EVT-DELMSG-02", "D-36", "Its deletion, by author or admin, sends DELETE_MESSAGE once to each"
)
area.recommended("EVT-NEWHOOK-02", "D-36", "Making a webhook sends NEW_WEBHOOK once to each, with no token")
area.recommended("EVT-DELHOOK-02", "D-36", "Deleting it sends DELETE_WEBHOOK once to each")
area.recommended("EVT-SET-02", "D-36", "Renaming the server sends UPDATE_SERVER_SETTINGS to each")


@area.scenario("EVT-NEWCHAN-02", "EVT-UPDCHAN-02", "EVT-DELCHAN-02", "EVT-DELCHAN-03")
async def a_channel(run: Run) -> None:
    async with audience(run, run.u, run.v, run.a) as everyone:
        made = (await run.a.post("/channels", {"name": run.text("channel")})).ok()["channel"]
        channel = str(made["id"])
        run.undo_with(f"channel {channel}", lambda: run.a.delete(at("channels", channel)))
        with run.verdict("EVT-NEWCHAN-02"):
            same(await everyone.once("NEW_CHANNEL", id=channel), made, "name", "createdAt")
        name = run.text("renamed")
        (await run.a.put(at("channels", channel), {"name": name})).expect(200)
        with run.verdict("EVT-UPDCHAN-02"):
            await everyone.once("UPDATE_CHANNEL", id=channel, name=name)
        message_id = (await run.post(run.u, channel))["id"]
        hook_id = (await run.webhook(channel))["id"]
        (await run.a.delete(at("channels", channel))).expect(200)
        with run.verdict("EVT-DELCHAN-02"):
            await everyone.once("DELETE_CHANNEL", id=channel)
        await everyone.quiet()
        with_it = {kind: everyone.count(kind, id=id) for kind, id in _gone(message_id, hook_id).items()}
        run.record("EVT-DELCHAN-03", with_it)


def _gone(message_id: str, hook_id: str) -> dict[str, str]:
    return {"DELETE_MESSAGE": message_id, "DELETE_WEBHOOK": hook_id}


@area.scenario("EVT-NEWMSG-02", "EVT-UPDMSG-02", "EVT-DELMSG-02")
async def a_message(run: Run) -> None:
    channel = await run.channel()
    async with audience(run, run.u, run.v, run.a) as everyone:
        message = await run.post(run.u, channel)
        message_id = str(message["id"])
        with run.verdict("EVT-NEWMSG-02"):
            told = await everyone.once("NEW_MESSAGE", id=message_id)
            same(told, message, "channelId", "author", "content", "createdAt")
        answer = await run.u.put(at("messages", message_id), {"content": run.text("edited")})
        with run.verdict("EVT-UPDMSG-02"):
            told = await everyone.once("UPDATE_MESSAGE", id=message_id)
            same(told, answer.ok()["message"], "content", "updatedAt")
        with run.verdict("EVT-DELMSG-02"):
            (await run.u.delete(at("messages", message_id))).expect(200)
            await everyone.once("DELETE_MESSAGE", id=message_id, channelId=channel)
            another = str((await run.post(run.u, channel))["id"])
            (await run.a.delete(at("messages", another))).expect(200)
            await everyone.once("DELETE_MESSAGE", id=another, channelId=channel)


@area.scenario("EVT-NEWHOOK-02", "EVT-NEWMSG-03", "EVT-DELHOOK-02")
async def a_webhook(run: Run) -> None:
    channel = await run.channel()
    async with audience(run, run.a, run.b, run.u) as everyone:
        hook = await run.webhook(channel)
        with run.verdict("EVT-NEWHOOK-02"):
            told = await everyone.once("NEW_WEBHOOK", id=hook["id"])
            same(told, hook, "name", "channelId")
            require("token" not in told, "NEW_WEBHOOK holds the token")
        target = at("webhooks", hook["id"], "messages")
        answer = await run.n.post(target, {"content": run.text()}, token=hook["token"])
        message = answer.ok()["message"]
        with run.verdict("EVT-NEWMSG-03"):
            told = await everyone.once("NEW_MESSAGE", id=message["id"])
            same(told, message, "channelId", "author", "content")
            is_bot = told["author"].get("isBot") is True
            named = told["author"].get("id") == f"webhook:{hook['id']}"
            require(is_bot and named, f"the author of a webhook's message is {told['author']}")
        (await run.a.delete(at("webhooks", hook["id"]))).expect(200)
        with run.verdict("EVT-DELHOOK-02"):
            await everyone.once("DELETE_WEBHOOK", id=hook["id"], channelId=channel)


@area.scenario("EVT-SET-02")
async def the_name_of_the_server(run: Run) -> None:
    if not run.instance.isolation.change_server_name:
        reason = "isolation.change_server_name is false"
        run.verdicts.put(Finding("EVT-SET-02", "not-applicable", reason))
        return
    before = (await run.a.get("/server/settings")).ok()["name"]
    run.undo_with("the server's name", lambda: run.a.put("/server/settings", {"name": before}))
    name = run.text("server")
    async with audience(run, run.u, run.v, run.a) as everyone:
        (await run.a.put("/server/settings", {"name": name})).expect(200)
        with run.verdict("EVT-SET-02"):
            await everyone.once("UPDATE_SERVER_SETTINGS", name=name)
        (await run.a.put("/server/settings", {"name": before})).expect(200)
