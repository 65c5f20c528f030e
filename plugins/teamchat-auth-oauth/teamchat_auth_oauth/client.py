"""The talk with a provider, from a code to a profile: Authlib speaks OAuth, httpx2 HTTP.

All of it together takes `patience` seconds at most; no redirect is followed, no proxy
is used, TLS is verified; and whatever goes wrong is an `OAuthFailed`, which holds nothing of what was said.
Authlib is untyped: nothing of it leaves this module and `id_token`.  The client's credentials go in the
form (``client_secret_post``), which every provider known to us takes, or as the provider says it wants them.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

import httpx2
import msgspec
import trio
from authlib.integrations.httpx_client import (  # type: ignore[import-untyped]
    AsyncOAuth2Client,
    OAuthError,
)
from authlib.oauth2.rfc6749.parameters import prepare_grant_uri  # type: ignore[import-untyped]
from authlib.oauth2.rfc7636 import create_s256_code_challenge  # type: ignore[import-untyped]

from teamchat import OAuthFailed, OAuthProvider, Profile
from teamchat.web.outgoing import AnswerRefused, BoundedTransport
from teamchat_auth_oauth import id_token
from teamchat_auth_oauth.failures import ProviderFailed, refused
from teamchat_auth_oauth.providers import Configured
from teamchat_auth_oauth.states import Proofs

# It would tell of every request; `OAuth` tells how a sign-in ended, in one line.
logging.getLogger("httpx2").setLevel(logging.WARNING)

_VISIBLE = re.compile(r"[\x21-\x7e]+\Z")  # what a header can carry (RFC 6750, section 2.1)
_HEADERS = {"Accept": "application/json", "User-Agent": "teamchat"}


class Client:
    """Talks to providers. `patience` is in seconds, `clock` tells epoch milliseconds."""

    def __init__(self, patience: float, clock: Callable[[], int]) -> None:
        self._patience = patience
        self._clock = clock
        self._tls = httpx2.create_ssl_context()

    def authorization_url(self, to: Configured, state: str, proofs: Proofs) -> str:
        """Return where the browser is sent to sign in."""
        url = prepare_grant_uri(
            to.provider.authorization_url,
            to.client_id,
            "code",
            to.redirect_uri,
            to.provider.scopes,
            state,
            nonce=proofs.nonce if to.is_openid else None,
            code_challenge=create_s256_code_challenge(proofs.verifier),
            code_challenge_method="S256",
        )
        return str(url)

    async def profile(self, at: Configured, code: str, proofs: Proofs) -> Profile:
        """Exchange a code and return who signed in. Raises `OAuthFailed` for whatever goes wrong."""
        try:
            with trio.fail_after(self._patience):
                async with self._session(at) as session:
                    grant = await self._grant(at, session, code, proofs)
                    return await at.provider.profile(grant)
        except OAuthFailed:
            raise
        except Exception as error:
            raise _failed(error) from error

    def _session(self, at: Configured) -> Any:
        method = at.provider.client_authentication
        credentials = (at.client_id, at.client_secret)
        if (
            method == "client_secret_basic"
        ):  # Encoded first (RFC 6749, section 2.3.1), which Authlib leaves out.
            credentials = (quote(at.client_id, safe=""), quote(at.client_secret, safe=""))
        session = AsyncOAuth2Client(
            *credentials,
            token_endpoint_auth_method=method,
            redirect_uri=at.redirect_uri,
            leeway=0,
            transport=BoundedTransport(self._tls),
            timeout=self._patience,
            headers=_HEADERS,
            follow_redirects=False,
            trust_env=False,
        )
        session.register_compliance_hook("access_token_response", _only_answers)
        return session

    async def _grant(self, at: Configured, session: Any, code: str, proofs: Proofs) -> _Grant:
        try:
            token = await session.fetch_token(
                at.provider.token_url,
                grant_type="authorization_code",
                code=code,
                code_verifier=proofs.verifier,
            )
        except OAuthError as error:
            raise refused(error.error) from error
        access_token = token.get("access_token")
        if not isinstance(access_token, str) or not _VISIBLE.match(access_token):
            raise ProviderFailed("no access token")
        return _Grant(at, session, await self._claims(at, token, proofs))

    async def _claims(self, at: Configured, token: Mapping[str, Any], proofs: Proofs) -> Mapping[str, Any]:
        if at.identity is not None:
            return await at.identity.claims(token.get("id_token"), proofs.nonce)
        if not at.is_openid or "id_token" not in token:
            return {}
        return id_token.read(
            token["id_token"],
            client_id=at.client_id,
            issuer=at.provider.issuer,
            nonce=proofs.nonce,
            now_seconds=self._clock() // 1000,
        )


class _Grant:
    """What a code was exchanged for; see `teamchat.interfaces.Grant`."""

    def __init__(self, at: Configured, session: Any, claims: Mapping[str, Any]) -> None:
        self.provider: OAuthProvider = at.provider
        self.tenant = at.tenant
        self.claims = claims
        self._session = session

    async def get(self, url: str) -> Any:
        """Return the JSON at an address, asked for with the access token."""
        try:
            answer = await self._session.get(url)
            if answer.status_code != 200:
                raise ProviderFailed(f"HTTP {answer.status_code}")
            return msgspec.json.decode(answer.content)
        except OAuthFailed:
            raise
        except Exception as error:
            raise _failed(error) from error


def _failed(error: Exception) -> ProviderFailed:
    return ProviderFailed(str(error) if isinstance(error, AnswerRefused) else type(error).__name__)


def _only_answers(answer: httpx2.Response) -> httpx2.Response:
    """Refuse what is no answer of a token endpoint; Authlib would take a token from a redirect's page."""
    if answer.status_code != 200 and not (answer.is_client_error and _tells_error(answer)):
        raise ProviderFailed(f"HTTP {answer.status_code}")
    return answer


def _tells_error(answer: httpx2.Response) -> bool:
    try:
        return "error" in msgspec.json.decode(answer.content, type=dict[str, Any])
    except msgspec.DecodeError:
        return False
