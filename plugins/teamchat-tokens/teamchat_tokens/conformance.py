"""TOKENS: tokens by which programs act for a user (capability tokens, extension K-1).

The suite loads this by an entry point; the server never does.
"""

from __future__ import annotations

from time import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from teamchat_conformance.checks.places import make_private
from teamchat_conformance.checks.steps import at, no_trace, soon, the_only, unknown
from teamchat_conformance.endpoints import Endpoint
from teamchat_conformance.expect import require
from teamchat_conformance.registry import Area

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

LISTED = {
    "id": None,
    "name": None,
    "scopes": None,
    "createdAt": None,
    "placeIds": None,
    "expiresAt": None,
    "lastUsedAt": None,
    "ip": None,
}

area = Area(
    "TOKENS",
    "Tokens",
    capability="tokens",
    endpoints=(
        Endpoint("GET", "/me/tokens", known={"tokens": LISTED, "next": None}),
        Endpoint("POST", "/me/tokens", known={"token": {**LISTED, "token": None}}),
        Endpoint("DELETE", "/me/tokens/:id", known={"success": None}),
    ),
)
area.required(
    "TOKENS-SHOWN-01",
    "K-1",
    "A token is shown once, and listed for its user alone without its text",
    words=["`token`: shown once, `tct_` + 43 characters"],
)
area.required(
    "TOKENS-KEY-01",
    "K-1",
    "A repeated Idempotency-Key is 409",
    words=["X-13 holds; there a repeated key is 409"],
)
area.required(
    "TOKENS-SCOPE-01",
    "K-1",
    "A token does what its scopes are for, and is 403 elsewhere",
    words=["scopes `read`, `write`, `files`, `events`, `manage`, `admin`"],
)
area.required(
    "TOKENS-SCOPE-02",
    "K-1",
    "events is the stream alone, manage channels and members, and read the stream too",
    words=["`read` all GETs and the stream", "`events` the stream alone", "`manage` channels and members"],
)
area.required(
    "TOKENS-SCOPE-03",
    "K-1",
    "Without the scope admin an admin's token does nothing that only admins may, and others get none with it",
    words=["`admin` what admins may"],
)
area.required(
    "TOKENS-SHOWN-02",
    "K",
    "A token is listed with the name, the scopes, the places and the end that it was made with",
    words=["name, scopes, placeIds (optional), expiresAt → token {id"],
)
area.required(
    "TOKENS-LIST-01",
    "X-11",
    "Tokens are listed in pages, by limit and cursor",
    words=["take `limit` (1–200, default 50, more means 200) and `cursor`, and answer `next`"],
)
area.required(
    "TOKENS-AUDIT-01",
    "L-4",
    "Making and revoking a token has an entry in the audit log, without its text",
    words=["`token.create`, `token.revoke`"],
)
area.required(
    "TOKENS-NEVER-01",
    "K-1",
    "No token reaches sessions or tokens",
    words=["never passwords,\n  sessions, tokens, second factors"],
)
area.required(
    "TOKENS-PLACE-01",
    "K-1",
    "Outside its places everything is 404",
    words=["outside `placeIds`: 404"],
)
area.required(
    "TOKENS-PLACE-02",
    "K-1",
    "Nor is anything of outside told by lists, searches, counts and the stream",
    words=["outside `placeIds`: 404"],
)
area.required(
    "TOKENS-PLACE-03",
    "X-3",
    "A place that its user does not see is refused for it as one that is not there",
    words=["The answer equals that for an id nobody ever had"],
)
area.required(
    "TOKENS-END-02",
    "K-1",
    "A token ends when it expires, and with its user: removed, and where there is that deactivated",
    words=["ended with the user", "A token's streams end when it expires or is revoked."],
)
area.required(
    "TOKENS-USED-01",
    "K-1",
    "When it was used last, and from where, is listed",
    words=["listed with lastUsedAt and ip"],
)
area.required(
    "TOKENS-END-01",
    "K-1",
    "Revoking a token ends it, and its streams at once",
    words=["revoking it ends its streams at once"],
)


async def _make(run: Run, **body: Any) -> Any:
    asked = {"name": "conformance", "scopes": ["read", "write"], **body}
    return (await run.v.post("/me/tokens", asked)).ok()["token"]


