"""PWD-CHANGE: everybody changes their own password, where the server offers that (decision D-43)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from teamchat_conformance.checks.passwords._area import SHORT, area, is_wrong, new_password, signs_in
from teamchat_conformance.checks.signing_in import add, ended, inapplicable, refused, sign_in, still_good
from teamchat_conformance.checks.steps import NOT_TEXT

if TYPE_CHECKING:
    from teamchat_conformance.expect import Answered
    from teamchat_conformance.http import Client
    from teamchat_conformance.run import Run

_CHECKS = ("PWD-CHANGE-01", "PWD-CHANGE-02", "PWD-CHANGE-03", "PWD-CHANGE-04")
_NOT_OFFERED = (404, 405)

area.recommended("PWD-CHANGE-01", "D-43", "Who gives their password sets another, which alone is right", "pw")
area.recommended("PWD-CHANGE-02", "D-43", "The session it was asked in goes on, and the others end", "pw")
area.recommended("PWD-CHANGE-03", "D-43", "A wrong password is refused with 401 and changes nothing", "pw")
area.recommended("PWD-CHANGE-04", "D-43", "What can't be a password is refused with 400, not set", "pw")


async def _change(asker: Client, password: Any, new: Any) -> Answered:
    return await asker.put("/auth/password", {"password": password, "newPassword": new})


@area.scenario(*_CHECKS, needs=("pw",))
async def somebody_changes_their_password(run: Run) -> None:
    person, password = await add(run, new_password(run)), new_password(run)
    other, present = await sign_in(run, person), await sign_in(run, person)
    asker = run.client("somebody who changes their password", present.access)
    first = await _change(asker, new_password(run), password)
    if first.status in _NOT_OFFERED:
        inapplicable(run, "the server has no PUT /auth/password", *_CHECKS)
        return
    with run.verdict("PWD-CHANGE-03"):
        refused(first, 401)
        await is_wrong(run, person.email, password)
    with run.verdict("PWD-CHANGE-04"):
        for value in (SHORT, *NOT_TEXT):
            (await _change(asker, person.password, value)).error(400)
        (await asker.put("/auth/password", {"password": person.password})).error(400)
    changed = await _change(asker, person.password, password)
    # Before anybody signs in once more: a server may allow a user no more than three sessions.
    with run.verdict("PWD-CHANGE-02"):
        await ended(run, other)
        await still_good(run, present)
    with run.verdict("PWD-CHANGE-01"):
        changed.expect(200).shape({"success": True})
        await signs_in(run, person.email, password)
        await is_wrong(run, person.email, person.password)
