"""What an experiment names: sessions, probes, exclusions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest

from ctxeng.core.errors import DatasetError, SettingsError
from ctxeng.core.messages import Message, Session
from ctxeng.harness.experiments.inputs import Inputs, limit_inputs, load_inputs
from ctxeng.harness.experiments.schema import ExperimentFile
from ctxeng.harness.probes.io import write_probes
from ctxeng.harness.probes.model import Probe, Span
from ctxeng.harness.sessions.io import write_session

Make = Callable[..., ExperimentFile]


def probe(name: str, session_id: str = "s1", **changes: Any) -> Probe:
    """Return an accepted probe about the first message."""
    about: dict[str, Any] = {
        "question": "予算は？",
        "kind": "number",
        "evidence": (Span(from_seq=0, to_seq=0),),
        "expect": (("3,000",),),
    }
    return Probe(probe_id=name, session_id=session_id, **{**about, **changes})


def workspace(root: Path, sessions: Sequence[str], probes: Sequence[Probe]) -> Path:
    """Write a workspace with sessions of three messages and one probe file."""
    for session_id in sessions:
        messages = tuple(Message(seq=n, role="user", content=f"3,000 {n}") for n in range(3))
        session = Session(session_id=session_id, messages=messages)
        write_session(session, root / "datasets" / "a" / "sessions" / f"{session_id}.jsonl")
    write_probes(probes, root / "probes" / "a.jsonl")
    return root


def names(inputs: Inputs) -> dict[str, list[str]]:
    """Return the probe ids by session, in order."""
    return {
        s.session_id: [p.probe_id for p in inputs.probes[s.session_id]] for s in inputs.sessions
    }


def test_sessions_are_ordered_by_id_and_probes_by_file(experiment: Make, tmp_path: Path) -> None:
    """A session without a probe is left out: nothing would be asked of it."""
    root = workspace(
        tmp_path, ["s2", "s1", "s3"], [probe("b"), probe("z", "s3"), probe("a"), probe("y", "s3")]
    )
    inputs = load_inputs(experiment(), root)
    assert names(inputs) == {"s1": ["b", "a"], "s3": ["z", "y"]}
    assert inputs.probe_count == 4
    assert [len(session.messages) for session in inputs.sessions] == [3, 3]


def test_only_accepted_probes_are_asked(experiment: Make, tmp_path: Path) -> None:
    """Drafts and excluded probes stay in the file."""
    root = workspace(
        tmp_path,
        ["s1"],
        [probe("a"), probe("b", status="draft"), probe("c", status="excluded", expect=())],
    )
    assert names(load_inputs(experiment(), root)) == {"s1": ["a"]}


@pytest.mark.parametrize("reason", ["wrong label", "行\u2028の中", "예산 \u0085"])
def test_an_exclusion_file_takes_probes_out(reason: str, experiment: Make, tmp_path: Path) -> None:
    """Lines end at line feeds only, whatever stands in a reason."""
    root = workspace(tmp_path, ["s1"], [probe("a"), probe("b"), probe("c")])
    lines = [orjson.dumps({"id": name, "reason": reason}) for name in ("b", "c")]
    (root / "out.jsonl").write_bytes(b"\xef\xbb\xbf" + b"\r\n\n".join(lines))
    inputs = load_inputs(experiment(exclude=["out.jsonl"]), root)
    assert names(inputs) == {"s1": ["a"]}
    assert inputs.excluded == {reason: 2}


@pytest.mark.parametrize(
    "line", [b"{bro", b"[]", b'"a"', b'{"id": "a"}', b'{"reason": "x"}', b"null", b"\xff"]
)
def test_a_damaged_exclusion_is_told_with_its_line(
    line: bytes, experiment: Make, tmp_path: Path
) -> None:
    """An exclusion without an id or a reason is refused, not skipped."""
    root = workspace(tmp_path, ["s1"], [probe("a")])
    (root / "out.jsonl").write_bytes(b'{"id": "b", "reason": "x"}\n\n' + line)
    with pytest.raises(DatasetError, match=r"out\.jsonl:3: an exclusion must be an object"):
        load_inputs(experiment(exclude=["out.jsonl"]), root)


def test_a_list_wider_than_the_sample_excludes_what_is_here_and_tells_the_rest(
    experiment: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A published list of label errors names probes of sessions that a copy does not hold."""
    root = workspace(tmp_path, ["s1"], [probe("a"), probe("b")])
    wide = [f'{{"id": "{name}", "reason": "label"}}' for name in ("x", "a", "y", "x")]
    (root / "out.jsonl").write_text("\n".join(wide), "utf-8")
    assert names(load_inputs(experiment(exclude=["out.jsonl"]), root)) == {"s1": ["b"]}
    assert caplog.messages == ["exclude names 2 ids that are of no probe here (of 3)"]


