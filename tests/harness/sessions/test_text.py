"""Text safety: what any bytes become before a session holds them."""

from __future__ import annotations

import codecs
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ctxeng.core.errors import DatasetError
from ctxeng.harness.sessions.text import (
    MAX_DEPTH,
    clean,
    clean_json,
    decode,
    json_fault,
    likely_encoding,
    lines,
    open_utf8,
    parse_json,
)

JAPANESE = "予算は三千円までにしてください。締め切りは金曜日です。"
KOREAN = "예산은 삼천 원까지입니다. 마감은 금요일이에요."
hostile = st.text(
    st.one_of(
        st.sampled_from("\x00\r\n\ufeff\ud83d\ude00\u2028\x1b\u202e予가a"),
        st.characters(exclude_categories=()),
    )
)
numbers = st.one_of(
    st.integers(-(2**63), 2**64 - 1), st.floats(allow_nan=False, allow_infinity=False)
)
json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, hostile),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(hostile, inner, max_size=4)
    ),
    max_leaves=12,
)


def nested(depth: int, inside: Any = "x") -> Any:
    """Return ``inside`` within ``depth`` lists."""
    for _ in range(depth):
        inside = [inside]
    return inside


@pytest.mark.parametrize(
    ("given_text", "wanted"),
    [
        ("", ""),
        ("plain", "plain"),
        (JAPANESE, JAPANESE),
        (KOREAN, KOREAN),
        ("a\x00b", "ab"),
        ("\x00\x00", ""),
        ("a\r\nb", "a\nb"),
        ("a\r\r\nb", "a\nb"),
        ("a\r\x00\nb", "a\nb"),
        ("a\rb", "a\rb"),
        ("\ufeffa", "a"),
        ("\ufeff\ufeffa", "a"),
        ("\x00\ufeffa", "a"),
        ("a\ufeffb", "a\ufeffb"),
        ("\ud83d\ude00", "\U0001f600"),
        ("x\ud83d", "x\ufffd"),
        ("\ude00x", "\ufffdx"),
        ("予\ud83d算", "予\ufffd算"),
        ("a\u2028b\u2029c\x85d", "a\u2028b\u2029c\x85d"),
        ("\x1b[31mred\x1b[0m\t", "\x1b[31mred\x1b[0m\t"),
    ],
)
def test_clean_changes_only_what_cannot_be_stored(given_text: str, wanted: str) -> None:
    """NUL, lone surrogates, a leading mark and Windows line ends go; every other character stays."""
    assert clean(given_text) == wanted


@given(hostile)
@settings(max_examples=50, deadline=None)
@example("\r\x00\r\n")
@example("\ud83d\x00\ude00")
def test_clean_text_can_be_stored_and_is_cleaned_once(text: str) -> None:
    """Whatever comes in, what goes out encodes to UTF-8 without NUL and is a fixed point."""
    once = clean(text)
    assert clean(once) == once
    assert "\x00" not in once
    assert "\r\n" not in once
    assert not once.startswith("\ufeff")
    assert once.encode("utf-8").decode("utf-8") == once


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (None, None),
        (True, True),
        (-7, -7),
        (0.5, 0.5),
        (float("inf"), None),
        (float("-inf"), None),
        (float("nan"), None),
        (2**64 - 1, 2**64 - 1),
        (2**64, "18446744073709551616"),
        (-(2**63), -(2**63)),
        (-(2**63) - 1, "-9223372036854775809"),
        ({"a\x00": ["b\x00", {"c": "\ud83d"}]}, {"a": ["b", {"c": "\ufffd"}]}),
        ({1: "one"}, {"1": "one"}),
    ],
)
def test_clean_json_keeps_what_json_and_a_database_can_hold(value: Any, wanted: Any) -> None:
    """Strings and keys are cleaned, numbers that no reader shares become digits or null."""
    assert clean_json(value) == wanted


