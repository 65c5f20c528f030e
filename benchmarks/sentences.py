"""What people might write, in the languages of the scenario ``search``."""

from __future__ import annotations

import random

_WORDS = {
    "en": "the of and to in is that for it as was with be by on not he his but at are this have from or had",
    "de": "der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es werden",
    "ru": "и в не на я быть он с что а по это она этот к но они мы весь который из у то за свой весь год от",
    "el": "και το να είναι για η με την που του ο στο από τα δεν σε οι θα μου ένα τη στη τον κι της",
    "ar": "من في على أن إلى عن مع هذا كان التي الذي هذه بين كل قد ما لم بعد ذلك حتى عند لكن",
    "ko": "안녕하세요 오늘은 회의가 있습니다 서버를 다시 시작했어요 감사합니다 내일 봐요 확인했습니다",
    "th": "สวัสดีครับ วันนี้ประชุม เซิร์ฟเวอร์ ขอบคุณมาก พรุ่งนี้เจอกัน ตรวจสอบแล้ว",
    "hi": "नमस्ते आज बैठक है सर्वर फिर से चालू धन्यवाद कल मिलते हैं जाँच की",
}
_HAN = "我你他们在上海北京东京工作学习今天明天会议服务器重启谢谢收到确认问题解决版本发布测试代码部署"
_SPLIT = {language: words.split() for language, words in _WORDS.items()}
_LANGUAGES = ["en"] * 4 + ["de"] * 2 + ["ru", "el", "ar", "ko", "th", "hi"]


def sentence(chance: random.Random) -> str:
    """Return what somebody might write: words of one language, and now and then a name of something."""
    if chance.random() < 0.15:
        return "".join(chance.choice(_HAN) for _ in range(chance.randint(4, 30)))
    words = _SPLIT[chance.choice(_LANGUAGES)]
    said = [chance.choice(words) for _ in range(chance.randint(3, 20))]
    if chance.random() < 0.3:
        said.append(f"build-{chance.randrange(10_000)}.json")
    return " ".join(said)