def test_a_list_of_no_probe_here_is_refused(experiment: Make, tmp_path: Path) -> None:
    """It is of another set, or mistyped, and would exclude nothing; an empty list is no fault."""
    root = workspace(tmp_path, ["s1"], [probe("a"), probe("b")])
    (root / "in.jsonl").write_text('{"id": "a", "reason": "known"}\n', "utf-8")
    (root / "none.jsonl").write_text("\n", "utf-8")
    lines = [f'{{"id": "nosuch{n}", "reason": "typo"}}' for n in range(4)]
    (root / "out.jsonl").write_text("\n".join(lines), "utf-8")
    assert names(load_inputs(experiment(exclude=["in.jsonl", "none.jsonl"]), root)) == {"s1": ["b"]}
    with pytest.raises(DatasetError, match=r"'nosuch0'.* and others alone \(.*out\.jsonl\)\. Mend"):
        load_inputs(experiment(exclude=["in.jsonl", "out.jsonl"]), root)


def test_an_exclusion_that_is_a_folder_is_told(experiment: Make, tmp_path: Path) -> None:
    """A folder in the place of a file is an error of the input."""
    root = workspace(tmp_path, ["s1"], [probe("a")])
    with pytest.raises(DatasetError, match="an exclusion file must be readable"):
        load_inputs(experiment(exclude=["datasets"]), root)


@pytest.mark.parametrize("setting", ["sessions", "probes", "exclude"])
def test_missing_paths_are_told_all_at_once(setting: str, experiment: Make, tmp_path: Path) -> None:
    """The setting, every missing path and the workspace are named."""
    root = workspace(tmp_path, ["s1"], [probe("a")])
    with pytest.raises(SettingsError) as caught:
        load_inputs(experiment(**{setting: ["missing/a", "missing/b"]}), root)
    told = str(caught.value)
    assert told.startswith(f"{setting} must name existing files or folders")
    assert all(part in told for part in ("missing/a", "missing/b", str(root)))


@pytest.mark.parametrize(
    ("probes", "fault"),
    [
        ([], "must hold at least one accepted probe, got none in"),
        ([probe("a", status="draft")], "must hold at least one accepted probe"),
        ([probe("a", "s9")], "session_id must name a loaded session, got 's9'"),
        ([probe("a", "s9", status="draft")], "session_id must name a loaded session"),
        ([probe("a", ask_at_seq=3)], r"seqs must lie in 0\.\.2, got 3"),
    ],
)
def test_probes_that_cannot_be_asked_are_refused(
    probes: list[Probe], fault: str, experiment: Make, tmp_path: Path
) -> None:
    """None at all, a session that is not loaded, and a seq beyond the end are errors."""
    root = workspace(tmp_path, ["s1"], probes)
    with pytest.raises(DatasetError, match=fault):
        load_inputs(experiment(), root)


def test_a_probe_id_in_two_files_is_refused(experiment: Make, tmp_path: Path) -> None:
    """Ids are unique over all files of an experiment."""
    root = workspace(tmp_path, ["s1"], [probe("a")])
    write_probes([probe("a")], root / "probes" / "b.jsonl")
    with pytest.raises(DatasetError, match="probe ids must be unique, got 'a' twice"):
        load_inputs(experiment(probes=["probes/a.jsonl", "probes/b.jsonl"]), root)


@pytest.mark.parametrize(
    ("sessions", "probes", "wanted"),
    [
        (None, None, {"s1": ["a", "b"], "s2": ["c"]}),
        (1, None, {"s1": ["a", "b"]}),
        (None, 1, {"s1": ["a"], "s2": ["c"]}),
        (5, 5, {"s1": ["a", "b"], "s2": ["c"]}),
        (0, None, {}),
        (1, 0, {"s1": []}),
    ],
)
def test_a_quick_look_takes_the_first_of_each(
    sessions: int | None,
    probes: int | None,
    wanted: dict[str, list[str]],
    experiment: Make,
    tmp_path: Path,
) -> None:
    """Limits cut sessions, then the probes of each; none is no limit."""
    root = workspace(tmp_path, ["s1", "s2"], [probe("a"), probe("b"), probe("c", "s2")])
    inputs = load_inputs(experiment(), root)
    limited = limit_inputs(inputs, sessions=sessions, probes=probes)
    assert names(limited) == wanted
    assert limited.probe_count == sum(map(len, wanted.values()))
    assert names(inputs) == {"s1": ["a", "b"], "s2": ["c"]}
