"""Session files: written whole, read strictly, equal after the way through the disk."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ctxeng.core.errors import DatasetError
from ctxeng.core.messages import Message, Session
from ctxeng.harness.sessions.io import (
    atomic_file,
    content_hash,
    file_name,
    load_dataset,
    read_header,
    read_messages,
    read_session,
    session_files,
    session_lines,
    write_session,
)
from ctxeng.harness.sessions.records import (
    SCHEMA,
    Header,
    encode,
    header_of,
)
from ctxeng.harness.sessions.text import clean, parse_json
from tests.generators import histories, texts

AT = datetime(2026, 3, 2, 9, 14, tzinfo=UTC)
JST = timezone(timedelta(hours=9))
HEADER = {"schema": SCHEMA, "session_id": "s"}
MESSAGE = {"seq": 0, "role": "user", "content": "hi"}


def session_of(*messages: Message, session_id: str = "s", **about: Any) -> Session:
    """Return a session of the messages."""
    return Session(session_id=session_id, messages=messages, **about)


def said(content: str, seq: int = 0, **about: Any) -> Message:
    """Return a user message."""
    return Message(seq=seq, role="user", content=content, **about)


def lines_of(*records: Any) -> bytes:
    """Return JSON Lines."""
    return b"".join(orjson.dumps(record) + b"\n" for record in records)


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes bytes to a new file."""

    def write(data: bytes, name: str = "s.jsonl") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    return write


FULL = session_of(
    said("予算は 3,000 円", speaker="佐伯", timestamp=AT, message_id="m0", meta={"queued": True}),
    Message(
        seq=1,
        role="assistant",
        content="",
        timestamp=AT.astimezone(JST),
        blocks=(
            {"type": "tool_use", "id": "t1", "name": "read", "input": {"p": ["a", None, 1.5]}},
        ),
    ),
    Message(
        seq=2,
        role="tool",
        content="",
        blocks=({"type": "tool_result", "tool_use_id": "t1", "content": "</message> 예산"},),
    ),
    Message(seq=3, role="system", content="\u2028\x1b[0m"),
    title="Kestrel",
    language="ja",
    origin="hand",
    meta={"licence": "MIT", "cwd": "/x"},
)


def test_a_session_is_equal_after_the_way_through_a_file(tmp_path: Path) -> None:
    """Every field of a message and of the session comes back, the licence included."""
    assert read_session(write_session(FULL, tmp_path / "s.jsonl")) == FULL


@given(
    histories(min_size=1, max_size=8),
    texts,
    st.dictionaries(texts, st.one_of(texts, st.integers(-5, 5), st.none()), max_size=3),
)
@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_session_is_equal_after_the_way_through_a_file(
    tmp_path: Path, messages: list[Message], title: str, meta: dict[str, Any]
) -> None:
    """Tool calls, names, delimiters and scripts of every kind survive."""
    messages[0] = messages[0].with_(meta=meta)
    session = session_of(*messages, title=title)
    path = write_session(session, tmp_path / "s.jsonl")
    assert read_session(path) == session
    assert [m for m in read_messages(path)] == messages


def test_a_file_is_its_lines_and_its_hash(tmp_path: Path) -> None:
    """The content hash is the SHA-256 of the bytes in the file (hashlib is the reference)."""
    path = write_session(FULL, tmp_path / "s.jsonl")
    assert path.read_bytes() == b"".join(line + b"\n" for line in session_lines(FULL))
    assert content_hash(FULL) == hashlib.sha256(path.read_bytes()).hexdigest()
    changed = session_of(*FULL.messages[:3], FULL.messages[3].with_(content="x"))
    assert content_hash(changed) != content_hash(FULL)


