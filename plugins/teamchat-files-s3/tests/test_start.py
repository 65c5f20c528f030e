"""What is told at start when a store can't be used, and how it may be reached."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import trio
from teamchat_files_s3 import open_s3

from teamchat import SettingsError, StorageError
from teamchat.testing.files import kept

SECRET = "a-secret-of-the-tests"
PATIENCE = 15.0


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (
            ("403 Forbidden", "AccessDenied"),
            r"may not do in files-s3\.bucket what is needed \(AccessDenied\)",
        ),
        (("400 Bad Request", "AuthorizationHeaderMalformed"), r"files-s3\.region is not the region"),
        (("503 Slow Down", "SlowDown"), r"files-s3\.endpoint: no store answers there"),
    ],
)
async def test_what_a_store_answers_at_start_leads_to_the_key(
    shared, options, line, answer: tuple[str, str], told: str
) -> None:
    line.answer, line.refusals = answer, 1000
    with trio.fail_after(PATIENCE), pytest.raises(StorageError, match=told):
        async with open_s3(options(shared, endpoint=line.endpoint)):
            pass


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"bucket": "nowhere"}, r"files-s3\.bucket names a bucket that the store does not have"),
        (
            {"access_key_id": "stranger"},
            r"files-s3\.accessKeyId and files-s3\.secretAccessKey \(InvalidAccessKeyId\)",
        ),
        ({"secret_access_key": "wrong-secret"}, r"files-s3\.secretAccessKey \(SignatureDoesNotMatch\)"),
        ({"endpoint": "http://127.0.0.1:1"}, r"files-s3\.endpoint: no store answers there"),
    ],
    ids=["bucket", "account", "secret", "endpoint"],
)
async def test_what_can_not_work_is_told_at_start_in_one_line(shared, options, wrong, told: str) -> None:
    with trio.fail_after(PATIENCE), pytest.raises(StorageError, match=told) as caught:
        async with open_s3(options(shared, **wrong)):
            pass
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert SECRET not in sentence
    assert "wrong-secret" not in sentence
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


async def test_plain_http_where_tls_is_asked_for_is_told(shared, options) -> None:
    endpoint = shared.endpoint.replace("http:", "https:")
    with trio.fail_after(PATIENCE), pytest.raises(StorageError, match=r"files-s3\.endpoint"):
        async with open_s3(options(shared, endpoint=endpoint)):
            pass


async def test_missing_credentials_are_told(shared, options, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_METADATA_ENDPOINT", "http://127.0.0.1:1")
    with (
        trio.fail_after(PATIENCE),
        pytest.raises(StorageError, match=r"no credentials.*files-s3\.accessKeyId"),
    ):
        async with open_s3(options(shared, access_key_id=None, secret_access_key=None)):
            pass


async def test_credentials_may_come_from_the_variables_of_aws(
    shared, options, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "teamchat-tests")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    async with open_s3(options(shared, access_key_id=None, secret_access_key=None, region=None)) as store:
        await store.put("1-env.png", b"data")
        assert await kept(store, "1-env.png") == b"data"


async def test_a_private_ca_is_trusted_if_its_file_is_given(tls_server, options) -> None:
    server, ca_file = tls_server
    with trio.fail_after(PATIENCE), pytest.raises(StorageError, match=r"private CA at files-s3\.caFile"):
        async with open_s3(options(server)):
            pass
    async with open_s3(options(server, ca_file=str(ca_file))) as store:
        await store.put("1-tls.png", b"data")
        assert await kept(store, "1-tls.png") == b"data"


@pytest.mark.parametrize(
    ("wrong", "key"),
    [
        ({"bucket": "a/b"}, "bucket"),
        ({"bucket": ""}, "bucket"),
        ({"prefix": "../up"}, "prefix"),
        ({"prefix": "/a"}, "prefix"),
        ({"endpoint": "ftp://x"}, "endpoint"),
        ({"endpoint": "127.0.0.1:9000"}, "endpoint"),
        ({"endpoint": "http://user:word@127.0.0.1"}, "endpoint"),
        ({"endpoint": "http://127.0.0.1/path"}, "endpoint"),
        ({"secret_access_key": None}, "secretAccessKey"),
        ({"access_key_id": None}, "accessKeyId"),
        ({"secret_access_key": "with\nline"}, "secretAccessKey"),
        ({"ca_file": "/nowhere/ca.pem"}, "caFile"),
    ],
)
async def test_a_setting_that_can_not_work_is_named(shared, options, wrong, key: str) -> None:
    with pytest.raises(SettingsError, match=rf"files-s3\.{key}"):
        async with open_s3(options(shared, **wrong)):
            pass


async def test_a_file_without_certificates_is_named(shared, options, tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("none")
    with pytest.raises(SettingsError, match=r"files-s3\.caFile"):
        async with open_s3(options(shared, ca_file=str(tmp_path / "ca.pem"))):
            pass
