"""AUDIT: who did what (extensions, part L, capability audit)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from teamchat_conformance.checks.places import FIELDS, add, make_private, make_public, member_at, of
from teamchat_conformance.checks.steps import at
from teamchat_conformance.endpoints import Endpoint
from teamchat_conformance.expect import require
from teamchat_conformance.registry import Area

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

_LISTED = 'GET /admin/audit answers `{"entries": […], "next"}`'
_ACTIONS = "Audit `action`s are dotted lower-case names"
_KEYS = ("id", "at", "actorId", "ip", "action", "targetType", "targetId", "details")
area = Area(
    "AUDIT",
    "The audit log",
    capability="audit",
    endpoints=(Endpoint("GET", "/admin/audit", admin_only=True, known={"entries": None, "next": None}),),
    fields=FIELDS | set(_KEYS),
)
area.required("AUDIT-GET-01", "L-4", "Entries have all their fields, and come newest first", words=[_LISTED])
area.required("AUDIT-GET-02", "L-4", "next leads to the entries before, none twice", words=[_LISTED])
area.required("AUDIT-GET-03", "L-4", "actorId, action and targetId narrow them down",
              words=["limit, before, actorId, action, targetId"])  # fmt: skip
area.required("AUDIT-WHO-01", "L", "Who is no admin reads none (403)", words=["/admin/audit | limit, before"])
area.required("AUDIT-USER-01", "L-4", "Adding, promoting, removing users has entries", words=[_ACTIONS])
area.required("AUDIT-CHAN-01", "L-4", "Making and deleting a channel has an entry each", words=[_ACTIONS])
area.required("AUDIT-HOOK-01", "L-4", "Webhooks have entries, without their tokens", words=[_ACTIONS])
area.required("AUDIT-PRIV-01", "L-4", "A change of privacy has an entry",
              words=["channels (privacy, members, archive, enter)"])  # fmt: skip
area.required("AUDIT-MEM-01", "L-4", "Whoever is in a private channel from the first, is added or removed, "
              "has an entry", words=["channels (privacy, members, archive, enter)"])  # fmt: skip
area.required("AUDIT-FAIL-01", "L", "A sign-in that failed has an entry, whose actor is nobody", "pw",
              words=["a failed sign-in has `actorId` null"])  # fmt: skip
area.required("AUDIT-USER-02", "L-4", "Deactivating a user has an entry", words=[_ACTIONS])
area.required("AUDIT-CHAN-02", "L-4", "Archiving a channel has an entry",
              words=["channels (privacy, members, archive, enter)"])  # fmt: skip
area.required("AUDIT-CHAN-03", "L-4", "An admin who enters a private channel has an entry",
              words=["channels (privacy, members, archive, enter)"])  # fmt: skip
area.required("AUDIT-SET-01", "L-4", "Changing the server's settings has an entry", words=[_ACTIONS])
area.required("AUDIT-IN-01", "L-4", "A sign-in has an entry, whose actor is who signs in",
              words=["sign-ins and failures"])  # fmt: skip
area.required("AUDIT-TEXT-01", "L-4", "What was said in a message stands in no entry",
              words=["never message text"])  # fmt: skip


async def _entries(run: Run, **query: str) -> list[dict[str, Any]]:
    wanted = "&".join(f"{name}={value}" for name, value in {"limit": "200", **query}.items())
    return list((await run.a.get(f"/admin/audit?{wanted}")).ok()["entries"])


def _order(entries: list[dict[str, Any]], *actions: str) -> list[str]:
    """Return which of these actions there are, the oldest first; a server may write down more."""
    return [one["action"] for one in reversed(entries) if one["action"] in actions]


@area.scenario("AUDIT-USER-01", "AUDIT-GET-01", "AUDIT-GET-02", "AUDIT-GET-03")
async def of_a_user(run: Run) -> None:
    someone = await run.new_user(name="whom the audit log is about")
    target = someone.user_id
    (await run.a.put(at("users", target, "role"), {"role": "admin"})).expect(200)
    (await run.a.delete(at("users", target))).expect(200)
    found = await _entries(run, targetId=target)
    with run.verdict("AUDIT-USER-01"):
        wanted = ["user.create", "user.role", "user.remove"]
        require(_order(found, *wanted) == wanted, f"there are {_order(found, *wanted)}")
        actors = {one["actorId"] for one in found if one["action"] in wanted}
        require(actors == {run.a.user_id}, "the actor is somebody else")
    with run.verdict("AUDIT-GET-01"):
        for one in found:
            missing = [key for key in _KEYS if key not in one]
            require(not missing, f"an entry has no {missing}")
        times = [one["at"] for one in found]
        require(times == sorted(times, reverse=True), "they do not come newest first")
    with run.verdict("AUDIT-GET-02"):
        seen: list[str] = []
        before = ""
        for _ in range(3):
            page = (await run.a.get(f"/admin/audit?targetId={target}&limit=1{before}")).ok()
            seen += [one["id"] for one in page["entries"]]
            before = f"&before={page['next']}"
        require(seen == [one["id"] for one in found], "the pages are not the list")
        require(page["next"] is None, "the last page leads to another")
    with run.verdict("AUDIT-GET-03"):
        roles = await _entries(run, targetId=target, action="user.role", actorId=run.a.user_id)
        require([one["action"] for one in roles] == ["user.role"], f"of user.role there are {len(roles)}")
        none = await _entries(run, targetId=target, actorId=run.w.user_id)
        require(none == [], "there are some of somebody who has done nothing")


@area.scenario("AUDIT-WHO-01")
async def admins_alone_read_it(run: Run) -> None:
    with run.verdict("AUDIT-WHO-01"):
        (await run.u.get("/admin/audit")).error(403)
        (await run.n.get("/admin/audit")).error(401)


@area.scenario("AUDIT-CHAN-01", "AUDIT-HOOK-01", "AUDIT-TEXT-01")
async def of_a_channel(run: Run) -> None:
    channel = await run.channel()
    text = (await run.post(run.u, channel))["content"]
    hook = (await run.a.post("/webhooks", {"name": "Audited", "channelId": channel})).ok()["webhook"]
    (await run.a.delete(at("webhooks", hook["id"]))).expect(200)
    (await run.a.delete(at("channels", channel))).expect(200)
    with run.verdict("AUDIT-CHAN-01"):
        order = _order(await _entries(run, targetId=channel), "channel.create", "channel.delete")
        require(order == ["channel.create", "channel.delete"], f"there are {order}")
    of_hook = await _entries(run, targetId=hook["id"])
    with run.verdict("AUDIT-HOOK-01"):
        order = _order(of_hook, "webhook.create", "webhook.delete")
        require(order == ["webhook.create", "webhook.delete"], f"there are {order}")
        require(hook["token"] not in str(of_hook), "the token stands in it")
    with run.verdict("AUDIT-TEXT-01"):
        require(text not in str(await _entries(run)), "what was said stands in it")


@area.scenario("AUDIT-MEM-01", "AUDIT-PRIV-01")
async def of_members(run: Run) -> None:
    """Make a private channel with a member, let another one in and out, and make a public one private."""
    if not run.announced.version("private-channels"):
        return
    private = await make_private(run, run.u, run.v)
    await add(run.u, private, run.w)
    (await run.u.delete(member_at(private, run.w))).expect(200)
    found = await _entries(run, targetId=str(private["id"]))
    with run.verdict("AUDIT-MEM-01"):
        for who, action in ((run.v, "member.add"), (run.w, "member.add"), (run.w, "member.remove")):
            named = [one for one in found if one["action"] == action and who.user_id in str(one["details"])]
            require(len(named) == 1, f"{len(named)} entries {action} name somebody once concerned")
    public = await make_public(run)
    (await run.a.put(of(public, "privacy"), {"isPrivate": True, "members": []})).expect(200)
    with run.verdict("AUDIT-PRIV-01"):
        changes = await _entries(run, targetId=str(public["id"]), action="channel.privacy")
        require(len(changes) == 1, f"there are {len(changes)}")


@area.scenario("AUDIT-FAIL-01")
async def of_a_failed_sign_in(run: Run) -> None:
    """Sign in with a wrong password."""
    someone = await run.new_user(name="whose password is guessed")
    before = {one["id"] for one in await _entries(run, action="session.fail")}
    (await run.n.post("/auth/password-login", {"email": someone.email, "password": "a guess"})).expect(401)
    with run.verdict("AUDIT-FAIL-01"):
        new = [one for one in await _entries(run, action="session.fail") if one["id"] not in before]
        require(bool(new), "there is no entry session.fail")
        require({one["actorId"] for one in new} == {None}, "the actor is somebody")


@area.scenario("AUDIT-USER-02", "AUDIT-CHAN-02", "AUDIT-CHAN-03", "AUDIT-SET-01", "AUDIT-IN-01")
async def of_what_admins_do(run: Run) -> None:
    """Sign in, shut somebody out, archive a channel, enter another, and rename the server."""
    someone, there = await run.new_user(name="who is shut out"), run.announced.version
    with run.verdict("AUDIT-IN-01"):
        own = await _entries(run, actorId=someone.user_id)
        require(bool(own), "of somebody who has signed in there is no entry")
    with run.verdict("AUDIT-USER-02"):
        if there("deactivation"):
            (await run.a.post(at("users", someone.user_id, "deactivate"))).expect(200)
            await _is_noted(run, "user.deactivate", someone.user_id)
    with run.verdict("AUDIT-CHAN-02"):
        if there("archive"):
            channel = await run.channel()
            (await run.a.post(at("channels", channel, "archive"))).expect(200)
            await _is_noted(run, "channel.archive", channel)
    with run.verdict("AUDIT-CHAN-03"):
        if there("private-channels"):
            made = str((await make_private(run, run.u))["id"])
            (await run.a.post(at("admin", "channels", made, "enter"), {"reason": "to look"})).expect(200)
            await _is_noted(run, "channel.enter", made)
    with run.verdict("AUDIT-SET-01"):
        asked = {"action": "settings.update", "actorId": run.a.user_id}
        before = len(await _entries(run, **asked))
        name = (await run.a.get("/server/settings")).ok()["name"]
        for other in (run.text(), name):
            (await run.a.put("/server/settings", {"name": other})).expect(200)
        new = len(await _entries(run, **asked)) - before
        require(new == 2, f"of two changes there are {new} entries")


async def _is_noted(run: Run, action: str, target: str) -> None:
    found = await _entries(run, action=action, targetId=target)
    require([one["actorId"] for one in found] == [run.a.user_id], f"of {action} there are {len(found)}")
