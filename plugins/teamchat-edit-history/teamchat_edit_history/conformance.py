"""HISTORY: what a message said before it was edited (capability edit-history, extension H-6).

The suite loads this by an entry point; the server never does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from teamchat_conformance.checks.places import Question, like_nothing, make_managed, with_past
from teamchat_conformance.checks.steps import at
from teamchat_conformance.endpoints import Endpoint
from teamchat_conformance.expect import require
from teamchat_conformance.registry import Area

if TYPE_CHECKING:
    from teamchat_conformance.actors import Actor
    from teamchat_conformance.http import Client
    from teamchat_conformance.run import Run

SPEC = "H-6"
ENTITY = {"type": None, "offset": None, "length": None, "id": None}
REVISION = {"content": None, "entities": ENTITY, "at": None}

area = Area(
    "HISTORY",
    "What edited messages said",
    capability="edit-history",
    endpoints=(
        Endpoint("GET", "/messages/:messageId/history", known={"revisions": REVISION}),
        Endpoint("DELETE", "/messages/:messageId/history", known={"success": None}),
    ),
)
area.required(
    "HISTORY-READ-01",
    SPEC,
    "An author reads what a message said, the present text first, and since when",
    words=["Revisions: newest first, the present one among the 50, `at` is when that text was set"],
)
area.required(
    "HISTORY-DROP-01",
    SPEC,
    "An author drops what a message said before, and nobody else may",
    words=["an author may drop theirs"],
)
area.required(
    "HISTORY-DROP-02",
    SPEC,
    "A deleted message has no history",
    words=["a deletion drops all; at most 50"],
)
area.required(
    "HISTORY-READ-02",
    SPEC,
    "Managers read it too, and all others who see the message or none of them (403), admins neither",
    words=["is `everyone` or `author` (default: author and, where they see the place, managers)"],
)
area.required(
    "HISTORY-READ-03",
    SPEC,
    "Of a message that was edited more often 50 texts are kept, the newest",
    words=["at most 50"],
)
area.required(
    "HISTORY-READ-04",
    SPEC,
    "Each text has the entities that it had",
    words=["revisions: {content, entities, at}"],
)
area.required(
    "HISTORY-HIDE-01",
    "X-3",
    "What a message said that one does not see is as what nothing ever said",
    words=["The answer equals that for an id nobody ever had"],
)


@area.scenario("HISTORY-READ-01", "HISTORY-DROP-01", "HISTORY-DROP-02")
async def a_message_is_edited(run: Run) -> None:
    """Post a message, edit it twice, read its history, drop it, and delete the message."""
    message = await run.post(run.u, await run.channel())
    path = at("messages", message["id"])
    texts = [message["content"], "the second text", "the third text"]
    edited = [(await run.u.put(path, {"content": text})).ok()["message"] for text in texts[1:]]
    with run.verdict("HISTORY-READ-01"):
        found = await _history(run.u, message["id"])
        require([one["content"] for one in found] == texts[::-1], "the texts are others, or in another order")
        times = [edited[1]["updatedAt"], edited[0]["updatedAt"], message["createdAt"]]
        require([one["at"] for one in found] == times, "at is not when each text was set")
    with run.verdict("HISTORY-DROP-01"):
        (await run.w.delete(at("messages", message["id"], "history"))).expect(403)
        (await run.u.delete(at("messages", message["id"], "history"))).expect(200)
        found = await _history(run.u, message["id"])
        require([one["content"] for one in found] == texts[2:], "what was dropped is there still")
    with run.verdict("HISTORY-DROP-02"):
        (await run.u.delete(path)).expect(200)
        (await run.u.get(at("messages", message["id"], "history"))).expect(404)


@area.scenario("HISTORY-READ-04")
async def a_mention_is_edited(run: Run) -> None:
    """Mention one user, and in an edit another one."""
    with run.verdict("HISTORY-READ-04"):
        if run.announced.version("mentions"):
            message = await run.post(run.u, await run.channel(), f"@{run.v.user_name}, look")
            edit = {"content": f"@{run.w.user_name}, look"}
            edited = (await run.u.put(at("messages", message["id"]), edit)).ok()["message"]
            found = [one["entities"] for one in await _history(run.u, message["id"])]
            named = [[entity["id"] for entity in one] for one in found]
            require(named == [[run.w.user_id], [run.v.user_id]], f"the texts mention {named}")
            require(found[1] == message["entities"], "the entities of the first text are others")
            require(found[0] == edited.get("entities", found[0]), "those of the present one are others")


@area.scenario("HISTORY-READ-02", "HISTORY-HIDE-01")
async def others_ask_for_it(run: Run) -> None:
    """Edit a message of a channel that somebody manages, and one of a private channel."""
    with run.verdict("HISTORY-READ-02"):
        if run.announced.version("membership"):
            made = await make_managed(run, run.u, run.v, run.w)
            path = at("messages", await _edited(run, run.v, str(made["id"])), "history")
            (await run.u.get(path)).expect(200)
            others = [(await who.get(path)).status for who in (run.w, run.b)]
            # Where it is not known what is configured, chat.editHistory may be `everyone`.
            may_be = [[403, 403]] if run.has("launch") else [[403, 403], [200, 200]]
            require(others in may_be, f"a member and an admin are answered {others}")
    direct = await run.direct(run.u, await run.conversation(run.u, run.v))
    with run.verdict("HISTORY-HIDE-01"):
        (await run.w.get(at("messages", str(direct["id"]), "history"))).error(404)
        if run.announced.version("private-channels"):
            _, before = await with_past(run, run.u, run.v)
            (await run.u.put(at("messages", before), {"content": run.text()})).expect(200)
            for who in (run.v, run.w, run.b):
                for method in ("GET", "DELETE"):
                    await like_nothing(who, Question(method, "/messages/{}/history"), before)


@area.scenario("HISTORY-READ-03")
async def a_message_is_edited_often(run: Run) -> None:
    """Edit a message fifty times, so that there are 51 texts of it."""
    message = await run.post(run.u, await run.channel())
    texts = [f"{number} {run.id}" for number in range(50)]
    for text in texts:
        (await run.u.put(at("messages", message["id"]), {"content": text})).expect(200)
    with run.verdict("HISTORY-READ-03"):
        found = [one["content"] for one in await _history(run.u, message["id"])]
        require(found == texts[::-1], f"of 51 texts {len(found)} are kept, or others than the newest 50")


async def _edited(run: Run, author: Actor, channel: str) -> str:
    """Post a message, edit it, and return its id."""
    posted = str((await run.post(author, channel))["id"])
    (await author.put(at("messages", posted), {"content": run.text()})).expect(200)
    return posted


async def _history(asker: Client, message_id: str) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = (await asker.get(at("messages", message_id, "history"))).ok()["revisions"]
    return listed
