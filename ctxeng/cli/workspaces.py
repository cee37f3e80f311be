"""Lay out a workspace: the four folders, with the samples that travel inside the package."""

from __future__ import annotations

import shutil
import tomllib
from importlib.resources import as_file, files
from pathlib import Path

import ctxeng
from ctxeng.core.errors import InputError

FOLDERS = ("datasets", "probes", "experiments")
_IGNORED = "/.ctxeng/\n/reports/*\n"


def lay_out(folder: Path) -> int:
    """Copy the samples into ``folder`` and return the number of files; nothing is overwritten.

    Raises:
        InputError: the folder already holds one of the samples, or cannot be written.
    """
    with as_file(sample_root()) as root:
        sources = samples(root)
        targets = [folder / source.relative_to(root) for source in sources]
        taken = [str(target) for target in targets if target.exists()]
        if taken:
            raise InputError(
                f"workspace must be new, got {taken[0]}"
                f"{f' and {len(taken) - 1} more' if len(taken) > 1 else ''} in place. "
                "Name another folder."
            )
        try:
            for source, target in zip(sources, targets, strict=True):
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target)
            (folder / "reports").mkdir(exist_ok=True)
            ignore = folder / ".gitignore"
            if not ignore.exists():
                ignore.write_text(_IGNORED, encoding="utf-8")
        except OSError as error:
            raise InputError(
                f"workspace must be writable, got {folder} ({error.strerror or error})."
            ) from error
    return len(sources)


def samples(root: Path) -> list[Path]:
    """Return the sample files under a root, in order.

    A checkout may hold its user's own data beside them: there the samples are what its
    pyproject.toml puts into a wheel, and nothing else.
    """
    project = root / "pyproject.toml"
    shipped: list[str] = list(FOLDERS)
    if project.is_file():
        build = tomllib.loads(project.read_text("utf-8"))["tool"]["hatch"]["build"]
        shipped = list(build["targets"]["wheel"]["force-include"])
    found = [file for name in shipped for file in (root / name, *(root / name).rglob("*"))]
    return sorted(file for file in found if file.is_file())


def sample_root() -> Path:
    """Return the folder of samples: inside an installed wheel, or the checkout they come from."""
    inside = Path(str(files("ctxeng"))) / "_workspace"
    return inside if inside.is_dir() else Path(ctxeng.__file__).resolve().parent.parent
