"""MSG-NEW, MSG-FORM, MSG-LIST: a message is posted, and stands in the list as it was written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from teamchat_conformance.checks.messages._area import area
from teamchat_conformance.checks.steps import (
    MESSAGE,
    at,
    each_bad,
    gone_or_empty,
    ids,
    is_gone,
    message,
    messages,
    messages_at,
    never_edited,
    together,
    unchanged,
    unknown,
    wrong_values,
)
from teamchat_conformance.expect import array, check_shape, integer, require, told
from teamchat_conformance.fixtures.texts import CONTENTS, MARKUP
from teamchat_conformance.verdicts import Miss, note

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

_MOST_CHARACTERS = 16_000

area.required("MSG-NEW-01", "§4 Channel messages", "Posting answers 200 and the message, every field typed")
area.required(
    "MSG-NEW-02", "§4 Channel messages", "The answer names the channel, the author, the content sent"
)
area.required("MSG-NEW-03", "§2 Message", "The author of a person's message is not marked as a bot")
area.required(
    "MSG-NEW-04", "§4 Channel messages", "The list holds the message at once, for its author and others"
)
area.required("MSG-NEW-05", "§7", "Posting without content is refused with 400 and posts nothing")
area.required("MSG-NEW-06", "§7", "Posting a content that is no text is refused with 400 and posts nothing")
area.recommended("MSG-NEW-07", "D-04", "Posting an empty or blank content is refused with 400")
area.required("MSG-NEW-08", "§7", "Posting in a channel that is not there is refused with 404")
area.required(
    "MSG-NEW-09", "§4 Channel messages", "Odd Unicode comes back unchanged in answer, list and event"
)
area.required(
    "MSG-NEW-10", "§2 Message", "Markup, templates, quotes come back unchanged: neither escaped nor run"
)
area.recommended("MSG-NEW-11", "D-04", "16,000 characters are kept whole; more are refused, never cut")
area.required(
    "MSG-NEW-12",
    "§4 Channel messages",
    "What only the server says (id, author, time, thread) can't be sent along",
)
area.required("MSG-NEW-13", "§4 Channel messages", "The same content twice makes two messages")
area.required("MSG-NEW-14", "§4 Channel messages", "Fifty posts of five users at once make fifty messages")
area.recommended("MSG-NEW-15", "D-04", "A NUL or half a surrogate pair in the content is refused with 400")
area.required("MSG-FORM-01", "§2 Message", "Every message in a list has id, channel, author, content, time")
area.required("MSG-FORM-02", "§2 Message", "A message never edited has updatedAt null")
area.required("MSG-FORM-03", "§2 Message", "An edited message has updatedAt as a whole number")
area.required("MSG-FORM-04", "§2 Message", "A message without reactions has an empty map of them")
area.required("MSG-FORM-05", "§2 Message", "A message in the channel itself names no thread it belongs to")
area.required("MSG-FORM-06", "§2 Message", "A message without replies has no threadMeta")
area.required("MSG-FORM-07", "§2 Message", "A reply or a reaction does not set updatedAt")
area.required("MSG-LIST-01", "§4 Channel messages", "The list answers 200 with an array of messages")
area.required("MSG-LIST-02", "§4 Channel messages", "Each channel lists its own messages alone")
area.required("MSG-LIST-03", "§7", "The list of a channel that is not there is refused with 404")
area.recommended("MSG-LIST-04", "D-08", "Replies in threads do not stand in the channel's list")
area.required("MSG-LIST-05", "§4 Channel messages", "The list of a new channel is empty")

area.monitor("MSG-FORM-01")


@area.scenario(
    "MSG-NEW-01", "MSG-NEW-02", "MSG-NEW-03", "MSG-NEW-04", "MSG-NEW-13", "MSG-LIST-01", "MSG-LIST-05"
)
async def a_message_is_posted_and_listed(run: Run) -> None:
    channel = await run.channel()
    with run.verdict("MSG-LIST-05"):
        (await run.u.get(messages_at(channel))).expect(200).shape({"messages": []})
    content = run.text("hello")
    answer = await run.u.post(messages_at(channel), {"content": content})
    with run.verdict("MSG-NEW-01"):
        answer.expect(200).shape({"message": MESSAGE})
    posted = answer.shape({"message": MESSAGE})["message"]
    with run.verdict("MSG-NEW-02"):
        author = {"id": run.u.user_id, "userName": run.u.user_name}
        answer.shape({"message": {"channelId": channel, "author": author, "content": content}})
    with run.verdict("MSG-NEW-03"):
        _is_no_bot(posted)
    with run.verdict("MSG-NEW-04"):
        for reader in (run.u, run.v):
            listed = await message(reader, channel, posted["id"])
            same = {key: listed.get(key) == posted[key] for key in ("author", "content", "createdAt")}
            require(all(same.values()), f"answer and list differ for {reader.actor}: {same}")
    with run.verdict("MSG-LIST-01"):
        (await run.v.get(messages_at(channel))).expect(200).shape({"messages": array(MESSAGE)})
    with run.verdict("MSG-NEW-13"):
        again = await run.post(run.u, channel, content)
        require(again["id"] != posted["id"], "the same content again was given the first message's id")
        listed_ids = ids(await messages(run.v, channel))
        require({again["id"], posted["id"]} <= set(listed_ids), "one of two equal messages is missing")


def _is_no_bot(posted: dict[str, Any]) -> None:
    is_bot = posted["author"].get("isBot", False)
    require(is_bot is False or is_bot is None, f"author.isBot is {is_bot!r} for a person")


@area.scenario("MSG-NEW-05", "MSG-NEW-06", "MSG-NEW-07", "MSG-NEW-08", "MSG-NEW-15", "MSG-LIST-03")
async def what_is_no_message_is_refused(run: Run) -> None:
    channel = await run.channel()
    await run.post(run.u, channel)
    target = messages_at(channel)
    refused = {
        "MSG-NEW-05": [{}, {"text": run.text()}],
        "MSG-NEW-06": wrong_values("content"),
        "MSG-NEW-07": [{"content": blank} for blank in ("", " ", "\n\t ")],
        "MSG-NEW-15": [{"content": run.text(odd)} for odd in ("a\0b", "a\ud800b", "a\udc00")],
    }
    for id, bodies in refused.items():
        with run.verdict(id):
            async with unchanged(lambda: messages(run.v, channel)):
                await each_bad(lambda body: run.u.post(target, body), bodies)
    with run.verdict("MSG-NEW-08"):
        is_gone(await run.u.post(messages_at(unknown(run)), {"content": run.text()}))
    with run.verdict("MSG-LIST-03"):
        gone_or_empty(await run.u.get(messages_at(unknown(run))), "messages")


@area.scenario("MSG-NEW-09", "MSG-NEW-10")
async def odd_texts_come_back_unchanged(run: Run) -> None:
    channel = await run.channel()
    async with run.listen(run.v) as heard:
        for id, odd_texts in (("MSG-NEW-09", list(CONTENTS.values())), ("MSG-NEW-10", list(MARKUP))):
            sent: dict[str, str] = {}
            with run.verdict(id):
                for odd in odd_texts:
                    mark = heard.mark()
                    posted = await run.post(run.u, channel, odd)
                    sent[posted["id"]] = odd
                    _same(odd, posted.get("content"), "the answer")
                    event = await heard.expect(
                        "NEW_MESSAGE", since=mark, seconds=run.wait(5), id=posted["id"]
                    )
                    _same(odd, event.payload.get("content"), "the event")
                listed = {one["id"]: one.get("content") for one in await messages(run.v, channel)}
                for message_id, odd in sent.items():
                    _same(odd, listed.get(message_id), "the list")


def _same(sent: str, got: object, where: str) -> None:
    require(sent == got, f"{where} holds {got!a} where {sent!a} was sent")


@area.scenario("MSG-NEW-11")
async def long_messages_are_kept_whole_or_refused(run: Run) -> None:
    channel = await run.channel()
    target = messages_at(channel)
    with run.verdict("MSG-NEW-11"):
        for length in (1_000, 10_000, _MOST_CHARACTERS):
            content = _long(run, length, "\U0001f642")
            posted = told(await run.u.post(target, {"content": content}), "message")
            listed = await message(run.v, channel, posted["id"])
            require(
                posted.get("content") == content == listed.get("content"),
                f"{length} characters came back changed",
            )
        async with unchanged(lambda: messages(run.v, channel)):
            for length in (_MOST_CHARACTERS + 1, 100_000):
                (await run.u.post(target, {"content": _long(run, length)})).error(400, accept=(413,))
            (await run.u.post(target, {"content": _long(run, 1_000_000)})).error(413, accept=(400,))


def _long(run: Run, length: int, filling: str = "x") -> str:
    return run.text().ljust(length, filling)


@area.scenario("MSG-NEW-12")
async def nobody_speaks_for_the_server(run: Run) -> None:
    channel, other = await run.channel(), await run.channel()
    parent = await run.post(run.v, channel)
    made_up = {
        "id": f"made-up-{run.id}",
        "author": {"id": run.v.user_id, "userName": run.v.user_name, "isBot": True},
        "channelId": other,
        "createdAt": 1,
        "updatedAt": 1,
        "threadId": parent["id"],
        "reactions": {"x": [run.v.user_id]},
    }
    with run.verdict("MSG-NEW-12"):
        content = run.text()
        answer = await run.u.post(messages_at(channel), {**made_up, "content": content})
        posted = answer.expect(200).shape({"message": MESSAGE})["message"]
        for seen in (posted, await message(run.v, channel, posted["id"])):
            wrong = check_shape(
                seen, {**MESSAGE, "channelId": channel, "author": {"id": run.u.user_id}, "content": content}
            )
            require(not wrong, wrong)
            _is_no_bot(seen)
            kept = [key for key in made_up if seen.get(key) == made_up[key] and key != "author"]
            require(not kept, f"taken over from the sender: {', '.join(kept)}")
        require(not await messages(run.v, other), "the message went to the channel named in the body")


@area.scenario("MSG-NEW-14")
async def fifty_posts_at_once(run: Run) -> None:
    channel = await run.channel()
    people = (run.a, run.b, run.u, run.v, run.w)
    with run.verdict("MSG-NEW-14"):
        answers = await together(
            *(people[n % 5].post(messages_at(channel), {"content": run.text()}) for n in range(50))
        )
        posted = {answer.expect(200).shape({"message": MESSAGE})["message"]["id"] for answer in answers}
        require(len(posted) == 50, f"50 posts at once were given {len(posted)} ids")
        listed = set(ids(await messages(run.v, channel)))
        require(posted <= listed, f"{len(posted - listed)} of 50 messages are not in the list")


@area.scenario(
    "MSG-FORM-02", "MSG-FORM-03", "MSG-FORM-04", "MSG-FORM-05", "MSG-FORM-06", "MSG-FORM-07",
    "MSG-LIST-02", "MSG-LIST-04",
)  # fmt: skip
async def the_list_tells_what_became_of_each(run: Run) -> None:
    channel, other = await run.channel(), await run.channel()
    plain, edited, answered, liked = [await run.post(run.u, channel) for _ in range(4)]
    elsewhere = await run.post(run.v, other)
    (await run.u.put(at("messages", edited["id"]), {"content": run.text()})).expect(200)
    reply = (await run.reply(run.v, answered["id"]))["reply"]
    (await run.v.post(at("messages", liked["id"], "reactions"), {"reaction": "ok"})).expect(200)
    listed = {one.get("id"): one for one in await messages(run.w, channel)}
    if missing := {plain["id"], edited["id"], answered["id"], liked["id"]} - listed.keys():
        raise Miss(f"{len(missing)} of four messages are not in the list")
    _forms_of_a_plain_one(run, listed[plain["id"]])
    with run.verdict("MSG-FORM-03"):
        updated = listed[edited["id"]].get("updatedAt")
        require(integer(updated), f"updatedAt of an edited message is {updated!r}")
    with run.verdict("MSG-FORM-07"):
        for what, one in (("a reply", answered), ("a reaction", liked)):
            require(listed[one["id"]].get("updatedAt") is None, f"{what} set updatedAt")
    with run.verdict("MSG-LIST-02"):
        require(elsewhere["id"] not in listed, "a channel lists a message of another")
        require(
            set(ids(await messages(run.w, other))) == {elsewhere["id"]}, "a channel lists what is not its own"
        )
    with run.verdict("MSG-LIST-04"):
        require(reply["id"] not in listed, "a reply stands in the channel's list")


def _forms_of_a_plain_one(run: Run, plain: dict[str, Any]) -> None:
    with run.verdict("MSG-FORM-02"):
        never_edited(plain)
    with run.verdict("MSG-FORM-04"):
        reactions = plain.get("reactions")
        require(isinstance(reactions, dict), f"reactions is {reactions!r}, not an object")
        require(not any((reactions or {}).values()), f"nobody reacted, and reactions is {reactions!r}")
        if reactions:
            note("reactions has keys with nobody in them")
    with run.verdict("MSG-FORM-05"):
        require(plain.get("threadId") is None, f"threadId is {plain.get('threadId')!r}")
        if "threadId" in plain:
            note("threadId is null where it should be missing")
    with run.verdict("MSG-FORM-06"):
        meta = plain.get("threadMeta")
        empty = isinstance(meta, dict) and meta.get("replyCount") == 0
        require(meta is None or empty, f"threadMeta is {meta!r} without any reply")
        if "threadMeta" in plain:
            note("threadMeta is there without any reply")
