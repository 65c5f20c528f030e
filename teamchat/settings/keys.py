"""Every configuration key, its type, its default and what it means; the camelCase name is the key.

A key is here once, with its description, and everything else (reading, checking ranges, ``teamchat init``) is
derived from it. A table's description is its docstring. A field marked as secret never shows in a `repr`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta, field

from teamchat.settings.section import Gathering, Section

_TEN_YEARS = 315_360_000


class RateLimit(Section, frozen=True):
    """At most `attempts` in a window of `windowSeconds`."""

    attempts: Annotated[int, Meta(ge=1, le=1_000_000, description="How many are allowed in one window.")] = 10
    window_seconds: Annotated[int, Meta(ge=1, le=_TEN_YEARS, description="The window, in seconds.")] = 900


class Templates(Section, frozen=True):
    """Functions (magicLink, expiryMinutes) that return the magic-link mail, as module:function."""

    text_version: Annotated[
        str | None, Meta(description="The function for the text.", examples=["my_mails:text_version"])
    ] = None
    html_version: Annotated[
        str | None, Meta(description="The function for the HTML.", examples=["my_mails:html_version"])
    ] = None


class AuthSettings(Section, frozen=True):
    """How people sign in, and how long they stay signed in."""

    auth_mode: Annotated[
        str, Meta(description="The way to sign in: password, magic-link, dev, or one that a plugin offers.")
    ] = "password"
    jwt_secret: Annotated[
        str | None,
        Meta(
            description="Signs access tokens; at least 32 bytes. Without it one is made, in storage.path.",
            examples=[{"env": "JWT_SECRET"}],
            extra={"secret": True},
        ),
    ] = None
    app_url: Annotated[str, Meta(description="The public URL of the application.")] = "http://localhost:3000"
    is_invite_required: Annotated[bool, Meta(description="Whether only admins add users.")] = True
    magic_link_expiry_seconds: Annotated[
        int, Meta(ge=1, le=_TEN_YEARS, description="How long a sign-in link works, in seconds.")
    ] = 900
    invite_expiry_seconds: Annotated[
        int, Meta(ge=1, le=_TEN_YEARS, description="How long an invitation works, in seconds.")
    ] = 604_800
    reset_expiry_seconds: Annotated[
        int, Meta(ge=1, le=_TEN_YEARS, description="How long a link to a new password works, in seconds.")
    ] = 3600
    jwt_expiry_seconds: Annotated[
        int, Meta(ge=1, le=_TEN_YEARS, description="How long an access token works, in seconds.")
    ] = 900
    refresh_token_expiry_seconds: Annotated[
        int, Meta(ge=1, le=_TEN_YEARS, description="How long a refresh token works, in seconds.")
    ] = 604_800
    max_active_sessions: Annotated[
        int, Meta(ge=1, le=1_000_000, description="Sessions a user; a sign-in beyond it ends the oldest.")
    ] = 3
    max_session_seconds: Annotated[
        int,
        Meta(
            ge=1, le=_TEN_YEARS, description="How long a session may be refreshed after sign-in, in seconds."
        ),
    ] = 7_776_000
    allow_dev_mode_on_network: Annotated[
        bool, Meta(description="Let the dev mode, which asks for no password, listen on more than loopback.")
    ] = False
    must_change_set_passwords: Annotated[
        bool, Meta(description="Whether a password that an admin set must be changed at the next sign-in.")
    ] = False
    second_factor: Annotated[
        Literal["optional", "admins", "all"],
        Meta(description="Who must have a second factor: nobody (optional), admins, or all."),
    ] = "optional"
    rate_limit: Annotated[
        RateLimit, Meta(description="Failed sign-ins and token checks, for each account and each address.")
    ] = field(default_factory=RateLimit)
    templates: Templates = field(default_factory=Templates)

    @property
    def modes(self) -> Sequence[str]:
        """The names of the ways to sign in that are open. The configuration names one."""
        return (self.auth_mode,)


class InitialUser(Section, frozen=True):
    """The admin that is made on the first start."""

    user_name: Annotated[str, Meta(description="The name.")] = "Admin"
    email: Annotated[str, Meta(description="The email address to sign in with.")] = "admin@localhost"
    password: Annotated[
        str | None,
        Meta(
            description="8 to 1024 characters, for the first start. Without it one is made and shown once.",
            examples=[{"env": "ADMIN_PASSWORD"}],
            extra={"secret": True},
        ),
    ] = None


class ChatSettings(Section, frozen=True):
    """The chat itself."""

    max_message_length: Annotated[
        int, Meta(ge=1, le=100_000, description="The longest message, in characters.")
    ] = 16_000
    retention_days: Annotated[
        int,
        Meta(ge=0, le=36_500, description="Messages older than so many days are removed; 0 keeps all."),
    ] = 0
    public_channels_by: Annotated[
        Literal["admins", "everyone"], Meta(description="Who makes public channels: admins or everyone.")
    ] = "admins"
    private_channels_by: Annotated[
        Literal["admins", "everyone"],
        Meta(
            description="Who makes new private channels: admins or everyone. Everybody converts a group they "
            "are in, and managers make their channel private, in either case."
        ),
    ] = "everyone"
    new_channels_are_default: Annotated[
        bool,
        Meta(description="Whether everybody is a member of a new public channel that says nothing else."),
    ] = True
    admins_may_enter: Annotated[
        bool,
        Meta(description="Whether admins may enter private channels; their members are notified."),
    ] = True
    wide_mentions: Annotated[
        Literal["everyone", "managers", "nobody"],
        Meta(description="Who mentions a whole channel: everyone, managers and admins, or nobody."),
    ] = "everyone"
    wide_limit: Annotated[
        int,
        Meta(
            ge=0,
            le=1_000_000,
            description="In channels of more members, managers and admins alone mention all of them.",
        ),
    ] = 50
    edit_history: Annotated[
        Literal["everyone", "author", "nobody"],
        Meta(
            description="Who reads what a message said before it was edited: everyone who sees it, its author"
            " (author) and the managers of the channel, or nobody, and then nothing of it is kept."
        ),
    ] = "author"
    bots_by: Annotated[
        Literal["admins", "everyone"],
        Meta(description="Who makes bots: admins, or everyone, who manages their own alone."),
    ] = "admins"
    initial_user: InitialUser = field(default_factory=InitialUser)


class BackendSection(Gathering, frozen=True, kw_only=True):
    """A table that chooses a backend; keys other than its own are gathered for that backend."""

    key: ClassVar[str]

    backend: Annotated[str, Meta(description="Which one.")]


class EmailSettings(BackendSection, frozen=True):
    """How mail is sent. Without this table the server sends none."""

    key: ClassVar[str] = "email"

    backend: Annotated[
        str, Meta(description="The mailer: smtp, files (for development), or one that a plugin offers.")
    ] = "smtp"
    user: Annotated[
        str | None,
        Meta(description="The account at the SMTP server (smtp).", examples=["chat@example.org"]),
    ] = None
    password: Annotated[
        str | None,
        Meta(
            description="The account's password (smtp).",
            examples=[{"env": "SMTP_PASSWORD"}],
            extra={"secret": True},
        ),
    ] = None
    host: Annotated[
        str | None, Meta(description="The SMTP server (smtp).", examples=["smtp.example.org"])
    ] = None
    port: Annotated[int, Meta(ge=1, le=65_535, description="The SMTP server's port (smtp).")] = 465
    secure: Annotated[
        bool,
        Meta(
            description="Whether the connection begins with TLS; if not, STARTTLS is used where it is offered"
            " (smtp)."
        ),
    ] = True
    ca_file: Annotated[
        str | None,
        Meta(
            description="A file with the certificates of a private CA to trust (smtp).",
            examples=["/etc/tls/ca.pem"],
        ),
    ] = None
    sender: Annotated[
        str | None,
        Meta(
            description="The sender's address. Without it, email.user.",
            examples=["Team chat <chat@example.org>"],
        ),
    ] = None
    path: Annotated[
        str | None,
        Meta(
            description="The directory (files). Without it, `mails` in storage.path.",
            examples=["./teamchat-data/mails"],
        ),
    ] = None
    email_subject: Annotated[str, Meta(description="The subject of the magic-link mail.")] = (
        "Your sign-in link"
    )
    max_retries: Annotated[
        int,
        Meta(
            ge=0,
            le=100,
            description="How often a mail that was refused for good is tried again. Other failures are tried"
            " again for as long as the mail's link works.",
        ),
    ] = 2


_ClientId = Annotated[str, Meta(description="The client id the provider gave.", examples=["my-client-id"])]
_ClientSecret = Annotated[
    str,
    Meta(
        description="The client secret the provider gave.",
        examples=[{"env": "OAUTH_CLIENT_SECRET"}],
        extra={"secret": True},
    ),
]


class OAuthPreset(Section, frozen=True):
    """Credentials for a provider that is built in."""

    client_id: _ClientId
    client_secret: _ClientSecret
    redirect_uri: Annotated[
        str | None,
        Meta(
            description="{base_url}/auth/oauth/<id>/callback; without it, made from auth.appUrl.",
            examples=["https://chat.example.org/auth/oauth/google/callback"],
        ),
    ] = None
    tenant: Annotated[
        str | None,
        Meta(
            description="Microsoft alone: the only directory whose users may sign in, by its id.",
            examples=["00000000-0000-0000-0000-000000000000"],
        ),
    ] = None
    authorization_url: Annotated[
        str | None,
        Meta(
            description="Where the browser goes, for a provider of your own, such as a GitLab you run.",
            examples=["https://gitlab.example.org/oauth/authorize"],
        ),
    ] = None
    token_url: Annotated[
        str | None,
        Meta(
            description="Where codes are exchanged, likewise.",
            examples=["https://gitlab.example.org/oauth/token"],
        ),
    ] = None
    user_info_url: Annotated[
        str | None,
        Meta(
            description="Where the profile is read, likewise.",
            examples=["https://gitlab.example.org/api/v4/user"],
        ),
    ] = None


class CustomProvider(Section, frozen=True):
    """An OAuth provider that is not built in."""

    id: Annotated[
        str, Meta(description="Lower-case letters, digits and hyphens; part of URLs.", examples=["acme"])
    ]
    name: Annotated[str, Meta(description="The name on the sign-in button.", examples=["Acme"])]
    authorization_url: Annotated[
        str, Meta(description="Where the browser goes.", examples=["https://id.example.org/authorize"])
    ]
    token_url: Annotated[
        str, Meta(description="Where codes are exchanged.", examples=["https://id.example.org/token"])
    ]
    user_info_url: Annotated[
        str, Meta(description="Where the profile is read.", examples=["https://id.example.org/userinfo"])
    ]
    client_id: _ClientId
    client_secret: _ClientSecret
    redirect_uri: Annotated[
        str | None,
        Meta(
            description="{base_url}/auth/oauth/<id>/callback; without it, made from auth.appUrl.",
            examples=["https://chat.example.org/auth/oauth/acme/callback"],
        ),
    ] = None
    scopes: Annotated[str, Meta(description="Separated by spaces.")] = "openid email profile"
    is_email_trusted: Annotated[
        bool,
        Meta(
            description="Accept the profile's email though the provider does not say that it is verified."
            " Only for a provider at which nobody can enter another's address."
        ),
    ] = False


class OidcClaims(Section, frozen=True):
    """What claims of an ID token, or of the profile, are called at a provider."""

    groups: Annotated[
        str,
        Meta(
            description="The claim with a user's groups; dots lead into objects.",
            examples=["realm_access.roles"],
        ),
    ] = "groups"


class OidcProvider(Section, frozen=True):
    """A provider of identities that speaks OpenID Connect; its addresses are found by its issuer."""

    id: Annotated[
        str, Meta(description="Lower-case letters, digits and hyphens; part of URLs.", examples=["company"])
    ]
    name: Annotated[str, Meta(description="The name on the sign-in button.", examples=["Acme"])]
    issuer: Annotated[
        str,
        Meta(
            description="Its issuer, letter by letter. <issuer>/.well-known/openid-configuration is read at"
            " the start and daily. http:// on the loopback alone.",
            examples=["https://id.example.org/realms/acme"],
        ),
    ]
    client_id: _ClientId
    client_secret: _ClientSecret
    redirect_uri: Annotated[
        str | None,
        Meta(
            description="{base_url}/auth/oauth/<id>/callback; without it, made from auth.appUrl.",
            examples=["https://chat.example.org/auth/oauth/company/callback"],
        ),
    ] = None
    scopes: Annotated[str, Meta(description="Separated by spaces; openid is among them.")] = (
        "openid email profile"
    )
    claims: Annotated[OidcClaims, Meta(description="What claims are called there.")] = OidcClaims()
    admin_groups: Annotated[
        list[str],
        Meta(
            description="Groups whose members are admins here, and nobody else who signs in there; it is"
            " looked at on each sign-in. Without any, the provider says nothing of admins.",
            examples=[["chat-admins"]],
        ),
    ] = field(default_factory=list)
    is_email_trusted: Annotated[
        bool,
        Meta(
            description="Accept an email though the provider does not say that it is verified."
            " Only for a provider at which nobody can enter another's address."
        ),
    ] = False


class OAuthSettings(Section, frozen=True):
    """Sign-in through other services, beside the chosen mode."""

    presets: Annotated[
        dict[str, OAuthPreset],
        Meta(description="Credentials for a built-in provider, by its id.", examples=["google"]),
    ] = field(default_factory=dict)
    custom: Annotated[
        list[CustomProvider], Meta(description="A provider that is not built in; may be repeated.")
    ] = field(default_factory=list)
    oidc: Annotated[
        list[OidcProvider], Meta(description="A provider that speaks OpenID Connect; may be repeated.")
    ] = field(default_factory=list)
    rate_limit: Annotated[
        RateLimit, Meta(description="Sign-ins begun, and sign-ins ended, for each address.")
    ] = field(default_factory=RateLimit)


class TlsSettings(Section, frozen=True):
    """The certificate the server shows. Without this table it speaks plain HTTP, for a proxy in front."""

    certificate: Annotated[
        str,
        Meta(
            description="The file with the certificate and its chain (PEM).", examples=["/etc/tls/chat.pem"]
        ),
    ]
    key: Annotated[
        str, Meta(description="The file with its private key (PEM).", examples=["/etc/tls/chat.key"])
    ]
    http2: Annotated[
        bool,
        Meta(
            description="Offer HTTP/2, which browsers then choose. It costs the server several times as much."
        ),
    ] = True


class ServerSettings(Section, frozen=True):
    """Where the server listens."""

    host: Annotated[str, Meta(description="The address to listen on.")] = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65_535, description="The port; 0 takes a free one.")] = 3000
    allowed_origins: Annotated[
        list[str],
        Meta(
            description="Origins of web pages that may call the server, beside that of auth.appUrl.",
            examples=[["https://chat.example.org"]],
        ),
    ] = field(default_factory=list)
    trusted_proxies: Annotated[
        list[str],
        Meta(
            description="Addresses or networks of proxies whose X-Forwarded-For is believed.",
            examples=[["127.0.0.1", "10.0.0.0/8"]],
        ),
    ] = field(default_factory=list)
    rate_limit: Annotated[
        RateLimit | None,
        Meta(description="Requests to any endpoint, for each address. Without it, no limit."),
    ] = None
    tls: TlsSettings | None = None
    http1: Annotated[
        str, Meta(description="What serves HTTP/1.1: native, or hypercorn, which serves HTTP/2 in any case.")
    ] = "native"
    workers: Annotated[
        Annotated[int, Meta(ge=1, le=256)] | Literal["auto"],
        Meta(description="Processes that serve: a number, or auto for one a processor."),
    ] = 1
    access_log: Annotated[
        bool, Meta(description="Write a line for every request: method, path, status, time, address.")
    ] = False


class StorageSettings(BackendSection, frozen=True):
    """Where everything is kept. Keys not named here are the backend's own."""

    key: ClassVar[str] = "storage"

    backend: Annotated[str, Meta(description="The storage: sqlite, or one that a plugin offers.")] = "sqlite"
    path: Annotated[
        str, Meta(description="The data directory; the generated auth.jwtSecret is kept there too.")
    ] = "./teamchat-data"


