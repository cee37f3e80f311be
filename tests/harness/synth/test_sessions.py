"""Synthetic sessions: what is planted, that it lints clean, and that it is never mixed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from ctxeng.core.errors import DatasetError
from ctxeng.core.messages import Message, Session
from ctxeng.harness.experiments.inputs import load_inputs
from ctxeng.harness.experiments.schema import ArmTable, ExperimentFile
from ctxeng.harness.probes.io import read_probes, write_probes
from ctxeng.harness.probes.model import Probe, Span
from ctxeng.harness.scoring.lint import lint
from ctxeng.harness.sessions.io import load_dataset, write_session
from ctxeng.harness.synth.sessions import SynthPlan, write_synthetic


def made(out: Path, *, seed: int = 7, at: tuple[float, ...] = (), sessions: int = 3) -> Path:
    write_synthetic(SynthPlan(sessions=sessions, messages=300, facts=45, seed=seed, at=at), out)
    return out


def snapshot(folder: Path) -> dict[str, bytes]:
    return {f.name: f.read_bytes() for f in folder.rglob("*") if f.is_file()}


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_probes_lint_clean(tmp_path: Path, seed: int) -> None:
    """Every value stands in its evidence and nowhere else, distractors and updates included."""
    out = made(tmp_path / "s", seed=seed)
    probes, sessions = read_probes(out / "probes.jsonl"), load_dataset([out])
    assert lint(probes, sessions) == []
    assert len(probes) == 135
    assert [len(session.messages) for session in sessions] == [300] * 3


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    """And another seed others."""
    one, same = snapshot(made(tmp_path / "a" / "s")), snapshot(made(tmp_path / "b" / "s"))
    assert one == same
    assert one["probes.jsonl"] != snapshot(made(tmp_path / "c" / "s", seed=8))["probes.jsonl"]


def test_a_second_plan_leaves_no_session_of_the_first(tmp_path: Path) -> None:
    """Else sessions without probes would stand beside the ones the account tells of."""
    made(tmp_path / "s")
    made(tmp_path / "s", sessions=1)
    assert snapshot(tmp_path / "s") == snapshot(made(tmp_path / "t" / "s", sessions=1))


def test_every_shape_is_planted_and_an_update_forbids_the_old_value(tmp_path: Path) -> None:
    """The old value was said earlier; a pair's evidence is question, answer, acknowledgement."""
    out = made(tmp_path / "s")
    sessions = {s.session_id: s for s in load_dataset([out])}
    probes = read_probes(out / "probes.jsonl")
    shapes = Counter(probe.category for probe in probes)
    assert min(shapes["stated"], shapes["pair"], shapes["updated"]) >= 20
    for probe in probes:
        (span,) = probe.evidence
        assert len(span.seqs) == (3 if probe.category == "pair" else 2)
        texts = [m.content for m in sessions[probe.session_id].messages]
        if probe.category == "updated":
            assert any(probe.forbid[0] in text for text in texts[: span.from_seq])


def test_facts_stand_where_they_were_asked_for(tmp_path: Path) -> None:
    """A share of 0, a half and 1 of 150 exchanges is exchange 0, 75 and 149."""
    out = made(tmp_path / "s", at=(0.0, 0.5, 1.0))
    first = read_probes(out / "probes.jsonl")[:3]
    assert [probe.evidence[0].to_seq // 2 for probe in first] == [0, 75, 149]


def test_card_and_sessions_say_synthetic(tmp_path: Path) -> None:
    """Nobody takes them for recorded ones."""
    out = made(tmp_path / "s")
    assert "**synthetic**" in (out / "card.md").read_text("utf-8")
    assert all(session.meta["synthetic"] is True for session in load_dataset([out]))


@pytest.mark.parametrize(
    ("messages", "facts", "at", "told"),
    [
        (7, 1, (), "even"),
        (60, 11, (), "facts must be 1 to 10"),
        (60, 2, (1.5,), "shares"),
        (60, 1, (0.1, 0.2), "shares"),
    ],
)
def test_a_plan_without_room_is_refused(
    messages: int, facts: int, at: tuple[float, ...], told: str
) -> None:
    """One line that says what would fit."""
    with pytest.raises(DatasetError, match=told):
        SynthPlan(sessions=1, messages=messages, facts=facts, seed=1, at=at)


def test_a_run_over_synthetic_and_written_sessions_is_refused(tmp_path: Path) -> None:
    """They must not stand in one number; either alone is fine."""
    made(tmp_path / "s")
    written = Session(
        session_id="written", messages=(Message(seq=0, role="user", content="Teal it is."),)
    )
    write_session(written, tmp_path / "w" / "sessions" / "written.jsonl")
    asked = Probe(
        probe_id="w", session_id="written", question="Which colour?", kind="preference",
        evidence=(Span(from_seq=0, to_seq=0),), expect=(("teal",),),
    )  # fmt: skip
    write_probes([asked], tmp_path / "w" / "probes.jsonl")

    def experiment(*names: str) -> ExperimentFile:
        return ExperimentFile(
            name="x",
            sessions=list(names),
            probes=[f"{name}/probes.jsonl" for name in names],
            reference_arm="a",
            arms={"a": ArmTable(strategy="rolling")},
        )

    assert load_inputs(experiment("s"), tmp_path).probe_count == 135
    assert load_inputs(experiment("w"), tmp_path).probe_count == 1
    with pytest.raises(DatasetError, match="all synthetic or all written") as error:
        load_inputs(experiment("s", "w"), tmp_path)
    assert len(str(error.value).splitlines()) == 1
