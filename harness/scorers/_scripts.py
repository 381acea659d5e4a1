"""Where a word may begin and end in scripts that put no space between words, and what Korean puts behind a noun.

A word of such a script can't be told from a part of a longer one by its characters alone: 東京都 holds 京都. What
can be told is named here: marks and other scripts beside it, and the short words (of, is, and; particles) that never
belong to the noun beside them. Everything else is unclear, and says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, Literal

__all__ = ["Edge", "Script", "edge_ahead", "edge_behind", "is_unspaced", "script_of", "stems"]

Script = Literal["other", "digit", "hangul", "han", "hiragana", "katakana", "thai", "unspaced"]
Edge = Literal["sure", "unclear", "inside"]
"""Whether a word ends at a place, may end there, or goes on."""

_RANGES: Final[Sequence[tuple[Script, str]]] = (
    ("hangul", "\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7fb"),
    ("han", "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"),
    ("hiragana", "\u3041-\u309f\U0001b000-\U0001b16f"),
    ("katakana", "\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"),
    ("thai", "\u0e00-\u0e3e\u0e40-\u0e4e"),
    # Lao, Myanmar, Khmer, Bopomofo.
    ("unspaced", "\u0e80-\u0ecf\u0eda-\u0eff\u1000-\u103f\u104c-\u109f\u1780-\u17df\u3100-\u312f\u31a0-\u31bf"),
)
_OF: Final[Sequence[tuple[Script, Callable[[str], object]]]] = tuple(
    (name, re.compile(f"[{listed}]").match) for name, listed in _RANGES
)


def script_of(character: str) -> Script:
    """The script of a character as far as its words are told apart; "other" for every script with spaces."""
    if character < "\u0e00":
        return "digit" if character.isdecimal() else "other"
    for name, match in _OF:
        if match(character):
            return name
    return "digit" if character.isdecimal() else "other"


def is_unspaced(script: Script) -> bool:
    """Whether a script puts no space between words."""
    return script not in ("other", "digit", "hangul")


def _set(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


def _ending(listed: str) -> re.Pattern[str]:
    return re.compile(rf"(?:{'|'.join(sorted(listed.split(), key=len, reverse=True))})\Z")


def _beginning(listed: str) -> re.Pattern[str]:
    return re.compile("|".join(sorted(listed.split(), key=len, reverse=True)))


# Chinese: words of one or two characters that stand beside a noun and join no noun.
_HAN_AHEAD: Final = _ending(
    "是 为 為 叫 在 于 於 即 选 選 选择 選擇 和 与 與"
    " 或 及 的 到 從 从 有 了 被 把 答案 正解 应该 應該"
    " 认为 認為 觉得 覺得 属于 屬於 位于 位於 叫做 称为"
    " 这 這 那"
)
_HAN_BEHIND: Final = _beginning(
    "的 是 为 為 和 与 與 或 及 在 了 也 就 吗 嗎 呢 吧 啊"
    " 呀 位于 位於 因为 因為 因此 所以 而 但 并 並 被"
    " 有 这 這 那 以及 等 属于 屬於 成为 成為"
)
_HAN_AHEAD_OF_ONE: Final = _ending("是 选 選 选择 選擇 答案为 答案為")
# Japanese particles and copulas. Behind a single Chinese character fewer are sure, since many a verb and adverb is
# written with one and goes on in the same letters.
_JA_BEHIND: Final = _beginning("は が を に で と の も や へ か ね よ だ なの なら から まで より など じゃ")
_JA_BEHIND_FEW: Final = _beginning("は が を の です でし であ では だと だっ だ\\Z にな とな")
_JA_AHEAD: Final = _ending("は が を に で と の も や へ")
_JA_PREFIX: Final = ("お", "ご")
_TH_AHEAD: Final = _ending("คือ เป็น ใน ที่ ว่า และ หรือ ของ จาก ตอบ เลือก ข้อ ชื่อ กับ แก่ คำตอบ เรียกว่า")
_TH_BEHIND: Final = _beginning("ครับ ค่ะ คะ นะ เป็น คือ และ หรือ ที่ ใน ซึ่ง ของ เพราะ ฯ ถูก ก็ แต่ เนื่อง")
# Vowels that stand ahead of the consonant they belong to, and behind it.
_TH_OPENS: Final = "เแโใไ"
_TH_CLOSES: Final = "ะาำๅ"

# Korean particles and the forms of "to be", by what the syllable ahead of them ends in.
_AFTER_EITHER: Final = _set(
    "의 에 에서 에게 도 만 까지 부터 보다 처럼 입니다 이다 이며 이고 이지만 임 인 이라고 이라는 이므로 인데"
    " 이었다 에는 에서는 이라 이지요 이죠 인가요 입니까 일"
)
_AFTER_CONSONANT: Final = _set("은 이 을 과 으로 이에요 이야 이나 이랑 으로는")
_AFTER_VOWEL: Final = _set("는 가 를 와 로 예요 에요 야 다 나 랑 로는 라고 라는 였다 죠 며 고")
_NOUN_AHEAD: Final = ("제", "약", "총", "수", "만")
_LONGEST: Final = max(map(len, (*_AFTER_EITHER, *_AFTER_CONSONANT, *_AFTER_VOWEL)))
_SYLLABLES: Final = 0xAC00
_FINALS: Final = 28


def stems(form: str) -> list[tuple[str, Edge]]:
    """What a word of Hangul may be without a particle behind it, each with how sure that is: one syllable with a
    particle of one syllable may as well be another word (종이 is paper, or a bell as a subject)."""
    found: list[tuple[str, Edge]] = []
    for size in range(1, min(_LONGEST, len(form) - 1) + 1):
        stem, rest = form[:-size], form[-size:]
        if _particle(stem[-1], rest):
            found.append((stem, "unclear" if len(stem) == 1 and size == 1 else "sure"))
    return found


def _particle(last: str, rest: str) -> bool:
    """Whether `rest` is a particle that may follow a syllable. After ㄹ, 로 follows as after a vowel."""
    if not "\uac00" <= last <= "\ud7a3":
        return rest in _AFTER_EITHER or rest in _AFTER_CONSONANT or rest in _AFTER_VOWEL
    final = (ord(last) - _SYLLABLES) % _FINALS
    if rest in _AFTER_EITHER:
        return True
    return rest in (_AFTER_CONSONANT if final else _AFTER_VOWEL) or (final == 8 and rest in ("로", "로는"))


def edge_ahead(before: str, word: str, size: int) -> Edge:
    """Whether a word begins where `before` touches `word`; `size` is the number of characters of all that is looked
    for, of which `word` is the first piece."""
    one, other = script_of(before[-1]), script_of(word[0])
    if not is_unspaced(one) and not is_unspaced(other):
        return _beside_hangul(before, word, one)
    if one == other == "katakana" or (other == "thai" and (before[-1] in _TH_OPENS or word[0] in _TH_CLOSES)):
        return "inside"
    if not is_unspaced(other):
        return "sure" if other == "other" and size > 1 else _if(_joins_none(before, one))
    if not is_unspaced(one):
        return _if(
            one == "hangul"
            or (one == "other" and script_of(before[-2:-1] or "\u4e00") == "other")
            or other in ("hiragana", "katakana", "thai")
        )
    if other == "han" and one == "han":
        return _if(bool((_HAN_AHEAD if size > 1 else _HAN_AHEAD_OF_ONE).search(before)))
    if one == "hiragana" and other == "han":
        return _if(before[-1] not in _JA_PREFIX)
    if one == "hiragana" and (other == "katakana" or size > 2):
        return _if(bool(_JA_AHEAD.search(before)))
    return _if(one == other == "thai" and bool(_TH_AHEAD.search(before)))


def edge_behind(word: str, behind: str, size: int) -> Edge:
    """Whether a word ends where `word` touches `behind`, the text that goes on there without a gap."""
    one, other = script_of(word[-1]), script_of(behind[0])
    if not is_unspaced(one) and not is_unspaced(other):
        if other != "hangul":
            return "sure"
        return _if(_particle(word[-1], behind) or (one == "other" and size > 1))
    if one == other == "katakana" or (one == "thai" and (behind[0] in _TH_CLOSES or word[-1] in _TH_OPENS)):
        return "inside"
    if not is_unspaced(one):
        return "sure" if one == "other" and size > 1 else _if(_starts_anew(behind, other))
    if not is_unspaced(other):
        return "sure"
    if other == "hiragana":
        few = one == "hiragana" or (one == "han" and size == 1)
        return _if(bool((_JA_BEHIND_FEW if few else _JA_BEHIND).match(behind)))
    if other == "han":
        return _if(one in ("han", "katakana") and size > 1 and bool(_HAN_BEHIND.match(behind)))
    return _if(one == other == "thai" and bool(_TH_BEHIND.match(behind)))


def _beside_hangul(before: str, word: str, one: Script) -> Edge:
    if one == "hangul":
        return _if(before[-1] not in _NOUN_AHEAD or len(before) > 1)
    return _if(script_of(word[0]) != "hangul")


def _joins_none(before: str, script: Script) -> bool:
    """Whether what stands ahead of a digit or of one letter is a word by itself."""
    if script == "han":
        return bool(_HAN_AHEAD.search(before))
    return script == "hiragana" or (script == "thai" and bool(_TH_AHEAD.search(before)))


def _starts_anew(behind: str, script: Script) -> bool:
    """Whether what follows a digit or one letter is a word by itself, and no unit of it."""
    if script == "han":
        return bool(_HAN_BEHIND.match(behind))
    if script == "hiragana":
        return bool(_JA_BEHIND.match(behind))
    return script == "thai" and bool(_TH_BEHIND.match(behind))


def _if(sure: bool) -> Edge:
    return "sure" if sure else "unclear"