class ImagesSettings(BackendSection, frozen=True):
    """Where images are kept. Keys not named here are the backend's own."""

    key: ClassVar[str] = "images"

    backend: Annotated[str, Meta(description="The image store: files, or one that a plugin offers.")] = (
        "files"
    )
    path: Annotated[
        str | None,
        Meta(
            description="The directory. Without it, `images` in storage.path.",
            examples=["./teamchat-data/images"],
        ),
    ] = None


class EventsSettings(Section, frozen=True):
    """The event stream."""

    max_streams_per_user: Annotated[
        int, Meta(ge=1, le=1_000_000, description="Open streams a user; beyond it the oldest is closed.")
    ] = 20
    retention_seconds: Annotated[
        int, Meta(ge=1, le=_TEN_YEARS, description="How far back a stream can resume, in seconds.")
    ] = 86_400
    keep_alive_seconds: Annotated[
        int, Meta(ge=1, le=3600, description="How often an idle stream is sent a comment, in seconds.")
    ] = 15


class AuditSettings(Section, frozen=True):
    """The audit log: who did what."""

    retention_days: Annotated[
        int, Meta(ge=1, le=36_500, description="How long its entries are kept, in days.")
    ] = 400


class LogsSettings(Section, frozen=True):
    """What is written to stderr, and how."""

    level: Annotated[
        str, Meta(description="From which level on: debug, info, warning or error. Debug is teamchat's own.")
    ] = "info"
    format: Annotated[str, Meta(description="json, one object a line, or text, for people.")] = "json"


