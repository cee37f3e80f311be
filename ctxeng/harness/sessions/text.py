"""Text safety: the one place where foreign bytes become text that every floor can store.

What leaves here holds no NUL (databases refuse it), no lone surrogate (UTF-8 refuses it), no
byte-order mark at its start, and ``\\n`` as its only line ending of Windows and Unix files. Other
characters, U+2028 included, are kept: they are somebody's words.
"""

from __future__ import annotations

import codecs
import io
import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from ctxeng.core.errors import DatasetError
from ctxeng.core.text import well_formed

_BUFFER_BYTES = 1 << 17
MAX_DEPTH = 200
"""Deepest nesting that is kept as structure; what lies deeper is kept as JSON text."""

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_GUESSES = ("cp932", "euc_jp", "cp949", "gb18030", "big5", "cp1252")
_WESTERN = re.compile("[ß-öø-ÿœšž]|[À-ÖØ-ÞŒŠŽ](?=[a-z])")
"""Letters as Western words have them: small, or at the head of small ones."""
_RETURNS = re.compile(r"\r+\n")
_ESCAPED = re.compile(rb"\\(?:r|u(?:0000|[fF][eE][fF][fF]))")
_STRUCTURE = re.compile(r'[\[\]{}]|"(?:[^"\\]|\\.)*"', re.DOTALL)
_MOST_DIGITS = 4000
"""Fewer than those that the interpreter refuses to read as a number."""
_INT64 = range(-(2**63), 2**64)


def clean(text: str) -> str:
    """Return ``text`` safe to store: no NUL, no lone surrogate, no leading BOM, ``\\n`` line ends.

    Idempotent. Surrogate pairs that JSON escapes left apart are joined; a lone half becomes U+FFFD.
    """
    if not text.isascii():
        text = well_formed(text).lstrip("\ufeff")
    if "\x00" in text:
        text = text.replace("\x00", "")
        return clean(text)
    return _RETURNS.sub("\n", text) if "\r" in text else text


