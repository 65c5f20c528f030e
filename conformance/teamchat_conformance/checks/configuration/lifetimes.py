"""CFG-JWT, CFG-REF, CFG-MAGIC, CFG-SESS: how long tokens live, and how many sessions a user has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

from teamchat_conformance.checks.configuration._area import Started, again, area, started
from teamchat_conformance.checks.signing_in import (
    TIMED_TOKENS,
    Session,
    by_password,
    ended,
    outlived,
    refused,
    session_of,
    still_good,
    taken,
    who,
)
from teamchat_conformance.expect import require

if TYPE_CHECKING:
    from teamchat_conformance.run import Run

_SECONDS = 5

area.required(
    "CFG-JWT-01", "§5 Configuration keys", "auth.jwtExpirySeconds is told, and the token ends then", "launch"
)
area.required("CFG-JWT-02", "§8", "An access token lives 900 seconds where nothing is said", "launch")
area.required("CFG-JWT-03", "§5 Configuration keys", "Another secret ends older access tokens", "launch")
area.required("CFG-REF-01", "§8", "A refresh token ends after auth.refreshTokenExpirySeconds", "launch")
area.required("CFG-MAGIC-01", "§5 Configuration keys", "A link ends after magicLinkExpirySeconds", "launch")
area.required(
    "CFG-SESS-01", "§5 Configuration keys", "auth.maxActiveSessions is obeyed, be it 1 or 5", "launch"
)
area.recorded("CFG-DATA-03", "§5 rule 11", "Whether refresh tokens are good after a restart", "launch")


async def _sign_in(own: Started) -> Session:
    admin = own.run.instance.admin
    return taken(own.run, await by_password(own.run.n, admin.email, admin.password))


@area.scenario("CFG-JWT-01", "CFG-REF-01", needs=("launch",))
async def tokens_of_five_seconds(run: Run) -> None:
    keys = {"auth.jwtExpirySeconds": _SECONDS, "auth.refreshTokenExpirySeconds": _SECONDS}
    async with started(run, keys, mode="password") as own:
        admin = own.run.instance.admin
        told = (await by_password(own.run.n, admin.email, admin.password)).expect(200).shape(TIMED_TOKENS)
        began = trio.current_time()  # not before: a slow sign-in makes its tokens at its end
        session = session_of(own.run, told["accessToken"], told["refreshToken"])
        with run.verdict("CFG-JWT-01"):
            require(told["exp"] == _SECONDS, f"exp is {told['exp']}, not {_SECONDS}")
            await who(own.run, session.access)
        await outlived(began, _SECONDS)
        with run.verdict("CFG-JWT-01"):
            (await own.run.n.get("/auth/me", token=session.access)).error(401)
        with run.verdict("CFG-REF-01"):
            await ended(own.run, session)


@area.scenario("CFG-MAGIC-01", needs=("launch",))
async def links_of_five_seconds(run: Run) -> None:
    keys = {"auth.magicLinkExpirySeconds": _SECONDS}
    async with started(run, keys, mode="magic-link", has_mail=True) as own:
        email = own.run.instance.admin.email
        token = await own.run.sign_in.magic_token(email)
        came = trio.current_time()
        with run.verdict("CFG-MAGIC-01"):
            await outlived(came, _SECONDS)
            refused(await own.run.n.post("/auth/verify", {"email": email}, token=token), 400, 401)


@area.scenario("CFG-JWT-02", "CFG-JWT-03", "CFG-DATA-03", needs=("launch",))
async def what_a_restart_does_to_tokens(run: Run) -> None:
    async with started(run, {"auth.jwtExpirySeconds": None}, mode="password") as own:
        admin = own.run.instance.admin
        told = (await by_password(own.run.n, admin.email, admin.password)).expect(200).shape(TIMED_TOKENS)
        session = session_of(own.run, told["accessToken"], told["refreshToken"])
        with run.verdict("CFG-JWT-02"):
            require(told["exp"] == 900, f"exp is {told['exp']}, not 900")
        await again(own)
        answer = await own.run.n.post("/auth/refresh", {"refreshToken": session.refresh})
        run.record("CFG-DATA-03", {"good": answer.status == 200, "status": answer.status})
        session = await _sign_in(own)
        await who(own.run, session.access)
        with run.verdict("CFG-JWT-03"):
            await again(own, {"auth.jwtSecret": "another secret, of more than 32 characters"})
            (await own.run.n.get("/auth/me", token=session.access)).error(401)


@area.scenario("CFG-SESS-01", needs=("launch",))
async def one_session_or_five(run: Run) -> None:
    async with started(run, {"auth.maxActiveSessions": 1}, mode="password") as own:
        with run.verdict("CFG-SESS-01"):
            await _keeps(own, 1)
        await again(own, {"auth.maxActiveSessions": 5})
        with run.verdict("CFG-SESS-01"):
            await _keeps(own, 5)


async def _keeps(own: Started, most: int) -> None:
    sessions = [await _sign_in(own) for _ in range(most + 1)]
    await ended(own.run, sessions[0])
    for session in sessions[1:]:
        await still_good(own.run, session)
