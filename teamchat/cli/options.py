"""What the verbs share of the command line: the subparsers they are added to, and ``--config``."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

_DEFAULT_FILES = ("teamchat.toml", "teamchat.json")


def add_config(parser: argparse.ArgumentParser) -> None:
    """Add the options for where the configuration is."""
    parser.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="the configuration, TOML or JSON; otherwise ./teamchat.toml or ./teamchat.json if there",
    )


def stored_text(text: str) -> str:
    """Take an argument that is looked for in the database, which holds none that is no UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise argparse.ArgumentTypeError("it is no UTF-8") from None
    return text


def config_file(options: argparse.Namespace) -> Path | None:
    """Return the configuration file that was named, or the one that lies here."""
    named: Path | None = options.config
    return named or next((Path(name) for name in _DEFAULT_FILES if os.path.isfile(name)), None)
