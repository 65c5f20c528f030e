"""PRIV-HIDE: what is hidden is answered as what nobody ever had, byte for byte (X-3, X-4)."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from teamchat_conformance.checks.places import (
    Question,
    like_nothing,
    make_private,
    member_at,
    of,
    of_channel,
    of_message,
    upload,
)
from teamchat_conformance.checks.private_channels._area import area
from teamchat_conformance.expect import require

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

_SAME = "The answer equals that for an id nobody ever had: same status (404), sentence and headers"

area.required(
    "PRIV-HIDE-01", "X-3", "A hidden channel is answered to a user as one nobody ever had", words=[_SAME]
)
area.required(
    "PRIV-HIDE-02",
    "X-3",
    "A hidden channel is answered to an admin as one nobody ever had",
    words=["Admins are no exception on ordinary endpoints"],
)
area.required(
    "PRIV-HIDE-03",
    "X-2",
    "Its messages, replies and reactions are answered as those nobody ever had",
    words=["is visible exactly when the message is"],
)
area.required(
    "PRIV-HIDE-04",
    "X-3",
    "Its images are answered as those of no channel, with If-None-Match and Range too",
    words=["conditional requests (`If-None-Match`) and range requests are no exception"],
)
area.required(
    "PRIV-HIDE-05",
    "X-4",
    "Who was removed is answered like that at once, also under the Idempotency-Key of before",
    words=["before a stored answer is repeated (`Idempotency-Key`)"],
)
area.required(
    "PRIV-HIDE-06",
    "X-2",
    "Its members read, post, react, reply and see its images, so it is not hidden from all",
    words=["| private channel, group | its members |"],
)
area.required(
    "PRIV-HIDE-07", "X-4", "It is answered 401 to nobody, like any other", words=["Order of checks: D-03"]
)


@area.scenario("PRIV-HIDE-01", "PRIV-HIDE-02", "PRIV-HIDE-03", "PRIV-HIDE-04", "PRIV-HIDE-06", "PRIV-HIDE-07")
async def what_is_hidden(run: Run) -> None:
    made = await make_private(run, run.u, run.v)
    id = str(made["id"])
    parent = str((await run.post(run.u, id))["id"])
    reply = str((await run.reply(run.u, parent))["reply"]["id"])
    image = await upload(run.u, made)
    picture = await run.u.get(of(made, "messages", "image", image))
    tag = picture.header("etag") or '"none"'
    with run.verdict("PRIV-HIDE-06"):
        await run.reply(run.v, parent)
        (await run.v.post(f"/messages/{parent}/reactions", {"reaction": "ok"})).expect(200)
        (await run.v.get(of(made, "messages", "image", image))).expect(200)
        (await run.v.get(f"/messages/{parent}/thread")).expect(200)
    with run.verdict("PRIV-HIDE-07"):
        for path in (of(made), of(made, "messages"), of(made, "members"), f"/messages/{parent}/thread"):
            (await run.n.get(path)).error(401)
    for who, check in ((run.w, "PRIV-HIDE-01"), (run.b, "PRIV-HIDE-02")):
        with run.verdict(check):
            for question in of_channel(run):
                await like_nothing(who, question, id)
    for who in (run.w, run.b):
        with run.verdict("PRIV-HIDE-03"):
            for question in of_message(reply):
                await like_nothing(who, question, parent)
            for question in of_message():
                await like_nothing(who, question, reply)
        with run.verdict("PRIV-HIDE-04"):
            for question in of_channel(run, image, tag):
                if question.method == "GET" and "/image/" in question.path:
                    await like_nothing(who, question, id)
    with run.verdict("PRIV-HIDE-06"):
        there = [one["id"] for one in (await run.v.get(of(made, "messages"))).ok()["messages"]]
        require(parent in there, "who was refused has changed something")
        require(
            (await run.v.get(of(made))).ok()["channel"]["name"] == made["name"], "it has another name now"
        )


@area.scenario("PRIV-HIDE-05")
async def who_was_removed_sees_nothing(run: Run) -> None:
    made = await make_private(run, run.u, run.v)
    id = str(made["id"])
    key = {"Idempotency-Key": secrets.token_hex(16)}
    body = {"content": run.text()}
    posted = (await run.v.post(of(made, "messages"), body, headers=key)).ok()["message"]["id"]
    image = await upload(run.u, made)
    picture = of(made, "messages", "image", image)
    tag = (await run.v.get(picture)).expect(200).header("etag") or '"none"'
    (await run.u.delete(member_at(made, run.v))).expect(200)
    with run.verdict("PRIV-HIDE-05"):
        await like_nothing(run.v, Question("POST", "/channels/{}/messages", body, key), id)
        for headers in ({}, {"If-None-Match": tag}):
            path = f"/channels/{{}}/messages/image/{image}"
            await like_nothing(run.v, Question("GET", path, headers=headers), id)
        for question in of_message():
            await like_nothing(run.v, question, str(posted))
        for question in of_channel(run):
            await like_nothing(run.v, question, id)
