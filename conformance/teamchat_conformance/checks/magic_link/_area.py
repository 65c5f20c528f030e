"""The area that the modules of this package add their checks to, and the steps they share."""

from __future__ import annotations

from typing import Any

from teamchat_conformance.checks.signing_in import mail_to, sink, token_of
from teamchat_conformance.expect import Answered
from teamchat_conformance.http import Client
from teamchat_conformance.registry import Area
from teamchat_conformance.run import Run

area = Area("MAGIC", "Magic link")


async def ask_for_link(asker: Client, email: Any) -> Answered:
    """Ask for a sign-in link."""
    return await asker.post("/auth/login", {"email": email})


async def link_token(run: Run, email: str) -> str:
    """Ask for a sign-in link and return the token in the mail."""
    mark = sink(run).mark()
    (await ask_for_link(run.n, email)).expect(200)
    return token_of(run, await mail_to(run, email, mark))


async def verify(asker: Client, email: str, token: str | None) -> Answered:
    """Sign in with the token of a link."""
    return await asker.post("/auth/verify", {"email": email}, token=token)
