"""Logs: attacked with sentinels, tokens, control characters and hostile exceptions."""

from __future__ import annotations

import io
import json
import logging
import re
import secrets
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jwt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from teamchat.errors import SettingsError
from teamchat.observability import logs
from teamchat.observability.logs import LineFormatter, configure, get_logger, redact

SENTINEL = "s3ntinel"
Lines = Callable[[], list[dict[str, Any]]]
log = get_logger("teamchat.test")


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    stream = io.StringIO()
    configure(stream)
    yield stream
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture
def lines(stream: io.StringIO) -> Lines:
    return lambda: [json.loads(line) for line in stream.getvalue().splitlines()]


def test_an_event_is_one_line_of_json_with_its_fields(lines: Lines) -> None:
    log.info("listening", host="127.0.0.1", port=3000, path=Path("/data"), tags=["a", 1, None])
    [line] = lines()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line.pop("time"))
    assert line == {
        "level": "info",
        "logger": "teamchat.test",
        "event": "listening",
        "host": "127.0.0.1",
        "port": 3000,
        "path": "/data",
        "tags": ["a", 1, None],
    }


def test_other_loggers_and_old_style_arguments_work_too(lines: Lines) -> None:
    logging.getLogger("elsewhere").warning("%s of %d", "one", 2)
    log.debug("not shown")
    [line] = lines()
    assert (line["logger"], line["event"], line["level"]) == ("elsewhere", "one of 2", "warning")


def test_configuring_twice_writes_once(stream: io.StringIO, lines: Lines) -> None:
    configure(stream)
    log.info("once")
    assert len(lines()) == 1


@given(st.text())
def test_no_text_makes_a_second_line_or_a_control_character(text: str) -> None:
    record = logging.LogRecord(text, logging.INFO, "", 0, text, None, None)
    record.teamchat_fields = {text: text, "nested": {text: [text]}}
    line = LineFormatter().format(record)
    assert re.fullmatch(r"[ -~]+", line)
    assert json.loads(line)


def test_forged_lines_and_terminal_codes_are_escaped(stream: io.StringIO) -> None:
    log.info("path /x\n{}\r\x1b[2J\x7f\u202e\u2028", agent="a\x1b[2J\nb")
    assert stream.getvalue().count("\n") == 1
    assert not re.search(r"[^ -~\n]", stream.getvalue())


class Cruel(Exception):
    """An exception that tells its secrets in every way it can."""

    def __init__(self) -> None:
        super().__init__(SENTINEL, {"password": SENTINEL})
        self.detail = SENTINEL
        self.add_note(SENTINEL)

    def __repr__(self) -> str:
        return SENTINEL

    __str__ = __repr__


def fail() -> None:
    local = SENTINEL
    raise Cruel from ValueError(local)


def test_an_unexpected_exception_is_its_type_and_frames_and_never_its_message(
    stream: io.StringIO, lines: Lines
) -> None:
    try:
        fail()
    except Cruel:
        log.exception("request failed")
    [line] = lines()
    error = line["error"]
    assert error["type"].endswith(".Cruel")
    assert re.search(r"test_logs\.py:\d+ fail$", error["frames"][-1])
    assert error["cause"]["type"] == "builtins.ValueError"
    assert SENTINEL not in stream.getvalue()


@pytest.mark.parametrize(
    "write",
    [
        lambda e: log.error("failed", exc_info=e),
        lambda e: log.error("failed", exc_info=(type(e), e, None)),
        lambda e: log.error("failed: %s", e),
        lambda e: log.error("failed: %r", e),
        lambda e: log.error("failed: %(e)s", {"e": e}),
        lambda e: log.error("failed: %s", [e]),
        lambda e: log.error("failed: %s", SimpleNamespace(e=e, s=SENTINEL)),
        lambda e: log.error(e),
        lambda e: log.error("failed", error=e, cause=[e], deep={"a": {"b": e}}),
        lambda e: log.error("failed %d", e),
        lambda e: log.error("failed %d %d", e),
        lambda e: logging.getLogger("third.party").error("failed: %s", e, exc_info=e),
        lambda e: log.error("failed", exc_info=ExceptionGroup(SENTINEL, [e, ExceptionGroup(SENTINEL, [e])])),
        lambda e: log.error("failed", exc_info=KeyError(SENTINEL)),
        lambda e: log.error("failed", exc_info=SyntaxError(SENTINEL, ("f", 1, 1, SENTINEL))),
        lambda e: log.error("failed", password=SENTINEL, api_key=SENTINEL, jwtSecret=SENTINEL.encode()),
        lambda e: log.error("failed", headers={"Authorization": SENTINEL, "set-cookie": [SENTINEL]}),
        lambda e: log.error("failed", raw=SENTINEL.encode()),
        lambda e: log.error('{"password": "%s"}', SENTINEL),
        lambda e: log.error("GET /events?token=%s", SENTINEL),
        lambda e: log.error("GET /?access_token=%s&refresh_token=%s", SENTINEL, SENTINEL),
        lambda e: log.error("GET /auth/oauth/x/callback?code=%s&state=%s", SENTINEL, SENTINEL),
        lambda e: log.error("Authorization: Bearer %s", SENTINEL),
        lambda e: log.error("authorization: bearer%%20%s", SENTINEL),
        lambda e: log.error("Cookie: %s", SENTINEL),
        lambda e: log.error("password=a,%s token=,,%s", SENTINEL, SENTINEL),
        lambda e: log.error("postgres://user:%s@host/database", SENTINEL),
        lambda e: log.error("%s", "password = '" + SENTINEL + " with blanks " + SENTINEL + "'"),
    ],
)
def test_no_way_of_logging_tells_the_sentinel(
    write: Callable[[Exception], None], stream: io.StringIO, lines: Lines, capsys: pytest.CaptureFixture[str]
) -> None:
    # pytest's own handlers raise where a record does not fit its format.
    root = logging.getLogger()
    root.handlers[:] = [handler for handler in root.handlers if getattr(handler, "stream", None) is stream]
    write(Cruel())
    assert len(lines()) == 1
    shown = capsys.readouterr()
    assert SENTINEL not in stream.getvalue() + shown.err + shown.out


