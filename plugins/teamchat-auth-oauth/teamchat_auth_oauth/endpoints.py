"""The endpoints of sign-in at other providers.

The callback answers with a redirect to ``auth.appUrl``, whatever it was asked and
whatever happens, and nothing of what the query or the provider said is in it (decision D-20).  A HEAD
request begins and ends nothing: it is answered by the bare address that GET leads to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import parse_qsl, urlencode, urlsplit

from werkzeug.http import dump_cookie
from werkzeug.sansio.http import parse_cookie
from werkzeug.urls import iri_to_uri

from teamchat import NotFound, OAuthFailed, Teamchat, TooManyRequests, Unavailable
from teamchat.observability.logs import get_logger
from teamchat.web import Answer, Redirect, Request, Section, Visitor
from teamchat_auth_oauth.sign_in import Callback, OAuth, Waiting

COOKIE = "teamchat_oauth"
COOKIE_SECONDS = 600
_PARAMETERS = frozenset({"state", "code", "error", "iss"})
_MOST_PARAMETERS = 100

_log = get_logger(__name__)


class Provider(Answer, frozen=True):
    """A button at sign-in; `login_url` is where it leads."""

    id: str
    name: str
    login_url: str


class Providers(Answer, frozen=True):
    """The providers that are configured."""

    providers: Sequence[Provider]
    count: int


def section_for(oauth: OAuth) -> Section:
    """Return the endpoints that lead through the configured providers."""
    section = Section("oauth")

    @section.endpoint("GET", "/auth/oauth/providers", answer=Providers, open=True)
    async def list_providers() -> Providers:
        """List the providers."""
        found = [Provider(one.id, one.name, oauth.at(one.id).login_path) for one in oauth.providers]
        return Providers(found, len(found))

    @section.endpoint("GET", "/auth/oauth/:providerId", open=True)
    async def start(request: Request, visitor: Visitor, provider_id: str) -> Redirect:
        """Send the browser to a provider."""
        at = oauth.at(provider_id)
        if request.method == "HEAD":
            return _redirect(at.provider.authorization_url)
        name = _cookie_name(at.is_secure)
        begun = await oauth.start(provider_id, visitor.ip, _cookie(request, name))
        response = _redirect(begun.location)
        cookie = dump_cookie(
            name,
            begun.browser,
            max_age=COOKIE_SECONDS,
            path="/",
            secure=at.is_secure,
            httponly=True,
            samesite="Lax",
        )
        response.add_header("Set-Cookie", cookie)
        return response

    @section.endpoint("GET", "/auth/oauth/:providerId/callback", open=True, failed=_tell_failure)
    async def callback(app: Teamchat, request: Request, visitor: Visitor, provider_id: str) -> Redirect:
        """Take the browser back from a provider, and send it to the application with its tokens."""
        if request.method == "HEAD":
            return _redirect(app.settings.auth.app_url)
        query = _parameters(request.query_string)
        came_back = Callback(
            state=query.get("state"),
            code=query.get("code"),
            error=query.get("error"),
            issuer=query.get("iss"),
            browser=_cookie(request, _cookie_name(oauth.at(provider_id).is_secure)),
            ip=visitor.ip,
            user_agent=visitor.user_agent,
        )
        signed_in = await oauth.finish(provider_id, came_back)
        if isinstance(signed_in, Waiting):
            return _to_application(app, second_factor=signed_in.ticket)
        fragment = {
            "access_token": signed_in.access_token,
            "refresh_token": signed_in.refresh_token,
            "expires_in": str(signed_in.exp),
        }
        if signed_in.earlier_access_ended:
            fragment["earlier_access_ended"] = "true"  # decision D-40
        return _to_application(app, **fragment)

    return section


def _tell_failure(app: Teamchat, error: Exception) -> Redirect:
    """Return the redirect that tells why the callback failed (interface, part 7)."""
    match error:
        case OAuthFailed():
            reason = error.reason
        case TooManyRequests():  # of server.rateLimit
            reason = "rate_limited"
        case NotFound():
            reason = "invalid_state"
        case Unavailable():
            reason = "provider_error"
        case _:
            _log.error("the callback failed", exc_info=error)
            reason = "server_error"
    return _to_application(app, oauth_error=reason)


def _cookie_name(is_secure: bool) -> str:
    """Return the cookie's name; over https its prefix keeps other hosts from setting it (RFC 6265bis)."""
    return f"__Host-{COOKIE}" if is_secure else COOKIE


def _cookie(request: Request, name: str) -> str | None:
    return parse_cookie("; ".join(request.headers.getlist("Cookie"))).get(name)


def _parameters(query: bytes) -> Mapping[str, str]:
    """Return the parameters of the callback, or none at all if one is there twice (RFC 6749, section 3.1)."""
    try:
        pairs = parse_qsl(
            query.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_MOST_PARAMETERS
        )
    except ValueError:
        return {}
    found = [(name, value) for name, value in pairs if name in _PARAMETERS]
    single = dict(found)
    return single if len(single) == len(found) else {}


def _to_application(app: Teamchat, **parameters: str) -> Redirect:
    """Return the redirect to ``auth.appUrl``, whose own query stays."""
    parts = urlsplit(app.settings.auth.app_url)
    query = "&".join(filter(None, [parts.query, urlencode(parameters)]))
    return _redirect(parts._replace(path=parts.path or "/", query=query).geturl())


def _redirect(location: str) -> Redirect:
    return Redirect(iri_to_uri(location))
