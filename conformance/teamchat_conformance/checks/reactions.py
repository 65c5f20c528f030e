"""REACT: reactions to messages, a map from each reaction to who gave it (interface, parts 2 and 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from teamchat_conformance.checks.steps import (
    at,
    bot_says,
    each_bad,
    hidden,
    is_gone,
    item,
    message,
    no_failure,
    no_trace,
    together,
    unchanged,
    unknown,
    wrong_values,
)
from teamchat_conformance.expect import Answered, require, told
from teamchat_conformance.registry import Area
from teamchat_conformance.verdicts import note

if TYPE_CHECKING:
    from teamchat_conformance.http import Client
    from teamchat_conformance.run import Run

area = Area("REACT", "Reactions")

area.required("REACT-ADD-01", "§4 Reactions", "Reacting answers 200 with the message's id and reactions")
area.required("REACT-ADD-02", "§2 Message", "The map holds the reaction, and under it who gave it")
area.required("REACT-ADD-03", "§2 Message", "Two who give the same reaction stand under it together")
area.recommended("REACT-ADD-04", "D-27", "Giving a reaction again changes nothing")
area.required("REACT-ADD-05", "§2 Message", "Each of several reactions has a key of its own")
area.required("REACT-ADD-06", "§2 Message", "The list of messages has the same map")
area.required("REACT-ADD-07", "§7", "A reaction that is missing or no text is refused with 400")
area.required("REACT-ADD-08", "§7", "A reaction to a message that is not there is refused with 404")
area.required("REACT-ADD-09", "§4 Reactions", "One reacts to messages of others")
area.recommended(
    "REACT-ADD-10", "D-04", "Reactions of 1 to 64 characters are kept exactly; others are refused"
)
area.recommended(
    "REACT-ADD-11", "D-04", "Names that mean something to a language are reactions like any other"
)
area.recommended("REACT-ADD-12", "D-27", "One reacts to replies, and the thread shows it")
area.recommended("REACT-ADD-13", "D-27", "A participant reacts to a direct message, and both see it")
area.recommended("REACT-ADD-14", "D-27", "An outsider can't react to a direct message, nor learn of it")
area.required("REACT-ADD-15", "§2 Message", "Of twenty who react at once none is lost")
area.required("REACT-ADD-16", "§1", "One reacts to what a webhook posted")
area.recommended("REACT-ADD-17", "D-27", "A message takes 50 different reactions, and a further one is 400")
area.required("REACT-DEL-01", "§4 Reactions", "Taking a reaction back answers 200 and a map without it")
area.required("REACT-DEL-02", "§2 Message", "Taking one's own back leaves the same reaction of others")
area.recorded("REACT-DEL-03", "§2 Message", "Whether a reaction that nobody gives any more keeps its key")
area.recommended("REACT-DEL-04", "D-27", "Taking back what one never gave changes nothing")
area.required("REACT-DEL-05", "§4 Reactions", "Nobody takes back another's reaction")
area.required("REACT-DEL-06", "§7", "Taking back what is missing or no text is refused with 400")
area.required("REACT-DEL-07", "§7", "Taking back from a message that is not there is refused with 404")
area.required("REACT-DEL-08", "§2 Message", "The list of messages has the map that the answer had")
area.recommended("REACT-DEL-09", "D-03", "An outsider can't take a reaction from a direct message")
area.recommended("REACT-DEL-10", "D-27", "The reaction to take back may stand in the query")


async def _react(who: Client, id: str, reaction: str) -> Answered:
    return await who.post(at("messages", id, "reactions"), {"reaction": reaction})


async def _take_back(who: Client, id: str, reaction: str) -> Answered:
    return await who.delete(at("messages", id, "reactions"), {"reaction": reaction})


def _map(told: dict[str, Any]) -> dict[str, list[str]]:
    """Return the reactions of a message with their givers sorted, those that nobody gives left out."""
    reactions = told.get("reactions")
    require(isinstance(reactions, dict), f"reactions is {reactions!r}, not an object")
    for key, given in (reactions or {}).items():
        require(isinstance(given, list), f"under {key!r} stands {given!r}, not an array of user ids")
    return {key: sorted(map(str, given)) for key, given in (reactions or {}).items() if given}


def _answered_map(answer: Answered) -> dict[str, list[str]]:
    return _map(answer.expect(200).shape({"message": {}})["message"])


def _is(found: dict[str, list[str]], wanted: dict[str, list[str]]) -> None:
    wanted = {key: sorted(given) for key, given in wanted.items()}
    require(found == wanted, f"reactions are {found}, not {wanted}")


@area.scenario(
    "REACT-ADD-01", "REACT-ADD-02", "REACT-ADD-03", "REACT-ADD-04", "REACT-ADD-05", "REACT-ADD-06",
    "REACT-ADD-09",
)  # fmt: skip
async def people_react(run: Run) -> None:
    channel = await run.channel()
    id = (await run.post(run.u, channel))["id"]
    u, v = run.u.user_id, run.v.user_id
    first = await _react(run.u, id, "+1")
    with run.verdict("REACT-ADD-01"):
        first.expect(200).shape({"message": {"id": id, "reactions": {}}})
    with run.verdict("REACT-ADD-02"):
        _is(_answered_map(first), {"+1": [u]})
    second = await _react(run.v, id, "+1")
    with run.verdict("REACT-ADD-09"):
        second.expect(200)
    with run.verdict("REACT-ADD-03"):
        _is(_answered_map(second), {"+1": [u, v]})
    with run.verdict("REACT-ADD-04"):
        (await _react(run.u, id, "+1")).expect(200, accept=(400,))
        _is(_map(await message(run.w, channel, id)), {"+1": [u, v]})
    with run.verdict("REACT-ADD-05"):
        await _react(run.u, id, "\U0001f389")
        _is(_answered_map(await _react(run.u, id, "eyes")), {"+1": [u, v], "\U0001f389": [u], "eyes": [u]})
    second.expect(200)
    with run.verdict("REACT-ADD-06"):
        _is(_map(await message(run.w, channel, id)), {"+1": [u, v], "\U0001f389": [u], "eyes": [u]})


@area.scenario("REACT-DEL-01", "REACT-DEL-02", "REACT-DEL-03", "REACT-DEL-04", "REACT-DEL-05", "REACT-DEL-08")
async def people_take_reactions_back(run: Run) -> None:
    channel = await run.channel()
    id = (await run.post(run.v, channel))["id"]
    u, v = run.u.user_id, run.v.user_id
    for who, reaction in ((run.u, "+1"), (run.v, "+1"), (run.u, "eyes")):
        (await _react(who, id, reaction)).expect(200)
    with run.verdict("REACT-DEL-05"):
        no_failure(await _take_back(run.v, id, "eyes"))
        _is(_map(await message(run.w, channel, id)), {"+1": [u, v], "eyes": [u]})
    with run.verdict("REACT-DEL-04"):
        (await _take_back(run.v, id, "never given")).expect(200, accept=(400, 404))
        _is(_map(await message(run.w, channel, id)), {"+1": [u, v], "eyes": [u]})
    answer = await _take_back(run.u, id, "+1")
    with run.verdict("REACT-DEL-01"):
        answer.expect(200).shape({"message": {"id": id, "reactions": {}}})
        require(u not in _answered_map(answer).get("+1", []), "the reaction taken back is still there")
    with run.verdict("REACT-DEL-02"):
        _is(_answered_map(answer), {"+1": [v], "eyes": [u]})
    with run.verdict("REACT-DEL-08"):
        _is(_map(await message(run.w, channel, id)), _answered_map(answer))
    last = (await _take_back(run.u, id, "eyes")).expect(200).shape({"message": {"reactions": {}}})
    kept = "eyes" in last["message"]["reactions"]
    run.record("REACT-DEL-03", "the key stays with nobody under it" if kept else "the key is gone")


@area.scenario("REACT-ADD-07", "REACT-ADD-08", "REACT-DEL-06", "REACT-DEL-07")
async def what_is_no_reaction_is_refused(run: Run) -> None:
    channel = await run.channel()
    id = (await run.post(run.u, channel))["id"]
    (await _react(run.u, id, "+1")).expect(200)
    target = at("messages", id, "reactions")
    bodies = [{}, *wrong_values("reaction")]
    with run.verdict("REACT-ADD-07"):
        async with unchanged(lambda: message(run.v, channel, id)):
            await each_bad(lambda body: run.u.post(target, body), bodies)
    with run.verdict("REACT-DEL-06"):
        async with unchanged(lambda: message(run.v, channel, id)):
            await each_bad(lambda body: run.u.delete(target, body), bodies)
    with run.verdict("REACT-ADD-08"):
        is_gone(await _react(run.u, unknown(run), "+1"))
    with run.verdict("REACT-DEL-07"):
        is_gone(await _take_back(run.u, unknown(run), "+1"))


@area.scenario("REACT-ADD-17", "REACT-DEL-10")
async def many_reactions(run: Run) -> None:
    channel = await run.channel()
    id = (await run.post(run.u, channel))["id"]
    reactions = [f"reaction {number}" for number in range(_MOST_REACTIONS)]
    with run.verdict("REACT-ADD-17"):
        for answer in await together(*(_react(run.u, id, one) for one in reactions)):
            answer.expect(200)
        async with unchanged(lambda: message(run.v, channel, id)):
            (await _react(run.v, id, "one too many")).error(400)
        (await _react(run.v, id, reactions[0])).expect(200)
    other = (await run.post(run.u, channel))["id"]
    with run.verdict("REACT-DEL-10"):
        for who in (run.u, run.v):
            (await _react(who, other, "\U0001f44d")).expect(200)
        answer = await run.u.delete(at("messages", other, "reactions", reaction="\U0001f44d"))
        _is(_answered_map(answer), {"\U0001f44d": [run.v.user_id]})
        _is(_map(await message(run.w, channel, other)), {"\U0001f44d": [run.v.user_id]})


_MOST_REACTIONS = 50
_KEPT = ("x", ":name:", "\U0001f468\u200d\U0001f469\u200d\U0001f466", "\U0001f44d\U0001f3fd", "y" * 64)
_NAMES_OF_LANGUAGES = ("__proto__", "constructor", "toString", "hasOwnProperty", "__class__")


@area.scenario("REACT-ADD-10", "REACT-ADD-11")
async def odd_reactions(run: Run) -> None:
    channel = await run.channel()
    id = (await run.post(run.u, channel))["id"]
    with run.verdict("REACT-ADD-10"):
        for reaction in _KEPT:
            _answered_map(await _react(run.u, id, reaction))
        _is(_map(await message(run.v, channel, id)), {reaction: [run.u.user_id] for reaction in _KEPT})
        async with unchanged(lambda: message(run.v, channel, id)):
            for reaction in ("", "y" * 65, "y" * 1_000):
                (await _react(run.u, id, reaction)).error(400)
    other = (await run.post(run.u, channel))["id"]
    with run.verdict("REACT-ADD-11"):
        taken = [
            name
            for name in _NAMES_OF_LANGUAGES
            if (await _react(run.u, other, name)).expect(200, accept=(400,)).status == 200
        ]
        (await _react(run.v, other, "+1")).expect(200)
        wanted = {name: [run.u.user_id] for name in taken} | {"+1": [run.v.user_id]}
        _is(_map(await message(run.v, channel, other)), wanted)


@area.scenario("REACT-ADD-12", "REACT-ADD-16")
async def reactions_to_replies_and_bots(run: Run) -> None:
    channel = await run.channel()
    parent = await run.post(run.u, channel)
    reply = (await run.reply(run.v, parent["id"]))["reply"]
    with run.verdict("REACT-ADD-12"):
        (await _react(run.u, reply["id"], "+1")).expect(200)
        found = await item(run.w, at("messages", parent["id"], "thread"), "replies", reply["id"])
        _is(_map(found), {"+1": [run.u.user_id]})
    posted = told(await bot_says(run, await run.webhook(channel)), "message")
    with run.verdict("REACT-ADD-16"):
        (await _react(run.u, posted["id"], "+1")).expect(200)
        _is(_map(await message(run.w, channel, posted["id"])), {"+1": [run.u.user_id]})


@area.scenario("REACT-ADD-13", "REACT-ADD-14", "REACT-DEL-09")
async def reactions_to_direct_messages(run: Run) -> None:
    conversation = await run.conversation(run.u, run.v)
    secret = run.text("private")
    id = (await run.direct(run.u, conversation, secret))["id"]
    listed = at("conversations", conversation, "messages")
    with run.verdict("REACT-ADD-13"):
        (await _react(run.v, id, "+1")).expect(200)
        for reader in (run.u, run.v):
            _is(_map(await item(reader, listed, "messages", id)), {"+1": [run.v.user_id]})
    with run.verdict("REACT-ADD-14"):
        async with unchanged(lambda: item(run.u, listed, "messages", id)):
            for outsider in (run.w, run.a):
                no_trace(hidden(await _react(outsider, id, "+1")), secret)
    with run.verdict("REACT-DEL-09"):
        async with unchanged(lambda: item(run.u, listed, "messages", id)):
            no_trace(hidden(await _take_back(run.w, id, "+1")), secret)


@area.scenario("REACT-ADD-15")
async def twenty_react_at_once(run: Run) -> None:
    channel = await run.channel()
    id = (await run.post(run.u, channel))["id"]
    crowd = [run.a, run.b, run.u, run.v, run.w]
    crowd += [await run.new_user(name=f"user {n} of a crowd") for n in range(15)]
    with run.verdict("REACT-ADD-15"):
        for answer in await together(*(_react(one, id, "+1") for one in crowd)):
            answer.expect(200)
        found = _map(await message(run.v, channel, id)).get("+1", [])
        wanted = {one.user_id for one in crowd}
        require(set(found) == wanted, f"{len(wanted - set(found))} of 20 reactions were lost")
        if len(found) != len(wanted):
            note("somebody stands twice under one reaction")
