"""``teamchat serve``: run the server until it is stopped."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from teamchat.cli.options import add_config, config_file
from teamchat.observability import logs
from teamchat.plugins import Plugins
from teamchat.settings import load

if TYPE_CHECKING:
    from teamchat.cli.options import Commands


def add(commands: Commands) -> None:
    """Add the verb to the command line."""
    parser = commands.add_parser("serve", help="run the server", allow_abbrev=False)
    add_config(parser)
    parser.add_argument("--host", help="the address to listen on (server.host)")
    parser.add_argument("--port", type=int, help="the port to listen on (server.port)")
    parser.add_argument(
        "--initialUserPassword",
        dest="password",
        metavar="PASSWORD",
        help="the initial admin's password, used on the first start (chat.initialUser.password)",
    )
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Serve with the configuration, the environment and the flags."""
    os.umask(0o077)  # what the server writes is for its owner alone, wherever the directory came from
    logs.configure()
    logs.guard_interpreter()
    settings = load(
        config_file(options),
        os.environ,
        host=options.host,
        port=options.port,
        initial_user_password=options.password,
    )
    logs.configure(level=settings.logs.level, format=settings.logs.format)
    plugins = Plugins.load(settings.plugins.disabled)
    plugins.require()
    for sentence in plugins.not_there(settings.plugins.disabled):
        logs.get_logger(__name__).warning(f"{sentence}; teamchat plugins lists their names")

    from teamchat.server import workers  # the web stack is loaded by this command alone

    workers.run(settings, plugins)
    return 0
