"""``teamchat search``: how far the index is, and having it made anew."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import trio

from teamchat import Command, Corpus, OperatorError, SpeaksDialect
from teamchat.plugins import Plugins
from teamchat.settings import backend_options
from teamchat_search.index import MADE_BY, Index, index_of

if TYPE_CHECKING:
    from teamchat import Storage
    from teamchat.settings import Settings


class NoIndexError(OperatorError):
    """There is nothing to tell of, or to make anew."""


def run(settings: Settings, arguments: argparse.Namespace) -> int:
    """Do what is asked; return the exit code."""
    for line in trio.run(_run, settings, arguments.action):
        print(line)  # noqa: T201  # it is what the verb is for
    return 0


async def _run(settings: Settings, action: str) -> list[str]:
    backend = Plugins.load(settings.plugins.disabled).storage(settings.storage.backend)
    async with backend.open(backend_options(settings.storage, backend)) as storage:
        index = index_of(storage.dialect if isinstance(storage, SpeaksDialect) else "")
        if index is None:
            raise NoIndexError("This storage has no index: every search looks through the messages.")
        return await (rebuild if action == "rebuild" else status)(storage, index)


async def status(storage: Storage, index: Index) -> list[str]:
    """Say how far the index is."""
    first, last = await storage.log_bounds()
    async with storage.read() as tx:
        if not await index.is_there(tx):
            return ["There is no index yet. A server that runs makes it."]
        state = await index.state(tx)
        count, size = await index.count(tx), await index.size(tx)
        total = await Corpus().count(tx)
    lines = [f"{count} of {total} messages are in the index, which takes {size / 1e6:.1f} MB."]
    if state.made_by != MADE_BY or first > state.position + 1:
        lines.append("It is to be made anew, which a server that runs does by itself.")
    elif not state.is_filled:
        lines.append("It is being filled, the newest messages first.")
    if last > state.position:
        lines.append(f"{last - state.position} events of the log wait for it.")
    return lines


async def rebuild(storage: Storage, index: Index) -> list[str]:
    """Have the index made anew by a server that runs, now or later."""
    async with storage.write() as tx:
        if await index.is_there(tx):
            await tx.fetch("update search_state set made_by = '' where id = 1")
    return [
        "The index is made anew by the server, while it runs. Until then searches look through the messages.",
        "See how far it is: teamchat search status",
    ]


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("status", "rebuild"), help="say how far it is, or begin anew")


SEARCH = Command("search", "see how far the index of search is, or have it made anew", run, _arguments)
