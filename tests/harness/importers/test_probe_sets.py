"""Probe sets: sessions, questions with their evidence, categories, abstention, label errors."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ctxeng.core.errors import DatasetError
from ctxeng.harness.importers.questions import Errata
from ctxeng.harness.probes.io import check_against
from ctxeng.harness.probes.model import Probe, Span
from tests.harness.importers.conftest import Import, Imported, Write

SETS = {
    "locomo/locomo6.json": 6,
    "longmemeval/longmemeval_s_1.json": 1,
    "beam/1/chat.json": 1,
    "beam/2/chat.json": 1,
    "memdaily/01_simple_items.json": 50,
    "memdaily/01_simple_places.json": 50,
    "memorybank/cn/memory_bank_cn.json": 15,
    "memorybank/en/memory_bank_en.json": 15,
    "lost-in-compaction/d40_C1.json": 1,
    "lost-in-compaction/d40_C4.json": 1,
}


def by_id(found: Imported) -> dict[str, Probe]:
    """Return the probes by their ids."""
    return {probe.probe_id: probe for probe in found.probes}


def words(found: Imported, probe: Probe) -> str:
    """Return what the evidence of a probe says, without spaces."""
    messages = found.sessions[probe.session_id].messages
    return "".join(messages[seq].content for seq in probe.evidence_seqs).replace(" ", "")


@pytest.mark.parametrize("path", SETS)
def test_probes_fit_their_sessions(path: str, imported: Import, shared_data: Path) -> None:
    """Every probe points at seqs that exist, and only complete ones are asked."""
    found = imported("auto", shared_data / path)
    assert len(found.sessions) == SETS[path]
    check_against(found.probes, list(found.sessions.values()))
    assert found.report.probes == len(found.probes) > 0
    for probe in found.probes:
        if probe.status == "accepted" and probe.answerable:
            assert probe.evidence
            assert probe.expect
        if not probe.answerable:
            assert probe.kind == "absent"
            assert not probe.evidence
    assert all(p.note for p in found.probes if p.status == "excluded")


# LongMemEval


def instance(**changes: Any) -> dict[str, Any]:
    """Return an instance of the official data."""
    return {
        "question_id": "q7",
        "question_type": "temporal-reasoning",
        "question": "How long ago did I move?",
        "answer": 3,
        "question_date": "2023/05/30 (Tue) 23:40",
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/01 (Mon) 10:00"],
        "haystack_session_ids": ["late", "early"],
        "haystack_sessions": [
            [{"role": "user", "content": "I moved on Saturday.", "has_answer": True},
             {"role": "assistant", "content": "Congratulations!", "has_answer": False}],
            [{"role": "user", "content": "Looking for a flat."}],
        ],
        "answer_session_ids": ["late"],
        **changes,
    }  # fmt: skip


def test_an_official_instance_is_one_session_in_order_of_date(
    imported: Import, source: Write
) -> None:
    """Evidence is the marked message; a question of time is told what day it is."""
    found = imported("auto", source([instance()], name="l.json"))
    assert [m.content for m in found.messages] == [
        *("Looking for a flat.", "I moved on Saturday.", "Congratulations!")
    ]
    assert found.messages[0].timestamp == datetime(2023, 5, 1, 10, 0, tzinfo=UTC)
    (probe,) = found.probes
    assert probe.evidence == (Span(from_seq=1, to_seq=1),)
    assert probe.expect == (("3",),)
    assert probe.question == "Today is 2023/05/30 (Tue) 23:40. How long ago did I move?"
    assert probe.category == "temporal-reasoning"


def test_an_unanswerable_question_is_absent(imported: Import, source: Write) -> None:
    """``_abs`` marks it; its published answer says what is missing and is no value."""
    given = instance(question_id="q7_abs", question_type="single-session-user", answer="Not said.")
    (probe,) = imported("auto", source([given], name="l.json")).probes
    assert (probe.kind, probe.answerable, probe.expect, probe.evidence) == ("absent", False, (), ())
    assert (probe.status, probe.category) == ("accepted", "single-session-user")


def test_several_questions_of_one_haystack(imported: Import, shared_data: Path) -> None:
    """Only the first has marked messages; the others' evidence is the whole chat they came from."""
    found = imported("auto", shared_data / "longmemeval" / "longmemeval_s_1.json")
    assert len(found.probes) == 9
    first = by_id(found)["852ce960/q000"]
    assert (first.kind, first.expect) == ("update", (("$350,000",),))
    assert [span.to_seq - span.from_seq for span in first.evidence] == [0, 0]
    assert "350,000" in words(found, first)
    other = by_id(found)["852ce960/q005"]
    assert other.kind == "other"
    assert "Barsavi" in words(found, other)


