"""Steps of the checks of places: making them, who is in them, and what is hidden being answered like nothing.

Nothing here decides a check; it raises a `Miss` for whoever does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from teamchat_conformance.actors import Actor
from teamchat_conformance.checks.steps import at, ids, items
from teamchat_conformance.expect import (
    Answered,
    any_text,
    array,
    boolean,
    integer,
    milliseconds,
    optional,
    require,
    text,
    told,
)
from teamchat_conformance.fixtures import images
from teamchat_conformance.http import Client
from teamchat_conformance.run import Run
from teamchat_conformance.sse import Event, Observer
from teamchat_conformance.verdicts import Miss

Channel = dict[str, Any]

KNOWN = dict.fromkeys(
    (
        "id", "name", "createdAt", "updatedAt", "createdBy", "isPrivate", "kind", "topic", "description",
        "isDefault", "isArchived", "archivedAt", "postPolicy", "invitePolicy", "historyFor", "memberCount",
        "isMember", "role", "members",
    )
)  # fmt: skip
"""What may stand in a channel, for the monitors."""

FIELDS = frozenset({*KNOWN, "asOf", "reason", "by", "next", "count"})
"""What may stand in the core's answers and events of a server with places of these kinds."""

MEMBER = {"userId": text, "role": text, "joinedAt": milliseconds, "addedBy": optional(text)}


def one_of(*values: str) -> Any:
    """Return what tells whether something is one of these texts."""

    def check(value: Any) -> bool:
        return value in values

    check.__name__ = f"one of {', '.join(values)}"
    return check


CHANNEL = {
    "id": text,
    "name": text,
    "isPrivate": optional(boolean),
    "kind": optional(one_of("channel", "group", "notes")),
    "topic": optional(any_text),
    "description": optional(any_text),
    "isDefault": optional(boolean),
    "isArchived": optional(boolean),
    "archivedAt": optional(milliseconds),
    "postPolicy": optional(one_of("everyone", "managers")),
    "invitePolicy": optional(one_of("members", "managers")),
    "historyFor": optional(one_of("all", "joiners")),
    "memberCount": optional(integer),
    "isMember": optional(boolean),
    "role": optional(one_of("manager", "member")),
    "members": optional(array(MEMBER)),
}
"""The optional fields of a channel (extensions, part B)."""


async def make_private(run: Run, maker: Actor, *members: Actor, **more: Any) -> Channel:
    """Have somebody make a private channel with these members; it is deleted at the end."""
    body = {"name": run.text("private"), "members": [one.user_id for one in members], **more}
    made = told(await maker.post("/private-channels", body), "channel")
    forget(run, str(made["id"]))
    return made


def forget(run: Run, id: str) -> None:
    """Have a channel deleted at the end, whoever sees it then."""
    run.undo_with(f"channel {id}", lambda: run.a.delete(at("admin", "channels", id)))


async def with_past(run: Run, maker: Actor, *late: Actor) -> tuple[Channel, str]:
    """Have somebody make a private channel, and add people who do not see what was said there before.

    Returns the channel, and the id of the message that these do not see.
    """
    made = await make_private(run, maker, historyFor="joiners")
    before = str((await run.post(maker, str(made["id"])))["id"])
    await add(maker, made, *late)
    return made, before


async def make_public(run: Run, *members: Actor, **more: Any) -> Channel:
    """Make a public channel that nobody is in but admin A and these members."""
    body = {"name": run.text("public"), "isDefault": False, **more}
    made = told(await run.a.post("/channels", body), "channel")
    run.undo_with(f"channel {made['id']}", lambda: run.a.delete(at("channels", str(made["id"]))))
    if members:
        await add(run.a, made, *members)
    return made


async def make_managed(run: Run, manager: Actor, *members: Actor, **more: Any) -> Channel:
    """Make a public channel with a user as its one manager: admin A has left it."""
    made = await make_public(run, manager, *members, **more)
    (await run.a.put(member_at(made, manager), {"role": "manager"})).expect(200)
    (await run.a.post(of(made, "leave"))).expect(200)
    return made


