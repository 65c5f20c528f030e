"""NEG-UNI: every script in every name, half characters, and addresses in other letters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from teamchat_conformance.checks.estate import Estate
from teamchat_conformance.checks.hostile._area import ALIVE, area, still_alive
from teamchat_conformance.checks.steps import at, item, message, summary
from teamchat_conformance.endpoints import endpoint
from teamchat_conformance.expect import require
from teamchat_conformance.fixtures.corpus import SURROGATE
from teamchat_conformance.fixtures.texts import NAMES

if TYPE_CHECKING:
    from teamchat_conformance.expect import Answered
    from teamchat_conformance.run import Run
    from teamchat_conformance.sse import Observer

area.recommended(
    "NEG-UNI-01", "D-04", "Names in any script are kept as they are: in answers, lists and events"
)
area.recommended("NEG-UNI-02", "D-04", "Half a character is refused with 400, in every text")
area.recorded("NEG-UNI-03", "D-05", "What comes of emails in other letters than ASCII")

_TEXTS = (
    ("POST", "/channels/:channelId/messages", "content"),
    ("PUT", "/messages/:messageId", "content"),
    ("POST", "/messages/:messageId/thread", "content"),
    ("POST", "/conversations/:conversationId/messages", "content"),
    ("POST", "/webhooks/:webhookId/messages", "content"),
    ("POST", "/messages/:messageId/reactions", "reaction"),
    ("POST", "/channels", "name"),
    ("PUT", "/channels/:channelId", "name"),
    ("POST", "/webhooks", "name"),
    ("PUT", "/users/me", "userName"),
    ("PUT", "/server/settings", "name"),
)


def _kept(answer: Answered, told: Any, wanted: str) -> bool:
    """Require that a text came back as it was, or was refused; tell which."""
    if answer.expect(200, 400).status == 400:
        return False
    require(told == wanted, f"{answer.method} {answer.target}: {wanted!r} came back as {told!r}")
    return True


async def _names_a_channel(run: Run, stream: Observer, name: str) -> None:
    channel = await run.channel()
    answer = await run.a.put(at("channels", channel), {"name": name})
    if _kept(answer, answer.json.get("channel", {}).get("name"), name):
        require((await item(run.u, "/channels", "channels", channel))["name"] == name, "the list differs")
        await stream.expect("UPDATE_CHANNEL", seconds=run.wait(5), id=channel, name=name)


async def _names_a_webhook(run: Run, stream: Observer, name: str) -> None:
    answer = await run.a.post("/webhooks", {"name": name, "channelId": await run.channel()})
    hook = answer.json.get("webhook", {})
    if _kept(answer, hook.get("name"), name):
        run.undo_with(f"webhook {hook['id']}", lambda: run.a.delete(at("webhooks", hook["id"])))
        require((await item(run.a, "/webhooks", "webhooks", hook["id"]))["name"] == name, "the list differs")
        await stream.expect("NEW_WEBHOOK", seconds=run.wait(5), id=hook["id"], name=name)


async def _names_a_user(run: Run, stream: Observer, name: str, who: Any) -> None:
    mark = stream.mark()
    answer = await who.put("/users/me", {"userName": name})
    if _kept(answer, answer.json.get("user", {}).get("userName"), name):
        listed = await item(run.v, "/users", "users", who.user_id)
        require(listed["userName"] == name, "the list differs")
        seconds = run.wait(5)
        await stream.expect("UPDATE_USER", since=mark, seconds=seconds, id=who.user_id, userName=name)


async def _reacts(run: Run, stream: Observer, reaction: str, channel: str) -> None:
    posted = await run.post(run.u, channel)
    answer = await run.u.post(at("messages", posted["id"], "reactions"), {"reaction": reaction})
    told = answer.json.get("message", {}).get("reactions", {})
    if _kept(answer, next(iter(told), None), reaction):
        listed = await message(run.v, channel, posted["id"])
        require(listed["reactions"] == {reaction: [run.u.user_id]}, "the list differs")
        seconds = run.wait(5)
        await stream.expect("NEW_REACTION", seconds=seconds, messageId=posted["id"], reaction=reaction)


async def _names_the_server(run: Run, stream: Observer) -> None:
    """Give the server each name, and its own again in the end."""
    own = (await run.a.get("/server/settings")).ok()["name"]
    try:
        for sample in NAMES.values():
            name = f"{run.text()} {sample}"
            answer = await run.a.put("/server/settings", {"name": name})
            if _kept(answer, answer.json.get("name"), name):
                read = (await run.u.get("/server/settings")).ok()["name"]
                require(read == name, f"the server's name {name!r} is read as {read!r}")
                await stream.expect("UPDATE_SERVER_SETTINGS", seconds=run.wait(5), name=name)
    finally:
        await run.a.put("/server/settings", {"name": own})


@area.scenario("NEG-UNI-01", ALIVE)
async def names_in_any_script(run: Run) -> None:
    someone, channel = await run.new_user(), await run.channel()
    async with run.listen(run.v) as stream:
        with run.verdict("NEG-UNI-01"):
            for sample in NAMES.values():
                await _names_a_channel(run, stream, f"{run.text()} {sample}")
                await _names_a_webhook(run, stream, f"{run.text()} {sample}")
                await _names_a_user(run, stream, f"{run.text()} {sample}", someone)
                await _reacts(run, stream, sample, channel)
            if run.instance.isolation.change_server_name:
                await _names_the_server(run, stream)
    await still_alive(run)


@area.scenario("NEG-UNI-02", ALIVE)
async def half_characters(run: Run) -> None:
    estate = await Estate.apart(run)
    before = await estate.picture()
    async with run.listen(run.v) as stream:
        with run.verdict("NEG-UNI-02"):
            for method, path, field in _TEXTS:
                one = endpoint(method, path)
                body = {**estate.body(one), field: f"{run.id} {SURROGATE} x"}
                (await estate.rightly(one, body)).error(400)
            await estate.require_unchanged(before)
            await run.fence(stream)
            require(stream.ended_at is None, "the stream ended")
    await still_alive(run)


@area.scenario("NEG-UNI-03", ALIVE)
async def emails_in_other_letters(run: Run) -> None:
    told = {}
    for email in (
        f"m\u00fcller-{run.id}@example.test",
        f"u-{run.id}@b\u00fccher.example",
        f"\u7528-{run.id}@x.test",
    ):
        answer = await run.a.post("/users/add", {"email": email, "role": "user", "password": run.text()})
        told[email] = summary(answer)
        if answer.status == 200:
            (await run.a.delete(at("users", str(answer.json["userId"])))).expect(200)
    run.record("NEG-UNI-03", told)
    await still_alive(run)
