"""What is hidden, from whom, and who sees it. Another kind of room is one more function here.

Such a function makes the thing with people who see it (`Hidden.readers`), lets those who are about to lose
sight of it use it first (`use`), takes it from them, and names everybody who is to ask (`Hidden.askers`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from unittest.mock import patch

from teamchat.chat import deletion
from teamchat.web.endpoints import Endpoint
from teamchat.web.limits import Windows
from tests.leaks.parameters import (
    CHANNEL_NAME,
    IMAGE,
    MESSAGE,
    ROOM,
    SESSION,
    WEBHOOK,
    name_of,
    plugins_own,
)
from tests.leaks.questions import Ids, Request, questions
from tests.leaks.world import Person, World
from tests.pictures import PNG
from tests.web.client import Answer, Client

SAID = "only for those who are in here"
"""Stands in every text of what is hidden."""
POST_BY_WEBHOOK = "POST /webhooks/<webhookId>/messages"
"""Beside it, endpoints of plugins that take a webhook's token say so: `BY_WEBHOOK`."""


def by_webhook() -> Collection[str]:
    """Return the endpoints that take a webhook's token."""
    return {POST_BY_WEBHOOK, *(name for one in plugins_own() for name in getattr(one, "BY_WEBHOOK", ()))}


class Asker(NamedTuple):
    """Somebody from whom something is hidden. `channel` and `conversation` are what they do see.

    `stand_ins` hold what a hidden id is compared with, by the parameter's key, where it may be known that it
    exists (`by_design.KNOWN_TO_EXIST`).  `only` are the endpoints that take a token that is no user's.
    """

    name: str
    client: Client
    channel: Mapping[str, str]
    conversation: Mapping[str, str]
    stand_ins: Mapping[str, str] = {}
    only: Collection[str] | None = None

    def ids(self, endpoint: Endpoint, thing: Hidden) -> Ids:
        """Return what a question of theirs may name."""
        is_direct = "conversationId" in endpoint.path_parameters
        own = self.conversation if is_direct else self.channel
        return Ids(thing.ids, own, self.stand_ins, thing.fitting)


@dataclass
class Hidden:
    """Something hidden: its ids by their kind, who asks about it, and one who sees all of it.

    `readers` see it by a token of another kind, each at one endpoint.  `fitting` is what parameters hold that
    name nothing hidden, by their names.  `ended_by` is the endpoint by which it is deleted at the end.
    """

    name: str
    ids: dict[str, list[str]]
    reader: Person
    readers: dict[str, Client] = field(default_factory=dict)
    askers: list[Asker] = field(default_factory=list)
    keys: dict[str, str] = field(default_factory=dict)
    etags: dict[str, str] = field(default_factory=dict)
    fitting: dict[str, str] = field(default_factory=dict)
    ended_by: str = ""

    def reader_of(self, endpoint: Endpoint) -> Client:
        """Return who sees it at an endpoint."""
        return self.readers.get(name_of(endpoint), self.reader.client)

    def all_ids(self) -> set[str]:
        """Return every id of it, and its name."""
        return {id_ for of_kind in self.ids.values() for id_ in of_kind}


Make = Callable[[World], Awaitable[Hidden]]


async def send(client: Client, request: Request) -> Answer:
    """Send a request as somebody."""
    return await client.call(request.method, request.target, raw=request.raw, headers=request.headers)


async def fill(person: Person, base: str, said: str = SAID) -> dict[str, list[str]]:
    """Write into a room whose path is `base` all that a room can have in it; return the ids."""
    client = person.client
    upload = {"filename": "a.png", "image": PNG, "thumbnail": PNG}
    images = [(await client.ok("POST", f"{base}/messages/image", upload))["filename"] for _ in range(2)]
    first = await _post(client, base, {"content": f"{said}: one", "images": images[:1]})
    if base.startswith("/channels/"):
        answered = await client.ok("POST", f"/messages/{first}/thread", {"content": f"{said}: two"})
        second = answered["reply"]["id"]
    else:
        second = await _post(client, base, {"content": f"{said}: two"})
    for message in (first, second):
        await client.ok("POST", f"/messages/{message}/reactions", {"reaction": "👍"})
    ids = {ROOM: [base.rpartition("/")[2]], MESSAGE: [first, second], IMAGE: images}
    for module in plugins_own():
        ids |= {kind: list(made) for kind, made in (await module.fill(client, base, ids)).items()}
    return ids


