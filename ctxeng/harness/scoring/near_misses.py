"""Answers without the expected value that may say it all the same: spelled apart, or reworded."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from ctxeng.harness.scoring.matching import Value, find, in_hiragana, value_of
from ctxeng.harness.scoring.moments import moments
from ctxeng.harness.scoring.quantities import only_quantity, quantities, same_quantity
from ctxeng.harness.scoring.text import content_words, is_spaceless, normal, word_sizes

SHORTEST_JOINED = 4
_KANA_WORD = re.compile("[ぁ-ゖァ-ヺー]{2,}")
_SIGN_TOLD = {  # of an address: "ana (at) example dot com"
    "@": r"(?:@|[(\[]at[)\]]|\bat\b)",
    ".": r"(?:\.|[(\[]dot[)\]]|\bdot\b)",
    "-": "[- ]",
}
_HEX = re.compile(r"(?<!\w)(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{5,64}(?!\w)")
_HAN = re.compile("[一-龥]")
_ACCENT = re.compile(r"(?<=[A-Za-z])[\u0300-\u036f]+")
# 1.500 and 1.500.000,25 and 2,5: a point between thousands, a comma before decimals.
_CONTINENTAL = re.compile(
    r"(?<![\d.,])(?:\d{1,3}(?:\.\d{3})+(?:,\d{1,2})?|\d+,\d{1,2})(?![\d]|[.,]\d)"
)
_ARTICLE = re.compile(r"\b(?:an?|una?) ([^\W\d_]+)")
_AMOUNT_WORD = re.compile(  # of amounts that are not read
    r"\b(?:fortnights?|couple|pair|scores? of|decades?|century|centuries|quarters of|thirds of"
    r"|(?:thousand|million|billion) and a (?:half|quarter)|\d+h\d+"
    r"|quincenas?|docenas?|décadas?|siglos?|par de)\b"
    r"|ダース|半日|半月|ひと月|一昼夜|半天|一刻钟|一打|[일한두세] ?[년달해] 반|반나절|한나절"
)
_TENTHS_LEFT = re.compile(r"[一二三四五六七八九\d]折")
_MINUTES_BEFORE = re.compile("分前|분 ?전|差.{1,4}分")
_HALF_DAY = 12 * 60
PARAPHRASE_WORDS = 4
WORDS_FOR_A_WORD, WORDS_MORE, PAIR = 2, 5, 0.5
_COUNT = re.compile(r"\D{0,3}\d[\d,.]*\s?\w{0,6}")
_EASTERN_NUMERAL = re.compile(
    "[零〇一二三四五六七八九十百千万两半]|열|스물|서른|마흔|쉰|예순|일흔|여든|아흔"
    "|[일이삼사오육칠팔구십백천만]{2}|(?:한|두|세|네|다섯|여섯|일곱|여덟|아홉) ?[가-힣]"
)
_QUESTION = re.compile(
    r"\?$|(?:ます|です|でしょう|ません|ました)か[。.]?$|(?:どう|いかが)でしょう[。.]?$"
)
_SENTENCE = re.compile(r"[!?。]|\.(?=\s)")
# Kinds whose values are named as they are.
NAMED_KINDS = ("identifier", "number", "date", "list", "order")


def is_spelled_in_spanish(values: Sequence[Value], text: str) -> bool:
    """Return whether a text holds a value but for accents, or for figures written as in Spain."""
    shown, spanish = _unaccented(normal(text)), _CONTINENTAL.sub(_anglicised, normal(text))
    return any(
        (value.type == "text" and find(value_of(_unaccented(value.text)), shown))
        or (spanish != normal(text) and find(value, spanish))
        or (
            (read := _CONTINENTAL.sub(_anglicised, value.shown)) != value.shown
            and find(value_of(read), spanish)
        )
        for value in values
    )


def _anglicised(m: re.Match[str]) -> str:
    return m[0].replace(".", "").replace(",", ".")


def _unaccented(text: str) -> str:
    """Return a text without the accents of Latin letters."""
    apart = unicodedata.normalize("NFD", text)
    return unicodedata.normalize("NFC", _ACCENT.sub("", apart))


def is_spelled_apart(values: Sequence[Value], text: str) -> bool:
    """Return whether an identifier's letters or parts stand in a text, spaced or told in words."""
    spoken = re.sub(r"\W?\bat\b\W?", "@", re.sub(r"\W?\bdot\b\W?", ".", normal(text)))
    joined = re.sub(r"\s", "", spoken)
    return any(
        (len(v.shown) == 2 and any(c in joined for c in _HAN.findall(v.shown)))
        or (v.type == "text" and len(v.shown) > 2 and _bare(v.shown) in _bare(joined))
        or _is_other_kana(v.shown, joined)
        or _is_shortened(v.shown, normal(text))
        or (
            v.type == "identifier"
            and (
                (len(v.shown) >= SHORTEST_JOINED and v.shown in joined)
                or ("/" in v.shown and all(p in joined for p in v.shown.split("/") if p))
            )
            and not any(v.shown in word for word in normal(text).split())
        )
        for v in values
    )


def respelled(values: Sequence[Value], text: str) -> str | None:
    """Return a text with an identifier as it is written, where it is told with spaces or signs.

    Example:
        ``"SF 8812 0457"`` for SF88120457, ``"ana (at) example (dot) com"`` for ana@example.com
    """
    for value in values:
        if value.type == "identifier" and len(value.shown) >= SHORTEST_JOINED:
            shown = normal(text)
            found = _as_told(value.shown).search(shown)
            if found and found[0] != value.shown:
                return f"{shown[: found.start()]}{value.text.strip()}{shown[found.end() :]}"
    return None


