"""``teamchat try-webhook`` is held to what every verb is held to."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from teamchat_outgoing_webhooks.trying import TRY

from teamchat import Command
from teamchat.settings import PluginsSettings, Settings
from teamchat.testing import CommandContract


class Taking(BaseHTTPRequestHandler):
    """Takes whatever is posted."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Nobody reads it."""


class TestTry(CommandContract):
    arguments = ("tracker",)

    @pytest.fixture(autouse=True)
    def _tracker(self) -> Iterator[None]:
        with ThreadingHTTPServer(("127.0.0.1", 0), Taking) as server:
            self.port = server.server_port
            serving = threading.Thread(target=server.serve_forever)
            serving.start()
            yield
            server.shutdown()
            serving.join()

    def command(self) -> Command:
        return TRY

    def settings(self, tmp_path: Path) -> Settings:
        url = f"http://127.0.0.1:{self.port}/"
        target = {"name": "tracker", "url": url, "secret": "a secret of the tests"}
        return Settings(plugins=PluginsSettings(options={"outgoing-webhooks": {"targets": [target]}}))
