"""Find what there is to import below a path: files, archives, and folders that are one source."""

from __future__ import annotations

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
    """A walk below one path; hidden files and folders are passed over."""

    root: Path
    importers: Sequence[Importer]
    found: list[Found] = field(default_factory=list)
    other: Counter[str] = field(default_factory=Counter)

    @classmethod
    def below(cls, root: Path, importers: Sequence[Importer]) -> Walk:
        """Return the walk, done.

        Raises:
            DatasetError: the path is missing, or a folder without anything to look at.
        """
        if not root.exists():
            raise DatasetError(f"a path to import must exist, got {root}. Check the spelling.")
        walk = cls(root, importers)
        if root.is_dir() and not walk._is_claimed(root):
            walk._folder(root, {suffix for one in importers for suffix in one.suffixes})
        else:
            walk.found.append(Found(path=root, is_named=True))
        if not walk.found:
            suffixes = sorted({suffix for one in importers for suffix in one.suffixes})
            raise DatasetError(
                f"a folder to import must hold {', '.join(suffixes)} files, got none in {root}."
            )
        return walk

    @property
    def findings(self) -> list[Finding]:
        """Return the finding about files that were not looked at, if there are any."""
        if not self.other:
            return []
        kinds = ", ".join(
            f"{n} file{'s' if n > 1 else ''} {suffix}" for suffix, n in sorted(self.other.items())
        )
        return [Finding(file=str(self.root), line=0, what=f"not looked at: {kinds}")]

    def _is_claimed(self, folder: Path) -> bool:
        return any(importer.claims_folder(folder) for importer in self.importers)

    def _folder(self, folder: Path, suffixes: set[str]) -> None:
        for entry in sorted(folder.iterdir()):
            if entry.name.startswith("."):
                continue
            if entry.is_dir():
                if self._is_claimed(entry):
                    self.found.append(Found(path=entry, is_named=False))
                else:
                    self._folder(entry, suffixes)
            elif _unpacked_suffix(entry) not in suffixes:
                self.other[entry.suffix or "without an ending"] += 1
            elif not any(importer.is_companion(entry) for importer in self.importers):
                self.found.append(Found(path=entry, is_named=False))


def _unpacked_suffix(file: Path) -> str:
    """Return the suffix a file has once it is unpacked, so that one not unpacked yet is told."""
    return Path(file.stem).suffix if file.suffix in COMPRESSED_SUFFIXES else file.suffix
