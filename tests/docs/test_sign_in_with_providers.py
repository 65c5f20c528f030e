"""The pages on OAuth: each configuration leads to its provider, and from one of your own back again."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest
from teamchat_oauth_presets.microsoft import MICROSOFT

from teamchat import OAuthFailed, OAuthProvider
from teamchat.testing import ADMIN, DEADLINE
from teamchat.testing.provider import Provider, provider
from tests.docs.machine import Machine, Running
from tests.docs.pages import blocks

pytestmark = pytest.mark.slow

CHAT = "https://chat.example.org"
SECRET = "the client secret of the provider, long enough"
TENANT = "aaaabbbb-0000-cccc-1111-dddd2222eeee"
[GOOGLE] = blocks("how-to/sign-in-with-google.md", "toml")
[MICROSOFT_TENANT] = blocks("how-to/sign-in-with-microsoft.md", "toml")
[MICROSOFT_CLAIMS] = blocks("how-to/sign-in-with-microsoft.md", "json")
GITHUB, GITHUB_ENTERPRISE = blocks("how-to/sign-in-with-github.md", "toml")
GITLAB, OWN_GITLAB = blocks("how-to/sign-in-with-gitlab.md", "toml")
ACME, TRUSTED_ACME = blocks("how-to/sign-in-with-your-own-provider.md", "toml")
PRESETS = {
    "google": (GOOGLE, "https://accounts.google.com/o/oauth2/v2/auth"),
    "microsoft": (MICROSOFT_TENANT, f"https://login.microsoftonline.com/{TENANT}/oauth2/v2.0/authorize"),
    "github": (GITHUB, "https://github.com/login/oauth/authorize"),
    "gitlab": (GITLAB, "https://gitlab.com/oauth/authorize"),
}


class FoundHere(httpx2.AsyncHTTPTransport):
    """The network of somebody who finds the pages' host at a server, as through a proxy."""

    def __init__(self, server: Running) -> None:
        super().__init__()
        self._there = httpx2.URL(server.base)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.url.host == "chat.example.org":
            there = {"scheme": "http", "host": self._there.host, "port": self._there.port}
            request = httpx2.Request(request.method, request.url.copy_with(**there), headers=request.headers)
        return await super().handle_async_request(request)


def browser(server: Running) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(base_url=CHAT, transport=FoundHere(server), timeout=DEADLINE)


def registered(id: str) -> str:
    """Return the redirect address that the page of a provider lets people register there."""
    [address] = blocks(f"how-to/sign-in-with-{'your-own-provider' if id == 'acme' else id}.md", "")
    return address.strip()


def given(text: str) -> dict[str, Any]:
    """Return the provider's table in a configuration."""
    oauth = tomllib.loads(text)["oauth"]
    [table] = oauth.get("custom") or oauth["presets"].values()
    return dict(table)


@pytest.mark.parametrize("id", PRESETS)
async def test_the_browser_is_sent_to_the_provider_with_what_was_registered_there(
    id: str, machine: Machine
) -> None:
    configuration, address = PRESETS[id]
    machine.write("teamchat.toml", configuration)
    with machine.serves("teamchat serve", **{f"{id.upper()}_CLIENT_SECRET": SECRET}) as server:
        async with browser(server) as client:
            [button] = (await client.get("/auth/oauth/providers")).json()["providers"]
            assert (button["id"], button["name"].lower()) == (id, id)
            answer = await client.get(button["loginUrl"])
    assert answer.status_code == 302
    there = httpx2.URL(answer.headers["Location"])
    assert str(there.copy_with(query=None)) == address
    assert there.params["client_id"] == given(configuration)["clientId"]
    assert there.params["redirect_uri"] == registered(id)
    assert there.params["code_challenge_method"] == "S256"


