"""Settings: every source, every kind of mistake, and what must never be told."""

from __future__ import annotations

import json
import os
import re
import stat
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta, Struct

from teamchat.errors import SettingsError
from teamchat.interfaces import Backend
from teamchat.settings import RateLimit, Settings, backend_options, jwt_secret, load, sample
from teamchat.settings.reading import Kind, Reader
from teamchat.storage.sqlite import SqliteOptions, open_sqlite

SENTINEL = "s3ntinel-value-that-must-not-be-told"
SECRET = "x" * 16 + SENTINEL


def written(directory: Path, text: str, name: str = "teamchat.toml") -> Path:
    file = directory / name
    file.write_text(text)
    return file


def refused(text: str, tmp_path: Path, environ: dict[str, str] | None = None) -> str:
    """Return the sentence with which a configuration is refused; it never holds the sentinel."""
    with pytest.raises(SettingsError) as caught:
        load(written(tmp_path, text), environ)
    sentence = str(caught.value)
    assert SENTINEL not in sentence
    assert "\n" not in sentence
    assert caught.value.__cause__ is None
    return sentence


def keys(kind: type[Struct], path: str = "") -> Iterator[tuple[str, Any]]:
    for field in msgspec.structs.fields(kind):
        found = Kind.of(field.type)
        name = f"{path}.{field.encode_name}".lstrip(".")
        if found.struct:
            yield from keys(found.struct, name)
        elif field.name != "options":
            yield name, field


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
    ("text", "sentence"),
    [
        ('[auth]\nauthmode = "x"', "auth.authmode is not a key of the configuration. Did you mean authMode?"),
        (
            '[auth]\njwt_secret = "x"',
            "auth.jwt_secret is not a key of the configuration. Did you mean jwtSecret?",
        ),
        ("[auth.rateLimit]\nattemps = 1", "auth.rateLimit.attemps is not a key of the configuration."),
        ("[zebra]", "zebra is not a key of the configuration."),
        ("[oauth.presets.google]\nclientID = 1", "oauth.presets.google.clientID is not a key"),
        ("[[oauth.custom]]\nclientID = 1", "oauth.custom[0].clientID is not a key"),
        ("[email]\nhost = ' '", "email.host must not be blank."),
        (f"server = '{SENTINEL}'", "server must be a table."),
        (f"[server]\nport = '{SENTINEL}'", "server.port must be a whole number from 0 to 65535."),
        ("[server]\nport = 65536", "server.port must be a whole number from 0 to 65535."),
        ("[server]\nport = true", "server.port must be a whole number from 0 to 65535."),
        ("[server]\nport = 1.5", "server.port must be a whole number from 0 to 65535."),
        ("[auth]\njwtExpirySeconds = 0", "auth.jwtExpirySeconds must be a whole number from 1 to"),
        ("[auth]\nrateLimit.attempts = -1", "auth.rateLimit.attempts must be a whole number from 1 to"),
        (f"[auth]\nisInviteRequired = '{SENTINEL}'", "auth.isInviteRequired must be true or false."),
        (f"[server]\nallowedOrigins = '{SENTINEL}'", "server.allowedOrigins must be a list, each item text."),
        ("[server]\nallowedOrigins = [1]", "server.allowedOrigins must be a list, each item text."),
        ("[server]\nallowedOrigins = ['https://a.example/']", "server.allowedOrigins[0] must be an origin"),
        (f"[server]\ntrustedProxies = ['{SENTINEL}']", "server.trustedProxies[0] must be an IP address"),
        ("[auth]\njwtSecret = 5", "auth.jwtSecret must be text."),
        (f"[auth]\njwtSecret = {{ fiel = '{SENTINEL}' }}", "auth.jwtSecret must be text, {file"),
        (f"[auth]\njwtSecret = {{ env = '{SENTINEL}' }}", "auth.jwtSecret.env names an environment variable"),
        (
            f"[auth]\njwtSecret = {{ file = '{SENTINEL}' }}",
            "auth.jwtSecret.file names a file that can't be read",
        ),
        (f"[auth]\nappUrl = 'ftp://{SENTINEL}'", "auth.appUrl must be an http:// or https:// URL."),
        (f"[auth]\nappUrl = '{SENTINEL}'", "auth.appUrl must be an http:// or https:// URL."),
        ("[auth]\nappUrl = 'https://'", "auth.appUrl must be an http:// or https:// URL."),
        ("[auth]\nappUrl = 'https://a:99999'", "auth.appUrl must be an http:// or https:// URL."),
        ("[auth]\nauthMode = ' '", "auth.authMode must not be blank."),
        (f"[auth.templates]\ntextVersion = '{SENTINEL}'", "auth.templates.textVersion must be written as"),
        ("[chat.initialUser]\npassword = 'short'", "chat.initialUser.password must have 8 to 1024"),
        (f"[chat.initialUser]\nemail = '{SENTINEL}'", "chat.initialUser.email is not a valid address."),
        ("[chat.initialUser]\nuserName = ''", "chat.initialUser.userName is blank."),
        ("oauth.custom = [1]", "oauth.custom[0] must be a table."),
        ("oauth.presets = [1]", "oauth.presets must be a table."),
        (f"[server\n{SENTINEL}", "is not valid TOML (at line 1"),
    ],
)
def test_a_mistake_is_told_by_its_key_and_never_by_its_value(
    text: str, sentence: str, tmp_path: Path
) -> None:
    assert sentence in refused(text, tmp_path)


