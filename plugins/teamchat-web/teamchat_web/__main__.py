"""``python -m teamchat_web DIRECTORY --server URL``: write the client out for another host to serve.

The files are those the plugin serves, under the same addresses.  ``config.js`` is made from what the server
says of itself, with its address as API_BASE_URL; so a change of ``auth.authMode``, of mail or of OAuth, and
every new version, is exported anew.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import urlopen

from teamchat_web.pages import index_headers
from teamchat_web.site import CLIENT, build

PATIENCE_SECONDS = 20


def export(directory: Path, server: str) -> None:
    """Write the client into `directory`, told to use the server at the address `server`."""
    site = build(CLIENT)
    for name, page in site.pages.items():
        _write(directory / name, page.body)
    for name, file in site.files.items():
        _write(directory / "client" / site.digest / name, file.body)
    _write(directory / "config.js", _configuration(server))


def _configuration(server: str) -> bytes:
    with urlopen(f"{server}/config.json", timeout=PATIENCE_SECONDS) as answer:  # noqa: S310  # checked in main
        config = json.load(answer) | {"API_BASE_URL": server}
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
    except (OSError, ValueError) as error:
        what = f"{server}/config.json" if isinstance(error, (URLError, ValueError)) else options.directory
        sys.stderr.write(f"{what}: {error}\n")
        return 1
    sys.stdout.write("Written. The host must send these headers with index.html:\n\n")
    for name, value in index_headers(f"{address.scheme}://{address.netloc}").items():
        sys.stdout.write(f"{name}: {value}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
