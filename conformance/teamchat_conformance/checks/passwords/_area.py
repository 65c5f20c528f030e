"""The area that the modules of this package add their checks to, and the steps they share."""

from __future__ import annotations

import secrets
from typing import Any

from teamchat_conformance.checks.signing_in import (
    Person,
    add,
    by_password,
    mail_to,
    refused,
    sink,
    taken,
    token_of,
)
from teamchat_conformance.checks.steps import at
from teamchat_conformance.expect import Answered
from teamchat_conformance.fixtures.mail import Mail
from teamchat_conformance.http import Client
from teamchat_conformance.registry import Area
from teamchat_conformance.run import Run

area = Area("PWD", "Passwords")
area.required("PWD-LEAK-01", "§2 User", "No answer and no event holds a password or its hash", "pw")
area.monitor("PWD-LEAK-01")

SHORT = "7 chars"
"""A password that is one character too short."""


def new_password(run: Run, about: str = "a passphrase") -> str:
    """Return a password that nobody else has, and that stands in no report."""
    return run.recorder.secret(f"{about} {secrets.token_hex(8)}", "password")


async def signs_in(run: Run, email: str, password: str) -> None:
    """Require that a password is right."""
    taken(run, await by_password(run.n, email, password))


async def is_wrong(run: Run, email: str, password: Any) -> Answered:
    """Require that a password is wrong."""
    return refused(await by_password(run.from_elsewhere(), email, password), 401)


async def invited(run: Run) -> tuple[Person, Mail]:
    """Add a user without a password, and return them and the mail that invites them."""
    mark = sink(run).mark()
    person = await add(run)
    return person, await mail_to(run, person.email, mark)


async def invitation(run: Run) -> tuple[Person, str]:
    """Add a user without a password, and return them and the token that was mailed to them."""
    person, mail = await invited(run)
    return person, token_of(run, mail)


async def set_up(asker: Client, email: str, token: str, password: str) -> Answered:
    """Set a password by the token of a mail."""
    return await asker.post("/auth/setup-password", {"email": email, "token": token, "password": password})


async def ask_for_reset(asker: Client, email: Any) -> Answered:
    """Ask for a mail that leads to another password."""
    return await asker.post("/auth/request-password-reset", {"email": email})


async def reset_mail(run: Run, email: str) -> Mail:
    """Ask for a mail that leads to another password, and return it."""
    mark = sink(run).mark()
    (await ask_for_reset(run.n, email)).expect(200)
    return await mail_to(run, email, mark)


async def reset_token(run: Run, email: str) -> str:
    """Ask for a mail that leads to another password, and return its token."""
    return token_of(run, await reset_mail(run, email))


async def reset_by(asker: Client, user_id: str, password: Any) -> Answered:
    """Set the password of a user, as an admin does."""
    return await asker.post(at("users", user_id, "reset-password"), {"password": password})