def clean_json(value: Any, *, depth: int = 0) -> Any:
    """Return a JSON value with every string clean and every number storable.

    Integers beyond 64 bits become their decimal digits, infinities and NaN become None, and what
    is nested deeper than ``MAX_DEPTH`` becomes text.
    """
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict | list):
        return _clean_nested(value, depth + 1) if depth < MAX_DEPTH else _nested_text(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    is_giant = isinstance(value, int) and not isinstance(value, bool) and value not in _INT64
    return str(value) if is_giant else value


def _clean_nested(value: dict[Any, Any] | list[Any], depth: int) -> Any:
    if isinstance(value, dict):
        return {clean(str(key)): clean_json(inner, depth=depth) for key, inner in value.items()}
    return [clean_json(inner, depth=depth) for inner in value]


def _nested_text(value: Any) -> str:
    try:
        return clean(json.dumps(value, ensure_ascii=False))
    except RecursionError:
        return "[nested too deeply]"


def parse_json(data: bytes) -> Any:
    """Return the JSON value in ``data``, its strings clean.

    Raises:
        ValueError: ``data`` is not JSON in UTF-8.
    """
    value = parse_json_unclean(data)
    return clean_json(value) if needs_cleaning(data) else value


def parse_json_unclean(data: bytes) -> Any:
    """Return the JSON value in ``data``; whoever keeps some of its text cleans that (``encode``).

    Raises:
        ValueError: ``data`` is not JSON in UTF-8.
    """
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        return _parse_leniently(data, error)


def needs_cleaning(data: bytes) -> bool:
    """Return whether JSON may hold what ``clean`` removes; every line pays for this question."""
    return (
        (b"\\" in data and _ESCAPED.search(data) is not None)
        or b"\r" in data
        or (b"\xef" in data and codecs.BOM_UTF8 in data)
    )


def _parse_leniently(data: bytes, error: ValueError) -> Any:
    """Accept what the strict parser refuses although its structure is sound.

    Lone surrogates, raw control characters in strings, NaN, numbers of any length, nesting of any
    depth.
    """
    try:
        text = data.decode("utf-8-sig")  # files joined by hand have a mark in their middle
        try:
            value = json.loads(text, strict=False, parse_int=_integer)
        except RecursionError:
            value = json.loads(_flattened(text), strict=False, parse_int=_integer)
    except (ValueError, RecursionError):
        raise error from None
    return clean_json(value)


def _integer(digits: str) -> int | str:
    """Return an integer, or its digits where they are too many to count with."""
    return int(digits) if len(digits) < _MOST_DIGITS else digits


def _flattened(text: str) -> str:
    """Return JSON in which what is nested deeper than ``MAX_DEPTH`` is text; linear in the text."""
    parts, depth, kept_to, deep_from = [], 0, 0, 0
    for token in _STRUCTURE.finditer(text):
        if token[0] in "[{":
            depth += 1
            if depth == MAX_DEPTH + 1:
                deep_from = token.start()
        elif token[0] in "]}":
            depth -= 1
            if depth == MAX_DEPTH:
                parts += [text[kept_to:deep_from], json.dumps(text[deep_from : token.end()])]
                kept_to = token.end()
    return "".join([*parts, text[kept_to:]])


def json_fault(error: ValueError) -> str:
    """Return what is wrong with one line of JSON, and at which character of it."""
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at character {error.pos}"
    return str(error)


def decode(data: bytes, *, where: str, encoding: str | None = None) -> str:
    """Return ``data`` as clean text.

    Args:
        where: named in the error, usually the file.
        encoding: None means UTF-8, or what a byte-order mark says.

    Raises:
        DatasetError: the bytes are not in that encoding; names the likely one and the remedy.
    """
    used, skip = _encoding_of(data[:4], encoding, where)
    try:
        return clean(data[skip:].decode(used))
    except UnicodeError as error:
        raise DatasetError(_encoding_message(data, used, error, where)) from None


def open_utf8(path: Path, *, encoding: str | None = None) -> BinaryIO:
    """Return a binary stream of UTF-8 bytes, its byte-order mark skipped, whatever the file's own.

    Raises:
        DatasetError: the encoding is unknown to Python.
    """
    raw = path.open("rb", buffering=_BUFFER_BYTES)
    try:
        used, skip = _encoding_of(raw.read(4), encoding, str(path))
        raw.seek(skip)
    except BaseException:
        raw.close()
        raise
    if used == "utf-8":
        return raw
    return io.BufferedReader(_Recoded(raw, used, str(path)))


def lines(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yield ``(line number from 1, bytes without the line end)``, split on ``\\n`` only."""
    for number, line in enumerate(stream, start=1):
        yield number, line.rstrip(b"\r\n")


def likely_encoding(data: bytes) -> str | None:
    """Return the name of an encoding that explains ``data``, None for UTF-8 or a mystery."""
    if wide := _without_mark(data):
        return wide
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data":
            return None
    else:
        return None
    scored = [(score, name) for name in _GUESSES if (score := _plausibility(data, name)) > 0]
    return max(scored, default=(0.0, None), key=lambda pair: pair[0])[1]


def _without_mark(data: bytes) -> str | None:
    """Return the UTF-16 of text without a byte-order mark: every other byte of ASCII is 0."""
    pairs = len(data) // 2
    for name, zeros, others in (("utf-16-le", 1, 0), ("utf-16-be", 0, 1)):
        empty = data[zeros : 2 * pairs : 2].count(0)
        if empty > pairs // 3 and not data[others : 2 * pairs : 2].count(0):
            return name
    return None


def _encoding_of(head: bytes, wanted: str | None, where: str) -> tuple[str, int]:
    """Return the encoding to read with, and the length of its byte-order mark in ``head``.

    Refused are names that Python does not know, and codecs that are not of text (``hex``).
    """
    marked, length = _by_bom(head)
    if not wanted:
        return marked, length
    try:
        b"ab".decode(wanted)
    except UnicodeDecodeError:
        pass
    except (LookupError, UnicodeError):
        raise DatasetError(
            f"encoding must be one that Python knows, got {wanted!r} ({where}). "
            "Use for example utf-8, cp932, euc_jp, cp949, gb18030 or cp1252."
        ) from None
    return wanted, length if codecs.lookup(wanted).name == marked else 0


def _by_bom(head: bytes) -> tuple[str, int]:
    for bom, name in _BOMS:
        if head.startswith(bom):
            return name, len(bom)
    return "utf-8", 0


def _plausibility(data: bytes, encoding: str) -> float:
    """Return how likely the non-ASCII characters are, 0 to 1: kana, hangul, han, Latin letters."""
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        if error.end < len(data) - 4:
            return 0.0
        text = data[: error.start].decode(encoding)
    foreign = [ch for ch in text if ord(ch) > 127]
    if not foreign:
        return 0.0
    if encoding == "cp1252":
        return len(_WESTERN.findall(text)) / len(foreign)
    kana_hangul = sum("\u3040" <= ch <= "\u30ff" or "\uac00" <= ch <= "\ud7a3" for ch in foreign)
    han = sum("\u4e00" <= ch <= "\u9fff" for ch in foreign)
    return (kana_hangul + 0.6 * han) / len(foreign)


def _encoding_message(data: bytes, used: str, error: Exception, where: str) -> str:
    guess = likely_encoding(data[:65536])
    at = f" at byte {error.start}" if isinstance(error, UnicodeDecodeError) else ""
    if guess and guess != used:
        advice = f"It looks like {guess}: pass --encoding {guess}."
    else:
        advice = "Pass --encoding with the file's own encoding, or save it as UTF-8."
    return f"text must be {used}, got other bytes{at} ({where}). {advice}"


class _Recoded(io.RawIOBase):
    """A binary stream of UTF-8 read from a stream of another encoding."""

    def __init__(self, raw: BinaryIO, encoding: str, where: str) -> None:
        self._raw, self._encoding, self._where = raw, encoding, where
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._ready = b""
        self._at_end = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready and not self._at_end:
            chunk = self._raw.read(65536)
            self._at_end = not chunk
            self._ready = self._decoded(chunk).encode("utf-8", "surrogatepass")
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def _decoded(self, chunk: bytes) -> str:
        """Decode a chunk; a character cut off by the end of the file becomes U+FFFD."""
        try:
            return self._decoder.decode(chunk, final=not chunk)
        except UnicodeError as error:
            if not chunk:
                return "\ufffd"
            message = _encoding_message(chunk, self._encoding, error, self._where)
            raise DatasetError(message) from None

    def close(self) -> None:
        self._raw.close()
        super().close()
