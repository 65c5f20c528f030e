"""Defaults, and every key from a file, the environment and flags."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from teamchat.settings import RateLimit, Settings, load
from tests.settings.writing import SECRET, SENTINEL, written


def test_nothing_at_all_gives_the_documented_defaults() -> None:
    settings = load()
    assert settings == Settings()
    assert settings.auth.auth_mode == "password"
    assert settings.auth.is_invite_required is True
    assert settings.auth.magic_link_expiry_seconds == settings.auth.jwt_expiry_seconds == 900
    assert settings.auth.refresh_token_expiry_seconds == 604_800
    assert settings.auth.max_active_sessions == 3
    assert settings.chat.initial_user.email == "admin@localhost"
    assert (settings.server.host, settings.server.port) == ("127.0.0.1", 3000)
    assert (settings.storage.backend, settings.storage.path) == ("sqlite", "./teamchat-data")
    assert Path(settings.images.path or "") == Path("teamchat-data/images")
    assert settings.email is None


def test_d11_a_session_lasts_at_most_ninety_days_by_default() -> None:
    assert load().auth.max_session_seconds == 90 * 24 * 3600


def test_d18_failed_sign_ins_are_limited_by_default_and_other_endpoints_are_not() -> None:
    assert load().auth.rate_limit == RateLimit(attempts=10, window_seconds=900)
    assert load().server.rate_limit is None


def test_d37_a_user_has_twenty_streams_by_default() -> None:
    assert load().events.max_streams_per_user == 20


def test_d04_messages_have_sixteen_thousand_characters_by_default() -> None:
    assert load().chat.max_message_length == 16_000


EVERYTHING = f"""
[auth]
authMode = "magic-link"
jwtSecret = "{SECRET}"
appUrl = "https://chat.example.org"
isInviteRequired = false
magicLinkExpirySeconds = 1
jwtExpirySeconds = 2
refreshTokenExpirySeconds = 3
maxActiveSessions = 4
maxSessionSeconds = 5
allowDevModeOnNetwork = true
rateLimit = {{ attempts = 6, windowSeconds = 7 }}
templates = {{ textVersion = "mails:text", htmlVersion = "my.mails:html" }}
[chat]
maxMessageLength = 8
initialUser = {{ userName = "Ada", email = "ada@example.org", password = "{SENTINEL}" }}
[email]
user = "chat@example.org"
host = "smtp.example.org"
password = "{SENTINEL}"
port = 587
secure = false
emailSubject = "Hello"
maxRetries = 0
[oauth.presets.google]
clientId = "id"
clientSecret = "{SENTINEL}"
redirectUri = "https://chat.example.org/auth/oauth/google/callback"
[[oauth.custom]]
id = "acme"
name = "Acme"
authorizationUrl = "https://acme.example/a"
tokenUrl = "https://acme.example/t"
userInfoUrl = "https://acme.example/u"
clientId = "id"
clientSecret = "{SENTINEL}"
redirectUri = "https://chat.example.org/auth/oauth/acme/callback"
scopes = "email"
[server]
host = "0.0.0.0"
port = 0
allowedOrigins = ["https://a.example"]
trustedProxies = ["10.0.0.0/8", "::1"]
rateLimit = {{ attempts = 9 }}
[storage]
backend = "postgres"
path = "/var/lib/teamchat"
url = "postgres://u:{SENTINEL}@h/d"
[images]
backend = "s3"
bucket = "b"
[events]
maxStreamsPerUser = 10
retentionSeconds = 11
keepAliveSeconds = 12
[plugins]
disabled = ["web"]
"""


def test_every_key_can_be_set_in_toml_and_the_same_in_json(tmp_path: Path) -> None:
    settings = load(written(tmp_path, EVERYTHING))
    again = load(written(tmp_path, json.dumps(tomllib.loads(EVERYTHING)), "teamchat.json"))
    assert settings == again
    assert settings.auth.templates.html_version == "my.mails:html"
    assert settings.email
    assert settings.email.port == 587
    assert settings.oauth.presets["google"].client_secret == SENTINEL
    assert settings.oauth.custom[0].user_info_url == "https://acme.example/u"
    assert settings.server.rate_limit == RateLimit(attempts=9)
    assert list(settings.storage.options) == ["url"]
    assert settings.images.options == {"bucket": "b"}
    assert settings.plugins.disabled == ["web"]
    default = Settings()
    for section in ("auth", "chat", "server", "storage", "images", "events", "plugins", "email", "oauth"):
        assert getattr(settings, section) != getattr(default, section)


def test_a_secret_is_never_shown(tmp_path: Path) -> None:
    settings = load(written(tmp_path, EVERYTHING))
    assert SENTINEL not in repr(settings)
    assert SENTINEL not in f"{settings!s}{settings.auth}{settings.email}{settings.oauth.custom}"
    assert SENTINEL not in str(list(settings.auth.__rich_repr__()))
    assert "jwt_secret=<hidden>" in repr(settings.auth)
    assert "jwt_secret=None" in repr(Settings().auth)


def test_settings_are_frozen() -> None:
    with pytest.raises(AttributeError):
        Settings().server.port = 1  # type: ignore[misc]


def test_flags_go_before_the_environment_before_the_file_before_the_defaults(tmp_path: Path) -> None:
    file = written(tmp_path, '[server]\nport = 1\nhost = "file"\n[events]\nkeepAliveSeconds = 7\n')
    environ = {"TEAMCHAT_SERVER__PORT": "2", "TEAMCHAT_SERVER__HOST": "environment"}
    settings = load(file, environ, port=3)
    assert (settings.server.port, settings.server.host) == (3, "environment")
    assert settings.events.keep_alive_seconds == 7
    assert load(file, environ, host="flag").server.host == "flag"
    assert load(file).server.host == "file"


def test_the_initial_password_comes_from_flag_or_environment_or_file(tmp_path: Path) -> None:
    file = written(tmp_path, '[chat.initialUser]\npassword = "from the file"\n')
    environ = {"INITIAL_USER_PASSWORD": "from the environment"}
    assert load(file).chat.initial_user.password == "from the file"
    assert load(file, environ).chat.initial_user.password == "from the environment"
    flag = load(file, environ, initial_user_password="from the flag")
    assert flag.chat.initial_user.password == "from the flag"
    assert load(file, {"INITIAL_USER_PASSWORD": ""}).chat.initial_user.password == "from the file"
    exact = environ | {"TEAMCHAT_CHAT__INITIALUSER__PASSWORD": "from its own key"}
    assert load(None, exact).chat.initial_user.password == "from its own key"


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("TEAMCHAT_AUTH__AUTHMODE", "dev", lambda s: s.auth.auth_mode == "dev"),
        ("teamchat_auth__AuthMode", "dev", lambda s: s.auth.auth_mode == "dev"),
        ("TEAMCHAT_AUTH__ISINVITEREQUIRED", "False", lambda s: s.auth.is_invite_required is False),
        ("TEAMCHAT_AUTH__ISINVITEREQUIRED", "0", lambda s: s.auth.is_invite_required is False),
        ("TEAMCHAT_AUTH__RATELIMIT__ATTEMPTS", " 3 ", lambda s: s.auth.rate_limit == RateLimit(attempts=3)),
        ("TEAMCHAT_SERVER__RATELIMIT", '{"attempts": 3}', lambda s: s.server.rate_limit.attempts == 3),
        ("TEAMCHAT_PLUGINS__DISABLED", "a, b", lambda s: s.plugins.disabled == ["a", "b"]),
        ("TEAMCHAT_PLUGINS__DISABLED", '["a,b"]', lambda s: s.plugins.disabled == ["a,b"]),
        ("TEAMCHAT_PLUGINS__DISABLED", "", lambda s: s.plugins.disabled == []),
        ("TEAMCHAT_STORAGE__POOLSIZE", "5", lambda s: s.storage.options == {"poolsize": "5"}),
        ("TEAMCHAT_CHAT__INITIALUSER__USERNAME", "true", lambda s: s.chat.initial_user.user_name == "true"),
    ],
)
def test_the_environment_is_parsed_to_the_fields_type(name: str, text: str, found: Any) -> None:
    assert found(load(None, {name: text}))


def test_lists_of_tables_and_free_keys_come_from_the_environment_too() -> None:
    provider = {
        "id": "acme",
        "name": "Acme",
        "authorizationUrl": "https://a.example/a",
        "tokenUrl": "https://a.example/t",
        "userInfoUrl": "https://a.example/u",
        "clientId": "id",
        "clientSecret": {"env": "ACME"},
    }
    environ = {
        "TEAMCHAT_OAUTH__CUSTOM": json.dumps([provider]),
        "TEAMCHAT_OAUTH__PRESETS__GOOGLE__CLIENTID": "id",
        "TEAMCHAT_OAUTH__PRESETS__GOOGLE__CLIENTSECRET__ENV": "GOOGLE",
        "ACME": "one",
        "GOOGLE": "two",
    }
    oauth = load(None, environ).oauth
    assert oauth.custom[0].client_secret == "one"
    assert oauth.presets["google"].client_secret == "two"


def test_variables_that_a_container_platform_sets_are_left_alone() -> None:
    environ = {"TEAMCHAT_PORT": "tcp://10.0.0.1:3000", "TEAMCHAT_SERVICE_HOST": "10.0.0.1", "OTHER__X": "1"}
    assert load(None, environ) == Settings()


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("TEAMCHAT_SERVER_PORT", "TEAMCHAT_SERVER__PORT"),
        ("TEAMCHAT_AUTH_AUTH_MODE", "TEAMCHAT_AUTH__AUTHMODE"),
        ("TEAMCHAT_STORAGE_PATH", "TEAMCHAT_STORAGE__PATH"),
        ("TEAMCHAT_EMAIL_HOST", "TEAMCHAT_EMAIL__HOST"),
        ("teamchat_storage_path", "TEAMCHAT_STORAGE__PATH"),
    ],
)
def test_a_variable_with_one_underscore_is_named_with_the_one_that_was_meant(
    name: str, meant: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert load(None, {name: SENTINEL}) == Settings()
    assert f"The environment variable {name} is not used. Is {meant} meant?" in caplog.text
    assert SENTINEL not in caplog.text


@pytest.mark.parametrize("name", ["TEAMCHAT_PROT", "TEAMCHAT_SERVER_COLOUR", "TEAMCHAT_", "TEAMCHAT_DATA"])
def test_a_variable_that_nothing_uses_is_named(name: str, caplog: pytest.LogCaptureFixture) -> None:
    load(None, {name: SENTINEL})
    assert f"The environment variable {name} is not used. A key has two underscores before it" in caplog.text
    assert SENTINEL not in caplog.text


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TEAMCHAT_PORT", "tcp://10.0.0.1:3000"),
        ("TEAMCHAT_SERVER_PORT", "tcp://10.0.0.1:3000"),
        ("TEAMCHAT_PORT_3000_TCP_ADDR", "10.0.0.1"),
        ("TEAMCHAT_SERVICE_HOST", "10.0.0.1"),
        ("TEAMCHAT_SERVER_SERVICE_PORT_HTTP", "3000"),
        ("TEAMCHAT_CONFIG", "teamchat.toml"),
        ("TEAMCHAT_TEST_STORAGE", "postgres"),
        ("TEAMCHAT_SERVER__PORT", "3001"),
        ("TEAMCHATS_SERVER_PORT", "3001"),
    ],
)
def test_a_variable_of_a_platform_or_of_the_tests_is_not(
    name: str, value: str, caplog: pytest.LogCaptureFixture
) -> None:
    load(None, {name: value})
    assert caplog.text == ""
