"""Which sentences of a text deny something: what stands in one is not taken for what the text says."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Sequence
from typing import Final

from harness.scorers._words import Word

__all__ = ["Denied", "asked", "denies", "sentences"]


def _set(listed: str) -> frozenset[str]:
    """Words as `words` folds them."""
    return frozenset(unicodedata.normalize("NFC", listed.casefold()).split())


_DENIALS: Final = _set(
    "not no never neither nor cannot without except wrong incorrect false untrue unlike excludes exclude excluded"
    " eliminate eliminates eliminated unlikely isn't aren't wasn't weren't doesn't don't didn't can't couldn't won't"
    " wouldn't shouldn't ain't isnt doesnt instead tempting distractor trap misleading"
    # The same in other languages that put spaces between words.
    " nicht kein keine keinen falsch niemals ausgeschlossen pas non faux fausse jamais sauf incorrecto"
    " incorrecta falso falsa nunca excepto salvo descarto descartar descartada não incorreto incorreta errado"
    " errada exceto sbagliato sbagliata errato errata scorretto scorretta eccetto escludo niet geen onjuist"
    " verkeerd behalve не нет неверно неверный неправильно неправильный ошибочно кроме исключаем исключить ні"
    " неправильна невірно хибно nie błędna błędny niepoprawna není nesprávná špatně inte fel felaktigt utom ikke"
    " feil forkert galt väärä väärin değil yanlış hayır bukan tidak không sai greșit greșită nem rossz helytelen"
    " όχι δεν λάθος לא אינה אינו שגוי שגויה ليس ليست لا غير خطأ خاطئ خاطئة نیست نادرست غلط नहीं गलत ग़लत নয় ভুল"
    " இல்லை தவறு"
)
"""Words that deny, beside every other one that ends in n't, the pairs below, and what scripts without spaces have."""

_SIGNS: Final = frozenset("\u274c\u2717\u2718\u2716\u2260\U0001f44e\U0001f6ab")

_PAIRS: Final = frozenset(
    (first, second)
    for firsts, second in (
        ("other rather", "than"), ("anything all everything everyone", "but"), ("rule rules ruled ruling", "out"),
        ("at", "first"), ("ei", "ole"),
    )
    for first in firsts.split()
)  # fmt: skip
# Not the one of "not only", "not hard to see", "no doubt", "at least", where nothing is denied.
_TOGETHER: Final = re.compile(
    "不(?![仅僅但过過错錯断斷同久少论論管止只难難妨多等])|没有|沒有|[并並而绝絕]非|非(?=[A-Za-z0-9])|错误|錯誤|[错錯]的|[是]错|有[误誤]"
    "|排除|除了|以外|之外"
    "|(?<![少違])ない|ません|(?<!少)なく|誤り|間違(?!いな)|違う|違います|違って|不正解|除[くいき]"
    "|아니|아닙|아닌|않|(?<!틀림)없|틀[린렸립]|오답|제외|잘못"
    "|ไม่(?!เพียง)|มิใช่|ผิด|ยกเว้น|ບໍ່|មិន|မဟုတ်"
)
_STRUCK: Final = re.compile(r"~~[^~]+~~")

_SENTENCE: Final = re.compile(
    r"[.!?;]+[\"'\u201d\u2019)\]*_]*\s+(?=\S)|\n+|[\u3002\uff01\uff1f\uff1b\uff61\u0964\u061f]+"
)
# One letter ahead of a full stop is the mark of an item or an initial where nothing of a sentence leads to it.
_ITEM: Final = re.compile(r"(?:^|[\n.!?;:])[\s*_`#>(\[-]*\w\Z|\b[^\W\d_a-z][^\W\d_]*\s+\w\Z")
_REACH: Final = 40
_ASKS: Final = re.compile(r"[?\uff1f\u061f][^\w]*\Z")


def sentences(text: str) -> list[int]:
    """Where each sentence of a text but the last ends, in order."""
    return [seam.end() for seam in _SENTENCE.finditer(text) if not _of_an_item(text, seam)]


def _of_an_item(text: str, seam: re.Match[str]) -> bool:
    at = seam.start()
    if text[at] != "." or re.fullmatch(r"\W?\w", text[max(0, at - 2) : at]) is None:
        return False
    return _ITEM.search(text[max(0, at - _REACH) : at]) is not None


def asked(text: str) -> Callable[[int], bool]:
    """Whether text[start] belongs to a sentence that asks."""
    if "?" not in text and "\uff1f" not in text:
        return lambda _: False
    seams = sentences(text)
    asking = [_ASKS.search(text, max(0, end - _REACH), end) is not None for end in (*seams, len(text))]
    return lambda start: asking[bisect_right(seams, start)]


def denies(form: str) -> bool:
    """Whether a word, as `words` folds it, denies by itself."""
    return form in _DENIALS or form.endswith("n't") or not _SIGNS.isdisjoint(form)


class Denied:
    """The words of denial of a text, sentence by sentence; those of `let` are none here, those of `more` are too."""

    def __init__(self, text: str, found: Sequence[Word], let: Collection[str] = (), more: Collection[str] = ()) -> None:
        self._seams = sentences(text)
        self._struck = [struck.span() for struck in _STRUCK.finditer(text)]
        self._at: dict[int, list[int]] = {}
        for at, word in enumerate(found):
            before = found[at - 1].form if at else ""
            itself = (denies(word.form) and word.form not in let) or word.form in more
            if itself or (before, word.form) in _PAIRS:
                self._at.setdefault(bisect_right(self._seams, word.start), []).append(at)
        if text.isascii():
            return
        ends = [word.end for word in found]
        for each in _TOGETHER.finditer(text):
            self._at.setdefault(bisect_right(self._seams, each.start()), []).append(bisect_left(ends, each.start() + 1))

    def beside(self, start: int) -> Sequence[int]:
        """The indices of the words of denial in the sentence that text[start] belongs to; -1 where it is struck out."""
        at = bisect_right(self._struck, (start, start)) - 1
        if at >= 0 and start < self._struck[at][1]:
            return (-1,)
        return self._at.get(bisect_right(self._seams, start), ())
