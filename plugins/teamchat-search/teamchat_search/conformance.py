"""SEARCH: what is found, by whom, and in which order (capability search, extension F).

The suite loads this by an entry point; the server never does.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from teamchat_conformance.checks.steps import at
from teamchat_conformance.endpoints import Endpoint
from teamchat_conformance.expect import require
from teamchat_conformance.registry import Area

if TYPE_CHECKING:
    from teamchat_conformance.http import Client
    from teamchat_conformance.run import Run

HIT = {
    "message": None,
    "place": {"id": None, "kind": None, "name": None},
    "highlights": {"field": None, "offset": None, "length": None},
}
FILE_HIT = {name: HIT[name] for name in ("place", "highlights")} | {"file": None, "messageId": None}
# What is said, and what finds it and nothing else of this list.
CORPUS: Sequence[tuple[str, Sequence[str]]] = (
    ("Die Straße ist nass", ("STRASSE", "straße", "nass")),
    ("Η Αθήνα το πρωί", ("ΑΘΗΝΑ", "αθηνα", "πρωι")),
    ("İstanbul akşam", ("istanbul", "aksam")),
    ("Ёлка стоит", ("елка", "СТОИТ")),
    ("我去上海玩", ("上海", "去上海")),
    ("東京タワー", ("タワー", "京タ")),
    ("안녕하세요 여러분", ("녕하", "여러분")),
    ("สวัสดีครับ", ("สดี", "ครับ")),
    ("مرحبا بالعالم", ("بالعالم",)),
    ("שלום עולם", ("עולם",)),
    ("नमस्ते दुनिया", ("दुनिया",)),
    ("see db.json in foo_bar", ("db.json", "oo_ba")),
    ("written in C++ once", ("C++",)),
    ("a blue t-shirt", ("t-shirt", "T-SHIRT")),
    ("ask QA about it", ("qa",)),
    ("an aquarium", ("aqua",)),
    ("two exact words", ('"exact words"',)),
    ("words that are exact", ('"are exact"',)),
    ("well done 👍🏽", ("👍",)),
    ("look at https://example.org/x", ("https://example.org", "has:link")),
)

area = Area(
    "SEARCH",
    "Search",
    capability="search",
    endpoints=(
        Endpoint("GET", "/search/messages", known={"results": HIT, "next": None, "isComplete": None}),
        Endpoint("GET", "/search/files", known={"results": FILE_HIT, "next": None, "isComplete": None}),
        Endpoint(
            "GET", "/search/people", known={"users": dict.fromkeys(["id", "userName", "isDeactivated"])}
        ),
        Endpoint("GET", "/search/channels", known={"channels": None}),
    ),
)
area.required(
    "SEARCH-TEXT-01",
    "F-1",
    "What was said is found by its words, in every script, and nothing else is",
    words=["What matches is defined by the text, not by an index"],
)
area.required(
    "SEARCH-TEXT-02",
    "F-1",
    "Highlights stand where the term is in the content",
    words=["Highlights refer to `content`, not N(content)"],
)
area.required(
    "SEARCH-GRAM-01",
    "F-2",
    "Quotes, exclusions and operators",
    words=['`"quoted"` one term with its spaces; `-term` excludes'],
)
area.required(
    "SEARCH-GRAM-02",
    "F-2",
    "An operator that is not known, or names nothing, is a term",
    words=["an operand that names nothing the caller sees: the word is a plain term"],
)
area.required(
    "SEARCH-SEEN-01",
    "F-3",
    "Nobody finds what they do not see, and who is put out of a channel nothing of it from then on",
    words=["Results are what the caller sees (X-2) at the time of the answer"],
)
area.required(
    "SEARCH-NOW-01",
    "F-3",
    "What was posted, edited or deleted before the request holds",
    words=["whatever was acknowledged before the request is found, or not found, accordingly"],
)
area.required(
    "SEARCH-PAGE-01",
    "F-4",
    "The newest come first, and pages make up the whole",
    words=["`recent`: newest first, complete, pageable without end by `cursor`"],
)
area.required(
    "SEARCH-PAGE-02",
    "F-4",
    "By relevance a whole word comes before a beginning, and that before the inside",
    words=["scored by whole word 4, word beginning 2, inside 1"],
)
area.required(
    "SEARCH-ASK-01",
    "F-2",
    "A query that is missing, blank or too long is refused",
    words=["q (1–500)"],
)
area.required(
    "SEARCH-FILE-01",
    "F-1",
    "A message is found by the names of its files too, and a file by its name alone",
    words=["N(content) or N(a file's name) contains N(term)"],
)
area.required(
    "SEARCH-NAME-01",
    "F",
    "People and channels are found by the beginning of a word",
    words=["prefix of any word of the name first, then inside"],
)


@area.scenario("SEARCH-TEXT-01", "SEARCH-TEXT-02", "SEARCH-GRAM-01", "SEARCH-GRAM-02", "SEARCH-ASK-01")
async def a_corpus_is_searched(run: Run) -> None:
    """Say the corpus in a channel of its own, and find each of it."""
    channel = await run.channel()
    said = {text: (await run.post(run.u, channel, text))["id"] for text, _ in CORPUS}
    with run.verdict("SEARCH-TEXT-01"):
        askers = cycle((run.u, run.v, run.w))  # Of each so many are taken a minute.
        for text, queries in CORPUS:
            for query in queries:
                found = await _ids(next(askers), query, channelId=channel)
                require(found == [said[text]], f"{query} does not find its message alone")
    with run.verdict("SEARCH-TEXT-02"):
        [hit] = await _found(run.v, "STRASSE", channelId=channel)
        require(hit["highlights"] == [{"field": "content", "offset": 4, "length": 6}], "it is elsewhere")
        require(hit["place"]["id"] == channel, "the place is another")
    with run.verdict("SEARCH-GRAM-01"):
        both = [said["words that are exact"], said["two exact words"]]
        require(await _ids(run.v, "exact words", channelId=channel) == both, "not every term must match")
        require(await _ids(run.v, "exact -two", channelId=channel) == both[:1], "-two does not exclude")
        require(await _ids(run.v, f"exact in:{channel}") == both, "in: with an id")
        require(await _ids(run.v, f"exact in:{channel} -from:{run.u.user_id}") == [], "-from: with an id")
        require(await _ids(run.u, f"exact in:{channel} from:me") == both, "from:me")
    with run.verdict("SEARCH-GRAM-02"):
        odd = (await run.post(run.u, channel, "colour:red in:#nowhere-at-all"))["id"]
        require(await _ids(run.v, "colour:red", channelId=channel) == [odd], "an operator not known")
        require(await _ids(run.v, "in:#nowhere-at-all", channelId=channel) == [odd], "a channel not known")
    with run.verdict("SEARCH-ASK-01"):
        wrong: Sequence[Mapping[str, str]] = ({}, {"q": " "}, {"q": "x" * 501})
        for asked in wrong:
            (await run.v.get(_target(asked))).error(400)


@area.scenario("SEARCH-NOW-01", "SEARCH-PAGE-01", "SEARCH-PAGE-02")
async def what_was_said_is_found_at_once(run: Run) -> None:
    """Post, edit and delete, and search after each; then page."""
    channel, word = await run.channel(), f"needle{run.id}"
    ids: list[str] = []
    with run.verdict("SEARCH-NOW-01"):
        for number in range(5):
            ids.insert(0, (await run.post(run.u, channel, f"{word} {number}"))["id"])
            require(await _ids(run.v, word) == ids, "what was posted is not found at once")
        (await run.u.put(at("messages", ids[0]), {"content": "straw"})).expect(200)
        require(await _ids(run.v, word) == ids[1:], "what was edited is found still")
        (await run.u.delete(at("messages", ids[1]))).expect(200)
        require(await _ids(run.v, word) == ids[2:], "what was deleted is found still")
    with run.verdict("SEARCH-PAGE-01"):
        listed: list[str] = []
        cursor: str | None = None
        while True:
            asked = {"q": word, "limit": "2"} | ({} if cursor is None else {"cursor": cursor})
            page = (await run.v.get(_target(asked))).ok()
            listed += [str(hit["message"]["id"]) for hit in page["results"]]
            cursor = page["next"]
            if cursor is None:
                break
        require(listed == ids[2:], "the pages are not the whole, newest first")
    with run.verdict("SEARCH-PAGE-02"):
        scored = [
            (await run.post(run.u, channel, text))["id"]
            for text in (f"the {word}s", f"my{word}", f"a {word}")
        ]
        best = await _ids(run.v, word, sort="relevance", channelId=channel)
        require(best[-1] == scored[1], "what has it inside is not the last")
        require(best.index(scored[2]) < best.index(scored[0]), "a whole word is not before a beginning")


@area.scenario("SEARCH-SEEN-01")
async def nobody_finds_what_is_hidden(run: Run) -> None:
    """Say something to one user alone, and in a private channel that somebody is let in and put out of."""
    word = f"secret{run.id}"
    conversation = await run.conversation(run.u, run.v)
    direct = str((await run.direct(run.u, conversation, word))["id"])
    with run.verdict("SEARCH-SEEN-01"):
        require(await _ids(run.v, word) == [direct], "a participant does not find it")
        require(await _ids(run.w, word) == [], "an outsider finds a direct message")
        (await run.w.get(_target({"q": word, "conversationId": conversation}))).error(403)
    if run.announced.version("private-channels"):
        await _search_private(run, f"{word}too")


async def _search_private(run: Run, word: str) -> None:
    body = {"name": run.text("hidden"), "members": [run.v.user_id]}
    made = (await run.u.post("/private-channels", body)).ok()
    channel = str(made["channel"]["id"])
    run.undo_with(f"channel {channel}", lambda: run.u.delete(at("channels", channel)))
    message = (await run.post(run.u, channel, word))["id"]
    with run.verdict("SEARCH-SEEN-01"):
        require(await _ids(run.v, word) == [message], "a member does not find it")
        require(await _ids(run.w, word) == [], "who is no member finds it")
        require(await _ids(run.w, word, channelId=channel) == [], "who is no member finds it by the channel")
        require(await _ids(run.a, word) == [], "an admin who is no member finds it")
        (await run.u.delete(at("channels", channel, "members", run.v.user_id))).expect(200)
        require(await _ids(run.v, word) == [], "who was removed finds it")


@area.scenario("SEARCH-FILE-01")
async def files_are_found(run: Run) -> None:
    """Post a file where there are files, and look for it; elsewhere there are none to be found."""
    channel, word = await run.channel(), f"plan{run.id}"
    with run.verdict("SEARCH-FILE-01"):
        await run.post(run.u, channel, f"no file is called {word}")
        require(await _files(run.v, word) == [], "a message's text is no file's name")
        if run.announced.version("files"):
            file = await _upload(run.u, channel, f"{word}.TXT")
            body = {"content": "look at this", "files": [file]}
            made = (await run.u.post(at("channels", channel, "messages"), body)).ok()["message"]
            require(await _files(run.v, f"{word}.txt") == [(file, made["id"])], "the file is not found")
            require(
                await _files(run.v, f"look {word}.txt") == [], "a file's name and the text are two things"
            )
            require(await _ids(run.v, f"look {word}.txt") == [made["id"]], "the message is not found")


async def _files(asker: Client, query: str) -> list[tuple[str, str]]:
    found = (await asker.get(f"/search/files?{urlencode({'q': query})}")).ok()["results"]
    return [(str(hit["file"]["id"]), str(hit["messageId"])) for hit in found]


async def _upload(asker: Client, place: str, name: str) -> str:
    texts = {"filename": name, "placeId": place}
    about = ",".join(f"{key} {b64encode(text.encode()).decode()}" for key, text in texts.items())
    headers = {
        "Tus-Resumable": "1.0.0",
        "Upload-Length": "4",
        "Upload-Metadata": about,
        "Content-Type": "application/offset+octet-stream",
    }
    made = await asker.ask("POST", at("uploads"), raw=b"text", headers=headers)
    return str(made.header("location")).rpartition("/")[2]


@area.scenario("SEARCH-NAME-01")
async def names_are_found(run: Run) -> None:
    """Find a channel and a user by their names."""
    name = run.text("Über Quality")
    channel = await run.channel(name)
    with run.verdict("SEARCH-NAME-01"):
        target = f"/search/channels?{urlencode({'q': name[:64].upper()})}"
        found = (await run.v.get(target)).ok()["channels"]
        require([one["id"] for one in found] == [channel], "the channel is not found")
        me = (await run.v.get("/auth/me")).ok()["user"]
        people = (await run.u.get(f"/search/people?{urlencode({'q': me['userName'][:64]})}")).ok()["users"]
        require(me["id"] in [one["id"] for one in people], "the user is not found")


def _target(query: Mapping[str, str]) -> str:
    return f"/search/messages?{urlencode(query)}"


async def _found(asker: Client, query: str, **more: str) -> list[dict[str, Any]]:
    return list((await asker.get(_target({"q": query, **more}))).ok()["results"])


async def _ids(asker: Client, query: str, **more: str) -> list[str]:
    return [str(hit["message"]["id"]) for hit in await _found(asker, query, **more)]