class PluginsSettings(Gathering, frozen=True):
    """The plugins that are installed; [plugins.<name>] holds the keys of one of them."""

    disabled: Annotated[
        list[str],
        Meta(description="Names of plugins that are not loaded; `teamchat plugins` lists them."),
    ] = field(default_factory=list)


class Settings(Section, frozen=True):
    """The whole configuration."""

    server: ServerSettings = field(default_factory=ServerSettings)
    auth: AuthSettings = field(default_factory=AuthSettings)
    chat: ChatSettings = field(default_factory=ChatSettings)
    storage: StorageSettings = field(default_factory=StorageSettings)
    images: ImagesSettings = field(default_factory=ImagesSettings)
    events: EventsSettings = field(default_factory=EventsSettings)
    email: EmailSettings | None = None
    oauth: OAuthSettings = field(default_factory=OAuthSettings)
    logs: LogsSettings = field(default_factory=LogsSettings)
    audit: AuditSettings = field(default_factory=AuditSettings)
    plugins: PluginsSettings = field(default_factory=PluginsSettings)

    def __post_init__(self) -> None:
        """Put images and mails beside the data unless they are configured elsewhere."""
        if self.images.path is None:
            images = msgspec.structs.replace(self.images, path=str(Path(self.storage.path) / "images"))
            msgspec.structs.force_setattr(self, "images", images)
        if self.email is not None and self.email.path is None:
            email = msgspec.structs.replace(self.email, path=str(Path(self.storage.path) / "mails"))
            msgspec.structs.force_setattr(self, "email", email)