@area.scenario("TOKENS-SHOWN-01", "TOKENS-KEY-01", "TOKENS-SCOPE-01", "TOKENS-NEVER-01")
async def a_token_does_less_than_its_user(run: Run) -> None:
    """Make a token that reads, and one that writes."""
    channel = await run.channel()
    made = await _make(run, scopes=["read"], expiresAt=int(time() * 1000) + 3_600_000)
    reads = run.client("a token", made["token"])
    with run.verdict("TOKENS-SHOWN-01"):
        require(made["token"].startswith("tct_") and len(made["token"]) == 47, "its text has another form")
        listed = (await run.v.get("/me/tokens")).ok()["tokens"]
        require(made["id"] in [one["id"] for one in listed], "it is not listed")
        require(not any("token" in one for one in listed), "its text is told again")
        others = (await run.w.get("/me/tokens")).ok()["tokens"]
        require(made["id"] not in [one["id"] for one in others], "another user's list holds it")
        wrong: list[dict[str, Any]] = [{"scopes": ["everything"]}, {"scopes": []}, {"expiresAt": 1}]
        for body in [*wrong, {"name": "n" * 81}]:
            asked = {"name": "conformance", "scopes": ["read"], **body}
            (await run.v.post("/me/tokens", asked)).expect(400)
    with run.verdict("TOKENS-KEY-01"):
        asked, key = {"name": "conformance", "scopes": ["read"]}, {"Idempotency-Key": run.text("key")}
        (await run.v.post("/me/tokens", asked, headers=key)).expect(200)
        (await run.v.post("/me/tokens", asked, headers=key)).expect(409)
    with run.verdict("TOKENS-SCOPE-01"):
        (await reads.get(at("channels", channel, "messages"))).expect(200)
        (await reads.post(at("channels", channel, "messages"), {"content": "no"})).expect(403)
        writes = run.client("a token", (await _make(run, scopes=["write"]))["token"])
        posted = (await writes.post(at("channels", channel, "messages"), {"content": "yes"})).ok()
        require(posted["message"]["author"]["id"] == run.v.user_id, "it posts as somebody else")
        (await writes.get(at("channels", channel, "messages"))).expect(403)
    with run.verdict("TOKENS-NEVER-01"):
        everything = run.client("a token", (await _make(run, scopes=["read", "write", "manage"]))["token"])
        for target in ("/me/tokens", "/auth/sessions"):
            (await everything.get(target)).expect(403)
        (await everything.post("/me/tokens", {"name": "more", "scopes": ["read"]})).expect(403)
        (await everything.delete(at("me", "tokens", made["id"]))).expect(403)
    for one in (await run.v.get("/me/tokens")).ok()["tokens"]:
        (await run.v.delete(at("me", "tokens", one["id"]))).expect(200)


