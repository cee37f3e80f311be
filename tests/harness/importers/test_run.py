"""Importing files and folders into a dataset, with an account of every record."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import orjson
import pytest

from ctxeng.core.errors import DatasetError
from ctxeng.harness.importers.run import import_paths
from ctxeng.harness.probes.io import read_probes
from ctxeng.harness.probes.model import Probe
from tests.harness.importers.conftest import Import, Imported, Write

CHAT = {
    "messages": [
        {"role": "user", "content": "予算は？"},
        {"role": "assistant", "content": "3,000円"},
    ]
}
OTHER = {"messages": [{"role": "user", "content": "예산은?"}]}
LOCOMO = {
    "sample_id": "conv-1",
    "conversation": {
        "speaker_a": "Mira",
        "speaker_b": "Jon",
        "session_1": [{"speaker": "Mira", "dia_id": "D1:1", "text": "I am Mira Okafor."}],
    },
    "qa": [
        {"question": "Who is Mira Okafor?", "answer": "Mira", "evidence": ["D1:1"], "category": 1}
    ],
}
SHAREGPT = [{"id": "1", "conversations": [{"from": "human", "value": "hi"}]}]


def snapshot(folder: Path) -> dict[str, bytes]:
    """Return every file of a folder with its bytes."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_an_import_makes_a_dataset_with_a_card(imported: Import, source: Write) -> None:
    """Sessions, card and report tell the same."""
    found = imported("openai-chat", source(CHAT, OTHER))
    assert sorted(snapshot(found.out)) == [
        *("card.md", "sessions/file-00001.jsonl", "sessions/file-00002.jsonl")
    ]
    assert [m.content for s in found.sessions.values() for m in s.messages] == [
        *("予算は？", "3,000円", "예산은?")
    ]
    record = found.report.record()
    assert (record["files"], record["sessions"], record["messages"]) == (1, 2, 3)
    assert found.report.outcomes == {"written": 2}
    assert "2 sessions, 3 messages, 0 probes." in (found.out / "card.md").read_text("utf-8")
    assert orjson.loads(orjson.dumps(record)) == record


def test_an_import_with_questions_writes_probes(imported: Import, source: Write) -> None:
    """Probes stand beside the sessions and are counted."""
    found = imported("auto", source([LOCOMO], name="l.json"))
    assert found.report.format == "locomo"
    assert found.report.probes == len(found.probes) == 1
    assert found.probes[0].session_id == "conv-1"


def test_importing_again_changes_nothing(imported: Import, source: Write, tmp_path: Path) -> None:
    """Every file keeps its bytes and its time, and the report says unchanged."""
    path = source([LOCOMO], name="l.json")
    first = imported("locomo", path)
    before = snapshot(first.out)
    for file in first.out.rglob("*"):
        os.utime(file, (1, 1))
    second = imported("locomo", path, out=first.out)
    assert snapshot(first.out) == before
    assert {f.stat().st_mtime for f in first.out.rglob("*") if f.is_file()} == {1}
    assert second.report.outcomes == {"unchanged": 1}
    assert (second.report.sessions, second.report.read) == (1, 2)


def test_the_same_files_named_twice_are_counted_once(imported: Import, source: Write) -> None:
    """A file given by its own name and by its folder is a copy the second time, and still balanced."""
    path = source(CHAT, OTHER)
    found = imported("auto", path, path.parent)
    assert found.report.sessions == 2
    assert found.report.skipped == {"copy of a session": 2}
    assert found.report.outcomes == {"written": 2, "copy": 2}
    assert [what for _, what in found.findings] == [
        *("session file-00001 is a copy of one already imported",
          "session file-00002 is a copy of one already imported")
    ]  # fmt: skip
    assert not found.report.failures


def test_a_wrongly_named_format_is_told(imported: Import, source: Write) -> None:
    """By what the content looks like, whether the reader fails or finds nothing."""
    path = source([LOCOMO], name="x.json")
    for wrong in ("chatgpt", "claude-code"):
        with pytest.raises(DatasetError, match="It looks like locomo: name that, or no format"):
            imported(wrong, path)


