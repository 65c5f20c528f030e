"""Which way to sign in a server offers, found by asking, for those who gave no description of it.

Nothing is guessed that can be asked, and asking leaves nothing behind: no body that is
sent is one that an endpoint accepts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from teamchat_conformance.http import Client
from teamchat_conformance.instance import Instance
from teamchat_conformance.runner import Unreachable
from teamchat_conformance.verdicts import Miss

Mode = Literal["dev", "magic-link", "password"]

ENDPOINTS: dict[Mode, str] = {
    "dev": "/auth/dev-login",
    "password": "/auth/password-login",
    "magic-link": "/auth/login",
}
_NOWHERE = "/auth/no-such-endpoint"
_ABSENT = (404, 405)

HOW_TO_GET_IN = (
    "The suite needs an admin of the server. Give --admin-email, and with it --admin-password (password mode)"
    " or --admin-token; or write a description: teamchat-conformance init."
)


async def offered(client: Client) -> list[Mode]:
    """Return the sign-in modes whose endpoint is there. Raises `Unreachable`."""
    try:
        nowhere = (await client.post(_NOWHERE, {})).status
        statuses = {mode: (await client.post(path, {})).status for mode, path in ENDPOINTS.items()}
    except Miss as miss:
        raise Unreachable(f"The server can't be reached. {miss}") from None
    return [mode for mode, status in statuses.items() if status != nowhere and status not in _ABSENT]


async def detected(client: Client, given: Instance) -> Instance:
    """Return the description with the mode that the server offers. Raises `Unreachable`."""
    modes = await offered(client)
    if len(modes) != 1:
        there = " and ".join(ENDPOINTS[mode] for mode in modes) or f"none of {', '.join(ENDPOINTS.values())}"
        raise Unreachable(f"The sign-in mode can't be told: there is {there}. Say it with --set auth.mode=…")
    if not given.admin.email:
        raise Unreachable(f"The server signs in by {modes[0]}. {HOW_TO_GET_IN}")
    if modes[0] == "magic-link" and given.mail.kind == "none" and not given.admin.access_token:
        raise Unreachable(
            "The server signs in by magic links, which go by mail. Have its mail sent to the suite and say so"
            " in a description: teamchat-conformance init --profile magic-invite."
        )
    auth = replace(given.auth, mode=modes[0])
    return replace(given, auth=replace(auth, invite_required=not await _is_open(client, modes[0])))


async def _is_open(client: Client, mode: Mode) -> bool:
    """Return whether anybody may come in; of a mode in which that can't be asked, that nobody may."""
    if mode == "dev":
        return await _lets_strangers_in(client)
    if mode != "password":
        return False
    nowhere = (await client.post(_NOWHERE, {})).status
    status = (await client.post("/auth/register", {})).status
    return status != nowhere and status not in _ABSENT


async def _lets_strangers_in(client: Client) -> bool:
    """Sign in as somebody who was never added, and leave again."""
    stranger = {"email": f"tc-{client.recorder.run_id}-stranger@conformance.test"}
    answer = await client.post(ENDPOINTS["dev"], stranger)
    if answer.status != 200:
        return False
    await client.post("/users/exit", {}, token=answer.json.get("token"))
    return True
