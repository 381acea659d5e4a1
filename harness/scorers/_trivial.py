"""What of a text is too little to be quoted: a letter, a piece of a word, a word that stands in every text.

How much a text says is counted in its letters, digits and signs. One of Chinese, Japanese or Korean counts as two, as
two of them are a word. In a script that parts its words by blanks a word that is cut counts nothing, and among three
words or fewer those that only join others (the, of, und) count nothing. White space, punctuation and what nobody sees
never count. Where there is no letter and no digit a sign counts once, however often it comes: a line of a table is no
quote.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from harness.scorers._characters import BLANK, INVISIBLE, says

__all__ = ["TRIVIAL_VERSION", "weight", "whole_of"]

TRIVIAL_VERSION: Final = 1

_MOST_JOINING: Final = 3

# Articles, prepositions, conjunctions, pronouns, and forms of to be and to have: closed classes, the common ones.
_JOINING: Final = frozenset(
    # English
    "a an the this that these those it its he she they we you i him her them his their our your my me us who whom"  # noqa: SIM905
    " whose which what where when why how there here and or but nor so yet if then than as at by for from in into"
    " of off on onto out over to up with without within about after before between through during under again also"
    " not no yes is are was were be been being am do does did done has have had having will would shall should can"
    " could may might must all any some each every both such only just very more most other another same own one"
    # German
    " der die das den dem des ein eine einer einen einem eines und oder aber doch denn wenn als wie wo wer wen wem"
    " warum weil dass daß ob im auf aus bei beim mit nach seit von vom zu zum zur für durch über unter vor hinter"
    " neben zwischen ohne um gegen ist sind war waren sein bin bist hat habe haben hatte hatten wird werden wurde"
    " wurden kann können ich du er sie es wir ihr ihn ihm ihnen sich mich dich uns euch mein dein unser nicht kein"
    " keine auch nur noch schon sehr hier da dort dann diese dieser dieses diesen man"
    # French
    " le la les l un une de d au aux et ou mais donc ni car que qui quoi dont où ce cet cette ces c se s sa son"
    " ses leur leurs mon ma mes ton ta tes notre nos votre vos il elle ils elles nous vous je tu j n ne pas plus"
    " dans en par pour sur sous avec sans chez vers entre est sont était étaient été être ont avait avoir y comme"
    " si très"
    # Spanish, Portuguese, Italian
    " el los las lo una unos unas del al e o u pero quien como cuando donde porque con por para sin sobre desde"
    " hasta su sus mi era eran fue ser está están ha han había hay sí muy más este esta estos estas ese esa eso os"
    " uma umas dos na nas ao aos à às pelo pela mas quem onde com sem são foi é gli uno di per tra fra della dei"
    " delle degli dal dalla nel nella sul sulla alla ai alle che chi cui non è sono più come questo questa"
    # Dutch, Swedish, Danish, Norwegian
    " het een maar dat deze dit van op aan bij met naar voor door uit om te zijn heeft hebben niet ook nog och att"
    " det som ett på av för med till från är var har inte men og af til ikke"
    # Polish, Russian, Ukrainian
    " w z ze od po za nie się jest są był była było jak ale czy lub oraz dla przez и в во не на с со что как по из"
    " к ко у за от до о об но а или это этот эта эти он она оно они мы вы я ты был была было были быть есть для"
    " при так же бы то та ті і й з що як це від"
    # Turkish, Indonesian, Vietnamese
    " ve veya ile bir bu şu için gibi ama çok daha yang dan ke dari ini itu untuk dengan pada adalah tidak và của"
    " là có không một các cho với này đó"
    # Arabic, Hebrew, Hindi
    " في من على إلى عن أن إن كان كانت هذا هذه ذلك التي الذي لا ما هو هي أو ثم של את על אל עם זה זו הוא היא לא כי"
    " או גם का की के को में से पर और है हैं था थी थे यह वह एक नहीं भी तो".split()
)
# Of scripts without blanks: what is nothing but grammar, as a whole.
_GRAMMAR: Final = frozenset(
    "です ます でした ました する した して いる いた ある あった こと もの ため から まで より など この その"  # noqa: SIM905
    " あの これ それ あれ ここ そこ という として である であった ではない について に対して これは それは 我们"
    " 你们 他们 她们 它们 这个 那个 这些 那些 这是 那是 一个 因为 所以 但是 而且 或者 如果 可以 没有 不是 就是"
    " 已经 什么 怎么 我們 你們 他們 這個 那個 這些 一個 因為 沒有 已經 什麼 그리고 그러나 하지만 그것 이것 저것"
    " 있다 없다 이다 하는 하는데 것은 것이 입니다 있습니다 และ ของ ที่ เป็น ใน มี ได้ ว่า ไม่ จะ กับ ให้ นี้ นั้น".split()
)
_WORD: Final = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
_PAIRED: Final = re.compile(
    "[\u1100-\u11ff\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff"
    "\uf900-\ufaff\uff66-\uffdc\U0001b000-\U0001b16f\U00020000-\U0003ffff]"
)
_UNSPACED: Final = re.compile(f"{_PAIRED.pattern[:-1]}\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")


def weight(source: str, start: int = 0, end: int | None = None) -> int:
    """How much source[start:end] says. What stands before and after decides whether a word at either end is cut."""
    end = len(source) if end is None else end
    first, last = _whole_words(source, start, end)
    seen = "".join(each for each in source[first:last] if each not in BLANK and each not in INVISIBLE)
    plain = unicodedata.normalize("NFC", seen)
    words = [found.casefold() for found in _WORD.findall(plain)]
    if "".join(words) in _GRAMMAR:
        return 0
    if len(words) <= _MOST_JOINING:
        plain = _WORD.sub(lambda found: "" if found[0].casefold() in _JOINING else found[0], plain)
    said = [each for each in plain if says(each)]
    if all(unicodedata.category(each)[0] == "S" for each in said):
        return len(set(said))
    return sum(2 if _PAIRED.match(each) else 1 for each in said)


def whole_of(source: str, spans: tuple[tuple[int, int], ...]) -> bool:
    """Whether nothing that says something is left of a source outside of some spans, in order."""
    at = 0
    for start, end in (*spans, (len(source), len(source))):
        if any(map(says, source[at:start])):
            return False
        at = end
    return True


def _whole_words(source: str, start: int, end: int) -> tuple[int, int]:
    """source[start:end] without the pieces of words that it cuts at either end."""
    if start > 0 and _joined(source[start - 1], source[start : start + 1]):
        while start < end and _in_word(source[start]):
            start += 1
    if start < end < len(source) and _joined(source[end - 1], source[end]):
        while end > start and _in_word(source[end - 1]):
            end -= 1
    return start, end


def _joined(one: str, other: str) -> bool:
    return bool(other) and _in_word(one) and _in_word(other)


def _in_word(character: str) -> bool:
    """Whether a character is of a word in a script that parts words by blanks."""
    return (character.isalnum() or unicodedata.category(character)[0] == "M") and not _UNSPACED.match(character)
