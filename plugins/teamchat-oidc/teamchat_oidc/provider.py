"""One provider, as sign-in leads through it (`teamchat.IdentityProvider`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from teamchat import BadRequest, Grant, OAuthFailed, OAuthProvider, Profile, Transaction
from teamchat.observability.logs import get_logger
from teamchat_oidc import sessions
from teamchat_oidc.failures import NotBelieved, require
from teamchat_oidc.keys import Keys
from teamchat_oidc.metadata import Metadata, metadata_of
from teamchat_oidc.tokens import Judge, Logout

if TYPE_CHECKING:
    from teamchat.accounts import Accounts
    from teamchat.model import User
    from teamchat.settings import OidcProvider

_log = get_logger(__name__)


@dataclass(frozen=True)
class OpenIdProfile(Profile):
    """Who signed in, with what the provider calls its session, and the groups there; None for not told."""

    sid: str = ""
    issued_at: int = 0
    groups: frozenset[str] | None = None


class OpenIdProvider:
    """A provider of ``oauth.oidc``; see `teamchat.IdentityProvider`."""

    def __init__(self, keys: OidcProvider, accounts: Accounts) -> None:
        self.id, self.name = keys.id, keys.name
        self.client_id, self.client_secret = keys.client_id, keys.client_secret
        self.redirect_uri = keys.redirect_uri
        self._configured = keys
        self._accounts = accounts
        self._keys = Keys()
        self._metadata: Metadata | None = None
        self._judge: Judge | None = None

    @property
    def metadata(self) -> Metadata | None:
        """What it says of itself; None until it was asked."""
        return self._metadata

    async def find(self) -> None:
        """Ask it for its addresses and keys. Raises `NotBelieved`, and keeps what it has told before."""
        metadata = await metadata_of(self._configured.issuer)
        self._keys.url = metadata.jwks_uri
        await self._keys.fetch()
        self._metadata = metadata
        self._judge = Judge(metadata, self._keys, self.client_id)

    def found(self) -> OAuthProvider | None:
        if self._metadata is None:
            return None
        return OAuthProvider(
            id=self.id,
            name=self.name,
            authorization_url=self._metadata.authorization_endpoint,
            token_url=self._metadata.token_endpoint,
            user_info_url=self._metadata.userinfo_endpoint or "",
            scopes=self._configured.scopes,
            profile=self._profile,
            issuer=self._metadata.issuer,
            tells_issuer=self._metadata.authorization_response_iss_parameter_supported,
            client_authentication=self._metadata.client_authentication,
        )

    async def claims(self, id_token: object, nonce: str) -> Mapping[str, Any]:
        return await self._judging().id_token(id_token, nonce, self._now())

    async def logout(self, token: object) -> Logout:
        """Return what a logout token says. Raises `NotBelieved`."""
        return await self._judging().logout_token(token, self._now())

    async def admit_in(self, tx: Transaction, user: User, profile: Profile) -> None:
        if not isinstance(profile, OpenIdProfile):
            return
        told = (profile.subject, profile.sid, profile.issued_at)
        if await sessions.is_over_in(tx, self.id, *told):
            raise NotBelieved("its session has ended there", "invalid_state")
        await self._give_role_in(tx, user, profile)

    async def signed_in_in(
        self, tx: Transaction, user: User, profile: Profile, session_id: str | None
    ) -> None:
        if isinstance(profile, OpenIdProfile):
            begun = sessions.Begun(self.id, profile.subject, profile.sid, user.id, session_id)
            await sessions.note_in(tx, begun, self._accounts.clock())

    def _judging(self) -> Judge:
        if self._judge is None:
            raise NotBelieved("not found yet")
        return self._judge

    def _now(self) -> int:
        return self._accounts.clock() // 1000

    async def _profile(self, grant: Grant) -> OpenIdProfile:
        """Return who signed in: by the ID token, and by the profile for what that has not."""
        claims = grant.claims
        subject, sid = claims["sub"], claims.get("sid", "")
        require(isinstance(sid, str), "a session that is none")
        said = await self._said(grant)
        source = claims if isinstance(claims.get("email"), str) else said
        email = source.get("email")
        is_verified = self._configured.is_email_trusted or source.get("email_verified") is True
        if not isinstance(email, str) or not email.strip() or not is_verified:
            raise OAuthFailed("email_not_verified")
        groups = self._groups(claims)
        groups = self._groups(said) if groups is None else groups
        return OpenIdProfile(subject, email, sid, int(claims["iat"]), groups)

    async def _said(self, grant: Grant) -> Mapping[str, Any]:
        """Return the profile, if something is missing in the ID token that may be there."""
        claims, url = grant.claims, grant.provider.user_info_url
        lacks_groups = bool(self._configured.admin_groups) and self._groups(claims) is None
        lacks_email = not isinstance(claims.get("email"), str)
        if not url or not (lacks_email or lacks_groups):
            return {}
        said = await grant.get(url)
        # Core, section 5.3.2: a profile of somebody else may have been put in its place.
        if not isinstance(said, dict) or said.get("sub") != claims["sub"]:
            raise NotBelieved("a profile of somebody else")
        return said

    def _groups(self, claims: Mapping[str, Any]) -> frozenset[str] | None:
        """Return the groups that are told; None if nothing is told of them."""
        name = self._configured.claims.groups
        value: Any = claims.get(name)
        if value is None:
            value = claims
            for part in name.split("."):
                value = value.get(part) if isinstance(value, dict) else None
        if isinstance(value, str):
            return frozenset({value})
        return frozenset(one for one in value if isinstance(one, str)) if isinstance(value, list) else None

    async def _give_role_in(self, tx: Transaction, user: User, profile: OpenIdProfile) -> None:
        """Make the user an admin, or one no longer. Who is in no group that is told of is none."""
        if not self._configured.admin_groups:
            return
        is_admin = not (profile.groups or frozenset()).isdisjoint(self._configured.admin_groups)
        if is_admin == user.is_admin:
            return
        try:
            await self._accounts.users.set_role_in(tx, user, is_admin=is_admin)
        except BadRequest:  # The last admin stays one.
            _log.warning("the last admin is in no group of oauth.oidc.adminGroups", user=user.id)
