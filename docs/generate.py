"""Writes the generated part of each reference page: what follows its line of dashes `<!-- generated -->`.

``make docs`` runs it; `tests/test_docs.py` fails when a page is not what this would write.
"""

from __future__ import annotations

import inspect
import re
import tempfile
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path

import cli_reference
import http_reference
import mikrochat
import msgspec
import testing_reference

import teamchat
from teamchat import events, model, settings, web
from teamchat.cli import scaffold
from teamchat.interfaces import api, hookspecs
from teamchat.model import Caller
from teamchat.plugins import Plugins
from teamchat.web import Section

REFERENCE = Path(__file__).parent / "reference"
MARK = "<!-- generated -->\n"

OF_CAPABILITIES = (
    teamchat.Capability,
    teamchat.Options,
    teamchat.Parts,
    teamchat.MessageFields,
    teamchat.DraftFields,
    teamchat.UserFields,
    teamchat.Written,
    teamchat.Outcome,
    teamchat.Changes,
    teamchat.Signal,
    teamchat.ExportPart,
    teamchat.Imported,
    teamchat.KeepsFiles,
    teamchat.Check,
    teamchat.Reminders,
    teamchat.Notices,
    teamchat.Credentials,
    teamchat.IdentityProvider,
    teamchat.SecondStep,
)
OF_HOOKS = (
    teamchat.Backend,
    teamchat.Storage,
    teamchat.Transaction,
    teamchat.ImageStore,
    teamchat.FileStore,
    teamchat.Mailer,
    teamchat.Mail,
    teamchat.AuthBackend,
    teamchat.AuthMode,
    teamchat.SignInTraits,
    teamchat.OAuthProvider,
    teamchat.Grant,
    teamchat.MessageFilter,
    teamchat.Posting,
    teamchat.FileCheck,
    teamchat.CheckedFile,
    teamchat.EventListener,
    teamchat.MissedEventsListener,
    teamchat.Service,
    teamchat.Command,
)


def hooks() -> str:
    """Return every hook with its signature, its docstring, and the template's example of it."""
    examples = {name: (kind, code) for kind in scaffold.KINDS for name, code in [_example(kind)]}
    parts = []
    for name, function in vars(hookspecs).items():
        if getattr(function, "teamchat_spec", None) is None:
            continue
        kind, code = examples[name]
        arguments = ", ".join(inspect.signature(function).parameters)
        parts.append(f"## `{name}({arguments})`\n\n{inspect.getdoc(function)}\n")
        parts.append(f"What `teamchat new-plugin example --kind {kind}` makes:\n\n```python\n{code}```\n")
    return "\n".join(parts)


def _example(kind: str) -> tuple[str, str]:
    """Return the hook that a kind of plugin implements, and the module made for it; tests run it."""
    with tempfile.TemporaryDirectory() as directory:
        made = scaffold.make(kind, "example", Path(directory))
        code = (made / "teamchat_example" / "__init__.py").read_text()
    [hook] = re.findall(r"^@hookimpl\ndef (\w+)\(", code, re.MULTILINE)
    return hook, code


def event_types() -> str:
    """Return the table of event types, when it is sent, and its fields: in brackets what may be missing."""
    table = _of_events(public_payloads())
    for _, offer in Plugins.load().capability_offers():
        table += f"\n## Of the capability `{offer.name}`\n\n" + _of_events(offer.events)
    return table


def _of_events(payloads: Sequence[type[events.Payload]]) -> str:
    rows = ["| type | sent when | payload |", "|---|---|---|"]
    for payload in payloads:
        fields = [
            name if field.required else f"[{name}]"
            for field in msgspec.structs.fields(payload)
            for name in [field.encode_name]
        ]
        told = http_reference.told(inspect.getdoc(payload) or "", map(str, payload.__struct_encode_fields__))
        rows.append(f"| `{payload.type}` | {told} | {', '.join(fields)} |")
    return "\n".join(rows) + "\n"


def public_payloads() -> list[type[events.Payload]]:
    """Return the payloads of the events that reach clients."""
    order = ("streams", "messages", "channels", "resources")
    return sorted(_payloads(events.Payload), key=lambda payload: order.index(_module(payload)))


def _module(payload: type[events.Payload]) -> str:
    return payload.__module__.rpartition(".")[2]


def _payloads(base: type[events.Payload]) -> list[type[events.Payload]]:
    found = []
    for payload in base.__subclasses__():
        if not payload.__module__.startswith(f"{events.__name__}."):
            continue
        if "type" in vars(payload) and not events.is_internal(payload.type):
            found.append(payload)
        found += _payloads(payload)
    return found


def configuration() -> str:
    """Return the file that ``teamchat init`` writes."""
    return f"```toml\n{settings.sample(Plugins.load().tables())}```\n"


