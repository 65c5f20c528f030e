"""Steps that the areas about signing in have in common: sessions, links in mails, users of one's own.

Whoever guesses does so from another client address, where the instance allows for that,
so that a limit on guesses shuts out nobody else; and that a guess is refused for being one too many is
accepted wherever it is to be refused.
"""

from __future__ import annotations

import html
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import trio

from teamchat_conformance.actors import token_in
from teamchat_conformance.expect import Answered, integer, require, text
from teamchat_conformance.fixtures.mail import Mail, Sink
from teamchat_conformance.http import Client
from teamchat_conformance.paths import at
from teamchat_conformance.run import PASSWORD, Run
from teamchat_conformance.verdicts import Finding, Miss, note

TOKENS = {"accessToken": text, "refreshToken": text}
"""What a sign-in answers (interface, part 4)."""

TIMED_TOKENS = {**TOKENS, "exp": integer, "tokenType": "Bearer"}
"""What a sign-in by password answers."""

TOO_MANY = 429
SPARE_SECONDS = 2.0
_LINK = re.compile(r"https?://[^\s\"'<>]+")


@dataclass(frozen=True)
class Session:
    """The two tokens of a session."""

    access: str
    refresh: str


@dataclass(frozen=True)
class Person:
    """A user whom nobody has signed in yet. `password` is empty if there is none."""

    email: str
    id: str
    password: str = ""


def inapplicable(run: Run, why: str, *ids: str) -> None:
    """Leave these checks out, and say why."""
    for id in ids:
        run.verdicts.put(Finding(id, "not-applicable", why))


def taken(run: Run, answer: Answered) -> Session:
    """Return the session that a sign-in answered. Raises `Miss` if it answered none."""
    told = answer.expect(200).shape(TOKENS)
    return session_of(run, told["accessToken"], told["refreshToken"])


def session_of(run: Run, access: str, refresh: str) -> Session:
    """Return a session whose tokens stand in no report."""
    number = run.recorder.last()
    run.recorder.secret(access, f"access token {number}")
    run.recorder.secret(refresh, f"refresh token {number}")
    return Session(access, refresh)


async def add(run: Run, password: str = "", role: str = "user") -> Person:
    """Add a user, with a password or without; they are removed at the end of the run."""
    body = {"email": run.email(), "role": role}
    if password:
        run.recorder.secret(password, "password")
        body["password"] = password
    id = str((await run.a.post("/users/add", body)).ok()["userId"])
    forget(run, id)
    return Person(body["email"], id, password)


async def somebody(run: Run) -> Person:
    """Add a user who can sign in by the mode of the instance."""
    return await add(run, PASSWORD if run.instance.auth.mode == "password" else "")


def forget(run: Run, user_id: str) -> None:
    """Have a user removed at the end of the run."""
    run.undo_with(f"user {user_id}", lambda: run.a.delete(at("users", user_id)))


async def sign_in(run: Run, person: Person, client: Client | None = None) -> Session:
    """Start a session by the mode of the instance."""
    told = await run.sign_in.session(person.email, person.password, client)
    return session_of(run, str(told["accessToken"]), str(told["refreshToken"]))


async def by_password(asker: Client, email: Any, password: Any) -> Answered:
    """Ask for a session by password."""
    return await asker.post("/auth/password-login", {"email": email, "password": password})


async def refresh(run: Run, session: Session | str) -> Answered:
    """Post a refresh token, without any access token."""
    token = session if isinstance(session, str) else session.refresh
    return await run.n.post("/auth/refresh", {"refreshToken": token})


async def still_good(run: Run, session: Session) -> Session:
    """Require that a session can be refreshed, and return what it has become."""
    return taken(run, await refresh(run, session))


async def ended(run: Run, session: Session) -> None:
    """Require that a session can't be refreshed."""
    refused(await refresh(run, session), 401, accept=(400,))