def test_clean_json_keeps_what_is_nested_too_deeply_as_text() -> None:
    """The deepest level that is structure is MAX_DEPTH; what lies below is JSON text, not lost."""
    kept = clean_json(nested(MAX_DEPTH + 2, "予算"))
    for _ in range(MAX_DEPTH):
        kept = kept[0]
    assert kept == '[["予算"]]'
    assert clean_json(nested(MAX_DEPTH, "x")) == nested(MAX_DEPTH, "x")


def test_clean_json_survives_any_nesting() -> None:
    """A value nested beyond the interpreter's own limit is replaced, never a crash."""
    kept = clean_json(nested(100_000))
    for _ in range(MAX_DEPTH):
        kept = kept[0]
    assert isinstance(kept, str)


def test_a_byte_order_mark_before_any_line_is_passed_over() -> None:
    """Files with a mark that were joined by hand have it in their middle."""
    assert parse_json('\ufeff{"a": 1}'.encode()) == {"a": 1}


def test_json_of_any_depth_and_numbers_of_any_length_are_read() -> None:
    """What lies deeper than MAX_DEPTH is its own JSON as text, brackets in strings apart."""
    inner = '[{"x]":' * 50_000 + r'"q]\"}"' + "}]" * 50_000
    read = parse_json(f'{{"a": {inner}, "n": {"9" * 10_000}, "b": [1]}}'.encode())
    assert (read["n"], read["b"]) == ("9" * 10_000, [1])
    kept, depth = read["a"], 1
    while not isinstance(kept, str):
        kept, depth = kept[0] if isinstance(kept, list) else kept["x]"], depth + 1
    assert depth == MAX_DEPTH
    assert kept == inner[7 * (MAX_DEPTH // 2) - 6 :][: len(kept)]
    assert kept.count("[") == 50_000 - MAX_DEPTH // 2 + (kept[0] == "[")
    with pytest.raises(ValueError, match="depth"):
        parse_json(b"[" * 100_000)


@given(json_values)
@settings(max_examples=50, deadline=None)
def test_cleaned_json_is_a_fixed_point(value: Any) -> None:
    """Cleaning twice gives what cleaning once gives."""
    once = clean_json(value)
    assert clean_json(once) == once


@given(json_values)
@settings(max_examples=50, deadline=None)
def test_parsing_cleans_every_string_however_it_was_escaped(value: Any) -> None:
    """The fast and the lenient parser agree: escaped or raw, what comes out is clean."""
    escaped = json.dumps(value).encode("ascii")
    assert parse_json(escaped) == clean_json(value)
    raw = json.dumps(clean_json(value), ensure_ascii=False).encode("utf-8")
    assert parse_json(raw) == clean_json(value)


@pytest.mark.parametrize(
    ("data", "wanted"),
    [
        (b'{"a": 1}', {"a": 1}),
        (b" [1, 2] \r\n", [1, 2]),
        (b'"\\u0000a"', "a"),
        (b'"\\ud83d"', "\ufffd"),
        (b'"\\ud83d\\ude00"', "\U0001f600"),
        (b'"\\ufeffa"', "a"),
        (b'"\\uFEFFa"', "a"),
        (b'"\xef\xbb\xbfa"', "a"),
        (b'"a\\r\\nb"', "a\nb"),
        (b'"a\tb"', "a\tb"),
        (b'"a\x00b"', "ab"),
        (b'"C:\\\\reports"', "C:\\reports"),
        (b"[NaN, Infinity, -Infinity]", [None, None, None]),
        (b"1e400", None),
        (b'{"a": 1, "a": 2}', {"a": 2}),
        (b'"a\xe2\x80\xa8b"', "a\u2028b"),
    ],
)
def test_parse_json_accepts_sound_structure_with_odd_characters(data: bytes, wanted: Any) -> None:
    """Characters and numbers that strict JSON refuses do not cost the whole line."""
    assert parse_json(data) == wanted


@pytest.mark.parametrize(
    "data",
    [b"", b"   ", b"{", b'{"a": 1', b'{"a": 1}{"b": 2}', b"{'a': 1}", b"\x00\x00", b"\xff\xfe", b'"\xff"',
     b"[1,]", b"undefined"],
)  # fmt: skip
def test_parse_json_refuses_broken_structure(data: bytes) -> None:
    """What is no JSON value in UTF-8 is a ValueError and nothing else."""
    with pytest.raises(ValueError, match=r".") as caught:
        parse_json(data)
    assert json_fault(caught.value)


def test_a_fault_of_one_line_names_the_character_and_no_other_line_number() -> None:
    """The parser's own "line 1" would contradict the line of the file that stands before it."""
    with pytest.raises(ValueError, match=r".") as caught:
        parse_json(b'{"a": 1} {')
    assert json_fault(caught.value) == "unexpected content after document at character 9"
    assert json_fault(ValueError("anything else")) == "anything else"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("text", ["", JAPANESE, KOREAN, '{"a": "b"}'])
def test_a_byte_order_mark_names_the_encoding(encoding: str, text: str, tmp_path: Path) -> None:
    """Files that begin with a mark are read without being told their encoding."""
    data = text.encode(encoding)
    assert decode(data, where="x") == text
    path = tmp_path / "marked"
    path.write_bytes(data)
    with open_utf8(path) as stream:
        assert stream.read() == text.encode("utf-8")


@pytest.mark.parametrize(
    ("bom", "encoding"),
    [
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
        (codecs.BOM_UTF8, "utf-8"),
        (b"", "utf-8"),
        (b"", "cp932"),
        (b"", "euc_jp"),
    ],
)
def test_a_named_encoding_is_used_and_its_mark_skipped(
    bom: bytes, encoding: str, tmp_path: Path
) -> None:
    """Naming the encoding that a mark names too does not bring the mark into the text."""
    path = tmp_path / "file"
    path.write_bytes(bom + JAPANESE.encode(encoding))
    assert decode(path.read_bytes(), where="x", encoding=encoding) == JAPANESE
    with open_utf8(path, encoding=encoding) as stream:
        assert stream.read().decode("utf-8") == JAPANESE


@pytest.mark.parametrize("name", ["klingon", "hex", "rot13", "base64", "undefined"])
def test_what_is_no_text_encoding_is_refused_by_name(name: str, tmp_path: Path) -> None:
    """An unknown codec, or one that is not of text, is told before anything is read."""
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    for read in (
        lambda: open_utf8(path, encoding=name),
        lambda: decode(b"abc", where=str(path), encoding=name),
    ):
        with pytest.raises(DatasetError, match=f"encoding must be one that Python knows.*{name}"):
            read()


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (JAPANESE, "cp932"),
        (JAPANESE, "euc_jp"),
        ("コンピュータのプログラムをテスト", "cp932"),
        (KOREAN, "cp949"),
        ("预算是三千元，红色的盒子不要了。明天下午两点开会", "gb18030"),
        ("預算是三千元，紅色的盒子不要了。明天下午兩點開會", "big5"),
        ("Der Preis beträgt fünfzig Euro, für größere Räume mehr", "cp1252"),
        ("À l'été, le budget a été fixé; Élodie a refusé la boîte", "cp1252"),
        ("El año próximo la señora Núñez comprará café; ¿cuánto costará?", "cp1252"),
        ("plain words and 予算", "utf-16-le"),
        ("plain words and 予算", "utf-16-be"),
    ],
)
def test_text_in_an_old_encoding_is_refused_with_the_encoding_to_name(
    text: str, encoding: str
) -> None:
    """The error says which encoding it looks like and how to pass it."""
    data = text.encode(encoding)
    assert likely_encoding(data) == encoding
    with pytest.raises(DatasetError, match=rf"x\.json.*pass --encoding {encoding}"):
        decode(data, where="x.json")


