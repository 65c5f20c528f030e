"""The command line: ``run`` (also without saying so), ``init``, ``list``, ``explain``, ``doctor``.

The exit code is 0 if the server conforms, 1 if it does not, 2 if the command line or the
description is wrong, 3 if the server can't be reached or a run can't begin, and 4 if nothing can be said:
required checks are undecided where that matters, or the suite itself has a fault.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import trio

from teamchat_conformance import __version__, catalogue, describing, instance, playing, report
from teamchat_conformance.capabilities import AreaError, everything
from teamchat_conformance.instance import DescriptionError, Instance
from teamchat_conformance.judging import UNREACHABLE, USAGE
from teamchat_conformance.launch import LaunchError
from teamchat_conformance.profiles import PROFILES
from teamchat_conformance.registry import Registry
from teamchat_conformance.runner import Options, Unreachable

DEFAULT_FILE = Path("teamchat-conformance.toml")
LEVELS = ("required", "recommended", "recorded")
_INTERRUPTED = 130


class UsageError(Exception):
    """The command line can't be carried out. The message says why."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out a command line and return the exit code. Usage errors end the program with 2."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given or (given[0].startswith("-") and given[0] not in ("-h", "--help", "--version")):
        given.insert(0, "run")
    options = _parser().parse_args(given)
    command: Callable[[argparse.Namespace], int] = options.command
    try:
        return command(options)
    except (UsageError, DescriptionError, AreaError) as error:
        print(f"teamchat-conformance: {error}", file=sys.stderr)
        return USAGE
    except (Unreachable, LaunchError) as error:
        print(f"teamchat-conformance: {error}", file=sys.stderr)
        return UNREACHABLE
    except (playing.Interrupted, KeyboardInterrupt):
        print("teamchat-conformance: interrupted; what was made is removed", file=sys.stderr)
        return _INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="teamchat-conformance",
        description="Tells whether a server conforms to the team chat interface.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"teamchat-conformance {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    _run_parser(commands)
    _other_parsers(commands)
    return parser


def _run_parser(commands: Any) -> None:
    run = commands.add_parser("run", help="run the checks (the default)", allow_abbrev=False)
    run.set_defaults(command=_run)
    _server(run)
    run.add_argument(
        "--select", metavar="GLOB", action="append", default=[], help="only these ids; repeatable"
    )
    run.add_argument("--skip", metavar="GLOB", action="append", default=[], help="not these ids; repeatable")
    _area_and_level(run)
    run.add_argument(
        "--strict", action="store_true", help="warnings fail, and all that is required is decided"
    )
    run.add_argument("--require-complete", action="store_true", help="every required check must be decided")
    run.add_argument("--slow", action="store_true", help="also what takes over a minute")
    run.add_argument("--load", action="store_true", help="also what is heavy for the server")
    run.add_argument("--seed", type=_whole, help="of everything random; it is printed")
    run.add_argument("--examples", type=_whole, default=25, help="random programs for each property (25)")
    run.add_argument("--steps", type=_whole, default=30, help="steps of a random program (30)")
    run.add_argument("--report", type=Path, metavar="DIR", help="write reports there")
    run.add_argument(
        "--format",
        type=_formats,
        default=report.FORMATS,
        metavar="LIST",
        help=f"of {','.join(report.FORMATS)} (all)",
    )
    run.add_argument("--keep", action="store_true", help="remove nothing that was made")
    run.add_argument("-x", dest="stop", action="store_true", help="stop at the first failure")
    run.add_argument("-v", dest="verbose", action="store_true", help="a line for every check")
    run.add_argument(
        "--launch", "--matrix", type=_profiles, metavar="PROFILES",
        help="start servers by [launch]: names of profiles with commas, or all",
    )  # fmt: skip


def _other_parsers(commands: Any) -> None:
    doctor = commands.add_parser("doctor", help="look whether a run could go well", allow_abbrev=False)
    doctor.set_defaults(command=_doctor)
    _server(doctor)

    init = commands.add_parser("init", help="write a description to begin with", allow_abbrev=False)
    init.set_defaults(command=_init)
    init.add_argument("file", nargs="?", type=Path, default=DEFAULT_FILE, metavar="FILE")
    init.add_argument("--profile", choices=PROFILES, default="password-mail", help="of what kind of server")
    init.add_argument("--base-url", default="http://127.0.0.1:3000")

    listing = commands.add_parser("list", help="list the checks", allow_abbrev=False)
    listing.set_defaults(command=_list)
    _area_and_level(listing)
    listing.add_argument("--format", choices=catalogue.FORMATS, default="table")

    explain = commands.add_parser("explain", help="tell all about one check", allow_abbrev=False)
    explain.set_defaults(command=_explain)
    explain.add_argument("id", metavar="ID")


def _server(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--base-url", metavar="URL", help="where the server is")
    parser.add_argument("--instance", type=Path, metavar="FILE", help=f"its description (./{DEFAULT_FILE})")
    parser.add_argument(
        "--set", metavar="KEY=VALUE", action="append", default=[], help="over the description"
    )
    parser.add_argument("--admin-email", metavar="EMAIL", help="an admin the suite may be")
    parser.add_argument("--admin-password", metavar="PASSWORD")
    parser.add_argument("--admin-token", metavar="TOKEN", help="an access token, in place of a password")
    parser.add_argument("--timeout-factor", type=float, metavar="F", help="multiplies every wait")


def _area_and_level(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--area", type=_words, default=(), metavar="LIST", help="only these areas: MSG,THR")
    parser.add_argument("--level", type=_levels, default=(), metavar="LIST", help=f"of {','.join(LEVELS)}")


def _run(options: argparse.Namespace) -> int:
    registry = everything()
    _check_selection(registry, options)
    given, is_described = _instance(options)
    if unknown := sorted(given.accepted.keys() - registry.checks.keys()):
        raise DescriptionError(f"accepted.{unknown[0]}: no check is called that")
    chosen = Options(
        select=tuple(options.select), skip=tuple(options.skip), areas=options.area, levels=options.level,
        slow=options.slow, load=options.load, keep=options.keep, stop_at_first=options.stop,
        examples=options.examples, steps=options.steps,
    )  # fmt: skip
    if options.seed is not None:
        chosen = replace(chosen, seed=options.seed)
    if options.launch and not given.launch.command:
        raise UsageError("--launch needs launch.command in the description")
    if not options.launch and not given.base_url:
        raise UsageError("which server? Give --base-url, or --instance, or --launch")
    print(f"teamchat-conformance {__version__}, seed {chosen.seed}", flush=True)
    return trio.run(
        playing.play, registry, given, chosen,
        playing.Wishes(
            profiles=options.launch or (), probe=not is_described, strict=options.strict,
            complete=options.require_complete, verbose=options.verbose, report=options.report,
            formats=tuple(options.format), colour=sys.stdout.isatty(), say=_say,
        ),
    )  # fmt: skip


def _say(text: str) -> None:
    print(text, end="", flush=True)


def _doctor(options: argparse.Namespace) -> int:
    given, is_described = _instance(options)
    if not given.base_url:
        raise UsageError("which server? Give --base-url or --instance")
    return trio.run(playing.examine, given, not is_described, lambda line: _say(f"{line}\n"))


def _init(options: argparse.Namespace) -> int:
    text, keys = describing.commented(PROFILES[options.profile], options.base_url)
    try:
        with options.file.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(f"{options.file} is there already and is left as it is") from None
    except OSError as error:
        raise UsageError(f"{options.file} can't be written: {error.strerror}") from None
    print(f"# {options.file} is written. The server's configuration that it describes:\n\n{keys}")
    return 0


def _list(options: argparse.Namespace) -> int:
    registry = everything()
    _check_areas(registry, options.area)
    print(catalogue.listed(catalogue.chosen(registry, options.area, options.level), options.format))
    return 0


def _explain(options: argparse.Namespace) -> int:
    try:
        print(catalogue.explained(everything(), options.id.upper()))
    except LookupError as error:
        raise UsageError(str(error.args[0])) from None
    return 0


def _instance(options: argparse.Namespace) -> tuple[Instance, bool]:
    """Return the description, and whether it says how the server signs people in."""
    path: Path | None = options.instance or (DEFAULT_FILE if DEFAULT_FILE.is_file() else None)
    tree: dict[str, Any] = {}
    if path is not None:
        try:
            tree = tomllib.loads(path.read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise DescriptionError(f"{path} can't be read: {error}") from None
    for assignment in options.set:
        instance.override(tree, assignment)
    for key, value in (
        ("instance.base_url", options.base_url),
        ("admin.email", options.admin_email),
        ("admin.password", options.admin_password),
        ("admin.access_token", options.admin_token),
        ("timing.factor", options.timeout_factor),
    ):
        if value is not None:
            section, _, name = key.partition(".")
            tree.setdefault(section, {})[name] = value
    return instance.parse(tree), "mode" in tree.get("auth", {})


def _check_selection(registry: Registry, options: argparse.Namespace) -> None:
    _check_areas(registry, options.area)
    chosen = Options(
        select=tuple(options.select), skip=tuple(options.skip), areas=options.area, levels=options.level
    )
    if not any(chosen.selects(check.id, check.level) for check in registry.checks.values()):
        raise UsageError("this selects no check; teamchat-conformance list shows all")


def _check_areas(registry: Registry, areas: Sequence[str]) -> None:
    known = [area.name for area in registry.areas]
    if unknown := [area for area in areas if area not in known]:
        raise UsageError(f"no area is called {unknown[0]}; there are {', '.join(known)}")


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip().upper() for word in text.split(",") if word.strip())


def _levels(text: str) -> tuple[str, ...]:
    return _among(text, LEVELS)


def _formats(text: str) -> tuple[str, ...]:
    return _among(text, report.FORMATS)


def _profiles(text: str) -> tuple[str, ...]:
    return tuple(PROFILES) if text == "all" else _among(text, tuple(PROFILES))


def _among(text: str, known: tuple[str, ...]) -> tuple[str, ...]:
    words = tuple(word.strip() for word in text.split(",") if word.strip())
    if not words or not set(words) <= set(known):
        raise argparse.ArgumentTypeError(f"{text!r}: there are {', '.join(known)}")
    return words


def _whole(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text} is less than none")
    return number
