"""CAP: what a server announces beyond the core (extensions, part A), if anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teamchat_conformance.capabilities import is_capability
from teamchat_conformance.expect import require
from teamchat_conformance.registry import Area
from teamchat_conformance.verdicts import Finding

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

AT = "/capabilities"
_NOTHING = (404, 405)
_RESTS_ON = {
    "private-channels": ("membership",),
    "groups": ("membership",),
    "activity": ("mentions",),
    "threads": ("read-state",),
    "web-push": ("read-state", "notification-levels"),
}

area = Area("CAP", "Capabilities")
area.recommended(
    "CAP-DOC-01", "extensions A-1", "Each capability is announced with a version, or there is none"
)
area.recommended(
    "CAP-DOC-02", "extensions A-2", "It is the same for everybody, and unchanged it is answered 304"
)
area.recommended("CAP-DOC-03", "extensions A-3", "What a capability rests on is announced beside it")
area.recommended(
    "CAP-DOC-04", "extensions A-4", "Limits stand under the name of their capability, as numbers"
)
area.recommended("CAP-DOC-05", "D-06", "A page of an allowed origin reads it before signing in")
area.recommended("CAP-DOC-06", "extensions A", "Its link to the description of the endpoints leads to one")


@area.scenario(*(f"CAP-DOC-0{number}" for number in range(1, 7)))
async def what_is_announced(run: Run) -> None:
    answer = await run.n.get(AT)
    with run.verdict("CAP-DOC-01"):
        answer.expect(200, *_NOTHING)
        if answer.status == 200:
            told = answer.json
            named = told.get("capabilities") if isinstance(told, dict) else None
            if not isinstance(named, dict):
                raise answer.miss("there is no object of capabilities")
            wrong = [name for name, limits in named.items() if not is_capability(limits)]
            require(not wrong, f"no whole number above zero is the version of {', '.join(wrong)}")
    if answer.status != 200:
        for id in (f"CAP-DOC-0{number}" for number in range(2, 7)):
            run.verdicts.put(Finding(id, "not-applicable", "the server announces nothing"))
        return
    with run.verdict("CAP-DOC-02"):
        same = await run.u.get(AT)
        require(same.status == 200 and same.body == answer.body, "a user is told something else than nobody")
        require("no-cache" in (answer.header("cache-control") or ""), "Cache-Control does not say no-cache")
        tag = answer.header("etag")
        require(tag, "there is no ETag")
        (await run.n.get(AT, headers={"If-None-Match": str(tag)})).expect(304)
    with run.verdict("CAP-DOC-03"):
        names = run.announced.capabilities.keys()
        missing = {
            f"{name} without {other}"
            for name in names
            for other in _RESTS_ON.get(name, ())
            if other not in names
        }
        require(not missing, f"announced: {', '.join(sorted(missing))}")
    with run.verdict("CAP-DOC-04"):
        odd = [
            f"{name}.{key}"
            for name, limits in run.announced.capabilities.items()
            for key, limit in limits.items()
            if isinstance(limit, bool) or not isinstance(limit, int | float)
        ]
        require(not odd, f"no numbers: {', '.join(odd)}")
    with run.verdict("CAP-DOC-05"):
        origin = run.instance.auth.app_url.rstrip("/")
        read = await run.n.get(AT, headers={"Origin": origin} if origin else {})
        allowed = read.header("access-control-allow-origin")
        require(not origin or allowed in ("*", origin), f"a page of {origin} does not read it: {allowed!r}")
        credentials = read.header("access-control-allow-credentials")
        require(allowed != "*" or credentials != "true", "a page of any origin reads it with credentials")
    with run.verdict("CAP-DOC-06"):
        links = answer.json.get("links")
        target = links.get("openapi") if isinstance(links, dict) else None
        require(isinstance(target, str) and target.startswith("/"), f"links.openapi is {target!r}")
        (await run.n.get(str(target))).expect(200)