def of(channel: Channel, *more: str, **query: object) -> str:
    """Return a path below a channel's."""
    return at("channels", str(channel["id"]), *more, **query)


def member_at(channel: Channel, member: Actor) -> str:
    """Return the path of somebody's membership."""
    return of(channel, "members", member.user_id)


async def add(by: Actor, channel: Channel, *members: Actor) -> Any:
    """Add people to a channel and return what is answered."""
    return (await by.post(of(channel, "members"), {"userIds": [one.user_id for one in members]})).ok()


async def join(who: Actor, channel: Channel) -> Channel:
    """Join a public channel."""
    return told(await who.post(of(channel, "join")), "channel")


async def shown(who: Client, channel: Channel) -> Channel:
    """Return a channel as somebody sees it."""
    return told(await who.get(of(channel)), "channel")


async def listed(who: Client, **query: object) -> list[Any]:
    """Return the ids of the channels that somebody is told of."""
    return ids(await items(who, at("channels", **query), "channels"))


async def roles(who: Client, channel: Channel) -> dict[str, str]:
    """Return the role of each member of a channel."""
    return {str(one.get("userId")): str(one.get("role")) for one in await pages(who, of(channel, "members"))}


async def pages(who: Client, path: str, key: str = "members", **query: object) -> list[dict[str, Any]]:
    """Read a list to its end, by its cursors. Raises `Miss` if it has none."""
    found: list[dict[str, Any]] = []
    cursor: object = None
    for _ in range(1_000):
        asked = {**query, **({} if cursor is None else {"cursor": cursor})}
        target = at(*path.strip("/").split("/"), **asked)
        answer = await who.get(target)
        answer.shape({key: array()})
        found += answer.json[key]
        cursor = answer.json["next"]
        if cursor is None:
            return found
    raise Miss(f"GET {path}: there is no end of pages")


async def contents(who: Client, channel: Channel) -> list[Any]:
    """Return the texts of a channel's messages that somebody sees."""
    return [one.get("content") for one in await items(who, of(channel, "messages"), "messages")]


async def upload(who: Client, channel: Channel) -> str:
    """Upload an image to a channel and return its name."""
    body = {"filename": "one.png", "image": images.encoded(images.png())}
    return str((await who.post(of(channel, "messages", "image"), body)).ok()["filename"])


def about(observer: Observer, *words: object, since: int = 0) -> list[Event]:
    """Return the events in which one of these ids or texts stands."""
    return [event for event in observer.events[since:] if any(str(word) in event.data for word in words)]


def require_silence(observer: Observer, *words: object, since: int = 0) -> None:
    """Require that a stream tells nothing of these ids and texts."""
    heard = [event.type for event in about(observer, *words, since=since)]
    require(not heard, f"{observer.name} was told: {', '.join(heard)}")


def kinds(events: Iterable[Event]) -> list[str]:
    """Return the types of events, in their order."""
    return [event.type for event in events]


def added(event: Event) -> list[Any]:
    """Return the ids of those whom CHANNEL_MEMBERS_ADDED names."""
    return [one.get("userId") for one in event.payload.get("members", []) if isinstance(one, dict)]


@dataclass(frozen=True)
class Question:
    """A request about something: its id stands for ``{}`` in the path, or in the body's field `in_body`."""

    method: str
    path: str
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    in_body: str = ""

    async def ask(self, who: Client, id: str) -> Answered:
        """Ask it about one id."""
        target = self.path.replace("{}", id)
        if self.body is None:
            return await who.ask(self.method, target, headers=self.headers)
        body = {**self.body, self.in_body: id} if self.in_body else self.body
        return await who.ask(self.method, target, body, headers=self.headers)


