"""The scenarios, each a module with a function `run(sizes)`; its docstring says how to read its table."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.report import Report
from benchmarks.scenarios import (
    company,
    drivers,
    enumeration,
    fan_out,
    files,
    hidden,
    log,
    long,
    memory,
    peer,
    posts,
    presence,
    pushes,
    reading,
    reconnect,
    requests,
    restarts,
    saturation,
    scale,
    search,
    shutdown,
    simulation,
    stalled,
    steps,
    tls,
    unread,
    workers,
    writes,
)
from benchmarks.sizes import Sizes

SCENARIOS: dict[str, Callable[[Sizes], Report]] = {
    "fan-out": fan_out.run,
    "saturation": saturation.run,
    "memory": memory.run,
    "requests": requests.run,
    "posts": posts.run,
    "stalled": stalled.run,
    "unread": unread.run,
    "reconnect": reconnect.run,
    "shutdown": shutdown.run,
    "workers": workers.run,
    "writes": writes.run,
    "restarts": restarts.run,
    "drivers": drivers.run,
    "log": log.run,
    "enumeration": enumeration.run,
    "hidden": hidden.run,
    "scale": scale.run,
    "company": company.run,
    "simulation": simulation.run,
    "reading": reading.run,
    "search": search.run,
    "presence": presence.run,
    "pushes": pushes.run,
    "files": files.run,
    "tls": tls.run,
    "long": long.run,
    "steps": steps.run,
    "peer": peer.run,
}
