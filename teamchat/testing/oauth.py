"""What every provider of identities must do: above all, take no email that it does not vouch for."""

# Tests assert; that is what they are.
# ruff: noqa: S101

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

from teamchat.errors import OAuthFailed
from teamchat.interfaces import OAuthProvider, Profile

_NONSENSE: tuple[Any, ...] = (None, "", " ", "nonsense", 0, -1, 1.5, True, False, [], ["a"], {}, {"a": "b"})


@dataclass
class Said:
    """A `teamchat.Grant` with the provider's answers at hand, by address. Asking for another one fails."""

    provider: OAuthProvider
    answers: Mapping[str, Any] = field(default_factory=dict)
    claims: Mapping[str, Any] = field(default_factory=dict)
    tenant: str | None = None

    async def get(self, url: str) -> Any:
        """Return the answer at an address."""
        if url not in self.answers:
            raise OAuthFailed("provider_error")
        return self.answers[url]


class OAuthProviderContract(ABC):
    """Tests of a provider. Subclass it with a name that begins with ``Test`` and give two methods::

    class TestExample(OAuthProviderContract):
        def provider(self):
            return EXAMPLE

        def said(self, subject, email, *, vouched):
            account = {"sub": subject, "email": email, "email_verified": vouched}
            return Said(EXAMPLE, answers={EXAMPLE.user_info_url: account})
    """

    subjects: tuple[str, str] = ("1001", "1002")
    """Two ids as the provider gives them."""

    @abstractmethod
    def provider(self) -> OAuthProvider:
        """Return the provider, as the hook ``oauth_providers`` does."""

    @abstractmethod
    def said(self, subject: str, email: str, *, vouched: bool) -> Said:
        """Return what it says of somebody whose email it vouches for, or does not."""

    def test_it_is_described_well(self) -> None:
        provider = self.provider()
        assert re.fullmatch(r"[a-z0-9][a-z0-9._-]*", provider.id), "the id is a part of addresses"
        assert provider.name.strip(), "the name is empty, and is on the button"
        assert provider.scopes.split(), "there are no scopes: the provider would tell nothing"
        for address in (provider.authorization_url, provider.token_url, provider.user_info_url):
            parts = urlsplit(address.replace("{tenant}", "common"))
            assert parts.scheme == "https", f"{address}: secrets travel there, and https alone protects them"
            assert parts.hostname, f"{address}: there is no host"
            assert not parts.fragment, f"{address}: the part from # on never arrives"

    async def test_it_tells_who_signed_in(self) -> None:
        said = self.said(self.subjects[0], "ada@example.org", vouched=True)
        assert await self._read(said) == Profile(self.subjects[0], "ada@example.org"), (
            "profile() tells of somebody else than the provider said"
        )

    async def test_somebody_stays_the_same_with_another_email(self) -> None:
        said = self.said(self.subjects[0], "lovelace@example.org", vouched=True)
        assert await self._read(said) == Profile(self.subjects[0], "lovelace@example.org"), (
            "the subject hangs on the email, or the email is another"
        )

    async def test_two_people_are_two(self) -> None:
        one, other = [
            await self._read(self.said(subject, "ada@example.org", vouched=True)) for subject in self.subjects
        ]
        assert one.subject != other.subject, "two people with the same email are taken for one"

    async def test_d20_an_email_it_does_not_vouch_for_is_refused(self) -> None:
        refusal: OAuthFailed | None = None
        try:
            await self._read(self.said(self.subjects[0], "ada@example.org", vouched=False))
        except OAuthFailed as raised:
            refusal = raised
        assert refusal, "an email was taken that the provider does not vouch for: anybody could be anybody"
        assert refusal.reason == "email_not_verified", "the reason to give is `email_not_verified`"

    async def test_whatever_is_said_gives_a_whole_profile_or_a_refusal(self) -> None:
        right = self.said(self.subjects[0], "ada@example.org", vouched=True)
        for said in self._spoiled(right):
            try:
                profile = await self._read(said)
            except OAuthFailed:
                continue
            except Exception as error:
                raise AssertionError(
                    f"profile() fails, and does not raise OAuthFailed, when this is said: {said}"
                ) from error
            for claim in (profile.subject, profile.email):  # whether it is an address, teamchat finds out
                whole = isinstance(claim, str) and bool(claim.strip())
                assert whole, f"{claim!r} is no subject and no email, and came from this: {said}"

    async def _read(self, said: Said) -> Profile:
        return await self.provider().profile(said)

    def _spoiled(self, right: Said) -> Iterator[Said]:
        """Yield what was said with nonsense in the place of one thing: a document, or a field of it."""
        for url, document in right.answers.items():
            for other in self._others(document):
                yield replace(right, answers={**right.answers, url: other})
        for name in right.claims:
            for other in _NONSENSE:
                yield replace(right, claims={**right.claims, name: other})
        yield replace(right, answers={}, claims={})

    def _others(self, document: Any) -> Iterator[Any]:
        yield from _NONSENSE
        if isinstance(document, dict):
            for name in document:
                yield {key: value for key, value in document.items() if key != name}
                yield from ({**document, name: other} for other in _NONSENSE)
