"""DRAFT: drafts that follow from device to device (capability drafts, extension H-8).

The suite loads this by an entry point; the server never does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

from teamchat_conformance.checks.places import Question, like_nothing, make_private, member_at
from teamchat_conformance.checks.steps import at, messages_at, unknown, uploaded
from teamchat_conformance.endpoints import Endpoint
from teamchat_conformance.expect import require, told
from teamchat_conformance.registry import Area

if TYPE_CHECKING:
    from teamchat_conformance.expect import Answered
    from teamchat_conformance.http import Client
    from teamchat_conformance.run import Run

SPEC = "H-8"
ENTITY = {"type": None, "offset": None, "length": None, "id": None}
DRAFT = {
    "id": None,
    "placeId": None,
    "threadId": None,
    "content": None,
    "entities": ENTITY,
    "files": None,
    "quotedMessageId": None,
    "version": None,
    "updatedAt": None,
}
_NEW = (("If-None-Match", "*"),)

area = Area(
    "DRAFT",
    "Drafts",
    capability="drafts",
    endpoints=(
        Endpoint("GET", "/me/drafts", known={"drafts": DRAFT, "asOf": None}),
        Endpoint("GET", "/me/drafts/:id", known={"draft": DRAFT}),
        Endpoint("PUT", "/me/drafts/:id", known={"draft": DRAFT}),
        Endpoint("DELETE", "/me/drafts/:id", known={"success": None}),
    ),
)
area.required(
    "DRAFT-SAVE-01",
    SPEC,
    "A draft that is saved is listed for its author and for nobody else",
    words=["GET of drafts {drafts}", "its ids are each user's own"],
)
area.required(
    "DRAFT-SAVE-02",
    SPEC,
    "Without a condition a PUT is 400",
    words=["PUT without a condition: 400"],
)
area.required(
    "DRAFT-SAVE-03",
    SPEC,
    "With another version a PUT is 412, and changes nothing",
    words=["another version: 412, and the client keeps its text as a new draft"],
)
area.required(
    "DRAFT-SAVE-04",
    SPEC,
    "A draft has its thread, its entities, its files and what it quotes, as they were saved",
    words=["`threadId`, content, entities, files, quotedMessageId, `version`"],
)
area.required(
    "DRAFT-GONE-01",
    SPEC,
    "A draft that was deleted is 410 to whoever saves it, and is listed no more",
    words=["DELETE leaves a tombstone 30 days: a PUT to it is 410", "tombstones left out"],
)
area.required(
    "DRAFT-GONE-02",
    SPEC,
    "Posting with draftId deletes the draft",
    words=["Posting with `draftId` deletes it in that transaction"],
)
area.required(
    "DRAFT-TOLD-01",
    SPEC,
    "The author is told of each change without the text, and nobody else is",
    words=["Logged event DRAFT_CHANGED {id, version, deleted} to the user, without the text"],
)
area.required(
    "DRAFT-HIDE-01",
    "X-3",
    "For a place that one does not see no draft is saved: it is as one that is not there",
    words=["The answer equals that for an id nobody ever had"],
)
area.required(
    "DRAFT-HIDE-02",
    "X-3",
    "A draft for a place that one sees no more is not listed",
    words=["Lists omit it, counts and limits do not include it"],
)


@area.scenario(
    "DRAFT-SAVE-01", "DRAFT-SAVE-02", "DRAFT-SAVE-03", "DRAFT-GONE-01", "DRAFT-GONE-02", "DRAFT-TOLD-01"
)
async def drafts_follow(run: Run) -> None:
    """Save two drafts, change one, send it, and delete the other."""
    channel = await run.channel()
    first, second = str(uuid4()), str(uuid4())
    body = {"placeId": channel, "content": "not yet"}
    async with run.listen(run.u) as author, run.listen(run.v) as other:
        with run.verdict("DRAFT-SAVE-02"):
            (await run.u.put(at("me", "drafts", first), body)).expect(400)
        saved = told(await _save(run.u, first, body, _NEW), "draft")
        told(await _save(run.u, second, body, _NEW), "draft")
        with run.verdict("DRAFT-SAVE-01"):
            require(set(await _drafts(run.u)) >= {first, second}, "the author's list does not hold them")
            require(first not in await _drafts(run.v), "another user's list holds it")
            require(type(saved["version"]) is int, "version is no integer")
            (await run.v.get(at("me", "drafts", first))).expect(404)
        version = saved["version"]
        with run.verdict("DRAFT-SAVE-03"):
            changed = body | {"content": "nearly"}
            newer = told(await _save(run.u, first, changed, _if(version)), "draft")["version"]
            for condition in (_if(version), _NEW):
                (await _save(run.u, first, body, condition)).expect(412)
            kept = (await _drafts(run.u))[first]
            require(kept["content"] == "nearly", "a draft was overwritten")
            require(kept["version"] == newer, "the version is another")
        with run.verdict("DRAFT-TOLD-01"):
            heard = (await author.expect("DRAFT_CHANGED", id=first, version=version)).payload
            require(heard["deleted"] is False, "deleted is not false")
            require("not yet" not in str(heard), "the event has the text")
        with run.verdict("DRAFT-GONE-02"):
            sent = await run.u.post(messages_at(channel), {"content": "now", "draftId": first})
            told(sent, "message")
            require(first not in await _drafts(run.u), "a draft that was sent is listed still")
            (await _save(run.u, first, body, _if(newer))).expect(410)
        with run.verdict("DRAFT-GONE-01"):
            (await run.u.delete(at("me", "drafts", second))).expect(200)
            require(second not in await _drafts(run.u), "a draft that was deleted is listed still")
            for condition in (_if(1), _NEW):
                (await _save(run.u, second, body, condition)).expect(410)
        with run.verdict("DRAFT-TOLD-01"):
            for gone in (first, second):
                await author.expect("DRAFT_CHANGED", id=gone, deleted=True)
            await run.fence(other)
            require(not other.since(0, "DRAFT_CHANGED"), "another user was told")


@area.scenario("DRAFT-SAVE-04", "DRAFT-GONE-02")
async def a_draft_of_a_reply(run: Run) -> None:
    """Save a draft of a reply that has all there may be, and send it; then send one in a conversation."""
    channel, text = await run.channel(), f"@{run.v.user_name}, not yet"
    parent = str((await run.post(run.v, channel))["id"])
    body: dict[str, Any] = {"placeId": channel, "threadId": parent, "content": text}
    if run.announced.version("mentions"):
        length = len(run.v.user_name) + 1
        body["entities"] = [{"type": "user", "offset": 0, "length": length, "id": run.v.user_id}]
    if run.announced.version("quotes"):
        body["quotedMessageId"] = parent
    if run.announced.version("files"):
        body["files"] = [await uploaded(run.u, channel, "later.txt")]
    draft = str(uuid4())
    with run.verdict("DRAFT-SAVE-04"):
        saved = told(await _save(run.u, draft, body, _NEW), "draft")
        read = told(await run.u.get(at("me", "drafts", draft)), "draft")
        for shown in (saved, read, (await _drafts(run.u))[draft]):
            other = [field for field, value in body.items() if shown.get(field) != value]
            require(not other, f"{', '.join(other)} of the draft is missing, or another")
    with run.verdict("DRAFT-GONE-02"):
        sent = {"content": "now", "draftId": draft}
        told(await run.u.post(at("messages", parent, "thread"), sent), "reply")
        require(draft not in await _drafts(run.u), "a draft that was sent as a reply is listed still")
        direct, place = str(uuid4()), await run.conversation(run.u, run.v)
        (await _save(run.u, direct, {"placeId": place, "content": "not yet"}, _NEW)).expect(200)
        sent = {"content": "now", "draftId": direct}
        told(await run.u.post(at("conversations", place, "messages"), sent), "message")
        require(direct not in await _drafts(run.u), "a draft that was sent to one user is listed still")


@area.scenario("DRAFT-HIDE-01", "DRAFT-HIDE-02")
async def drafts_for_what_is_hidden(run: Run) -> None:
    """Save a draft for a private channel that one does not see, and for one that one is put out of."""
    draft, unseen = str(uuid4()), [unknown(run)]
    made = {}
    if run.announced.version("private-channels"):
        made = await make_private(run, run.u, run.v)
        unseen.append(str(made["id"]))
    with run.verdict("DRAFT-HIDE-01"):
        body = {"content": "not yet"}
        for who in (run.w, run.b):
            for place in unseen:
                asked = Question("PUT", f"/me/drafts/{draft}", body, dict(_NEW), in_body="placeId")
                await like_nothing(who, asked, place)
            require(draft not in await _drafts(who), "it was refused, and is listed")
    with run.verdict("DRAFT-HIDE-02"):
        if made:
            body = {"placeId": str(made["id"]), "content": "not yet"}
            (await _save(run.v, draft, body, _NEW)).expect(200)
            (await run.u.delete(member_at(made, run.v))).expect(200)
            require(draft not in await _drafts(run.v), "its place is not seen any more, and it is listed")


def _if(version: int) -> tuple[tuple[str, str], ...]:
    return (("If-Match", f'"{version}"'),)


async def _save(
    asker: Client, draft_id: str, body: dict[str, Any], condition: tuple[tuple[str, str], ...]
) -> Answered:
    return await asker.put(at("me", "drafts", draft_id), body, headers=condition)


async def _drafts(asker: Client) -> dict[str, dict[str, Any]]:
    listed = (await asker.get(at("me", "drafts"))).ok()["drafts"]
    return {str(one["id"]): one for one in listed}
