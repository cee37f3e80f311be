"""``ctxeng synth``: seeded sessions with planted facts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ctxeng.cli.app import app
from ctxeng.core.text import numbered


@app.command()
def synth(
    out: Annotated[Path, typer.Option(help="Dataset folder to write.")],
    sessions: Annotated[int, typer.Option(min=1, help="How many sessions.")] = 1,
    messages: Annotated[int, typer.Option(min=2, help="Messages of each; even.")] = 200,
    facts: Annotated[int, typer.Option(min=1, help="Facts planted in each.")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same bytes.")] = 1,
    at: Annotated[
        list[float] | None,
        typer.Option(help="Where facts are stated, 0..1; repeatable. The others lie evenly."),
    ] = None,
) -> None:
    """Write synthetic sessions and probes: stated facts, adjacency pairs, updates, distractors."""
    from ctxeng.harness.synth.sessions import SynthPlan, write_synthetic

    plan = SynthPlan(
        sessions=sessions, messages=messages, facts=facts, seed=seed, at=tuple(at or ())
    )
    probes = write_synthetic(plan, out)
    made = numbered(sessions * messages, "message")
    typer.echo(
        f"{numbered(sessions, 'synthetic session')}, {made}, {numbered(probes, 'probe')} in {out}"
    )