async def use(person: Person, thing: Hidden, endpoints: Sequence[Endpoint]) -> None:
    """Ask, as somebody who still sees it, what leaves something behind: entity tags, kept answers, caches."""
    for endpoint in endpoints:
        if endpoint.method != "GET" and not endpoint.takes_key:
            continue
        for question in questions(endpoint, Ids(thing.ids, {}, {}, thing.fitting)):
            if not question.is_wholly_hidden:
                continue
            target, key = question.hidden.target, f"the key for {question.hidden.target}"
            answer = await send(person.client, question.hidden.with_headers(("idempotency-key", key)))
            if endpoint.takes_key and answer.status == 200:
                thing.keys[target] = key
            if "etag" in answer.headers:
                thing.etags[target] = answer.headers["etag"]
    assert thing.keys
    assert thing.etags


async def strangers(world: World) -> list[Asker]:
    """Return who was never let in anywhere: a user, an admin, and who is not signed in."""
    stranger = await asker(world, "a stranger")
    admin = await asker(world, "an admin who is no member", await world.person("admin"))
    nobody = stranger._replace(name="who is not signed in", client=Client(world.site))
    return [stranger, admin, nobody]


async def asker(world: World, name: str, person: Person | None = None) -> Asker:
    """Return somebody who asks, with a public channel and a conversation of their own."""
    person = person or await world.person(name.split()[-1])
    other = await world.person("correspondent")
    opened = await person.client.ok("POST", "/conversations", {"targetUserId": other.id})
    channels = (await person.client.ok("GET", "/channels"))["channels"]
    general = next(one["id"] for one in channels if one["name"] == "General")
    channel = await fill(person, f"/channels/{general}", "hello")
    conversation = await fill(person, f"/conversations/{opened['conversation']['id']}", "hello")
    return Asker(name, person.client, own_ids("channelId", channel), own_ids("conversationId", conversation))


async def a_private_channel(world: World) -> Hidden:
    """Private before anything was said in it; one member was removed, and one removed from the server."""
    askers = await strangers(world)
    author, former, removed = [await world.person(name) for name in ("author", "former", "removed")]
    askers += [await asker(world, "a former member", former), await asker(world, "a removed user", removed)]
    name = f"Hidden {await world.position()}"
    body = {"name": name, "members": [former.id, removed.id]}
    channel = (await author.client.ok("POST", "/private-channels", body))["channel"]["id"]
    thing = await _filled_channel(world, "a private channel", channel, name, [author, former, removed])
    thing.ended_by = "DELETE /admin/channels/<channelId>"
    await use(former, thing, world.site.endpoints)
    await use(removed, thing, world.site.endpoints)
    await author.client.ok("DELETE", f"/channels/{channel}/members/{former.id}")
    await (await world.person("admin")).client.ok("DELETE", f"/users/{removed.id}")
    thing.askers = [*askers, await _webhook_of_elsewhere(world)]
    return thing


async def an_archived_channel(world: World) -> Hidden:
    """Private, used, and closed since."""
    thing = await a_private_channel(world)
    await thing.reader.client.ok("POST", f"/channels/{thing.ids[ROOM][0]}/archive")
    thing.name = "an archived channel"
    thing.askers = [one for one in thing.askers if one.name in ("a stranger", "a former member")]
    return thing


