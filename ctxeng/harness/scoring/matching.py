"""Find an expected value in a text by its type. Shared by scoring and by the presence test."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from ctxeng.harness.scoring.moments import Moment, moments, only_moment, same_moment
from ctxeng.harness.scoring.quantities import Quantity, only_quantity, quantities, same_quantity
from ctxeng.harness.scoring.text import SPACELESS, case_style, cased, is_spaceless, normal

ValueType = Literal["number", "date", "identifier", "text"]

_IDENTIFIER = re.compile(
    r"[\w.+\-/:@#~\\]*(?:[a-z][A-Z]|[_/\\@#]|\w[.:\-]\w|[A-Za-z]\d|\d[A-Za-z])[\w.+\-/:@#~\\]*"
)
_COMPOUND = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)+")  # T-shirt, well-being: words, not identifiers
_STYLED = re.compile(
    r"(?=.*[^\W\d_])[^\W_]+(?:[_-][^\W_]+)*"
)  # one that has a case style to differ in
_OPTION = re.compile(r"--?[A-Za-z][\w-]*")  # of a command: --cache
_VERSION = re.compile(r"v?(\d+(?:\.\d+)+)")

# A letter or digit that would make the value part of a longer word. Kana, Han and Hangul do not:
# particles follow a Latin word or a number without a space.
_LETTER = rf"[^\W_{SPACELESS}]"
_NAME = rf"[^\W{SPACELESS}]"
_ARTICLE = re.compile(r"^(?:the|an?)\s(?=[^\W\d_]{3})")  # "the Alder Inn" is found in "Alder Inn"
_PIECE = re.compile(rf"[{SPACELESS}]+|[^\W_{SPACELESS}]+")
_ENDING = " .。!！…、,"
_HASH = re.compile(r"(?=.*\d)(?=.*[a-f])[0-9a-f]{12,64}")
_HASH_PREFIX = 7  # as long as git shortens a commit to, and no shorter
_SHORTENED = re.compile(
    rf"(?<!{_NAME})(?<!{_NAME}-)(?=\d*[a-f])[0-9a-f]{{{_HASH_PREFIX},63}}(?!{_NAME}|-{_NAME})"
)
_HIRAGANA, _KATAKANA = re.compile("[ぁ-ゖー]{3,}"), re.compile("[ァ-ヺー]{3,}")  # ナシ, なし: two
_TO_HIRAGANA = {k: k - 0x60 for k in range(ord("ァ"), ord("ヶ") + 1)}
_TO_KATAKANA = {k - 0x60: k for k in _TO_HIRAGANA}
_AROUND_KATAKANA = r"(?<![ァ-ヺー一-龥々])", r"(?![ァ-ヺー一-龥々])"
_AROUND_HIRAGANA = (
    r"(?<![ぁ-ゖァ-ヺー一-龥々])",
    r"(?=(?:[がはをにのともで]|です|でした|など|より|から|まで|だけ|しか)?(?:[^ぁ-ゖー]|$))",
)


@dataclass(frozen=True, slots=True)
class Found:
    """Where a value stands in the normal form of a text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Value:
    """An expected value, read once."""

    text: str
    shown: str
    type: ValueType
    quantity: Quantity | None = None
    moment: Moment | None = None


@lru_cache(maxsize=50_000)
def value_of(text: str) -> Value:
    """Return what kind of value a text is: a date, a number, an identifier, or plain words."""
    shown = normal(text)
    moment = only_moment(text)
    if moment is not None:
        return Value(text, shown, "date", moment=moment)
    quantity = only_quantity(text)
    if quantity is not None:
        return Value(text, shown, "number", quantity=quantity)
    bare = text.strip()
    one_word = " " not in bare and not is_spaceless(bare)
    named = _IDENTIFIER.fullmatch(bare) or _OPTION.fullmatch(bare)
    if one_word and named and not _COMPOUND.fullmatch(bare):
        return Value(text, shown, "identifier")
    return Value(text, _ARTICLE.sub("", shown).rstrip(_ENDING) or shown, "text")


def is_version(text: str) -> bool:
    """Return whether a text could be a version: numbers with points between them."""
    return _VERSION.fullmatch(normal(text)) is not None


def version_of(text: str) -> Value:
    """Return a text as a version: 15.4 is not 15.40."""
    return Value(text, normal(text), "identifier")


def find(value: Value, text: str, *, exact_unit: bool = False) -> list[Found]:
    """Return every place where a text holds the value (places in its normal form).

    Args:
        exact_unit: a number with a unit is not found in one without: an answer may leave the unit
            out, a log line with the same digits states something else.
    """
    shown = normal(text)
    if (wanted := value.quantity) is not None:
        return [
            Found(q.start, q.end)
            for q in quantities(text)
            if same_quantity(wanted, q) and (not exact_unit or _names_unit(wanted, q))
        ]
    if (when := value.moment) is not None:
        return [Found(t.start, t.end) for t in moments(text) if same_moment(when, t)]
    if not value.shown:
        return []
    pattern = _named(value.shown) if value.type == "identifier" else _worded(value.shown)
    found = set(pattern.spans(shown))
    if (other := _in_other_kana(value)) is not None:
        found |= set(other.spans(shown))
    if value.type == "identifier" and _HASH.fullmatch(value.shown):
        found |= {m.span() for m in _SHORTENED.finditer(shown) if value.shown.startswith(m[0])}
    if value.type == "identifier" and _STYLED.fullmatch(value.text.strip()):
        found |= _case_styled(value, text)
    return [Found(*span) for span in sorted(found)]


def _names_unit(wanted: Quantity, found: Quantity) -> bool:
    return not wanted.unit or bool(found.unit) or any(unit for _, unit in found.others)


