"""Markdown transcripts: turns told apart by headings, bold names, or names with a colon.

Understood are ``## User``, ``**Mira:** words`` and ``User: words``; whichever a file has most of
is what divides it. Lines inside fenced code never divide. Headings and bare names count only
where they are names of roles; bold names may be anybody's that come back.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ctxeng.core.messages import Role
from ctxeng.harness.importers.model import Account, Importer, Options, SessionDraft, Turns
from ctxeng.harness.importers.roles import role_of
from ctxeng.harness.importers.source import Sample, Source
from ctxeng.harness.probes.model import Probe

_STYLES = {
    "heading": re.compile(r"#{1,6}\s+\W*(?P<name>[\w .'’-]{1,40}?)(?:\s*\([^()]*\))?\s*:?\s*$"),
    "bold": re.compile(r"(?:[-*>]\s+)?\*\*(?P<name>[\w .'’()-]{1,40}?)(?::\*\*|\*\*\s*:)\s*"),
    "plain": re.compile(r"(?P<name>[A-Za-z]{2,20}):(?:\s+|$)"),
}
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_TITLE = re.compile(r"#\s+(.+)")
_PEOPLE = ("you", "me", "i", "you said", "my prompt", "prompt")
_MACHINES = ("chatgpt said", "response", "copilot", "grok", "llm", "gpt-4", "agent")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mark:
    """A line that begins a turn: its number from 0, who speaks, and the words on the line."""

    line: int
    name: str
    rest: str


class MarkdownImporter(Importer):
    """Reads transcripts in Markdown or plain text, one session a file."""

    name: ClassVar[str] = "markdown"
    suffixes: ClassVar[tuple[str, ...]] = (".md", ".markdown", ".txt")

    def detect(self, sample: Sample) -> float:
        """Return 0.4 for text, no JSON, in which a person and a machine take turns.

        Turns of persons alone look like many a page of notes: that format has to be named.
        """
        if sample.source.is_archive or sample.source.path.is_dir() or sample.objects:
            return 0.0
        marks = _marks(sample.head.decode("utf-8", "replace").split("\n"))
        return 0.4 if {"user", "assistant"} <= {_known(mark.name) for mark in marks} else 0.0

    def read(
        self, source: Source, account: Account, options: Options
    ) -> Iterator[SessionDraft | Probe]:
        """Yield the one transcript of the file."""
        lines = source.text().split("\n")
        marks = _marks(lines)
        head = lines[: marks[0].line] if marks else lines
        if any(line.strip() for line in head):
            account.skip("text before the first turn" if marks else "text without turns")
        roles = _roles([mark.name for mark in marks])
        turns = Turns(account)
        ends = [mark.line for mark in marks[1:]] + [len(lines)]
        for mark, end in zip(marks, ends, strict=False):
            words = "\n".join([mark.rest, *lines[mark.line + 1 : end]]).strip().strip("-").strip()
            is_role = _known(mark.name) is not None
            turns.add(roles[mark.name.casefold()], words, speaker="" if is_role else mark.name)
        title = next((match[1] for line in head if (match := _TITLE.match(line))), "")
        yield turns.draft(source.path.stem, origin="Markdown transcript", title=title.strip())


def _marks(lines: Sequence[str]) -> list[_Mark]:
    """Return the beginnings of turns in the style that a file has most of."""
    fenced = _fenced(lines)
    best: list[_Mark] = []
    for style, pattern in _STYLES.items():
        found = [
            _Mark(line=at, name=match["name"].strip(), rest=line[match.end() :])
            for at, line in enumerate(lines)
            if not fenced[at] and (match := pattern.match(line))
        ]
        counts = Counter(mark.name.casefold() for mark in found)
        found = [
            mark
            for mark in found
            if _known(mark.name) or (style == "bold" and counts[mark.name.casefold()] > 1)
        ]
        if len(found) > len(best):
            best = found
    return best


def _fenced(lines: Sequence[str]) -> bytearray:
    """Return 1 for every line of a fenced block; a fence that is never closed is none."""
    inside = bytearray(len(lines))
    opened, mark = -1, ""
    for at, line in enumerate(lines):
        match = _FENCE.match(line)
        if not match:
            continue
        if opened < 0:
            opened, mark = at, match[1]
        elif match[1].startswith(mark) and not match[2].strip():
            inside[opened : at + 1] = b"\x01" * (at + 1 - opened)
            opened = -1
    return inside


def _known(name: str) -> Role | None:
    plain = name.strip().casefold()
    if plain in _PEOPLE:
        return "user"
    return "assistant" if plain in _MACHINES else role_of(plain)


def _roles(names: Sequence[str]) -> dict[str, Role]:
    """Return the role of every name; of two persons alone the second answers."""
    spoken = list(dict.fromkeys(name.casefold() for name in names))
    roles: dict[str, Role] = {name: _known(name) or "user" for name in spoken}
    if len(spoken) == 2 and not any(map(_known, spoken)):
        roles[spoken[1]] = "assistant"
    return roles