def test_two_files_of_one_name_keep_both_their_sessions(imported: Import, source: Write) -> None:
    """Files in different folders may hold different sessions under one id."""
    first, second = source(CHAT, name="a/x.jsonl"), source(OTHER, name="b/x.jsonl")
    found = imported("auto", first, second)
    assert set(found.sessions) == {"x-00001", "x-00001~2"}
    assert "session x-00001 differs from one of the same id: x-00001~2" in found.findings[0][1]


def test_copies_of_probes_are_not_counted_twice(imported: Import, source: Write) -> None:
    """The first of two different probes of one id is kept, and that is told."""
    changed = {**LOCOMO, "qa": [{**LOCOMO["qa"][0], "answer": "Okafor"}]}  # type: ignore[index]
    paths = [source([one], name=f"{n}.json") for n, one in enumerate((LOCOMO, LOCOMO, changed))]
    found = imported("locomo", *paths)
    assert found.report.skipped == {"copy of a probe": 2, "copy of a session": 2}
    assert [probe.expect for probe in found.probes] == [(("Mira",),)]
    assert any(
        "differs from one of the same id, which is kept" in what for _, what in found.findings
    )


def test_a_corrected_label_wins_over_the_one_that_is_known_to_be_wrong(
    imported: Import, source: Write
) -> None:
    """Whichever of the two files comes first: a question that cannot be asked is worth less."""
    (asked,) = LOCOMO["qa"]  # type: ignore[misc]
    right = {**LOCOMO, "qa": [{**asked, "answer": "Okafor"}]}
    sample = LOCOMO["sample_id"]
    errata = [{"sample_id": sample, "original": asked, "corrected": right["qa"][0]}]
    paths = [source([one], name=f"{n}.json") for n, one in enumerate((LOCOMO, right))]
    source(errata, name="label_errata.json")
    for order in (paths, paths[::-1]):
        (probe,) = imported("locomo", *order).probes
        assert (probe.status, probe.expect) == ("accepted", (("Okafor",),))


def test_a_folder_is_walked_in_order_past_what_is_no_session(
    imported: Import, source: Write, tmp_path: Path
) -> None:
    """Hidden folders and foreign files are left alone; unknown JSON is reported, not a failure."""
    source(CHAT, name="deep/er/b.jsonl")
    source(SHAREGPT, name="a.json")
    source({"words": ["x"]}, name="cspell.json")
    source(CHAT, name=".cache/x.jsonl")
    source(b"not looked at", name="notes.pdf")
    source(b"nor this", name="LICENSE")
    found = imported("auto", tmp_path / "given")
    assert sorted(found.sessions) == ["a-1", "b-00001"]
    assert found.report.files == 2
    assert found.report.format == "auto"
    assert [(Path(f.file).name, f.what) for f in found.report.findings] == [
        ("given", "not looked at: 1 file .pdf, 1 file without an ending"),
        ("cspell.json", """not recognised as any format: begins with b'{"words":["x"]}'"""),
    ]
    assert not found.report.failures


def test_a_walk_ends_whatever_links_and_pipes_lie_on_its_way(
    imported: Import, source: Write, tmp_path: Path
) -> None:
    """A pipe is not waited at, a folder that links lead back to is walked once, each is told."""
    given = source(CHAT, name="a.jsonl").parent
    os.mkfifo(given / "pipe.jsonl")
    (given / "gone.jsonl").symlink_to("nowhere.jsonl")
    (given / "round").symlink_to(".")
    (given / "self").symlink_to("self")
    found = imported("auto", given)
    assert found.report.sessions == 1
    assert {Path(f.file).name: f.what for f in found.report.findings} == {
        "pipe.jsonl": "not looked at: a pipe, socket or device",
        "gone.jsonl": "not looked at: a link that leads nowhere",
        "round": "not looked at: a link to a folder that is walked already",
        "self": "not looked at: a link that leads nowhere",
    }
    with pytest.raises(DatasetError, match="must be a file or a folder, got a pipe"):
        imported("auto", given / "pipe.jsonl")


