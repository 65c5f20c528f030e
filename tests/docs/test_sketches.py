"""The sketches in the reference of the testing kit: they are Python, and name what there is."""

from __future__ import annotations

import ast
import builtins

import msgspec
import pytest

from teamchat import testing
from tests.docs.pages import blocks

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


OF_API = blocks("reference/api.md", "python")
FIELDS = [sketch for sketch in OF_API if sketch.startswith("class ")]


def test_every_other_sketch_of_what_plugins_may_rely_on_is_python() -> None:
    assert FIELDS
    for sketch in [one for one in OF_API if one not in FIELDS]:
        parsed(sketch)


@pytest.mark.parametrize("sketch", FIELDS)
def test_the_fields_in_what_plugins_may_rely_on_are_a_struct_of_which_all_may_be_missing(sketch: str) -> None:
    names = {"Struct": msgspec.Struct, "UNSET": msgspec.UNSET, "UnsetType": msgspec.UnsetType}
    known = set(names)
    exec(compile(sketch, "sketch", "exec", dont_inherit=True), names)
    [kind] = [value for name, value in names.items() if name not in {*known, "__builtins__"}]
    assert msgspec.structs.fields(kind)
    assert msgspec.json.encode(kind()) == b"{}"
