"""Replaces what detectors find by pseudonyms: in texts, canonical lines and probes alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ctxeng.harness.privacy.found import Detector, Found, Kind, without_overlaps
from ctxeng.harness.privacy.names import NameDetector
from ctxeng.harness.privacy.personal import (
    CardDetector,
    EmailDetector,
    IbanDetector,
    IpDetector,
    PhoneDetector,
    UserPathDetector,
)
from ctxeng.harness.privacy.pseudonyms import pseudonym
from ctxeng.harness.privacy.secrets import SecretDetector
from ctxeng.harness.probes.model import Probe
from ctxeng.harness.sessions.records import encode
from ctxeng.harness.sessions.text import parse_json

_FIXED = frozenset({"schema", "role", "timestamp", "language", "seq"})
"""Fields of a canonical line that hold no words of anybody."""


@dataclass(slots=True)
class Redactor:
    """Finds and replaces; counts what it replaced, and keeps no value in its counts.

    Args:
        key: of the pseudonyms. people: names to find, see ``names.read_names``.
    """

    key: bytes
    people: Mapping[str, str] = field(default_factory=dict)
    replaced: Counter[Kind] = field(default_factory=Counter)
    _distinct: dict[Kind, set[str]] = field(default_factory=dict)
    _told: dict[str, Found] = field(default_factory=dict)
    _secrets: SecretDetector = field(default_factory=SecretDetector)
    _detectors: tuple[Detector, ...] = ()

    def __post_init__(self) -> None:
        """Set up the detectors."""
        self._detectors = (
            self._secrets,
            CardDetector(),
            IbanDetector(),
            EmailDetector(),
            PhoneDetector(),
            IpDetector(),
            UserPathDetector(),
            NameDetector(self.people),
        )

    @property
    def distinct(self) -> dict[Kind, int]:
        """Return how many different values were replaced, by kind."""
        return {kind: len(values) for kind, values in sorted(self._distinct.items())}

    @property
    def remembered(self) -> int:
        """Return how many secrets would be found again where nothing tells them."""
        return len(self._secrets.remembered)

    def find(self, text: str) -> list[Found]:
        """Return what must not be stored in a text, in order, without overlaps."""
        return without_overlaps(one for d in self._detectors for one in d.find(text))

    def learn(self, line: bytes) -> None:
        """Remember the secrets of a canonical line, so that they are found wherever they stand."""
        for text in texts_of(line):
            for _ in self._secrets.find(text):
                pass

    def text(self, text: str) -> str:
        """Return the text with pseudonyms."""
        found = self.find(text)
        if not found:
            return text
        parts, place = [], 0
        for one in found:
            name = pseudonym(one, self.key)
            self.replaced[one.kind] += 1
            self._distinct.setdefault(one.kind, set()).add(name)
            self._told[text[one.start : one.end]] = one
            parts += [text[place : one.start], name]
            place = one.end
        return "".join([*parts, text[place:]])

    def record(self, line: bytes) -> bytes:
        """Return a canonical line with pseudonyms; an untouched one as it came."""
        value = parse_json(line)
        changed = over_texts(value, self.text)
        return line if changed == value else encode(changed)

    def probe(self, probe: Probe) -> Probe:
        """Return the probe with the same pseudonyms in question, values and note."""
        return replace(
            probe,
            probe_id=self.text(probe.probe_id),
            session_id=self.text(probe.session_id),
            question=self.text(probe.question),
            expect=tuple(tuple(map(self._value, group)) for group in probe.expect),
            forbid=tuple(map(self._value, probe.forbid)),
            author=self.text(probe.author),
            category=None if probe.category is None else self.text(probe.category),
            note=self.text(probe.note),
        )

    def _value(self, value: str) -> str:
        """Return a probe's value with pseudonyms; alone it has no words that tell what it is."""
        changed, told = self.text(value), self._told.get(value)
        if changed != value or told is None:
            return changed
        self.replaced[told.kind] += 1
        return pseudonym(told, self.key)


def over_texts(value: Any, change: Callable[[str], str], *, top: bool = True) -> Any:
    """Return a JSON value with every text changed, keys of objects inside it included."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [over_texts(inner, change, top=False) for inner in value]
    if isinstance(value, dict):
        return {
            key if top else change(key): inner
            if top and key in _FIXED
            else over_texts(inner, change, top=False)
            for key, inner in value.items()
        }
    return value


def texts_of(line: bytes) -> Iterator[str]:
    """Yield every text of a canonical line that could hold somebody's words."""
    held: list[str] = []

    def keep(text: str) -> str:
        held.append(text)
        return text

    over_texts(parse_json(line), keep)
    yield from held
