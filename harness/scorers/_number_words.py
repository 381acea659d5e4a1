"""Words beside a number that make it another, bound it or deny it, in the languages that people and models answer in.

A script that puts no blank between words (Chinese, Japanese, Thai, Lao, Khmer, Burmese), and Korean, whose particles
stand against a number, let any other word stand there. What is listed is looked for at the very place, and not anywhere
in the text. No list is whole: a word that isn't here is taken for one that says nothing of the number, as "apples" is.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from typing import Final

__all__ = ["ANSWERS", "COPULAS", "Sentences", "changes_ahead", "changes_behind"]

_REACH: Final = 40
_BLANK: Final = r"[^\S\n]"
_NO_WORD: Final = r"(?![^\W_])"


def _any(*listed: str) -> str:
    """A pattern of texts that are listed with blanks between; an underscore stands for the blanks inside one."""
    found = (re.escape(each) for each in unicodedata.normalize("NFC", " ".join(listed)).split())
    return "|".join(sorted(found, key=len, reverse=True)).replace("_", rf"{_BLANK}+")


_NUMERALS: Final = "〇零一二三四五六七八九十百千萬万億亿兆两兩廿卅壹贰貳叁參肆伍陆陸柒捌玖拾佰仟半"

# Tens, shares, powers, money, measures, "and more", "and a half": against a number, or with a blank between.
_UNSPACED_BEHIND: Final = re.compile(
    rf"{_BLANK}*(?:[{_NUMERALS}]|分(?!别|別)|成(?!立|为|為)|代(?!入|替|表)|"
    + _any(
        "以 点 點 折 多 余 餘 几 幾 超 角 毛 度 升 克 吨 噸 斤 米 公斤 公里 厘米 毫米 公分 公尺 英里 海里 英尺 毫升",
        "摄氏 攝氏 华氏 華氏 上下 来个 來個 来岁 来人 来年 来天 个半 倍半 個半 平方 立方 次方 的平方 的立方 的阶乘",
        "的階乘 阶乘 階乘 的二次方 的三次方 元 圆 圓 円 块钱 塊錢 美元 美金 欧元 歐元 日元 英镑 英鎊 人民币 人民幣",
        "港币 港幣 韩元 韓元 割 未満 余り 強 弱 乗 の二乗 の三乗 の階乗 の平方根 の累乗 パーセント ドル ユーロ",
        "ポンド ウォン キロ メートル センチ ミリ グラム トン リットル ダース オーバー ﾊﾟｰｾﾝﾄ ﾄﾞﾙ ｷﾛ ﾒｰﾄﾙ ｾﾝﾁ ﾐﾘ",
        "ｸﾞﾗﾑ 만 천 백 십 억 조 할 푼 분의 퍼센트 프로 원 달러 유로 엔 위안 킬로 미터 센티 밀리 그램 톤 리터 도 반",
        "이상 이하 미만 초과 여명 여_명 여개 여_개 제곱 세제곱 의_제곱 의제곱 의_세제곱 의세제곱 팩토리얼 계승 다스",
        "ล้าน แสน หมื่น พัน ร้อย สิบ โหล เปอร์เซ็นต์ เปอร์เซนต์ บาท สตางค์ ดอลลาร์ ยูโร เยน ครึ่ง กว่า ขึ้นไป เศษ กิโล",
        "เมตร เซนติเมตร กรัม ลิตร ตัน องศา ยกกำลัง แฟกทอเรียล ລ້ານ ແສນ ໝື່ນ ພັນ ຮ້ອຍ ສ່ວນຮ້ອຍ លាន ពាន់ រយ ម៉ឺន សែន ភាគរយ",
        "သန်း သိန်း သောင်း ထောင် ရာ",
    )
    # Counted, and bounded: 3人以上, 3명 이상.
    + rf"|[^\s\d.,\uff0c\u3002\u3001]{{0,3}}{_BLANK}?(?:以上|以下|以内|未満|未满|이상|이하|미만|초과|ขึ้นไป)"
    + r"|점(?=[0-9영일이삼사오육칠팔구]))"
)
_UNSPACED_AHEAD: Final = re.compile(
    rf"(?:[{_NUMERALS}]|"
    + _any(
        "负 負 负的 負の 零下 氷点下 マイナス ﾏｲﾅｽ 超过 超過 不到 不足 未满 未滿 至少 至多 最多 最少 最大 最小 最低",
        "最高 大于 大於 小于 小於 高于 高於 低于 低於 多于 多於 少于 少於 不超过 不超過 少なくとも 多くとも 百分之",
        "千分之 万分之 分之 分の 根号 根號 ルート 平方根 平方根は 正负 正負 최소 최대 적어도 많아도 영하 마이너스",
        "음의 백분의 천분의 분의 루트 ลบ ติดลบ เกิน เกินกว่า มากกว่า น้อยกว่า อย่างน้อย อย่างมาก ไม่ต่ำกว่า ไม่ถึง ไม่น้อยกว่า",
        "ร้อยละ รากที่สองของ เศษ ລົບ ដក",
    )
    + rf")(?:{_BLANK}|[「『“\"])*\Z"
)

# The beginnings of words, for languages that put endings to them, and whole words.
_SPACED_BEHIND: Final = re.compile(
    rf"{_BLANK}+(?:"
    + _any(
        "million milion milliard milliárd millón millon bilión billón miliard milión milió milhão milhões bilhão",
        "bilhões milyon milyar triliun tausend hundert dutzend prozent procent porcent persen docena douzaine",
        "dozzin dúzia миллион миллиард триллион тысяч мільйон тисяч процент відсот дюжин рубл доллар гривен مليون",
        "ملايين مليار مليارات ألف آلاف مئة مائة بالمئة بالمائة دولار يورو ريال جنيه درهم نصف ونصف लाख करोड़ हज़ार",
        "हजार सौ अरब प्रतिशत फ़ीसदी फीसदी दर्जन रुपय रुपये रुपए डॉलर से_अधिक से_ज़्यादा से_ज्यादा से_कम أو_أكثر أو_أقل",
        "في_المئة في_المائة في_الألف",
    )
    + "|(?:"
    + _any(
        "mil mille mila bin ribu juta miliar mio mrd mia mld mln tys тыс млн млрд руб евро nghìn ngàn triệu tỷ tỉ",
        "đồng rưỡi phần_trăm buçuk yüz dólar dólares yuan yen won rupee rupees rupia rubel ruble rubles baht peso",
        "pesos lira kr zł por_ciento pour_cent per_cento por_cento per_cent per_mille por_mil в_процентах trở_lên",
        "y_medio y_media et_demi et_demie e_mezzo e_mezza e_meio e_meia с_половиной und_ein_halb einhalb halb pół",
        "yarım o_más o_menos ou_mais ou_menos ou_plus ou_moins oder_mehr oder_weniger или_больше или_более",
        "или_менее veya_fazla veya_daha_fazla veya_az hoặc_hơn atau_lebih atau_kurang of_meer of_minder o_più",
        "o_meno lub_więcej lub_mniej au_plus au_moins como_mínimo como_máximo al_menos al_massimo al_minimo",
        "no_máximo no_mínimo höchstens mindestens al_cuadrado al_cubo au_carré au_cube im_quadrat zum_quadrat",
        "ao_quadrado ao_cubo al_quadrato в_квадрате в_кубе",
    )
    + rf"){_NO_WORD})",
    re.IGNORECASE,
)
_SPACED_AHEAD: Final = re.compile(
    r"(?<![A-Za-z\u00c0-\u024f\u0400-\u04ff\u0600-\u06ff\u0900-\u097f\u1e00-\u1eff])(?:"
    + _any(
        "menos más_de mas_de menos_de al_menos por_lo_menos como_mínimo como_máximo a_lo_sumo raíz_de hasta moins",
        "plus_de moins_de au_moins au_plus plus_que moins_que racine_de racine_carrée_de jusqu'à négatif mindestens",
        "höchstens maximal minimal über unter mehr_als weniger_als wurzel_aus bis_zu negativ meno almeno al_massimo",
        "al_minimo più_di meno_di oltre fino_a radice_di radice_quadrata_di negativo pelo_menos no_máximo no_mínimo",
        "mais_de acima_de abaixo_de até raiz_de raiz_quadrada_de минус мінус более менее больше меньше свыше",
        "минимум максимум до корень_из не_более не_менее eksi en_az en_fazla yüzde negatif سالب ناقص أكثر_من أقل_من",
        "على_الأقل على_الأكثر جذر ऋण माइनस कम_से_कम अधिक_से_अधिक ज़्यादा_से_ज़्यादा साढ़े सवा पौने âm trừ ít_nhất",
        "nhiều_nhất hơn dưới trên tối_thiểu tối_đa lebih_dari kurang_dari maksimal co_najmniej co_najwyżej ponad",
        "mniej_niż więcej_niż minstens hoogstens meer_dan minder_dan log ln lg exp sin cos tan sqrt arcsin arccos",
        "arctan square_root_of cube_root_of root_of factorial_of square_of cube_of max min",
    )
    + rf"){_BLANK}+[\"“«„]?\Z",
    re.IGNORECASE,
)

_DENIALS: Final = re.compile(
    _any(
        "不是 不等于 不等於 不为 不為 并非 並非 不会是 不會是 不可能 不应 而非 ではない ではなく ではあり じゃない",
        "じゃなく でない でなく 아니 아닙 아닌 않 ไม่ใช่ ไม่เท่ากับ มิใช่",
    )
    + r"|(?<![^\W_])(?:"
    + _any(
        "nicht kein keine keinen no_es no_son no_era no_fue no_puede nunca n'est_pas n’est_pas pas non_è non_sono",
        "non_può não_é não_são não_era nie niet geen inte ikke bukan không_phải không_bằng không_là değil değildir",
        "не ليس ليست नहीं",
    )
    + rf"){_NO_WORD}",
    re.IGNORECASE,
)
_SEAM: Final = re.compile(r"[.!?;\u061f\u0964]\s+(?=\S)|\n+|[\u3002\uff01\uff1f]")

ANSWERS: Final = _any(
    "answer result solution value total antwort lösung ergebnis endergebnis réponse résultat respuesta resultado",
    "solución resposta solução risposta risultato soluzione ответ результат решение відповідь cevap yanıt sonuç",
    "الجواب الإجابة الناتج النتيجة الحل उत्तर जवाब परिणाम đáp_án kết_quả jawaban hasil antwoord odpowiedź wynik svar",
)
"""A pattern of what people call an answer where words have blanks between them."""

COPULAS: Final = re.compile(
    rf"{_BLANK}*(?:"
    + _any(
        "です でした だ である となります になります となる になる 입니다 이다 이에요 예요 이예요 이_됩니다 이_된다",
        "가_됩니다 ครับ ค่ะ है हैं होगा olur 'dir 'dır 'dur 'dür 'tir 'tır 'tur 'tür ’dir ’dır ’dur ’dür ’tir ’tır",
        "’tur ’tür",
    )
    + rf"){_NO_WORD}",
)
"""What says no more than "it is" behind a number."""


def changes_behind(text: str, at: int) -> bool:
    """Whether what stands behind text[:at], the end of a number, makes it another or bounds it."""
    behind = unicodedata.normalize("NFC", text[at : at + _REACH])
    if not behind.lstrip(" \t\u00a0\u202f\u2009")[:1].isalpha():
        return False
    return _UNSPACED_BEHIND.match(behind) is not None or _SPACED_BEHIND.match(behind) is not None


def changes_ahead(text: str, at: int) -> bool:
    """Whether what stands ahead of text[at:], the beginning of a number, makes it another or bounds it."""
    ahead = unicodedata.normalize("NFC", text[max(0, at - _REACH) : at])
    if not any(map(str.isalpha, ahead)):
        return False
    return _UNSPACED_AHEAD.search(ahead) is not None or _SPACED_AHEAD.search(ahead) is not None


class Sentences:
    """The sentences of a text that deny something, in another language than English."""

    def __init__(self, text: str) -> None:
        self._seams = [seam.end() for seam in _SEAM.finditer(text)]
        self._denied = {bisect_right(self._seams, denial.start()) for denial in _DENIALS.finditer(text)}

    def denied(self, at: int) -> bool:
        """Whether text[at] stands in one."""
        return bool(self._denied) and bisect_right(self._seams, at) in self._denied
