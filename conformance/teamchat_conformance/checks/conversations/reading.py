"""CONV-MSG: direct messages are sent and read, by the two participants and by nobody else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from teamchat_conformance.checks.conversations._area import area
from teamchat_conformance.checks.pages import (
    Pages,
    defaults_to_fifty,
    goes_back_from,
    has_the_order_of_posting,
    holds_to_the_limit,
    walks_through_all,
)
from teamchat_conformance.checks.steps import (
    MESSAGE,
    at,
    each_bad,
    gone_or_empty,
    item,
    items,
    messages_at,
    never_edited,
    no_failure,
    no_trace,
    unchanged,
    unknown,
    wrong_values,
)
from teamchat_conformance.expect import array, integer, require

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

_MANY = 55

area.required(
    "CONV-MSG-01", "§4 Conversations", "Sending answers 200 and the message, with the conversation's id"
)
area.required("CONV-MSG-02", "§4 Conversations", "Both participants read the message")
area.required("CONV-MSG-03", "§4 Conversations", "Another user may not read the messages")
area.required("CONV-MSG-04", "§4 Conversations", "An admin who takes no part may not read the messages")
area.required("CONV-MSG-05", "§4 Conversations", "Nobody else sends into a conversation")
area.required("CONV-MSG-06", "§7", "A conversation that is not there is neither read nor sent into")
area.required("CONV-MSG-07", "§7", "A content that is missing or no text is refused with 400")
area.required("CONV-MSG-08", "§8", "Without limit a page holds exactly 50 direct messages")
area.required(
    "CONV-MSG-09", "§4 Conversations", "limit and before page through a conversation, each message once"
)
area.required(
    "CONV-MSG-10", "§4 Conversations", "A conversation is neither read nor written as if it were a channel"
)
area.required(
    "CONV-MSG-11", "§4 Conversations", "A before that names a direct message opens nothing to an outsider"
)
area.required("CONV-MSG-12", "§2 Message", "updatedAt is null until the edit; reactions is a map")
area.required("CONV-MSG-13", "D-08", "Pages of a conversation hold the newest messages, the oldest first")


def _messages_of(conversation: str, **query: object) -> str:
    return at("conversations", conversation, "messages", **query)


@area.scenario("CONV-MSG-01", "CONV-MSG-02", "CONV-MSG-12")
async def two_people_talk(run: Run) -> None:
    conversation = await run.conversation(run.u, run.v)
    target, content = _messages_of(conversation), run.text("hello")
    answer = await run.u.post(target, {"content": content})
    author = {"id": run.u.user_id, "userName": run.u.user_name}
    wanted = {"channelId": conversation, "author": author, "content": content}
    with run.verdict("CONV-MSG-01"):
        answer.expect(200).shape({"message": {**MESSAGE, **wanted}})
    said = answer.shape({"message": MESSAGE})["message"]
    with run.verdict("CONV-MSG-02"):
        for reader in (run.u, run.v):
            (await reader.get(target)).expect(200).shape(
                {"messages": array({**MESSAGE, "channelId": conversation})}
            )
            found = await item(reader, target, "messages", said["id"])
            same = all(found[key] == said[key] for key in ("author", "content", "createdAt"))
            require(same, "answer and list differ")
    with run.verdict("CONV-MSG-12"):
        _never_edited(await item(run.v, target, "messages", said["id"]))
        edit = await run.u.put(
            at("conversations", conversation, "messages", said["id"]), {"content": run.text()}
        )
        edit.expect(200)
        updated = (await item(run.v, target, "messages", said["id"])).get("updatedAt")
        require(integer(updated), f"updatedAt of an edited message is {updated!r}")


@area.scenario("CONV-MSG-07")
async def what_is_no_message(run: Run) -> None:
    someone = await run.new_user()
    target = _messages_of(await run.conversation(someone, run.v))
    with run.verdict("CONV-MSG-07"):
        bodies = [{}, *wrong_values("content")]
        async with unchanged(lambda: items(run.v, target, "messages")):
            await each_bad(lambda body: someone.post(target, body), bodies)


def _never_edited(found: dict[str, Any]) -> None:
    never_edited(found)
    require(isinstance(found.get("reactions", {}), dict), "reactions is no object")


@area.scenario("CONV-MSG-03", "CONV-MSG-04", "CONV-MSG-05", "CONV-MSG-10", "CONV-MSG-11")
async def outsiders_are_kept_out(run: Run) -> None:
    conversation = await run.conversation(run.u, run.v)
    target, secret = _messages_of(conversation), run.text("private")
    await run.direct(run.u, conversation, secret)
    said = await run.direct(run.u, conversation)
    for id, outsider in (("CONV-MSG-03", run.w), ("CONV-MSG-04", run.a)):
        with run.verdict(id):
            answer = await outsider.get(target)
            no_trace(answer, secret)
            answer.error(403, accept=(404,))
    with run.verdict("CONV-MSG-05"):
        async with unchanged(lambda: items(run.v, target, "messages")):
            for outsider in (run.w, run.a):
                (await outsider.post(target, {"content": run.text()})).error(403, accept=(400, 404))
    with run.verdict("CONV-MSG-10"):
        as_channel = messages_at(conversation)
        async with unchanged(lambda: items(run.v, target, "messages")):
            for outsider in (run.w, run.a):
                answer = await outsider.get(as_channel)
                no_trace(answer, secret)
                if answer.status == 200:
                    gone_or_empty(answer, "messages")
                else:
                    answer.error(404, accept=(400, 403))
                written = await outsider.post(as_channel, {"content": run.text()})
                written.error(404, accept=(400, 403))
    with run.verdict("CONV-MSG-11"):
        own = await run.conversation(run.w, run.b)
        channel = await run.channel()
        for place in (messages_at(channel, before=said["id"]), _messages_of(own, before=said["id"])):
            no_trace(no_failure(await run.w.get(place)), secret)


@area.scenario("CONV-MSG-06")
async def a_conversation_that_is_not_there(run: Run) -> None:
    with run.verdict("CONV-MSG-06"):
        for conversation in (unknown(run), f"dm:{unknown(run)}"):
            target = _messages_of(conversation)
            (await run.u.get(target)).error(404, accept=(400, 403))
            (await run.u.post(target, {"content": run.text()})).error(404, accept=(400, 403))


@area.scenario("CONV-MSG-08", "CONV-MSG-09", "CONV-MSG-13")
async def a_long_conversation_is_read_in_pages(run: Run) -> None:
    one, two = await run.new_user(name="a talker"), await run.new_user(name="a listener")
    conversation = await run.conversation(one, two)
    posted = [(await run.direct((one, two)[n % 2], conversation))["id"] for n in range(_MANY)]
    pages = Pages(two, _messages_of(conversation), "messages")
    with run.verdict("CONV-MSG-08"):
        await defaults_to_fifty(pages)
    with run.verdict("CONV-MSG-09"):
        await holds_to_the_limit(pages)
        await goes_back_from(pages, posted, 29)
        await walks_through_all(pages, posted)
    with run.verdict("CONV-MSG-13"):
        await has_the_order_of_posting(pages, posted)
