"""Words that say no more than that here comes the answer, or that this was it, in the languages that answers come in.

`LEAD` stands ahead of an answer, `TAIL` behind it, `POINTER` ends where an answer has to begin: "The answer is", "选",
"정답은".
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

__all__ = ["LEAD", "POINTER", "TAIL"]

_NOUN: Final = r"(?:answer|option|choice|letter|solution)"


def _any(listed: str) -> str:
    """The phrases of a list, one a `|`, the longest first, with any space where they have one."""
    phrases = sorted((each.strip() for each in listed.split("|")), key=len, reverse=True)
    return "|".join(each.replace(" ", r"\s+") for each in phrases)


# Each language: words that draw a conclusion, what may stand ahead of the noun, the noun with what belongs to it, and
# what joins it to the answer. All are optional but the conclusion or the noun.
_SPACED: Final = (
    ("also|daher|deshalb|somit|folglich", "die|meine|richtige|korrekte|endgültige|beste|ich nehme|ich wähle",
     "antwort|lösung|option|antwortmöglichkeit|buchstabe", "ist|lautet|wäre"),
    ("donc|ainsi|par conséquent", "la|ma|le|mon|bonne|bon|meilleure|c'est|je choisis",
     "réponse|option|solution|lettre|choix", "correcte|finale|exacte|juste|est|serait|la"),
    ("por lo tanto|por tanto|así que|entonces", "la|mi|elijo|correcta",
     "respuesta|opción|solución|letra|alternativa", "correcta|final|es|sería|la"),
    ("portanto|logo|assim", "a|minha|escolho", "resposta|opção|alternativa|letra|solução",
     "correta|certa|final|é|seria|a"),
    ("quindi|perciò|dunque|pertanto", "la|mia|scelgo|è",
     "risposta|opzione|soluzione|lettera|alternativa", "corretta|giusta|esatta|finale|è|sarebbe|la"),
    ("dus|daarom", "het|de|mijn|juiste|goede|ik kies", "antwoord|optie|keuze", "is"),
    ("итак|поэтому|следовательно|значит|таким образом", "мой|правильный|верный|окончательный|это|выбираю",
     "ответ|вариант|варианта", "это|ответа|под буквой"),
    ("отже|тому", "моя|правильна|вірна|обираю", "відповідь|варіант", "це"),
    ("więc|zatem|dlatego", "prawidłowa|poprawna|właściwa|moja|to|wybieram", "odpowiedź|opcja", "to|jest"),
    ("takže|proto|tedy", "správná|moje|je|volím", "odpověď|možnost", "je"),
    ("därför|alltså|derfor|altså", "det|den|rätta|rätt|riktige|riktig|korrekta|korrekte|mitt|jeg velger|jag väljer",
     "svaret|svar|alternativet|alternativ|muligheden", "är|er"),
    ("siis", "oikea", "vastaus|vaihtoehto", "on"),
    ("yani|bu yüzden|dolayısıyla|o halde", "doğru|nihai|benim", "cevap|yanıt|seçenek|şık|cevabım", "olarak"),
    ("jadi|maka|oleh karena itu", "saya memilih|saya pilih", "jawaban|jawabannya|pilihan|opsi",
     "yang|benar|tepat|akhir|adalah"),
    ("vậy|do đó|vì vậy", "tôi chọn|chọn", "đáp án|câu trả lời|lựa chọn|phương án", "đúng|chính xác|là"),
    ("deci|prin urmare", "aleg", "răspunsul|varianta|opțiunea", "corect|corectă|este|e"),
    ("tehát|így", "a|az|helyes|végső", "válasz|megoldás|opció", "a|az"),
    ("άρα|επομένως|συνεπώς", "η|σωστή", "απάντηση|επιλογή", "είναι|η|το"),
    ("לכן|על כן", "", "התשובה|תשובה|האפשרות", "הנכונה|הסופית|היא"),
    ("إذن|لذلك|إذا|وبالتالي", "أختار", "الإجابة|الاجابة|الجواب|إجابة|الخيار|جواب",
     "الصحيحة|الصحيح|النهائية|النهائي|هي|هو|الخيار"),
    ("بنابراین|پس", "", "پاسخ|جواب|گزینه", "درست|صحیح|نهایی|گزینه|است"),
    ("इसलिए|अतः|तो", "सही|अंतिम|मेरा", "उत्तर|जवाब|विकल्प", "है|विकल्प|होगा"),
    ("সুতরাং|তাই", "সঠিক", "উত্তর|বিকল্প", "হল|হলো"),
    ("எனவே", "சரியான", "பதில்|விடை", ""),
)  # fmt: skip
_TOGETHER: Final = (
    ("よって|したがって|従って|ゆえに|だから|つまり|ですから", "最終的な|正しい|私の|最も|適切な",
     "答え|解答|回答|正解|選択肢", "は|選択肢"),
    ("所以|因此|因而|故|于是|於是|综上|综上所述|綜上所述|总之|總之",
     "我认为|我認為|我觉得|我覺得|我|本题|本題|这题|這題|此题|的|"
     "正确|正確|最终|最終|最佳|"
     "应该|應該|应|應|就",
     "答案|选项|選項|选择|選擇|选|選|答", "应该|應該|应|應|就|只能|是|为|為|选|選|选择|選擇|选项|選項|应为|應為"),
    ("따라서|그러므로|그래서|즉|결론적으로", "최종|올바른|제|저의|나의|옳은", "정답|답|답변|답안|보기|선택지",
     "은|는|이|가|보기|선택지"),
    ("ดังนั้น|เพราะฉะนั้น|เพราะฉะนั้นแล้ว", "ผม|ฉัน|ขอ|จึง", "คำตอบ|ตอบ|เลือก|ตัวเลือก|ข้อ",
     "ที่|ถูกต้อง|ถูก|คือ|เป็น|ข้อ|ตัวเลือก|ของ|สุดท้าย"),
)  # fmt: skip
_MARKS: Final = r"[\s*_`]*(?:[:=]|[\u2013\u2014-](?=\s))?[\s*_`]*"


def _spaced(parts: Iterable[str]) -> tuple[str, str]:
    """The whole of what leads to an answer in one language, and its noun with what joins it to the answer."""
    drawn, ahead, noun, joins = map(_any, parts)
    join = rf"(?:\s+(?:{joins})(?![^\W_]))*" if joins else ""
    first = rf"(?:(?:{ahead})\s+)*" if ahead else ""
    pointer = rf"{first}(?:{noun})(?![^\W_]){join}"
    return rf"(?:(?:{drawn})(?![^\W_])[,،:]?\s+)?{pointer}|(?:{drawn})(?![^\W_])[,،:]?", pointer


def _unspaced(parts: Iterable[str]) -> tuple[str, str]:
    drawn, ahead, noun, joins = map(_any, parts)
    # Ahead of え, 答 is Japanese and goes on.
    pointer = rf"(?:(?:{ahead})\s*)*(?:{noun})(?!え)\s*(?:(?:{joins})\s*)*"
    return rf"(?:(?:{drawn})[,、，\s]*)?{pointer}|(?:{drawn})[,、，\s]*", pointer


_ALL: Final = (*map(_spaced, _SPACED), *map(_unspaced, _TOGETHER))

_ENGLISH: Final = (
    r"(?:(?:so|thus|hence|therefore|consequently|accordingly|in\s+conclusion|ok(?:ay)?|well)[,:]?\s+)?"
    r"(?:i(?:\s+(?:think|believe|say|choose|pick|select|chose)|['\u2019]m\s+going\s+with|"
    r"(?:\s+would|\s+will|['\u2019]d|['\u2019]ll)\s+(?:say|choose|pick|select|go\s+with))\s+(?:that\s+)?"
    r"(?:it(?:\s+is|['\u2019]s)\s+)?|(?:it|that)(?:\s+is|['\u2019]s)\s+)?"
    rf"(?:(?:(?:my|the|its|correct|right|best|final)\s+){{0,4}}{_NOUN}\b"
    r"(?:\s+is\b|\s+would\s+be\b|\s+must\s+be\b|\s+should\s+be\b)?\s*[:=]?\s*"
    r"(?:(?:the\s+)?(?:option|choice|letter)\s+)?)?"
)
LEAD: Final = re.compile(
    rf"[\s*_`]*(?:#{{1,6}}\s+)?(?:(?:{'|'.join(lead for lead, _ in _ALL)}){_MARKS}|{_ENGLISH})", re.IGNORECASE
)
"""What may stand ahead of an answer; it matches the empty text too."""

POINTER: Final = re.compile(
    rf"(?:(?<![^\W_])(?:{'|'.join(pointer for _, pointer in _ALL[: len(_SPACED)])}"
    rf"|(?:{_NOUN}|choose|chose|choosing|pick|picked|picking|select|selected|selecting|(?:go|going|went)\s+with)"
    r"(?:\s+(?:is|was|would\s+be|must\s+be|should\s+be|has\s+to\s+be|remains|therefore|thus|then|clearly|definitely|probably|option"
    r"|choice|letter|the|correct|answer))*"
    r"|(?:it|that|this|which|one)(?:\s+is|['\u2019]s|\s+must\s+be|\s+would\s+be|\s+should\s+be|\s+has\s+to\s+be)"
    r"|so|thus|hence|therefore)"
    rf"|(?:{'|'.join(pointer for _, pointer in _ALL[len(_SPACED) :])}))"
    r"[\s*_`\"'\u201c\u2018(\[{$:=\u3010\u300c\u2192>-]*\Z",
    re.IGNORECASE,
)
"""A text that ends where an answer has to begin."""

TAIL: Final = re.compile(
    rf"(?:\s+is\s+(?:the\s+)?(?:(?:correct|right|best)(?:\s+{_NOUN})?|{_NOUN})"
    r"|\s+(?:ist|est|es|é|è|is|är|er|on|este|adalah|là|jest|je)\s+(?:(?:die|la|a|het|den|det|yang)\s+)?"
    r"(?:richtig|korrekt|correcte?|correct[ao]|corret[ao]|corrett[ao]|giust[ao]|juiste?|rätt|riktig|oikein|corect[aă]?"
    r"|benar|đúng|poprawna|prawidłowa|správn[áě]|exacte|cert[ao])(?:e)?(?:\s+(?:antwort|réponse|respuesta|resposta|risposta))?"
    r"|\s*[—–-]\s*(?:правильный|верный)\s+ответ|\s+(?:верно|правильно)"
    r"|\s*(?:选项|選項|项|項)?(?:是|为|為)?(?:正确|正確|最佳|对|對)(?:的)?(?:答案|选项|選項)?|\s*(?:选项|選項|项|項)|\s*(?:是|为|為)答案"
    r"|\s*番?(?:です|である|だ|でしょう|になります|となります|と思います|だと思います|ですね)"
    r"|\s*(?:が|は)(?:正解|正しい|答え|正しい答え)(?:です|である|だ)?|\s*を(?:選びます|選択します|選ぶ|選択)"
    r"|\s*番目?|\s*번?(?:입니다|이다|이에요|예요|에요|임)|\s*번|\s*번?(?:이|가|은|는)?\s*(?:정답|답|맞|옳)(?:입니다|이다|습니다|다|아요)?"
    r"|\s*번?(?:을|를)\s*(?:선택|고르|골랐|고릅)\S*"
    r"|\s*(?:ครับ|ค่ะ|คะ)|\s*(?:ถูกต้อง|ถูก)(?:ครับ|ค่ะ)?"
    r"|\s+(?:सही\s+)?(?:उत्तर\s+|विकल्प\s+)?(?:है|हैं)|\s+(?:doğrudur|doğru|doğru\s+cevaptır)|\s*['’]?(?:dir|dır|dur|dür|tir|tır)"
    r"|\s+(?:صحيحة|صحيح|درست\s+است|صحیح\s+است|است))[\s.!。！।]*\Z",
    re.IGNORECASE,
)
"""What may stand behind an answer, up to the end."""