def test_broken_json_and_files_of_another_kind_are_refused(tmp_path: Path) -> None:
    for text in (
        f'{{"auth": "{SENTINEL}',
        "[1]",
        "\ud800".encode("utf-16", "surrogatepass").decode("latin-1"),
    ):
        with pytest.raises(SettingsError) as caught:
            load(written(tmp_path, text, "teamchat.json"))
        assert SENTINEL not in str(caught.value)
    with pytest.raises(SettingsError, match=r"must end in \.toml or \.json"):
        load(written(tmp_path, "", "teamchat.yaml"))
    with pytest.raises(SettingsError, match=r"can't be read \(FileNotFoundError\)"):
        load(tmp_path / "nowhere.toml")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("TEAMCHAT_SERVER__PORT", "server.port must be a whole number"),
        ("TEAMCHAT_AUTH__NOPE", "auth.nope is not a key"),
        ("TEAMCHAT_SERVER__ALLOWEDORIGINS", r"server.allowedOrigins\[0\] must be"),
        ("TEAMCHAT_SERVER__RATELIMIT", "server.rateLimit must be a table, written as JSON"),
        ("TEAMCHAT_OAUTH__CUSTOM", "oauth.custom must be a list, each item a table, written as JSON"),
        ("TEAMCHAT_AUTH__", "does not name a key"),
        ("TEAMCHAT_AUTH__AUTHMODE__X", "auth.authMode must be text"),
    ],
)
def test_a_mistake_in_the_environment_is_told_the_same_way(name: str, sentence: str) -> None:
    with pytest.raises(SettingsError, match=sentence) as caught:
        load(None, {name: SENTINEL})
    assert SENTINEL not in str(caught.value)


def test_two_variables_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(SettingsError, match="name the same key"):
        load(None, {"TEAMCHAT_AUTH__X": "1", "TEAMCHAT_AUTH__X__Y": "1"})


def test_a_secret_may_stand_in_a_file_or_another_variable(tmp_path: Path) -> None:
    secret = written(tmp_path, SECRET + "\n", "secret")
    file = written(tmp_path, f"[auth]\njwtSecret = {{ file = '{secret}' }}\n[email]\nuser='u'\nhost='h'\n")
    environ = {"TEAMCHAT_EMAIL__PASSWORD__ENV": "SMTP", "SMTP": "from elsewhere"}
    settings = load(file, environ)
    assert settings.auth.jwt_secret == SECRET
    assert settings.email
    assert settings.email.password == "from elsewhere"
    instead = load(file, {"TEAMCHAT_AUTH__JWTSECRET__ENV": "S", "S": "y" * 40})
    assert instead.auth.jwt_secret == "y" * 40


def test_only_a_secret_may_stand_elsewhere(tmp_path: Path) -> None:
    assert "auth.authMode must be text." in refused("[auth]\nauthMode = { env = 'HOME' }", tmp_path)


# D-10


def test_d10_a_secret_shorter_than_32_bytes_is_refused(tmp_path: Path) -> None:
    sentence = refused(f"[auth]\njwtSecret = '{SENTINEL[:31]}'", tmp_path)
    assert sentence.startswith("auth.jwtSecret is shorter than 32 bytes.")
    assert SENTINEL[:8] not in sentence
    assert load(written(tmp_path, f"[auth]\njwtSecret = '{'ä' * 16}'")).auth.jwt_secret == "ä" * 16


def at(path: Path) -> Settings:
    return load(None, {"TEAMCHAT_STORAGE__PATH": str(path)})


def test_d10_without_a_secret_one_is_generated_and_kept_for_the_owner_alone(tmp_path: Path) -> None:
    data = tmp_path / "a" / "data"
    old = os.umask(0)
    try:
        secret = jwt_secret(at(data))
    finally:
        os.umask(old)
    assert len(secret) >= 32
    assert jwt_secret(at(data)) == secret
    assert stat.S_IMODE((data / "jwt-secret").stat().st_mode) == 0o600
    assert stat.S_IMODE(data.stat().st_mode) == 0o700
    assert os.listdir(data) == ["jwt-secret"]
    assert jwt_secret(at(tmp_path / "other")) != secret


def test_d10_a_configured_secret_is_used_and_nothing_is_written(tmp_path: Path) -> None:
    settings = load(None, {"TEAMCHAT_AUTH__JWTSECRET": SECRET, "TEAMCHAT_STORAGE__PATH": str(tmp_path / "d")})
    assert jwt_secret(settings) == SECRET.encode()
    assert not (tmp_path / "d").exists()


def test_d10_servers_that_start_at_once_agree_on_the_secret(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(lambda _: jwt_secret(at(tmp_path / "data")), range(8)))
    assert len(found) == 1


