"""Errors of token counters by language, with the session as unit."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxeng.core.errors import InputError
from ctxeng.core.messages import Message, Session
from ctxeng.harness.reports.counting import errors_by_language, write_errors
from ctxeng.tokens.counters import ArticleCounter


class Numbers:
    """Reads its count from the text: ``100/110`` is 100 for the reference, 110 for the other."""

    def __init__(self, name: str, place: int) -> None:
        self.name = name
        self._place = place

    def count(self, text: str) -> int:
        """Return the number in its place."""
        return int(text.split("/")[self._place])


def session(name: str, text: str, *, language: str = "en") -> Session:
    message = Message(seq=0, role="user", content=text)
    return Session(session_id=name, messages=(message,), language=language)


TRUTH, OTHER = Numbers("truth", 0), Numbers("other|*x*", 1)


def test_the_interval_is_that_of_a_ratio_by_session() -> None:
    """10 and 30 over on 100 each: 20 % ± t(1) = 12.706 times the standard error, 0.1, by hand."""
    (row,) = errors_by_language(
        [session("a", "100/110"), session("b", "100/130")], [OTHER], TRUTH
    )  # fmt: skip
    assert (row.sessions, row.texts, row.reference_tokens) == (2, 2, 200)
    assert row.error_share == pytest.approx(0.2)
    assert (row.low, row.high) == (
        pytest.approx(0.2 - 1.2706, abs=1e-4),
        pytest.approx(0.2 + 1.2706, abs=1e-4),
    )


def test_one_session_or_no_token_gives_no_interval() -> None:
    """None, never a width of zero."""
    one, empty = errors_by_language(
        [session("a", "100/110"), session("b", "0/3", language="ja")], [OTHER], TRUTH
    )
    assert (one.error_share, one.low, one.high) == (pytest.approx(0.1), None, None)
    assert (empty.language, empty.error_share, empty.low) == ("ja", None, None)


def test_a_page_names_its_reference_and_escapes_names(tmp_path: Path) -> None:
    rows = errors_by_language([session("a", "1000/932")], [OTHER], TRUTH)
    write_errors(rows, tmp_path / "new" / "page.md", reference="truth")
    text = (tmp_path / "new" / "page.md").read_text("utf-8")
    assert "against truth, itself an estimate" in text
    (line,) = [line for line in text.splitlines() if line.startswith("| other")]
    assert line.startswith(r"| other\|\*x\* | ")
    assert "| en | 1 | 1 | 1,000 |" in line
    assert "6.8 %" in line
    with pytest.raises(InputError, match="the page must be writable"):
        write_errors(rows, tmp_path / "new", reference="truth")


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 2), ("abc", 5), ("こんにちは", 9)])
def test_the_articles_counter_sees_characters_alone(text: str, tokens: int) -> None:
    """Characters over 0.6, rounded up: 3 / 0.6 is 5, 5 / 0.6 is 8.33."""
    assert ArticleCounter().count(text) == tokens
