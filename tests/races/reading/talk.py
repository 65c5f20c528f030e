"""What people say, and take back: messages, replies and reactions; and that they come and go."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.races.reading.device import Device
from tests.races.reading.game import KEYWORDS, Game
from tests.races.reading.place import REPLIED, Words
from tests.races.reading.site import User

REACTIONS = ("👍", "🎉")


async def post(game: Game, device: Device, place: str, chance: Random) -> None:
    kind = "conversations" if place.startswith("dm:") else "channels"
    event = "NEW_DM_MESSAGE" if kind == "conversations" else "NEW_MESSAGE"
    message = await _say(game, device, f"/{kind}/{place}/messages", "message", event, place, chance)
    if message and kind == "channels":
        game.parents.setdefault(place, []).append(message)


async def reply(game: Game, device: Device, place: str, chance: Random) -> None:
    if parent := game.parent(place, chance):
        await _say(game, device, f"/messages/{parent}/thread", "reply", REPLIED, place, chance)


async def _say(
    game: Game, device: Device, path: str, name: str, event: str, place: str, chance: Random
) -> str:
    """Say something; return the id of what was said, "" if it was refused."""
    start = game.site.tick()
    body, said = _text(game, chance)
    if chance.random() < 0.1:
        body["parse"] = False
        said = Words(words=said.words)
    answer = await game.site.ask(device.user, "POST", path, body)
    if answer.status_code != 200:
        return ""
    message = str(answer.json()[name]["id"])
    game.said[message], game.places_of[message] = [said], place
    game.asked.append((event, message, start, game.site.tick()))
    game.messages[place].append(message)
    game.own.setdefault(device.user.id, []).append(message)
    return message


def _text(game: Game, chance: Random) -> tuple[dict[str, Any], Words]:
    """Return something to say, and what stands in it."""
    named = [one for one in game.users if chance.random() < 0.15]
    words = [one for one in KEYWORDS if chance.random() < 0.15]
    wide = chance.choice(["@channel", "@here", "@all"]) if chance.random() < 0.15 else ""
    text = " ".join([*(f"@{one.name}" for one in named), *words, wide, f"text {game.site.tick()}"])
    said = Words(frozenset(one.id for one in named), frozenset(words), wide not in ("", "@here"))
    return {"content": text}, said


async def edit(game: Game, device: Device, place: str, chance: Random) -> None:
    """Edit a message that nobody else edits now, so that it is known which edit was the last."""
    own = [one for one in game.own.get(device.user.id, [])[-5:] if one not in game.edited]
    if not own:
        return
    message = chance.choice(own)
    game.edited.add(message)
    body, said = _text(game, chance)
    answer = await game.site.ask(device.user, "PUT", f"/messages/{message}", body)
    if answer.status_code == 200:
        game.said[message].append(said)
    game.edited.discard(message)


async def delete(game: Game, device: Device, place: str, chance: Random) -> None:
    own = game.own.get(device.user.id, [])
    if device.user is game.admin:
        own = game.messages[place]
    if own:
        message = chance.choice(own[-5:])
        path = f"/messages/{message}"
        await game.noted(device.user, "DELETE", path, event="DELETE_MESSAGE", about=message)


async def react(game: Game, device: Device, place: str, chance: Random) -> None:
    if game.messages[place]:
        one = chance.choice(game.messages[place][-4:]), chance.choice(REACTIONS)
        if await _reaction(game, device.user, "POST", *one):
            game.given.setdefault(device.user.id, []).append(one)


async def unreact(game: Game, device: Device, _: str, chance: Random) -> None:
    """Take back one that the user has given somewhere."""
    if given := game.given.get(device.user.id):
        await _reaction(game, device.user, "DELETE", *given.pop(chance.randrange(len(given))))


async def _reaction(game: Game, user: User, method: str, message: str, reaction: str) -> bool:
    answer = await game.site.ask(user, method, f"/messages/{message}/reactions", {"reaction": reaction})
    return answer.is_success


async def join(game: Game, device: Device, place: str, chance: Random) -> None:
    if not place.startswith("dm:"):
        await game.noted(
            device.user,
            "POST",
            f"/channels/{place}/join",
            event="CHANNEL_MEMBERS_ADDED",
            about=place + device.user.id,
        )


async def leave(game: Game, device: Device, place: str, chance: Random) -> None:
    if not place.startswith("dm:") and device.user is not game.admin:
        await game.noted(
            device.user,
            "POST",
            f"/channels/{place}/leave",
            event="CHANNEL_MEMBER_REMOVED",
            about=place + device.user.id,
        )
