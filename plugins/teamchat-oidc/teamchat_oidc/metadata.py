"""What a provider says of itself (OpenID Connect Discovery 1.0, sections 3 and 4)."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from msgspec import Struct

from teamchat_oidc.asking import read
from teamchat_oidc.failures import NotBelieved, require

# With a public key, each of them. HS256 and its like take a secret, for which a public key could be passed
# off, and "none" takes nothing at all.
ALGORITHMS = frozenset(
    {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"}
)


class Metadata(Struct, frozen=True):
    """The fields that are looked at; `algorithms` are those of its tokens that are believed."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str | None = None
    end_session_endpoint: str | None = None
    id_token_signing_alg_values_supported: Sequence[str] = ("RS256",)
    token_endpoint_auth_methods_supported: Sequence[str] = ("client_secret_basic",)
    authorization_response_iss_parameter_supported: bool = False

    @property
    def algorithms(self) -> frozenset[str]:
        """Algorithms that its tokens may be signed with here."""
        return ALGORITHMS & frozenset(self.id_token_signing_alg_values_supported)

    @property
    def client_authentication(self) -> str:
        """How it is shown the client's secret: as it is by default, if it takes that."""
        methods = self.token_endpoint_auth_methods_supported
        is_basic = "client_secret_basic" in methods or "client_secret_post" not in methods
        return "client_secret_basic" if is_basic else "client_secret_post"


async def metadata_of(issuer: str) -> Metadata:
    """Ask a provider for what it says of itself. Raises `NotBelieved`."""
    url = f"{issuer.removesuffix('/')}/.well-known/openid-configuration"
    found = await read(url, Metadata)
    require(found.issuer == issuer, "another issuer")
    for address in (
        *(found.authorization_endpoint, found.token_endpoint, found.jwks_uri),
        *(found.userinfo_endpoint, found.end_session_endpoint),
    ):
        _check(address, issuer)
    require(bool(found.algorithms), "no algorithm with a public key")
    return found


def _check(address: str | None, issuer: str) -> None:
    """Refuse an address of another scheme than the issuer's: nothing goes from https to http."""
    if address is None:
        return
    try:
        parts = urlsplit(address)
        is_good = bool(parts.hostname) and parts.port != 0 and address.isprintable() and " " not in address
    except ValueError:
        is_good = False
    if not is_good or "@" in parts.netloc or parts.fragment:
        raise NotBelieved("an address that is none")
    own = urlsplit(issuer)
    is_local = own.scheme == "http" and parts.hostname == own.hostname
    require(parts.scheme == "https" or (parts.scheme == "http" and is_local), "an address without TLS")