@pytest.mark.parametrize(
    ("name", "encoding"),
    [
        ("rpc_shift_jis.json", "cp932"),
        ("rpc_euc_jp.json", "euc_jp"),
        ("songys_cp949.csv", "cp949"),
        ("rpc_cut_inside_multibyte.json", None),
        ("cc_truncated_last_line.jsonl", None),
    ],
)
def test_the_encoding_of_real_files_is_guessed(
    name: str, encoding: str | None, shared_data: Path
) -> None:
    """The guess agrees with how the damaged copies were made (their names say it)."""
    data = (shared_data / "damaged" / name).read_bytes()
    assert likely_encoding(data) == encoding
    if encoding:
        assert "\ufffd" not in decode(data, where=name, encoding=encoding)


def test_a_mystery_is_refused_without_a_guess() -> None:
    """Bytes that no encoding explains get the general advice."""
    data = bytes([0x81, 0xFF, 0xFE, 0x80] * 8)
    assert likely_encoding(data) is None
    with pytest.raises(DatasetError, match="Pass --encoding with the file's own encoding"):
        decode(data, where="x")


def test_bytes_of_another_encoding_are_told_with_the_file(tmp_path: Path) -> None:
    """A named encoding that does not fit names the file and the encoding that does."""
    path = tmp_path / "korean.txt"
    path.write_bytes((KOREAN * 20).encode("cp949"))
    with (
        pytest.raises(DatasetError, match=r"text must be utf-16.*korean\.txt"),
        open_utf8(path, encoding="utf-16") as stream,
    ):
        stream.read()


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-32-be", "cp932", "euc_jp"])
def test_a_file_cut_inside_its_last_character_loses_only_that(
    encoding: str, tmp_path: Path
) -> None:
    """What stands before the cut is read; the cut character becomes a replacement."""
    path = tmp_path / "cut"
    path.write_bytes("一行目\n二行目".encode(encoding)[:-1])
    with open_utf8(path, encoding=encoding) as stream:
        assert stream.read().decode("utf-8") == "一行目\n二行\ufffd"


