"""Structured logs: one event, one line on stderr, as JSON or as text for people (``logs.format``).

A line never contains a control character, whatever was logged. The message and the arguments of an unexpected
exception are never written, only its type and where it was raised, because they may contain a password or the
text of a message. What looks like a token is replaced before it is written.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import threading
import traceback
from collections.abc import Iterable, Mapping, MutableMapping
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import PurePath
from types import TracebackType
from typing import Any, NamedTuple, TextIO

from teamchat.errors import OperatorError

REDACTED = "[redacted]"
request: ContextVar[str | None] = ContextVar("request", default=None)
"""The id of the request that is being served here, on each line (`teamchat.web.request_ids`)."""
_MAX_TEXT = 2_000
_MAX_SCANNED = 8_000
_MAX_ITEMS = 50
_MAX_DEPTH = 4
_MAX_FRAMES = 30
_MAX_ERRORS = 8
_OWN_ARGUMENTS = {"exc_info", "stack_info", "stacklevel", "extra"}

# Names whose value is a secret, as a field, in a query string, in JSON or in a header.
_SECRET_NAME = re.compile(r"(?i)token|passw|secret|authorization|cookie|credential|api[-_]?key|\bpwd\b")
_PATTERNS = [
    (re.compile(r"(?i)\b(bearer|basic)(?:\s|%20|\+|:|=)+[^\s\"',;]+"), rf"\1 {REDACTED}"),
    # Hexadecimal from 40 digits on (ids have 32), and opaque tokens in base64url (the names of functions,
    # which are as long, are all lower case).
    (re.compile(r"(?i)(?<![0-9a-z])[0-9a-f]{40,}"), REDACTED),
    (
        re.compile(r"(?<![\w-])(?=[\w-]{0,200}[A-Z])(?=[\w-]{0,200}[a-z])[A-Za-z0-9_-]{40,}"),
        REDACTED,
    ),
    # JSON Web Tokens, whole or cut off; after the opaque tokens, for one may hold these three letters.
    (re.compile(r"eyJ[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]*){0,2}"), REDACTED),
    # The password in a URL.
    (re.compile(r"(://[^\s/:@]{0,200}):[^\s/@]{1,500}@"), rf"\1:{REDACTED}@"),
    # name=value and "name": "value". A one-time code or a state is a secret in a query string alone.
    (
        re.compile(
            r"(?i)((?:token|passw|secret|authorization|cookie|credential|api[-_]?key)[\w-]{0,40}"
            r"[\"']?\s{0,5}(?:[:=]|%3d)\s{0,5})"
            r"(?:\"[^\"]*\"?|'[^']*'?|(?:(?:bearer|basic)\s+)?[^\s&\"';}]+)"
        ),
        rf"\1{REDACTED}",
    ),
    (re.compile(r"(?i)([?&](?:code|state)(?:=|%3d))[^\s&\"']+"), rf"\1{REDACTED}"),
]


def redact(text: str) -> str:
    """Return `text` without what looks like a token, a password or a key, and not longer than 2,000."""
    text = text[:_MAX_SCANNED]
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    return text if len(text) <= _MAX_TEXT else text[:_MAX_TEXT] + "…"


def get_logger(name: str) -> Log:
    """Return the logger of a module. Fields are keywords: ``log.info("listening", port=3000)``."""
    return Log(logging.getLogger(name), {})


def configure(stream: TextIO | None = None, level: str = "info", format: str = "json") -> None:
    """Send the process's log records from `level` on to `stream` (stderr), in one of `FORMATS`.

    Below info only teamchat's own are written: libraries log there what they send, headers and all.
    """
    handler = _Handler(stream if stream is not None else sys.stderr)
    handler.setFormatter(FORMATS[format]())
    root = logging.getLogger()
    for old in root.handlers[:]:
        if isinstance(old, _Handler):
            root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(max(LEVELS[level], logging.INFO))
    logging.getLogger("teamchat").setLevel(logging.DEBUG if level == "debug" else logging.NOTSET)


def guard_interpreter() -> None:
    """Log what Python would print by itself, message and all: uncaught exceptions and warnings."""
    log = get_logger("teamchat")

    def uncaught(_: type[BaseException], error: BaseException, __: TracebackType | None) -> None:
        log.critical("uncaught exception", exc_info=error)

    def in_thread(args: threading.ExceptHookArgs) -> None:
        log.critical("uncaught exception in a thread", exc_info=args.exc_value or True)

    def unraisable(args: sys.UnraisableHookArgs) -> None:
        log.error("exception that nobody can catch", exc_info=args.exc_value or True)

    sys.excepthook, threading.excepthook, sys.unraisablehook = uncaught, in_thread, unraisable
    logging.captureWarnings(True)


class Log(logging.LoggerAdapter[logging.Logger]):
    """A logger that takes fields as keywords."""

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        """Move what is not an argument of logging into the record's fields."""
        fields = {name: value for name, value in kwargs.items() if name not in _OWN_ARGUMENTS}
        kept = {name: value for name, value in kwargs.items() if name in _OWN_ARGUMENTS}
        return msg, {**kept, "extra": {**(kept.get("extra") or {}), "teamchat_fields": fields}}


class Prepared(NamedTuple):
    """A message whose fields are JSON already, redacted and escaped by who logs it, to be cheap to write."""

    event: str
    fields: str


class LineFormatter(logging.Formatter):
    """Turns a record into one line of JSON; nothing that was logged can make it fail or leak."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, in ASCII: JSON's escapes leave no control character in it."""
        if isinstance(record.msg, Prepared):
            return (
                f'{{"time": "{_when(record)}", "level": "{record.levelname.lower()}", '
                f'"logger": "{record.name}", "event": "{record.msg.event}", {record.msg.fields}}}'
            )
        return json.dumps(_line(record), ensure_ascii=True)


