"""Lists that are read in pages: a page, a walk back through all of them, and what both must hold to.

Which end of a page is the older one is found out, never assumed, so a server that lists
the newest first is not failed by the checks about paging for its order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from teamchat_conformance.checks.steps import ids, items
from teamchat_conformance.expect import require
from teamchat_conformance.http import Client
from teamchat_conformance.verdicts import Miss, note

_MOST_PAGES = 500


@dataclass(frozen=True)
class Pages:
    """A list with the queries ``limit`` and ``before``: who reads it, where, under which key it comes."""

    reader: Client
    target: str
    key: str

    async def page(self, query: str = "") -> list[dict[str, Any]]:
        """Return one page."""
        return await items(self.reader, self.target + (f"?{query}" if query else ""), self.key)

    async def has_newest_first(self) -> bool:
        """Find out from a page with more than one item which end is the newer."""
        page = await self.page()
        require(len(page) > 1, f"GET {self.target}: a page with several items was expected")
        first, last = page[0].get("createdAt"), page[-1].get("createdAt")
        if not isinstance(first, int) or not isinstance(last, int):
            raise Miss(f"GET {self.target}: items without createdAt")
        return first > last

    async def step_back(self, page: list[dict[str, Any]], limit: int, newest_first: bool) -> list[Any]:
        """Return the page before a page."""
        cursor = page[-1 if newest_first else 0].get("id")
        return await self.page(f"limit={limit}&before={cursor}")

    async def walk(self, limit: int) -> list[list[dict[str, Any]]]:
        """Return all pages from the newest back to the empty one, which is left out."""
        newest_first = await self.has_newest_first()
        walked: list[list[dict[str, Any]]] = []
        page = await self.page(f"limit={limit}")
        while page:
            walked.append(page)
            require(len(walked) < _MOST_PAGES, f"GET {self.target}: paging back comes to no end")
            page = await self.step_back(page, limit, newest_first)
        return walked


def only_once(pages: Sequence[list[dict[str, Any]]], posted: Sequence[str]) -> None:
    """Require that pages hold each of these, once, and nothing else."""
    found = [one for page in pages for one in ids(page)]
    twice = sorted({one for one in found if found.count(one) > 1})
    require(not twice, f"paging back gave some twice: {twice[:5]}")
    require(set(found) == set(posted), f"paging back gave {len(set(found))} of {len(posted)}")


async def defaults_to_fifty(pages: Pages) -> None:
    """Require exactly 50 items of a list with more, when no limit is given."""
    count = len(await pages.page())
    require(count == 50, f"GET {pages.target} without limit gave {count} items, not 50")


async def holds_to_the_limit(pages: Pages, limit: int = 10) -> None:
    """Require exactly as many items as were asked for."""
    count = len(await pages.page(f"limit={limit}"))
    require(count == limit, f"GET {pages.target}?limit={limit} gave {count} items")


async def goes_back_from(pages: Pages, posted: Sequence[str], place: int, limit: int = 10) -> None:
    """Require a full page of items that were posted before the one at `place`."""
    found = ids(await pages.page(f"limit={limit}&before={posted[place]}"))
    require(len(found) == limit, f"a page before the item {place + 1} has {len(found)} items, not {limit}")
    require(set(found) <= set(posted[:place]), "a page before an item holds it, or newer ones")


async def has_the_order_of_posting(pages: Pages, posted: Sequence[str]) -> None:
    """Require the first page, and one further back, to hold the newest there are, the oldest first (D-08)."""
    for query, wanted in (("limit=10", posted[-10:]), (f"limit=10&before={posted[29]}", posted[19:29])):
        found = ids(await pages.page(query))
        if found == list(wanted):
            continue
        how = "the newest first" if found == list(wanted)[::-1] else "other items, or in no order"
        raise Miss(f"GET {pages.target}?{query} gives {how}, not the newest {len(wanted)}, oldest first")


async def walks_through_all(pages: Pages, posted: Sequence[str], limit: int = 7) -> None:
    """Require that paging back gives every item once and ends with an empty page."""
    only_once(await pages.walk(limit), posted)


async def all_even_if_capped(pages: Pages, posted: Sequence[str], limit: int) -> None:
    """Require all items with a limit that has room for them; a cap is accepted if paging gives all."""
    found = ids(await pages.page(f"limit={limit}"))
    if len(found) < len(posted):
        only_once(await pages.walk(limit), posted)
        note(f"limit={limit} is capped to {len(found)}")
        return
    require(sorted(found) == sorted(posted), f"limit={limit} does not give all {len(posted)} items")
