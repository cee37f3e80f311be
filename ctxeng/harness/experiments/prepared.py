"""An experiment that was read and checked: what a run needs before anything is started."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import ctxeng
from ctxeng.harness.experiments.arms import resolve_arms
from ctxeng.harness.experiments.inputs import Inputs, limit_inputs, load_inputs
from ctxeng.harness.experiments.prompts import judge_prompt, reader_prompt
from ctxeng.harness.experiments.schema import DeliveryMode, ExperimentFile
from ctxeng.harness.experiments.toml import read_experiment
from ctxeng.harness.probes.io import probe_record
from ctxeng.harness.replay.plan import Arm, content_key
from ctxeng.harness.sessions.io import content_hash
from ctxeng.models import CacheMode

NOBODY = "none"
SOURCES = (".py", ".md", ".sql", ".json", ".toml")
NOT_OF_THE_CELLS: Any = {
    **dict.fromkeys(("description", "expectation", "economics", "gate", "limits"), True),
    **dict.fromkeys(("sessions", "probes"), True),
    "models": {"concurrency", "mode", "poll_seconds", "quiet_seconds", "timeout_seconds"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What a command line may change about a run.

    Args:
        out: folder of run folders. jobs: sessions in flight at once.
        delivery: live or batch, instead of the file's.
        max_calls, max_cost_usd: lower than the file's limits, or instead of them.
        sessions, probes: look at the first few only.
        dry_run: make no call; what the ledger does not hold is foretold.
    """

    out: Path
    mode: CacheMode = "normal"
    delivery: DeliveryMode | None = None
    jobs: int | None = None
    max_calls: int | None = None
    max_cost_usd: float | None = None
    sessions: int | None = None
    probes: int | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """An experiment with everything it names found and checked; nothing has run yet."""

    path: Path
    workspace: Path
    experiment: ExperimentFile
    arms: tuple[Arm, ...]
    inputs: Inputs

    @property
    def key(self) -> str:
        """Return the content hash of all that decides the cells."""
        return content_key(
            {
                "experiment": self.experiment.model_dump(mode="json", exclude=NOT_OF_THE_CELLS),
                "arms": [[arm.name, arm.settings.model_dump(mode="json")] for arm in self.arms],
                "sessions": {s.session_id: content_hash(s) for s in self.inputs.sessions},
                "probes": probes_hash(self.inputs),
                "prompts": [
                    reader_prompt(self.experiment.models.reader_prompt, self.workspace).name,
                    judge_prompt(self.experiment.models.judge_prompt, self.workspace).name,
                ],
                "source": source_hash(),
            }
        )


def prepare(path: Path, *, workspace: Path, options: RunOptions) -> Prepared:
    """Read and check everything a run needs, before anything is started.

    Raises:
        InputError: the file, a setting, a session or a probe is wrong.
    """
    experiment = read_experiment(path)
    arms = resolve_arms(experiment)
    inputs = load_inputs(experiment, workspace)
    if options.sessions is not None or options.probes is not None:
        inputs = limit_inputs(inputs, sessions=options.sessions, probes=options.probes)
    return Prepared(path=path, workspace=workspace, experiment=experiment, arms=arms, inputs=inputs)


def probes_hash(inputs: Inputs) -> str:
    """Return the content hash of every probe that is asked, in session and file order."""
    return content_key([probe_record(p) for probes in inputs.probes.values() for p in probes])


@cache
def source_hash(folder: str = ".") -> str:
    """Return a hash of the package's own files, or one folder's: code, prompts, prices, words."""
    digest = hashlib.sha256()
    root = Path(ctxeng.__file__).parent / folder
    for file in sorted(root.rglob("*")):
        inside = file.relative_to(root)
        if file.suffix in SOURCES and inside.parts[0] != "_workspace":
            digest.update(str(inside).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]


def scratch_folder(prepared: Prepared, options: RunOptions) -> Path:
    """Return where finished units of an unfinished replay are kept; a dry run's stand apart."""
    name = f"{prepared.key}.dry" if options.dry_run else prepared.key
    return prepared.workspace / ".ctxeng" / "partial" / name