def test_d10_a_widened_mode_is_narrowed_and_a_damaged_file_is_refused(tmp_path: Path) -> None:
    jwt_secret(at(tmp_path))
    (tmp_path / "jwt-secret").chmod(0o644)
    jwt_secret(at(tmp_path))
    assert stat.S_IMODE((tmp_path / "jwt-secret").stat().st_mode) == 0o600
    (tmp_path / "jwt-secret").write_text("")
    with pytest.raises(SettingsError, match="damaged"):
        jwt_secret(at(tmp_path))


def test_d10_a_data_directory_that_can_not_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match=r"^storage\.path: "):
        jwt_secret(at(tmp_path / "file" / "data"))


# Options of backends


class PoolOptions(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    url: str
    pool_size: Annotated[int, Meta(ge=1)] = 4
    hosts: list[str] = []


@asynccontextmanager
async def opened(options: Struct) -> Any:
    yield options


POOL: Backend[Any] = Backend("pool", opened, PoolOptions)


def test_a_backends_options_are_filled_from_its_section(tmp_path: Path) -> None:
    settings = load(
        written(tmp_path, "[storage]\nbackend = 'pool'\nurl = { env = 'URL' }\npoolSize = 2\nhosts = ['a']"),
        {"URL": "from env", "TEAMCHAT_STORAGE__POOLSIZE": "3", "TEAMCHAT_STORAGE__HOSTS": "b,c"},
    )
    assert backend_options(settings.storage, POOL) == PoolOptions("from env", 3, ["b", "c"])
    assert "from env" not in repr(settings)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "url = 'u'\npoolsize = 2",
            "storage.poolsize is not a key of the configuration. Did you mean poolSize?",
        ),
        (f"url = 'u'\npoolSize = '{SENTINEL}'", "storage.poolSize must be a whole number of at least 1."),
        ("url = 'u'\npoolSize = 0", "storage.poolSize must be a whole number of at least 1."),
        ("poolSize = 1", "storage.url is missing."),
    ],
)
def test_a_mistake_in_a_backends_options_names_the_key(text: str, sentence: str, tmp_path: Path) -> None:
    section = load(written(tmp_path, f"[storage]\n{text}")).storage
    with pytest.raises(SettingsError) as caught:
        backend_options(section, POOL)
    assert str(caught.value) == sentence


def test_the_path_is_given_to_a_backend_that_has_one(tmp_path: Path) -> None:
    settings = at(tmp_path / "d")
    sqlite: Backend[Any] = Backend("sqlite", open_sqlite, SqliteOptions)
    assert backend_options(settings.storage, sqlite) == SqliteOptions(str(tmp_path / "d"))
    assert backend_options(settings.images, sqlite) == SqliteOptions(str(tmp_path / "d" / "images"))
    elsewhere = load(None, {"TEAMCHAT_IMAGES__PATH": "/elsewhere"})
    assert backend_options(elsewhere.images, sqlite) == SqliteOptions("/elsewhere")


# The sample file


def test_the_sample_as_written_loads_to_the_defaults(tmp_path: Path) -> None:
    assert load(written(tmp_path, sample())) == Settings()


def test_the_sample_parses_with_every_line_uncommented_and_holds_every_key(tmp_path: Path) -> None:
    text = re.sub(r"(?m)^#(?=\S)", "", sample())
    tree = tomllib.loads(text)
    environ = dict.fromkeys(re.findall(r'env = "(\w+)"', text), "z" * 40)
    settings = load(written(tmp_path, text), environ)
    assert settings.email
    assert settings.oauth.presets
    assert settings.oauth.custom
    for name, _ in keys(Settings):
        node = tree
        for part in name.split("."):
            assert part in node, name
            node = node[part]


def test_the_sample_holds_no_secret_that_someone_could_leave_in_place() -> None:
    for line in sample().splitlines():
        if re.match(r"#\w*(secret|password)\w* =", line, re.IGNORECASE):
            assert "env = " in line


def test_every_key_is_described() -> None:
    for name, field in keys(Settings):
        kind = Kind.of(field.type)
        assert kind.meta, name
        assert kind.meta.description, name


# Whatever stands in a file or the environment, there are settings or one clear error

trees = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.just(SENTINEL) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
names = [name for name, _ in keys(Settings)]


def complaint(tree: Any, environ: dict[str, str]) -> str | None:
    """Return what is told about a configuration, if it is refused."""
    try:
        load(None, environ) if environ else Reader({}).read(tree, Settings, "")
    except SettingsError as error:
        return str(error)
    return None


@given(st.sampled_from(names), trees)
def test_any_value_of_any_key_is_taken_or_refused_by_that_key(name: str, value: Any) -> None:
    tree = value
    for part in reversed(name.split(".")):
        tree = {part: tree}
    told = complaint(tree, {})
    assert told is None or (told.startswith(name.split(".")[0]) and SENTINEL not in told)


@given(st.sampled_from(names), st.text(max_size=20))
def test_any_text_in_the_environment_is_taken_or_refused_by_its_key(name: str, text: str) -> None:
    told = complaint({}, {"TEAMCHAT_" + name.replace(".", "__").upper(): text})
    assert told is None or told.startswith(name.split(".")[0])
