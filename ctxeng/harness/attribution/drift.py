"""Drift of what compaction writes: values that fade over rewrites, other languages, inventions.

Three things no single question shows. A value that stood in version k of a rolling summary and is
gone from k+1; a summary written in another language than what it summarises; a number, date or
identifier in a summary that no message contains.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import fmean
from typing import Any

import orjson

from ctxeng.core.artifacts import Artifact, ArtifactKind
from ctxeng.core.messages import Message
from ctxeng.harness.attribution.stored import StoredRun, Unit, unit_of
from ctxeng.harness.probes.model import Probe
from ctxeng.harness.results.tables import Row
from ctxeng.harness.scoring.invention import Stated, invented
from ctxeng.harness.scoring.presence import values_present
from ctxeng.harness.sessions.language import guess_language
from ctxeng.harness.stats.counts import SessionCounts
from ctxeng.harness.stats.interval import share_interval

REWRITTEN: tuple[ArtifactKind, ...] = ("rolling", "node", "memory")
UNTOLD = ("und", "mixed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One fact in one rewrite of the summary that should carry it.

    Args:
        round: 1 for the first artifact that covers the statement, 2 for the rewrite of it, …
        is_present: the artifact's text holds every expected value.
        was_present: the one before held them; None in round 1.
    """

    arm: str
    session_id: str
    replicate: int
    probe_id: str
    kind: str
    round: int
    artifact_id: str
    is_present: bool
    was_present: bool | None

    @property
    def is_dropped(self) -> bool:
        """Return whether the value was there in the version before and is gone."""
        return self.was_present is True and not self.is_present


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """One artifact: its language beside its source's, and values that no message contains."""

    arm: str
    session_id: str
    replicate: int
    artifact_id: str
    kind: str
    language: str
    source_language: str
    values: int
    invented: tuple[str, ...]

    @property
    def is_other_language(self) -> bool:
        """Return whether both languages are known and differ."""
        known = self.language not in UNTOLD and self.source_language not in UNTOLD
        return known and self.language != self.source_language


@dataclass(frozen=True, slots=True, kw_only=True)
class DecayPoint:
    """How many facts are still there in the r-th writing of the summary that carries them.

    Args:
        n: facts that went through at least this many rounds, replicates counted each. present: of
            those, still there.
        share, low, high: present / n with its 95 % interval, sessions as units; None for n = 0.
        at_risk, dropped: of the facts present one round before, how many are gone.
        regained: facts absent one round before that are there again.
        kept: share that is there in round 1 and in every round since, 0..1. Later rounds see fewer
            and other facts than the first, so ``share`` may rise; this is the product of the
            steps, each over the facts that took it (Source: Kaplan & Meier 1958). None once no
            fact is at risk.
    """

    arm: str
    kind: str
    round: int
    n: int
    present: int
    share: float | None
    low: float | None
    high: float | None
    at_risk: int
    dropped: int
    regained: int
    kept: float | None

    def record(self) -> dict[str, Any]:
        """Return the point as plain JSON."""
        return asdict(self)


def rounds(stored: StoredRun) -> Iterator[Round]:
    """Yield every literal fact in every rewrite, arm by arm, versions in order.

    Facts whose values do not stand in their evidence word for word are left out: no text can be
    searched for them.
    """
    for unit in _units(stored):
        arm, session_id, replicate = unit
        for probe in _literal_probes(stored, session_id):
            for chain in _chains(stored.artifacts(*unit), probe):
                was: bool | None = None
                for number, artifact in enumerate(chain, start=1):
                    present = values_present(probe.expect, [artifact.text])
                    yield Round(
                        arm=arm,
                        session_id=session_id,
                        replicate=replicate,
                        probe_id=probe.probe_id,
                        kind=artifact.kind,
                        round=number,
                        artifact_id=artifact.artifact_id,
                        is_present=present,
                        was_present=was,
                    )
                    was = present


def decay(found: Iterable[Round]) -> list[DecayPoint]:
    """Return the decay curve of every arm and kind of summary, by round."""
    groups: dict[tuple[str, str], dict[int, list[Round]]] = defaultdict(lambda: defaultdict(list))
    for one in found:
        groups[one.arm, one.kind][one.round].append(one)
    points = []
    for (arm, kind), by_round in groups.items():
        kept: float | None = None
        for number in sorted(by_round):
            point = _point(arm, kind, number, by_round[number])
            kept = point.share if number == 1 else _after(kept, point)
            points.append(replace(point, kept=kept))
    return points


