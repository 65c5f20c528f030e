"""Providers of identities with one thing wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from teamchat import Grant, OAuthFailed, OAuthProvider, Profile
from teamchat.testing import OAuthProviderContract, Said
from tests.testing.faults import found_by

WHATEVER = "test_whatever_is_said_gives_a_whole_profile_or_a_refusal"


def whole(told: Any) -> bool:
    return isinstance(told, str) and bool(told.strip())


async def right(grant: Grant) -> Profile:
    account = await grant.get(grant.provider.user_info_url)
    if not isinstance(account, dict) or account.get("verified") is not True:
        raise OAuthFailed("email_not_verified")
    if not (whole(account.get("sub")) and whole(account.get("email"))):
        raise OAuthFailed("email_not_verified")
    return Profile(account["sub"], account["email"])


RIGHT = OAuthProvider(
    id="right",
    name="Right",
    authorization_url="https://id.example.org/authorize",
    token_url="https://id.example.org/token",
    user_info_url="https://id.example.org/userinfo",
    scopes="openid email",
    profile=right,
)


class Contract(OAuthProviderContract):
    offered = RIGHT

    def provider(self) -> OAuthProvider:
        return self.offered

    def said(self, subject: str, email: str, *, vouched: bool) -> Said:
        account = {"sub": subject, "email": email, "verified": vouched}
        return Said(self.offered, answers={self.offered.user_info_url: account})


@found_by(test_it_is_described_well="https alone protects them")
class TestIsAskedInTheClear(Contract):
    offered = replace(RIGHT, token_url="http://id.example.org/token")


@found_by(test_it_is_described_well="the id is a part of addresses")
class TestHasNoIdForAnAddress(Contract):
    offered = replace(RIGHT, id="Right here")


async def credulous(grant: Grant) -> Profile:
    account = await grant.get(grant.provider.user_info_url)
    if not (isinstance(account, dict) and whole(account.get("sub")) and whole(account.get("email"))):
        raise OAuthFailed("email_not_verified")
    return Profile(account["sub"], account["email"])


@found_by(test_d20_an_email_it_does_not_vouch_for_is_refused="anybody could be anybody")
class TestBelievesAnybody(Contract):
    offered = replace(RIGHT, profile=credulous)


async def by_email(grant: Grant) -> Profile:
    email = (await right(grant)).email
    return Profile(email, email)


@found_by(
    test_it_tells_who_signed_in="tells of somebody else than the provider said",
    test_somebody_stays_the_same_with_another_email="the subject hangs on the email",
    test_two_people_are_two="two people with the same email are taken for one",
)
class TestKnowsPeopleByTheirEmail(Contract):
    offered = replace(RIGHT, profile=by_email)


async def trusting(grant: Grant) -> Profile:
    account = await grant.get(grant.provider.user_info_url)
    if account["verified"] is not True:
        raise OAuthFailed("email_not_verified")
    return await right(grant)


@found_by(**{WHATEVER: "profile() fails, and does not raise OAuthFailed"})
class TestStumblesOverNonsense(Contract):
    offered = replace(RIGHT, profile=trusting)


async def literal(grant: Grant) -> Profile:
    account = await grant.get(grant.provider.user_info_url)
    if not isinstance(account, dict) or account.get("verified") is not True:
        raise OAuthFailed("email_not_verified")
    return Profile(str(account.get("sub")), account.get("email"))


@found_by(**{WHATEVER: "is no subject and no email, and came from this"})
class TestTellsNonsense(Contract):
    offered = replace(RIGHT, profile=literal)


async def vague(grant: Grant) -> Profile:
    try:
        return await right(grant)
    except OAuthFailed:
        raise OAuthFailed("provider_error") from None


@found_by(test_d20_an_email_it_does_not_vouch_for_is_refused="the reason to give is `email_not_verified`")
class TestRefusesForAnotherReason(Contract):
    offered = replace(RIGHT, profile=vague)
