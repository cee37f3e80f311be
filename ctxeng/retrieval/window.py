"""Does the answer stand in the last messages? Read without a model, from words and shapes alone.

A question is answered there if what it asks about is named there, and something of the shape that
it asks for stands beside it: a number for “how much”, a time for “when”, a list for “the second
one”. Where the last message turns to another matter, nothing before it counts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from ctxeng.retrieval.analyser import analyse
from ctxeng.retrieval.cues import DEICTIC, FILLER, SHAPES, TURNING

READ_MESSAGES = 4  # two exchanges: what is further up may be what older messages are needed for
READ_CHARACTERS = 2000  # of each of them: a pasted file names everything
LONGEST_QUESTION = 500  # characters; what is longer is not about one thing
FEW_WORDS = 2

_RUN = re.compile(r"[\u30a0-\u30ff\u3400-\u4dbf\u4e00-\u9fff\u3005]+")
_KOREAN = re.compile(r"[\uac00-\ud7a3]{2,}")
_CJK = re.compile(r"[\u3005-\u30ff\u3400-\u9fff\uac00-\ud7a3]")


def named_words(question: str, window: str) -> tuple[int, int]:
    """Return how many of a question's content words stand in a text, and how many there are.

    Words are stems in Latin script, runs of Chinese characters or katakana in Japanese, and the
    first two syllables of a word in Korean, whose endings change.
    """
    asked = _folded(FILLER.sub(" ", question))
    text = _folded(window)
    terms = set(analyse(text))
    found = [term in terms for term in dict.fromkeys(analyse(asked)) if not _CJK.search(term)]
    found += [run in text for run in dict.fromkeys(_RUN.findall(asked))]
    found += [word[:2] in text for word in dict.fromkeys(_KOREAN.findall(asked))]
    return sum(found), len(found)


def answered_in(question: str, recent: Sequence[str], *, refers_back: bool) -> bool:
    """Return whether the last messages seem to hold what a question asks for.

    Args:
        refers_back: the question points at what was said: more must speak for the window then.
    """
    last = [text[:READ_CHARACTERS] for text in recent if text.strip()][-READ_MESSAGES:]
    if not last or len(question) > LONGEST_QUESTION:
        return False
    if TURNING.search(last[-1]) or TURNING.search(question):
        return False
    window = "\n".join(last)
    named, words = named_words(question, window)
    shapes = [shape for shape in SHAPES if shape.asked.search(question)]
    if shapes:
        least = max(shape.least_share for shape in shapes)
        least = max(least, 0.3) if refers_back else least
        is_held = any(shape.held.search(window) for shape in shapes)
        return is_held and (not words or named >= least * words)
    if not words:
        return not refers_back or bool(DEICTIC.search(question))
    return named >= words * (0.5 if words <= FEW_WORDS and not refers_back else 0.6)


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()
