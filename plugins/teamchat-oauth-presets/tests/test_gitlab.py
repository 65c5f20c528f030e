"""GitLab's answers, in the shape of its REST API: ``GET /api/v4/user``."""

from __future__ import annotations

from typing import Any

import pytest
from teamchat_oauth_presets import GITLAB

from teamchat import Profile

MISSING = ...  # no such field
ACCOUNT = {
    "id": 42,
    "username": "grace",
    "email": "grace@example.org",
    "name": "Grace Hopper",
    "state": "active",
    "created_at": "2012-05-23T08:00:58.000Z",
    "public_email": "shown-in-public@example.org",
    "commit_email": "commits@example.org",
    "confirmed_at": "2012-05-23T09:05:22.000Z",
    "identities": [{"provider": "github", "extern_uid": "2435223452345"}],
    "two_factor_enabled": True,
    "external": False,
}


def with_(values: dict[str, Any], name: str, value: Any) -> dict[str, Any]:
    others = {key: kept for key, kept in values.items() if key != name}
    return others if value is MISSING else others | {name: value}


def said(account: Any = ACCOUNT) -> dict[str, Any]:
    return {"answers": {"https://gitlab.com/api/v4/user": account}}


async def test_a_confirmed_account_is_read_by_its_number_and_primary_email(read: Any) -> None:
    assert await read(GITLAB, **said()) == Profile("42", "grace@example.org")


@pytest.mark.parametrize(
    "moment", ["2012-05-23T09:05:22.000Z", "2012-05-23T09:05:22Z", "2012-05-23T11:05:22.123+02:00"]
)
async def test_a_moment_may_be_written_as_gitlab_writes_them(moment: str, read: Any) -> None:
    assert (await read(GITLAB, **said(ACCOUNT | {"confirmed_at": moment}))).subject == "42"


@pytest.mark.parametrize(
    "value",
    [
        None,
        MISSING,
        "",
        " ",
        "true",
        "false",
        "null",
        "now",
        True,
        False,
        1,
        0,
        1337757922,
        ["2012-05-23"],
        {},
    ],
    ids=repr,
)
async def test_d20_gitlab_vouches_only_with_the_moment_of_confirmation(value: Any, refused: Any) -> None:
    await refused(GITLAB, **said(with_(ACCOUNT, "confirmed_at", value)))


async def test_a_new_email_counts_only_once_it_is_the_primary_one(read: Any) -> None:
    waiting = ACCOUNT | {"unconfirmed_email": "victim@example.org"}
    assert (await read(GITLAB, **said(waiting))).email == "grace@example.org"


@pytest.mark.parametrize("value", [None, MISSING, "", " ", 7, True, ["grace@example.org"], {}], ids=repr)
async def test_no_other_email_stands_in_for_the_primary_one(value: Any, refused: Any) -> None:
    await refused(GITLAB, **said(with_(ACCOUNT, "email", value)))


@pytest.mark.parametrize("value", [None, MISSING, 0, -1, True, False, 42.0, "42", "", [42], {}], ids=repr)
async def test_a_subject_that_is_no_number_is_refused(value: Any, refused: Any) -> None:
    await refused(GITLAB, **said(with_(ACCOUNT, "id", value)))


@pytest.mark.parametrize("account", [None, [], [ACCOUNT], "{}", 7], ids=repr)
async def test_an_account_that_is_no_object_is_refused(account: Any, refused: Any) -> None:
    await refused(GITLAB, **said(account))
