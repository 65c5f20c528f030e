"""The ends of sessions: said by the provider (back-channel), or by the user, who then signs out there too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode, urlsplit

from msgspec import UNSET, UnsetType

from teamchat import BadRequest, NotFound, Unavailable
from teamchat.model import Caller
from teamchat.observability.logs import get_logger
from teamchat.web import Answer, Request, Response, Section, Visitor, check_coding
from teamchat_oidc import sessions
from teamchat_oidc.failures import NotBelieved

if TYPE_CHECKING:
    from teamchat import Teamchat
    from teamchat_oidc.provider import OpenIdProvider

_MOST_BYTES = 128 * 1024
_MOST_FIELDS = 100
_FORM = "application/x-www-form-urlencoded"
_UNKEPT = {"Cache-Control": "no-store"}

_log = get_logger(__name__)


class SignedOut(Answer, frozen=True):
    """The session has ended. At `logoutUrl`, if it is there, the browser ends the provider's too."""

    success: bool = True
    logout_url: str | UnsetType = UNSET


def section_for(app: Teamchat, providers: Sequence[OpenIdProvider]) -> Section:
    """Return the endpoints."""
    section = Section("oidc")
    by_id = {one.id: one for one in providers}

    @section.endpoint("POST", "/auth/oauth/logout", answer=SignedOut, before_password_change=True)
    async def sign_out(caller: Caller) -> SignedOut:
        """End the caller's session, and say where the one at the provider ends."""
        async with app.storage.write() as tx:
            provider_id = await sessions.provider_of(tx, caller.session_id)
            await app.accounts.sessions.end_in(tx, caller.user.id, [caller.session_id])
        _log.info("signed out", user=caller.user.id)
        provider = by_id.get(provider_id or "")
        return SignedOut(logout_url=UNSET if provider is None else _logout_url(app, provider) or UNSET)

    @section.endpoint("POST", "/auth/oauth/:providerId/backchannel-logout", open=True, statuses=[415])
    async def hear_logout(request: Request, visitor: Visitor, provider_id: str) -> Response:
        """Take a provider's word that a session of its has ended, and end those that were begun by it."""
        provider = by_id.get(provider_id)
        if provider is None:
            raise NotFound("There is no such provider.")
        check_coding(request.headers)
        kind = request.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        token = _token(await request.body.read(_MOST_BYTES), kind)
        if provider.metadata is None:
            raise Unavailable("The provider could not be asked for its keys yet. Try again later.", 60)
        try:
            logout = await provider.logout(token)
        except NotBelieved as error:
            _log.warning(
                "a logout was not believed", provider=provider_id, detail=error.detail, ip=visitor.ip
            )
            raise BadRequest("The logout token is not valid.") from error
        async with app.storage.write() as tx:
            ended, is_first = await sessions.end_in(tx, app.accounts, provider_id, logout)
        if not is_first:
            raise BadRequest("The logout token was used before.")
        _log.info("signed out by the provider", provider=provider_id, sessions=ended)
        return Response("", headers=_UNKEPT)

    return section


def _token(body: bytes, kind: str) -> str:
    """Return the one logout token of a form (Back-Channel Logout 1.0, section 2.5)."""
    if kind != _FORM:
        raise BadRequest(f"The body must be a form ({_FORM}) with a logout_token.")
    try:
        fields = parse_qsl(body.decode("ascii"), errors="strict", max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise BadRequest("The form can't be read.") from None
    found = [value for name, value in fields if name == "logout_token"]
    if len(found) != 1:
        raise BadRequest("The form must have one logout_token.")
    return found[0]


def _logout_url(app: Teamchat, provider: OpenIdProvider) -> str | None:
    """Return where a browser signs out at the provider (RP-Initiated Logout 1.0, section 2), if anywhere.

    It comes back to ``auth.appUrl``, and to nothing that a request could name.
    """
    metadata = provider.metadata
    if metadata is None or metadata.end_session_endpoint is None:
        return None
    parts = urlsplit(metadata.end_session_endpoint)
    back = urlsplit(app.settings.auth.app_url)._replace(query="", fragment="").geturl()
    asked = urlencode({"client_id": provider.client_id, "post_logout_redirect_uri": back})
    return parts._replace(query="&".join(filter(None, [parts.query, asked]))).geturl()
