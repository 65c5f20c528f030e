"""The presets are held to what every provider is held to."""

from __future__ import annotations

from typing import Any

from teamchat_oauth_presets import GITHUB, GITLAB, GOOGLE, MICROSOFT

from teamchat import OAuthProvider
from teamchat.testing import OAuthProviderContract, Said

TENANT = "aaaabbbb-0000-cccc-1111-dddd2222eeee"


class TestGitHub(OAuthProviderContract):
    def provider(self) -> OAuthProvider:
        return GITHUB

    def said(self, subject: str, email: str, *, vouched: bool) -> Said:
        emails: Any = [{"email": email, "primary": True, "verified": vouched}]
        account = {"id": int(subject), "login": "ada"}
        user = GITHUB.user_info_url
        return Said(GITHUB, answers={user: account, f"{user}/emails?per_page=100": emails})


class TestGitLab(OAuthProviderContract):
    def provider(self) -> OAuthProvider:
        return GITLAB

    def said(self, subject: str, email: str, *, vouched: bool) -> Said:
        moment = "2012-05-23T09:05:22.000Z" if vouched else None
        account = {"id": int(subject), "email": email, "confirmed_at": moment}
        return Said(GITLAB, answers={GITLAB.user_info_url: account})


class TestGoogle(OAuthProviderContract):
    def provider(self) -> OAuthProvider:
        return GOOGLE

    def said(self, subject: str, email: str, *, vouched: bool) -> Said:
        account = {"sub": subject, "email": email, "email_verified": vouched}
        return Said(GOOGLE, answers={GOOGLE.user_info_url: account}, claims=account)


class TestMicrosoft(OAuthProviderContract):
    subjects = (f"{TENANT}:1001", f"{TENANT}:1002")

    def provider(self) -> OAuthProvider:
        return MICROSOFT

    def said(self, subject: str, email: str, *, vouched: bool) -> Said:
        issuer = f"https://login.microsoftonline.com/{TENANT}/v2.0"
        oid = subject.rpartition(":")[2]
        claims = {"iss": issuer, "tid": TENANT, "oid": oid, "email": email, "xms_edov": vouched}
        return Said(MICROSOFT, claims=claims)
