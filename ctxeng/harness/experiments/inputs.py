"""Find and load what an experiment names: sessions, probes, exclusions."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path

from ctxeng.core.errors import DatasetError, SettingsError
from ctxeng.core.messages import Session
from ctxeng.core.text import numbered
from ctxeng.harness.experiments.schema import ExperimentFile
from ctxeng.harness.probes.io import check_against, read_probes
from ctxeng.harness.probes.model import Probe
from ctxeng.harness.sessions.io import load_dataset
from ctxeng.harness.sessions.text import lines, open_utf8, parse_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """Sessions in order of id, and the probes to ask of each.

    Args:
        excluded: how many accepted probes an exclusion file takes out, by its reasons.
    """

    sessions: tuple[Session, ...]
    probes: Mapping[str, tuple[Probe, ...]]
    excluded: Mapping[str, int] = field(default_factory=dict)

    @property
    def probe_count(self) -> int:
        """Return the number of probes over all sessions."""
        return sum(len(probes) for probes in self.probes.values())


def load_inputs(experiment: ExperimentFile, workspace: Path) -> Inputs:
    """Return the sessions and accepted probes an experiment names.

    Sessions without a probe are left out: nothing would be asked of them.

    Raises:
        SettingsError: a path does not exist.
        DatasetError: a session or probe file is damaged, or a probe names an absent session or seq.
    """
    sessions = load_dataset(_existing(experiment.sessions, workspace, "sessions"))
    probes: list[Probe] = []
    for path in _existing(experiment.probes, workspace, "probes"):
        probes += read_probes(path)
    _no_duplicates(probes)
    check_against(probes, sessions)
    known = {p.probe_id for p in probes}
    excluded = exclusions(_existing(experiment.exclude, workspace, "exclude"), known)
    if excluded.told:
        logging.getLogger("ctxeng.experiments").warning(excluded.told)
    kept = [p for p in probes if p.status == "accepted" and p.probe_id not in excluded.reasons]
    if not kept:
        raise DatasetError(
            f"probes must hold at least one accepted probe, got none in {experiment.probes}. "
            "Accept drafts with `ctxeng probes review`."
        )
    by_session = {s.session_id: tuple(p for p in kept if p.session_id == s.session_id)
                  for s in sessions}  # fmt: skip
    asked = tuple(s for s in sorted(sessions, key=_by_id) if by_session[s.session_id])
    _one_kind(asked)
    accepted = (p.probe_id for p in probes if p.status == "accepted")
    reasons = Counter(excluded.reasons[p] for p in accepted if p in excluded.reasons)
    return Inputs(
        sessions=asked,
        probes={s.session_id: by_session[s.session_id] for s in asked},
        excluded=dict(reasons.most_common()),
    )


def limit_inputs(inputs: Inputs, *, sessions: int | None, probes: int | None) -> Inputs:
    """Return the first sessions, and the first probes of each: for a quick look at a large set."""
    kept = inputs.sessions[:sessions]
    return replace(
        inputs,
        sessions=kept,
        probes={s.session_id: inputs.probes[s.session_id][:probes] for s in kept},
    )


def _one_kind(sessions: Sequence[Session]) -> None:
    """Check that nobody adds generated sessions and written ones up in one number."""
    made = [s.session_id for s in sessions if s.meta.get("synthetic")]
    if made and len(made) < len(sessions):
        written = next(s.session_id for s in sessions if not s.meta.get("synthetic"))
        raise DatasetError(
            "sessions must be all synthetic or all written, got both "
            f"({made[0]!r} and {written!r}). Run them as two experiments."
        )


def _by_id(session: Session) -> str:
    return session.session_id


def _existing(names: Sequence[str], workspace: Path, setting: str) -> list[Path]:
    paths = [workspace / name for name in names]
    missing = [str(path) for path in paths if not path.exists()]
    if missing:
        raise SettingsError(
            f"{setting} must name existing files or folders, got {', '.join(missing)}. "
            f"Paths are relative to the workspace {workspace}."
        )
    return paths


def _no_duplicates(probes: Sequence[Probe]) -> None:
    seen: set[str] = set()
    for probe in probes:
        if probe.probe_id in seen:
            raise DatasetError(f"probe ids must be unique, got {probe.probe_id!r} twice.")
        seen.add(probe.probe_id)


def _lines(path: Path) -> list[tuple[int, bytes]]:
    try:
        with open_utf8(path) as stream:
            return list(lines(stream))
    except OSError as error:
        raise DatasetError(
            f"an exclusion file must be readable, got {path} ({error.strerror or error}). "
            "Check the path."
        ) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Exclusions:
    """What exclusion files take out: reasons by probe id, and how many ids are of no probe here."""

    reasons: Mapping[str, str]
    elsewhere: int

    @property
    def told(self) -> str:
        """Return the sentence about ids that are of no probe here; nothing where there are none."""
        if not self.elsewhere:
            return ""
        named = numbered(self.elsewhere, "id that is", "ids that are")
        return f"exclude names {named} of no probe here (of {self.elsewhere + len(self.reasons)})"


def exclusions(paths: Sequence[Path], known: Set[str]) -> Exclusions:
    """Return what exclusion files take out: lines ``{"id": id, "reason": text}``.

    A published list of label errors is wider than a sample of its benchmark, so ids that no probe
    has are counted; a file of nothing else is of another set, or mistyped.

    Raises:
        DatasetError: a line is damaged, or a file names probes and none of ``known``.
    """
    reasons: dict[str, str] = {}
    elsewhere: set[str] = set()
    for path in paths:
        told = _exclusion_file(path)
        strange = told.keys() - known
        if told and len(strange) == len(told):
            some = ", ".join(map(repr, sorted(strange)[:3]))
            raise DatasetError(
                f"an exclusion file must name a probe of the set, got {some}"
                f"{' and others' if len(strange) > 3 else ''} alone ({path}). "
                "Mend the ids or leave the file out."
            )
        elsewhere |= strange
        reasons |= {name: reason for name, reason in told.items() if name in known}
    return Exclusions(reasons=reasons, elsewhere=len(elsewhere))


def _exclusion_file(path: Path) -> dict[str, str]:
    told: dict[str, str] = {}
    for number, line in _lines(path):
        if not line.strip():
            continue
        try:
            record = parse_json(line)
            told[str(record["id"])] = str(record["reason"])
        except (ValueError, KeyError, TypeError):
            raise DatasetError(
                f"{path}:{number}: an exclusion must be an object with id and reason."
            ) from None
    return told
