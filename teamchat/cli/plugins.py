"""``teamchat plugins``: list the installed plugins, whatever is wrong with them or the configuration."""

from __future__ import annotations

import argparse
import json
import os
from typing import TYPE_CHECKING

import msgspec

from teamchat.cli.options import add_config, config_file
from teamchat.cli.printing import complain, printable
from teamchat.errors import SettingsError
from teamchat.plugins import PluginReport, Plugins
from teamchat.settings import PluginsSettings, load_plugins_settings

if TYPE_CHECKING:
    from teamchat.cli.options import Commands


def add(commands: Commands) -> None:
    """Add the verb to the command line."""
    parser = commands.add_parser("plugins", help="list the installed plugins", allow_abbrev=False)
    add_config(parser)
    parser.add_argument("--json", action="store_true", help="write JSON")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """List each plugin as active, disabled or failed, with its hooks and offers."""
    try:
        disabled = load_plugins_settings(config_file(options), os.environ).disabled
    except SettingsError as error:
        complain(error)
        disabled = PluginsSettings().disabled
    reports = Plugins.load(disabled).report()
    if options.json:
        print(json.dumps(msgspec.to_builtins(reports), indent=2))
    else:
        lines = [printable(line) for report in reports for line in _lines(report)]
        print("\n".join(lines or ["No plugin is installed."]))
    return 0


def _lines(report: PluginReport) -> list[str]:
    lines = [f"{report.name}: {report.status} ({report.distribution} {report.version})"]
    for hook in report.hooks:
        offers = report.offers.get(hook)
        lines.append(f"    {hook}: {', '.join(offers)}" if offers else f"    {hook}")
    return [*lines, f"    {report.error}"] if report.error else lines
