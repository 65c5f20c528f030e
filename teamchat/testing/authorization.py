"""What an identity provider must do, by Authlib's server side: nothing here knows of HTTP.

A code is for one client, one redirect address and one try; the redirect address is compared as a whole; PKCE
with S256 is required (RFC 7636); the client authenticates by HTTP Basic or in the form (RFC 6749, section
2.3.1). With the scope ``openid`` there is an ID token, signed with the client's secret (OpenID Connect Core,
section 10.1). Authlib is untyped; this module adds the types.
"""

# Authlib calls these methods, each with all that any implementation could ask for.
# ruff: noqa: ARG002

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from authlib.oauth2.rfc6749 import (  # type: ignore[import-untyped]
    AuthorizationServer,
    InvalidRequestError,
    OAuth2Error,
    OAuth2Payload,
    OAuth2Request,
)
from authlib.oauth2.rfc6749.grants import AuthorizationCodeGrant  # type: ignore[import-untyped]
from authlib.oauth2.rfc6750 import BearerTokenGenerator  # type: ignore[import-untyped]
from authlib.oauth2.rfc7636 import CodeChallenge  # type: ignore[import-untyped]
from authlib.oidc.core import AuthorizationCodeMixin, OpenIDCode  # type: ignore[import-untyped]
from joserfc.jwk import OctKey


@dataclass(frozen=True)
class Answer:
    """What an endpoint of the protocol answers; `body` is JSON unless it is empty."""

    status: int
    body: Any
    headers: list[tuple[str, str]]


@dataclass
class Client:
    """The one registered client; without `redirect_uris` any address will do."""

    client_id: str
    client_secret: str
    redirect_uris: list[str] = field(default_factory=list)
    id_token_signed_response_alg: str = "HS256"  # noqa: S105 - an algorithm

    def get_client_id(self) -> str:
        return self.client_id

    def get_default_redirect_uri(self) -> str | None:
        return None

    def get_allowed_scope(self, scope: str | None) -> str:
        return scope or ""

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        return not self.redirect_uris or redirect_uri in self.redirect_uris

    def check_client_secret(self, client_secret: str) -> bool:
        return secrets.compare_digest(client_secret.encode(), self.client_secret.encode())

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        return method in {"client_secret_basic", "client_secret_post"}

    def check_response_type(self, response_type: str) -> bool:
        return response_type == "code"

    def check_grant_type(self, grant_type: str) -> bool:
        return grant_type == "authorization_code"


@dataclass(frozen=True)
class Code(AuthorizationCodeMixin):  # type: ignore[misc]  # Authlib is untyped
    """A code that was given out, with what it was given for."""

    redirect_uri: str
    scope: str
    nonce: str | None
    code_challenge: str
    code_challenge_method: str

    def get_redirect_uri(self) -> str:
        return self.redirect_uri

    def get_scope(self) -> str:
        return self.scope

    def get_nonce(self) -> str | None:
        return self.nonce

    def get_auth_time(self) -> None:
        return None


