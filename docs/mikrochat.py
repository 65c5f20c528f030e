"""How MikroChat, from which the interface comes, does in the conformance suite: plays it, writes the page.

``python docs/mikrochat.py 2.0.0=PATH 3.0.0=PATH`` starts each built ``mikrochat.mjs`` with Node, plays the
suite against it, keeps what was found in ``mikrochat.json`` beside this file, and writes the page.
``make docs`` writes it anew from what is kept, so nobody needs MikroChat for that.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from subprocess import DEVNULL
from typing import Any

import trio

from teamchat_conformance import __version__, instance
from teamchat_conformance.launch import HOST, free_port
from teamchat_conformance.registry import load
from teamchat_conformance.report import compose
from teamchat_conformance.report.causes import Cause
from teamchat_conformance.report.document import Document
from teamchat_conformance.runner import Options, play_all

KEPT = Path(__file__).with_name("mikrochat.json")
PAGE = Path(__file__).parent / "reference" / "mikrochat.md"
MARK = "<!-- generated -->\n"
_ADMIN = {"email": "ada@example.org", "password": "a conformant passphrase"}
_READY_SECONDS = 30.0
_MOST_SHOWN = 300


def main() -> None:
    """Play the suite against each server that is named, keep what was found, and write the page."""
    parser = argparse.ArgumentParser(description="Plays the conformance suite against MikroChat.")
    parser.add_argument("servers", nargs="+", metavar="VERSION=PATH", help="a built lib/mikrochat.mjs")
    named = [one.split("=", 1) for one in parser.parse_args().servers]
    runs = [trio.run(played, version, Path(program).absolute()) for version, program in named]
    kept = {"date": datetime.now(UTC).date().isoformat(), "suite": __version__, "runs": runs}
    KEPT.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", "utf-8")
    written, _, _ = PAGE.read_text("utf-8").partition(MARK)
    PAGE.write_text(f"{written}{MARK}\n{rendered()}", "utf-8")


async def played(version: str, program: Path) -> dict[str, Any]:
    """Start one MikroChat, play the whole suite against it, and return what was found."""
    async with serving(program) as base_url:
        given = instance.parse(
            {
                "instance": {"name": "MikroChat", "version": version, "base_url": base_url},
                "auth": {"mode": "password", "invite_required": False},
                "admin": _ADMIN,
            }
        )
        registry = load()
        return found(version, compose([await play_all(registry, given, Options(seed=1))], registry))


@asynccontextmanager
async def serving(program: Path) -> AsyncIterator[str]:
    """Run MikroChat in a directory of its own, in password mode and open to anybody; yield its address."""
    port = free_port()
    base_url = f"http://{HOST}:{port}"
    config = {
        "auth": {
            "authMode": "password",
            "jwtSecret": "for this run",
            "appUrl": base_url,
            "isInviteRequired": False,
        },
        "chat": {"initialUser": {"id": "1", "userName": "ada", **_ADMIN}},
        "server": {"host": HOST, "port": port, "allowedDomains": ["*"], "rateLimit": {"enabled": False}},
    }
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "mikrochat.config.json").write_text(json.dumps(config))
        async with trio.open_nursery() as nursery:
            command = ["node", str(program)]
            await nursery.start(
                partial(trio.run_process, command, cwd=directory, stdout=DEVNULL, check=False)
            )
            with trio.fail_after(_READY_SECONDS):
                await _answers(port)
            yield base_url
            nursery.cancel_scope.cancel()


async def _answers(port: int) -> None:
    """Wait until the port can be connected to."""
    while True:
        with suppress(OSError):
            await (await trio.open_tcp_stream(HOST, port)).aclose()
            return
        await trio.sleep(0.1)


def found(version: str, document: Document) -> dict[str, Any]:
    """Return what the page tells of a run: what fails required checks, and how many others there are."""
    causes = [_cause(document, one) for one in document.causes]
    decided = [
        one for one in document.checks if one.level == "required" and one.verdict in ("pass", "note", "fail")
    ]
    return {
        "version": version,
        "claim": document.claim.says,
        "decided": len(decided),
        "failed": sum(one.verdict == "fail" for one in decided),
        "causes": [one for one in causes if one["required"]],
        "others": sum(1 for one in causes if one["checks"] and not one["required"]),
    }


def _cause(document: Document, cause: Cause) -> dict[str, Any]:
    checks = [document.check(id) for id in (*cause.alone, *cause.partly)]
    clearest = document.check(cause.clearest)
    return {
        "title": cause.title,
        "required": sum(one.level == "required" and one.verdict == "fail" for one in checks),
        "checks": sorted(one.id for one in checks if one.verdict == "fail"),
        "clearest": clearest.id,
        "message": _one_line(clearest.message),
    }


def _one_line(message: str) -> str:
    """Return the beginning of a message; bytes of an image in it are of no use to anybody."""
    printed = "".join(letter if letter.isprintable() and letter != "\ufffd" else " " for letter in message)
    return " ".join(printed.split())[:_MOST_SHOWN]


def rendered() -> str:
    """Return the generated part of the page, from what is kept."""
    kept = json.loads(KEPT.read_text("utf-8"))
    runs = kept["runs"]
    versions = [run["version"] for run in runs]
    lines = [
        f"Played on {kept['date']} by teamchat-conformance {kept['suite']} against MikroChat "
        f"{' and '.join(versions)},",
        "built from their sources, in password mode and open to anybody.",
        "",
        "| | " + " | ".join(f"MikroChat {version}" for version in versions) + " |",
        "|---|" + "---|" * len(runs),
        _row("claim", (run["claim"] for run in runs)),
        _row("required checks that were decided", (run["decided"] for run in runs)),
        _row("of these failed", (run["failed"] for run in runs)),
        _row("causes of that", (len(run["causes"]) for run in runs)),
        _row("causes that fail recommended checks alone, not told here", (run["others"] for run in runs)),
        "",
        "## By cause",
        "",
        "How many required checks each takes along, and with recommended ones in brackets.",
        "",
        "| What differs | " + " | ".join(versions) + " |",
        "|---|" + "---|" * len(runs),
        *(_row(title, (_number(run, title) for run in runs)) for title in _titles(runs)),
        "",
        "## What each answers",
        "",
    ]
    for title in _titles(runs):
        lines += [f"### {title}", ""]
        lines += [line for run in runs for line in _told(run, title)]
        lines += [""]
    return "\n".join(lines[:-1]) + "\n"


def _row(name: str, cells: Iterator[Any]) -> str:
    return f"| {_cell(name)} | " + " | ".join(_cell(str(cell)) for cell in cells) + " |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def _titles(runs: list[dict[str, Any]]) -> list[str]:
    """Return the causes of all runs, those first that take most required checks along."""
    weight: dict[str, tuple[int, int]] = {}
    for run in runs:
        for one in run["causes"]:
            known = weight.get(one["title"], (0, 0))
            weight[one["title"]] = max(known, (one["required"], len(one["checks"])))
    return sorted(weight, key=lambda title: (-weight[title][0], -weight[title][1], title))


def _of(run: dict[str, Any], title: str) -> dict[str, Any] | None:
    return next((one for one in run["causes"] if one["title"] == title), None)


def _number(run: dict[str, Any], title: str) -> str:
    one = _of(run, title)
    if one is None:
        return "–"
    required, every = one["required"], len(one["checks"])
    return str(required) if required == every else f"{required} ({every})"


def _told(run: dict[str, Any], title: str) -> Iterator[str]:
    one = _of(run, title)
    if one is not None:
        others = [id for id in one["checks"] if id != one["clearest"]]
        yield f"- MikroChat {run['version']}, {one['clearest']}: `` {one['message'].replace('`', chr(39))} ``"
        if others:
            yield f"  It takes along {', '.join(others)}."


if __name__ == "__main__":
    main()