@area.scenario("TOKENS-SCOPE-02", "TOKENS-SCOPE-03", "TOKENS-LIST-01", "TOKENS-AUDIT-01")
async def each_scope_is_for_its_own(run: Run) -> None:
    """Make tokens of one scope each, of a user and of an admin."""
    channel = await run.channel()
    messages, made = at("channels", channel, "messages"), {}
    for scope in ("read", "events", "manage"):
        made[scope] = await _make(run, scopes=[scope])
    holders = {scope: run.client("a token", one["token"]) for scope, one in made.items()}
    with run.verdict("TOKENS-SCOPE-02"):
        for scope in ("read", "events"):
            async with run.listen(run.v, token=made[scope]["token"]) as stream:
                await run.fence(stream)
            (await holders[scope].post(at("channels", channel, "join"))).expect(403)
        for scope in ("events", "manage"):
            (await holders[scope].get(messages)).expect(403)
            (await holders[scope].post(messages, {"content": "no"})).expect(403)
        (await holders["manage"].get("/events")).expect(403)
        if run.announced.version("membership"):
            (await holders["manage"].post(at("channels", channel, "join"))).expect(200)
    with run.verdict("TOKENS-LIST-01"):
        page = (await run.v.get("/me/tokens?limit=2")).ok()
        listed, more = [one["id"] for one in page["tokens"]], page["next"]
        require(len(listed) == 2, f"limit=2 lists {len(listed)}")
        while more is not None:
            page = (await run.v.get(f"/me/tokens?{urlencode({'limit': 2, 'cursor': more})}")).ok()
            listed, more = [*listed, *(one["id"] for one in page["tokens"])], page["next"]
        require(len(set(listed)) == len(listed), "a token stands on two pages")
        require({one["id"] for one in made.values()} <= set(listed), "a token stands on none")
        (await run.v.get("/me/tokens?limit=0")).expect(400)
    asked = {"name": "conformance", "scopes": ["read", "write", "manage"]}
    admins = (await run.a.post("/me/tokens", asked)).ok()["token"]
    with run.verdict("TOKENS-SCOPE-03"):
        held = run.client("an admin's token", admins["token"])
        (await held.post("/users/add", {"email": run.email()})).expect(403)
        (await held.put("/server/settings", {"name": run.text()})).expect(403)
        (await run.v.post("/me/tokens", {"name": "conformance", "scopes": ["admin"]})).expect(400)
    (await run.a.delete(at("me", "tokens", admins["id"]))).expect(200)
    if run.announced.version("audit"):
        with run.verdict("TOKENS-AUDIT-01"):
            found = (await run.a.get(f"/admin/audit?targetId={admins['id']}")).ok()["entries"]
            wanted = ["token.revoke", "token.create"]
            told = [one["action"] for one in found if one["action"] in wanted]
            require(told == wanted, f"there are {told}")
            require(admins["token"] not in str(found), "its text stands in it")
    for one in made.values():
        (await run.v.delete(at("me", "tokens", one["id"]))).expect(200)


@area.scenario("TOKENS-SHOWN-02")
async def a_token_is_listed_as_it_was_made(run: Run) -> None:
    """Make a token with all there is to say of one."""
    asked = {
        "name": "n" * 80,
        "scopes": ["read", "write", "files", "events"],
        "placeIds": [await run.channel()],
        "expiresAt": int(time() * 1000) + 3_600_000,
    }
    with run.verdict("TOKENS-SHOWN-02"):
        made = await _make(run, **asked)
        listed = [one for one in (await run.v.get("/me/tokens")).ok()["tokens"] if one["id"] == made["id"]]
        (await run.v.delete(at("me", "tokens", made["id"]))).expect(200)
        for shown in (made, the_only(listed, "tokens of that id")):
            other = [
                field for field, value in asked.items() if _in_order(shown.get(field)) != _in_order(value)
            ]
            require(not other, f"{', '.join(other)} is missing, or another")


def _in_order(value: Any) -> Any:
    return sorted(value) if isinstance(value, list) else value


@area.scenario("TOKENS-PLACE-01")
async def a_token_for_one_place(run: Run) -> None:
    """Make a token for one of two channels."""
    inside, outside = await run.channel(), await run.channel()
    said = (await run.post(run.u, outside))["id"]
    made = await _make(run, placeIds=[inside])
    client = run.client("a token", made["token"])
    with run.verdict("TOKENS-PLACE-01"):
        (await client.get(at("channels", inside, "messages"))).expect(200)
        (await client.post(at("channels", inside, "messages"), {"content": "here"})).expect(200)
        (await client.get(at("channels", outside, "messages"))).expect(404)
        (await client.post(at("channels", outside, "messages"), {"content": "there"})).expect(404)
        (await client.get(at("messages", said))).expect(404)
        listed = [one["id"] for one in (await client.get("/channels")).ok()["channels"]]
        require(listed == [inside], "the list of channels holds another")
    (await run.v.delete(at("me", "tokens", made["id"]))).expect(200)


@area.scenario("TOKENS-END-01")
async def a_token_is_revoked(run: Run) -> None:
    """Open a stream by a token, and revoke it."""
    made = await _make(run, scopes=["events"])
    client = run.client("a token", made["token"])
    with run.verdict("TOKENS-END-01"):
        async with run.listen(run.v, token=made["token"]) as stream:
            await run.fence(stream)
            (await run.v.delete(at("me", "tokens", made["id"]))).expect(200)
            await stream.ended(run.wait(5))
        (await client.get("/channels")).expect(401)
        (await run.v.delete(at("me", "tokens", made["id"]))).expect(404)


