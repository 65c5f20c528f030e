"""Generated texts and queries, and what the definition alone says of them."""

from __future__ import annotations

import random
from importlib import import_module

from teamchat_search.grammar import parsed
from teamchat_search.matching import holds
from teamchat_search.normal import normal

_world = import_module("plugins.teamchat-search.tests.world")
World = _world.World

SENTENCES = [
    "The quick brown fox jumps over the lazy dog",
    "Die Straße ist gesperrt, große Fußgänger",
    "STRASSE und GROSSE",
    "Η Αθήνα είναι όμορφη",
    "ΑΘΗΝΑ ΚΑΙ ΠΑΤΡΑ",
    "İstanbul'da güneşli, ılık",
    "Съешь ещё этих мягких французских булок",
    "Ёлка и йод",
    "我去上海玩，北京也不错",
    "東京タワーは高いです",
    "カタカナとひらがな",
    "안녕하세요 여러분 한국어",
    "สวัสดีครับ ภาษาไทย",
    "مرحبا بالعالم العربي",
    "שלום עולם טוב",
    "नमस्ते दुनिया हिन्दी",
    "বাংলা ভাষা সুন্দর",
    "தமிழ் மொழி இனிது",
    "Բարեւ աշխարհ",
    "გამარჯობა მსოფლიო",
    "አማርኛ ቋንቋ",
    "see db.json and C++ in foo_bar, t-shirt https://example.org/a?b=c",
    "QA: Go PR it, 👍🏽 done ☃",
    "naïve café Ångström ﬁle ½",
    "a b c 12 x",
]


async def fill(world: World, seed: int, count: int) -> dict[str, str]:
    """Say generated sentences; return them by their ids."""
    chance = random.Random(seed)
    said: dict[str, str] = {}
    for _ in range(count):
        words = " ".join(chance.choice(SENTENCES) for _ in range(2)).split(" ")
        chance.shuffle(words)
        text = " ".join(words[: chance.randint(2, 9)])
        said[await world.say(text)] = text
    return said


def queries(chance: random.Random, texts: list[str], count: int) -> list[str]:
    """Cut queries out of texts, and mix them."""
    found = []
    for _ in range(count):
        parts = []
        for _ in range(chance.choice((1, 1, 2, 3))):
            text = chance.choice(texts)
            start = chance.randrange(len(text))
            part = text[start : start + chance.randint(1, 7)].replace('"', "").strip()
            part = f'"{part}"' if chance.random() < 0.3 else part
            parts.append(("-" if chance.random() < 0.2 else "") + part)
        query = " ".join(parts)
        if parsed(query) and not any(item.name for item in parsed(query)):
            found.append(query)
    return found


def brute_force(said: dict[str, str], query: str) -> list[str]:
    """Return the ids of what matches, newest first, as the definition alone says."""
    items = parsed(query)

    def matches(text: str) -> bool:
        return all(holds(normal(text), normal(item.text)) != item.is_excluded for item in items)

    return sorted((id_ for id_, text in said.items() if matches(text)), reverse=True)
