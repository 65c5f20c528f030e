"""Every kind of mistake is told by its key, and never by its value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teamchat.errors import SettingsError
from teamchat.settings import Settings, load
from teamchat.settings.reading import Reader
from tests.settings.writing import SENTINEL, keys, refused, written


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
        ("[storage]\npath = '~/chat'", "storage.path must be written out: ~ is not replaced here."),
        ("[images]\npath = '~root'", "images.path must be written out: ~ is not replaced here."),
        (f"[auth]\nsecondFactor = '{SENTINEL}'", "auth.secondFactor must be optional, admins or all."),
        ("[chat]\nbotsBy = true", "chat.botsBy must be admins or everyone."),
        (f"[auth.templates]\ntextVersion = '{SENTINEL}'", "auth.templates.textVersion must be written as"),
        ("[chat.initialUser]\npassword = 'short'", "chat.initialUser.password must have 8 to 1024"),
        (f"[chat.initialUser]\nemail = '{SENTINEL}'", "chat.initialUser.email is not a valid address."),
        ("[chat.initialUser]\nuserName = ''", "chat.initialUser.userName is blank."),
        (
            "[oauth.presets.acme]\nclientId = 'a'\nclientSecret = ''",
            "oauth.presets.acme.clientSecret must not be",
        ),
        (
            f"[oauth.presets.acme]\nclientId = 'a'\nclientSecret = 'b'\ntokenUrl = 'https://{SENTINEL}.example/'",
            "oauth.presets.acme.authorizationUrl is missing. Give all three addresses",
        ),
        ("oauth.custom = [1]", "oauth.custom[0] must be a table."),
        ("oauth.presets = [1]", "oauth.presets must be a table."),
        (f"[server\n{SENTINEL}", "is not valid TOML (at line 1"),
        (f"[auth]\n[auth]\nappUrl = '{SENTINEL}'", "(at line 2, column 6): that section is there already"),
    ],
)
def test_a_mistake_is_told_by_its_key_and_never_by_its_value(
    text: str, sentence: str, tmp_path: Path
) -> None:
    assert sentence in refused(text, tmp_path)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{\n  "server": {"port": 3000,}\n}', "is not valid JSON (at line 2, column 27)."),
        ('{"server": {\n"port": 3000', "is not valid JSON (at line 2, column 13)."),
        ('{"auth": {"isInviteRequired": true}, "auth": {}}', 'has "auth" twice in one place. Give it once.'),
        ('{"server": {"port": 1, "port": 2}}', 'has "port" twice in one place. Give it once.'),
    ],
)
def test_a_mistake_in_json_is_told_by_its_place(text: str, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        load(written(tmp_path, text, "teamchat.json"))
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text"), [("teamchat.json", '{"server": {"port": 7}}'), ("teamchat.toml", "[server]\nport = 7")]
)
def test_a_mark_of_the_byte_order_is_passed_over(name: str, text: str, tmp_path: Path) -> None:
    assert load(written(tmp_path, f"\ufeff{text}", name)).server.port == 7


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
