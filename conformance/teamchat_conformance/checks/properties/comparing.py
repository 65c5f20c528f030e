"""What the server tells, beside what the model says. Each finding is the check it fails and what is wrong.

Only things the program has made are looked at, and nothing is said of their order but
that it is one of age.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from teamchat_conformance.checks.properties._area import ODD
from teamchat_conformance.checks.steps import at, items, messages_at
from teamchat_conformance.model import Step, Thing
from teamchat_conformance.verdicts import Miss

if TYPE_CHECKING:
    from teamchat_conformance.checks.properties.playing import Player, Program

Found = list[tuple[str, str]]

_MOST = 200


async def touched(player: Player, step: Step) -> Found:
    """Compare what a step is about."""
    world = player.program.world
    thing = world.things.get(step.new) or world.things.get(step.target)
    if step.op in ("add user", "rename", "remove user", "exit"):
        return await _reading(player, "PROP-MODEL-07", _users(player))
    if thing is None or step.op.endswith("channel"):
        return await _reading(player, "PROP-MODEL-01", _channels(player))
    if thing.kind == "webhook" or step.op == "make webhook":
        return await _reading(player, "PROP-MODEL-06", _webhooks(player))
    if thing.kind in ("conversation", "direct"):
        handle = thing.place or _handle(player, thing)
        return await _reading(player, "PROP-MODEL-05", _conversation(player, handle))
    place = thing.place or _handle(player, thing)
    if not world.things[place].is_alive:
        return []
    found = await _reading(player, "PROP-MODEL-02", _messages(player, place))
    if thing.kind == "reply":
        found += await _reading(player, "PROP-MODEL-04", _thread(player, thing.parent))
    return found


async def everything(player: Player) -> Found:
    """Compare all that the program has made."""
    world = player.program.world
    found = await _reading(player, "PROP-MODEL-01", _channels(player))
    for channel in world.of("channel"):
        found += await _reading(player, "PROP-MODEL-02", _messages(player, channel))
    for message in world.of("message"):
        found += await _reading(player, "PROP-MODEL-04", _thread(player, message))
    for conversation in world.of("conversation"):
        found += await _reading(player, "PROP-MODEL-05", _conversation(player, conversation))
    if world.of("webhook", alive=False):
        found += await _reading(player, "PROP-MODEL-06", _webhooks(player))
    if len(player.program.actors) > 5:
        found += await _reading(player, "PROP-MODEL-07", _users(player))
    for channel in set(world.of("channel", alive=False)) - set(world.of("channel")):
        found += await _reading(player, "PROP-MODEL-08", _gone_channel(player, channel))
    return found


async def _reading(player: Player, check: str, compare: Any) -> Found:
    """Run a comparison; that something can't be read at all fails `check`."""
    player.looked[check] += 1
    try:
        found: Found = await compare
    except Miss as miss:
        return [(check, str(miss))]
    except ODD as error:
        return [(check, f"an answer of another form than expected ({error!r})")]
    return found


def _handle(player: Player, thing: Thing) -> int:
    return next(handle for handle, one in player.program.world.things.items() if one is thing)


def _user_id(program: Program, name: str) -> str:
    if name.startswith("webhook "):
        return f"webhook:{program.ids[int(name.removeprefix('webhook '))]}"
    return program.actors[name].user_id


async def _channels(player: Player) -> Found:
    program = player.program
    listed = {one["id"]: one["name"] for one in await items(program.actors["U"], "/channels", "channels")}
    return [
        ("PROP-MODEL-01", f"channel {handle}: {wrong}")
        for handle in program.world.of("channel", alive=False)
        if (wrong := _presence(program.world.things[handle], listed.get(program.ids[handle])))
    ]


def _presence(thing: Thing, listed: str | None) -> str:
    if not thing.is_alive:
        return "" if listed is None else "it is still listed"
    return "" if listed == thing.text else f"its name is {listed!r}, not {thing.text!r}"


async def _messages(player: Player, channel: int) -> Found:
    program = player.program
    target = messages_at(program.ids[channel], limit=_MOST)
    listed = await items(program.actors["V"], target, "messages")
    handles = program.world.within(channel, "message")
    return list(_compare_posts(player, "PROP-MODEL-02", handles, listed))


def _compare_posts(
    player: Player, check: str, handles: list[int], listed: list[dict[str, Any]]
) -> Iterator[tuple[str, str]]:
    """Compare messages or replies with what a list holds of them."""
    program = player.program
    wanted = [program.ids[handle] for handle in handles]
    got = [one.get("id") for one in listed]
    if got not in (wanted, wanted[::-1]):
        yield check, f"the list holds {got}, not {wanted}"
        return
    by_id = {one["id"]: one for one in listed}
    for handle in handles:
        thing, one = program.world.things[handle], by_id[program.ids[handle]]
        yield from (
            (check, f"{thing.kind} {handle}: {wrong}") for wrong in _post_differs(program, thing, one)
        )
        if thing.kind == "message":
            yield from (
                (key, f"message {handle}: {wrong}") for key, wrong in _more_differs(player, handle, one)
            )


def _post_differs(program: Program, thing: Thing, one: dict[str, Any]) -> Iterator[str]:
    if one.get("content") != thing.text:
        yield f"its content is {one.get('content')!r}, not {thing.text!r}"
    author = (one.get("author") or {}).get("id")
    if author != _user_id(program, thing.author):
        yield f"its author is {author}, not {thing.author}"
    if (one.get("updatedAt") is not None) != thing.is_edited:
        was = "was" if thing.is_edited else "was never"
        yield f"its updatedAt is {one.get('updatedAt')}, and it {was} edited"


