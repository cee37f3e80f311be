"""Files, folders and archives to import from, and the sample a format is told by."""

from __future__ import annotations

import bz2
import gzip
import lzma
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import orjson
import pytest

from ctxeng.core.errors import DatasetError
from ctxeng.harness.importers.source import (
    HEAD_BYTES,
    Source,
    json_value,
    refuse_compressed,
    sample_of,
)
from tests.harness.importers.conftest import Write

JAPANESE = {"text": "予算は三千円までにしてください。締め切りは金曜日です。"}


def archive(path: Path, *, method: int = zipfile.ZIP_DEFLATED, **members: bytes) -> Path:
    """Write a zip archive; ``__`` in a name stands for a slash."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", method) as writer:
        for name, data in members.items():
            writer.writestr(name.replace("__", "/") + ".json", data)
    return path


def test_a_file_gives_its_lines_its_text_and_its_value(source: Write) -> None:
    """The same file can be read in any of the three ways."""
    path = source(b'\xef\xbb\xbf{"a":\r\n "\\u0000x"}\r\n', name="a.json")
    found = Source(path)
    assert list(found.lines()) == [(1, b'{"a":'), (2, b' "\\u0000x"}')]
    assert found.text() == '{"a":\n "\\u0000x"}\n'
    assert found.json == {"a": "x"}
    assert (found.members, found.is_archive, found.name) == ((), False, str(path))


@pytest.mark.parametrize("encoding", ["cp932", "euc_jp", "utf-16"])
def test_a_named_encoding_holds_for_lines_and_values(encoding: str, source: Write) -> None:
    """Old Japanese encodings are read when they are named."""
    data = orjson.dumps(JAPANESE).decode("utf-8").encode(encoding)
    found = Source(source(data), encoding=encoding)
    assert found.json == JAPANESE
    assert [orjson.loads(line) for _, line in found.lines()] == [JAPANESE]


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b'{"a": 1', "must be one whole value, got .* in line 1 of 1.*It may have been cut off"),
        (b'{"a": 1,\n"b": ', "in line 2 of 2"),
        (b'{"a": 1}\n{"b": 2}', "in line 2 of 2"),
        (b"", "must be one whole value"),
        (orjson.dumps(JAPANESE).decode().encode("cp932"), "--encoding cp932"),
    ],
)
def test_a_file_that_is_not_one_value_says_where(data: bytes, fault: str, source: Write) -> None:
    """A cut file names the line of how many; one in an old encoding names that."""
    path = source(data)
    with pytest.raises(DatasetError, match=fault) as caught:
        _ = Source(path).json
    assert str(path) in str(caught.value)


def test_a_value_cut_inside_a_character_is_told(shared_data: Path) -> None:
    """A real Japanese file whose last byte is half a character names the file, not an encoding."""
    path = shared_data / "damaged" / "rpc_cut_inside_multibyte.json"
    with pytest.raises(DatasetError, match=r"rpc_cut_inside_multibyte\.json") as caught:
        json_value(path.read_bytes(), where=str(path))
    assert "cp932" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "encoding"), [("rpc_shift_jis.json", "cp932"), ("rpc_euc_jp.json", "euc_jp")]
)
def test_a_real_file_in_an_old_encoding_is_refused_then_read(
    name: str, encoding: str, shared_data: Path
) -> None:
    """The error names the encoding, and with it the file is whole: all its utterances are there."""
    path = shared_data / "damaged" / name
    with pytest.raises(DatasetError, match=f"pass --encoding {encoding}"):
        _ = Source(path).json
    read = Source(path, encoding=encoding).json
    assert len(read["utterances"]) > 1
    assert not any("\ufffd" in utterance["text"] for utterance in read["utterances"])


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    """Every way of reading says that the path is not readable."""
    lost = Source(tmp_path / "lost.json")
    for read in (lost.text, lambda: lost.json, lambda: list(lost.lines()), lambda: sample_of(lost)):
        with pytest.raises(DatasetError, match=r"must be readable, got .*lost\.json"):
            read()


def test_a_folder_and_an_archive_have_the_same_members(tmp_path: Path) -> None:
    """Names are sorted and use slashes; values are read by name from either."""
    packed = archive(tmp_path / "x.zip", b=b'"\\u0000B"', a__c=b"3")
    with zipfile.ZipFile(packed) as reader:
        reader.extractall(tmp_path / "x")
    for found in (Source(packed), Source(tmp_path / "x")):
        assert found.members == ("a/c.json", "b.json")
        assert found.member("a/c.json") == b"3"
        assert found.member_json("b.json") == "B"
        with pytest.raises(DatasetError):
            found.member("none.json")


def test_a_damaged_member_is_named_with_its_archive(tmp_path: Path) -> None:
    """The error shows which file in which archive."""
    packed = archive(tmp_path / "x.zip", conversations=b'[{"a": ')
    with pytest.raises(DatasetError, match=r"x\.zip!conversations\.json"):
        Source(packed).member_json("conversations.json")


@pytest.mark.parametrize(
    "method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
)
def test_an_archive_with_overwritten_bytes_is_refused(method: int, tmp_path: Path) -> None:
    """Whatever the compression, broken data is an error of the input and not a crash."""
    body = orjson.dumps([{"n": n, "text": f"message {n * 7919}"} for n in range(400)])
    path = archive(tmp_path / "x.zip", method=method, conversations=body)
    data = bytearray(path.read_bytes())
    data[60:120] = bytes(60)
    path.write_bytes(data)
    with pytest.raises(DatasetError, match=r"an archive must be a sound zip file.*x\.zip"):
        Source(path).member("conversations.json")


def test_an_archive_cut_off_is_no_archive(tmp_path: Path) -> None:
    """Half a download has no directory: it is read as a file, and is no JSON."""
    path = archive(tmp_path / "x.zip", conversations=b"[]" * 500)
    path.write_bytes(path.read_bytes()[:80])
    assert not Source(path).is_archive
    with pytest.raises(DatasetError):
        _ = Source(path).json


def test_an_archive_that_unpacks_to_a_flood_is_refused(tmp_path: Path) -> None:
    """Sixty million zeros in a few kilobytes are told with both sizes, before unpacking."""
    path = archive(tmp_path / "bomb.zip", conversations=b"0" * 60_000_000)
    with pytest.raises(DatasetError, match=r"at most .* got 60,000,000 from"):
        Source(path).member("conversations.json")


@pytest.mark.parametrize(
    ("data", "kind", "command"),
    [
        (gzip.compress(b"{}", mtime=0), "gzip", "gunzip"),
        (bz2.compress(b"{}"), "bzip2", "bunzip2"),
        (lzma.compress(b"{}"), "xz", "unxz"),
        (b"\x28\xb5\x2f\xfd\x00\x00", "Zstandard", "zstd -d"),
    ],
    ids=["gzip", "bzip2", "xz", "zstandard"],
)
def test_foreign_compression_is_refused_with_the_command_that_helps(
    data: bytes, kind: str, command: str, source: Write
) -> None:
    """A rollout kept as .zst says how to unpack it."""
    path = source(data, name="rollout.jsonl.zst")
    with pytest.raises(DatasetError, match=f"got {kind} data.*Unpack it first: {command} "):
        sample_of(Source(path))
    assert refuse_compressed(b"{", "x") is None


@pytest.mark.parametrize("data", [b"", b"\n \n", b"\xef\xbb\xbf", b" \t"])
def test_an_empty_file_is_refused(data: bytes, source: Write) -> None:
    """Blank lines and a byte-order mark are nothing to import."""
    with pytest.raises(DatasetError, match="must not be empty"):
        sample_of(Source(source(data)))


BIG = {"text": "x" * (HEAD_BYTES + 5)}


@pytest.mark.parametrize(
    ("values", "records"),
    [
        ([{"a": 1}], [{"a": 1}]),
        ([{"a": 1}, b"{broken", [2], "3", {"b": 4}], [{"a": 1}, [2], 3, {"b": 4}]),
        ([BIG], [BIG]),
        ([{"a": 1}, BIG], [{"a": 1}, BIG]),
        ([BIG, {"a": 1}], [BIG]),
        ([b"\xef\xbb\xbf" + orjson.dumps({"a": 1})], [{"a": 1}]),
    ],
)
def test_a_sample_holds_whole_lines(values: list[Any], records: list[Any], source: Write) -> None:
    """A first or second line longer than the head is read to its end; broken ones are left out."""
    sample = sample_of(Source(source(*values)))
    assert list(sample.records) == records
    assert list(sample.objects) == [record for record in records if isinstance(record, dict)]


def test_a_sample_looks_at_fifty_lines(source: Write) -> None:
    """More than that tells nothing new."""
    sample = sample_of(Source(source(*[{"n": n} for n in range(80)])))
    assert [record["n"] for record in sample.records] == list(range(50))


@pytest.mark.parametrize(
    ("body", "value", "first"),
    [
        (b'{"a": 1}', {"a": 1}, {"a": 1}),
        (b'[{"a": 1}, {"b": 2}]', [{"a": 1}, {"b": 2}], {"a": 1}),
        (b'[1, null, {"b": 2}]', [1, None, {"b": 2}], {"b": 2}),
        (b'{\n"a": 1\n}\n', {"a": 1}, {"a": 1}),
        (b'[\n{"a": 1}\n]', [{"a": 1}], {"a": 1}),
        (b"[]", [], {}),
        (b'{"a": 1}\n{"b": 2}\n', None, {}),
        (b"[1]\n[2]\n", None, {}),
        (b'{"a": ', None, {}),
        (b'"text"', None, {}),
        (b"5", None, {}),
        (b"role,content\n", None, {}),
    ],
)
def test_a_sample_is_one_value_or_lines(
    body: bytes, value: Any, first: dict[str, Any], source: Write
) -> None:
    """What is not one JSON list or object has no value, and its first object is empty."""
    sample = sample_of(Source(source(body)))
    assert sample.value == value
    assert sample.first == first


def test_folders_and_archives_are_sampled_by_their_members(tmp_path: Path) -> None:
    """There is no head to look at, and no error."""
    for path in (archive(tmp_path / "x.zip", a=b"{}"), tmp_path):
        sample = sample_of(Source(path))
        assert (sample.head, sample.value, sample.first) == (b"", None, {})
        assert sample.source.members


def test_json_lines_are_not_read_whole_to_tell_their_format(tmp_path: Path) -> None:
    """A log of 24 MB is sampled in less than a quarter of its size."""
    line = orjson.dumps({"text": "x" * 4000}) + b"\n"
    path = tmp_path / "log.jsonl"
    with path.open("wb") as stream:
        stream.writelines(line for _ in range(6000))
    tracemalloc.start()
    sample = sample_of(Source(path))
    assert sample.value is None
    assert len(sample.records) == 50
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < path.stat().st_size / 4


def test_what_is_too_large_to_hold_is_refused_with_its_size(
    source: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Limits made small here: a value of the limit is read, one byte more is refused."""
    monkeypatch.setattr("ctxeng.harness.importers.source.MAX_JSON_BYTES", 10)
    monkeypatch.setattr("ctxeng.harness.importers.source.MAX_MEMBER_BYTES", 10)
    packed = archive(tmp_path / "x.zip", small=b'"12345678"', large=b'"123456789"')
    assert Source(source(b'"12345678"', name="a.json")).json == "12345678"
    assert Source(packed).member_json("small.json") == "12345678"
    with pytest.raises(DatasetError, match=r"at most 10 bytes, got 11 .*Split it first"):
        _ = Source(source(b'"123456789"', name="b.json")).json
    with pytest.raises(DatasetError, match=r"at most 10 bytes, got more .*x\.zip!large\.json"):
        Source(packed).member("large.json")
