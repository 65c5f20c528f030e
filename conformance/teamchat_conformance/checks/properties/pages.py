"""PROP-PAGE, PROP-READ: reading: pages of any size from anywhere, and that it changes nothing."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from teamchat_conformance.checks.properties._area import area
from teamchat_conformance.checks.steps import at, ids, items, messages_at
from teamchat_conformance.checks.stream._area import listening_to
from teamchat_conformance.expect import require

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

_MESSAGES = 70
_DEFAULT = 50
_LONGEST = 90

area.required("PROP-PAGE-01", "§4 Channel messages", "Any page holds min(limit, available) of what is older")
area.required("PROP-PAGE-02", "§4 Channel messages", "A walk by pages of any size meets everything once")
area.recommended("PROP-READ-01", "D-35", "Read twice with nothing between, everything is the same; no event")


@area.scenario("PROP-PAGE-01", "PROP-PAGE-02")
async def any_page(run: Run) -> None:
    random, channel = Random(run.seed), await run.channel()
    posted = [str((await run.post(run.u, channel))["id"]) for _ in range(_MESSAGES)]
    with run.verdict("PROP-PAGE-01"):
        for _ in range(run.examples):
            await _is_a_page(run, channel, posted, random)
    with run.verdict("PROP-PAGE-02"):
        for _ in range(max(1, run.examples // 5)):
            await _meets_everything(run, channel, posted, random)


async def _is_a_page(run: Run, channel: str, posted: list[str], random: Random) -> None:
    """Read one page by random limit and place, and compare it with what it should hold."""
    limit, before = random.randint(1, _LONGEST), random.choice([None, *range(_MESSAGES)])
    query: dict[str, object] = {} if random.random() < 0.1 else {"limit": limit}
    size = limit if query else _DEFAULT
    if before is not None:
        query["before"] = posted[before]
    available = posted if before is None else posted[:before]
    target = messages_at(channel, **query)
    page = ids(await items(run.v, target, "messages"))
    require(set(page) <= set(available), f"GET {target} holds what is not older than before")
    wanted = min(size, len(available))
    require(len(page) == len(set(page)) == wanted, f"GET {target} holds {len(page)} messages, not {wanted}")
    newest = available[len(available) - wanted :]
    require(page in (newest, newest[::-1]), f"GET {target} holds others than the newest {wanted}")


async def _meets_everything(run: Run, channel: str, posted: list[str], random: Random) -> None:
    """Walk from the newest to the oldest by pages of random sizes."""
    met: list[str] = []
    sizes: list[int] = []
    query: dict[str, object] = {}
    while len(sizes) <= _MESSAGES:
        sizes.append(random.randint(1, _LONGEST))
        page = ids(await items(run.v, messages_at(channel, limit=sizes[-1], **query), "messages"))
        if not page:
            break
        met += page
        query = {"before": min(page, key=lambda id: posted.index(id) if id in posted else -1)}
    told = f"a walk by pages of {sizes}"
    require(len(met) == len(set(met)), f"{told} met something twice")
    require(set(met) == set(posted), f"{told} met {len(met)} messages, not {len(posted)}")


@area.scenario("PROP-READ-01")
async def reading_changes_nothing(run: Run) -> None:
    channel = await run.channel()
    parent = str((await run.post(run.u, channel))["id"])
    await run.reply(run.v, parent)
    place = await run.conversation(run.u, run.v)
    message = str((await run.direct(run.u, place))["id"])
    targets = [
        messages_at(channel),
        at("messages", parent, "thread"),
        at("conversations", place, "messages"),
        "/auth/me",
        "/server/settings",
    ]
    async with listening_to(run, run.u, run.v, run.a) as observers:
        with run.verdict("PROP-READ-01"):
            for target in targets:
                first, second = await run.u.get(target), await run.u.get(target)
                first.expect(200)
                require(first.body == second.body, f"GET {target} answers differently the second time")
            await run.fence(*observers)
            for observer in observers:
                heard = [one.type for one in observer.events if message in one.data or parent in one.data]
                require(not heard, f"reading sent {', '.join(heard)} to {observer.name}")