# BEAM


def test_beam_keeps_every_kind(imported: Import, shared_data: Path) -> None:
    """Ten kinds, two of each: what a rubric alone can judge is kept and not asked."""
    found = imported("auto", shared_data / "beam" / "1" / "chat.json")
    kinds = Counter((p.category, p.status) for p in found.probes)
    rubric = {"instruction_following", "preference_following", "summarization"}
    assert len({category for category, _ in kinds}) == 10
    assert set(kinds.values()) == {2}
    assert {category for category, status in kinds if status == "excluded"} == rubric
    assert {p.category for p in found.probes if p.kind == "absent"} == {"abstention"}


def test_beam_evidence_names_messages_and_expects_what_the_rubric_states(
    imported: Import, shared_data: Path
) -> None:
    """The values are the points of the rubric; lists by name are joined."""
    found = imported("auto", shared_data / "beam" / "1" / "chat.json")
    probes = by_id(found)
    sprint = probes["beam-1/information_extraction/0"]
    assert sprint.expect == (("March 29",),)
    assert "March29" in words(found, sprint)
    api = probes["beam-1/knowledge_update/0"]
    assert (api.kind, api.expect) == ("update", (("250ms",),))
    assert api.evidence_seqs == (86, 114)
    assert "250ms" in words(found, api)


def test_beam_messages_are_their_words_alone(imported: Import, shared_data: Path) -> None:
    """The generator's place mark at the end of a message is cut; days come from the anchors."""
    found = imported("auto", shared_data / "beam" / "1" / "chat.json")
    assert not [m for m in found.messages if "->->" in m.content]
    assert found.messages[0].timestamp == datetime(2024, 3, 15, tzinfo=UTC)
    assert found.session.title == "Building a Personal Budget Tracker Web App in Python and Flask"


def test_a_beam_chat_without_questions_is_told(imported: Import, source: Write) -> None:
    """Sessions alone are worth having."""
    turns = [[{"role": "user", "id": 0, "content": "Hi ->-> 1,1", "index": "1,1"}]]
    found = imported("auto", source([{"batch_number": 1, "turns": turns}], name="chat.json"))
    assert [m.content for m in found.messages] == ["Hi"]
    assert "no probing_questions.json beside the chat" in found.findings[0][1]


# MemDaily and MemoryBank


def test_memdaily_answers_stand_in_their_evidence(imported: Import, shared_data: Path) -> None:
    """The choice that the letter names is a value too; time and place are kept."""
    found = imported("auto", shared_data / "memdaily" / "01_simple_items.json")
    probe = by_id(found)["01_simple_items-0/q0"]
    assert probe.expect == (("亚瑟士Gel-Kayano 26",),)
    assert probe.evidence == (Span(from_seq=0, to_seq=1),)
    assert "Gel-Kayano26" in words(found, probe)
    assert (probe.language, probe.category) == ("zh", "simple_items")
    first = found.sessions["01_simple_items-0"].messages[0]
    assert first.timestamp == datetime(2024, 4, 1, 8, 42, tzinfo=UTC)
    assert first.meta == {"place": "广东深圳"}


