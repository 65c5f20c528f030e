"""No page shows what nobody tries: every fenced block of every page is taken by a test.

A test takes blocks by a call ``blocks(page, language)``, here or in the tests of another part.  The calls are
read from the sources, with what a page's name can be where it is a parameter; where that can't be told, it is
any page that the file names.  Whoever takes them takes all
in that language apart at once (`tests.docs.pages`), so one more block on a page makes a test fail, and one
in another language makes this one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from functools import cache
from itertools import chain, product
from os.path import relpath
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import DOCS, ROOT, fenced

GENERATED = {"docs/reference/configuration.md", "docs/reference/hooks.md"}
"""Made by docs/generate.py: from the settings themselves, and from templates that have tests of their own."""
PICTURES = {"docs/explanation/the-web-client.md": "text"}
"""Drawn in characters, with nothing to type."""
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "conformance/README.md")),
    *ROOT.glob("plugins/*/README.md"),
    *DOCS.glob("*/*.md"),
]
TESTS = [*ROOT.glob("tests/**/test_*.py"), *ROOT.glob("*/*/tests/test_*.py"), *ROOT.glob("*/tests/test_*.py")]


Scope = dict[str, ast.expr]


def calls(source: str) -> Iterator[tuple[str, str]]:
    """Yield the calls of ``blocks`` in a source, each as a pattern of pages and a language."""
    tree = ast.parse(source)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    outside = _assigned(tree.body)
    found = [*_blocks([node for node in tree.body if node not in functions], outside)]
    for function in functions:
        scope = outside | _given(function.decorator_list) | _assigned(function.body)
        found += _blocks(function.body, scope)
    named = {text for node in ast.walk(tree) for text in _values(node, {}) if text.endswith(".md")}
    for page, language in found:
        yield from product(named if page == "*" else [page], [language])


def _assigned(body: list[ast.stmt]) -> Scope:
    """Return what names stand for; that of a loop for each thing that it goes through."""
    found: Scope = {}
    for node in body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found[name] = value
            case ast.For(target=ast.Name(id=name), iter=value):
                found[name] = value
    return found


def _given(decorators: list[ast.expr]) -> Scope:
    """Return the parameters of a test that stand alone, each with its values."""
    found = _calls_of("parametrize", decorators)
    return {str(of.args[0].value): of.args[1] for of in found if isinstance(of.args[0], ast.Constant)}


def _calls_of(name: str, nodes: Iterable[ast.AST]) -> Iterator[Any]:
    """Yield the calls of a function, or of a method of this name, that have two arguments or more."""
    for node in (inner for outer in nodes for inner in ast.walk(outer)):
        match node:
            case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called), args=[_, _, *_]):
                if called == name:
                    yield node


def _blocks(body: list[ast.stmt], scope: Scope) -> Iterator[tuple[str, str]]:
    for call in _calls_of("blocks", body):
        page, *languages = (_values(argument, scope) for argument in call.args)
        for pattern, language in product(page, chain(*languages)):
            yield pattern.removeprefix("*/"), language


def _values(node: ast.AST, scope: Scope) -> list[str]:
    """Return what an expression can be, with ``*`` in the place of what is not known."""
    match node:
        case ast.Constant(value=str(value)):
            return [value]
        case ast.Name(id=name) if name in scope:
            return _values(scope[name], {other: value for other, value in scope.items() if other != name})
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Dict(keys=parts):
            return [value for part in parts if part is not None for value in _values(part, scope)]
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return ["/".join(pair) for pair in product(_values(left, scope), _values(right, scope))]
        case ast.JoinedStr(values=parts):
            return ["".join(each) for each in product(*(_values(part, scope) for part in parts))]
        case ast.FormattedValue(value=value):
            return _values(value, scope)
        case ast.Call(func=ast.Attribute(value=form, attr="format"), args=[argument]):
            filled = product(_values(form, scope), _values(argument, scope))
            return [each.format(value) for each, value in filled]
    return ["*"]


@cache
def taken() -> dict[Path, set[tuple[str, str]]]:
    return {file: {*calls(file.read_text("utf-8"))} for file in TESTS}


def names(page: Path) -> list[str]:
    """Return how tests may call a page: by its path in the repository, by that from docs/, or by its name."""
    own = [] if page.name == "README.md" else [page.name]
    return [str(page.relative_to(ROOT)), relpath(page, DOCS), *own]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: names(page)[0])
def test_every_block_of_the_page_is_taken_by_a_test(page: Path) -> None:
    name = names(page)[0]
    shown = {language for language, _ in fenced(page.read_text("utf-8"))}
    tried = {
        language
        for pattern, language in set().union(*taken().values())
        if any(fnmatchcase(each, pattern) for each in names(page))
    }
    if name not in GENERATED:
        assert shown - tried <= {PICTURES.get(name)}, f"no test takes these blocks of {name}"


def test_fences_are_closed_and_every_one_is_seen() -> None:
    for page in PAGES:
        text = page.read_text("utf-8")
        fences = [line for line in text.splitlines() if line.lstrip().startswith("```")]
        assert len(fences) == 2 * len(fenced(text)), page


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('blocks("how-to/a.md", "sh")', {("how-to/a.md", "sh")}),
        ('P = ROOT / "docs" / "a.md"\nblocks(P, "sh")', {("docs/a.md", "sh")}),
        ('def f(): blocks(f"with-{id}.md", "")', {("with-*.md", "")}),
        ('R = "{}/a.md"\nblocks(R.format("x"), "toml")', {("x/a.md", "toml")}),
        ('@parametrize("p", ["a", "b"])\ndef f(p): blocks(p, "sh")', {("a", "sh"), ("b", "sh")}),
        ('p = "a"\ndef f(p): q(p, "sh")\ndef g(): blocks(p, "sh")', {("a", "sh")}),
        ('def f():\n for p in ("a", "b"): blocks(p, "sh")', {("a", "sh"), ("b", "sh")}),
        ('def f(p): blocks(p, "sh", "json")\nf("a.md")', {("a.md", "sh"), ("a.md", "json")}),
        ('blocks("a", language)', {("a", "*")}),
        ("blocks(whatever, 'sh')", set()),
    ],
)
def test_calls_are_read_from_sources(source: str, found: set[tuple[str, str]]) -> None:
    assert {*calls(source)} == found