class Authorization(AuthorizationServer):  # type: ignore[misc]
    """The authorization server of one client. `claims` goes into ID tokens, over what is right.

    `tokens` are the access tokens it gave out.
    """

    def __init__(self, client: Client, issuer: str, claims: Callable[[], Mapping[str, Any]]) -> None:
        super().__init__()
        self.client = client
        self.codes: dict[str, Code] = {}
        self.tokens: set[str] = set()
        tokens = BearerTokenGenerator(lambda **_: secrets.token_urlsafe(32), expires_generator=3600)
        self.register_token_generator("default", tokens)
        self.register_grant(_Grant, [_Challenge(), _IdToken(issuer, claims)])

    def authorize(self, target: str) -> Answer:
        """Answer the authorization endpoint, as a browser whose user agrees would see it."""
        request = _Request("GET", target, {}, "")
        try:
            grant = self.get_consent_grant(request, end_user="somebody")
        except OAuth2Error as error:
            return Answer(*error())
        answered: Answer = self.create_authorization_response(request, "somebody", grant)
        return answered

    def exchange(self, method: str, target: str, headers: Mapping[str, str], form: str) -> Answer:
        """Answer the token endpoint."""
        answered: Answer = self.create_token_response(_Request(method, target, headers, form))
        return answered

    def query_client(self, client_id: str) -> Client | None:
        return self.client if client_id == self.client.client_id else None

    def save_token(self, token: dict[str, Any], request: Any) -> None:
        self.tokens.add(token["access_token"])

    def send_signal(self, name: str, *args: Any, **kwargs: Any) -> None:
        """Nobody listens."""

    def create_oauth2_request(self, request: _Request) -> _Request:
        return request

    def handle_response(self, status: int, body: Any, headers: list[tuple[str, str]]) -> Answer:
        return Answer(status, body, headers)


class _Payload(OAuth2Payload):  # type: ignore[misc]
    data: Mapping[str, str] = {}
    datalist: Mapping[str, list[str]] = {}

    def __init__(self, values: dict[str, list[str]]) -> None:
        self.datalist = values
        self.data = {name: given[0] for name, given in values.items()}


class _Request(OAuth2Request):  # type: ignore[misc]
    def __init__(self, method: str, target: str, headers: Mapping[str, str], form: str) -> None:
        # Authlib refuses what is not https; that the test's network is plain is none of its business.
        super().__init__(method, f"https://provider.test{target}", headers=headers)
        query = parse_qs(urlsplit(target).query, keep_blank_values=True)
        self.payload = _Payload(query if method == "GET" else parse_qs(form, keep_blank_values=True))

    @property
    def form(self) -> Mapping[str, str]:
        data: Mapping[str, str] = self.payload.data
        return data


class _Grant(AuthorizationCodeGrant):  # type: ignore[misc]
    TOKEN_ENDPOINT_AUTH_METHODS = ("client_secret_basic", "client_secret_post")

    def save_authorization_code(self, code: str, request: Any) -> None:
        data = request.payload.data
        self.server.codes[code] = Code(
            redirect_uri=data["redirect_uri"],
            scope=request.scope,
            nonce=data.get("nonce"),
            code_challenge=data["code_challenge"],
            code_challenge_method=data["code_challenge_method"],
        )

    def query_authorization_code(self, code: str, client: Client) -> Code | None:
        """Return the code's record, once: a second try is refused whatever became of the first."""
        found: Code | None = self.server.codes.pop(code, None)
        return found

    def delete_authorization_code(self, authorization_code: Code) -> None:
        """It is gone already."""

    def authenticate_user(self, authorization_code: Code) -> str:
        return "somebody"


class _Challenge(CodeChallenge):  # type: ignore[misc]
    SUPPORTED_CODE_CHALLENGE_METHOD = ("S256",)

    def validate_code_challenge(self, grant: Any, redirect_uri: str) -> None:
        data = grant.request.payload.data
        if not data.get("code_challenge") or data.get("code_challenge_method") != "S256":
            raise InvalidRequestError("PKCE with S256 is required.")
        super().validate_code_challenge(grant, redirect_uri)


class _IdToken(OpenIDCode):  # type: ignore[misc]
    def __init__(self, issuer: str, claims: Callable[[], Mapping[str, Any]]) -> None:
        super().__init__()
        self._issuer = issuer
        self._claims = claims

    def exists_nonce(self, nonce: str, request: Any) -> bool:
        return False

    def resolve_client_private_key(self, client: Client) -> OctKey:
        return OctKey.import_key(client.client_secret)

    def get_client_claims(self, client: Client) -> dict[str, Any]:
        return {"iss": self._issuer}

    def generate_user_info(self, user: str, scope: str) -> dict[str, Any]:
        return dict(self._claims())
