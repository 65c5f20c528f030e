"""Nothing secret is written anywhere: passwords, tokens and links stand in no report of a run."""

from __future__ import annotations

import json

import pytest

from conformance.tests.servers import played, running
from conformance.tests.support import areas
from teamchat_conformance.http import Recorder


def test_a_secret_is_replaced_by_its_label() -> None:
    recorder = Recorder("run")
    assert recorder.secret("abcdefgh.ijk", "access token of U") == "abcdefgh.ijk"
    assert recorder.redact("Bearer abcdefgh.ijk, abcdefgh.ijk") == (
        "Bearer <access token of U>, <access token of U>"
    )


def test_what_is_too_short_to_be_a_secret_is_left_alone() -> None:
    recorder = Recorder("run")
    recorder.secret("", "nothing")
    recorder.secret("user", "a word")
    assert recorder.redact("a user") == "a user"


@pytest.mark.slow
async def test_every_token_of_a_run_is_known_as_a_secret() -> None:
    async with running("password") as server:
        result = await played(server, areas("SET"))
    recorder, tokens = result.recorder, 0
    for exchange in recorder.exchanges:
        for key, value in _told(exchange.body).items():
            if key in ("accessToken", "refreshToken") and exchange.status == 200:
                assert value not in recorder.redact(json.dumps({"value": value})), key
                tokens += 1
    assert tokens >= 10


def _told(body: bytes) -> dict[str, object]:
    try:
        found = json.loads(body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
