"""BOTS: accounts that programs have (capability bots, extension K-2).

The suite loads this by an entry point; the server never does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from teamchat_conformance.checks.steps import at, items
from teamchat_conformance.endpoints import Endpoint
from teamchat_conformance.expect import require
from teamchat_conformance.registry import Area

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

_BOT = dict.fromkeys(["id", "userName", "email", "isAdmin", "createdAt", "isBot", "ownerId", "isDeactivated"])
_TOKEN = dict.fromkeys(["id", "name", "scopes", "createdAt", "placeIds", "expiresAt", "lastUsedAt", "ip"])

area = Area(
    "BOTS",
    "Bots",
    capability="bots",
    endpoints=(
        Endpoint("GET", "/bots", known={"bots": _BOT}),
        Endpoint("POST", "/bots", known={"bot": _BOT}),
        Endpoint("PUT", "/bots/:id", known={"bot": _BOT}),
        Endpoint("DELETE", "/bots/:id", known={"success": None}),
        Endpoint("GET", "/bots/:id/tokens", known={"tokens": _TOKEN}),
        Endpoint("POST", "/bots/:id/tokens", known={"token": {**_TOKEN, "token": None}}),
        Endpoint("DELETE", "/bots/:id/tokens/:tokenId", known={"success": None}),
    ),
    fields=frozenset({"isBot"}),
)
area.required(
    "BOTS-USER-01",
    "K-2",
    "A bot is a user whose isBot is true, with an email at bots.invalid, and whose messages say so",
    words=["`author.isBot` is true", "`email` is `bot-<id>@bots.invalid`"],
)
area.required(
    "BOTS-SIGHT-01",
    "K-2",
    "It sees public channels, and private ones when it was added",
    words=["sees public channels, private ones it was added to, direct talk with it"],
)
area.required(
    "BOTS-NEVER-01",
    "K-2",
    "It is no admin, and makes no tokens and no bots",
    words=["cannot sign in, be admin, be guest, create tokens"],
)
area.required(
    "BOTS-KEY-01", "K-2", "A repeated Idempotency-Key makes no second bot, and for a token is 409",
    words=["X-13 holds; there a repeated key is 409"],
)  # fmt: skip
area.required(
    "BOTS-BY-01", "K-2", "Who may not make bots is 403", words=["`chat.botsBy` (`admins`, the default"]
)
area.required(
    "BOTS-END-01",
    "K-2",
    "A bot that is deactivated or removed has no token any more",
    words=["revoking it ends its streams at once"],
)


async def _make(run: Run, name: str) -> Any:
    return (await run.a.post("/bots", {"userName": run.text(name)})).ok()["bot"]


async def _token(run: Run, bot: Any) -> str:
    asked = {"name": "conformance", "scopes": ["read", "write", "manage"]}
    made = (await run.a.post(at("bots", bot["id"], "tokens"), asked)).ok()["token"]
    require(made["token"].startswith("tct_"), "its text has another form")
    return str(made["token"])


@area.scenario("BOTS-USER-01", "BOTS-SIGHT-01", "BOTS-NEVER-01", "BOTS-END-01")
async def a_bot_reads_and_writes(run: Run) -> None:
    """Make a bot, and let it do what a user does."""
    bot, channel = await _make(run, "bot"), await run.channel()
    client = run.client("a bot", await _token(run, bot))
    with run.verdict("BOTS-USER-01"):
        require(bot["isBot"] is True, "isBot is not true")
        require(bot["ownerId"] == run.a.user_id, f"ownerId is {bot['ownerId']}")
        require(bot["email"] == f"bot-{bot['id']}@bots.invalid", "its email is another")
        listed = next((one for one in await items(run.u, "/users", "users") if one["id"] == bot["id"]), {})
        require(listed.get("isBot") is True, "GET /users does not say that it is one")
        posted = (await client.post(at("channels", channel, "messages"), {"content": "beep"})).ok()
        author = posted["message"]["author"]
        require((author["id"], author.get("isBot")) == (bot["id"], True), "its message is not a bot's")
    with run.verdict("BOTS-SIGHT-01"):
        made = (await run.u.post("/private-channels", {"name": run.text("private")})).ok()["channel"]["id"]
        (await client.get(at("channels", made, "messages"))).expect(404)
        (await run.u.post(at("channels", made, "members"), {"userIds": [bot["id"]]})).expect(200)
        (await client.get(at("channels", made, "messages"))).expect(200)
    with run.verdict("BOTS-NEVER-01"):
        (await run.a.put(at("users", bot["id"], "role"), {"role": "admin"})).error(400)
        asked = {"name": "more", "scopes": ["read"]}
        for target, body in (("/me/tokens", asked), ("/bots", {"userName": run.text("more")})):
            (await client.post(target, body)).expect(403)
        (await client.post(at("bots", bot["id"], "tokens"), asked)).expect(403)
        everything = {"name": "more", "scopes": ["admin"]}
        (await run.a.post(at("bots", bot["id"], "tokens"), everything)).error(400)
    with run.verdict("BOTS-END-01"):
        (await run.a.post(at("users", bot["id"], "deactivate"))).expect(200)
        (await client.get("/channels")).expect(401)
        (await run.a.post(at("users", bot["id"], "activate"))).expect(200)
        again = run.client("a bot", await _token(run, bot))
        (await again.get("/channels")).expect(200)
        (await run.a.delete(at("bots", bot["id"]))).expect(200)
        (await again.get("/channels")).expect(401)
        (await run.a.delete(at("bots", bot["id"]))).error(404)


@area.scenario("BOTS-KEY-01", "BOTS-BY-01")
async def bots_are_made_once(run: Run) -> None:
    """Make a bot and a token twice under one key each."""
    key, asked = {"Idempotency-Key": run.text("key")}, {"userName": run.text("once")}
    first = (await run.a.post("/bots", asked, headers=key)).ok()["bot"]
    with run.verdict("BOTS-KEY-01"):
        second = (await run.a.post("/bots", asked, headers=key)).ok()["bot"]
        require(second["id"] == first["id"], "there are two bots")
        target, wanted = at("bots", first["id"], "tokens"), {"name": "once", "scopes": ["read"]}
        (await run.a.post(target, wanted, headers=key)).expect(200)
        (await run.a.post(target, wanted, headers=key)).expect(409)
    with run.verdict("BOTS-BY-01"):
        own, made = await run.v.get("/bots"), await run.v.post("/bots", {"userName": run.text("own")})
        if made.status == 200:  # chat.botsBy is everyone: one's own, and no others.
            require(first["id"] not in [one["id"] for one in own.ok()["bots"]], "another's bot is listed")
            (await run.v.delete(at("bots", str(made.json["bot"]["id"])))).expect(200)
        else:
            made.error(403)
            own.error(403)
        (await run.v.get(target)).error(403)
        (await run.v.post(target, wanted)).error(403)
        (await run.v.delete(at("bots", first["id"]))).error(403)
        (await run.v.put(at("bots", first["id"]), {"userName": run.text("no")})).error(403)
    (await run.a.delete(at("bots", first["id"]))).expect(200)
