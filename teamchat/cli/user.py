"""``teamchat user``: manage users, whether or not a server runs."""

from __future__ import annotations

import argparse
import json
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import msgspec

from teamchat.cli.options import add_config, stored_text
from teamchat.cli.passwords import add_password_flags, read_password
from teamchat.cli.printing import printable
from teamchat.cli.working import installation, work

if TYPE_CHECKING:
    from teamchat.cli.options import Commands
    from teamchat.operations.users import UserOffice

    Act = Callable[[UserOffice, argparse.Namespace], Awaitable[str]]

DESCRIPTION = """Manage users, whether or not a server runs: running ones follow at once. EMAIL may also be
the id of a user who is there. A password is typed at the terminal or read as one line from stdin, never given
as an argument."""


def add(commands: Commands) -> None:
    """Add the verb to the command line."""
    parser = commands.add_parser("user", help="manage users", description=DESCRIPTION, allow_abbrev=False)
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    added = _action(actions, "add", _add, "add a user", whom="their email")
    added.add_argument("--name", help="the name they are shown with; otherwise made from the email")
    added.add_argument("--admin", action="store_true", help="make them an admin")
    add_password_flags(added).add_argument(
        "--no-password", action="store_true", help="add them without a password; so it is in other modes"
    )
    listed = _action(actions, "list", _list, "list the users", whom=None)
    listed.add_argument("--json", action="store_true", help="write JSON")
    _action(actions, "promote", _promote, "make a user an admin")
    _action(actions, "demote", _demote, "make an admin a user; the last admin stays one")
    _action(actions, "remove", _remove, "remove a user, at once; their messages stay")
    _action(actions, "deactivate", _deactivate, "shut a user out until they are activated; all is kept")
    _action(actions, "activate", _activate, "let a user in again who was deactivated")
    reset = _action(actions, "reset-password", _reset, "give a user a new password; it ends their sessions")
    add_password_flags(reset)
    _action(
        actions,
        "remove-second-factor",
        _remove_second_factor,
        "let a user sign in without a second factor, as when a phone was lost; it ends their sessions",
    )


def _action(
    actions: Any, name: str, act: Act, what: str, *, whom: str | None = "whose: an email, or a user's id"
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser(
        name, help=what, description=f"{what[0].upper()}{what[1:]}.", allow_abbrev=False
    )
    add_config(parser)
    if whom is not None:
        parser.add_argument("email", type=stored_text, metavar="EMAIL", help=whom)
    parser.set_defaults(command=run, act=act)
    return parser


def run(options: argparse.Namespace) -> int:
    """Do one thing with users, and say what was done."""
    from teamchat.operations.users import open_users

    one = installation(options)

    async def done(_: object) -> str:
        async with open_users(one) as users:
            said: str = await options.act(users, options)
            return said

    print(work(done))
    return 0


async def _add(users: UserOffice, options: argparse.Namespace) -> str:
    from teamchat.operations.users import made_password

    wants_none = options.no_password or options.mail or not users.asks_for_passwords
    password = None
    if options.generate:
        password = made_password()
    elif not wants_none:
        password = read_password()
    user = await users.add(
        options.email, name=options.name, is_admin=options.admin, password=password, by_mail=options.mail
    )
    role = "admin" if options.admin else "user"
    said = printable(f"{user.email} is now a user: {user.user_name} ({role}, {user.id}).")
    return said + _shown(users, options, password)


async def _list(users: UserOffice, options: argparse.Namespace) -> str:
    listed = await users.list()
    if options.json:
        return json.dumps(msgspec.to_builtins(listed), indent=2)
    width = max(len(user.email) for user in listed)
    roles = {True: "admin", False: "user "}
    return "\n".join(
        printable(
            f"{user.id}  {roles[user.is_admin]}  {user.email:{width}}  {user.user_name}"
            f"{'  (deactivated)' if user.is_deactivated else ''}"
        )
        for user in listed
    )


async def _promote(users: UserOffice, options: argparse.Namespace) -> str:
    return printable(f"{(await users.set_role(options.email, is_admin=True)).email} is an admin now.")


async def _demote(users: UserOffice, options: argparse.Namespace) -> str:
    return printable(f"{(await users.set_role(options.email, is_admin=False)).email} is no admin any more.")


async def _remove(users: UserOffice, options: argparse.Namespace) -> str:
    return printable(f"{(await users.remove(options.email)).email} was removed. Their messages stay.")


async def _deactivate(users: UserOffice, options: argparse.Namespace) -> str:
    return printable(f"{(await users.deactivate(options.email)).email} is deactivated: nothing lets them in.")


async def _activate(users: UserOffice, options: argparse.Namespace) -> str:
    return printable(f"{(await users.activate(options.email)).email} may sign in again.")


async def _reset(users: UserOffice, options: argparse.Namespace) -> str:
    from teamchat.operations.users import made_password

    if options.mail:
        user = await users.mail_reset(options.email)
        return printable(f"A server that runs mails {user.email} a link to a new password.")
    await users.check_exists(options.email)
    password = made_password() if options.generate else read_password()
    user = await users.reset_password(options.email, password)
    said = printable(f"{user.email} has a new password, and all their sessions have ended.")
    return said + _shown(users, options, password)


async def _remove_second_factor(users: UserOffice, options: argparse.Namespace) -> str:
    user = await users.remove_second_factor(options.email)
    return printable(f"{user.email} has no second factor any more, and all their sessions have ended.")


def _shown(users: UserOffice, options: argparse.Namespace, password: str | None) -> str:
    shown = f"\nThe password is {password} (shown this once)." if options.generate else ""
    if password is not None and users.passwords_must_change:
        shown += "\nThey must change it at their next sign-in."
    return shown
