"""``teamchat audit``: read who did what, whether or not a server runs."""

from __future__ import annotations

import argparse
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from teamchat.cli.options import add_config, stored_text
from teamchat.cli.printing import printable
from teamchat.cli.working import installation, work

if TYPE_CHECKING:
    from teamchat.cli.options import Commands
    from teamchat.operations.auditing import Told

DESCRIPTION = """Write the audit log to stdout, the oldest entry first: who did what, when, and from which
address. WHO and WHAT are ids, or emails of users. Servers may run meanwhile."""


def add(commands: Commands) -> None:
    """Add the verb to the command line."""
    parser = commands.add_parser(
        "audit", help="read who did what", description=DESCRIPTION, allow_abbrev=False
    )
    add_config(parser)
    parser.add_argument("--json", action="store_true", help="write JSON Lines, one entry a line")
    parser.add_argument("--since", type=_time, metavar="TIME", help="from then on, such as 2026-01-31")
    parser.add_argument("--until", type=_time, metavar="TIME", help="before that; without a zone it is UTC")
    parser.add_argument("--actor", type=stored_text, metavar="WHO", help="what this user did")
    parser.add_argument(
        "--action", type=stored_text, metavar="ACTION", help="one such as user.role, or all of user"
    )
    parser.add_argument(
        "--target",
        type=stored_text,
        metavar="WHAT",
        help="what was done to this user, channel, webhook, …",
    )
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Write the entries."""
    from teamchat.operations.auditing import Wanted, read_audit

    wanted = Wanted(options.actor, options.action, options.target, options.since, options.until)
    say = _say_json if options.json else _say
    one = installation(options)

    async def read(_: object) -> int:
        return await read_audit(one, wanted, say)

    work(read)
    return 0


def _time(text: str) -> int:
    try:
        given = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text} is no time such as 2026-01-31T12:00") from None
    return int((given if given.tzinfo else given.replace(tzinfo=UTC)).timestamp() * 1000)


def _say_json(told: Told) -> None:
    print(msgspec.json.encode(told.entry).decode())


def _say(told: Told) -> None:
    entry, names = told
    when = datetime.fromtimestamp(entry.at / 1000, UTC).isoformat(sep=" ", timespec="seconds")
    actor, target = entry.actor_id or "-", entry.target_id or "-"
    details = json.dumps(entry.details, ensure_ascii=False) if entry.details else ""
    line = (
        f"{when}  {entry.ip or '-':15}  {names.get(actor, actor):20}  {entry.action:18}"
        f"  {entry.target_type or ''} {names.get(target, target)}  {details}"
    )
    print(printable(line.rstrip()))