@dataclass
class Case:
    """A provider that somebody runs: its id, what the page says to write, and how it tells of a person.

    `before` is the configuration that the page has begun with, if it changes that.
    """

    id: str
    text: str
    profile: dict[str, Any]
    before: str = ""
    more: dict[str, Any] = field(default_factory=dict)
    is_let_in: bool = True

    @property
    def path(self) -> str:
        """Where the profile is, below the provider's address."""
        return httpx2.URL(given(self.text)["userInfoUrl"]).path

    def configuration(self, idp: Provider) -> str:
        """Return the page's text with a provider of the tests in the place of its own."""
        table, text = given(self.text), re.split(r"(?m)^\[+oauth", self.before)[0] + self.text
        text = text.replace(table["authorizationUrl"], idp.authorization_url)
        text = text.replace(table["tokenUrl"], idp.token_url)
        return text.replace(table["userInfoUrl"], idp.base + self.path)


PRIMARY = {"email": ADMIN, "primary": True, "verified": True}
SAYS_NOTHING = {"sub": "1", "email": ADMIN}
CONFIRMED = {"id": 1, "email": ADMIN, "confirmed_at": "2026-01-01T00:00:00.000Z"}
CASES = {
    "GitHub Enterprise": Case(
        "github", GITHUB_ENTERPRISE, {"id": 1}, before=GITHUB, more={"/emails": [PRIMARY]}
    ),
    "a GitLab": Case("gitlab", OWN_GITLAB, CONFIRMED, before=GITLAB),
    "vouches": Case("acme", ACME, SAYS_NOTHING | {"email_verified": True}),
    "says nothing": Case("acme", ACME, SAYS_NOTHING, is_let_in=False),
    "says nothing and is trusted": Case("acme", TRUSTED_ACME, SAYS_NOTHING, before=ACME),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
async def test_people_sign_in_at_a_provider_of_your_own(case: Case, machine: Machine) -> None:
    client_id = given(case.text)["clientId"]
    here = {"client_id": client_id, "client_secret": SECRET, "redirect_uris": (registered(case.id),)}
    async with provider(**here) as idp:
        idp.pages = {case.path: case.profile} | {case.path + name: page for name, page in case.more.items()}
        idp.claims = {"sub": case.profile.get("sub")}
        machine.write("teamchat.toml", case.configuration(idp))
        secret = {f"{case.id.upper()}_CLIENT_SECRET": SECRET}
        with machine.serves("teamchat serve", **secret) as server:
            async with browser(server) as client:
                came = await client.get(f"/auth/oauth/{case.id}", follow_redirects=True)
                assert (came.url.host, came.url.path) == ("chat.example.org", "/")
                if not case.is_let_in:
                    assert dict(came.url.params) == {"oauth_error": "email_not_verified"}
                    return
                bearer = {"Authorization": f"Bearer {came.url.params['access_token']}"}
                assert (await client.get("/auth/me", headers=bearer)).json()["user"]["email"] == ADMIN


@dataclass
class Token:
    """`teamchat.Grant` of an account of some directory: the claims of its ID token, and nothing else."""

    claims: Mapping[str, Any]
    provider: OAuthProvider = MICROSOFT
    tenant: str | None = None

    async def get(self, url: str) -> Any:
        raise AssertionError(f"{url} is asked")


async def test_microsoft_sends_what_an_account_of_any_directory_needs_if_it_is_asked_for_the_claims() -> None:
    claims = [claim["name"] for claim in json.loads(f"{{{MICROSOFT_CLAIMS}}}")["optionalClaims"]["idToken"]]
    always = {"oid": "1", "tid": TENANT, "iss": f"https://login.microsoftonline.com/{TENANT}/v2.0"}
    sent = {"email": "grace@example.org", "xms_edov": True}
    profile = await MICROSOFT.profile(Token(always | {name: sent[name] for name in claims}))
    assert profile.email == "grace@example.org"
    for name in claims:
        with pytest.raises(OAuthFailed, match="email_not_verified"):
            await MICROSOFT.profile(Token(always | {other: sent[other] for other in claims if other != name}))
