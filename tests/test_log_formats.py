"""``[logs]``: from which level on, as JSON or as text; in either nothing leaks and a line is a line."""

from __future__ import annotations

import io
import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from teamchat.errors import SettingsError
from teamchat.observability.logs import FORMATS, Prepared, TextFormatter, configure, get_logger
from teamchat.settings import load
from teamchat.testing import DEADLINE

log = get_logger("teamchat.test")


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    root, own = logging.getLogger(), logging.getLogger("teamchat")
    handlers, levels = root.handlers[:], (root.level, own.level)
    yield io.StringIO()
    root.handlers[:] = handlers
    root.setLevel(levels[0])
    own.setLevel(levels[1])


def text_of(record: logging.LogRecord) -> str:
    return TextFormatter().format(record)


def test_text_is_one_line_for_people(stream: io.StringIO) -> None:
    configure(stream, format="text")
    log.warning("it took long", seconds=2.5, table="messages", words="two words", none=None, tags=["a"])
    line = stream.getvalue()
    assert line.endswith(
        ' WARNING  it took long seconds=2.5 table=messages words="two words" none=null tags=["a"]'
        " (teamchat.test)\n"
    )
    assert line[4] == line[7] == "-"
    assert line[23] == "Z"


def test_text_of_a_request_is_what_json_tells() -> None:
    prepared = Prepared("request", '"method": "GET", "path": "/health", "status": 200')
    record = logging.LogRecord("teamchat.access", logging.INFO, "", 0, prepared, None, None)
    assert text_of(record).endswith("INFO     request method=GET path=/health status=200 (teamchat.access)")


def test_text_tells_no_message_of_an_unexpected_exception_and_no_token(stream: io.StringIO) -> None:
    configure(stream, format="text")
    try:
        raise ValueError("a secret in an exception")
    except ValueError as error:
        log.error("it failed", exc_info=error, password="hunter22", told="token=abcdef")
    line = stream.getvalue()
    assert "ValueError" in line
    assert "secret in" not in line
    assert "hunter22" not in line
    assert "abcdef" not in line
    assert line.count("\n") == 1


@pytest.mark.slow
@given(st.text(), st.text())
def test_no_text_makes_a_second_line_or_a_control_character(name: str, text: str) -> None:
    record = logging.LogRecord(name, logging.INFO, "", 0, text, None, None)
    record.teamchat_fields = {name: text, "nested": {text: [text]}}
    line = text_of(record)
    assert line.isascii()
    assert line.isprintable()


@given(st.text(min_size=1))
def test_a_value_can_not_pass_for_another_field(text: str) -> None:
    record = logging.LogRecord("teamchat", logging.INFO, "", 0, "event", None, None)
    record.teamchat_fields = {"said": f"{text} status=200"}
    assert ' said="' in text_of(record)


@pytest.mark.parametrize(
    ("level", "shown"),
    [
        ("debug", ["debug", "info", "warning", "error"]),
        ("info", ["info", "warning", "error"]),
        ("warning", ["warning", "error"]),
        ("error", ["error"]),
    ],
)
def test_lines_below_the_level_are_left_out(stream: io.StringIO, level: str, shown: list[str]) -> None:
    configure(stream, level=level)
    for name in ("debug", "info", "warning", "error"):
        getattr(log, name)(name)
    assert [json.loads(line)["event"] for line in stream.getvalue().splitlines()] == shown


def test_debug_is_teamchats_own_for_libraries_tell_there_what_they_send(stream: io.StringIO) -> None:
    configure(stream, level="debug")
    logging.getLogger("a.library").debug("Authorization: whatever")
    logging.getLogger("a.library").info("shown")
    assert [json.loads(line)["event"] for line in stream.getvalue().splitlines()] == ["shown"]


def test_a_later_call_takes_the_place_of_an_earlier_one(stream: io.StringIO) -> None:
    configure(stream, level="debug")
    configure(stream, level="info", format="text")
    log.debug("not shown")
    log.info("shown")
    assert stream.getvalue().count("\n") == 1
    assert "INFO     shown (teamchat.test)" in stream.getvalue()


@pytest.mark.parametrize(("key", "value"), [("level", "loud"), ("format", "xml"), ("level", "INFO")])
def test_another_level_or_format_is_refused_by_its_key(tmp_path: Path, key: str, value: str) -> None:
    file = tmp_path / "teamchat.toml"
    file.write_text(f'[logs]\n{key} = "{value}"\n')
    with pytest.raises(SettingsError, match=rf"logs\.{key} must be") as caught:
        load(file, {})
    assert value not in str(caught.value)


def test_every_format_that_is_named_is_there() -> None:
    assert set(FORMATS) == {"json", "text"}


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
async def test_a_server_writes_as_it_is_told(tmp_path: Path, workers: int) -> None:
    """The worker that serves heeds it too."""
    config = tmp_path / "teamchat.json"
    settings = {
        "auth": {"authMode": "dev"},
        "logs": {"format": "text"},
        "server": {"port": 0, "accessLog": True, "workers": workers},
        "storage": {"path": str(tmp_path / "data")},
    }
    config.write_text(json.dumps(settings))
    command = [sys.executable, "-m", "teamchat", "serve", "--config", str(config)]
    with (tmp_path / "log").open("wb") as log_file, trio.fail_after(2 * DEADLINE):
        process = await trio.lowlevel.open_process(command, stdout=subprocess.PIPE, stderr=log_file)
        try:
            assert process.stdout is not None
            base = await _base(process.stdout)
            host, port = base.removeprefix("http://").split(":")
            async with await trio.open_tcp_stream(host, int(port)) as stream:
                await stream.send_all(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                while await stream.receive_some():
                    pass
            process.terminate()
            assert await process.wait() == 0
        finally:
            process.kill()
    assert " INFO     request method=GET path=/health status=200 " in (tmp_path / "log").read_text()


async def _base(stdout: trio.abc.ReceiveStream) -> str:
    text = ""
    async for piece in stdout:
        text += piece.decode()
        if "ready on " in text and text.endswith("\n"):
            return text.rpartition("ready on ")[2].split()[0]
    raise AssertionError(f"the server ended before it was ready: {text}")
