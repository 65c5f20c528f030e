"""The browsers the client is tested in, behind one small interface: what a person does in a page."""

from __future__ import annotations

from .chromium import Chromium
from .firefox import Firefox
from .page import Browser, Page, Started
from .webkit import WebKit

ENGINES: tuple[type[Browser], ...] = (Chromium, Firefox, WebKit)

__all__ = ["ENGINES", "Browser", "Chromium", "Firefox", "Page", "Started", "WebKit"]
