"""The client's files as they are served: read at the start, named after their content, and compressed.

* All files stand under one digest, made from every file's path and bytes, so the modules of two versions
  never meet: whatever changes, all addresses change, and what an address once gave it gives for ever.
* The three pages that name the digest (``index.html``, ``sw.js``, ``manifest.webmanifest``) have fixed
  addresses.  In them ``{{digest}}``, ``{{files}}`` and ``{{modules}}`` are filled in.
* What capabilities bring (`teamchat_web.extensions`) stands among the files, under the same digest.
* The service worker keeps all files from its installation on, but for `ON_DEMAND`: those it keeps once used.
* Addresses within the pages are relative, so that the client works under any path.
* The style sheets of the first view go out as one, in their order, for each request costs a phone more than
  its bytes do.
* Page, scripts and style sheets go out without their comments and indentation, and scripts and style sheets
  without the spaces around most signs, for a browser needs none of them; every line keeps its number.  This
  looks at lines alone, so nothing in them may span lines but comments (and the tables in ``emoji/``).
* That is done when a file is asked for first: for all of them it takes a fifth of a second, in which a server
  that starts would answer nobody.  Read they are before, for an upgrade may put others in their place.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from importlib.resources.abc import Traversable
from pathlib import Path, PurePosixPath
from posixpath import normpath

from msgspec import Struct

from teamchat_web import extensions

CLIENT = Path(__file__).parent / "client"
INDEX, MANIFEST, WORKER = "index.html", "manifest.webmanifest", "sw.js"
PAGES = (INDEX, MANIFEST, WORKER)
FIRST_MODULES = ("main.js", "view/shell.js")
"""What a signed-in first view loads; whatever these import statically is announced in the index."""

FIRST_STYLES = tuple(
    f"style/{name}.css" for name in ("tokens", "base", "controls", "chat", "messages", "composer")
)
"""The style sheets of a first view, in the order in which they count; they are served as `FIRST_STYLE`."""
FIRST_STYLE = "style/first.css"

ON_DEMAND = "emoji/"
"""Where the files stand that not everybody needs."""

_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
    ".webp": "image/webp",
}
_PACKABLE = frozenset({".css", ".html", ".js", ".json", ".svg", ".webmanifest"})
_STATIC_IMPORT = re.compile(
    r"""^\s*(?:import|export)\b[^"'();]*?(?:from\s*)?["'](\.[^"']+)["']""", re.MULTILINE
)


class File(Struct, frozen=True, dict=True):
    """A file by its name and its source; what is sent is made of that once it is asked for."""

    name: str
    source: bytes

    @cached_property
    def body(self) -> bytes:
        """What a browser needs of it."""
        return _slim(self.name, self.source)

    @cached_property
    def packed(self) -> bytes | None:
        """The body as gzip, or None where that would not be shorter."""
        packed = gzip.compress(self.body, mtime=0) if self._suffix in _PACKABLE else self.body
        return packed if len(packed) < len(self.body) else None

    @cached_property
    def tag(self) -> str:
        """The body's own mark, for ``ETag``."""
        return sha256(self.body).hexdigest()[:16]

    @property
    def content_type(self) -> str:
        """Its media type."""
        return _TYPES[self._suffix]

    @property
    def _suffix(self) -> str:
        return PurePosixPath(self.name).suffix


class Site(Struct, frozen=True):
    """The client: its pages by name, and its files by their path under ``client/<digest>/``."""

    digest: str
    pages: Mapping[str, File]
    files: Mapping[str, File]


def build(directory: Path, folders: Sequence[tuple[str, Traversable]] = ()) -> Site:
    """Read the client from `directory`, and what capabilities bring from `folders`, as they are served."""
    sources = {
        path.relative_to(directory).as_posix(): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.suffix in _TYPES and path.is_file()
    }
    sources |= extensions.files_of(folders)
    sources[MANIFEST] = extensions.manifest(sources[MANIFEST], sources, folders)
    digest = _digest(sources)
    files = _joined({name: source for name, source in sources.items() if name not in PAGES})
    modules = first_modules({name: one.decode() for name, one in files.items() if name.endswith(".js")})
    values = {
        b"{{digest}}": digest.encode(),
        b"{{files}}": " ".join(name for name in files if not name.startswith(ON_DEMAND)).encode(),
        b"{{modules}}": b"\n".join(_preload(digest, name) for name in modules),
    }
    return Site(
        digest,
        {name: File(name, _filled(sources[name], values)) for name in PAGES},
        {name: File(name, source) for name, source in files.items()},
    )


def _joined(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return `files` with one style sheet in place of those of the first view."""
    first = b"".join(files.get(name, b"") for name in FIRST_STYLES)
    others = {name: body for name, body in files.items() if name not in FIRST_STYLES}
    return others | {FIRST_STYLE: first}


def first_modules(sources: Mapping[str, str]) -> list[str]:
    """Return the modules of the first view: `FIRST_MODULES` and all that these import statically."""
    found: list[str] = []
    waiting = [name for name in FIRST_MODULES if name in sources]
    while waiting:
        name = waiting.pop(0)
        if name in found:
            continue
        found.append(name)
        waiting += static_imports(name, sources[name])
    return found


def static_imports(name: str, source: str) -> list[str]:
    """Return the paths of the modules that the module `name` imports statically."""
    parent = PurePosixPath(name).parent
    return [normpath(parent / target) for target in _STATIC_IMPORT.findall(source)]


_END_COMMENT = re.compile(r""" // [^"'`]*$""")
_STYLE = (
    (re.compile(r"((?:^|[{;] ?)[\w-]+): "), r"\1:"),  # a declaration; selectors have no space after a colon
    (re.compile(r" ?([{}]) ?"), r"\1"),
    (re.compile(r"([;,]) "), r"\1"),
    (re.compile(r";}"), "}"),
)
# A line of script that has no other quotes and no slash outside of its texts has no regular expression in it;
# one with several templates may have a template in a template. Around a text no space separates anything.
# The spaces around plus and minus stay beside another of them: they may tell two signs from one of two.
_TEXT = re.compile(r' ?("(?:\\.|[^"\\])*"|`(?:\\.|[^`\\])*`) ?')
_END_OF_LINE = re.compile(r"([{};,])\n")
_QUOTING = frozenset("\"'`/")
_SCRIPT = re.compile(r" ?([=?:;,<>&|!(){}\[\]*%]) ?")
_SUM = re.compile(r"(?<![+-]) ([+-]) (?![+-])")


def slim(source: str) -> str:
    """Return a source without indentation, and without the comments of lines of script or style."""
    lines = []
    in_comment = False
    for line in source.splitlines():
        text = line.strip()
        in_comment = in_comment or text.startswith("/*")
        lines.append("" if in_comment or text.startswith("//") else _END_COMMENT.sub("", text))
        in_comment = in_comment and not text.endswith("*/")
    return "\n".join(lines) + "\n"


def slim_style(source: str) -> str:
    """Return a style sheet like `slim`, and without the spaces and ends of lines that separate nothing."""
    lines = [line for line in slim(source).splitlines() if line]
    for pattern, instead in _STYLE:
        lines = [pattern.sub(instead, line) for line in lines]
    return _END_OF_LINE.sub(r"\1", "\n".join(lines) + "\n")


def slim_script(source: str) -> str:
    """Return a script like `slim`, and without the spaces that separate nothing."""
    return "\n".join(map(_slim_line, slim(source).splitlines())) + "\n"


def _slim_line(line: str) -> str:
    parts = _TEXT.split(line)
    code, texts = parts[::2], parts[1::2]
    if _QUOTING & set("".join(code)) or line.count("`") > len("``"):
        return line
    slimmed = [_SUM.sub(r"\1", _SCRIPT.sub(r"\1", part)) for part in code]
    return "".join(part for pair in zip(slimmed, [*texts, ""], strict=True) for part in pair)


_AS_IT_IS = ("emoji/", extensions.FOLDER)
_SLIM = {".css": slim_style, ".html": slim, ".js": slim_script}


def _slim(name: str, body: bytes) -> bytes:
    if name.startswith(_AS_IT_IS):
        return body
    change = _SLIM.get(PurePosixPath(name).suffix)
    return body if change is None else change(body.decode()).encode()


def _digest(sources: Mapping[str, bytes]) -> str:
    whole = sha256()
    for name, body in sources.items():
        whole.update(b"%b\0%d\0%b" % (name.encode(), len(body), body))
    return whole.hexdigest()[:12]


def _preload(digest: str, name: str) -> bytes:
    return f'<link rel="modulepreload" href="client/{digest}/{name}">'.encode()


def _filled(body: bytes, values: Mapping[bytes, bytes]) -> bytes:
    for placeholder, value in values.items():
        body = body.replace(placeholder, value)
    return body