def _after(kept: float | None, point: DecayPoint) -> float | None:
    if kept is None or not point.at_risk:
        return None
    return kept * (1 - point.dropped / point.at_risk)


def wordings(stored: StoredRun) -> Iterator[Wording]:
    """Yield the language and the invented values of every artifact, in order of writing.

    A value is counted in the first artifact that has it: what a later version merely carries on is
    the earlier one's.
    """
    stated: dict[str, Stated] = {}
    for unit in _units(stored):
        arm, session_id, replicate = unit
        said = stored.messages.get(session_id, ())
        stated.setdefault(session_id, Stated.of([m.text for m in said], _names(said)))
        carried: set[str] = set()
        for artifact in stored.artifacts(*unit):
            seen, unheard = invented(artifact.text, stated[session_id])
            fresh = tuple(value for value in unheard if value not in carried)
            carried.update(fresh)
            yield Wording(
                arm=arm,
                session_id=session_id,
                replicate=replicate,
                artifact_id=artifact.artifact_id,
                kind=artifact.kind,
                language=guess_language([artifact.text]),
                source_language=guess_language(
                    m.text for m in said if artifact.from_seq <= m.seq <= artifact.to_seq
                ),
                values=seen,
                invented=fresh,
            )


def drift_tables(stored: StoredRun) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of the tables ``rounds`` and ``wordings`` of a run."""
    return {
        "rounds": [asdict(one) for one in rounds(stored)],
        "wordings": [
            asdict(one) | {"invented": orjson.dumps(one.invented).decode()}
            for one in wordings(stored)
        ],
    }


def stored_rounds(found: Iterable[Row]) -> list[Round]:
    """Return rows of the table ``rounds`` as values."""
    return [Round(**{name: row[name] for name in Round.__slots__}) for row in found]


def stored_wordings(found: Iterable[Row]) -> list[Wording]:
    """Return rows of the table ``wordings`` as values."""
    names = [name for name in Wording.__slots__ if name != "invented"]
    return [
        Wording(
            **{name: row[name] for name in names}, invented=tuple(orjson.loads(row["invented"]))
        )
        for row in found
    ]


def _units(stored: StoredRun) -> list[Unit]:
    return list(dict.fromkeys(unit_of(row) for row in stored.tables.get("artifacts", ())))


def _names(said: Sequence[Message]) -> list[str]:
    return sorted({message.name for message in said})


def _literal_probes(stored: StoredRun, session_id: str) -> list[Probe]:
    said = {m.seq: m.text for m in stored.messages.get(session_id, ())}
    return [
        probe
        for (name, _), probe in stored.probes.items()
        if name == session_id
        and probe.answerable
        and probe.evidence
        and probe.kind != "speaker"
        and values_present(probe.expect, [said.get(seq, "") for seq in probe.evidence_seqs])
    ]


def _chains(made: Sequence[Artifact], probe: Probe) -> list[list[Artifact]]:
    """Return for each kind the artifacts that stand for the whole of the evidence, in order."""
    seqs = probe.evidence_seqs
    covering = [a for a in made if all(map(a.covers, seqs))]
    chains = [
        sorted((a for a in covering if a.kind == kind), key=lambda a: (a.level, a.version))
        for kind in REWRITTEN
    ]
    return [chain for chain in chains if chain]


def _point(arm: str, kind: str, number: int, found: Sequence[Round]) -> DecayPoint:
    by_probe: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for one in found:
        by_probe[one.session_id, one.probe_id].append(one.is_present)
    counts = SessionCounts.of((name, fmean(seen)) for (name, _), seen in by_probe.items())
    bounds = share_interval(counts)
    return DecayPoint(
        arm=arm,
        kind=kind,
        round=number,
        n=len(found),
        present=sum(one.is_present for one in found),
        share=counts.share,
        low=bounds.low if bounds else None,
        high=bounds.high if bounds else None,
        at_risk=sum(one.was_present is True for one in found),
        dropped=sum(one.is_dropped for one in found),
        regained=sum(one.was_present is False and one.is_present for one in found),
        kept=None,
    )
