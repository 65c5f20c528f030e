"""``python -m teamchat_web DIRECTORY --server URL``: write the client out for another host to serve.

The files are those the plugin serves, under the same addresses.  ``config.js`` is made from what the server
says of itself, with its address as API_BASE_URL; so a change of ``auth.authMode``, of mail or of OAuth, and
every new version, is exported anew.  What capabilities bring to the client comes from the plugins that are
installed here, as far as the server announces them.
"""

from __future__ import annotations

import argparse
import json
import sys
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import urlopen

from teamchat.plugins import Plugins
from teamchat.settings import PluginsSettings
from teamchat_web.pages import index_headers
from teamchat_web.site import CLIENT, build

PATIENCE_SECONDS = 20


def export(directory: Path, server: str) -> None:
    """Write the client into `directory`, told to use the server at the address `server`."""
    configuration = _configuration(server)
    site = build(CLIENT, _folders(server))
    for name, page in site.pages.items():
        _write(directory / name, page.body)
    for name, file in site.files.items():
        _write(directory / "client" / site.digest / name, file.body)
    _write(directory / "config.js", configuration)


def _folders(server: str) -> list[tuple[str, Traversable]]:
    """Return the parts of the client of those capabilities that are installed here and on at the server."""
    announced = _asked(f"{server}/capabilities")["capabilities"]
    installed = Plugins.load().capabilities(PluginsSettings())
    return [(name, folder) for name, folder in installed.client_folders if name in announced]


class _NoAnswer(Exception):
    """The server has not answered with what it was asked for."""


def _asked(address: str) -> dict[str, Any]:
    try:
        with urlopen(address, timeout=PATIENCE_SECONDS) as answer:  # noqa: S310  # checked in main
            asked: dict[str, Any] = json.load(answer)
            return asked
    except (URLError, ValueError) as error:
        raise _NoAnswer(f"{address}: {error}") from error


def _configuration(server: str) -> bytes:
    config = _asked(f"{server}/config.json") | {"API_BASE_URL": server}
    text = json.dumps(config).replace("<", "\\u003c")
    return f"window.TEAMCHAT_CONFIG = {text};\n".encode()


def _write(path: Path, body: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(body)


def main(arguments: list[str] | None = None) -> int:
    """Run the command; 0 if it is done."""
    parser = argparse.ArgumentParser(prog="python -m teamchat_web", description="Write the web client out.")
    parser.add_argument("directory", type=Path, help="where to; files that are there are replaced")
    parser.add_argument("--server", required=True, help="the server's public address, https://…")
    options = parser.parse_args(arguments)
    server = options.server.rstrip("/")
    address = urlsplit(server)
    if address.scheme not in {"http", "https"} or not address.netloc:
        parser.error(f"--server is an address such as https://chat.example.org, not {options.server!r}")
    try:
        export(options.directory, server)
    except _NoAnswer as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except OSError as error:
        sys.stderr.write(f"{options.directory}: {error}\n")
        return 1
    sys.stdout.write("Written. The host must send these headers with index.html:\n\n")
    for name, value in index_headers(f"{address.scheme}://{address.netloc}").items():
        sys.stdout.write(f"{name}: {value}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