def _more_differs(player: Player, handle: int, one: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Compare reactions and threadMeta; of users who are gone nothing is said."""
    program = player.program
    thing = program.world.things[handle]
    gone = {program.actors[name].user_id for name in program.world.gone_users}
    player.looked["PROP-MODEL-03"] += 1
    reactions = {word: set(who) - gone for word, who in (one.get("reactions") or {}).items()}
    wanted = {word: {_user_id(program, name) for name in who} - gone for word, who in thing.reactions.items()}
    if {word: who for word, who in reactions.items() if who} != {w: who for w, who in wanted.items() if who}:
        yield "PROP-MODEL-03", f"its reactions are {one.get('reactions')}, not {thing.reactions}"
    authors = tuple(program.world.things[reply].author for reply in program.world.replies(handle))
    if wrong := meta_differs(program, one.get("threadMeta"), authors):
        yield "PROP-MODEL-04", wrong


def meta_differs(program: Program, meta: Any, writers: tuple[str, ...]) -> str:
    """Return what is wrong with threadMeta, if these wrote the replies, the oldest first."""
    if not writers:
        count = (meta or {}).get("replyCount", 0)
        return f"there are no replies, and replyCount is {count}" if count else ""
    ids = [_user_id(program, name) for name in writers]
    if not isinstance(meta, dict):
        return f"there are {len(ids)} replies, and no threadMeta"
    told = (
        meta.get("replyCount"),
        (meta.get("lastReplyBy") or {}).get("id"),
        set(meta.get("participants") or ()),
    )
    wanted = len(ids), ids[-1], set(ids)
    return "" if told == wanted else f"threadMeta is {meta}, and the replies are by {', '.join(writers)}"


async def _thread(player: Player, parent: int) -> Found:
    program = player.program
    if not program.world.things[parent].is_alive:
        return []
    target = at("messages", program.ids[parent], "thread", limit=_MOST)
    listed = await items(program.actors["W"], target, "replies")
    found = list(_compare_posts(player, "PROP-MODEL-04", program.world.replies(parent), listed))
    return [(check, f"thread of {parent}: {wrong}") for check, wrong in found]


async def _conversation(player: Player, handle: int) -> Found:
    program = player.program
    pair = program.world.things[handle].pair
    if pair & set(program.world.gone_users):
        return []
    id, found = program.ids[handle], Found()
    target = at("conversations", id, "messages", limit=_MOST)
    for name in sorted(pair):
        actor, other = program.actors[name], program.actors[next(iter(pair - {name}))]
        wanted = {"id": id, "both": {actor.user_id, other.user_id}, "other": other.user_id}
        listed = [one for one in await items(actor, "/conversations", "conversations") if one["id"] == id]
        told = [
            {
                "id": one["id"],
                "both": set(one["participants"]),
                "other": (one.get("otherUser") or {}).get("id"),
            }
            for one in listed
        ]
        if told != [wanted]:
            found.append(("PROP-MODEL-05", f"{name} is told of the conversation {listed}, not {wanted}"))
        own = set(program.ids.values())
        messages = [one for one in await items(actor, target, "messages") if one["id"] in own]
        handles = program.world.within(handle, "direct")
        found += _compare_posts(player, "PROP-MODEL-05", handles, messages)
    outsider = program.actors[next(name for name in "WVUAB" if name not in pair)]
    answer = await outsider.get(target)
    if answer.status not in (400, 403, 404):
        found.append(("PROP-MODEL-05", str(answer.miss("an outsider is to be refused"))))
    if id in [one["id"] for one in await items(outsider, "/conversations", "conversations")]:
        found.append(("PROP-MODEL-05", f"{outsider.actor} is told of a conversation of others"))
    return found


async def _webhooks(player: Player) -> Found:
    program = player.program
    listed = {one["id"]: one for one in await items(program.actors["A"], "/webhooks", "webhooks")}
    found = Found()
    for handle in program.world.of("webhook", alive=False):
        thing, one = program.world.things[handle], listed.get(program.ids[handle])
        wrong = _presence(thing, None if one is None else one.get("name"))
        if not wrong and one is not None:
            wrong = "" if one.get("channelId") == program.ids[thing.place] else "it is of another channel"
        if wrong:
            found.append(("PROP-MODEL-06", f"webhook {handle}: {wrong}"))
    return found


async def _users(player: Player) -> Found:
    program = player.program
    listed = {one["id"]: one["userName"] for one in await items(program.actors["V"], "/users", "users")}
    found = Found()
    for name in program.actors.keys() - frozenset("ABUVW"):
        id, wanted = program.actors[name].user_id, program.world.names.get(name)
        if name in program.world.gone_users:
            wrong = "is still listed" if id in listed else ""
        elif id not in listed:
            wrong = "is not listed"
        else:
            wrong = f"is called {listed[id]!r}, not {wanted!r}" if wanted and listed[id] != wanted else ""
        if wrong:
            found.append(("PROP-MODEL-07", f"{name} {wrong}"))
    return found


async def _gone_channel(player: Player, channel: int) -> Found:
    """Try to reach a deleted channel and what was in it."""
    program = player.program
    actor, place = program.actors["A"], messages_at(program.ids[channel])
    answers = [await actor.get(place), await actor.post(place, {"content": player.run.text()})]
    for handle, thing in program.world.things.items():
        if thing.place == channel and thing.kind == "message":
            target = at("messages", program.ids[handle])
            answers.append(await actor.get(f"{target}/thread"))
            answers.append(await actor.put(target, {"content": player.run.text()}))
    reached = [one for one in answers if one.status not in (400, 403, 404) and one.body != b'{"messages":[]}']
    return [("PROP-MODEL-08", str(one.miss(f"channel {channel} was deleted"))) for one in reached]