def test_the_first_line_is_the_header_and_empty_fields_are_left_out() -> None:
    """Names of speakers stand in order of appearance; a bare message has three fields."""
    first, *rest = [orjson.loads(line) for line in session_lines(FULL)]
    assert first["schema"] == SCHEMA
    assert first["licence"] == "MIT"
    assert first["speakers"] == ["佐伯", "assistant", "tool", "system"]
    assert first["meta"] == {"cwd": "/x"}
    assert rest[3] == {"seq": 3, "role": "system", "content": "\u2028\x1b[0m"}
    assert "meta" not in header_of(session_of(said("x"))).record()


@pytest.mark.parametrize(
    ("content", "meta", "wanted"),
    [
        ("a\ud83d", {}, ("a\ufffd", {})),
        ("\ud83d\ude00", {}, ("\U0001f600", {})),
        ("a", {"n": 2**70}, ("a", {"n": "1180591620717411303424"})),
        ("a", {1: "one"}, ("a", {"1": "one"})),
    ],
)
def test_what_json_cannot_hold_is_cleaned_on_the_way_out(
    content: str, meta: dict[Any, Any], wanted: tuple[str, dict[str, Any]], tmp_path: Path
) -> None:
    """Lone surrogates and giant integers are written as the text rules say, never refused."""
    session = session_of(said(content, meta=meta))
    kept = read_session(write_session(session, tmp_path / "s.jsonl")).messages[0]
    assert (kept.content, kept.meta) == wanted


def test_blocks_nested_too_deeply_are_written_as_text(tmp_path: Path) -> None:
    """A tool input deeper than any JSON writer allows does not stop the session."""
    deep: Any = "予算"
    for _ in range(400):
        deep = [deep]
    block = {"type": "tool_use", "id": "t", "name": "n", "input": {"a": deep}}
    path = write_session(session_of(said("x", blocks=(block,))), tmp_path / "s.jsonl")
    assert "予算" in path.read_text("utf-8")
    assert read_session(path).messages[0].content == "x"


def test_writing_refuses_seqs_that_are_no_positions(tmp_path: Path) -> None:
    """Nothing is written for a session whose messages are not numbered 0, 1, 2 …"""
    path = tmp_path / "s.jsonl"
    with pytest.raises(DatasetError, match="seq must be 1, got 2"):
        write_session(session_of(said("a"), said("b", seq=2)), path)
    assert not path.exists()


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    """The new bytes go to a hidden file first; an error removes it."""
    path = write_session(FULL, tmp_path / "s.jsonl")
    before = path.read_bytes()
    with pytest.raises(RuntimeError, match="half way"), atomic_file(path) as stream:
        stream.write(b"half")
        raise RuntimeError("half way")
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["s.jsonl"]


def test_an_output_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """A file where a folder should be, and a folder where the file should be, name the path."""
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(DatasetError, match=r"s\.jsonl must be writable"):
        write_session(FULL, tmp_path / "file" / "s.jsonl")
    (tmp_path / "folder.jsonl" / "inner").mkdir(parents=True)
    with pytest.raises(DatasetError, match=r"folder\.jsonl must be writable"):
        write_session(FULL, tmp_path / "folder.jsonl")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "folder.jsonl"]


@pytest.mark.parametrize(
    ("session_id", "name"),
    [
        ("kebab-case_1.2~3", "kebab-case_1.2~3.jsonl"),
        ("conv-26", "conv-26.jsonl"),
        ("run/arm/session", None),
        ("予算", None),
        ("", None),
        ("..", None),
        (".hidden", None),
        ("a" * 120, "a" * 120 + ".jsonl"),
        ("a" * 121, None),
        ("nul\x00", None),
        ("con", None),
        ("COM1.backup", None),
        ("console", "console.jsonl"),
        ("a\ud83d", None),
    ],
)
def test_a_file_name_is_the_id_or_ends_in_its_hash(session_id: str, name: str | None) -> None:
    """A plain id is its own name; any other gets a hash behind a sign no plain id can hold."""
    found = file_name(session_id)
    if name is not None:
        assert found == name
        return
    digest = hashlib.sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()
    assert found.endswith(f"+{digest[:8]}.jsonl")
    assert found.isascii()
    assert not found.startswith(".")
    assert found.partition(".")[0].lower() not in ("con", "nul", "com1")
    assert len(found) <= 140


