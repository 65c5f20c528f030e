"""SEARCH: what is found, by whom, and in which order (capability search, extension F).

The suite loads this by an entry point; the server never does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone
from itertools import cycle
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from teamchat_conformance.checks.places import add, make_private, make_public, with_past
from teamchat_conformance.checks.steps import at, ids, item, the_only, unknown, uploaded
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
area.required(
    "SEARCH-NAME-02",
    "F",
    "Of a place's people its members alone are found, and none of a place that one does not see",
    words=["an unknown or invisible `channelId` or `placeId` finds nothing (200, empty)"],
)
area.required(
    "SEARCH-NAME-03",
    "F",
    "Channels are found by their topics too, after those by name, and no hidden one is",
    words=["channels visible (≤ 20), by name then topic"],
)
area.required(
    "SEARCH-NAME-04",
    "F",
    "At most 20 people and channels are found",
    words=["users (≤ 20)", "(≤ 20), by name"],
)
area.required(
    "SEARCH-GRAM-03",
    "F-2",
    "before: and after: leave out the day that they name, and on: is that day, in the time zone given",
    words=[
        "`before:` and `after:` exclude the day named, `on:` is the day",
        "(YYYY-MM-DD in `tz`, default UTC)",
    ],
)
area.required(
    "SEARCH-GRAM-04",
    "F-2",
    "has:link, has:reaction, is:thread and in:dm find what they say, and with - what they do not",
    words=[
        "`has:` (`file` `image` `link` `reaction`",
        "`is:` (`thread` `saved` `unread`)",
        "#name, id, `dm`",
    ],
)
area.required(
    "SEARCH-ARGS-01",
    "F",
    "authorId, channelId, conversationId, from and to narrow it down; from and to include their ends",
    words=["channelId, conversationId, authorId, from, to", "`from` and `to` include their ends"],
)
area.required(
    "SEARCH-ARGS-02",
    "F",
    "limit cuts the results; an order that there is not is 400",
    words=["sort (`recent`, `relevance`), limit, cursor"],
)
area.required(
    "SEARCH-SEEN-02",
    "X-2",
    "Who came later does not find what they do not see, nor files there, nor does who is not in it",
    words=["search hit, count,", "is visible exactly when the message is"],
)
area.required(
    "SEARCH-SEEN-03",
    "F-2",
    "A hidden channel that is named after in: is not told from a typo",
    words=["an invisible channel is not told", "from a typo"],
)
area.required(
    "SEARCH-TEXT-03",
    "F-1",
    "A term of one or two letters or digits is a whole word",
    words=["must be a whole word (so", "all else (emoji, punctuation, Thai, CJK) matches inside"],
)
area.required(
    "SEARCH-GRAM-05",
    "F-2",
    "Quotes are excluded too, and one that is not closed runs to the end",
    words=["`-` also negates quotes and operators", "an unclosed quote runs to the end"],
)
area.required(
    "SEARCH-GRAM-06",
    "F-2",
    "mentions: finds what mentions somebody",
    words=["`mentions:` (`me`, @name)"],
)
area.required(
    "SEARCH-PAGE-03",
    "F-4",
    "By relevance terms add up, of what is as good the newest is first, and no cursor follows",
    words=["the score is the sum over terms of each one's best class", "ties by recency", "no cursor"],
)
area.required(
    "SEARCH-FILE-02",
    "F",
    "A highlight in a file's name says which file's it is",
    words=["A highlight in a file's name has `field` `files[i].name`"],
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
        hit = the_only(await _found(run.v, "STRASSE", channelId=channel), "results for STRASSE")
        require(hit["highlights"] == [{"field": "content", "offset": 4, "length": 6}], "it is elsewhere")
        here = await item(run.v, at("channels"), "channels", channel)
        place = {"id": channel, "kind": "channel", "name": here["name"]}
        require(hit["place"] == place, f"the place is {hit['place']}")
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


@area.scenario("SEARCH-TEXT-03", "SEARCH-GRAM-05", "SEARCH-GRAM-06", "SEARCH-PAGE-03", "SEARCH-FILE-02")
async def queries_are_read_closely(run: Run) -> None:
    """Say the same words in different ways, mention somebody, and post a file."""
    channel, one, two = await run.channel(), f"one{run.id}", f"two{run.id}"
    texts = ("Go on", "Google it", f"{one} {two}", f"{one}s {two}s", f"my{one} {two}", f"{two} {one}")
    said = {text: str((await run.post(run.u, channel, text))["id"]) for text in texts}
    with run.verdict("SEARCH-TEXT-03"):
        require(await _ids(run.v, "go", channelId=channel) == [said["Go on"]], "go is found inside a word")
    with run.verdict("SEARCH-GRAM-05"):
        quoted, inside, others = f'"{one} {two}"', (texts[4], texts[2]), (texts[5], texts[3])
        for query, among in ((quoted, inside), (quoted[:-1], inside), (f"{one} -{quoted}", others)):
            wanted = [said[text] for text in among]
            require(await _ids(run.w, query, channelId=channel) == wanted, f"{query} finds others")
    with run.verdict("SEARCH-PAGE-03"):
        asked = {"q": f"{one} {two}", "sort": "relevance", "channelId": channel}
        page = (await run.v.get(_target(asked))).ok()
        found = [str(hit["message"]["id"]) for hit in page["results"]]
        best = [said[text] for text in (texts[5], texts[2], texts[4], texts[3])]
        require(found == best, "they do not stand by the sum over the terms, and then the newest first")
        require(page["next"] is None, "a cursor follows")
    with run.verdict("SEARCH-GRAM-06"):
        if run.announced.version("mentions"):
            name = f"@{run.v.user_name}"
            mention = str((await run.post(run.u, channel, f"{name}, look"))["id"])
            for asker, operand in ((run.v, "me"), (run.w, f'"{name}"')):
                found = await _ids(asker, f"mentions:{operand}", channelId=channel)
                require(found == [mention], f"mentions:{operand} finds others")
    with run.verdict("SEARCH-FILE-02"):
        if run.announced.version("files"):
            files = [await uploaded(run.u, channel, f"{name}{run.id}.txt") for name in ("plan", "list")]
            body = {"content": "two files", "files": files}
            (await run.u.post(at("channels", channel, "messages"), body)).expect(200)
            hit = the_only(await _found(run.v, f"list{run.id}", channelId=channel), "results for the name")
            place = {"field": "files[1].name", "offset": 0, "length": len(f"list{run.id}")}
            require(hit["highlights"] == [place], f"the highlights are {hit['highlights']}")


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


@area.scenario("SEARCH-SEEN-02", "SEARCH-SEEN-03")
async def what_was_said_before_is_not_found(run: Run) -> None:
    """Say something in a private channel, and post a file there, before somebody is added."""
    if not run.announced.version("private-channels"):
        return
    word, name = f"earlier{run.id}", f"hidden-{run.id}"
    made = await make_private(run, run.u, historyFor="joiners", name=name)
    place = str(made["id"])
    said = [str((await run.post(run.u, place, word))["id"])]
    has_files = run.announced.version("files")
    file = await uploaded(run.u, place, f"{word}.txt") if has_files else ""
    if has_files:
        body = {"content": "a file", "files": [file]}
        said.insert(0, (await run.u.post(at("channels", place, "messages"), body)).ok()["message"]["id"])
    await add(run.u, made, run.v)
    with run.verdict("SEARCH-SEEN-02"):
        require(await _ids(run.u, word) == said, "who was there does not find it")
        for who in (run.v, run.w, run.b):
            require(await _ids(who, word) == [], f"{who.actor} finds what they do not see")
            require(await _files(who, word) == [], f"{who.actor} finds a file that they do not see")
            require(await _ids(who, f"has:file {word}") == [], f"{who.actor} finds it by an operator")
    with run.verdict("SEARCH-SEEN-03"):
        text = f"look{run.id} in:#{name}"
        typo = str((await run.post(run.u, await run.channel(), text))["id"])
        require(await _ids(run.w, text) == [typo], "in: with a hidden channel's name is no plain term")
        require(typo not in await _ids(run.u, text), "in: with a channel's name is a plain term")


@area.scenario("SEARCH-GRAM-03", "SEARCH-GRAM-04", "SEARCH-ARGS-01", "SEARCH-ARGS-02")
async def a_search_is_narrowed_down(run: Run) -> None:
    """Say a word in a channel and to one user, with a link, a reaction and a reply, and search for each."""
    word, channel = f"narrow{run.id}", await run.channel()
    direct = await run.conversation(run.u, run.v)
    first = await run.post(run.u, channel, f"{word} https://example.org/")
    second = await run.post(run.v, channel, word)
    third = await run.direct(run.u, direct, word)
    everything = [str(one["id"]) for one in (third, second, first)]
    (await run.v.post(at("messages", first["id"], "reactions"), {"reaction": "ok"})).expect(200)
    await run.reply(run.v, str(second["id"]))
    with run.verdict("SEARCH-ARGS-01"):
        for query, found in (
            ({}, everything),
            ({"authorId": run.u.user_id}, [everything[0], everything[2]]),
            ({"channelId": channel}, everything[1:]),
            ({"conversationId": direct}, everything[:1]),
            ({"channelId": unknown(run)}, []),
            ({"channelId": channel, "from": str(second["createdAt"] + 1)}, []),
            ({"channelId": channel, "to": str(first["createdAt"] - 1)}, []),
        ):
            require(await _ids(run.u, word, **query) == found, f"{query} finds others")
        for one in (first, second):
            ends = {"from": str(one["createdAt"]), "to": str(one["createdAt"])}
            require(one["id"] in await _ids(run.u, word, **ends), "from and to do not include their ends")
    with run.verdict("SEARCH-ARGS-02"):
        require(await _ids(run.u, word, limit="2") == everything[:2], "limit=2 finds others than two")
        (await run.u.get(_target({"q": word, "sort": "oldest"}))).error(400)
        (await run.u.get(_target({"q": word, "limit": "0"}))).error(400)
    with run.verdict("SEARCH-GRAM-04"):
        for operator, found in (
            ("has:link", everything[2:]),
            ("-has:link", everything[:2]),
            ("has:reaction", everything[2:]),
            ("is:thread", everything[1:2]),
            ("in:dm", everything[:1]),
            ("-in:dm", everything[1:]),
        ):
            require(await _ids(run.v, f"{word} {operator}") == found, f"{operator} finds others")
    with run.verdict("SEARCH-GRAM-03"):
        said = datetime.fromtimestamp(int(second["createdAt"]) / 1000, UTC)
        # Of these two, in which it is another day than in UTC.
        zone, hours = ("Etc/GMT-14", 14) if said.hour >= 10 else ("Etc/GMT+11", -11)
        there, day = said.astimezone(timezone(timedelta(hours=hours))).date(), timedelta(days=1)
        more = {"tz": zone, "authorId": run.v.user_id}
        for operator, asked, is_found in (
            ("on", there, True),
            ("on", said.date(), False),
            ("-on", there, False),
            ("before", there, False),
            ("before", there + day, True),
            ("after", there, False),
            ("after", there - day, True),
        ):
            found = await _ids(run.w, f"{word} {operator}:{asked}", **more)
            require((found == everything[1:2]) is is_found, f"{operator}:{asked} in {zone} finds {found}")


@area.scenario("SEARCH-FILE-01")
async def files_are_found(run: Run) -> None:
    """Post a file where there are files, and look for it; elsewhere there are none to be found."""
    channel, word = await run.channel(), f"plan{run.id}"
    with run.verdict("SEARCH-FILE-01"):
        await run.post(run.u, channel, f"no file is called {word}")
        require(await _files(run.v, word) == [], "a message's text is no file's name")
        if run.announced.version("files"):
            file = await uploaded(run.u, channel, f"{word}.TXT")
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


@area.scenario("SEARCH-NAME-01")
async def names_are_found(run: Run) -> None:
    """Find a channel and a user by their names."""
    name = run.text("Über Quality")
    channel = await run.channel(name)
    with run.verdict("SEARCH-NAME-01"):
        target = f"/search/channels?{urlencode({'q': name[:64].upper()})}"
        channels = (await run.v.get(target)).ok()["channels"]
        require(ids(channels) == [channel], "the channel is not found")
        me = (await run.v.get("/auth/me")).ok()["user"]
        people = (await run.u.get(f"/search/people?{urlencode({'q': me['userName'][:64]})}")).ok()["users"]
        require(me["id"] in [one["id"] for one in people], "the user is not found")
        word, named = f"name{run.id}", []
        for user_name in (f"a{word}", f"{word} b"):
            named.append(await run.new_user(name=user_name))
            (await named[-1].put("/users/me", {"userName": user_name})).expect(200)
        found = (await run.u.get(f"/search/people?{urlencode({'q': word})}")).ok()["users"]
        inside, beginning = [one.user_id for one in named]
        require(ids(found) == [beginning, inside], "who has it inside is not behind whose word begins so")


@area.scenario("SEARCH-NAME-02", "SEARCH-NAME-03", "SEARCH-NAME-04")
async def names_of_places_are_found(run: Run) -> None:
    """Find the people of channels, and channels by their topics, hidden ones among them."""
    if not run.announced.version("membership"):
        return
    word = f"topic{run.id}"
    with run.verdict("SEARCH-NAME-03"):
        inside = await make_public(run, name=f"in{word}")
        by_topic = await make_public(run, topic=f"of {word}")
        first = await make_public(run, run.v, name=f"{word} first")
        if run.announced.version("private-channels"):
            await make_private(run, run.u, name=f"{word} hidden", topic=word)
        found = await _channels(run.w, word)
        require(set(found[:2]) == {first["id"], inside["id"]}, "those of that name are not the first")
        require(found[2:] == [by_topic["id"]], "those of that topic, and no others, are not the next")
    with run.verdict("SEARCH-NAME-02"):
        require(
            await _people(run.w, "", str(first["id"])) == {run.a.user_id, run.v.user_id}, "not its members"
        )
        require(await _people(run.w, "", unknown(run)) == set(), "a place that is not there has people")
        if run.announced.version("private-channels"):
            made, _ = await with_past(run, run.u, run.v)
            require(
                await _people(run.v, "", str(made["id"])) == {run.u.user_id, run.v.user_id}, "not its members"
            )
            require(await _people(run.w, "", str(made["id"])) == set(), "a hidden place has people")
    with run.verdict("SEARCH-NAME-04"):
        for _ in range(18):
            await make_public(run, topic=word)
        require(len(await _channels(run.w, word)) == 20, "21 channels have it, and not 20 are found")


async def _channels(asker: Client, query: str) -> list[Any]:
    return ids((await asker.get(f"/search/channels?{urlencode({'q': query})}")).ok()["channels"])


async def _people(asker: Client, query: str, place: str) -> set[str]:
    target = f"/search/people?{urlencode({'q': query, 'placeId': place})}"
    return {str(one["id"]) for one in (await asker.get(target)).ok()["users"]}


def _target(query: Mapping[str, str]) -> str:
    return f"/search/messages?{urlencode(query)}"


async def _found(asker: Client, query: str, **more: str) -> list[dict[str, Any]]:
    return list((await asker.get(_target({"q": query, **more}))).ok()["results"])


async def _ids(asker: Client, query: str, **more: str) -> list[str]:
    return [str(hit["message"]["id"]) for hit in await _found(asker, query, **more)]
