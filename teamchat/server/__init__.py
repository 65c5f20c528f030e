"""A serving process: its one nursery, the services in it, and how it is stopped."""

from __future__ import annotations

from teamchat.server.server import GRACE_SECONDS, HttpServer, prepared, run, say_ready, serve, serve_on

__all__ = ["GRACE_SECONDS", "HttpServer", "prepared", "run", "say_ready", "serve", "serve_on"]
