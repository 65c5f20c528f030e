"""CFG-MODE, CFG-PORT: the sign-in modes, each with its endpoints, and where a server listens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

from teamchat_conformance.checks.configuration._area import Started, area, launcher, started
from teamchat_conformance.checks.signing_in import inapplicable, who
from teamchat_conformance.expect import require
from teamchat_conformance.instance import Auth
from teamchat_conformance.launch import LaunchError, is_free
from teamchat_conformance.profiles import Profile, described, keys_of

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

_PORT = 3000
_ENDPOINTS = {
    "dev": {"/auth/dev-login"},
    "magic-link": {"/auth/login", "/auth/verify"},
    "password": {"/auth/password-login", "/auth/request-password-reset", "/auth/setup-password"},
}
_ABSENT = (401, 403, 404, 405)

area.required("CFG-PORT-01", "§1", "Without a port a server listens on 3000", "launch")
area.required("CFG-ADMIN-06", "§5 rule 9", "The initial admin signs in, in every mode", "launch")
area.required("CFG-MODE-01", "§5 Modes", "Each mode has its own sign-in endpoints and no others", "launch")
area.recommended("CFG-MODE-02", "§5 Configuration keys", "An unknown mode is told to the operator", "launch")


@area.scenario("CFG-PORT-01", needs=("launch",))
async def the_port_of_those_who_say_nothing(run: Run) -> None:
    is_told = any("{port}" in part for part in run.instance.launch.command)
    if is_told or not is_free(_PORT):
        why = "launch.command says the port" if is_told else "something else listens on port 3000"
        inapplicable(run, why, "CFG-PORT-01")
        return
    with run.verdict("CFG-PORT-01"):
        async with started(run, {"server.port": None}, port=_PORT) as own:
            (await own.run.n.get("/health")).expect(200)


@area.scenario("CFG-MODE-01", "CFG-ADMIN-06", needs=("launch",))
async def every_mode(run: Run) -> None:
    for mode in _ENDPOINTS:
        async with started(run, mode=mode, has_mail=True) as own:
            with run.verdict("CFG-MODE-01"):
                await _has_its_endpoints(own, mode)
            with run.verdict("CFG-ADMIN-06"):
                admin = own.run.instance.admin
                session = await own.run.sign_in.session(admin.email, admin.password)
                user = await who(own.run, str(session["accessToken"]))
                require(user["isAdmin"] is True, f"in mode {mode} the initial user is no admin")


async def _has_its_endpoints(own: Started, mode: str) -> None:
    """Require that what an empty body gets differs where the endpoint is there."""
    nowhere = (await own.run.n.post("/auth/no-such-endpoint", {})).status
    for each, paths in _ENDPOINTS.items():
        for path in sorted(paths):
            answer = await own.run.n.post(path, {})
            if each == mode:
                require(
                    answer.status not in (404, 405) and answer.status < 500,
                    f"in mode {mode} POST {path} answers {answer.status}",
                )
            else:
                require(
                    answer.status == nowhere or answer.status in _ABSENT,
                    f"in mode {mode} POST {path} answers {answer.status}",
                )


@area.scenario("CFG-MODE-02", needs=("launch",))
async def a_mode_nobody_knows(run: Run) -> None:
    keys = keys_of(described(Profile("", "", Auth(mode="dev")), run.instance)) | {"auth.authMode": "nonsense"}
    with run.verdict("CFG-MODE-02"):
        try:
            with trio.fail_after(run.wait(60)):
                async with launcher(run).serving(keys) as server:
                    said = server.said()
        except LaunchError as error:
            said = error.output
        require("authmode" in said.lower() or "nonsense" in said, "nothing is said of the unknown mode")
