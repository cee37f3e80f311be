"""``ctxeng judge``: how far judges and the literal scorer agree with people."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import orjson
import typer

from ctxeng.cli.app import app
from ctxeng.core.text import printable

if TYPE_CHECKING:
    from ctxeng.harness.stats.calibration import Calibration

judge_app = typer.Typer(help="Measure judges against people.", no_args_is_help=True)
app.add_typer(judge_app, name="judge")
SEED = 20260101


@judge_app.callback()
def _group() -> None:
    """Measure judges against people."""


@judge_app.command()
def calibrate(
    labels: Annotated[
        Path,
        typer.Argument(help="JSON Lines: answer, expect, human (right, wrong, unclear)."),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON line a judge.")] = False,
) -> None:
    """Print precision, recall and kappa of the literal scorer and of every recorded judge.

    A line of LABELS has `answer`, `expect` (as for `score`) and `human`: right, wrong, or
    unclear, which is left out. Optional: `question`, `kind`, `forbid`, and `judges`, an object
    of right, wrong or undecided by name. Figures that the labels cannot carry are not defined.
    """
    import numpy as np

    from ctxeng.harness.scoring.labels import read_labels
    from ctxeng.harness.stats.calibration import calibrate as calibration_of

    labelled = [one for one in read_labels(labels) if one.human != "unclear"]
    judges = list(dict.fromkeys(name for one in labelled for name in one.said))
    for judge in judges:
        pairs = [(one.human == "right", one.said[judge]) for one in labelled if judge in one.said]
        # read_labels has refused every other word
        found = calibration_of(judge, pairs, np.random.default_rng(SEED))  # type: ignore[arg-type]
        line = orjson.dumps(asdict(found)).decode() if as_json else printable(_text(found))
        sys.stdout.write(line + "\n")


def _text(found: Calibration) -> str:
    decided = found.both_right + found.only_judge + found.only_human + found.both_wrong
    return (
        f"{found.judge}: {decided} decided, {found.undecided} undecided; both right "
        f"{found.both_right}, only judge {found.only_judge}, only human {found.only_human}, both "
        f"wrong {found.both_wrong}\n  precision {found.precision.text()}\n  recall "
        f"{found.recall.text()}\n  kappa {found.kappa.text()}"
    )