@area.scenario("TOKENS-PLACE-02", "TOKENS-PLACE-03")
async def what_a_token_for_one_place_is_told(run: Run) -> None:
    """Make a token for one channel, mention its user outside, and look for that everywhere."""
    inside, outside, word = await run.channel(), await run.channel(), f"outside{run.id}"
    talk, there = await run.conversation(run.u, run.v), run.announced.version
    made = await _make(run, placeIds=[inside])
    client = run.client("a token", made["token"])
    with run.verdict("TOKENS-PLACE-02"):
        async with run.listen(run.v, token=made["token"]) as stream:
            said = (await run.post(run.u, outside, f"@{run.v.user_name} {word}"))["id"]
            await run.direct(run.u, talk, word)
            seen = (await run.post(run.u, inside))["id"]
            await stream.expect("NEW_MESSAGE", id=seen, seconds=run.wait(5))
            heard = [event.type for event in stream.events if word in event.data or outside in event.data]
            require(not heard, f"the stream has told {heard}")
        (await client.get(at("messages", said, "thread"))).expect(404)
        (await client.post(at("messages", said, "reactions"), {"reaction": "no"})).expect(404)
        (await client.get(at("conversations", talk, "messages"))).expect(404)
        lists = [("/conversations", ""), ("/me/places", "read-state"), ("/me/activity", "activity")]
        lists += [
            (f"/search/messages?q={word}", "search"),
            ("/me/threads", "threads"),
            ("/me/saved", "saved"),
        ]
        for target, capability in lists:
            if not capability or there(capability):
                answer = await client.get(target)
                answer.expect(200, 403)
                no_trace(answer, word, outside, talk)
    with run.verdict("TOKENS-PLACE-03"):
        unseen = [unknown(run)]
        if there("private-channels"):
            unseen.append(str((await make_private(run, run.u))["id"]))
        answers = []
        for place in unseen:
            asked = {"name": "conformance", "scopes": ["read"], "placeIds": [place]}
            answers.append((await run.v.post("/me/tokens", asked)).error(400, 404))
        require(len({one.status for one in answers}) == 1, "a hidden place is told from none")
    (await run.v.delete(at("me", "tokens", made["id"]))).expect(200)


@area.scenario("TOKENS-END-02", "TOKENS-USED-01")
async def a_token_ends_by_itself(run: Run) -> None:
    """Let a token expire while its stream is open, and end the user of others."""
    who, asked = await run.new_user(name="who has tokens"), {"name": "conformance", "scopes": ["read"]}

    async def make(**more: Any) -> Any:
        made = (await who.post("/me/tokens", {**asked, **more})).ok()["token"]
        return run.client("a token", made["token"])

    lasting = await make()
    with run.verdict("TOKENS-USED-01"):
        (await lasting.get("/channels")).expect(200)

        async def is_told() -> bool:
            listed = the_only((await who.get("/me/tokens")).ok()["tokens"], "tokens")
            return bool(listed.get("lastUsedAt") and listed.get("ip"))

        await soon(is_told, run.wait(10), "it was used, and neither lastUsedAt nor ip say so")
    with run.verdict("TOKENS-END-02"):
        short = await make(expiresAt=int(time() * 1000) + 2_000)
        async with run.listen(who, token=short.token) as stream:
            await stream.ended(run.wait(10))
        (await short.get("/channels")).expect(401)
        if run.announced.version("deactivation"):
            for verb in ("deactivate", "activate"):
                (await run.a.post(at("users", who.user_id, verb))).expect(200)
                (await lasting.get("/channels")).expect(401)
        else:
            (await run.a.delete(at("users", who.user_id))).expect(200)
            (await lasting.get("/channels")).expect(401)
        other = await run.new_user(name="who is removed")
        gone = run.client("a token", (await other.post("/me/tokens", asked)).ok()["token"]["token"])
        (await gone.get("/channels")).expect(200)
        (await run.a.delete(at("users", other.user_id))).expect(200)
        (await gone.get("/channels")).expect(401)
