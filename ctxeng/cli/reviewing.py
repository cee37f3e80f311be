"""The terminal review of draft probes: one key each, written to the file after every decision."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import typer

from ctxeng.core.errors import InputError
from ctxeng.core.messages import Session
from ctxeng.core.text import printable
from ctxeng.harness.probes.freezing import accepted
from ctxeng.harness.probes.io import (
    check_against,
    faults_of,
    probe_from,
    probe_record,
    read_probes,
    write_probes,
)
from ctxeng.harness.probes.model import Probe
from ctxeng.harness.scoring.lint import lint
from ctxeng.harness.scoring.marks import marked

SURROUNDING = 2  # messages shown before and after the evidence
LONGEST = 400
KEYS = "a accept, e edit, r reject, s skip, q quit"


def check_terminal() -> None:
    """Check that keys can be read: of the standard input, else of the terminal behind it.

    Raises:
        InputError: there is no terminal.
    """
    if sys.stdin.isatty():
        return
    try:
        with open("/dev/tty", "rb"):
            return
    except OSError:
        raise InputError(
            "a review must have a terminal to read keys from, got none. Run it in one, or set "
            'the status of each draft to "accepted" or "excluded" in the file.'
        ) from None


def review_file(file: Path, sessions: Sequence[Session]) -> Counter[str]:
    """Review the drafts of a file and return how many probes it holds by status.

    Rejected probes stay as ``excluded``, so that a later draft does not bring them back.

    Raises:
        DatasetError: the file is damaged, or a probe names an absent session or seq.
    """
    probes = read_probes(file)
    check_against(probes, sessions)
    known = {session.session_id: session for session in sessions}
    for at, probe in enumerate(probes):
        if probe.status != "draft":
            continue
        decided = _decide(probe, probes, known[probe.session_id], f"{at + 1}/{len(probes)}")
        if decided is None:
            break
        if decided != probe:
            probes[at] = decided
            write_probes(probes, file)
    return Counter(probe.status for probe in probes)


def _decide(probe: Probe, probes: Sequence[Probe], session: Session, place: str) -> Probe | None:
    """Return the probe as decided, unchanged where it was skipped; None: the reviewer left."""
    while True:
        others = [p for p in probes if p.probe_id != probe.probe_id and p.status != "excluded"]
        faults = [f for f in lint([*others, probe], [session]) if f.probe_id == probe.probe_id]
        _show(probe, session, place, [fault.line() for fault in faults])
        match typer.getchar().lower():
            case "a" if not faults:
                return accepted(probe)
            case "a":
                typer.echo("lint must find nothing before a probe is accepted; edit it (e)")
            case "r":
                return replace(probe, status="excluded", note="rejected in review")
            case "s":
                return probe
            case "e":
                probe = _edited(probe, session)
            case "q" | "\x03" | "\x04":
                return None
            case _:
                typer.echo(KEYS)


def _show(probe: Probe, session: Session, place: str, faults: Sequence[str]) -> None:
    typer.echo(f"\n--- {place} {printable(probe.probe_id)} ({probe.kind})")
    inside = set(probe.evidence_seqs)
    near = {seq + step for seq in inside for step in range(-SURROUNDING, SURROUNDING + 1)}
    for message in session.messages:
        if message.seq in near:
            mark = ">" if message.seq in inside else " "
            text = (
                _excerpt(message.text, probe) if message.seq in inside else message.text[:LONGEST]
            )
            line = printable(f"{message.name}: {text}".replace("\n", " "))
            typer.echo(f"{mark} {message.seq:4} {line}")
    typer.echo(f"question: {printable(probe.question)}")
    typer.echo(f"expect:   {printable(_groups(probe))}")
    typer.echo(f"forbid:   {printable(' | '.join(probe.forbid) or '-')}")
    for fault in faults:
        typer.echo(f"lint:     {printable(fault)}")
    typer.echo(KEYS)


def _excerpt(text: str, probe: Probe) -> str:
    """Return a text around the first expected value, values between ⟦ ⟧."""
    pieces = marked(text, probe.expect).excerpt(LONGEST).pieces()
    return "".join(f"⟦{piece}⟧" if is_value else piece for piece, is_value in pieces)


def _groups(probe: Probe) -> str:
    return " ; ".join(" | ".join(group) for group in probe.expect)


def _edited(probe: Probe, session: Session) -> Probe:
    """Return the probe with what was typed; an empty line keeps what stands, a fault is told."""
    spans = " ".join(f"{span.from_seq}-{span.to_seq}" for span in probe.evidence)
    question = typer.prompt("question", default=probe.question)
    expect = typer.prompt("expect (a | b ; c: any of, all of)", default=_groups(probe))
    forbid = typer.prompt("forbid (a | b, - for none)", default=" | ".join(probe.forbid) or "-")
    evidence = typer.prompt("evidence (12-13 20-20)", default=spans)
    record = probe_record(probe) | {
        "question": question,
        "expect": [_values(group) for group in expect.split(";") if _values(group)],
        "forbid": [] if forbid.strip() == "-" else _values(forbid),
        "evidence": _spans(evidence),
    }
    last = len(session.messages) - 1
    faults = faults_of(record) or [
        f"evidence must lie in 0..{last}, got {span}." for span in record["evidence"]
        if span[1] > last
    ]  # fmt: skip
    for fault in faults:
        typer.echo(printable(fault))
    return probe if faults else probe_from(record)


def _values(text: str) -> list[str]:
    return [value.strip() for value in text.split("|") if value.strip()]


def _spans(text: str) -> list[list[int]]:
    """Return the spans written; what is no span becomes an impossible one, told as a fault."""
    spans = []
    for part in text.split():
        first, _, last = part.partition("-")
        good = first.isdecimal() and (last or first).isdecimal()
        spans.append([int(first), int(last or first)] if good else [1, 0])
    return spans
