"""Writing dataset folders: importing again changes only what changed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ctxeng.core.errors import DatasetError
from ctxeng.core.messages import Message
from ctxeng.harness.importers.model import SessionDraft, draft
from ctxeng.harness.importers.writing import DatasetWriter, check_writable, merge_probes
from ctxeng.harness.probes.io import read_probes
from ctxeng.harness.probes.model import Probe
from ctxeng.harness.sessions.io import load_dataset, read_session


def conversation(session_id: str, *texts: str, **about: Any) -> SessionDraft:
    """Return a draft of user messages."""
    messages = [Message(seq=n, role="user", content=text) for n, text in enumerate(texts)]
    return draft(session_id, messages, origin="hand", **about)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Return a folder made ready for a dataset."""
    check_writable(tmp_path / "set")
    return tmp_path / "set"


def said(folder: Path) -> dict[str, list[str]]:
    """Return the words of every session in a folder."""
    return {s.session_id: [m.content for m in s.messages] for s in load_dataset([folder])}


def test_a_draft_becomes_a_session_file(out: Path) -> None:
    """The outcome tells what happened, under which id, and how many messages there are."""
    written = DatasetWriter(out=out).add(conversation("予算/1", "a", "b", title="t"))
    assert (written.session_id, written.outcome, written.messages) == ("予算/1", "written", 2)
    (path,) = (out / "sessions").iterdir()
    session = read_session(path)
    assert (session.session_id, session.title, len(session.messages)) == ("予算/1", "t", 2)


def test_the_same_again_is_unchanged_and_a_change_is_an_update(out: Path) -> None:
    """A file with the same bytes is not touched; one with others is replaced whole."""
    DatasetWriter(out=out).add(conversation("s", "a"))
    path = out / "sessions" / "s.jsonl"
    os.utime(path, (1, 1))
    assert DatasetWriter(out=out).add(conversation("s", "a")).outcome == "unchanged"
    assert path.stat().st_mtime == 1
    assert DatasetWriter(out=out).add(conversation("s", "a", "b")).outcome == "updated"
    assert DatasetWriter(out=out).add(conversation("s", "c")).outcome == "updated"
    assert said(out) == {"s": ["c"]}
    assert DatasetWriter(out=out).add(conversation("s", "c", title="t")).outcome == "updated"


def test_a_second_session_of_one_id_is_a_copy_or_gets_a_number(out: Path) -> None:
    """Equal messages are written once; different ones are kept under ids of their own."""
    writer = DatasetWriter(out=out)
    outcomes = [
        (written.session_id, written.outcome)
        for texts in ("a", "b", "a", "c", "b", "c")
        for written in [writer.add(conversation("s", texts))]
    ]
    assert outcomes == [
        ("s", "written"),
        ("s~2", "written"),
        ("s", "copy"),
        ("s~3", "written"),
        ("s", "copy"),
        ("s", "copy"),
    ]
    assert said(out) == {"s": ["a"], "s~2": ["b"], "s~3": ["c"]}


def test_an_empty_session_leaves_no_file(out: Path) -> None:
    """A session without messages is told and not written, and does not take its id."""
    writer = DatasetWriter(out=out)
    assert writer.add(conversation("s")).outcome == "empty"
    assert list((out / "sessions").iterdir()) == []
    assert writer.add(conversation("s", "a")).session_id == "s"


@given(st.lists(st.tuples(st.sampled_from(["s", "t", "s~2"]), st.sampled_from("abc")), max_size=10))
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_no_message_is_lost_to_a_clash_of_ids(
    tmp_path_factory: pytest.TempPathFactory, given_drafts: list[tuple[str, str]]
) -> None:
    """Whatever ids the sources use, every distinct session is on the disk, and again the same."""
    out = tmp_path_factory.mktemp("set")
    check_writable(out)
    writer = DatasetWriter(out=out)
    for session_id, text in given_drafts:
        writer.add(conversation(session_id, text))
    kept = said(out) if given_drafts else {}
    for session_id, text in given_drafts:
        family = [texts for kept_id, texts in kept.items() if kept_id.startswith(session_id[0])]
        assert [text] in family
    again = DatasetWriter(out=out)
    outcomes = [again.add(conversation(*one)).outcome for one in given_drafts]
    assert set(outcomes) <= {"unchanged", "copy"}
    assert (said(out) if given_drafts else {}) == kept