ids = st.text(st.sampled_from("aB./\\ _-~+0\x00予가:*?"), max_size=12)


@given(st.lists(ids, unique=True, max_size=12))
@settings(max_examples=50, deadline=None)
def test_two_ids_never_share_a_file_name(session_ids: list[str]) -> None:
    """Also an id that looks like the name of another does not get that name."""
    session_ids += [file_name(one).removesuffix(".jsonl") for one in session_ids]
    distinct = set(session_ids)
    assert len({file_name(one) for one in distinct}) == len(distinct)
    assert all("/" not in file_name(one) for one in distinct)


@pytest.mark.parametrize(
    ("header", "fault"),
    [
        ({}, "schema must be 'ctxeng.session/1', got None"),
        ([], "schema must be"),
        ({"schema": "ctxeng.session/2", "session_id": "s"}, "got 'ctxeng.session/2'"),
        ({"type": "user", "uuid": "x"}, "Import the file with `ctxeng import`"),
        ({"schema": SCHEMA}, "session_id must be text that is not empty"),
        ({"schema": SCHEMA, "session_id": ""}, "session_id must be text that is not empty"),
        ({"schema": SCHEMA, "session_id": 5}, "session_id must be text that is not empty"),
        ({**HEADER, "speakers": "Mira"}, "speakers must be a list of names"),
        ({**HEADER, "speakers": [1]}, "speakers must be a list of names"),
        ({**HEADER, "meta": []}, "meta must be an object"),
        ({**HEADER, "language": 1}, "language must be text"),
        ({**HEADER, "colour": "blue"}, "a header's keys must be among"),
    ],
)
def test_a_header_that_breaks_a_rule_is_refused_with_its_place(
    header: Any, fault: str, written: Callable[..., Path]
) -> None:
    """A foreign file is told from a session file by its first line."""
    path = written(lines_of(header, MESSAGE))
    with pytest.raises(DatasetError) as caught:
        read_header(path)
    assert fault in str(caught.value)
    assert f"{path}:1" in str(caught.value)
    with pytest.raises(DatasetError):
        read_session(path)


def test_a_header_is_read_without_the_rest(written: Callable[..., Path]) -> None:
    """A listing of sessions costs one line a file, whatever follows."""
    path = written(lines_of({**HEADER, "title": "Kestrel", "language": None}) + b"{broken")
    assert read_header(path) == Header(session_id="s", title="Kestrel")


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"", "must begin with a header, got an empty file"),
        (b"\n", "a line must be JSON"),
        (lines_of(HEADER), "must hold at least one message, got none"),
        (lines_of(HEADER) + b"\n\n", "must hold at least one message, got none"),
        (lines_of(HEADER, MESSAGE) + b"{bro", ":3"),
        (lines_of(HEADER, MESSAGE, {**MESSAGE, "seq": 2}), "seq must be 1, got 2"),
        (lines_of(HEADER, {**MESSAGE, "seq": 1}), "seq must be 0, got 1"),
        (lines_of(HEADER, MESSAGE, MESSAGE), "seq must be 1, got 0"),
        (lines_of(HEADER) + b'{"seq": 0, "role": "user", "content": "\xff"}\n', ":2"),
    ],
)
def test_a_damaged_session_file_is_refused_with_its_line(
    data: bytes, fault: str, written: Callable[..., Path]
) -> None:
    """A session file is ours: unlike an import, damage is never skipped."""
    path = written(data)
    with pytest.raises(DatasetError) as caught:
        read_session(path)
    assert fault in str(caught.value)
    assert str(path) in str(caught.value)


