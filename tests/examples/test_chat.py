"""The example chat is a working chat."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.databases import remove_database

CHAT = Path(__file__).resolve().parents[2] / "examples" / "chat.py"
LINES = "The cabinet order is CB-20418.\nThe tiles come from Faenza.\nWhich is the cabinet order?\n"


def test_the_chat_answers_from_what_was_said_and_remembers_it_next_time(tmp_path: Path) -> None:
    """Turns are saved: a second process answers a question about the first one's conversation."""
    first = talk(tmp_path, LINES)
    assert first.returncode == 0, first.stderr
    assert "CB-20418" in first.stdout.splitlines()[-1]
    second = talk(tmp_path, "Where do the tiles come from?\n")
    assert "Faenza" in second.stdout
    remove_database(tmp_path)


def test_the_chat_is_at_most_sixty_lines() -> None:
    """An example one reads at a glance."""
    assert len(CHAT.read_text("utf-8").splitlines()) <= 60


def talk(folder: Path, lines: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(CHAT)], cwd=folder, input=lines, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip
