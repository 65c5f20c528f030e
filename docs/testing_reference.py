"""The reference of `teamchat.testing`, from its docstrings and the names of the contracts' tests."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from typing import Any

from teamchat import testing

SECTIONS = {
    "Contracts": [name for name in testing.__all__ if name.endswith("Contract")],
    "A real server": ["running", "Server", "ADMIN", "PASSWORD", "DEADLINE"],
    "Its live stream": ["listening", "Events"],
    "Its mails": ["mailed", "SentMail"],
    "A provider of identities": ["provider", "Provider", "Received", "Reply"],
    "What to ask with": ["MALFORMED_BODIES", "Said", "sample_events"],
}


def rendered() -> str:
    """Return every public name with what it is for. Raises `ValueError` if a name has no section."""
    if unplaced := set(testing.__all__) - {name for names in SECTIONS.values() for name in names}:
        raise ValueError(f"docs/testing_reference.py has no section for {', '.join(sorted(unplaced))}")
    parts = [markdown(inspect.getdoc(testing) or "")]
    for title, names in SECTIONS.items():
        parts.append(f"\n## {title}\n")
        parts += [line for name in names for line in _entry(name)]
    return "\n".join(parts)


def markdown(text: str) -> str:
    """Return a docstring as Markdown: its examples fenced, what is code marked with one backtick.

    An example that the docstring ends with has lost its indentation, for nothing stood further left.
    """
    before, colons, example = text.partition("::\n\n")
    if colons and not example.startswith(" "):
        text = before + colons + textwrap.indent(example, "    ")
    prose = re.sub(r"``([^`]*)``", r"`\1`", text)
    lines: list[str] = []
    for piece in re.split(r"((?:^(?: {4}.*)?\n)*^ {4}.*\n?)", prose + "\n", flags=re.MULTILINE):
        if piece.strip() and piece.lstrip("\n").startswith("    "):
            lines.append(f"\n```python\n{textwrap.dedent(piece).strip()}\n```\n")
        else:
            lines.append(re.sub(r"::\n*\Z", ":\n", piece).strip("\n"))
    return "\n".join(line for line in lines if line) + "\n"


def _entry(name: str) -> Iterator[str]:
    """Yield what there is to say of a public name."""
    value = getattr(testing, name)
    if inspect.isclass(value):
        yield f"### `{name}`\n"
        yield markdown(inspect.getdoc(value) or "")
        yield from _members(value)
        yield from _questions(value)
    elif callable(value):
        yield f"### `{name}{_signature(value)}`\n"
        yield markdown(inspect.getdoc(value) or "")
    else:
        yield f"### `{name}`\n"
        yield markdown(_constants()[name])


def _members(described: type[Any]) -> Iterator[str]:
    """Yield the public methods and properties that a class brings itself, or its private bases do."""
    for name, member in _public(described):
        is_abstract = getattr(member, "__isabstractmethod__", False)
        what = " ".join(markdown(inspect.getdoc(member) or "").split())
        call = "" if isinstance(member, property) else _signature(member)
        yield f"- `{name}{call}`{' (to give)' if is_abstract else ''}: {what}"
    for name, text in _documented(ast.parse(textwrap.dedent(inspect.getsource(described))).body[0]):
        yield f"- `{name}`: {' '.join(markdown(text).split())}"
    yield ""


def members(described: type[Any]) -> list[str]:
    """Return the public methods and attributes of a class, a line of Markdown each."""
    return list(_members(described))


def _public(described: type[Any]) -> Iterator[tuple[str, Any]]:
    own = vars(described)
    yield from (
        (name, member)
        for name, member in own.items()
        if not name.startswith(("_", "test_"))
        and name not in own.get("__annotations__", {})  # a function may be a field's default
        and (inspect.isfunction(member) or isinstance(member, property))
    )


def _questions(contract: type[Any]) -> Iterator[str]:
    """Yield what the tests of a contract ask, in the words of their names."""
    others = {name for base in contract.__bases__ if base.__name__ in testing.__all__ for name in dir(base)}
    tests = [name for base in contract.__mro__ for name in vars(base) if name.startswith("test_")]
    if tests:
        yield "What it asks:\n"
        yield from (f"- {_sentence(name)}" for name in dict.fromkeys(tests) if name not in others)
        yield ""


def _sentence(name: str) -> str:
    words = re.sub(r"^test_(d\d+[a-z]?_)?", "", name).replace("_", " ")
    return words[0].upper() + words[1:]


def _signature(function: Any) -> str:
    """Return the parameters without their types, and long texts without their end."""
    parameters = [
        parameter.replace(
            annotation=inspect.Parameter.empty,
            default=...
            if isinstance(parameter.default, str) and len(parameter.default) > 20
            else parameter.default,
        )
        for name, parameter in inspect.signature(inspect.unwrap(function)).parameters.items()
        if name != "self"
    ]
    return str(inspect.Signature(parameters)).replace("Ellipsis", "…")


def _constants() -> dict[str, str]:
    """Return the text that stands below each constant in the modules of `teamchat.testing`."""
    modules = (testing.servers, testing.bodies)
    return {
        name: text for module in modules for name, text in _documented(ast.parse(inspect.getsource(module)))
    }


def _documented(body: Any) -> Iterator[tuple[str, str]]:
    """Yield the assignments in a body that have a text below them, with it."""
    for statement, below in zip(body.body, body.body[1:], strict=False):
        target = (
            statement.targets[0] if isinstance(statement, ast.Assign) else getattr(statement, "target", None)
        )
        is_text = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
        if isinstance(target, ast.Name) and not target.id.startswith("_") and is_text:
            yield target.id, inspect.cleandoc(str(below.value.value))
