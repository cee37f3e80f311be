"""Probe files: one probe a line, every fault told at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ctxeng.core.errors import DatasetError
from ctxeng.core.messages import Message, Session
from ctxeng.harness.probes.freezing import ruler_hash
from ctxeng.harness.probes.io import (
    KINDS,
    STATUSES,
    check_against,
    faults_of,
    probe_from,
    probe_record,
    read_probes,
    write_probes,
)
from ctxeng.harness.probes.model import Probe, Span

UNFROZEN = Probe(
    probe_id="p1",
    session_id="s",
    question="予算はいくら？ \u2028 <question>",
    kind="number",
    evidence=(Span(from_seq=3, to_seq=4), Span(from_seq=9, to_seq=9)),
    expect=(("3,000円", "¥3000"), ("예산",)),
    forbid=("5,000",),
    ask_at_seq=12,
    language="ja",
    author="hand",
    status="draft",
    category="1",
    note="noted",
)
PROBE = replace(UNFROZEN, frozen=ruler_hash(UNFROZEN))
RECORD = {"id": "p1", "session_id": "s", "question": "Which?", "kind": "number", "expect": [["3"]]}
words = st.text(min_size=1, max_size=8).filter(
    lambda text: bool(text.strip()) and not set(text) & set("\x00\r\ufeff")
)
spans = st.tuples(st.integers(0, 20), st.integers(0, 3)).map(
    lambda pair: Span(from_seq=pair[0], to_seq=pair[0] + pair[1])
)


@st.composite
def probes(draw: st.DrawFn) -> Probe:
    """Draw a probe that keeps the rules."""
    kind = draw(st.sampled_from(KINDS))
    answerable = kind != "absent"
    group = st.lists(words, min_size=1, max_size=2).map(tuple)
    evidence = tuple(draw(st.lists(spans, max_size=3)))
    last = max((span.to_seq for span in evidence), default=0)
    drawn = Probe(
        probe_id=draw(words),
        session_id=draw(words),
        question=draw(words),
        kind=kind,  # type: ignore[arg-type]
        evidence=evidence,
        expect=tuple(draw(st.lists(group, min_size=answerable, max_size=3))),
        forbid=tuple(draw(st.lists(words, max_size=2))),
        answerable=answerable,
        ask_at_seq=draw(st.one_of(st.none(), st.integers(last, last + 50))),
        language=draw(st.sampled_from(("en", "ja", "ko", "und"))),
        author=draw(st.one_of(st.just(""), words)),
        status=draw(st.sampled_from(STATUSES)),  # type: ignore[arg-type]
        category=draw(st.one_of(st.none(), words)),
        note=draw(st.one_of(st.just(""), words)),
    )
    return replace(drawn, frozen=draw(st.sampled_from((None, ruler_hash(drawn)))))


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes lines to a probe file; bytes as they are, others as JSON."""

    def write(*lines: Any) -> Path:
        path = tmp_path / "probes.jsonl"
        body = [line if isinstance(line, bytes) else orjson.dumps(line) for line in lines]
        path.write_bytes(b"\n".join(body))
        return path

    return write


def session(session_id: str, size: int) -> Session:
    """Return a session of so many messages."""
    return Session(
        session_id=session_id,
        messages=tuple(Message(seq=seq, role="user", content="x") for seq in range(size)),
    )


def test_a_probe_is_equal_after_the_way_through_a_file(tmp_path: Path) -> None:
    """Every field comes back."""
    assert read_probes(write_probes([PROBE], tmp_path / "p.jsonl")) == [PROBE]


@given(st.lists(probes(), max_size=5, unique_by=lambda probe: probe.probe_id))
@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_probes_are_equal_after_the_way_through_a_file(
    tmp_path: Path, kept: list[Probe]
) -> None:
    """Whatever keeps the rules is read back in its order, and its record has no fault."""
    assert read_probes(write_probes(kept, tmp_path / "p.jsonl")) == kept
    assert [faults_of(probe_record(probe)) for probe in kept] == [[]] * len(kept)
    assert [probe_from(probe_record(probe)) for probe in kept] == kept


