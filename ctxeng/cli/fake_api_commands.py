"""``ctxeng fake-api``: a Messages API on this machine, to try the Claude path without a key."""

from __future__ import annotations

from typing import Annotated

import typer

from ctxeng.cli.app import app
from ctxeng.core.text import numbered

HANG_SECONDS = 3.0  # what times out for ten minutes at the API need not do so here


@app.command("fake-api")
def fake_api(
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes any free one.")] = 8090,
    fault_rate: Annotated[
        float, typer.Option(min=0, max=1, help="Share of requests that fail in some way.")
    ] = 0.0,
    seed: Annotated[int, typer.Option(help="Decides which requests fail.")] = 0,
    latency: Annotated[float, typer.Option(min=0, help="Seconds a message takes.")] = 0.0,
) -> None:
    """Serve a strict imitation of the Messages API; the offline model answers.

    Messages, streaming, token counts, batches, models, and a prompt cache with honest usage. It
    prints what to set so that the API's client finds it.
    """
    from ctxeng.fakeapi import FakeApi, FaultPlan, serve

    plan = FaultPlan(rate=fault_rate, seed=seed, hang_seconds=HANG_SECONDS)
    api = FakeApi(faults=plan, latency_seconds=latency)

    def say(address: str) -> None:
        typer.echo(f"A Messages API that is answered by the offline model, at {address}")
        typer.echo("Any key does. In another terminal:\n")
        typer.echo(f"  export ANTHROPIC_BASE_URL={address} ANTHROPIC_API_KEY=any-key")
        typer.echo("  ctxeng run experiments/claude.toml\n")
        typer.echo("Ctrl-C ends it.")

    serve(api, port=port, on_ready=say)
    counts = api.counts
    typer.echo(
        f"{numbered(counts.messages, 'message')}, {numbered(counts.batches, 'batch', 'batches')} "
        f"of {numbered(counts.items, 'item')}, {counts.refused} refused, "
        f"{api.faults.made.total()} faults"
    )