def test_recoding_gives_the_same_bytes_whatever_the_read_size(tmp_path: Path) -> None:
    """Characters that straddle a read are not torn."""
    text = "".join(f"{i}: {JAPANESE}\n" for i in range(3000))
    path = tmp_path / "long"
    path.write_bytes(text.encode("utf-16"))
    with open_utf8(path) as stream:
        found = b"".join(iter(lambda: stream.read(4097), b""))
    assert found.decode("utf-8") == text


@pytest.mark.parametrize(
    ("data", "wanted"),
    [
        (b"", []),
        (b"a", [(1, b"a")]),
        (b"a\n", [(1, b"a")]),
        (b"a\r\nb\r\n", [(1, b"a"), (2, b"b")]),
        (b"a\n\nb", [(1, b"a"), (2, b""), (3, b"b")]),
        (b"a\rb", [(1, b"a\rb")]),
        ("a\u2028b\x0bc\x85d\ne".encode(), [(1, "a\u2028b\x0bc\x85d".encode()), (2, b"e")]),
    ],
)
def test_lines_end_at_line_feeds_only(data: bytes, wanted: list[tuple[int, bytes]]) -> None:
    """U+2028 and its kin stand inside words; the last line needs no end."""
    assert list(lines(io.BytesIO(data))) == wanted


@given(
    st.lists(st.binary(max_size=20).map(lambda b: b.replace(b"\n", b"").rstrip(b"\r")), max_size=8)
)
@settings(max_examples=50, deadline=None)
def test_lines_are_those_that_were_joined(parts: list[bytes]) -> None:
    """Numbers count from one without a hole, and no byte of a line is lost."""
    stream = io.BytesIO(b"".join(part + b"\n" for part in parts))
    assert list(lines(stream)) == list(enumerate(parts, start=1))
