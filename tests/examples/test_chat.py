"""The example chat is a working chat."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from tests.support.databases import remove_database

CHAT = Path(__file__).resolve().parents[2] / "examples" / "chat.py"
HUGE = "The invoice was about the delivery. " * 2500  # 90 KB
LINES = f"""The cabinet order is CB-20418.

   \t
{HUGE}
The tiles come from Faenza.
Which is the cabinet order?
/quit
Where does this line go?
"""


def test_the_chat_answers_from_what_was_said_and_remembers_it_next_time(tmp_path: Path) -> None:
    """Turns are saved for a second process; blank lines and one too long for the budget end nothing."""
    first = talk(tmp_path, LINES)
    assert first.returncode == 0, first.stderr
    assert "CB-20418" in first.stdout.splitlines()[-1]
    assert first.stderr.startswith("(budget.total_tokens must be at least ")
    assert "Traceback" not in first.stderr
    assert len(first.stdout.splitlines()) == 3
    second = talk(tmp_path, "Where do the tiles come from?\n")
    assert "Faenza" in second.stdout
    remove_database(tmp_path)


def test_ctrl_c_at_the_prompt_ends_the_chat(tmp_path: Path) -> None:
    """While the chat waits for a line that does not come."""
    chat = subprocess.Popen(
        [sys.executable, str(CHAT)], cwd=tmp_path, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert chat.stdin is not None and chat.stdout is not None
    chat.stdin.write("The cabinet order is CB-20418.\n")
    chat.stdin.flush()
    assert chat.stdout.readline()  # answered: it waits for the next line
    chat.send_signal(signal.SIGINT)
    try:
        assert chat.wait(timeout=30) == 0
        assert chat.stderr is not None and "Traceback" not in chat.stderr.read()
    finally:
        chat.kill()
        for pipe in (chat.stdin, chat.stdout, chat.stderr):
            pipe.close()
        remove_database(tmp_path)


def test_the_chat_is_at_most_sixty_lines() -> None:
    """An example one reads at a glance."""
    assert len(CHAT.read_text("utf-8").splitlines()) <= 60


def talk(folder: Path, lines: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(CHAT)], cwd=folder, input=lines, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip
