"""Which text teamchat accepts, and nothing else (decisions D-04, D-05, D-41).

Text is stored as it came, except for the white space in names. What no storage or client can handle (NUL,
lone surrogates) is refused in every text; what could disguise a name is refused in names (D-41). What a
plugin passes may be a subclass of `str`, such as markup, which neither storages nor the JSON encoder accept;
so what is returned is a plain `str`. Every function returns the text to store, or raises `BadRequest` with a
sentence that names the field.
"""

from __future__ import annotations

import re
import unicodedata

from teamchat.errors import BadRequest

MAX_NAME = 80
MAX_USER_NAME = 64
MAX_REACTION = 64
MAX_EMAIL = 254
BOTS_DOMAIN = "bots.invalid"
"""Where the emails of programs' accounts are. Nobody receives mail there (RFC 2606), and nobody is let in who
says that they do (extension K-2)."""

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
# Control characters, also those of annotations and embedded objects, which browsers show as nothing, and the
# bidirectional embeddings, overrides, isolates and marks of UAX #9.
_DISGUISING = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\ufff9-\ufffc\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)

# Unicode's Default_Ignorable_Code_Point, of which reserved code points are a part, so that no later version
# adds to it; and the blank Braille pattern, which shows as nothing either.
_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)
# What joins characters, or keeps them apart, in words of Persian and Hindi, and says how an emoji is drawn.
_JOINING = re.compile("[\u200c\u200d\ufe0e\ufe0f]")
_SPACE = re.compile(r"\s+")
_MOST_MARKS = 31  # with what bears them


def plain(text: str) -> str:
    """Return the same characters as a `str` and no subclass of it. Raises `TypeError` for anything else."""
    return str.__str__(text)


def storable(field: str, text: str) -> str:
    """Return text that any storage keeps: no NUL character and no lone surrogate."""
    text = plain(text)
    if _UNSTORABLE.search(text):
        raise BadRequest(f"{field} holds a character that can't be stored (NUL or a lone surrogate).")
    return text


def content(text: str, *, most: int, may_be_blank: bool = False) -> str:
    """Return a message's content: 1 to `most` characters, not blank unless `may_be_blank`."""
    text = storable("content", text)
    if len(text) > most:
        raise BadRequest(f"content is longer than {most} characters.")
    if not may_be_blank and not text.strip():
        raise BadRequest("content is blank.")
    return text


def name(field: str, text: str, *, most: int = MAX_NAME, present: str | None = None) -> str:
    """Return a name, trimmed, with one space for each run of white space (D-41).

    It has 1 to `most` characters, and none that is not seen or changes the direction.  `present` is the name
    that is to be replaced: it is accepted as it is, though it be from before a rule.
    """
    trimmed = storable(field, text).strip()
    if trimmed == present:
        return trimmed
    if _DISGUISING.search(trimmed):
        raise BadRequest(f"{field} holds a control or direction character.")
    if _UNSEEN.search(trimmed):
        raise BadRequest(f"{field} holds a character that is not seen.")
    accepted = squeezed(trimmed)
    if not accepted:
        raise BadRequest(f"{field} is blank.")
    if len(accepted) > most:
        raise BadRequest(f"{field} is longer than {most} characters.")
    return accepted


def label(field: str, text: str, *, most: int) -> str:
    """Return a text of one line that is nobody's alone, such as a title: a name, but one that may be blank.

    As nobody is told from others by it, it may hold what joins characters (ZWJ, ZWNJ, variation selectors).
    """
    trimmed = storable(field, text).strip()
    bare = _JOINING.sub("", trimmed).strip()
    if not bare:
        return ""
    name(field, bare, most=most)
    line = squeezed(trimmed)
    if len(line) > most:
        raise BadRequest(f"{field} is longer than {most} characters.")
    return line


def note(field: str, text: str, *, most: int, may_be_blank: bool = True) -> str:
    """Return a text about something, trimmed: at most `most` characters, maybe of several lines."""
    trimmed = storable(field, text).strip()
    if len(trimmed) > most:
        raise BadRequest(f"{field} is longer than {most} characters.")
    if not (trimmed or may_be_blank):
        raise BadRequest(f"{field} is blank.")
    return trimmed


def made_name(field: str, text: str, *, most: int = MAX_NAME) -> str:
    """Return a name made of `text`, which nobody chose as one: what no name may hold is left out.

    Raises `BadRequest` if nothing is left.
    """
    kept = _UNSTORABLE.sub("", _DISGUISING.sub(" ", text[: 4 * most]))
    return name(field, squeezed(_UNSEEN.sub("", kept))[:most], most=most)


def visible(text: str) -> str:
    """Return `text` without the characters that are not seen."""
    return _UNSEEN.sub("", text)


def squeezed(text: str) -> str:
    """Return `text` trimmed, with one space for each run of white space."""
    return _SPACE.sub(" ", text).strip()


def reaction(text: str, field: str = "reaction") -> str:
    """Return a reaction: 1 to 64 characters, unchanged."""
    text = storable(field, text)
    if not text.strip():
        raise BadRequest(f"{field} is blank.")
    if len(text) > MAX_REACTION:
        raise BadRequest(f"{field} is longer than {MAX_REACTION} characters.")
    return text


def email(text: str) -> str:
    """Return an email address: one ``@`` with something on both sides, no white space, at most 254.

    None of a program's account is one, for nobody signs in or is invited by it.
    """
    if len(text) > MAX_EMAIL:  # first, for to look at each character of a body takes long
        raise BadRequest("email is not a valid address.")
    text = storable("email", text)
    local, at, domain = text.partition("@")
    odd = any(c.isspace() or unicodedata.category(c) in {"Cc", "Cf"} for c in text)
    if not (local and at and domain) or "@" in domain or odd:
        raise BadRequest("email is not a valid address.")
    if fold(domain).rstrip(".") == BOTS_DOMAIN:
        raise BadRequest("email is not a valid address: nobody has one there.")
    return text


def is_same_mailbox(one: str, other: str) -> bool:
    """Return whether two emails are one mailbox, whose owner has proved to be there by either of them.

    Accounts compare emails without regard to case (D-05), by which "straße" and "strasse" are one.  They are
    two mailboxes, which may be two people's.
    """
    return one.encode().lower() == other.encode().lower()


def base_at(text: str, at: int) -> str:
    """Return the character at a place, or of a combining mark the one before it that bears it.

    Vowels of Hindi or Thai are such marks: what they follow is not the end of a word.  Nothing bears more
    than 30 of them (UAX #15, stream-safe text), and none are looked for beyond.
    """
    for base in range(at, max(at - _MOST_MARKS, -1), -1):
        if unicodedata.category(text[base])[0] != "M":
            return text[base]
    return text[at]


def fold(text: str) -> str:
    """Return the form in which names and emails are compared, without regard to case (D-05, D-21, D-24)."""
    if text.isascii():  # the same, and ten times as fast
        return text.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
