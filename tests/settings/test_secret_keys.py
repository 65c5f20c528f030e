"""Secrets that stand elsewhere, and the one that is made on the first start (D-10)."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from teamchat.errors import SettingsError
from teamchat.settings import jwt_secret, load
from tests.settings.writing import SECRET, SENTINEL, at, refused, written


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


def test_d10_a_secret_shorter_than_32_bytes_is_refused(tmp_path: Path) -> None:
    sentence = refused(f"[auth]\njwtSecret = '{SENTINEL[:31]}'", tmp_path)
    assert sentence.startswith("auth.jwtSecret is shorter than 32 bytes.")
    assert SENTINEL[:8] not in sentence
    assert load(written(tmp_path, f"[auth]\njwtSecret = '{'ä' * 16}'")).auth.jwt_secret == "ä" * 16


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