def test_a_bare_probe_leaves_optional_fields_out() -> None:
    """What is None or empty by default is not written."""
    bare = Probe(
        probe_id="p", session_id="s", question="q", kind="absent", answerable=False, evidence=()
    )
    assert probe_record(bare).keys() == {
        *("id", "session_id", "question", "kind", "evidence", "expect", "forbid", "answerable"),
        *("language", "author", "status"),
    }


@pytest.mark.parametrize(
    ("changes", "faults"),
    [
        ({}, []),
        ({"ask_at_seq": None, "frozen": None, "category": None}, []),
        ({"category": 4}, []),
        ({"evidence": [[0, 0], [2, 5]]}, []),
        ({"kind": "absent", "answerable": False, "expect": []}, []),
        ({"status": "excluded", "expect": []}, []),
        ({"id": ""}, ["id must be text that is not empty, got ''"]),
        ({"id": None}, ["id must be text that is not empty, got None"]),
        ({"question": "  "}, ["question must be text that is not empty"]),
        ({"session_id": 5}, ["session_id must be text that is not empty, got 5"]),
        ({"kind": "colour"}, ["kind must be one of preference, rejection"]),
        ({"kind": ["number"]}, ["kind must be one of"]),
        ({"evidence": [[2, 1]]}, ["evidence must be a list of [from_seq, to_seq] pairs"]),
        ({"evidence": [[1]]}, ["evidence must be"]),
        ({"evidence": [[-1, 1]]}, ["evidence must be"]),
        ({"evidence": [[True, 1]]}, ["evidence must be"]),
        ({"evidence": [["0", 1]]}, ["evidence must be"]),
        ({"evidence": [3]}, ["evidence must be"]),
        ({"evidence": None}, ["evidence must be"]),
        ({"expect": ["3"]}, ["expect must be a list of lists of text"]),
        ({"expect": [[]]}, ["expect must be"]),
        ({"expect": [[""]]}, ["expect must be"]),
        ({"expect": [[3]]}, ["expect must be"]),
        ({"expect": "3"}, ["expect must be"]),
        ({"expect": []}, ["expect must hold at least one group of values"]),
        ({"forbid": "3"}, ["forbid must be a list of text"]),
        ({"forbid": [None]}, ["forbid must be"]),
        ({"answerable": 1}, ["answerable must be true or false, got 1"]),
        ({"answerable": False}, ["answerable must be false for kind absent and true for others"]),
        ({"kind": "absent"}, ["answerable must be false for kind absent"]),
        ({"ask_at_seq": -1}, ["ask_at_seq must be an integer, 0 or more, got -1"]),
        ({"ask_at_seq": 1.0}, ["ask_at_seq must be"]),
        ({"ask_at_seq": False}, ["ask_at_seq must be"]),
        ({"status": "final"}, ["status must be one of draft, accepted, excluded"]),
        ({"language": None}, ["language must be text"]),
        ({"author": 1}, ["author must be text"]),
        ({"note": []}, ["note must be text"]),
        ({"frozen": 1}, ["frozen must be text"]),
        ({"answer": "3", "Kind": "x"}, ["keys must be known, got Kind, answer"]),
        ({"id": "", "status": 1, "x": 1}, ["id must be", "keys must be known", "status must be"]),
    ],
)
def test_every_fault_of_a_record_is_told_at_once(
    changes: dict[str, Any], faults: list[str]
) -> None:
    """Each fault is one sentence with the rule and what was found; a good record has none."""
    found = faults_of({**RECORD, **changes})
    assert len(found) == len(faults)
    for sentence, wanted in zip(found, faults, strict=True):
        assert sentence.startswith(wanted)
        assert sentence.endswith(".")


@pytest.mark.parametrize("record", [None, [], "text", 5, True])
def test_a_record_that_is_no_object_is_one_fault(record: Any) -> None:
    """Anything but an object is named by its type."""
    assert faults_of(record) == [
        f"a probe must be a JSON object, got {type(record).__name__}. Mend the line."
    ]