def test_messages_are_yielded_before_a_later_line_is_read(written: Callable[..., Path]) -> None:
    """A file of any length is read in constant memory: damage shows only when reached."""
    found = read_messages(written(lines_of(HEADER, MESSAGE) + b"{broken"))
    assert next(found).content == "hi"
    with pytest.raises(DatasetError, match=":3"):
        next(found)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_session_saved_by_an_editor_in_another_encoding_is_read(
    encoding: str, written: Callable[..., Path]
) -> None:
    """Byte-order marks and Windows line ends do not matter."""
    text = "\r\n".join(line.decode("utf-8") for line in session_lines(FULL))
    assert read_session(written(text.encode(encoding))) == FULL


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    """A path that is not there, or is a folder, is an error of the input."""
    for path in (tmp_path / "none.jsonl", tmp_path):
        with pytest.raises(DatasetError, match="must be readable"):
            read_session(path)


def dataset(folder: Path, *session_ids: str) -> Path:
    """Write a dataset folder of one-message sessions."""
    for session_id in session_ids:
        session = session_of(said(f"I am {session_id}"), session_id=session_id)
        write_session(session, folder / "sessions" / file_name(session_id))
    return folder


def test_a_dataset_is_its_sessions_sorted_by_file_name(tmp_path: Path) -> None:
    """Folders and single files may be mixed; a file named twice is loaded once."""
    first = dataset(tmp_path / "one", "b", "a")
    (first / "card.md").write_text("# one")
    (first / "probes.jsonl").write_text("")
    (first / "sessions" / ".hidden").write_text("")
    second = dataset(tmp_path / "two", "c") / "sessions" / "c.jsonl"
    found = load_dataset([first, second, second])
    assert [session.session_id for session in found] == ["a", "b", "c"]
    assert session_files([first]) == [
        first / "sessions" / "a.jsonl",
        first / "sessions" / "b.jsonl",
    ]


def test_a_plain_folder_of_session_files_is_a_dataset(tmp_path: Path) -> None:
    """Without a sessions folder the files beside the probes are the sessions."""
    dataset(tmp_path / "x", "a")
    (tmp_path / "x" / "sessions" / "a.jsonl").rename(tmp_path / "x" / "a.jsonl")
    (tmp_path / "x" / "sessions").rmdir()
    (tmp_path / "x" / "probes.jsonl").write_text("not a session")
    (tmp_path / "x" / "notes.txt").write_text("")
    assert [session.session_id for session in load_dataset([tmp_path / "x"])] == ["a"]


def test_a_dataset_with_a_fault_is_refused(tmp_path: Path) -> None:
    """Two files of one id, a stray file, an empty folder and a missing path are each told."""
    folder = dataset(tmp_path / "d", "a")
    twin = write_session(session_of(said("twin"), session_id="a"), tmp_path / "twin.jsonl")
    with pytest.raises(DatasetError, match="session ids must be unique, got 'a' twice") as caught:
        load_dataset([folder, twin])
    assert str(twin) in str(caught.value)
    (folder / "sessions" / "notes.txt").write_text("")
    with pytest.raises(DatasetError, match=r"must hold session files .* only, got 'notes\.txt'"):
        session_files([folder])
    (tmp_path / "empty").mkdir()
    with pytest.raises(DatasetError, match=r"must hold sessions/\*\.jsonl, got none"):
        session_files([tmp_path / "empty"])
    with pytest.raises(DatasetError, match="must be readable"):
        load_dataset([tmp_path / "missing"])


@given(
    st.dictionaries(st.text(max_size=5), st.text(st.characters(exclude_categories=())), max_size=4)
)
@settings(max_examples=50, deadline=None)
def test_any_record_becomes_one_line(record: dict[str, str]) -> None:
    """Line feeds in text never break a line, and surrogates never stop the writer."""
    line = encode(record)
    assert b"\n" not in line
    cleaned = {clean(key): clean(text) for key, text in record.items()}
    assert parse_json(line) == cleaned
