"""Google's answers, in the shape of its OpenID Connect reference."""

from __future__ import annotations

from typing import Any

import pytest
from teamchat_oauth_presets import GOOGLE

from teamchat import Profile

MISSING = ...  # no such field
NOT_TRUE = [False, None, MISSING, "true", "false", "", 1, 0, 1.0, [True], [], {"value": True}]
NOT_TEXT = [None, MISSING, "", " ", 7, True, ["10769150350006150715113082367"], {"value": "x"}]
SAID = {
    "sub": "10769150350006150715113082367",
    "name": "Grace Hopper",
    "given_name": "Grace",
    "picture": "https://lh3.googleusercontent.com/a/photo",
    "email": "grace@example.org",
    "email_verified": True,
}
CLAIMS = {
    "iss": "https://accounts.google.com",
    "azp": "1234987819200.apps.googleusercontent.com",
    "aud": "1234987819200.apps.googleusercontent.com",
    "sub": "10769150350006150715113082367",
    "at_hash": "HK6E_P6Dh8Y93mRNtsDB1Q",
    "email": "grace@example.org",
    "email_verified": True,
    "iat": 1353601026,
    "exp": 1353604926,
}


def with_(values: dict[str, Any], name: str, value: Any) -> dict[str, Any]:
    others = {key: kept for key, kept in values.items() if key != name}
    return others if value is MISSING else others | {name: value}


def said(answer: Any = SAID, claims: Any = CLAIMS) -> dict[str, Any]:
    return {"answers": {GOOGLE.user_info_url: answer}, "claims": claims}


async def test_a_verified_account_is_read_by_its_sub_and_email(read: Any) -> None:
    assert await read(GOOGLE, **said()) == Profile("10769150350006150715113082367", "grace@example.org")


async def test_an_account_whose_email_changed_is_the_same_subject(read: Any) -> None:
    before = await read(GOOGLE, **said())
    changed = {"email": "hopper@example.org"}
    after = await read(GOOGLE, **said(SAID | changed, CLAIMS | changed))
    assert (after.subject, after.email) == (before.subject, "hopper@example.org")


@pytest.mark.parametrize("value", NOT_TRUE, ids=repr)
async def test_d20_google_vouches_only_with_true_in_the_profile(value: Any, refused: Any) -> None:
    await refused(GOOGLE, **said(with_(SAID, "email_verified", value)))


@pytest.mark.parametrize("value", NOT_TRUE, ids=repr)
async def test_d20_google_vouches_only_with_true_in_the_id_token(value: Any, refused: Any) -> None:
    await refused(GOOGLE, **said(claims=with_(CLAIMS, "email_verified", value)))


@pytest.mark.parametrize("value", NOT_TEXT, ids=repr)
@pytest.mark.parametrize("name", ["sub", "email"])
async def test_a_field_that_is_no_text_is_refused_even_when_both_agree(
    name: str, value: Any, refused: Any
) -> None:
    await refused(GOOGLE, **said(with_(SAID, name, value), with_(CLAIMS, name, value)))


@pytest.mark.parametrize("name", ["sub", "email"])
async def test_the_profile_must_be_of_the_account_in_the_id_token(name: str, refused: Any) -> None:
    await refused(GOOGLE, **said(claims=with_(CLAIMS, name, "somebody-else@example.org")))


async def test_without_an_id_token_nobody_is_signed_in(refused: Any) -> None:
    await refused(GOOGLE, **said(claims={}))


@pytest.mark.parametrize("answer", [None, [], [SAID], "{}", 7, True], ids=repr)
async def test_a_profile_that_is_no_object_is_refused(answer: Any, refused: Any) -> None:
    await refused(GOOGLE, **said(answer))
