"""LoCoMo conversations and their questions."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

from ctxeng.core.errors import DatasetError
from ctxeng.harness.importers.questions import Errata
from ctxeng.harness.probes.io import check_against, faults_of, probe_record
from ctxeng.harness.probes.model import Probe, Span
from tests.harness.importers.conftest import Import, Imported, Write


def turn(pointer: str, speaker: str = "Mira", text: Any = "hi", **more: Any) -> dict[str, Any]:
    """Return a turn."""
    return {"speaker": speaker, "dia_id": pointer, "text": text, **more}


TALK = {
    "speaker_a": "Mira",
    "speaker_b": "Jon",
    "session_2": [turn("D2:1", "Jon", "今日は")],
    "session_1_date_time": "1:56 pm on 8 May, 2023",
    "session_1": [turn("D1:1"), turn("D1:2", "Jon", "hello"), turn("D1:3")],
    "session_3_date_time": "9:00 am on 1 June, 2023",
}


def item(*questions: Any, **about: Any) -> dict[str, Any]:
    """Return an item."""
    return {"sample_id": "conv-1", "conversation": TALK, "qa": list(questions), **about}


def question(**changes: Any) -> dict[str, Any]:
    """Return a question."""
    base = {"question": "Who?", "answer": "Mira", "evidence": ["D1:1"], "category": 4}
    return {**base, **changes}


def asked(imported: Import, source: Write, *questions: Any) -> Imported:
    """Import one item with the questions."""
    return imported("locomo", source([item(*questions)], name="l.json"))


def only(found: Imported) -> Probe:
    """Return the one probe."""
    (probe,) = found.probes
    return probe


def test_all_stretches_are_one_session_in_order(imported: Import, source: Write) -> None:
    """Stretches follow their numbers, not the file; a date without turns adds nothing."""
    found = asked(imported, source)
    assert [m.message_id for m in found.messages] == ["D1:1", "D1:2", "D1:3", "D2:1"]
    assert [m.role for m in found.messages] == ["user", "assistant", "user", "assistant"]
    assert [m.meta["stretch"] for m in found.messages] == [1, 1, 1, 2]
    assert found.messages[0].timestamp == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert found.messages[3].timestamp is None
    assert found.session.speakers == ("Mira", "Jon")
    assert (found.session.origin, found.session.meta["licence"]) == ("LoCoMo", "CC BY-NC 4.0")


@pytest.mark.parametrize("key", ["session_10", "session_010", "session_１０"])
def test_stretches_are_sorted_by_number_however_it_is_written(
    key: str, imported: Import, source: Write
) -> None:
    """Ten comes after two, with a zero before it or in full-width digits too."""
    talk = {**TALK, key: [turn("D10:1", text="last")]}
    found = imported("locomo", source([item(conversation=talk)], name="l.json"))
    assert found.messages[-1].content == "last"


def test_an_image_is_its_caption(imported: Import, source: Write) -> None:
    """A picture without one is told as such."""
    talk = {
        **TALK,
        "session_4": [
            turn("D4:1", img_url=["u"], blip_caption="a cake"),
            turn("D4:2", img_url=["u"]),
        ],
    }
    found = imported("locomo", source([item(conversation=talk)], name="l.json"))
    assert [m.blocks for m in found.messages[-2:]] == [
        ({"type": "image", "title": "a cake"},),
        ({"type": "image", "title": "no caption"},),
    ]


@pytest.mark.parametrize(
    ("evidence", "spans"),
    [
        (["D1:1"], [(0, 0)]),
        (["D1:1", "D1:2", "D2:1"], [(0, 1), (3, 3)]),
        (["D1:3", "D2:1"], [(2, 3)]),
        (["D1:1; D1:3"], [(0, 0), (2, 2)]),
        (["D:1:1", "D01:02"], [(0, 1)]),
        (["D1:1", "D1:1"], [(0, 0)]),
        (["D1:1", "D9:9"], [(0, 0)]),
        ("D1:1", []),
        ([], []),
        (["nonsense", None, 5], []),
    ],
)
def test_evidence_points_at_messages_however_it_is_punctuated(
    evidence: Any, spans: list[tuple[int, int]], imported: Import, source: Write
) -> None:
    """Neighbours are one span; a question without evidence is kept, excluded."""
    probe = only(asked(imported, source, question(evidence=evidence)))
    assert probe.evidence == tuple(Span(from_seq=a, to_seq=b) for a, b in spans)
    assert probe.status == ("accepted" if spans else "excluded")


@pytest.mark.parametrize(
    ("changes", "expect", "status", "note"),
    [
        ({}, (("Mira",),), "accepted", ""),
        ({"answer": 2022}, (("2022",),), "accepted", ""),
        ({"answer": None}, (), "excluded", "no answer is given"),
        ({"answer": ""}, (), "excluded", "no answer is given"),
        ({"evidence": []}, (("Mira",),), "excluded", "no evidence is given"),
        ({"category": None}, (("Mira",),), "accepted", ""),
    ],
)
def test_a_question_becomes_a_probe_or_says_what_is_missing(
    changes: dict[str, Any],
    expect: tuple[Any, ...],
    status: str,
    note: str,
    imported: Import,
    source: Write,
) -> None:
    """The category is kept raw, and the note says why a probe is not asked."""
    probe = only(asked(imported, source, question(**changes)))
    assert (probe.expect, probe.status, probe.note) == (expect, status, note)
    assert probe.category == (None if "category" in changes else "4")
    assert (probe.probe_id, probe.session_id, probe.kind) == ("conv-1/q000", "conv-1", "other")


def test_an_adversarial_question_must_be_declined(imported: Import, source: Write) -> None:
    """Category 5: nothing is expected, the published wrong answer is forbidden."""
    probe = only(asked(imported, source, question(category=5, adversarial_answer="Jon")))
    assert (probe.kind, probe.answerable, probe.evidence) == ("absent", False, ())
    assert (probe.expect, probe.forbid, probe.status) == ((), ("Jon",), "accepted")


def test_what_is_no_turn_no_question_or_no_item_is_told(imported: Import, source: Write) -> None:
    """Everything else of the file is imported, and the account holds all."""
    talk = {**TALK, "session_4": [None, turn("D4:1", text=None), turn("D4:2")], "session_5": 5}
    given = [item(question(), None, {"answer": "x"}, conversation=talk), 5, {"sample_id": "x"}]
    found = imported("locomo", source(given, name="l.json"))
    assert dict(found.report.skipped) == {
        "not a turn": 2,
        "not a question": 2,
        "not a LoCoMo item": 2,
    }
    assert len(found.messages) == 5
    assert len(found.findings) == 6


def test_a_lost_pointer_is_told_and_the_probe_kept(imported: Import, source: Write) -> None:
    """The other evidence still holds."""
    found = asked(imported, source, question(evidence=["D1:1", "D7:7"]))
    assert found.findings == [(0, "conv-1/q000: evidence D7:7 is not in the conversation")]
    assert only(found).status == "accepted"


def erratum(**changes: Any) -> dict[str, Any]:
    """Return an entry of the list of label errors, about the plain question."""
    base = {"sample_id": "conv-1", "original": question(), "corrected": question(answer="Jon")}
    return {**base, **changes}


@pytest.mark.parametrize(
    ("entry", "note"),
    [
        (erratum(), "known label error: answer corrected"),
        (erratum(corrected=None), "known label error: withdrawn"),
        (erratum(corrected=question()), "known label error: label corrected"),
        (erratum(corrected=question(answer="x", evidence=[])), "known label error: answer, evidence corrected"),
        (erratum(sample_id="conv-2"), ""),
        (erratum(original=question(answer="another")), ""),
    ],
)  # fmt: skip
def test_a_known_label_error_excludes_the_question(
    entry: dict[str, Any], note: str, imported: Import, source: Write
) -> None:
    """Only the question with exactly the wrong label: corrected files are not touched."""
    source([entry], name="label_errata.json")
    probe = only(asked(imported, source, question()))
    assert probe.note == note
    assert probe.status == ("excluded" if note else "accepted")


@pytest.mark.parametrize("entry", [{}, {"sample_id": "x"}, {"sample_id": "x", "original": 5}, 5])
def test_a_damaged_list_of_errors_is_told(entry: Any, source: Write) -> None:
    """It would silently let wrong labels through."""
    path = source([entry], name="label_errata.json")
    with pytest.raises(DatasetError, match=r"label errata must be a list of .*label_errata\.json"):
        Errata.beside(path)


def test_without_a_list_of_errors_there_are_none(tmp_path: Path) -> None:
    """The file is optional."""
    assert Errata.beside(tmp_path / "l.json") == Errata()


@pytest.mark.parametrize("name", ["locomo6.json", "locomo2_original_labels.json"])
def test_real_items_are_imported_whole(name: str, imported: Import, shared_data: Path) -> None:
    """Turns and questions counted in the file by themselves; probes point into their sessions."""
    path = shared_data / "locomo" / name
    raw = orjson.loads(path.read_bytes())
    turns = {
        one["sample_id"]: sum(len(v) for v in one["conversation"].values() if isinstance(v, list))
        for one in raw
    }
    found = imported("auto", path)
    assert {key: len(s.messages) for key, s in found.sessions.items()} == turns
    assert len(found.probes) == sum(len(one["qa"]) for one in raw)
    assert found.report.read == sum(turns.values()) + len(found.probes)
    check_against(found.probes, list(found.sessions.values()))
    assert [probe for probe in found.probes if faults_of(probe_record(probe))] == []
    assert all(
        probe.evidence for probe in found.probes if probe.status == "accepted" and probe.answerable
    )
    absent = sum(q["category"] == 5 for one in raw for q in one["qa"])
    assert sum(probe.kind == "absent" for probe in found.probes) == absent


def test_the_known_errors_are_found_in_the_original_labels_only(
    imported: Import, shared_data: Path
) -> None:
    """The list names each wrong label as published; the corrected file holds none of them."""
    original = imported("auto", shared_data / "locomo" / "locomo2_original_labels.json")
    corrected = imported("auto", shared_data / "locomo" / "locomo6.json")
    errata = orjson.loads((shared_data / "locomo" / "label_errata.json").read_bytes())
    ours = [e for e in errata if e["sample_id"] in original.sessions]
    noted = [p for p in original.probes if "known label error" in p.note]
    assert len(noted) == len(ours) > 0
    assert not [p for p in corrected.probes if "known label error" in p.note]
