"""Find what there is to import below a path: files, archives, and folders that are one source."""

from __future__ import annotations

import stat
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ctxeng.core.errors import DatasetError
from ctxeng.harness.importers.model import Finding, Importer
from ctxeng.harness.importers.source import COMPRESSED_SUFFIXES


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A source, and whether the person named it."""

    path: Path
    is_named: bool


@dataclass(slots=True)
class Walk:
    """A walk below one path; hidden files and folders are passed over.

    A folder is walked once, by whatever links it is reached. ``faults`` tells what could not be
    looked into, and what is no file (a pipe would be waited at for ever).
    """

    root: Path
    importers: Sequence[Importer]
    found: list[Found] = field(default_factory=list)
    other: Counter[str] = field(default_factory=Counter)
    faults: list[Finding] = field(default_factory=list)
    walked: set[Path] = field(default_factory=set)

    @classmethod
    def below(cls, root: Path, importers: Sequence[Importer]) -> Walk:
        """Return the walk, done.

        Raises:
            DatasetError: the path is missing, neither a file nor a folder, or a folder without
                anything to look at.
        """
        walk = cls(root, importers)
        if (kind := _kind(root)) is None:
            raise DatasetError(f"a path to import must exist, got {root}. Check the spelling.")
        if kind not in ("file", "folder"):
            raise DatasetError(
                f"a path to import must be a file or a folder, got {kind} ({root}). "
                "Save its content as a file."
            )
        if kind == "folder" and not walk._is_claimed(root):
            walk._folder(root, {suffix for one in importers for suffix in one.suffixes})
        else:
            walk.found.append(Found(path=root, is_named=True))
        if not walk.found:
            suffixes = sorted({suffix for one in importers for suffix in one.suffixes})
            seen = "; ".join(f"{fault.file}: {fault.what}" for fault in walk.faults[:3])
            raise DatasetError(
                f"a folder to import must hold {', '.join(suffixes)} files, got none in {root}"
                f"{f' ({seen})' if seen else ''}. Check the path."
            )
        return walk

    @property
    def findings(self) -> list[Finding]:
        """Return the faults, and one finding about files that were not looked at."""
        if not self.other:
            return self.faults
        kinds = ", ".join(
            f"{n} file{'s' if n > 1 else ''} {suffix}" for suffix, n in sorted(self.other.items())
        )
        looked_past = Finding(file=str(self.root), line=0, what=f"not looked at: {kinds}")
        return [looked_past, *self.faults]

    def _is_claimed(self, folder: Path) -> bool:
        try:
            return any(importer.claims_folder(folder) for importer in self.importers)
        except OSError:
            return False

    def _fault(self, path: Path, what: str) -> None:
        self.faults.append(Finding(file=str(path), line=0, what=what))

    def _folder(self, folder: Path, suffixes: set[str]) -> None:
        self.walked.add(folder.resolve())
        try:
            entries = sorted(folder.iterdir())
        except OSError as error:
            self._fault(folder, f"a folder that cannot be looked into: {error.strerror}")
            return
        for entry in entries:
            if entry.name.startswith("."):
                continue
            kind = _kind(entry)
            if kind == "folder":
                self._subfolder(entry, suffixes)
            elif kind != "file":
                self._fault(entry, f"not looked at: {kind or 'a link that leads nowhere'}")
            elif _unpacked_suffix(entry) not in suffixes:
                self.other[entry.suffix or "without an ending"] += 1
            elif not any(importer.is_companion(entry) for importer in self.importers):
                self.found.append(Found(path=entry, is_named=False))

    def _subfolder(self, folder: Path, suffixes: set[str]) -> None:
        if folder.resolve() in self.walked:
            self._fault(folder, "not looked at: a link to a folder that is walked already")
        elif self._is_claimed(folder):
            self.found.append(Found(path=folder, is_named=False))
        else:
            self._folder(folder, suffixes)


def _kind(path: Path) -> str | None:
    """Return what a path leads to, None where it leads nowhere or is out of reach."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return None
    if stat.S_ISDIR(mode):
        return "folder"
    return "file" if stat.S_ISREG(mode) else "a pipe, socket or device"


def _unpacked_suffix(file: Path) -> str:
    """Return the suffix a file has once it is unpacked, so that one not unpacked yet is told."""
    return Path(file.stem).suffix if file.suffix in COMPRESSED_SUFFIXES else file.suffix
