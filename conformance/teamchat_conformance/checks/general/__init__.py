"""GEN: what holds for the whole interface: transport, JSON, health (interface, introduction and part 4)."""

from __future__ import annotations

from teamchat_conformance.checks.general import codings, connections, health, identity, methods, requests
from teamchat_conformance.checks.general._area import area

__all__ = ["area", "codings", "connections", "health", "identity", "methods", "requests"]