def may_hold(value: Value, text: str) -> bool:
    """Return whether a text holds every piece of a value: cheap, before :func:`find`."""
    if value.quantity is not None or value.moment is not None:
        return True
    shown = normal(text)
    return all(piece in shown for piece in _pieces(value))


@lru_cache(maxsize=50_000)
def _in_other_kana(value: Value) -> _Bordered | None:
    """Return the pattern of a word in the other kana, as a word of its own: えび for エビ."""
    if value.type != "text":
        return None
    if _HIRAGANA.fullmatch(value.shown):
        return _bordered(
            _AROUND_KATAKANA[0], value.shown.translate(_TO_KATAKANA), _AROUND_KATAKANA[1]
        )
    if _KATAKANA.fullmatch(value.shown):
        return _bordered(
            _AROUND_HIRAGANA[0], value.shown.translate(_TO_HIRAGANA), _AROUND_HIRAGANA[1]
        )
    return None


def in_hiragana(text: str) -> str:
    """Return a text with its katakana as hiragana."""
    return text.translate(_TO_HIRAGANA)


@lru_cache(maxsize=50_000)
def _pieces(value: Value) -> tuple[str, ...]:
    """Return the runs of letters and digits that every spelling of a value holds."""
    if value.type == "text" and _in_other_kana(value) is not None:
        return ()
    if _HASH.fullmatch(value.shown):
        return (value.shown[:_HASH_PREFIX],)
    if value.type == "identifier":
        words = normal(case_style(value.text.strip())).removeprefix("v")
        return tuple(_PIECE.findall(words))
    return tuple(_PIECE.findall(value.shown))


@dataclass(frozen=True, slots=True)
class _Bordered:
    """A pattern between two borders. Borders are few and dear to compile, bodies many and cheap."""

    left: re.Pattern[str]
    body: re.Pattern[str]
    right: re.Pattern[str]

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Return where the body stands between its borders; what the right one takes is included."""
        at = 0
        while (m := self.body.search(text, at)) is not None:
            end = self.right.match(text, m.end())
            if end is not None and self.left.match(text, m.start()):
                yield m.start(), end.end()
                at = max(end.end(), m.start() + 1)
            else:
                at = m.start() + 1


def _bordered(left: str, body: str, right: str) -> _Bordered:
    return _Bordered(_border(left), re.compile(body), _border(right))


_border = lru_cache(maxsize=1_000)(re.compile)


@lru_cache(maxsize=50_000)
def _worded(shown: str) -> _Bordered:
    """Return the pattern of words: borders where its ends are words of a spaced script.

    A hyphen between letters may be a space or nothing, a space may be a hyphen; where kana, Han
    or Hangul meet anything else, a space is neither asked for nor forbidden.
    """
    if is_spaceless(shown):
        pieces = re.findall(rf"[{SPACELESS}]+|[^\s{SPACELESS}]+", shown)
        body = r"\s?".join(map(re.escape, pieces))
    else:
        body = re.escape(shown).replace(r"\ ", "[ -]+")
        body = re.sub(r"(?<=[^\W\d_])\\-(?=[^\W\d_])", "[ _-]?", body)
    compound = _COMPOUND.fullmatch(shown) is not None
    left = (rf"(?<!{_LETTER})" + rf"(?<!{_LETTER}-)" * compound) if _borders(shown[0]) else ""
    right = ""
    if _borders(shown[-1]):
        right = rf"(?!{_LETTER}|[.,]\d)" if shown[-1].isdigit() else rf"(?:'?e?s)?(?!{_LETTER})"
        right += rf"(?!-{_LETTER})" * compound
    return _bordered(left, body, right)


def _borders(character: str) -> bool:
    return character.isalnum() and not is_spaceless(character)


@lru_cache(maxsize=50_000)
def _named(shown: str) -> _Bordered:
    """Return the pattern of an identifier: not a part of a longer one. A version may bear a v."""
    version = _VERSION.fullmatch(shown)
    body = rf"v?{re.escape(version[1])}" if version else re.escape(shown)
    return _bordered(_not_after(shown), body, _not_before(shown))


def _not_after(shown: str) -> str:
    if shown[0] == "#":
        return ""
    if "@" in shown[1:]:  # what stands before a point or a plus is a part of the address
        return rf"(?<!{_NAME})(?<!{_NAME}[-.+%])"
    if shown[0] == "/":  # ~/etc and ../etc are other places than /etc
        return rf"(?<!{_NAME})(?<!{_NAME}-)(?<![~.$}}])"
    inside = r"(?<!\d\.)" if shown[0].isdigit() else r"(?<!-)" if shown[0] == "-" else ""
    return rf"(?<!{_NAME})(?<!{_NAME}-)" + inside


def _not_before(shown: str) -> str:
    joints = "-" + "".join(joint for joint in "./" if joint in shown)
    joints += "?#&=" if "://" in shown else ""
    return rf"(?!{_NAME}|[{joints}]{_NAME})"


def _case_styled(value: Value, text: str) -> set[tuple[int, int]]:
    """Return the places of an identifier that agrees but for camel case, snake case or hyphens."""
    words = case_style(value.text).split(" ")
    if len(words) < 2:
        return set()
    shown = cased(text)
    found = _styled(tuple(words)).spans(shown)
    return {(len(shown[:a].casefold()), len(shown[:b].casefold())) for a, b in found}


@lru_cache(maxsize=50_000)
def _styled(words: tuple[str, ...]) -> _Bordered:
    border = r"(?:[\s_\-./]|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]))"
    body = border.join(rf"(?i:{re.escape(word)})" for word in words)
    return _bordered(_not_after("a"), body, _not_before("a"))
