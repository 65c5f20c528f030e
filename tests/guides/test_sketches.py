"""The sketches in the reference of the testing kit: they are Python, and name what there is."""

from __future__ import annotations

import ast
import builtins

from teamchat import testing
from tests.guides.pages import blocks

KIT = {*testing.__all__}


def parsed(sketch: str) -> ast.AST:
    """Parse what may be a part of an async function."""
    return compile(sketch, "sketch", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def test_every_sketch_is_python_that_begins_with_something_of_the_kit() -> None:
    sketches = blocks("reference/testing.md", "python")
    assert sketches
    for sketch in sketches:
        used = {node.id for node in ast.walk(parsed(sketch)) if isinstance(node, ast.Name)}
        contracts = {name for name in used - {*dir(builtins)} if name.endswith("Contract")}
        assert contracts <= KIT, sketch
        assert used & KIT, sketch
