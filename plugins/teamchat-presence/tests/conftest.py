"""The servers that a browser visits, and how people enter them, as in the web client's own tests."""

from importlib import import_module

_web = import_module("plugins.teamchat-web.tests.conftest")
enter, serve, talk, visit = _web.enter, _web.serve, _web.talk, _web.visit
accessible, look, standing = _web.accessible, _web.look, _web.standing
