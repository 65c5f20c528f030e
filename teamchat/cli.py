"""The command ``teamchat``: serve, init, plugins, version.

What must stay true: what the operator can mend is told in one line on stderr with exit code 1, a wrong
command line has exit code 2, and an unexpected error is logged by type and place, never with its message.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path

import msgspec

from teamchat import logs
from teamchat.errors import OperatorError, SettingsError
from teamchat.plugins import PluginReport, Plugins
from teamchat.settings import PluginsSettings, load, load_plugins_settings, sample

_DEFAULT_FILES = ("teamchat.toml", "teamchat.json")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    options = _parser().parse_args(arguments)
    command: Callable[[argparse.Namespace], int] = options.command
    try:
        return command(options)
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        known = _operator_error(error)
        if known is not None:
            _complain(known)
        else:
            logs.configure()
            logs.get_logger("teamchat.cli").critical("an unexpected error ended teamchat", exc_info=error)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="teamchat", description="A self-hosted team chat server.", allow_abbrev=False
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    serve = commands.add_parser("serve", help="run the server", allow_abbrev=False)
    _config(serve)
    serve.add_argument("--host", help="the address to listen on (server.host)")
    serve.add_argument("--port", type=int, help="the port to listen on (server.port)")
    serve.add_argument(
        "--initialUserPassword",
        dest="password",
        metavar="PASSWORD",
        help="the initial admin's password, used on the first start (chat.initialUser.password)",
    )
    serve.set_defaults(command=_serve)

    plugins = commands.add_parser("plugins", help="list the installed plugins", allow_abbrev=False)
    _config(plugins)
    plugins.add_argument("--json", action="store_true", help="write JSON")
    plugins.set_defaults(command=_plugins)

    init = commands.add_parser("init", help="write a commented configuration file", allow_abbrev=False)
    init.add_argument("file", nargs="?", type=Path, default=Path("teamchat.toml"), metavar="FILE")
    init.set_defaults(command=_init)

    version = commands.add_parser("version", help="show the version", allow_abbrev=False)
    version.set_defaults(command=_version)
    return parser


def _config(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="the configuration, TOML or JSON; otherwise ./teamchat.toml or ./teamchat.json if there",
    )


def _serve(options: argparse.Namespace) -> int:
    os.umask(0o077)  # what the server writes is for its owner alone, wherever the directory came from
    logs.configure()
    logs.guard_interpreter()
    settings = load(
        _file(options),
        os.environ,
        host=options.host,
        port=options.port,
        initial_user_password=options.password,
    )
    plugins = Plugins.load(settings.plugins.disabled)
    plugins.require()

    from teamchat import server  # the web stack is loaded by this command alone

    server.run(settings, plugins)
    return 0


def _plugins(options: argparse.Namespace) -> int:
    try:
        disabled = load_plugins_settings(_file(options), os.environ).disabled
    except SettingsError as error:
        _complain(error)
        disabled = PluginsSettings().disabled
    reports = Plugins.load(disabled).report()
    if options.json:
        print(json.dumps(msgspec.to_builtins(reports), indent=2))
    else:
        lines = [_printable(line) for report in reports for line in _lines(report)]
        print("\n".join(lines or ["No plugin is installed."]))
    return 0


def _lines(report: PluginReport) -> list[str]:
    lines = [f"{report.name}: {report.status} ({report.distribution} {report.version})"]
    for hook in report.hooks:
        offers = report.offers.get(hook)
        lines.append(f"    {hook}: {', '.join(offers)}" if offers else f"    {hook}")
    return [*lines, f"    {report.error}"] if report.error else lines


def _init(options: argparse.Namespace) -> int:
    file: Path = options.file
    if file.suffix != ".toml":
        raise SettingsError(f"{file}: the configuration is written as TOML; the name must end in .toml.")
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise SettingsError(f"{file} is there already and is left as it is.") from None
    except OSError as error:
        raise SettingsError(f"{file} can't be written ({type(error).__name__}).") from None
    with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
        opened.write(sample())
    print(_printable(f"{file} is written. Next: teamchat serve --config {file}"))
    return 0


def _version(_: argparse.Namespace) -> int:
    try:
        print(f"teamchat {metadata.version('teamchat')}")
    except metadata.PackageNotFoundError:
        print("teamchat, run from a directory that is not installed")
    return 0


def _file(options: argparse.Namespace) -> Path | None:
    """Return the configuration file that was named, or the one that lies here."""
    named: Path | None = options.config
    return named or next((Path(name) for name in _DEFAULT_FILES if Path(name).is_file()), None)


def _operator_error(error: BaseException) -> OperatorError | None:
    """Return what the operator should read, also from a group that holds nothing unexpected."""
    if isinstance(error, OperatorError):
        return error
    if isinstance(error, BaseExceptionGroup):
        found = [_operator_error(inner) for inner in error.exceptions]
        return found[0] if all(found) else None
    return None


def _complain(error: OperatorError) -> None:
    print(_printable(f"teamchat: {error}"), file=sys.stderr)


def _printable(text: str) -> str:
    """Escape what could break the line or play with a terminal."""
    return _UNPRINTABLE.sub(lambda found: found.group().encode("unicode_escape").decode(), text)