@dataclass(frozen=True, kw_only=True)
class Masking:
    """Replaces a word everywhere, as a redactor does."""

    secret: str

    def text(self, text: str) -> str:
        """Return the text without the secret."""
        return text.replace(self.secret, "[redacted]")

    def record(self, line: bytes) -> bytes:
        """Return the line without the secret."""
        return line.replace(self.secret.encode("utf-8"), b"[redacted]")

    def probe(self, probe: Probe) -> Probe:
        """Return the probe without the secret."""
        return replace(probe, question=probe.question.replace(self.secret, "[redacted]"))


def test_a_redactor_sees_every_line_before_the_disk_does(out: Path) -> None:
    """Header and messages are written without the secret, and copies are told by what is left."""
    writer = DatasetWriter(out=out, redactor=Masking(secret="佐伯"))
    writer.add(conversation("s", "佐伯です", title="佐伯 wants a budget"))
    assert "佐伯" not in (out / "sessions" / "s.jsonl").read_text("utf-8")
    assert read_session(out / "sessions" / "s.jsonl").title == "[redacted] wants a budget"
    assert writer.add(conversation("s", "[redacted]です")).outcome == "copy"


def probe(name: str, session_id: str = "s", question: str = "q") -> Probe:
    """Return a probe."""
    return Probe(
        probe_id=name, session_id=session_id, question=question, kind="other", expect=(("x",),)
    )


@pytest.mark.parametrize(
    ("old", "new", "session_ids", "kept"),
    [
        ([], [probe("b"), probe("a")], ["s"], ["a", "b"]),
        ([probe("a"), probe("z", "t")], [probe("b")], ["s"], ["b", "z"]),
        ([probe("z", "t")], [probe("a")], ["s"], ["a", "z"]),
        ([probe("a", "t")], [probe("a")], ["s"], ["a"]),
        ([probe("a")], [], ["t"], ["a"]),
        ([], [], ["s"], []),
    ],
)
def test_probes_of_the_imported_sessions_replace_those_of_before(
    old: Sequence[Probe],
    new: Sequence[Probe],
    session_ids: list[str],
    kept: list[str],
    out: Path,
) -> None:
    """Probes of other sessions stay; the file is ordered by session and id."""
    path = out / "probes.jsonl"
    if old:
        merge_probes(path, {p.probe_id: p for p in old}, session_ids=[])
    count = merge_probes(path, {p.probe_id: p for p in new}, session_ids=session_ids)
    assert count == len(kept)
    assert path.exists() == bool(kept)
    if kept:
        found = read_probes(path)
        assert sorted(p.probe_id for p in found) == kept
        assert found == sorted(found, key=lambda p: (p.session_id, p.probe_id))


def test_probes_that_are_the_same_again_leave_the_file_alone(out: Path) -> None:
    """Only a change touches the file."""
    path = out / "probes.jsonl"
    probes = {"a": probe("a"), "b": probe("b")}
    merge_probes(path, probes, session_ids=["s"])
    os.utime(path, (1, 1))
    merge_probes(path, probes, session_ids=["s"])
    assert path.stat().st_mtime == 1
    merge_probes(path, {**probes, "b": probe("b", question="另外")}, session_ids=["s"])
    assert path.stat().st_mtime != 1
    assert read_probes(path)[1].question == "另外"


def test_a_damaged_probe_file_is_not_overwritten(out: Path) -> None:
    """What a person wrote is not lost to an import: the error names the line."""
    path = out / "probes.jsonl"
    path.write_text("{broken")
    with pytest.raises(DatasetError, match=r"probes\.jsonl:1"):
        merge_probes(path, {"a": probe("a")}, session_ids=["s"])
    assert path.read_text() == "{broken"


def test_an_output_that_cannot_be_a_folder_is_told_before_reading(tmp_path: Path) -> None:
    """A file in its place is named with the option to change."""
    (tmp_path / "file").write_text("")
    for out in (tmp_path / "file", tmp_path / "file" / "set"):
        with pytest.raises(DatasetError, match="--out must be a folder that can be written to"):
            check_writable(out)