async def a_group(world: World) -> Hidden:
    """A group of a few people, of whom one has left, and one was removed from the server."""
    askers = await strangers(world)
    author, former, removed = [await world.person(name) for name in ("author", "former", "removed")]
    askers += [await asker(world, "a former member", former), await asker(world, "a removed user", removed)]
    colleague = await world.person("colleague")
    body = {"userIds": [former.id, removed.id, colleague.id]}
    group = (await author.client.ok("POST", "/groups", body))["channel"]["id"]
    ids = await fill(author, f"/channels/{group}")
    for other in (former, removed):
        ids[MESSAGE].append(await _post(other.client, f"/channels/{group}", {"content": f"{SAID}: three"}))
    thing = Hidden("a group", ids, author, fitting={"userId": colleague.id, "userIds": colleague.id})
    await use(former, thing, world.site.endpoints)
    await use(removed, thing, world.site.endpoints)
    await former.client.ok("POST", f"/channels/{group}/leave")
    await (await world.person("admin")).client.ok("DELETE", f"/users/{removed.id}")
    thing.askers = askers
    return thing


async def notes(world: World) -> Hidden:
    """What somebody has noted for themself."""
    askers, author = await strangers(world), await world.person("author")
    made = await author.client.ok("PUT", "/me/notes")
    ids = await fill(author, f"/channels/{made['channel']['id']}")
    return Hidden("notes", ids, author, askers=askers)


async def a_channel_that_was_public(world: World) -> Hidden:
    """Everybody has read it and written in it when it was public, a moment ago."""
    askers = await strangers(world)
    author, stranger = await world.person("author"), await world.person("stranger")
    channel, name = await _channel(world, author)
    members = [author, stranger]
    thing = await _filled_channel(world, "a channel that was public", channel, name, members)
    for person in (stranger, await world.person("admin")):
        await use(person, thing, world.site.endpoints)
    body = {"isPrivate": True, "members": [thing.fitting["userId"]]}
    await author.client.ok("PUT", f"/channels/{channel}/privacy", body)
    thing.askers = askers
    return thing


async def a_direct_conversation(world: World) -> Hidden:
    """A conversation of two others, of whom one was removed from the server."""
    askers = await strangers(world)
    author, removed = await world.person("author"), await world.person("removed")
    askers += [await asker(world, "a removed user", removed)]
    opened = await author.client.ok("POST", "/conversations", {"targetUserId": removed.id})
    base = f"/conversations/{opened['conversation']['id']}"
    ids = await fill(author, base)
    thing = Hidden("a direct conversation of others", ids, author)
    ids[MESSAGE].append(await _post(removed.client, base, {"content": f"{SAID}: three"}))
    await use(removed, thing, world.site.endpoints)
    await (await world.person("admin")).client.ok("DELETE", f"/users/{removed.id}")
    empty = await _empty_conversation(world)
    others = {
        f"{place} {name}": empty for place in ("path", "query") for name in ("conversationId", "placeId")
    }
    others["body placeId"] = empty
    thing.askers = [one._replace(stand_ins=others) for one in askers]
    return thing


async def a_channel_beyond_a_token(world: World) -> Hidden:
    """A private channel whose member asks by a token that is limited to other places."""
    author, member = await world.person("author"), await world.person("former")
    name = f"Hidden {await world.position()}"
    body = {"name": name, "members": [member.id]}
    channel = (await author.client.ok("POST", "/private-channels", body))["channel"]["id"]
    thing = await _filled_channel(world, "a channel beyond a token", channel, name, [author, member])
    await use(member, thing, world.site.endpoints)
    thing.askers = [await _limited(world, member)]
    thing.ended_by = "DELETE /admin/channels/<channelId>"
    return thing


async def a_public_channel_beyond_a_token(world: World) -> Hidden:
    """A channel that everybody reads, whose newest page is kept for all; not for tokens for other places."""
    author, member = await world.person("author"), await world.person("former")
    channel, name = await _channel(world, author)
    thing = await _filled_channel(world, "a public channel beyond a token", channel, name, [author, member])
    await use(member, thing, world.site.endpoints)
    thing.askers = [await _limited(world, member)]
    thing.ended_by = "DELETE /admin/channels/<channelId>"
    return thing


