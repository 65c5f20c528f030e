"""PROP: what is true of every program: by a model, by many at once, and by what nobody would send."""

from __future__ import annotations

from teamchat_conformance.checks.properties import folding, fuzz, many, pages, programs
from teamchat_conformance.checks.properties._area import area

__all__ = ["area", "folding", "fuzz", "many", "pages", "programs"]