@lru_cache(maxsize=10_000)
def _as_told(code: str) -> re.Pattern[str]:
    letters = [_SIGN_TOLD.get(c, re.escape(c)) for c in code]
    return re.compile(rf"(?<!\w){' ?'.join(letters)}(?!\w)")


def _is_other_kana(word: str, text: str) -> bool:
    """Return whether a text holds a word in the other kana, be it within another word."""
    return _KANA_WORD.fullmatch(word) is not None and in_hiragana(word) in in_hiragana(text)


def _is_shortened(code: str, text: str) -> bool:
    """Return whether a text holds the first digits of a hash, or more of them than were stated."""
    return _HEX.fullmatch(code) is not None and any(
        code.startswith(m[0]) or m[0].startswith(code) for m in _HEX.finditer(text)
    )


def _bare(text: str) -> str:
    return re.sub(r"[\W_]", "", text)


def may_paraphrase(values: Sequence[Value], text: str, kind: str) -> bool:
    """Return whether an answer without a word of the value may still say it: a phrase for a phrase.

    A name is not paraphrased; an answer as short as the value names something else.
    """
    spaced, spaceless = word_sizes(text)
    if kind in NAMED_KINDS or spaced + spaceless / 3 < PARAPHRASE_WORDS:
        return False
    return not all(v.text[:1].isupper() or v.type != "text" for v in values)


def shares_words(values: Sequence[Value], said: frozenset[str]) -> bool:
    """Return whether a text holds a content word of some value."""
    return any(content_words(v.text) & said for v in values)


def tells_of_more(values: Sequence[Value], said: frozenset[str], asked: frozenset[str]) -> bool:
    """Return whether an answer says far more than a value, and less than half of it.

    A rewording is about as long as what it rewords; a sentence of much else leaves it out. Words of
    the question do not count.
    """
    own = _size(said - asked)
    words = [content_words(v.text) for v in values]
    longest = max(map(_size, words), default=0.0)
    return own > WORDS_FOR_A_WORD * longest + WORDS_MORE and all(
        _size(one & said) < _size(one) / 2 for one in words
    )


def _size(words: frozenset[str]) -> float:
    """Return how many words; pairs of letters where words have no borders overlap."""
    return sum(PAIR if is_spaceless(word) else 1.0 for word in words)


def may_count(values: Sequence[Value], text: str) -> bool:
    """Return whether a numeral that is not read may be a value's that counts: 十七席, 열일곱 석."""
    if not any(_is_count(v) for v in values):
        return False
    read = [(q.start, q.end) for q in quantities(text)]
    return any(
        not any(start <= m.start() < end for start, end in read)
        for m in _EASTERN_NUMERAL.finditer(normal(text))
    )


def may_amount(values: Sequence[Value], text: str) -> bool:
    """Return whether an amount or a time that is not read may be a value's: an hour, 打八折."""
    shown = normal(text)
    if _AMOUNT_WORD.search(shown) and any(v.quantity is not None for v in values):
        return True
    return any(
        _may_be_one(value, shown) or _may_be_off(value, shown) or _may_be_time(value, text)
        for value in values
    )


def _may_be_one(value: Value, shown: str) -> bool:
    """Return whether an article counts what is expected once: "It takes an hour."."""
    wanted = value.quantity
    if wanted is None or wanted.value != 1 or not wanted.unit:
        return False
    said = (only_quantity(f"1 {m[1]}") for m in _ARTICLE.finditer(shown))
    return any(one is not None and one.unit and same_quantity(one, wanted) for one in said)


def _may_be_off(value: Value, shown: str) -> bool:
    """Return whether a share is told as what is left, or in other words: 打八折, 2割引."""
    shares = [q for q in quantities(value.text) if q.unit == "percent"]
    told = quantities(shown)
    return bool(shares) and (
        _TENTHS_LEFT.search(shown) is not None
        or any(same_quantity(share, one) for share in shares for one in told)
    )


def _may_be_time(value: Value, text: str) -> bool:
    """Return whether a time is told half a day off, or as minutes before an hour."""
    when = value.moment
    if when is None or when.minutes is None:
        return False
    said = [t for t in moments(text) if t.minutes is not None]
    apart = any(abs((t.minutes or 0) - when.minutes) == _HALF_DAY for t in said)
    return apart or (bool(said) and _MINUTES_BEFORE.search(normal(text)) is not None)


def counts_nothing(values: Sequence[Value], text: str) -> bool:
    """Return whether values that count something (17席) meet none of their numbers in a text."""
    said = quantities(text)

    def is_elsewhere(value: Value) -> bool:
        own = {q.value for q in quantities(value.text)} if _is_count(value) else set()
        return bool(own) and own.isdisjoint(q.value for q in said)

    return any(v.type == "text" for v in values) and all(
        v.type == "number" or is_elsewhere(v) for v in values
    )


def _is_count(value: Value) -> bool:
    return value.type == "text" and _COUNT.fullmatch(value.shown) is not None


def is_other_wording(values: Sequence[Value], said: frozenset[str]) -> bool:
    """Return whether a text holds less than half of the words that were asked for as they stand."""
    words = [content_words(v.text) for v in values]
    return all(own and len(own & said) < len(own) / 2 for own in words)


def says_nothing(text: str) -> bool:
    """Return whether an answer is but a question, or ends where it was to say something."""
    shown = normal(text)
    return shown.endswith(":") or (
        _QUESTION.search(shown) is not None and _SENTENCE.search(shown[:-1]) is None
    )