async def a_past_that_was_not_shown(world: World) -> Hidden:
    """What was said in a private channel that everybody sees since, without that (B-8)."""
    author = await world.person("author")
    body = {"name": f"Hidden {await world.position()}"}
    channel = (await author.client.ok("POST", "/private-channels", body))["channel"]["id"]
    base = f"/channels/{channel}"
    ids = await fill(author, base)
    del ids[ROOM]
    thing = Hidden("the past of a channel", ids, author, fitting={"channelId": channel})
    await use(author, thing, world.site.endpoints)
    await author.client.ok("PUT", f"{base}/privacy", {"isPrivate": False, "history": "hide"})
    for name in ("stranger", "admin", "colleague"):
        person = await world.person(name)
        if name == "colleague":
            await person.client.ok("POST", f"{base}/join")
        other = await asker(world, f"a {name}", person)
        thing.askers.append(other._replace(channel=own_ids("channelId", await fill(person, base, "hello"))))
    return thing


async def a_conversation_beyond_a_token(world: World) -> Hidden:
    """A direct conversation one of whose two asks by a token that is limited to other places."""
    author, member = await world.person("author"), await world.person("former")
    opened = await author.client.ok("POST", "/conversations", {"targetUserId": member.id})
    base = f"/conversations/{opened['conversation']['id']}"
    thing = Hidden("a conversation beyond a token", await fill(author, base), author)
    thing.ids[MESSAGE].append(await _post(member.client, base, {"content": f"{SAID}: three"}))
    await use(member, thing, world.site.endpoints)
    thing.askers = [await _limited(world, member)]
    return thing


async def a_channel_that_is_being_removed(world: World) -> Hidden:
    """A public channel that was deleted a moment ago, and of which nearly all is in the database still."""
    askers = await strangers(world)
    author, former = await world.person("author"), await world.person("former")
    channel, name = await _channel(world, author)
    thing = await _filled_channel(world, "a channel that is being removed", channel, name, [author, former])
    # What is the author's own is theirs still: where they are pushed to.
    others = {name_of(one) for one in world.site.endpoints if "/push/" not in one.rule}
    wrote = (await asker(world, "its author", author))._replace(only=others)
    askers += [await asker(world, "a former member", former), wrote]
    for person in (former, author):
        await use(person, thing, world.site.endpoints)
    with patch.object(deletion, "PART", 1):
        await author.client.ok("DELETE", f"/channels/{channel}")
    async with world.app.storage.read() as tx:
        assert await tx.fetch("select 1 from messages where room_id = $1", channel)
    thing.askers = askers
    return thing


async def a_thread_that_is_being_removed(world: World) -> Hidden:
    """Messages of a public channel that were deleted a moment ago, and are in the database still."""
    askers = await strangers(world)
    author, former = await world.person("author"), await world.person("former")
    askers.append(await asker(world, "who has read it", former))
    channel, _ = await _channel(world, author)
    ids = await fill(author, f"/channels/{channel}")
    ids[IMAGE] = ids[IMAGE][:1]  # The other one stands in no message.
    del ids[ROOM]
    thing = Hidden("a thread that is being removed", ids, author, fitting={"channelId": channel})
    for person in (former, author):
        await use(person, thing, world.site.endpoints)
    # Who has posted something in the channel, which is there still, is told under their key that it is gone.
    thing.keys = {target: key for target, key in thing.keys.items() if channel not in target}
    said = (await author.client.ok("GET", f"/channels/{channel}/messages?limit=100"))["messages"]
    with patch.object(deletion, "PART", 0):
        for one in said:
            await author.client.ok("DELETE", f"/messages/{one['id']}")
    async with world.app.storage.read() as tx:
        for message in ids[MESSAGE]:
            assert await tx.fetch("select 1 from messages where id = $1", message)
    thing.askers = askers
    return thing


