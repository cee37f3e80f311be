"""A file, folder or archive to import from, and the sample by which its format is told."""

from __future__ import annotations

import json
import lzma
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

from ctxeng.core.errors import DatasetError
from ctxeng.harness.sessions.text import decode, lines, open_utf8, parse_json

if sys.version_info >= (3, 14):
    import zipfile
else:  # the same module, with Zstandard
    from backports.zstd import zipfile

HEAD_BYTES = 262_144
MAX_LINE_BYTES = 64_000_000
MAX_JSON_BYTES = 2_000_000_000
MAX_MEMBER_BYTES = 1_000_000_000
MAX_ARCHIVE_BYTES = 4_000_000_000
MAX_RATIO = 200
_COMPRESSED = {
    b"\x28\xb5\x2f\xfd": ("Zstandard", "zstd -d"),
    b"\x1f\x8b": ("gzip", "gunzip"),
    b"BZh": ("bzip2", "bunzip2"),
    b"\xfd7zXZ": ("xz", "unxz"),
}
_ZIP = b"PK\x03\x04"
COMPRESSED_SUFFIXES = frozenset({".zst", ".gz", ".bz2", ".xz"})

_BROKEN_ARCHIVE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    NotImplementedError,
    RuntimeError,
    EOFError,
    OSError,
)