def test_a_folder_that_may_not_be_looked_into_is_told(
    imported: Import, source: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rest is imported; where nothing else is there, the error has the reason."""
    closed = source(CHAT, name="closed/a.jsonl").parent
    given = source(CHAT, name="b.jsonl").parent
    entries = Path.iterdir

    def refuse(folder: Path) -> Iterator[Path]:
        if folder == closed:
            raise PermissionError(13, "Permission denied")
        return entries(folder)

    monkeypatch.setattr(Path, "iterdir", refuse)
    found = imported("auto", given)
    assert found.report.sessions == 1
    assert [f.what for f in found.report.findings] == [
        "a folder that cannot be looked into: Permission denied"
    ]
    with pytest.raises(DatasetError, match=r"got none in .*Permission denied"):
        imported("auto", closed)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b'[{"mapping": {"a": {"message"', "must be one whole value"),
        (b"PK\x03\x04rest", "whole zip file, got one without its end"),
        (b"PK\x05\x06" + bytes(18), "holds nothing"),
        ('{"text": "plain words"}'.encode("utf-16-le"), "pass --encoding utf-16-le"),
    ],
)
def test_a_broken_file_of_no_known_format_is_told_what_is_broken(
    content: bytes, told: str, source: Write, tmp_path: Path
) -> None:
    """Cut off, archives too, empty, or in an encoding that has to be named."""
    with pytest.raises(DatasetError, match=told):
        import_paths("auto", [source(content, name="x.json")], tmp_path / "o")


def test_a_folder_that_is_hidden_itself_is_walked(imported: Import, source: Write) -> None:
    """Only folders below the one that was named can be hidden from it."""
    path = source(CHAT, name=".recordings/x.jsonl")
    assert imported("auto", path.parent).report.sessions == 1


def test_one_bad_file_does_not_stop_the_others(imported: Import, source: Write) -> None:
    """Each failure is one line with its file; what is good is imported."""
    good = source(CHAT, name="good.jsonl")
    bad = [
        source(b"", name="empty.jsonl"),
        source(b"\x1f\x8b\x08\x00rest", name="packed.jsonl"),
        source(b'{"a": ', name="cut.json"),
        source({"a": 1}, name="other.json"),
        source({"messages": []}, name="none.jsonl"),
    ]
    found = imported("openai-chat", *bad, good)
    assert found.report.sessions == 1
    told = {Path(f.file).name: f.what for f in found.report.failures}
    assert "must not be empty" in told["empty.jsonl"]
    assert "gunzip" in told["packed.jsonl"]
    assert "must be one whole value" in told["cut.json"]
    assert told["none.jsonl"].startswith("nothing to import among 1 records (1 no messages)")
    assert told.keys() == {path.name for path in bad}
    assert all("\n" not in what for what in told.values())


def test_a_named_file_of_no_known_format_is_a_failure(imported: Import, source: Write) -> None:
    """Unlike one found in a folder: the person meant it."""
    path = source({"a": 1}, name="x.json")
    found = imported("auto", source(CHAT), path)
    assert [Path(f.file).name for f in found.report.failures] == ["x.json"]
    assert "that none recognises" in found.report.failures[0].what


def test_an_import_that_finds_nothing_is_an_error_with_the_reasons(
    source: Write, tmp_path: Path
) -> None:
    """One file tells its own fault; several are listed, the rest counted."""
    with pytest.raises(DatasetError, match=r"must not be empty, got .*e\.jsonl"):
        import_paths("auto", [source(b"", name="e.jsonl")], tmp_path / "o")
    many = [source(b"", name=f"{n}.jsonl") for n in range(5)]
    with pytest.raises(DatasetError, match=r"must find at least one session.*\(and 2 more\)"):
        import_paths("auto", many, tmp_path / "o")
    lines = source(b'{"role": "user"}', b"5", name="x.jsonl")
    with pytest.raises(DatasetError, match=r"nothing to import among 2 records \(1 .*, 1 .*\)"):
        import_paths("openai-chat", [lines], tmp_path / "o")


def test_what_cannot_start_is_told_before_anything_is_written(
    source: Write, tmp_path: Path
) -> None:
    """A missing path, an empty folder, an unknown format and a bad output leave no folder."""
    out = tmp_path / "o"
    path = source(CHAT)
    (tmp_path / "void").mkdir()
    with pytest.raises(DatasetError, match="a path to import must exist"):
        import_paths("auto", [path, tmp_path / "missing"], out)
    with pytest.raises(DatasetError, match=r"must hold .*\.jsonl.* files, got none in"):
        import_paths("auto", [tmp_path / "void"], out)
    with pytest.raises(DatasetError, match="format must be auto or one of"):
        import_paths("nothing", [path], out)
    assert not out.exists()
    with pytest.raises(DatasetError, match="--out must be a folder"):
        import_paths("auto", [path], path)


def test_files_in_an_old_encoding_are_imported_when_it_is_named(
    imported: Import, source: Write
) -> None:
    """Without the name every line is reported with the encoding it seems to have, or is damaged."""
    text = "予算は三千円までにしてください。締め切りは金曜日です。"
    body = orjson.dumps({"messages": [{"role": "user", "content": text}]}).decode("utf-8")
    path = source(body.encode("cp932"))
    found = imported("openai-chat", path, encoding="cp932")
    assert found.messages[0].content == text
    assert found.session.language == "ja"
    with pytest.raises(DatasetError, match=r"damaged line: .* pass --encoding cp932"):
        imported("openai-chat", path)
    whole = source(body.encode("euc_jp"), name="x.json")
    with pytest.raises(DatasetError, match="pass --encoding euc_jp"):
        imported("openai-chat", whole)
    with pytest.raises(DatasetError, match="encoding must be one that Python knows"):
        imported("openai-chat", path, encoding="klingon")


@dataclass(frozen=True, kw_only=True)
class Masking:
    """Replaces a name everywhere."""

    def text(self, text: str) -> str:
        """Return the text without the name."""
        return text.replace("Mira Okafor", "PERSON-1")

    def record(self, line: bytes) -> bytes:
        """Return the line without the name."""
        return line.replace(b"Mira Okafor", b"PERSON-1")

    def probe(self, probe: Probe) -> Probe:
        """Return the probe without the name."""
        return replace(probe, question=probe.question.replace("Mira Okafor", "PERSON-1"))


def test_a_redactor_reaches_sessions_and_probes(source: Write, tmp_path: Path) -> None:
    """No file of the dataset holds what it replaces."""
    path = source([LOCOMO], name="l.json")
    import_paths("locomo", [path], tmp_path / "o", redactor=Masking())
    assert not any(b"Okafor" in body for body in snapshot(tmp_path / "o").values())
    assert read_probes(tmp_path / "o" / "probes.jsonl")[0].question == "Who is PERSON-1?"


@pytest.mark.parametrize("form", ["zip", "json"])
def test_an_archive_is_one_source(form: str, imported: Import, tmp_path: Path) -> None:
    """An export is the same packed and unpacked."""
    conversation = [
        {"uuid": "c1", "chat_messages": [{"uuid": "m", "sender": "human", "text": "hi"}]}
    ]
    path = tmp_path / f"export.{form}"
    body = orjson.dumps(conversation)
    if form == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("users.json", b"[]")
            archive.writestr("conversations.json", body)
    else:
        path.write_bytes(body)
    found = imported("auto", path)
    assert (found.report.format, found.said) == ("claude-ai", [("user", "hi")])


def test_a_report_counts_over_all_files(imported: Import, source: Write) -> None:
    """Reasons of several files are summed, and findings keep their file."""
    first = source(CHAT, b"{broken", name="a.jsonl")
    second = source(CHAT, OTHER, b"{broken", b"5", name="b.jsonl")
    found: Imported = imported("openai-chat", first, second)
    report = found.report
    assert (report.files, report.read, report.imported, report.merged) == (2, 6, 3, 0)
    assert dict(report.skipped) == {"damaged line": 2, "not an object": 1}
    assert [(Path(f.file).name, f.line) for f in report.findings] == [
        *(("a.jsonl", 2), ("b.jsonl", 3), ("b.jsonl", 4))
    ]
    assert [f["line"] for f in report.record()["findings"]] == [2, 3, 4]


def test_findings_beyond_the_limit_are_counted_in_one_more(imported: Import, source: Write) -> None:
    """A file of a thousand bad lines adds 201 findings to the report."""
    found = imported("openai-chat", source(CHAT, *[b"{broken"] * 1000))
    assert len(found.report.findings) == 201
    assert found.report.findings[-1].what == "800 more findings"
    assert found.report.read == 1001