def test_all_faults_of_a_file_are_told_with_their_lines(written: Callable[..., Path]) -> None:
    """Damaged lines, broken rules and a second probe of one id stand in one message."""
    path = written(RECORD, b"", b"{broken", {**RECORD, "kind": "x", "id": "p2"}, RECORD, b"[1]")
    with pytest.raises(DatasetError) as caught:
        read_probes(path)
    told = str(caught.value).split("\n")
    assert [line.split(": ")[0] for line in told] == [f"{path}:{n}" for n in (3, 4, 5, 6)]
    assert "id must be unique, got 'p1' as in line 1" in told[2]


def test_a_file_of_many_faults_shows_the_first_and_counts_the_rest(
    written: Callable[..., Path],
) -> None:
    """Eight faults are shown; a thousand do not fill the screen."""
    path = written(*[b"{broken"] * 1000)
    with pytest.raises(DatasetError) as caught:
        read_probes(path)
    told = str(caught.value).split("\n")
    assert len(told) == 9
    assert told[-1] == "… and 992 more faults."


def test_blank_lines_marks_and_a_missing_line_end_do_not_matter(tmp_path: Path) -> None:
    """A file saved by an editor is read like one of ours; an empty one holds no probe."""
    path = tmp_path / "p.jsonl"
    body = b"\r\n \r\n".join(orjson.dumps({**RECORD, "id": name}) for name in ("a", "b"))
    path.write_bytes(b"\xef\xbb\xbf" + body)
    assert [probe.probe_id for probe in read_probes(path)] == ["a", "b"]
    path.write_bytes(b"")
    assert read_probes(path) == []


def test_a_probe_file_that_cannot_be_read_or_written_is_told(tmp_path: Path) -> None:
    """A missing path, a folder, and a file in the place of a folder name the path."""
    for path in (tmp_path / "missing.jsonl", tmp_path):
        with pytest.raises(DatasetError, match="a probe file must be readable"):
            read_probes(path)
    (tmp_path / "file").write_text("")
    with pytest.raises(DatasetError, match="must be writable"):
        write_probes([PROBE], tmp_path / "file" / "p.jsonl")


@pytest.mark.parametrize(
    ("changes", "faults"),
    [
        ({}, []),
        ({"ask_at_seq": 19}, []),
        ({"ask_at_seq": None}, []),
        ({"session_id": "t"}, ["session_id must name a loaded session, got 't'"]),
        ({"ask_at_seq": 20}, ["seqs must lie in 0..19, got 20"]),
        ({"evidence": (Span(from_seq=20, to_seq=20),)}, ["seqs must lie in 0..19, got 20"]),
        ({"evidence": (Span(from_seq=18, to_seq=25),)}, ["seqs must lie in 0..19, got 25"]),
        (
            {"evidence": (Span(from_seq=21, to_seq=22),)},
            ["seqs must lie in 0..19, got 21", "seqs must lie in 0..19, got 22"],
        ),
    ],
)
def test_a_probe_must_point_into_a_session_that_is_there(
    changes: dict[str, Any], faults: list[str]
) -> None:
    """Sessions of twenty messages have the seqs 0 to 19."""
    probe = replace(PROBE, **changes)
    sessions = [session("s", 20)]
    if not faults:
        check_against([probe], sessions)
        assert probe.session_id == sessions[0].session_id
        return
    with pytest.raises(DatasetError) as caught:
        check_against([probe], sessions)
    told = str(caught.value).split("\n")
    assert len(told) == len(faults)
    for line, wanted in zip(told, faults, strict=True):
        assert line.startswith(wanted)
        assert "probe p1" in line


def test_a_mismatch_names_some_sessions_that_are_there() -> None:
    """With many sessions three are shown; with none that is said."""
    lost = replace(PROBE, session_id="lost")
    with pytest.raises(DatasetError, match=r"there are a, b, c …\)"):
        check_against([lost], [session(name, 1) for name in "abcd"])
    with pytest.raises(DatasetError, match=r"there are none\)"):
        check_against([lost], [])
