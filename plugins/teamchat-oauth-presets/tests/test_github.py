"""GitHub's answers, in the shape of its REST API: ``GET /user`` and ``GET /user/emails``."""

from __future__ import annotations

from typing import Any

import pytest
from teamchat_oauth_presets import GITHUB

from teamchat import Profile

MISSING = ...  # no such field
NOT_TRUE = [False, None, MISSING, "true", "false", "", 1, 0, 1.0, [True], [], {"value": True}]
ACCOUNT = {
    "login": "grace",
    "id": 583231,
    "node_id": "MDQ6VXNlcjU4MzIzMQ==",
    "type": "User",
    "name": "Grace Hopper",
    "email": "shown-in-public@example.org",
}
PRIMARY = {"email": "grace@example.org", "primary": True, "verified": True, "visibility": "private"}
SECOND = {"email": "second@example.org", "primary": False, "verified": True, "visibility": None}
HIDDEN = {"email": "583231+grace@users.noreply.github.com", "primary": False, "verified": True}


def with_(values: dict[str, Any], name: str, value: Any) -> dict[str, Any]:
    others = {key: kept for key, kept in values.items() if key != name}
    return others if value is MISSING else others | {name: value}


def said(emails: Any, account: Any = ACCOUNT) -> dict[str, Any]:
    return {
        "answers": {
            "https://api.github.com/user": account,
            "https://api.github.com/user/emails?per_page=100": emails,
        }
    }


async def test_the_primary_verified_email_counts_wherever_it_stands(read: Any) -> None:
    for emails in ([PRIMARY, SECOND, HIDDEN], [HIDDEN, SECOND, PRIMARY]):
        assert await read(GITHUB, **said(emails)) == Profile("583231", "grace@example.org")


@pytest.mark.parametrize("public", [None, MISSING, "victim@example.org", 7], ids=repr)
async def test_d20_the_public_email_is_not_looked_at(public: Any, read: Any, refused: Any) -> None:
    account = with_(ACCOUNT, "email", public)
    assert (await read(GITHUB, **said([PRIMARY], account))).email == "grace@example.org"
    await refused(GITHUB, **said([], account))


@pytest.mark.parametrize("value", NOT_TRUE, ids=repr)
@pytest.mark.parametrize("name", ["primary", "verified"])
async def test_d20_github_vouches_only_for_the_entry_with_both_true(
    name: str, value: Any, refused: Any
) -> None:
    await refused(GITHUB, **said([with_(PRIMARY, name, value), SECOND, HIDDEN]))


async def test_two_entries_with_one_half_each_make_no_whole(refused: Any) -> None:
    unverified = PRIMARY | {"verified": False}
    await refused(GITHUB, **said([unverified, SECOND | {"email": PRIMARY["email"]}]))


@pytest.mark.parametrize("value", [None, MISSING, "", " ", 7, True, ["grace@example.org"]], ids=repr)
async def test_an_email_that_is_no_text_is_refused(value: Any, refused: Any) -> None:
    await refused(GITHUB, **said([with_(PRIMARY, "email", value)]))


@pytest.mark.parametrize("emails", [None, {}, PRIMARY, "[]", 7, True, [None], [[PRIMARY]], ["x"]], ids=repr)
async def test_emails_that_are_no_list_of_objects_are_refused(emails: Any, refused: Any) -> None:
    await refused(GITHUB, **said(emails))


@pytest.mark.parametrize(
    "value", [None, MISSING, 0, -1, True, False, 583231.0, "583231", "", [583231], {}], ids=repr
)
async def test_a_subject_that_is_no_number_is_refused(value: Any, refused: Any) -> None:
    await refused(GITHUB, **said([PRIMARY], with_(ACCOUNT, "id", value)))


@pytest.mark.parametrize("account", [None, [], [ACCOUNT], "{}", 7], ids=repr)
async def test_an_account_that_is_no_object_is_refused(account: Any, refused: Any) -> None:
    await refused(GITHUB, **said([PRIMARY], account))


async def test_a_login_name_that_somebody_else_took_is_another_subject(read: Any) -> None:
    first = await read(GITHUB, **said([PRIMARY]))
    second = await read(GITHUB, **said([PRIMARY], ACCOUNT | {"id": 583232}))
    assert first.subject != second.subject