class Source:
    """One thing to import: a file, an unpacked folder, or a zip archive, read by member name."""

    def __init__(self, path: Path, *, encoding: str | None = None) -> None:
        self.path = path
        self.encoding = encoding

    @property
    def name(self) -> str:
        """Return the path as messages show it."""
        return str(self.path)

    @cached_property
    def is_archive(self) -> bool:
        """Return whether the source is a zip archive."""
        return self.path.is_file() and zipfile.is_zipfile(self.path)

    @contextmanager
    def stream(self) -> Iterator[BinaryIO]:
        """Open the file as UTF-8 bytes."""
        with _readable(self.path), open_utf8(self.path, encoding=self.encoding) as stream:
            yield stream

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield ``(line number, bytes)`` of the file."""
        with self.stream() as stream:
            yield from lines(stream)

    def text(self) -> str:
        """Return the whole file as clean text."""
        with _readable(self.path):
            return decode(self.path.read_bytes(), where=self.name, encoding=self.encoding)

    @cached_property
    def json(self) -> Any:
        """Return the whole file as one JSON value, clean.

        Raises:
            DatasetError: the file is not JSON, not UTF-8, or too large.
        """
        with _readable(self.path):
            size = self.path.stat().st_size
            if size > MAX_JSON_BYTES:
                raise DatasetError(
                    f"a JSON file must be at most {MAX_JSON_BYTES:,} bytes, got {size:,} "
                    f"({self.name}). Split it first."
                )
            data = self.path.read_bytes()
        return json_value(data, where=self.name, encoding=self.encoding)

    @cached_property
    def members(self) -> tuple[str, ...]:
        """Return the names inside a folder or archive, sorted; empty for a plain file."""
        if self.path.is_dir():
            found = (file for file in self.path.rglob("*") if file.is_file())
            return tuple(sorted(file.relative_to(self.path).as_posix() for file in found))
        if not self.is_archive:
            return ()
        with self._broken_archive_told():
            archive = self._archive
            return tuple(sorted(i.filename for i in archive.infolist() if not i.is_dir()))

    def member(self, name: str) -> bytes:
        """Return the bytes of a member of a folder or archive."""
        if self.path.is_dir():
            with _readable(self.path / name):
                return (self.path / name).read_bytes()
        with self._broken_archive_told():
            return _unpacked(self._archive, name, self.name)

    def member_json(self, name: str) -> Any:
        """Return a member as a JSON value, clean."""
        return json_value(self.member(name), where=f"{self.name}!{name}", encoding=self.encoding)

    @cached_property
    def _archive(self) -> zipfile.ZipFile:
        """Return the archive, its directory read once however many members it has."""
        archive = zipfile.ZipFile(self.path)
        _refuse_bomb(archive, self.name)
        return archive

    @contextmanager
    def _broken_archive_told(self) -> Iterator[None]:
        try:
            yield
        except _BROKEN_ARCHIVE as error:
            raise DatasetError(
                f"an archive must be a sound zip file, got {error} ({self.name}). "
                "Export it again, or unpack it and import the folder."
            ) from None


@dataclass(frozen=True, kw_only=True)
class Sample:
    """What detection looks at: the head of the file, and the whole value where it is JSON."""

    source: Source
    head: bytes

    @cached_property
    def records(self) -> tuple[Any, ...]:
        """Return the JSON values on the first lines; empty where the lines are no JSON."""
        found = []
        for line in self.head.split(b"\n")[:50]:
            try:
                found.append(parse_json(line))
            except ValueError:
                continue
        return tuple(found)

    @cached_property
    def objects(self) -> tuple[dict[str, Any], ...]:
        """Return the JSON objects on the first lines."""
        return tuple(record for record in self.records if isinstance(record, dict))

    @cached_property
    def value(self) -> Any:
        """Return the file as one JSON value; None where it is not one.

        A file whose first line is a value and not the last is JSON Lines: it is not read whole.
        """
        if self.source.path.is_dir() or self.source.is_archive or not self._opens_as_json:
            return None
        first, _, rest = self.head.lstrip().partition(b"\n")
        if rest.strip() and _is_json(first):
            return None
        try:
            return self.source.json
        except DatasetError:
            return None

    @cached_property
    def fault(self) -> str:
        """Return why a file that opens as JSON is no JSON, nor lines of it; else nothing."""
        if not self._opens_as_json or self.records:
            return ""
        try:
            self.source.json  # noqa: B018 (reading it raises)
        except DatasetError as error:
            return str(error)
        return ""

    @property
    def first(self) -> dict[str, Any]:
        """Return the object, or the first object of the list, that the file is; else empty."""
        value = self.value
        if isinstance(value, list):
            value = next((item for item in value if isinstance(item, dict)), None)
        return value if isinstance(value, dict) else {}

    @property
    def _opens_as_json(self) -> bool:
        return self.head.lstrip()[:1] in (b"{", b"[")


def sample_of(source: Source) -> Sample:
    """Return the sample of a source: its first lines, the last of them complete.

    Raises:
        DatasetError: the source is missing, empty, unreadable, or compressed in a foreign way.
    """
    if source.path.is_dir() or source.is_archive:
        return Sample(source=source, head=b"")
    with _readable(source.path), source.path.open("rb") as raw:
        refuse_compressed(raw.read(6), source.name)
    with source.stream() as stream:
        head = stream.read(HEAD_BYTES) + stream.readline(MAX_LINE_BYTES)
    if head.startswith(_ZIP):
        raise DatasetError(
            f"an archive must be a whole zip file, got one without its end ({source.name}). "
            "Export it again."
        )
    if not head.strip():
        raise DatasetError(f"a file to import must not be empty, got {source.name}. Remove it.")
    return Sample(source=source, head=head)


def _is_json(line: bytes) -> bool:
    try:
        parse_json(line)
    except ValueError:
        return False
    return True


def refuse_compressed(head: bytes, where: str) -> None:
    """Raise a DatasetError naming the remedy where a file is compressed, zip apart."""
    for magic, (kind, command) in _COMPRESSED.items():
        if head.startswith(magic):
            raise DatasetError(
                f"a file to import must be plain or zip, got {kind} data ({where}). "
                f"Unpack it first: {command} {where}"
            )


def json_value(data: bytes, *, where: str, encoding: str | None = None) -> Any:
    """Return the JSON value in ``data``, whatever its encoding, clean.

    Raises:
        DatasetError: it is not JSON; says where, or which encoding it seems to have.
    """
    try:
        return parse_json(data)
    except ValueError as first:
        text = decode(data, where=where, encoding=encoding)
        try:
            return parse_json(text.encode("utf-8"))
        except ValueError:
            at = _position(text, first)
            raise DatasetError(
                f"a JSON file must be one whole value, got {at} ({where}). "
                "It may have been cut off: export it again."
            ) from None


def _position(text: str, error: ValueError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} in line {error.lineno} of {text.count(chr(10)) + 1}"
    return str(error)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DatasetError(
            f"a file to import must be readable, got {path} ({error.strerror or error}). "
            "Check the path."
        ) from None


def _refuse_bomb(archive: zipfile.ZipFile, where: str) -> None:
    entries = archive.infolist()
    unpacked = sum(entry.file_size for entry in entries)
    packed = sum(entry.compress_size for entry in entries)
    if unpacked > MAX_ARCHIVE_BYTES or (unpacked > 50_000_000 and unpacked > MAX_RATIO * packed):
        raise DatasetError(
            f"an archive must unpack to at most {MAX_ARCHIVE_BYTES:,} bytes and {MAX_RATIO} times "
            f"its size, got {unpacked:,} from {packed:,} ({where}). "
            "Unpack it yourself if you trust it, and import the folder."
        )


def _unpacked(archive: zipfile.ZipFile, name: str, where: str) -> bytes:
    """Return a member's bytes; what the directory claims is not trusted."""
    try:
        with archive.open(name) as member:
            data = member.read(MAX_MEMBER_BYTES + 1)
    except KeyError:
        raise DatasetError(f"the archive must hold {name}, got none ({where}).") from None
    if len(data) > MAX_MEMBER_BYTES:
        raise DatasetError(
            f"a file in an archive must be at most {MAX_MEMBER_BYTES:,} bytes, got more "
            f"({where}!{name}). Unpack it yourself if you trust it."
        )
    return data
