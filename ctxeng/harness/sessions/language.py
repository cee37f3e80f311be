"""Guess a session's language from its script and commonest words; coarse, local and fast."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

SAMPLE_CHARACTERS = 20_000
_SCRIPTS = (
    ("kana", "\u3040", "\u30ff"),
    ("hangul", "\uac00", "\ud7a3"),
    ("han", "\u4e00", "\u9fff"),
    ("cyrillic", "\u0400", "\u04ff"),
    ("arabic", "\u0600", "\u06ff"),
    ("devanagari", "\u0900", "\u097f"),
    ("thai", "\u0e00", "\u0e7f"),
    ("greek", "\u0370", "\u03ff"),
    ("hebrew", "\u0590", "\u05ff"),
)
_BY_SCRIPT = {
    "hangul": "ko",
    "cyrillic": "ru",
    "arabic": "ar",
    "devanagari": "hi",
    "thai": "th",
    "greek": "el",
    "hebrew": "he",
}
_WORDS = {
    "en": "the and to of is that it you for in this with on have not",
    "es": "que de la el en los no una por con para es está pero",
    "de": "der die und das ist nicht ich ein zu mit den auf für",
    "fr": "le la les et est pas que une pour dans des vous sur",
    "pt": "que não de uma para com os em por isso você está",
    "it": "che di non il una per sono con della è",
    "nl": "de het een en van niet ik dat is op",
}
_STOP = {language: frozenset(words.split()) for language, words in _WORDS.items()}
_LATIN_WORD = re.compile(r"[a-zà-öø-ÿ]+")


def guess_language(texts: Iterable[str]) -> str:
    """Return a language code (``en``, ``ja``, …), ``mixed``, or ``und`` where nothing shows.

    Looks at the first 20,000 characters. ``mixed`` means that two languages of different script
    each have at least a quarter of the letters, with a CJK character counted as three.
    """
    sample = _sample(texts)
    weights = _weights(sample)
    total = sum(weights.values())
    if total < 4:
        return "und"
    ranked = weights.most_common(2)
    if len(ranked) == 2 and ranked[1][1] >= total / 4:
        return "mixed"
    return ranked[0][0]


def _sample(texts: Iterable[str]) -> str:
    parts, room = [], SAMPLE_CHARACTERS
    for text in texts:
        parts.append(text[:room])
        room -= len(text)
        if room <= 0:
            break
    return "\n".join(parts).lower()


def _weights(sample: str) -> Counter[str]:
    scripts = Counter({name: 0 for name, _, _ in _SCRIPTS})
    for character in sample:
        if character > "\u0370":
            for name, first, last in _SCRIPTS:
                if first <= character <= last:
                    scripts[name] += 1
                    break
    weights: Counter[str] = Counter()
    cjk = scripts["kana"] + scripts["han"]
    if cjk:
        weights["ja" if scripts["kana"] * 10 >= cjk else "zh"] += 3 * cjk
    for script, language in _BY_SCRIPT.items():
        if scripts[script]:
            weights[language] += (3 if script == "hangul" else 1) * scripts[script]
    words = _LATIN_WORD.findall(sample)
    if words:
        weights[_latin_language(words)] += sum(map(len, words))
    return weights


def _latin_language(words: list[str]) -> str:
    counts = Counter(words)
    scores = {language: sum(counts[word] for word in stop) for language, stop in _STOP.items()}
    best = max(scores, key=lambda language: scores[language])
    return best if scores[best] >= max(1, len(words) * 0.02) else "und"
