"""What a worker does: serve on the sockets it was given, until its line to the supervisor ends.

It takes its settings from the line, whatever the files say by now. It stops like a single server
(`teamchat.server`): when asked to, by SIGTERM, or when the supervisor is gone.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial

import trio

from teamchat.errors import OperatorError
from teamchat.http.sockets import inherited
from teamchat.observability import logs
from teamchat.plugins import Plugins
from teamchat.server import process, serve_on
from teamchat.server.workers.line import BEAT_SECONDS, Alive, Failed, Line, Ready
from teamchat.settings import Settings

_log = logs.get_logger("teamchat.server.workers")


def main(arguments: Sequence[str]) -> int:
    """Serve, and return the exit code. The arguments are descriptors: of the line, then of the sockets."""
    logs.configure()
    logs.guard_interpreter()
    line, *listeners = map(int, arguments)
    for descriptor in (line, *listeners):
        os.set_inheritable(descriptor, False)
    try:
        return trio.run(_serve, line, listeners)
    except Exception as error:
        _log.critical("an unexpected error ended a worker", exc_info=error)
        return 1


async def _serve(descriptor: int, listeners: Sequence[int]) -> int:
    line = Line.inherited(descriptor)
    settings = await line.take()
    if settings is None:
        return 0
    logs.configure(level=settings.logs.level, format=settings.logs.format)
    try:
        await process.until_signalled(partial(_work, line, settings, listeners))
    except OperatorError as error:
        await line.send(Failed(str(error)))
        return 1
    return 0


async def _work(line: Line, settings: Settings, descriptors: Sequence[int], stop: trio.Event) -> None:
    plugins = Plugins.load(settings.plugins.disabled)
    plugins.require()
    process.prepare()
    with inherited(descriptors) as listeners:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_stop_with, line, stop)
            async with trio.open_nursery() as serving:
                await serving.start(partial(serve_on, listeners, settings, plugins, stop=stop))
                await line.send(Ready())
                nursery.start_soon(_beat, line)
            nursery.cancel_scope.cancel()


async def _beat(line: Line) -> None:
    while True:
        await trio.sleep(BEAT_SECONDS)
        await line.send(Alive())


async def _stop_with(line: Line, stop: trio.Event) -> None:
    await line.until_ended()
    stop.set()