class TextFormatter(logging.Formatter):
    """Turns a record into one line for people: time, level, event, ``name=value`` …, and the logger."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, in ASCII; what has spaces or could be taken for something else is in quotes."""
        if isinstance(record.msg, Prepared):
            fields = json.loads(f"{{{record.msg.fields}}}")
            line = {"time": _when(record), "level": record.levelname, "event": record.msg.event, **fields}
        else:
            line = _line(record)
        when, level, event = line.pop("time"), line.pop("level"), line.pop("event")
        line.pop("logger", None)
        fields = "".join(f" {_bare(name)}={_bare(value)}" for name, value in line.items())
        shown = event if _is_harmless(event) else json.dumps(event)
        return f"{when} {level.upper():<8} {shown}{fields} ({_bare(record.name)})"


FORMATS: dict[str, type[logging.Formatter]] = {"json": LineFormatter, "text": TextFormatter}
LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}


def _line(record: logging.LogRecord) -> dict[str, Any]:
    """Return the line, redacted."""
    line: dict[str, Any] = {
        "time": _when(record),
        "level": record.levelname.lower(),
        "logger": record.name,
        "event": redact(_message(record)),
    }
    for name, value in getattr(record, "teamchat_fields", {}).items():
        key = name if name not in line and name != "error" else f"{name}_"
        line[redact(key)] = _field(name, value)
    if (name := request.get()) is not None:
        line["request"] = name
    error = _error_of(record)
    if error is not None:
        line["error"] = _describe(error, _Budget())
    return line


def _when(record: logging.LogRecord) -> str:
    when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
    return when.replace("+00:00", "Z")


def _bare(value: object) -> str:
    """Return a value without quotes where nobody could take it for something else."""
    if isinstance(value, str) and value and _is_harmless(value) and not set(' "=') & set(value):
        return value
    return json.dumps(value, ensure_ascii=True)


def _is_harmless(text: str) -> bool:
    return text.isascii() and text.isprintable()


class _Handler(logging.StreamHandler[TextIO]):
    """Writes lines; says only that a record was lost where logging would print its arguments."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: ARG002, N802 - logging's name
        try:
            self.stream.write(
                '{"level": "error", "logger": "teamchat.observability.logs", "event": "a record was lost"}\n'
            )
        except (OSError, ValueError):
            return


def _message(record: logging.LogRecord) -> str:
    """Return the record's message, with exceptions in it reduced to their types."""
    if isinstance(record.msg, BaseException):
        return _type_of(record.msg)
    message = str(record.msg)
    args = record.args
    if not args:
        return message
    try:
        if isinstance(args, Mapping):
            return message % {name: _argument(value) for name, value in args.items()}
        return message % tuple(_argument(value) for value in args)
    except Exception:
        # The arguments do not fit the format: the format alone is logged.
        return message


def _argument(value: object) -> object:
    """Let numbers and text through for ``%d`` and ``%s``; anything else becomes what a field would be."""
    return value if isinstance(value, str | int | float) else _plain(value, 0)


def _field(name: str, value: object) -> object:
    if _SECRET_NAME.search(name) and value is not None and not isinstance(value, bool):
        return REDACTED
    return _plain(value, 0)


def _plain(value: object, depth: int) -> object:
    """Return what JSON can hold: text, numbers, and lists and tables of them; else the value's type."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str | PurePath):
        return redact(str(value))
    if depth < _MAX_DEPTH and isinstance(value, Mapping):
        return {redact(str(k)): _nested(str(k), v, depth) for k, v in _some(value.items())}
    if depth < _MAX_DEPTH and isinstance(value, list | tuple | set | frozenset):
        return [_plain(each, depth + 1) for each in _some(value)]
    return _type_of(value)


def _nested(name: str, value: object, depth: int) -> object:
    return REDACTED if _SECRET_NAME.search(name) else _plain(value, depth + 1)


def _some(items: Iterable[Any]) -> list[Any]:
    return [each for _, each in zip(range(_MAX_ITEMS), items, strict=False)]


def _type_of(value: object) -> str:
    kind = type(value)
    return f"<{kind.__module__}.{kind.__qualname__}>"


def _error_of(record: logging.LogRecord) -> BaseException | None:
    return record.exc_info[1] if isinstance(record.exc_info, tuple) else None


class _Budget:
    """How many exceptions of a chain or group may still be described."""

    def __init__(self) -> None:
        self.left = _MAX_ERRORS
        self.seen: set[int] = set()

    def take(self, error: BaseException) -> bool:
        if self.left == 0 or id(error) in self.seen:
            return False
        self.left -= 1
        self.seen.add(id(error))
        return True


def _describe(error: BaseException, budget: _Budget) -> dict[str, Any]:
    """Describe an exception by type and frames; only an `OperatorError` was written to be read."""
    budget.take(error)
    described: dict[str, Any] = {"type": f"{type(error).__module__}.{type(error).__qualname__}"}
    if isinstance(error, OperatorError):
        described["sentence"] = redact(str(error))
    described["frames"] = _frames(error.__traceback__)
    if isinstance(error, BaseExceptionGroup):
        described["errors"] = [_describe(inner, budget) for inner in error.exceptions if budget.take(inner)]
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if cause is not None and budget.take(cause):
        described["cause"] = _describe(cause, budget)
    return described


def _frames(trace: TracebackType | None) -> list[str]:
    """Return ``file:line function`` of the innermost frames, without their source lines."""
    frames = [
        f"{frame.f_code.co_filename}:{line} {frame.f_code.co_qualname}"
        for frame, line in traceback.walk_tb(trace)
    ]
    return frames[-_MAX_FRAMES:]
