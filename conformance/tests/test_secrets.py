"""Nothing secret is written anywhere: passwords, tokens and links stand in no report of a run."""

from __future__ import annotations

import json

from teamchat_conformance.http import Recorder
from teamchat_conformance.runner import Result


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


def test_every_token_and_password_of_a_run_is_known_as_a_secret(results: dict[str, Result]) -> None:
    for world, result in results.items():
        recorder = result.recorder
        for exchange in recorder.exchanges:
            if exchange.method != "POST" or exchange.status != 200:
                continue
            for key, value in _told(exchange.body).items():
                if key in ("accessToken", "refreshToken") and exchange.scenario == "set-up":
                    assert value not in recorder.redact(json.dumps({"value": value})), f"{world}: {key}"


def _told(body: bytes) -> dict[str, object]:
    try:
        found = json.loads(body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
