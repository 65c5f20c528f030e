"""Nobody learns from an answer whether an email has an account (decision D-16)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from teamchat.testing import ADMIN
from tests.security.world import MAILS, Victim, attacked

UNKNOWN = ["nobody@example.org", "nobody@localhost", "a" * 200 + "@example.org", "é@example.org"]


async def said(victim: Victim, path: str, body: Any) -> tuple[int, list[tuple[str, str]], bytes]:
    """Return everything of an answer but the time of day."""
    answer = await victim.call("POST", path, body)
    headers = [(name.lower(), value) for name, value in answer.headers.multi_items()]
    kept = [one for one in headers if one[0] not in {"date", "x-request-id"}]
    return answer.status_code, kept, answer.content


@pytest.mark.slow
@pytest.mark.parametrize("invites", [True, False])
async def test_d16_a_sign_in_link_is_promised_to_everybody_in_the_same_bytes(
    tmp_path: Path, invites: bool
) -> None:
    auth = {"authMode": "magic-link", "isInviteRequired": invites}
    async with attacked(tmp_path, auth=auth, email=MAILS) as victim:
        known = await said(victim, "/auth/login", {"email": ADMIN})
        assert known[0] == 200
        for email in (ADMIN.upper(), *UNKNOWN):
            assert await said(victim, "/auth/login", {"email": email}) == known, email


@pytest.mark.slow
@pytest.mark.parametrize("has_mail", [True, False])
async def test_d16_a_new_password_is_promised_to_everybody_in_the_same_bytes(
    tmp_path: Path, has_mail: bool
) -> None:
    sections = {"email": MAILS} if has_mail else {}
    async with attacked(tmp_path, **sections) as victim:
        await victim.add((await victim.login())["accessToken"], "no-password@example.org", None)
        known = await said(victim, "/auth/request-password-reset", {"email": ADMIN})
        assert known[0] == 200
        for email in ("no-password@example.org", *UNKNOWN):
            assert await said(victim, "/auth/request-password-reset", {"email": email}) == known, email


@pytest.mark.slow
async def test_d16_the_answer_is_the_same_when_mail_is_asked_for_too_often_or_can_not_be_sent(
    tmp_path: Path,
) -> None:
    # Nobody listens on the port of discard.
    smtp = {"backend": "smtp", "host": "127.0.0.1", "port": 9, "secure": False, "sender": "c@example.org"}
    auth = {"rateLimit": {"attempts": 2}}
    async with attacked(tmp_path, auth=auth, email=smtp) as victim:
        path = "/auth/request-password-reset"
        answers = [await said(victim, path, {"email": email}) for email in [ADMIN, "x@example.org"] * 4]
        assert answers == answers[:1] * 8
        assert answers[0][0] == 200


@pytest.mark.slow
async def test_d16_a_wrong_password_and_an_unknown_email_are_the_same_bytes(tmp_path: Path) -> None:
    async with attacked(tmp_path) as victim:
        await victim.add((await victim.login())["accessToken"], "no-password@example.org", None)
        wrong = await said(victim, "/auth/password-login", {"email": ADMIN, "password": "not the one"})
        assert wrong[0] == 401
        for email in ("no-password@example.org", *UNKNOWN):
            body = {"email": email, "password": "not the one"}
            assert await said(victim, "/auth/password-login", body) == wrong, email


@pytest.mark.slow
async def test_a_link_that_does_not_work_is_refused_in_the_same_bytes_whosever_it_is(tmp_path: Path) -> None:
    async with attacked(tmp_path, email=MAILS) as victim:
        body = {"token": "x" * 43, "password": "a new password"}
        known = await said(victim, "/auth/setup-password", body | {"email": ADMIN})
        assert known[0] == 400
        for email in UNKNOWN:
            assert await said(victim, "/auth/setup-password", body | {"email": email}) == known, email
