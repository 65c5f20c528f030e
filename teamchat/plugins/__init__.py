"""Find plugins, load them in name order, and list what each offers.

A disabled plugin is not even imported. A plugin that fails takes nothing else down and leaves none of its
offers behind. Every failure names the plugin, its distribution and version, the cause, and the line that
disables it. `Plugins.load` collects failures and `Plugins.require` raises the first, so that ``teamchat
plugins`` can always list what ``teamchat serve`` refuses.
"""

from __future__ import annotations

from teamchat.plugins.plugin import EntryPoint, PluginReport
from teamchat.plugins.registry import Plugins

__all__ = ["EntryPoint", "PluginReport", "Plugins"]