def test_an_error_that_was_written_for_the_operator_is_told(lines: Lines) -> None:
    log.error("not started", exc_info=SettingsError("auth.jwtSecret is too short."))
    assert lines()[0]["error"]["sentence"] == "auth.jwtSecret is too short."


def test_exceptions_that_go_round_in_circles_and_grow_without_end_are_cut() -> None:
    one, two = ValueError(), KeyError()
    one.__cause__, two.__cause__ = two, one
    group = ExceptionGroup("", [ValueError() for _ in range(1000)])
    for error in (one, group):
        record = logging.LogRecord("x", logging.ERROR, "", 0, "x", None, (type(error), error, None))
        assert len(LineFormatter().format(record)) < 2_000


@pytest.mark.parametrize("size", [32, 48, 64])
def test_opaque_tokens_are_redacted_whatever_they_are_made_of(size: int) -> None:
    for _ in range(300):
        for token in (secrets.token_urlsafe(size), secrets.token_hex(size)):
            for text in (token, f"before {token} after", f"/x/{token}/y", f'"{token}"'):
                assert token not in redact(text)
                assert token[:20] not in redact(text)


def test_access_tokens_are_redacted_whole_or_cut() -> None:
    token = jwt.encode({"sub": "x" * 32, "sid": "y"}, "k" * 32, algorithm="HS256")
    for text in (token, f"[{token}]", f"a={token};", token[: len(token) // 2], token.upper()[:1] + token[1:]):
        shown = redact(text)
        assert token[-12:] not in shown
        assert token.split(".")[1][:12] not in shown


def test_what_is_no_secret_stays_readable() -> None:
    for text in (
        "0192f0c0aaaa7bbb8ccc0123456789ab",
        "GET /channels/0192f0c0aaaa7bbb8ccc0123456789ab/messages?limit=50",
        "test_d08_a_page_holds_the_newest_older_than_before",
        "http://127.0.0.1:3000/?page=2",
        "teamchat.storage.sqlite",
    ):
        assert redact(text) == text


def test_long_text_is_cut_and_scanned_in_bounded_time(stream: io.StringIO) -> None:
    for character in ("a", "A", "eyJ", "token", "://", "-", '"', "bearer "):
        log.info(character * 1_000_000)
    assert max(len(line) for line in stream.getvalue().splitlines()) < 20_000


@pytest.mark.parametrize("text", ["token", "passw", "-token", "a-", "bearer ", "\u00e9"])
def test_no_text_takes_long_to_redact(text: str) -> None:
    """Paths are what anybody chooses, and the access log redacts them."""
    begun = time.process_time()
    for _ in range(5):
        redact(text * 8_000)
    assert time.process_time() - begun < 0.25


def test_large_and_deep_fields_are_cut(lines: Lines) -> None:
    deep: Any = SENTINEL
    for _ in range(500):
        deep = [deep]
    log.info("x", deep=deep, wide=list(range(10_000)))
    assert SENTINEL not in json.dumps(lines())
    assert len(lines()[0]["wide"]) == 50


def test_a_field_can_not_take_the_place_of_what_the_line_says_itself(lines: Lines) -> None:
    log.info("real", time="forged", logger="forged", error="forged")
    [line] = lines()
    assert line["logger"] == "teamchat.test"
    assert line["logger_"] == line["time_"] == line["error_"] == "forged"


def test_a_stream_that_can_not_be_written_leaks_nothing_and_raises_nothing(
    capsys: pytest.CaptureFixture[str], stream: io.StringIO
) -> None:
    stream.close()
    log.error("x %s", SENTINEL, password=SENTINEL)
    assert SENTINEL not in "".join(capsys.readouterr())
    logging.getLogger().handlers[:] = []


def test_what_python_prints_by_itself_is_logged_instead(
    stream: io.StringIO, lines: Lines, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for owner, name in ((sys, "excepthook"), (sys, "unraisablehook"), (threading, "excepthook")):
        monkeypatch.setattr(owner, name, getattr(owner, name))
    monkeypatch.setattr(logging, "captureWarnings", lambda _: None)
    logs.guard_interpreter()
    error = Cruel()
    sys.excepthook(Cruel, error, None)
    threading.excepthook(threading.ExceptHookArgs((Cruel, error, None, None)))
    sys.unraisablehook(SimpleNamespace(exc_value=error))  # type: ignore[arg-type]
    assert [line["error"]["type"].rsplit(".")[-1] for line in lines()] == ["Cruel"] * 3
    assert SENTINEL not in stream.getvalue() + "".join(capsys.readouterr())
