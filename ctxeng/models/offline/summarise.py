"""Extractive summaries: the most telling sentences under a token budget, in order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import wrap

from ctxeng.models.offline.prompt import Tagged
from ctxeng.models.offline.words import estimated_tokens, sentences, words

# What makes a sentence worth keeping, and the section of a task state it belongs to. The first
# cue that fits decides.
CUES: tuple[tuple[str, str, float], ...] = (
    ("Decisions", r"\b(?:decid|let'?s go with|we'?ll (?:use|go|take|do)|settled|agreed|going with|"
     r"chose|pick(?:ed)?|final)|決め|決定|にします|にしよう|결정|하기로|으로 할|决定", 2.0),
    ("Constraints", r"\b(?:must|cannot|can'?t|never|no more than|at most|at least|only|limit|budget|"
     r"deadline|before the|by the|not allowed)\b|まで|以内|必ず|禁止|予算|まで|까지|반드시|예산|必须|不能", 1.5),
    ("Failed attempts", r"\b(?:failed|didn'?t work|doesn'?t work|broke|error|instead of|gave up|"
     r"rejected|not going to|don'?t want|hate|dislike)\b|失敗|だめ|嫌|やめ|실패|싫|안 돼|失败|不要", 1.5),
    ("Open questions", r"\?|？", -0.5),
    ("Next steps", r"\b(?:next|todo|tomorrow|will send|plan to|need to|remind)\b|次|明日|다음|내일|下一", 0.8),
    ("Goal", r"\b(?:goal|want to|trying to|need|plan|prefer|like|love|would rather)\b|"
     r"目標|したい|好き|원해|싶|좋아|想要|喜欢", 1.2),
)  # fmt: skip
_COMPILED = tuple((name, re.compile(rx, re.IGNORECASE), weight) for name, rx, weight in CUES)
DEFAULT_SECTION = "Confirmed facts"
SECTIONS = ("Goal", DEFAULT_SECTION, "Decisions", "Constraints", "Failed attempts",
            "Open questions", "Next steps")  # fmt: skip
LONGEST_TOKENS = 200  # a text without a full stop that is longer is not kept or left as a whole
PART_TOKENS = 60
CUT = "[…]"
_NUMBER = re.compile(r"\d")
_IDENTIFIER = re.compile(r"\w[._/@:\-]\w|[a-z][A-Z]|[A-Z]{2,}")
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+")
_NAMED = re.compile(r"^([^:\n]{1,40}): ")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence that may be kept; ``order`` is its place in the source."""

    order: int
    speaker: str
    text: str

    @property
    def line(self) -> str:
        """Return the sentence led by its speaker."""
        return f"{self.speaker}: {self.text}" if self.speaker else self.text


def summarise(pieces: list[Tagged], *, kind: str, target: int) -> str:
    """Return the summary of a prompt's pieces.

    Args:
        kind: ``rolling`` writes a structured task state, anything else one paragraph.
    """
    candidates = _candidates(pieces, longest=max(target, LONGEST_TOKENS))
    kept = _best(candidates, target)
    if kind == "rolling":
        return _as_state(kept)
    return " ".join(_finished(candidate.line) for candidate in kept)


def salience(text: str) -> float:
    """Return how telling a sentence is: cues, numbers, identifiers and names; short talk is not."""
    score = max((weight for _, rx, weight in _COMPILED if rx.search(text)), default=0.0)
    score += 1.2 if _NUMBER.search(text) else 0.0
    score += 1.0 if _IDENTIFIER.search(text) else 0.0
    score += 0.6 if _NAME.search(text) else 0.0
    return score + (0.4 if len(words(text)) >= 5 else -0.6)


def section_of(text: str) -> str:
    """Return the heading of a task state that a sentence belongs under."""
    return next((name for name, rx, _ in _COMPILED if rx.search(text)), DEFAULT_SECTION)


def _candidates(pieces: list[Tagged], *, longest: int) -> list[Candidate]:
    found: list[Candidate] = []
    for piece in pieces:
        if piece.tag == "section" or piece.attributes.get("overlap") == "yes":
            continue
        speaker = piece.attributes.get("speaker", "")
        for sentence in sentences(piece.text):
            if sentence.rstrip(":") in SECTIONS:
                continue
            who, text = speaker, sentence.removeprefix("- ")
            if not who and (named := _NAMED.match(text)):
                who, text = named[1], text[named.end() :]
            found += [
                Candidate(len(found) + i, who, p) for i, p in enumerate(_parts(text, longest))
            ]
    return found


def _parts(sentence: str, longest: int) -> Iterator[str]:
    """Yield a sentence, or its parts, seen to be cut, where it is longer than so many tokens."""
    tokens = estimated_tokens(sentence)
    if tokens <= longest:
        yield sentence
        return
    parts = wrap(sentence, len(sentence) * PART_TOKENS // tokens, break_on_hyphens=False)
    for place, part in enumerate(parts):
        before, after = CUT if place else "", CUT if place < len(parts) - 1 else ""
        yield f"{before} {part} {after}".strip()


def _best(candidates: list[Candidate], target: int) -> list[Candidate]:
    """Return the most salient candidates that fit the target, in their order; never a repetition."""
    rarity = Counter(word for c in candidates for word in set(words(c.text)))
    total = max(len(candidates), 1)

    def worth(candidate: Candidate) -> tuple[float, int]:
        mine = set(words(candidate.text))
        rare = sum(1 for word in mine if rarity[word] <= max(1, total // 20))
        return (-(salience(candidate.text) + 0.15 * min(rare, 6)), candidate.order)

    kept: list[Candidate] = []
    seen: set[str] = set()
    used = 0
    for candidate in sorted(candidates, key=worth):
        cost = estimated_tokens(candidate.line)
        if candidate.text in seen or used + cost > target:
            continue
        seen.add(candidate.text)
        kept.append(candidate)
        used += cost
    if not kept and candidates:
        kept = [min(candidates, key=lambda c: len(c.text))]
    return sorted(kept, key=lambda c: c.order)


def _as_state(kept: list[Candidate]) -> str:
    by_section: dict[str, list[str]] = {}
    for candidate in kept:
        by_section.setdefault(section_of(candidate.text), []).append(f"- {candidate.line}")
    return "\n".join(
        f"{name}:\n" + "\n".join(by_section[name]) for name in SECTIONS if name in by_section
    )


def _finished(sentence: str) -> str:
    return sentence if sentence[-1:] in ".!?。！？" else f"{sentence}."
