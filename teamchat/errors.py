"""Every error teamchat raises on purpose, as one tree.

A `Problem` reaches a client: it has an HTTP status and a sentence (interface, part 7), and never contains a
secret, the text of a message or an internal detail.  An `OperatorError` reaches whoever runs the server: it
names the configuration key, the plugin or the file, and says what to do about it.

    TeamchatError
    ├── Problem                   answered to the client as {"error": sentence}
    │   ├── BadRequest            400
    │   ├── Unauthorized          401
    │   │   └── SecondFactorNeeded  401, with WWW-Authenticate: SecondFactor
    │   ├── Forbidden             403
    │   │   └── CodeNeeded          403, with WWW-Authenticate: SecondFactor
    │   ├── NotFound              404
    │   ├── MethodNotAllowed      405, with Allow
    │   ├── BodyTimeout           408
    │   ├── Conflict              409
    │   ├── Gone                  410
    │   ├── PreconditionFailed    412
    │   ├── TooLarge              413
    │   ├── UnsupportedMedia      415
    │   ├── RangeNotSatisfiable   416, with Content-Range
    │   ├── TooManyRequests       429, with Retry-After
    │   ├── ChecksumMismatch      460
    │   ├── Unavailable           503
    │   └── StorageFull           507
    ├── OperatorError             printed for the operator; `serve` stops
    │   ├── SettingsError         a configuration key is wrong
    │   ├── PluginError           a plugin can't be loaded or clashes
    │   ├── StorageError          the database can't be opened or written
    │   └── ServiceCrashed        a service ended the server
    ├── DeclarationError          code declares an endpoint that can't be served
    ├── MailRefused               the mail server will never take this mail
    ├── MailDelayed               the mail server does not take this mail now
    └── OAuthFailed               sign-in at a provider failed, for a short reason
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar


class TeamchatError(Exception):
    """The root of every error that teamchat raises on purpose."""


class Problem(TeamchatError):
    """A request can't be fulfilled; `status` and the sentence go to the client (interface, part 7)."""

    status: ClassVar[int] = 500

    def __init__(self, sentence: str) -> None:
        # A plugin's sentence may be a subclass of str, which the encoder of answers does not take.
        self.sentence = str.__str__(sentence)
        super().__init__(self.sentence)


class BadRequest(Problem):
    """The body or a parameter is invalid."""

    status = 400


class Unauthorized(Problem):
    """Authentication is missing or invalid."""

    status = 401

    def __init__(self, sentence: str = "Authentication is missing or invalid.") -> None:
        super().__init__(sentence)


class SecondFactorNeeded(Unauthorized):
    """The first factor was right, and the account needs a second (extension M-1); `methods` say which."""

    def __init__(self, methods: Iterable[str], *, is_wrong: bool = False) -> None:
        super().__init__(
            "This code is wrong, or was used already."
            if is_wrong
            else "This account has a second factor: send its code as code."
        )
        self.methods = sorted(methods)


class Forbidden(Problem):
    """The caller is known and may not do this."""

    status = 403

    def __init__(self, sentence: str = "You are not allowed to do this.") -> None:
        super().__init__(sentence)


class CodeNeeded(Forbidden):
    """The caller has to enter a code of their second factor again; `methods` say which.

    Other credentials would be accepted, so the answer says which (RFC 9110, section 11.6.1).
    """

    def __init__(self, sentence: str, methods: Iterable[str]) -> None:
        super().__init__(sentence)
        self.methods = sorted(methods)


class NotFound(Problem):
    """What the path names does not exist, or the caller may not know that it exists."""

    status = 404

    def __init__(self, sentence: str = "Not found.") -> None:
        super().__init__(sentence)


class MethodNotAllowed(Problem):
    """The address does not accept the method; it accepts those in `allowed`."""

    status = 405

    def __init__(self, allowed: Iterable[str]) -> None:
        super().__init__("This address does not take this method.")
        self.allowed = sorted(allowed)


class BodyTimeout(Problem):
    """The body did not arrive in time."""

    status = 408


class Conflict(Problem):
    """What the path names is not in the state that the request assumes."""

    status = 409


class Gone(Problem):
    """What the path names existed, and will not come back."""

    status = 410


class PreconditionFailed(Problem):
    """What the path names does not have the version that the request names (``If-Match``)."""

    status = 412


class TooLarge(Problem):
    """The body is larger than the endpoint accepts (decision D-07a)."""

    status = 413


class UnsupportedMedia(Problem):
    """The request body is encoded in a way the server does not accept (decision D-07a)."""

    status = 415


class RangeNotSatisfiable(Problem):
    """None of the bytes that ``Range`` asks for exist; there are `size` in all (RFC 9110, 15.5.17)."""

    status = 416

    def __init__(self, size: int) -> None:
        super().__init__("There are no such bytes in it.")
        self.size = size


class TooManyRequests(Problem):
    """A limit is reached; `retry_after` is in whole seconds (decision D-06)."""

    status = 429

    def __init__(self, retry_after: int, sentence: str = "Too many attempts. Try again later.") -> None:
        super().__init__(sentence)
        self.retry_after = max(1, retry_after)


class ChecksumMismatch(Problem):
    """What arrived does not match its checksum (tus 1.0, ``Upload-Checksum``); none of it is kept."""

    status = 460


class Unavailable(Problem):
    """The server can't do this now, and nothing was changed; `retry_after` is in whole seconds, if known."""

    status = 503

    def __init__(self, sentence: str, retry_after: int | None = None) -> None:
        super().__init__(sentence)
        self.retry_after = retry_after


class StorageFull(Problem):
    """There is no room for it, on disk or within a limit of the whole server (RFC 4918, section 11.5)."""

    status = 507


class OperatorError(TeamchatError):
    """Something only the operator can fix; the message says what, and how."""


class SettingsError(OperatorError):
    """A configuration key is wrong. The message names the key and never its value."""


class PluginError(OperatorError):
    """A plugin failed to load, or two plugins offer the same name."""


class StorageError(OperatorError):
    """The storage can't be opened, is newer than this version knows, or failed to commit."""


class ServiceCrashed(OperatorError):
    """A service raised; the server ends rather than limp on half alive.

    `bringer` is the plugin that brought the service, if one did, and `remedy` how to do without that plugin.
    """

    def __init__(self, service: str, bringer: str | None = None, remedy: str = "") -> None:
        whose = "" if bringer is None else f" of {bringer}"
        sentence = f"The service {service!r}{whose} crashed; the server has ended. The log above says why."
        super().__init__(f"{sentence} {remedy}".rstrip())
        self.service = service
        self.bringer = bringer or "teamchat itself"


class DeclarationError(TeamchatError, TypeError):
    """Code declares an endpoint that can't be served. The message contains only what the code names."""


class MailRefused(TeamchatError):
    """The mail server will not take this mail, now or later (a 5xx of SMTP, RFC 5321 section 4.2.1).

    The message may contain the code of the reply; never the recipient, and nothing of the mail.
    """


class MailDelayed(TeamchatError):
    """The mail server does not take this mail now, but may later (a 4xx of SMTP for it or its recipient).

    It says nothing about other mails, which are sent meanwhile.  The message may contain the code of the
    reply; never the recipient, and nothing of the mail.
    """


class OAuthFailed(TeamchatError):
    """Sign-in at a provider failed; `reason` is what ``oauth_error`` says (interface, part 4; D-20).

    `reason` is one of a few fixed words, such as ``invalid_state``; nothing of what the provider said.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
