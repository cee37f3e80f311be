"""Instructions of the roles: the package's own, or files that an experiment names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ctxeng.core.errors import SettingsError
from ctxeng.harness.replay.asking import READER_PROMPT_ID, reader_system
from ctxeng.harness.replay.plan import content_key
from ctxeng.harness.scoring.judge import JUDGE_PROMPT_ID, judge_system


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """Instructions for a role; an own prompt's name carries the hash of its text."""

    name: str
    text: str


def reader_prompt(own: str | None, workspace: Path) -> Prompt:
    """Return the reader's instructions: those of a file, or the package's.

    Raises:
        SettingsError: the file cannot be read.
    """
    if own is None:
        return Prompt(name=READER_PROMPT_ID, text=reader_system())
    return own_prompt(workspace / own, "models.reader_prompt")


def judge_prompt(own: str | None, workspace: Path) -> Prompt:
    """Return the judge's instructions: those of a file, or the package's.

    Raises:
        SettingsError: the file cannot be read.
    """
    if own is None:
        return Prompt(name=JUDGE_PROMPT_ID, text=judge_system())
    return own_prompt(workspace / own, "models.judge_prompt")


def product_system(own: str | None, workspace: Path) -> str:
    """Return the product's system text that economics sends; empty where no file is named.

    Raises:
        SettingsError: the file cannot be read.
    """
    return "" if own is None else own_prompt(workspace / own, "economics.system_prompt").text


def own_prompt(path: Path, setting: str) -> Prompt:
    """Return a prompt from a file.

    Raises:
        SettingsError: it is no text in UTF-8.
    """
    try:
        text = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"{setting} must be a text file in UTF-8, got {path} ({error})."
        ) from None
    return Prompt(name=f"{path.name}@{content_key(text)}", text=text)