async def _limited(world: World, person: Person) -> Asker:
    """Return somebody who asks by a token with all scopes that is limited to a channel and a conversation."""
    whole = await asker(world, "who has a token for other places", person)
    places = [whole.channel["path channelId"], whole.conversation["path conversationId"]]
    body = {"name": "limited", "scopes": ["read", "write", "files", "events", "manage"], "placeIds": places}
    made = await person.client.ok("POST", "/me/tokens", body)
    # Here it is asked faster than a program may.
    world.site.guard.bot_changes = Windows(10**9, 1.0)
    return whole._replace(client=Client(world.site, made["token"]["token"]))


async def a_session(world: World) -> Hidden:
    """A session of somebody else."""
    author = await world.person("author")
    listed = (await author.client.ok("GET", "/auth/sessions"))["sessions"]
    return Hidden(
        "a session of somebody else", {SESSION: [listed[0]["id"]]}, author, askers=await strangers(world)
    )


THINGS: Sequence[Make] = (
    a_private_channel,
    an_archived_channel,
    a_channel_that_was_public,
    a_group,
    notes,
    a_direct_conversation,
    a_channel_beyond_a_token,
    a_public_channel_beyond_a_token,
    a_past_that_was_not_shown,
    a_conversation_beyond_a_token,
    a_channel_that_is_being_removed,
    a_thread_that_is_being_removed,
    a_session,
)


async def _post(client: Client, base: str, body: Any) -> str:
    return str((await client.ok("POST", f"{base}/messages", body))["message"]["id"])


async def _channel(world: World, author: Person) -> tuple[str, str]:
    name = f"Hidden {await world.position()}"
    made = await author.client.ok("POST", "/channels", {"name": name})
    return made["channel"]["id"], name


async def _filled_channel(
    world: World, what: str, channel: str, name: str, members: Sequence[Person]
) -> Hidden:
    author, *others = members
    base = f"/channels/{channel}"
    ids = await fill(author, base)
    ids[MESSAGE] += [await _post(other.client, base, {"content": f"{SAID}: three"}) for other in others]
    made = await author.client.ok("POST", "/webhooks", {"name": "Hidden hook", "channelId": channel})
    ids |= {WEBHOOK: [made["webhook"]["id"]], CHANNEL_NAME: [name]}
    colleague = (await world.person("colleague")).id
    await author.client.ok("POST", f"/channels/{channel}/members", {"userIds": [colleague]})
    return Hidden(
        what,
        ids,
        author,
        dict.fromkeys(by_webhook(), Client(world.site, made["webhook"]["token"])),
        fitting={"userId": colleague, "userIds": colleague, "role": "member"},
        ended_by="DELETE /channels/<channelId>",
    )


async def _empty_conversation(world: World) -> str:
    author, other = await world.person("author"), await world.person("correspondent")
    opened = await author.client.ok("POST", "/conversations", {"targetUserId": other.id})
    return str(opened["conversation"]["id"])


async def _webhook_of_elsewhere(world: World) -> Asker:
    """Return a webhook of a public channel, which asks with its own token."""
    admin = await asker(world, "an admin", await world.person("admin"))
    hook = {"name": "Open hook", "channelId": admin.channel["path channelId"]}
    made = [await admin.client.ok("POST", "/webhooks", hook) for _ in range(2)]
    own, other = (one["webhook"] for one in made)
    return Asker(
        "a webhook of elsewhere",
        Client(world.site, own["token"]),
        {"path webhookId": own["id"]},
        {},
        {"path webhookId": other["id"]},
        only=by_webhook(),
    )


def own_ids(room: str, ids: Mapping[str, Sequence[str]]) -> Mapping[str, str]:
    """Return what somebody's own ids are called; `room` is the parameter that names where they are."""
    first, second = ids[MESSAGE][:2]
    return {
        f"path {room}": ids[ROOM][0],
        f"body {room}": ids[ROOM][0],
        "path placeId": ids[ROOM][0],
        "path messageId": first,
        "path replyId": second,
        "path filename": ids[IMAGE][0],
    }
