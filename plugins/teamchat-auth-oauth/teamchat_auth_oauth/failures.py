"""Why a sign-in at a provider fails: a few fixed words for the browser, a detail for the log.

Nothing that the provider or the query said is in either.
"""

from __future__ import annotations

from teamchat import OAuthFailed

REASONS = frozenset(
    {
        "invalid_state",
        "invalid_code",
        "access_denied",
        "email_not_verified",
        "user_not_found",
        "rate_limited",
        "provider_error",
        "server_error",
    }
)
# What a token endpoint may say (RFC 6749, section 5.2), and what GitHub says for a bad code.
_TOLD = frozenset(
    {
        "invalid_request",
        "invalid_client",
        "invalid_grant",
        "unauthorized_client",
        "unsupported_grant_type",
        "invalid_scope",
        "bad_verification_code",
        "incorrect_client_credentials",
        "redirect_uri_mismatch",
    }
)
_OF_THE_CODE = frozenset({"invalid_grant", "bad_verification_code"})


class ProviderFailed(OAuthFailed):
    """The provider answered what can't be used; `detail` is for the log."""

    def __init__(self, detail: str | None, reason: str = "provider_error") -> None:
        super().__init__(reason)
        self.detail = detail


def refused(error: object) -> ProviderFailed:
    """Return the failure for an ``error`` of the token endpoint; an unknown one is not repeated."""
    known = error if isinstance(error, str) and error in _TOLD else "another error"
    return ProviderFailed(known, "invalid_code" if known in _OF_THE_CODE else "provider_error")


def reason_of(failure: OAuthFailed) -> str:
    """Return the word for the browser; a plugin may have given one that is none of ours."""
    return failure.reason if failure.reason in REASONS else "provider_error"


def detail_of(failure: OAuthFailed) -> str | None:
    """Return what the log says beside the reason: an exception's type, or the provider's status."""
    detail = getattr(failure, "detail", None)  # A plugin's failure may have one too.
    if isinstance(detail, str):
        return detail
    return type(failure.__cause__).__name__ if failure.__cause__ is not None else None