def installed() -> str:
    """Return a table of the plugins in ``plugins/``, and what each says of itself."""
    offers = Plugins.load().capability_offers()
    rows = ["| plugin | what it does | capabilities |", "|---|---|---|"]
    for directory in sorted((REFERENCE.parent.parent / "plugins").glob("teamchat-*")):
        project = tomllib.loads((directory / "pyproject.toml").read_text())["project"]
        entries = project["entry-points"]["teamchat"]
        brought = ", ".join(f"`{offer.name}` {offer.version}" for name, offer in offers if name in entries)
        what = project["description"].removeprefix("teamchat: ")
        rows.append(f"| [{directory.name}](../../plugins/{directory.name}/README.md) | {what} | {brought} |")
    return "\n".join(rows) + "\n"


def plugin_api() -> str:
    """Return every member of the façade, and what else `teamchat` exports, with what it is for."""
    parts = ["## `Teamchat`\n", testing_reference.markdown(inspect.getdoc(api.Teamchat) or "")]
    for name in facade():
        member = inspect.getattr_static(api.Teamchat, name)
        is_property = isinstance(member, property)
        shown = inspect.signature(member.fget if isinstance(member, property) else member)
        returns = str(shown.return_annotation)
        arguments = ", ".join(list(shown.parameters)[1:])
        told = f"`app.{name}: {returns}`" if is_property else f"`app.{name}({arguments}) -> {returns}`"
        parts.append(f"### {told}\n\n{testing_reference.markdown(inspect.getdoc(member) or '')}")
    parts.append("## What `app` returns\n")
    parts += [_told(kind) for kind in (teamchat.SeenMessage, teamchat.Room)]
    parts += [
        line for kind in (teamchat.Activity, teamchat.Seen, teamchat.Changed) for line in _described(kind)
    ]
    parts += ["## Endpoints\n", "### `section.endpoint(method, path, …)`\n", *_given(Section.endpoint)]
    parts += [*_described(Caller), *_described(teamchat.KeyedRequest)]
    parts.append("## What a capability is made of\n")
    parts += [line for kind in OF_CAPABILITIES for line in _described(kind)]
    parts.append("## What hooks offer\n")
    parts += [line for kind in OF_HOOKS for line in _described(kind)]
    parts.append("## What a plugin may raise\n")
    parts.append('These are answered as `{"error": sentence}`; the sentence is what they are made with.\n')
    parts += ["| error | status | when |", "|---|---|---|"]
    parts += [
        f"| `{kind.__name__}` | {kind.status} | {testing_reference.markdown(kind.__doc__ or '').strip()} |"
        for kind in sorted(problems(), key=lambda kind: kind.status)
    ]
    parts.append("\n## What a plugin may import\n")
    parts.append(testing_reference.markdown((inspect.getdoc(teamchat) or "").partition("\n\n")[2]))
    for module in (teamchat, model, web):
        names = ", ".join(f"`{name}`" for name in module.__all__)
        parts.append(f"Of `{module.__name__}`: {names}.\n")
    return "\n".join(parts)


def _given(function: Callable[..., object]) -> list[str]:
    """Return a table of what a method is given, from the list in its docstring; it must tell of each once."""
    told = re.findall(r"^- `(\w+)`: (.+(?:\n +.+)*)", inspect.getdoc(function) or "", re.MULTILINE)
    given = dict(list(inspect.signature(function).parameters.items())[1:])
    if [name for name, _ in told] != list(given):
        raise ValueError(f"the docstring of {function.__qualname__} tells of other arguments than it has")
    rows = ["| argument | default | what it says |", "|---|---|---|"]
    for name, text in told:
        default = given[name].default
        shown = "" if default is inspect.Parameter.empty else f"`{default!r}`"
        rows.append(f"| `{name}` | {shown} | {' '.join(text.replace('``', '`').split())} |")
    return [*rows, ""]


def _told(kind: type) -> str:
    return f"### `{kind.__name__}`\n\n{testing_reference.markdown(inspect.getdoc(kind) or '')}"


def _described(kind: type) -> list[str]:
    """Return what a class is for, and a line for each of its methods and documented fields."""
    return [_told(kind), *testing_reference.members(kind)]


def problems() -> list[type[teamchat.Problem]]:
    """Return the errors that plugins may raise to answer a request."""
    exported = [vars(teamchat)[name] for name in teamchat.__all__]
    return [one for one in exported if inspect.isclass(one) and one in teamchat.Problem.__subclasses__()]


def facade() -> list[str]:
    """Return the names of what plugins may rely on of the server."""
    return [name for name in vars(api.Teamchat) if not name.startswith("_")]


PAGES: dict[str, Callable[[], str]] = {
    "api.md": plugin_api,
    "hooks.md": hooks,
    "events.md": event_types,
    "configuration.md": configuration,
    "plugins.md": installed,
    "http.md": http_reference.rendered,
    "cli.md": cli_reference.rendered,
    "testing.md": testing_reference.rendered,
    "mikrochat.md": mikrochat.rendered,
}


def rendered(page: str) -> str:
    """Return a page as it should be: its written part, and the generated part made anew."""
    written, _, _ = (REFERENCE / page).read_text().partition(MARK)
    return written + MARK + "\n" + PAGES[page]()


if __name__ == "__main__":
    for page in PAGES:
        (REFERENCE / page).write_text(rendered(page))
