"""CHAN-LIST, CHAN-NEW, CHAN-UPD: admins make and rename channels, and everybody lists them."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from teamchat_conformance.checks.channels._area import area
from teamchat_conformance.checks.steps import (
    at,
    bot_says,
    each_bad,
    ids,
    is_gone,
    item,
    items,
    message,
    messages,
    thread,
    unchanged,
    unknown,
    wrong_values,
)
from teamchat_conformance.expect import Answered, array, integer, milliseconds, require, text, told
from teamchat_conformance.fixtures.texts import NAMES

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

_MOST_SHOWN = 10

CHANNEL = {"id": text, "name": text, "createdAt": milliseconds}
"""The fields of a channel (interface, part 2, Channel)."""

area.required("CHAN-LIST-01", "§4 Channels", "Any user lists the channels, each with id, name and time")
area.required(
    "CHAN-LIST-02", "§4 Channels", "A channel is listed once it is made, and no more once it is deleted"
)
area.recorded("CHAN-LIST-03", "§2 Channel", "Whether the list shows updatedAt, before and after an update")
area.recorded("CHAN-LIST-04", "§2 Channel", "Which channels there are at first, in which order", "exclusive")
area.required(
    "CHAN-NEW-01", "§4 Channels", "Making a channel answers 200 and the channel, named as it was sent"
)
area.required("CHAN-NEW-02", "§7", "A name that is missing or empty is refused with 400")
area.required("CHAN-NEW-03", "§7", "A name that is no text is refused with 400")
area.recommended("CHAN-NEW-04", "D-24", "A name that is taken, in whatever case, is refused with 400")
area.recommended(
    "CHAN-NEW-05", "D-04", "Names of 1 to 80 characters are taken; blank, longer, control ones refused"
)
area.recommended("CHAN-NEW-06", "D-04", "Odd Unicode in a name comes back unchanged")
area.recommended("CHAN-NEW-07", "D-02", "Id, time and maker of a channel can't be sent along")
area.required("CHAN-UPD-01", "§4 Channels", "Renaming answers 200, the same id, the new name, updatedAt")
area.required("CHAN-UPD-02", "§4 Channels", "The list then has the new name")
area.required("CHAN-UPD-03", "§7", "Renaming a channel that is not there is refused with 404")
area.required("CHAN-UPD-04", "§7", "A new name that is missing, empty or no text is refused with 400")
area.required(
    "CHAN-UPD-05", "§2 Channel", "updatedAt is no earlier than the making, nor than the update before"
)
area.required("CHAN-UPD-06", "§2 Channel", "A renamed channel keeps its messages, threads and webhooks")
area.recommended("CHAN-UPD-07", "D-24", "Renaming to another channel's name is refused with 400")
area.required("CHAN-UPD-08", "§4 Channels", "Any admin renames the channel that another made")


async def _channels(run: Run) -> list[dict[str, Any]]:
    return await items(run.u, "/channels", "channels")


async def _channel(run: Run, id: str) -> dict[str, Any]:
    return await item(run.u, "/channels", "channels", id)


async def _made(run: Run, body: Any) -> Answered:
    """Ask for a channel and return the answer; what comes of it is deleted at the end of the run."""
    answer = await run.a.post("/channels", body)
    if answer.status == 200:
        id = told(answer, "channel")["id"]
        run.undo_with(f"channel {id}", lambda: run.a.delete(at("channels", id)))
    return answer


async def _own_channels(run: Run) -> list[dict[str, Any]]:
    """Return the channels that this run made."""
    return [one for one in await _channels(run) if run.id in str(one.get("name"))]


@area.scenario("CHAN-LIST-01", "CHAN-LIST-02", "CHAN-LIST-03", "CHAN-NEW-01", "CHAN-UPD-01", "CHAN-UPD-02",
               "CHAN-UPD-05", "CHAN-UPD-08")  # fmt: skip
async def a_channel_is_made_and_renamed(run: Run) -> None:
    name = run.text("made")
    answer = await run.a.post("/channels", {"name": name})
    with run.verdict("CHAN-NEW-01"):
        answer.expect(200).shape({"channel": {**CHANNEL, "name": name}})
    made = told(answer, "channel")
    target = at("channels", made["id"])
    run.undo_with(f"channel {made['id']}", lambda: run.a.delete(target))
    with run.verdict("CHAN-LIST-01"):
        (await run.u.get("/channels")).expect(200).shape({"channels": array(CHANNEL)})
    with run.verdict("CHAN-LIST-02"):
        require((await _channel(run, made["id"])).get("name") == name, "the list has another name")
    before = await _channel(run, made["id"])
    new = run.text("renamed")
    renaming = await run.a.put(target, {"name": new})
    with run.verdict("CHAN-UPD-01"):
        wanted = {"id": made["id"], "name": new, "updatedAt": milliseconds}
        renaming.expect(200).shape({"channel": wanted})
    with run.verdict("CHAN-UPD-02"):
        require((await _channel(run, made["id"])).get("name") == new, "the list has the old name")
    after = await _channel(run, made["id"])
    run.record("CHAN-LIST-03", {"made": before.get("updatedAt"), "renamed": after.get("updatedAt")})
    again = await run.b.put(target, {"name": run.text("renamed again")})
    with run.verdict("CHAN-UPD-08"):
        again.expect(200)
    with run.verdict("CHAN-UPD-05"):
        updates = [
            one.shape({"channel": {"updatedAt": milliseconds}})["channel"] for one in (renaming, again)
        ]
        stated = (made.get("createdAt"), *(one["updatedAt"] for one in updates))
        times = [one for one in stated if integer(one)]  # CHAN-NEW-01 tells of one that is no time
        require(times == sorted(times), f"made, renamed, renamed again at {times}")
    (await run.a.delete(target)).expect(200)
    with run.verdict("CHAN-LIST-02"):
        require(made["id"] not in ids(await _channels(run)), "a deleted channel is listed")


@area.scenario("CHAN-LIST-04", needs=("exclusive",))
async def channels_of_the_beginning(run: Run) -> None:
    others = [one.get("name") for one in await _channels(run) if run.id not in str(one.get("name"))]
    run.record("CHAN-LIST-04", {"count": len(others), "first": others[:_MOST_SHOWN]})


@area.scenario("CHAN-NEW-02", "CHAN-NEW-03", "CHAN-NEW-04", "CHAN-UPD-03", "CHAN-UPD-04", "CHAN-UPD-07")
async def what_is_no_name_is_refused(run: Run) -> None:
    taken, own = run.text("Taken"), run.text("own")
    await run.channel(taken)
    target = at("channels", await run.channel(own))
    refused: dict[str, list[Any]] = {
        "CHAN-NEW-02": [{}, {"name": ""}],
        "CHAN-NEW-03": wrong_values("name"),
        "CHAN-NEW-04": [{"name": name} for name in (taken, taken.upper(), taken.swapcase())],
    }
    for id, bodies in refused.items():
        with run.verdict(id):
            async with unchanged(lambda: _own_channels(run)):
                await each_bad(lambda body: _made(run, body), bodies)
    refused = {
        "CHAN-UPD-04": [{}, {"name": ""}, *wrong_values("name")],
        "CHAN-UPD-07": [{"name": taken}, {"name": taken.lower()}],
    }
    for id, bodies in refused.items():
        with run.verdict(id):
            async with unchanged(lambda: _own_channels(run)):
                await each_bad(lambda body: run.a.put(target, body), bodies)
    with run.verdict("CHAN-UPD-03"):
        is_gone(await run.a.put(at("channels", unknown(run)), {"name": run.text()}))


@area.scenario("CHAN-NEW-05", "CHAN-NEW-06", "CHAN-NEW-07")
async def odd_names(run: Run) -> None:
    with run.verdict("CHAN-NEW-05"):
        for name in (_one_character(), run.text().ljust(80, "x")):
            await _is_kept(run, name)
        names = [" ", "\t\n", run.text().ljust(81, "x"), "x" * 256, "x" * 10_000]
        names += [run.text("a\x07b"), run.text("a\x1bb"), run.text("a\0b"), run.text("a\u202eb")]
        async with unchanged(lambda: _own_channels(run)):
            await each_bad(lambda body: _made(run, body), [{"name": name} for name in names])
    with run.verdict("CHAN-NEW-06"):
        for odd in NAMES.values():
            await _is_kept(run, run.text(odd))
    with run.verdict("CHAN-NEW-07"):
        made_up = {"id": f"made-up-{run.id}", "createdAt": 1, "createdBy": run.u.user_id}
        answer = await _made(run, {**made_up, "name": run.text()})
        id = answer.expect(200).shape({"channel": CHANNEL})["channel"]["id"]
        kept = [key for key, value in made_up.items() if (await _channel(run, id)).get(key) == value]
        require(not kept, f"taken over from the sender: {', '.join(kept)}")


def _one_character() -> str:
    """Return an ideograph that hardly anybody has called a channel."""
    return chr(secrets.choice(range(0x20000, 0x2A6D0)))


async def _is_kept(run: Run, name: str) -> None:
    found = (await _channel(run, await run.channel(name))).get("name")
    require(found == name, f"a channel named {name!a} is listed as {found!a}")


@area.scenario("CHAN-UPD-06")
async def a_renamed_channel_keeps_everything(run: Run) -> None:
    channel = await run.channel()
    parent = await run.post(run.u, channel)
    await run.reply(run.v, parent["id"])
    hook = await run.webhook(channel)
    before = await messages(run.v, channel), await thread(run.v, parent["id"])
    (await run.a.put(at("channels", channel), {"name": run.text("renamed")})).expect(200)
    with run.verdict("CHAN-UPD-06"):
        after = await messages(run.v, channel), await thread(run.v, parent["id"])
        require(after == before, "renaming changed the messages or the thread")
        await message(run.v, channel, told(await bot_says(run, hook), "message")["id"])
