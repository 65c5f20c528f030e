"""SET: the server's name, which everybody reads and admins write (interface, part 4, Server settings)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from teamchat_conformance.checks.steps import each_bad, unchanged, wrong_values
from teamchat_conformance.expect import any_text, require
from teamchat_conformance.fixtures.texts import NAMES
from teamchat_conformance.registry import Area
from teamchat_conformance.verdicts import Finding

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

area = Area("SET", "Server settings")

area.required("SET-GET-01", "§4 Server settings", "Any user reads the server's name")
area.required("SET-PUT-01", "§4 Server settings", "An admin changes the name; the answer has the new one")
area.required("SET-PUT-02", "§4 Server settings", "Others then read the new name")
area.required(
    "SET-PUT-03", "§7", "A name that is missing or no text is refused with 400, and the old one stays"
)
area.recommended("SET-PUT-04", "D-04", "A name of 80 characters is kept; none, blanks and 81 are refused")
area.recommended("SET-PUT-05", "D-04", "Odd Unicode in the name comes back unchanged")
area.recommended("SET-PUT-06", "D-02", "Settings that nobody knows are ignored")

_WRITTEN = ("SET-PUT-01", "SET-PUT-02", "SET-PUT-03", "SET-PUT-04", "SET-PUT-05", "SET-PUT-06")
_TARGET = "/server/settings"


async def _name(run: Run) -> str:
    """Return the server's name as a user reads it."""
    answer = (await run.u.get(_TARGET)).expect(200)
    return str(answer.shape({"name": any_text})["name"])


@asynccontextmanager
async def _put_back(run: Run) -> AsyncIterator[None]:
    """Put the name back as it was, here or at the end of the run."""
    name = await _name(run)
    run.undo_with("the server's name", lambda: run.a.put(_TARGET, {"name": name}))
    yield
    (await run.a.put(_TARGET, {"name": name})).expect(200)


@area.scenario("SET-GET-01")
async def anybody_reads_the_name(run: Run) -> None:
    with run.verdict("SET-GET-01"):
        for reader in (run.u, run.a):
            (await reader.get(_TARGET)).expect(200).shape({"name": any_text})


@area.scenario(*_WRITTEN)
async def an_admin_names_the_server(run: Run) -> None:
    if not run.instance.isolation.change_server_name:
        for id in _WRITTEN:
            reason = "isolation.change_server_name is false"
            run.verdicts.put(Finding(id, "not-applicable", reason))
        return
    async with _put_back(run):
        new = run.text("server")
        with run.verdict("SET-PUT-01"):
            (await run.a.put(_TARGET, {"name": new})).expect(200).shape({"name": new})
        with run.verdict("SET-PUT-02"):
            require(await _name(run) == new, "the new name is not the one that is read")
        with run.verdict("SET-PUT-03"):
            async with unchanged(lambda: _name(run)):
                await each_bad(lambda body: run.a.put(_TARGET, body), [{}, *wrong_values("name")])
        with run.verdict("SET-PUT-04"):
            await _is_kept(run, run.text().ljust(80, "x"))
            async with unchanged(lambda: _name(run)):
                names = ("", "  ", "x" * 81, "x" * 10_000)
                await each_bad(lambda body: run.a.put(_TARGET, body), [{"name": name} for name in names])
        with run.verdict("SET-PUT-05"):
            for odd in NAMES.values():
                await _is_kept(run, run.text(odd))
        with run.verdict("SET-PUT-06"):
            await run.a.put(_TARGET, {"name": new, "motto": run.id, "id": run.id})
            told = (await run.u.get(_TARGET)).ok()
            require(told.get("name") == new, "the name was not taken with unknown settings beside it")
            require("motto" not in told and told.get("id") != run.id, "a setting nobody knows was kept")


async def _is_kept(run: Run, name: str) -> None:
    (await run.a.put(_TARGET, {"name": name})).expect(200).shape({"name": name})
    read = await _name(run)
    require(read == name, f"{name!a} is read as {read!a}")
