"""Who a profile is: only a vouched-for email finds a user, and an identity stays with its user (D-20)."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from teamchat_auth_oauth.client import Client
from teamchat_auth_oauth.sign_in import OAuth

from teamchat.errors import OAuthFailed
from teamchat.interfaces import Profile
from teamchat.observability.logs import LineFormatter
from teamchat.settings import RateLimit
from teamchat.testing import Provider

from .conftest import ADMIN, World, custom

UNVERIFIED = {"oauth_error": "email_not_verified"}
UNUSABLE = {"oauth_error": "provider_error"}
NOBODY = {"oauth_error": "user_not_found"}


def profile(email: Any = ADMIN, **fields: Any) -> dict[str, Any]:
    return {"sub": "1", "email": email, "email_verified": True} | fields


async def without_trace(world: World) -> bool:
    tables = ("sessions", "identities")
    return not any([await world.count(table) for table in tables]) and await world.count("users") == 1


@pytest.mark.slow
@pytest.mark.parametrize("value", [False, "false", "true", 1, 0, None, [], [True], {}, "yes"])
@pytest.mark.parametrize("name", ["email_verified", "verified_email"])
async def test_d20_an_email_that_the_provider_does_not_vouch_for_signs_nobody_in(
    world: World, idp: Provider, name: str, value: Any
) -> None:
    idp.profile = {"sub": "1", "email": ADMIN, name: value}
    assert await world.sign_in() == UNVERIFIED
    assert await without_trace(world)


@pytest.mark.parametrize("told", [{}, {"verified": True}, {"email_verified": False, "verified_email": True}])
async def test_d20_nor_does_one_of_which_it_says_nothing_or_two_things(
    world: World, idp: Provider, told: dict[str, Any]
) -> None:
    idp.profile = {"sub": "1", "email": ADMIN} | told
    assert await world.sign_in() == UNVERIFIED
    assert await without_trace(world)


@pytest.mark.parametrize("name", ["email_verified", "verified_email"])
async def test_d20_an_email_that_the_provider_vouches_for_is_its_users(
    world: World, idp: Provider, name: str
) -> None:
    idp.profile = {"sub": "1", "email": ADMIN, name: True}
    assert (await world.me(await world.sign_in()))["email"] == ADMIN


@pytest.mark.parametrize("told", [{}, {"email_verified": False}])
async def test_an_operator_may_trust_every_email_of_a_provider(
    make: Any, idp: Provider, told: dict[str, Any]
) -> None:
    world = await make(oauth={"custom": [custom(idp, is_email_trusted=True)]})
    idp.profile = {"sub": "1", "email": ADMIN} | told
    assert (await world.me(await world.sign_in()))["email"] == ADMIN


@pytest.mark.parametrize("email", [None, 1, True, [ADMIN], {}])
async def test_a_profile_without_an_email_signs_nobody_in(world: World, idp: Provider, email: Any) -> None:
    idp.profile = profile(email)
    assert await world.sign_in() == UNVERIFIED
    assert await without_trace(world)


@pytest.mark.slow
@pytest.mark.parametrize(
    "email", ["", "@", "a@", "a b@example.org", "a@b@c", "a\n@example.org", "a" * 250 + "@b.cd"]
)
async def test_an_email_that_is_none_signs_nobody_in(world: World, idp: Provider, email: str) -> None:
    idp.profile = profile(email)
    assert await world.sign_in() == UNUSABLE
    assert await without_trace(world)


@pytest.mark.slow
@pytest.mark.parametrize(
    "subject",
    [
        {},
        {"sub": None},
        {"sub": True},
        {"id": False},
        {"sub": 1.0},
        {"sub": ["1"]},
        {"sub": ""},
        {"sub": "x" * 256},
        {"sub": "a\0b"},
        {"sub": None, "id": 1},
        {"id": {}},
    ],
)
async def test_a_profile_without_a_subject_signs_nobody_in(
    make: Any, idp: Provider, subject: dict[str, Any]
) -> None:
    world = await make(oauth={"custom": [custom(idp, scopes="email")]})
    idp.profile = {"email": ADMIN, "email_verified": True} | subject
    assert await world.sign_in() == UNUSABLE
    assert await without_trace(world)


@pytest.mark.parametrize(
    ("subject", "kept"),
    [({"sub": "a b", "id": 7}, "a b"), ({"id": 7}, "7"), ({"id": "x"}, "x"), ({"sub": 0}, "0")],
)
async def test_the_subject_is_sub_or_else_id(
    make: Any, idp: Provider, subject: dict[str, Any], kept: str
) -> None:
    world = await make(oauth={"custom": [custom(idp, scopes="email")]})
    idp.profile = {"email": ADMIN, "email_verified": True} | subject
    assert "access_token" in await world.sign_in()
    assert await world.fetch("select provider, subject from identities") == [("acme", kept)]


@pytest.mark.parametrize("told", [[], "text", None, 1, True])
async def test_a_profile_that_is_no_object_signs_nobody_in(world: World, idp: Provider, told: Any) -> None:
    idp.profile = told
    assert await world.sign_in() == UNUSABLE


async def test_emails_are_matched_without_regard_to_case(make: Any, idp: Provider) -> None:
    world = await make()
    idp.profile = profile("ADA@Example.ORG")
    assert (await world.me(await world.sign_in()))["email"] == ADMIN


@pytest.mark.parametrize(
    ("theirs", "told"), [("strasse@example.org", "straße@example.org"), ("k@k.org", "\u212a@k.org")]
)
async def test_two_mailboxes_that_differ_by_more_than_ascii_case_are_two(
    world: World, idp: Provider, theirs: str, told: str
) -> None:
    await world.app.accounts.sign_in(theirs, "192.0.2.1", "tests")
    idp.profile = profile(told)
    assert await world.sign_in() == NOBODY
    assert await world.count("sessions") == 1
    assert await world.count("identities") == 0


async def test_d20_an_identity_stays_its_users_whatever_email_the_provider_tells_later(
    world: World, idp: Provider
) -> None:
    victim, _ = await world.app.accounts.sign_in("victim@example.org", "192.0.2.1", "tests")
    first = await world.me(await world.sign_in())
    idp.profile |= {"email": "victim@example.org"}
    assert (await world.me(await world.sign_in())) == first
    idp.profile = {"sub": idp.profile["sub"], "email": ADMIN, "email_verified": True}
    assert (await world.me(await world.sign_in()))["id"] == first["id"] != victim.id


async def test_a_known_identity_needs_an_email_that_is_vouched_for_all_the_same(
    world: World, idp: Provider
) -> None:
    assert "access_token" in await world.sign_in()
    idp.profile |= {"email_verified": False}
    assert await world.sign_in() == UNVERIFIED


async def test_the_same_subject_at_two_providers_is_two_identities(
    world: World, idp: Provider, second: Provider
) -> None:
    second.profile = idp.profile | {"email": "other@example.org"}
    one = await world.me(await world.browser().sign_in(idp))
    other = await world.me(await world.browser().sign_in(second, "beta"))
    assert one["id"] != other["id"]


async def test_one_user_may_come_by_two_providers(world: World, idp: Provider, second: Provider) -> None:
    one = await world.me(await world.browser().sign_in(idp))
    other = await world.me(await world.browser().sign_in(second, "beta"))
    assert one == other
    assert await world.count("identities") == 2


async def test_signing_in_twice_changes_nothing_about_the_user(world: World, idp: Provider) -> None:
    first = await world.me(await world.sign_in())
    idp.profile |= {"name": "Another", "preferred_username": "another"}
    assert await world.me(await world.sign_in()) == first
    assert await world.count("users") == 2
    assert await world.count("identities") == 1


async def test_with_invites_required_an_uninvited_user_leaves_no_trace(make: Any, idp: Provider) -> None:
    world = await make()
    assert await world.sign_in() == NOBODY
    assert await without_trace(world)


async def test_with_invites_required_the_initial_admin_and_invited_users_sign_in(
    make: Any, idp: Provider
) -> None:
    world = await make()
    idp.profile = profile()
    me = await world.me(await world.sign_in())
    assert me["isAdmin"]
    _, signed_in = await world.app.accounts.sign_in(ADMIN, "192.0.2.1", "tests")
    admin = await world.app.accounts.authenticate(signed_in.access_token)
    invited = await world.app.accounts.users.add(admin, "jane@example.org")
    idp.profile = profile("jane@example.org", sub="2")
    assert (await world.me(await world.sign_in()))["id"] == invited


async def test_without_invites_required_a_user_is_created_who_is_no_admin(
    world: World, idp: Provider
) -> None:
    idp.profile = profile("new@example.org", role="admin", isAdmin=True, roles=["admin"])
    me = await world.me(await world.sign_in())
    assert (me["email"], me["userName"], me["isAdmin"]) == ("new@example.org", "new", False)
    assert len(await world.fetch("select 1 from events where type = 'NEW_USER'")) == 2


async def test_a_removed_users_identity_is_nobodys(world: World, idp: Provider) -> None:
    first = await world.me(await world.sign_in())
    _, signed_in = await world.app.accounts.sign_in(ADMIN, "192.0.2.1", "tests")
    admin = await world.app.accounts.authenticate(signed_in.access_token)
    await world.app.accounts.users.remove(admin, first["id"])
    again = await world.me(await world.sign_in())
    assert again["id"] != first["id"]
    assert await world.fetch("select user_id from identities") == [(again["id"],)]


@pytest.mark.parametrize("is_invite_required", [True, False])
@pytest.mark.parametrize("email", [ADMIN, "another@example.org"])
async def test_l1_an_identity_of_a_deactivated_user_signs_nobody_in_whatever_email_it_has_now(
    make: Any, idp: Provider, email: str, is_invite_required: bool
) -> None:
    world = await make(auth={"is_invite_required": is_invite_required})
    idp.profile = profile()
    first = await world.me(await world.sign_in())
    async with world.app.storage.write() as tx:
        await tx.fetch("update users set deactivated_at = 1 where id = $1", first["id"])
        await tx.fetch("delete from sessions")
    users = await world.count("users")
    idp.profile = profile(email)
    assert await world.sign_in() == NOBODY
    assert (await world.count("sessions"), await world.count("users")) == (0, users)


async def test_an_identity_that_points_to_a_removed_user_does_not_sign_them_in(
    world: World, idp: Provider
) -> None:
    first = await world.me(await world.sign_in())
    async with world.app.storage.write() as tx:
        await tx.fetch("update users set removed_at = 1, email_key = null where id = $1", first["id"])
    again = await world.me(await world.sign_in())
    assert again["id"] != first["id"]


@pytest.mark.parametrize("is_invite_required", [True, False])
async def test_who_is_removed_while_the_provider_is_asked_is_not_signed_in(
    make: Any, monkeypatch: pytest.MonkeyPatch, is_invite_required: bool
) -> None:
    world = await make(auth={"is_invite_required": False})
    first = await world.me(await world.sign_in())
    world = await make(auth={"is_invite_required": is_invite_required})
    _, signed_in = await world.app.accounts.sign_in(ADMIN, "192.0.2.1", "tests")
    admin = await world.app.accounts.authenticate(signed_in.access_token)
    ask = world.oauth._client.profile

    async def removed_meanwhile(*given: Any) -> Any:
        answer = await ask(*given)
        await world.app.accounts.users.remove(admin, first["id"])
        return answer

    monkeypatch.setattr(world.oauth._client, "profile", removed_meanwhile)
    end = await world.sign_in()
    if is_invite_required:
        assert end == NOBODY
    else:
        assert (await world.me(end))["id"] != first["id"]
    assert await world.fetch("select 1 from sessions where user_id = $1", first["id"]) == []


async def test_first_sign_ins_at_once_make_one_user(make: Any, idp: Provider) -> None:
    world = await make(auth={"is_invite_required": False}, oauth={"rate_limit": RateLimit(attempts=1000)})
    ends: list[dict[str, str]] = []

    async def sign_in() -> None:
        ends.append(await world.browser().sign_in(idp))

    async with trio.open_nursery() as nursery:
        for _ in range(20):
            nursery.start_soon(sign_in)
    assert all("access_token" in end for end in ends)
    assert await world.count("users") == 2
    assert await world.count("identities") == 1


class Failing(Exception):
    """Something that nobody expects, with a secret in its message."""


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (OAuthFailed("email_not_verified"), "email_not_verified"),
        (OAuthFailed("<script>SENT</script>"), "provider_error"),
        (Failing("SENT"), "provider_error"),
        (RecursionError("SENT"), "provider_error"),
        (ExceptionGroup("SENT", [Failing("SENT")]), "provider_error"),
    ],
)
async def test_a_function_that_fails_to_read_a_profile_ends_in_a_fixed_word(
    world: World, monkeypatch: pytest.MonkeyPatch, error: Exception, reason: str
) -> None:
    async def failing(_: Any) -> Any:
        raise error

    oauth = world.oauth
    provider = oauth.at("acme").provider
    monkeypatch.setitem(provider.__dict__, "profile", failing)
    assert await world.sign_in() == {"oauth_error": reason}


@pytest.mark.parametrize("broken", [Client, OAuth])
async def test_a_failure_that_nobody_expected_is_a_redirect_too(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, broken: Any
) -> None:
    async def failing(*_: Any) -> Any:
        raise Failing("SENT")

    monkeypatch.setattr(broken, "profile" if broken is Client else "finish", failing)
    assert await world.sign_in() == {"oauth_error": "server_error"}
    formatted = [LineFormatter().format(record) for record in caplog.records]
    assert [line for line in formatted if "Failing" in line]
    assert "SENT" not in "".join(formatted)


async def test_what_is_written_is_written_all_at_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async def failing(*_: Any) -> Any:
        raise Failing

    monkeypatch.setattr(type(world.app.accounts.sessions), "start_in", failing)
    assert await world.sign_in() == {"oauth_error": "server_error"}
    assert await without_trace(world)


@pytest.mark.parametrize("odd", [Profile("\ud800", ADMIN), Profile("", ADMIN), Profile("1", "a\0@b.org")])
async def test_a_profile_that_no_storage_could_keep_is_refused(
    world: World, monkeypatch: pytest.MonkeyPatch, odd: Profile
) -> None:
    async def read(*_: Any) -> Profile:
        return odd

    monkeypatch.setattr(Client, "profile", read)
    assert await world.sign_in() == UNUSABLE