async def who(run: Run, access: str) -> dict[str, Any]:
    """Return the user an access token belongs to."""
    answer = await run.n.get("/auth/me", token=access)
    user: dict[str, Any] = answer.expect(200).shape({"user": {"id": text, "email": text}})["user"]
    return user


async def belongs_to(run: Run, session: Session, email: str) -> dict[str, Any]:
    """Require that a session is that of an email, and return its user."""
    user = await who(run, session.access)
    require(user["email"].casefold() == email.casefold(), f"the session is that of {user['email']}")
    return user


async def listed(run: Run, email: str) -> list[dict[str, Any]]:
    """Return the users who have an email, in whatever letter case."""
    users = (await run.a.get("/users")).ok()["users"]
    return [user for user in users if str(user.get("email", "")).casefold() == email.casefold()]


def refused(answer: Answered, *statuses: int, accept: Sequence[int] = ()) -> Answered:
    """Require a refusal that gives no token away; one for too many attempts is accepted."""
    answer.error(*statuses, accept=(*accept, TOO_MANY))
    if answer.json.keys() & {"accessToken", "refreshToken", "token"}:
        raise answer.miss("a refusal with a token")
    return answer


def not_available(answer: Answered) -> None:
    """Require that an endpoint of another sign-in mode is not there."""
    answer.error(404, accept=(401, 403, 405))


def took_seconds(run: Run, answer: Answered) -> float:
    """Return how long an answer took."""
    exchange = run.recorder.exchanges[answer.exchange - 1]
    return exchange.ended - exchange.started


async def signs_out(run: Run, session: Session) -> None:
    """End a session of somebody who has others that shall stay."""
    (await run.n.post("/auth/logout", {"refreshToken": session.refresh}, token=session.access)).expect(200)


# Mails and the links in them.


def sink(run: Run) -> Sink:
    """Return the suite's mail server."""
    if run.sink is None:
        raise Miss("the suite has no sink for mails")
    return run.sink


async def mail_to(run: Run, email: str, since: int) -> Mail:
    """Wait for a mail that came after a mark."""
    return await sink(run).wait(email, since=since, seconds=run.wait(run.instance.mail.timeout))


async def no_mail_to(run: Run, *emails: str, since: int) -> None:
    """Require that none came, nor comes until all is quiet; to be asked after a later mail has come."""
    await sink(run).none(*emails, since=since, quiet=run.wait(run.instance.timing.quiet_seconds))


def token_of(run: Run, mail: Mail) -> str:
    """Return the token in the link of a mail."""
    return run.recorder.secret(token_in(mail.text or html.unescape(mail.html), run), "token of a mail")


def link_of(run: Run, content: str) -> str:
    """Return the link that holds the token. Raises `Miss` if there is none."""
    for link in _LINK.findall(html.unescape(content)):
        if re.search(run.instance.mail.link_pattern, link):
            return str(link).rstrip(".,;)")
    raise Miss("the mail holds no link with a token")


def leads_to_application(run: Run, link: str) -> None:
    """Require that a link starts with ``auth.appUrl``."""
    wanted = run.instance.auth.app_url.rstrip("/")
    rest = link.removeprefix(wanted)
    require(rest != link and rest[:1] in ("", "/", "?", "#"), f"a link leads to {link[:60]}, not to {wanted}")


def garbage() -> str:
    """Return a token that nobody gave out."""
    return secrets.token_urlsafe(32)


async def outlived(since: float, seconds: float) -> None:
    """Wait until something that lives for so many seconds since then (by Trio's clock) is over for sure."""
    await trio.sleep_until(since + seconds + SPARE_SECONDS)


def one_succeeded(answers: Sequence[Answered], *refusals: int) -> Answered:
    """Require that of several at once exactly one got its way, and return it."""
    good = [answer for answer in answers if answer.status == 200]
    require(len(good) == 1, f"of {len(answers)} at once {len(good)} succeeded")
    for answer in answers:
        if answer.status == TOO_MANY:
            note("some of many at once were refused for being too many")
        elif answer.status != 200:
            answer.error(*refusals)
    return good[0]
