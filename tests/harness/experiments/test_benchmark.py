"""A benchmark's experiment, its BM25 baseline and its tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxeng.core.errors import DatasetError
from ctxeng.core.messages import Message, Session
from ctxeng.harness.experiments.arms import resolve_arms
from ctxeng.harness.experiments.benchmark import BENCHMARKS, Scale, lay_out_benchmark
from ctxeng.harness.experiments.bm25 import bm25_rows
from ctxeng.harness.experiments.inputs import Inputs, load_inputs
from ctxeng.harness.experiments.toml import read_experiment
from ctxeng.harness.probes.model import Probe, Span

MODELS = {"reader": "offline", "summariser": "offline", "judge": "offline"}


def turn(number: int, text: str) -> dict[str, Any]:
    return {"speaker": "Ana" if number % 2 else "Ben", "dia_id": f"D1:{number}", "text": text}


def locomo(path: Path) -> Path:
    words = "the weather is fine and we talk about nothing much at all today " * 8
    texts = ["My cat is called Pixel.", *[words] * 30, "I moved to Lisbon."]
    sample = {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Ana",
            "speaker_b": "Ben",
            "session_1_date_time": "1:00 pm on 8 May, 2023",
            "session_1": [turn(n, text) for n, text in enumerate(texts, start=1)],
        },
        "qa": [
            {
                "question": "Name of the cat?",
                "answer": "Pixel",
                "evidence": ["D1:1"],
                "category": 4,
            },
            {"question": "Which city?", "answer": "Lisbon", "evidence": ["D1:32"], "category": 1},
            {"question": "Which dog?", "answer": "Rex", "evidence": [], "category": 4},
        ],
    }
    path.write_text(json.dumps([sample]), "utf-8")
    return path


def test_every_built_in_strategy_is_an_arm_within_a_quarter(tmp_path: Path) -> None:
    """Controls stand beside; the generated file passes the schema of experiments."""
    found = lay_out_benchmark("locomo", locomo(tmp_path / "l.json"), tmp_path / "b", models=MODELS)
    arms = resolve_arms(read_experiment(found.experiment))
    assert [a.name for a in arms if not a.control] == [
        "three_tier", "full_history", "recent_window", "rolling", "hierarchical", "episodes",
        "retrieval", "hybrid",
    ]  # fmt: skip
    assert [a.name for a in arms if a.control] == ["full", "none"]
    assert {a.settings.budget.total_tokens for a in arms if not a.control} == {found.budget_tokens}
    assert 300 <= found.budget_tokens <= 1200
    assert sum(found.excluded.values()) == 1


@pytest.mark.parametrize(
    ("scale", "budget", "recent", "part", "note", "memory"),
    [
        (Scale(messages=598.5, tokens=21_202, question_tokens=170), 5300, 4, 6, 80, 3),
        (Scale(messages=396, tokens=123_435, question_tokens=170), 16_000, 4, 6, 80, 3),
        (Scale(messages=40, tokens=4000, question_tokens=170), 1000, 4, 5, 80, 2),
        (Scale(messages=4, tokens=186.5, question_tokens=165), 340, 1, 2, 37, 1),
        (Scale(messages=1, tokens=3, question_tokens=150), 200, 1, 2, 20, 1),
    ],
)
def test_arms_are_scaled_to_the_median_session(
    scale: Scale, budget: int, recent: int, part: int, note: int, memory: int
) -> None:
    """By hand: a quarter, or the question with two messages and a note; parts to match."""
    assert scale.budget_tokens == budget
    assert scale.least_recent == recent
    assert (scale.part_messages, scale.part_tokens, scale.every_episodes) == (part, note, memory)


def test_a_session_of_four_messages_is_compacted_by_every_arm_that_compacts(
    tmp_path: Path,
) -> None:
    """A part of it is old, and a note on that part is shorter than the part."""
    messages = [
        {"mid": n, "message": f"Note {n}: " + "the weather was fine all day and we talked " * 3,
         "time": "2026-01-01 10:00", "place": "Graz"} for n in range(4)
    ]  # fmt: skip
    question = {"qid": 0, "question": "What was fine?", "answer": "the weather",
                "target_step_id": [0], "choices": {"A": "the weather"}, "ground_truth": "A",
                "time": "2026-01-02 10:00"}  # fmt: skip
    trajectory = {"tid": 0, "message_list": messages, "question_list": [question]}
    path = tmp_path / "simple.json"
    path.write_text(json.dumps([trajectory]), "utf-8")
    found = lay_out_benchmark("memdaily", path, tmp_path / "b", models=MODELS)
    part = found.scale.part_messages * found.scale.tokens / found.scale.messages
    arms = {arm.name: arm.settings for arm in resolve_arms(read_experiment(found.experiment))}
    for name in ("three_tier", "episodes", "hybrid"):
        assert arms[name].window.min_messages + arms[name].episodes.size <= 4, name
        assert arms[name].episodes.target_tokens < part / 2, name
    for name in ("hierarchical", "hybrid"):
        assert arms[name].window.min_messages + arms[name].hierarchy.chunk_messages <= 4, name
        assert arms[name].hierarchy.chunk_tokens < part / 2, name
    for name in ("rolling", "hybrid"):
        assert arms[name].rolling.threshold_tokens < found.scale.tokens / 4, name


def test_exclusion_files_are_heeded(tmp_path: Path) -> None:
    """A label error named with its reason is not asked."""
    source = locomo(tmp_path / "l.json")
    plain = lay_out_benchmark("locomo", source, tmp_path / "b", models=MODELS)
    inputs = load_inputs(read_experiment(plain.experiment), tmp_path)
    first = next(iter(inputs.probes.values()))[0].probe_id
    errors = [{"id": name, "reason": "wrong"} for name in (first, "conv-99/q000")]
    (tmp_path / "errors.jsonl").write_text("\n".join(map(json.dumps, errors)), "utf-8")
    named = lay_out_benchmark(
        "locomo", source, tmp_path / "b", models=MODELS, exclude=[tmp_path / "errors.jsonl"]
    )
    kept = load_inputs(read_experiment(named.experiment), tmp_path)
    assert (inputs.probe_count, kept.probe_count) == (2, 1)
    assert named.excluded == {**plain.excluded, "wrong": 1}
    assert (plain.excluded_elsewhere, named.excluded_elsewhere) == (0, 1)


def test_another_name_is_refused(tmp_path: Path) -> None:
    """The error lists the benchmarks there are."""
    with pytest.raises(DatasetError, match=", ".join(BENCHMARKS)):
        lay_out_benchmark("mmlu", tmp_path, tmp_path / "b", models=MODELS)


def test_bm25_keeps_the_best_messages_that_fit_and_none_after_asking() -> None:
    """By hand: the one message with the word of the question, while it is in the past."""
    texts = ["We picked teal for the roof.", "Lunch was late.", "The roof is teal, again."]
    session = Session(
        session_id="s",
        messages=tuple(Message(seq=n, role="user", content=t) for n, t in enumerate(texts)),
    )
    asked = Probe(
        probe_id="p", session_id="s", question="Which colour has the roof?", kind="preference",
        evidence=(Span(from_seq=0, to_seq=0),), expect=(("teal",),), ask_at_seq=1,
    )  # fmt: skip
    absent = Probe(probe_id="a", session_id="s", question="Who?", kind="absent", answerable=False)
    inputs = Inputs(sessions=(session,), probes={"s": (asked, absent)})
    first, second = bm25_rows(inputs, budget_tokens=12)
    assert (first.value, first.evidence_share) == (True, 1.0)
    assert 0 < first.tokens <= 12
    assert (second.value, second.evidence_share) == (None, None)
    nothing = next(iter(bm25_rows(inputs, budget_tokens=0)))
    assert (nothing.value, nothing.evidence_share, nothing.tokens) == (False, 0.0, 0)
