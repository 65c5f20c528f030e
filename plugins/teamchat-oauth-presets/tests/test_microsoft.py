"""Microsoft's answers: the claims of its ID tokens (v2.0), and ``GET /v1.0/me`` of Microsoft Graph."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from teamchat_oauth_presets import MICROSOFT

from teamchat import Profile

MISSING = ...  # no such field
NOT_TRUE = [False, None, MISSING, "true", "false", "1", "", 1, 0, 1.0, [True], [], {"value": True}]
NOT_TEXT = [None, MISSING, "", " ", 7, True, ["grace@example.org"], {"value": "x"}]
TENANT = "aaaabbbb-0000-cccc-1111-dddd2222eeee"
OTHER = "bbbbcccc-1111-dddd-2222-eeee3333ffff"
PERSONAL = "9188040d-6c67-4c5b-b112-36a304b66dad"
OID = "00aa00aa-bb11-cc22-dd33-44ee44ee44ee"
ACCOUNT = {
    "@odata.context": "https://graph.microsoft.com/v1.0/$metadata#users/$entity",
    "id": OID,
    "displayName": "Grace Hopper",
    "mail": "grace@example.org",
    "userPrincipalName": "grace.hopper@example.onmicrosoft.com",
}


def claims(tid: str = TENANT, /, **others: Any) -> dict[str, Any]:
    given = {
        "aud": "00001111-aaaa-2222-bbbb-3333cccc4444",
        "iss": f"https://login.microsoftonline.com/{tid}/v2.0",
        "tid": tid,
        "oid": OID,
        "sub": "mF1qk3pM7sA9pairwise",
        "preferred_username": "shown@example.org",
        "ver": "2.0",
    }
    return {name: value for name, value in (given | others).items() if value is not MISSING}


def pinned(account: Any = ACCOUNT, **others: Any) -> dict[str, Any]:
    answers = {"https://graph.microsoft.com/v1.0/me": account}
    return {"claims": claims(**others), "answers": answers, "tenant": TENANT}


def shared(tid: str = OTHER, **others: Any) -> dict[str, Any]:
    """What an account of any directory brings when none is pinned; Graph is not asked, and must not be."""
    return {"claims": claims(tid, **others)}


# Of the pinned directory


async def test_the_pinned_directory_is_believed(read: Any) -> None:
    assert await read(MICROSOFT, **pinned()) == Profile(f"{TENANT}:{OID}", "grace@example.org")


async def test_the_pinned_directory_may_be_written_in_capitals(read: Any) -> None:
    said = pinned() | {"tenant": TENANT.upper()}
    assert (await read(MICROSOFT, **said)).subject == f"{TENANT}:{OID}"


async def test_what_the_token_says_is_an_email_does_not_count_beside_the_directory(read: Any) -> None:
    profile = await read(MICROSOFT, **pinned(email="victim@example.org", xms_edov=True))
    assert profile.email == "grace@example.org"


@pytest.mark.parametrize("mail", [None, MISSING], ids=repr)
async def test_an_account_without_a_mailbox_has_the_name_it_signs_in_with(mail: Any, read: Any) -> None:
    account = {name: value for name, value in (ACCOUNT | {"mail": mail}).items() if value is not MISSING}
    assert (await read(MICROSOFT, **pinned(account))).email == "grace.hopper@example.onmicrosoft.com"


async def test_the_made_up_name_of_a_guest_is_no_email(refused: Any) -> None:
    name = "grace_example.org#EXT#@example.onmicrosoft.com"
    await refused(MICROSOFT, **pinned(ACCOUNT | {"mail": None, "userPrincipalName": name}))


@pytest.mark.parametrize("value", ["", " ", 7, True, False, 0, ["grace@example.org"], {}], ids=repr)
async def test_a_mail_that_is_no_text_is_refused_and_not_passed_over(value: Any, refused: Any) -> None:
    await refused(MICROSOFT, **pinned(ACCOUNT | {"mail": value}))


@pytest.mark.parametrize("value", [None, "", " ", 7, True, ["grace@example.org"], {}], ids=repr)
async def test_a_name_that_is_no_text_is_refused(value: Any, refused: Any) -> None:
    await refused(MICROSOFT, **pinned(ACCOUNT | {"mail": None, "userPrincipalName": value}))


@pytest.mark.parametrize("value", [None, "", "somebody-else", 7, [OID]], ids=repr)
async def test_the_account_must_be_the_one_in_the_id_token(value: Any, refused: Any) -> None:
    await refused(MICROSOFT, **pinned(ACCOUNT | {"id": value}))


@pytest.mark.parametrize("account", [None, [], [ACCOUNT], "{}", 7], ids=repr)
async def test_an_account_that_is_no_object_is_refused(account: Any, refused: Any) -> None:
    await refused(MICROSOFT, **pinned(account))


@pytest.mark.parametrize("tid", [OTHER, PERSONAL])
async def test_d20_with_a_pinned_directory_nobody_else_comes_in(tid: str, refused: Any) -> None:
    said = {"email": "grace@example.org", "xms_edov": True}
    await refused(MICROSOFT, **shared(tid, **said), tenant=TENANT)


@pytest.mark.parametrize("tenant", ["common", "organizations", "consumers", "example.onmicrosoft.com", ""])
async def test_a_tenant_that_is_no_directory_id_lets_nobody_in(tenant: str, refused: Any) -> None:
    await refused(MICROSOFT, **pinned() | {"tenant": tenant})


# Personal accounts


@pytest.mark.parametrize("tenant", [None, PERSONAL])
async def test_the_email_of_a_personal_account_was_verified_by_microsoft(
    tenant: str | None, read: Any
) -> None:
    profile = await read(MICROSOFT, **shared(PERSONAL, email="grace@example.org"), tenant=tenant)
    assert profile == Profile(f"{PERSONAL}:{OID}", "grace@example.org")


@pytest.mark.parametrize("value", NOT_TEXT, ids=repr)
async def test_a_personal_account_without_an_email_is_refused(value: Any, refused: Any) -> None:
    await refused(MICROSOFT, **shared(PERSONAL, email=value))


# Any directory


async def test_an_email_whose_domain_the_directory_owns_counts(read: Any) -> None:
    profile = await read(MICROSOFT, **shared(email="grace@example.org", xms_edov=True))
    assert profile == Profile(f"{OTHER}:{OID}", "grace@example.org")


@pytest.mark.parametrize("value", NOT_TRUE, ids=repr)
async def test_d20_an_email_of_any_directory_is_no_proof(value: Any, refused: Any) -> None:
    said = {"email": "victim@example.org", "upn": "victim@example.org", "email_verified": True}
    await refused(MICROSOFT, **shared(**said, xms_edov=value))


@pytest.mark.parametrize("value", NOT_TEXT, ids=repr)
async def test_an_owned_domain_without_an_email_is_refused(value: Any, refused: Any) -> None:
    await refused(MICROSOFT, **shared(email=value, xms_edov=True))


# Whoever it is


@pytest.mark.parametrize("value", NOT_TEXT, ids=repr)
@pytest.mark.parametrize("name", ["tid", "oid"])
async def test_a_subject_that_is_no_text_is_refused(name: str, value: Any, refused: Any) -> None:
    said = {"email": "grace@example.org", "xms_edov": True} | {name: value}
    iss = f"https://login.microsoftonline.com/{value if name == 'tid' else OTHER}/v2.0"
    await refused(MICROSOFT, claims=claims(OTHER, **said | {"iss": iss}))


async def test_without_an_id_token_nobody_is_signed_in(refused: Any) -> None:
    await refused(MICROSOFT, **pinned() | {"claims": {}})


async def test_the_same_number_in_another_directory_is_another_subject(read: Any) -> None:
    said = {"email": "grace@example.org", "xms_edov": True}
    one, two = [await read(MICROSOFT, **shared(tid, **said)) for tid in (TENANT, OTHER)]
    assert one.subject != two.subject


async def test_the_subject_outlives_the_registration_of_teamchat_at_microsoft(read: Any) -> None:
    one = await read(MICROSOFT, **pinned(sub="of-the-first-registration"))
    assert await read(MICROSOFT, **pinned(sub="of-the-second")) == one


@pytest.mark.parametrize(
    "iss",
    [
        None,
        MISSING,
        7,
        "",
        f"https://login.microsoftonline.com/{OTHER}/v2.0",
        f"https://login.microsoftonline.com/{TENANT}/v2.0/",
        f"https://sts.windows.net/{TENANT}/",
        f"https://login.example.org/{TENANT}/v2.0",
        [f"https://login.microsoftonline.com/{TENANT}/v2.0"],
    ],
    ids=repr,
)
async def test_the_issuer_must_be_the_directory(iss: Any, refused: Any) -> None:
    await refused(MICROSOFT, **pinned(iss=iss))


async def test_the_issuer_is_checked_whatever_the_profile_s_address_is(refused: Any) -> None:
    here = replace(MICROSOFT, user_info_url="http://127.0.0.1:1/me")
    answers = {"http://127.0.0.1:1/me": ACCOUNT}
    await refused(here, claims=claims(iss="http://127.0.0.1:1"), answers=answers, tenant=TENANT)


async def test_at_addresses_of_one_s_own_the_issuer_is_one_s_own_too(read: Any) -> None:
    here = replace(MICROSOFT, token_url="http://127.0.0.1:1/token")
    profile = await read(here, **pinned(iss="http://127.0.0.1:1"))
    assert profile.subject == f"{TENANT}:{OID}"
