"""What the admin does meanwhile: lets people in and out, and changes, sweeps and deletes what is there."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.races.reading.game import Game


async def let_in(game: Game, place: str, chance: Random) -> None:
    user, path = _other(game, chance), f"/channels/{place}/members"
    about = place + user
    await game.noted(
        game.admin, "POST", path, {"userIds": [user]}, event="CHANNEL_MEMBERS_ADDED", about=about
    )


async def let_out(game: Game, place: str, chance: Random) -> None:
    user = _other(game, chance)
    path, about = f"/channels/{place}/members/{user}", place + user
    await game.noted(game.admin, "DELETE", path, event="CHANNEL_MEMBER_REMOVED", about=about)


async def archive(game: Game, place: str, chance: Random) -> None:
    verb = chance.choice(["archive", "unarchive", "unarchive"])
    await game.noted(game.admin, "POST", f"/channels/{place}/{verb}", event="UPDATE_CHANNEL", about=place)


async def default(game: Game, place: str, chance: Random) -> None:
    body = {"isDefault": chance.random() < 0.5}
    await game.noted(game.admin, "PUT", f"/channels/{place}", body, event="UPDATE_CHANNEL", about=place)


async def privacy(game: Game, place: str, chance: Random) -> None:
    named = [one.id for one in game.users[1:] if chance.random() < 0.5]
    is_hidden, path = chance.random() < 0.5, f"/channels/{place}/privacy"
    answer = await game.site.ask(game.admin, "GET", f"/channels/{place}")
    if answer.status_code != 200:
        return
    if answer.json()["channel"].get("isPrivate"):
        body: dict[str, Any] = {"isPrivate": False, "history": "hide" if is_hidden else "show"}
    else:
        body = {"isPrivate": True, "members": named}
    answer = await game.noted(game.admin, "PUT", path, body, event="UPDATE_CHANNEL", about=place)
    if answer.status_code == 200:
        if body["isPrivate"]:
            game.places[place].named.append({game.admin.id, *named})
        else:
            game.places[place].hidden.append(is_hidden)


async def convert(game: Game, place: str, chance: Random) -> None:
    body = {"name": f"converted {game.site.tick()}"}
    await game.noted(
        game.admin, "POST", f"/groups/{place}/convert", body, event="UPDATE_CHANNEL", about=place
    )


async def sweep(game: Game, place: str, chance: Random) -> None:
    await game.site.sweep(chance.choice((0.0, 0.1, 0.3)))


async def delete_channel(game: Game, place: str, chance: Random) -> None:
    await game.noted(game.admin, "DELETE", f"/channels/{place}", event="DELETE_CHANNEL", about=place)


async def remove(game: Game, place: str, chance: Random) -> None:
    if not game.removed:
        game.removed = game.users[-1].id
        await game.noted(
            game.admin,
            "DELETE",
            f"/users/{game.removed}",
            event="REMOVE_USER",
            about=game.removed,
        )


def _other(game: Game, chance: Random) -> str:
    return chance.choice(game.users[1:]).id