def test_a_memdaily_answer_by_letter_is_its_words(imported: Import, source: Write) -> None:
    """``answer`` may be null; the evidence may name messages that are not there."""
    record = {
        "tid": 3,
        "message_list": [{"mid": 0, "message": "我叫李雷", "time": "?", "place": ""}],
        "question_list": [
            {"qid": 0, "question": "我叫什么？", "answer": None, "target_step_id": [0, 9],
             "choices": {"A": "韩梅梅", "B": "李雷"}, "ground_truth": "B"}
        ],
    }  # fmt: skip
    (probe,) = imported("auto", source([record], name="m.json")).probes
    assert probe.expect == (("李雷",),)
    assert probe.evidence_seqs == (0,)


def test_memorybank_questions_are_kept_for_somebody_to_answer(
    imported: Import, shared_data: Path
) -> None:
    """Names differ by blanks between the two files; no answers are published."""
    found = imported("auto", shared_data / "memorybank" / "en")
    assert len(found.sessions) == 15
    assert {p.session_id for p in found.probes} == set(found.sessions)
    assert {(p.status, p.note) for p in found.probes} == {("excluded", "no answer is given")}
    jason = found.sessions["memory_bank_en-Jason"].messages
    assert {m.name for m in jason} == {"Jason", "assistant"}
    assert jason[0].timestamp == datetime(2023, 4, 27, tzinfo=UTC)


# lost in compaction


def test_located_facts_point_at_what_states_them(imported: Import, shared_data: Path) -> None:
    """The end is without: six messages of the fact's own chat, none of the next one."""
    found = imported("auto", shared_data / "lost-in-compaction" / "d40_C1.json")
    probe = by_id(found)["d40_C1/LM_0134"]
    assert probe.evidence == (Span(from_seq=60, to_seq=64),)
    assert (probe.kind, probe.category) == ("update", "knowledge-update")
    assert "220" in words(found, probe)


@pytest.mark.parametrize(("name", "lost"), [("d40_C1", 2), ("d40_C4", 39)])
def test_facts_that_the_recording_lost_are_not_asked(
    name: str, lost: int, imported: Import, shared_data: Path
) -> None:
    """Their number is the one that the recording gives; the summary is marked as one."""
    found = imported("auto", shared_data / "lost-in-compaction" / f"{name}.json")
    excluded = [p for p in found.probes if p.status == "excluded"]
    assert len(excluded) == lost
    assert {p.note for p in excluded} == {"its statement was compacted away in the recording"}
    assert found.messages[0].meta == {"compaction_summary": True}


def test_files_beside_a_context_are_no_sources_of_their_own(
    imported: Import, shared_data: Path
) -> None:
    """Facts, answers and judgements belong to their context; the other file is told."""
    found = imported("auto", shared_data / "lost-in-compaction")
    assert sorted(found.sessions) == ["d40_C1", "d40_C4"]
    assert [Path(f.file).name for f in found.report.findings if "not recognised" in f.what] == [
        "human_judge_positives.json"
    ]


# label errors


def test_a_probe_can_be_excluded_by_its_id_with_a_reason(imported: Import, source: Write) -> None:
    """The file lies beside the data, for every probe set the same."""
    source([{"probe": "q7/q000", "reason": "two moves are meant"}], name="label_errata.json")
    (probe,) = imported("auto", source([instance()], name="l.json")).probes
    assert (probe.status, probe.note) == ("excluded", "known label error: two moves are meant")


@pytest.mark.parametrize("entry", [{"probe": "x"}, {"reason": "x"}, {"sample_id": "x"}])
def test_errata_without_a_reason_are_refused(entry: Any, source: Write, tmp_path: Path) -> None:
    """An exclusion nobody can explain is worse than none."""
    source(json.dumps([entry]), name="label_errata.json")
    with pytest.raises(DatasetError, match=r"\{probe, reason\}.*label_errata\.json"):
        Errata.beside(tmp_path / "given" / "l.json")
