"""An answer that chooses between two values: what it says once the one it sets aside is left out.

"PostgreSQL; MySQL was rejected" chooses PostgreSQL, "not MySQL but PostgreSQL" too. The phrases and
the words that leave a choice open stand in ``choice.toml``. Left out are the question where an
answer repeats it, these phrases, and clauses of nothing but the value set aside and one word that
does so; where a value stands otherwise, or what is left says more than a short plain answer, there
is no choice to be read.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from itertools import pairwise
from typing import Any

from ctxeng.harness.scoring.cue import CLAUSE_END, by_script, found_in, scripts_in, stands_in
from ctxeng.harness.scoring.matching import Found
from ctxeng.harness.scoring.text import SPACELESS, cased, normal, word_sizes

LONGEST_REST = 12  # words beside the values; three letters of a script without spaces are one
_KEPT, _ASIDE = "\ue001", "\ue002"  # for private use: in no text
_TITLED = rf"{_ASIDE}(?:さん|씨|님)?"
_MARKED = re.compile(  # bold, code and quoted values
    rf"(?P<mark>\*{{1,3}}|_{{1,2}}|`+|[\"'])(?P<sign>[{_KEPT}{_ASIDE}])(?P=mark)"
    rf"|[「『](?P<sign2>[{_KEPT}{_ASIDE}])[」』]"
)
_SPACED = re.compile(  # a space between a value and a letter of a script without them
    rf"(?<=[{_KEPT}{_ASIDE}]) (?=[{SPACELESS}])"
    rf"|(?<=[\u3040-\u30ff\u3400-\u9fff]) (?=[{_KEPT}{_ASIDE}])"
)
_BORDER = re.compile(
    rf"((?:{CLAUSE_END.pattern})| - | > |[()]|:(?!\d)|,(?=[{SPACELESS}{_KEPT}{_ASIDE}]))"
)
_NO_WORD = re.compile(r"(?<!\w)[^\w\s]+(?!\w)")
_TOUCHING = re.compile(rf"(?<=[A-Za-z0-9])(?=[{SPACELESS}])")
_LISTED = re.compile(  # several set aside as one
    rf"{_TITLED}(?:(?:, and | and |, | or | y | o |、|や|と|和|및 ){_TITLED})*"
)


def without_aside(
    text: str, question: str, kept: Sequence[Found], aside: Sequence[Found]
) -> str | None:
    """Return an answer without the phrases that set values aside, None where one stands otherwise.

    Args:
        kept, aside: where the values stand in the normal form of ``text``.

    Example:
        with ``tea`` kept and ``milk`` set aside, ``"Tea, not milk."`` → ``"Tea."``
    """
    masked = _masked(text, kept, aside)
    if masked is None or asks_of_other(question):
        return None
    asks_of_past = stands_in(_TABLES["of_the_past"], normal(question))
    for name in ("repeated", "phrases") if asks_of_past else ("repeated", "past", "phrases"):
        for script in scripts_in(text):
            if script in _TABLES[name]:
                masked = _TABLES[name][script].sub(_kept_of, masked)
    if not stands_in(_TABLES["aside"], normal(question)):
        masked = _without_clauses(masked)
    rest = masked.replace(_KEPT, " ")
    if _ASIDE in masked or _KEPT not in masked or stands_in(_TABLES["open"], normal(rest)):
        return None
    spaced, spaceless = word_sizes(_NO_WORD.sub(" ", rest))
    return _unmasked(masked, text, kept) if spaced + spaceless / 3 <= LONGEST_REST else None


def sets_aside(text: str, question: str) -> bool:
    """Return whether an answer has a word that sets something aside, and the question has none."""
    words = (_TABLES["aside"], _TABLES["changed"])
    return any(stands_in(one, text) and not stands_in(one, question) for one in words)


def asks_of_other(question: str) -> bool:
    """Return whether a question asks for what is no more, or is not: what an answer sets aside."""
    return stands_in(_TABLES["of_the_other"], normal(question))


def _without_clauses(masked: str) -> str:
    """Leave out clauses that hold values set aside, and one word that does so, there or after."""
    parts = _BORDER.split(masked)
    for at in range(0, len(parts), 2):
        if _ASIDE not in parts[at] or _KEPT in parts[at]:
            continue
        after = parts[at + 2] if at + 2 < len(parts) else ""
        own = [*found_in(_TABLES["aside"], parts[at])]
        if len(own) == 1 and not stands_in(_TABLES["undone"], parts[at]):
            parts[at] = " "
        elif not own and not {_KEPT, _ASIDE} & {*after} and _is_aside(after):
            parts[at] = parts[at + 2] = " "
    return "".join(parts)


def _is_aside(clause: str) -> bool:
    """Return whether a clause is no more than a word that sets aside, as 没要 in 太长,没要,."""
    words = [*found_in(_TABLES["aside"], clause)]
    return len(words) == 1 and len(clause.strip()) <= len(words[0]) + 4


def _kept_of(m: re.Match[str]) -> str:
    return f"{m.groupdict().get('kept') or ''} "


def _masked(text: str, kept: Sequence[Found], aside: Sequence[Found]) -> str | None:
    """Return a text with a sign for each value, None where values overlap."""
    shown = cased(text)
    signs = [(p.start, p.end, sign) for ps, sign in ((kept, _KEPT), (aside, _ASIDE)) for p in ps]
    signs = sorted(set(signs))
    if any(a[1] > b[0] for a, b in pairwise(signs)):
        return None
    if len(shown) != len(normal(text)):
        return None
    for start, end, sign in reversed(signs):
        shown = shown[:start] + sign + shown[end:]
    shown = _SPACED.sub("", _MARKED.sub(lambda m: m["sign"] or m["sign2"], shown))
    return _LISTED.sub(_ASIDE, shown)


def _unmasked(masked: str, text: str, kept: Sequence[Found]) -> str:
    """Return a masked text with its kept values as they were written."""
    shown = cased(text)
    ordered = sorted(set(kept), key=lambda p: p.start)
    dropped = len(ordered) - masked.count(_KEPT)  # with the question at the start
    spelled = iter([shown[p.start : p.end] for p in ordered[dropped:]])
    return _TOUCHING.sub(" ", re.sub(_KEPT, lambda m: next(spelled), masked)).strip()


def _spelled_out(phrase: str, parts: Mapping[str, str]) -> str:
    for name, part in parts.items():
        phrase = phrase.replace(f"<{name}>", part)
    return phrase.replace("K", _KEPT).replace("D", _ASIDE)


def _tables() -> Mapping[str, Any]:
    read = tomllib.loads((files(__package__ or "") / "choice.toml").read_text("utf-8"))
    for name in ("repeated", "phrases", "past"):
        read[name] = {
            language: [_spelled_out(phrase, read["parts"]) for phrase in phrases]
            for language, phrases in read[name].items()
        }
    del read["parts"]
    return {name: by_script(table, re.IGNORECASE) for name, table in read.items()}


_TABLES = _tables()