def of_channel(run: Run, image: str = "", tag: str = "") -> Iterator[Question]:
    """Yield a good request of every kind that names a channel."""
    other = run.v.user_id
    yield Question("GET", "/channels/{}")
    yield Question("GET", "/channels/{}/messages")
    yield Question("GET", "/channels/{}/messages?limit=1&before=0")
    yield Question("POST", "/channels/{}/messages", {"content": "hello"})
    yield Question("POST", "/channels/{}/messages", {"content": "hello"}, {"Idempotency-Key": run.text()})
    yield Question("POST", "/channels/{}/messages", {})
    yield Question("PUT", "/channels/{}", {"name": run.text()})
    yield Question("PUT", "/channels/{}", {"topic": 1})
    yield Question("DELETE", "/channels/{}")
    yield Question("PUT", "/channels/{}/privacy", {"isPrivate": False, "history": "show"})
    yield Question("GET", "/channels/{}/members")
    yield Question("GET", "/channels/{}/members?limit=0")
    yield Question("POST", "/channels/{}/members", {"userIds": [other]})
    yield Question("PUT", f"/channels/{{}}/members/{other}", {"role": "manager"})
    yield Question("DELETE", f"/channels/{{}}/members/{other}")
    for verb in ("join", "leave", "archive", "unarchive"):
        yield Question("POST", f"/channels/{{}}/{verb}")
    picture = {"filename": "one.png", "image": images.encoded(images.png())}
    yield Question("POST", "/channels/{}/messages/image", picture)
    for more in ({}, {"If-None-Match": tag}, {"If-None-Match": "*"}, {"Range": "bytes=0-3"}) if image else ():
        yield Question("GET", f"/channels/{{}}/messages/image/{image}", headers=more)
        yield Question("GET", f"/channels/{{}}/messages/image/{image}?size=thumb", headers=more)


def of_message(reply: str = "") -> Iterator[Question]:
    """Yield a good request of every kind that names a message, and its reply."""
    yield Question("PUT", "/messages/{}", {"content": "other"})
    yield Question("DELETE", "/messages/{}")
    yield Question("POST", "/messages/{}/reactions", {"reaction": "ok"})
    yield Question("DELETE", "/messages/{}/reactions", {"reaction": "ok"})
    yield Question("GET", "/messages/{}/thread")
    yield Question("POST", "/messages/{}/thread", {"content": "hello"})
    picture = {"filename": "one.png", "image": images.encoded(images.png())}
    yield Question("POST", "/messages/{}/thread/image", picture)
    if reply:
        yield Question("PUT", f"/messages/{{}}/thread/{reply}", {"content": "other"})
        yield Question("DELETE", f"/messages/{{}}/thread/{reply}")


def of_nobody(id: str) -> str:
    """Return an id of the same form that nothing ever had."""
    half = len(id) // 2
    turned = id[:half] + id[: half - 1 : -1] if half else ""
    return turned if turned not in ("", id) else f"unknown-{id}"


async def like_nothing(who: Client, question: Question, id: str, *, status: int = 404) -> None:
    """Require that what is hidden is answered as what nobody ever had: status, sentence and headers.

    A header that differs between two answers about nothing, such as a date, tells nothing.
    """
    nothing = of_nobody(id)
    before, found, after = [await question.ask(who, one) for one in (nothing, id, nothing)]
    found.error(status)
    before.error(status)
    if found.body.replace(id.encode(), b"") != before.body.replace(nothing.encode(), b""):
        raise found.miss(f"of what nobody ever had it says {before.body[:200]!r}")
    names = [sorted(name for name, _ in one.headers) for one in (before, found, after)]
    if names[1] not in (names[0], names[2]):
        raise found.miss(
            f"of what nobody ever had the answer has other headers: {sorted(set(names[0]) ^ set(names[1]))}"
        )
    for name in set(names[1]):
        values = [one.header(name) for one in (before, found, after)]
        if values[0] == values[2] != values[1]:
            raise found.miss(f"{name} is {values[1]!r}, and of what nobody ever had {values[0]!r}")
