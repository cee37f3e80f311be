"""Words beside a value are read by one mechanism from tables by language."""

from __future__ import annotations

from pathlib import Path

import pytest

import ctxeng
from ctxeng.harness.experiments.prepared import source_hash
from ctxeng.harness.scoring.beside import without_clauses
from ctxeng.harness.scoring.cue import ASKED, CUES, Around, found_in, scripts_in, stands_in
from ctxeng.harness.scoring.matching import Found


def around(text: str, value: str) -> Around:
    """Return what stands around the first place of a value."""
    start = text.index(value)
    return Around(text, Found(start, start + len(value)))


@pytest.mark.parametrize(
    ("side", "reach", "part"),
    [
        ("before", "text", "it was. then, "),
        ("before", "sentence", " then, "),
        ("before", "clause", " "),
        ("before", 3, "n, "),
        ("after", "text", ", but no. more"),
        ("after", "sentence", ", but no"),
        ("after", "clause", ""),
        ("after", 5, ", but"),
    ],
)
def test_a_reach_ends_at_its_border(side: str, reach: str | int, part: str) -> None:
    """By hand: commas end clauses, full stops sentences, a number counts characters."""
    assert around("it was. then, tea, but no. more", "tea").part(side, reach) == part


def test_only_words_of_a_texts_scripts_are_looked_for() -> None:
    """Letters tell the script; signs belong to any text."""
    assert scripts_in("お茶 kx") == ("any", "latin", "han")
    assert scripts_in("차") == ("any", "hangul")
    assert scripts_in("12") == ("any",)
    assert around("> 12", "12").says(CUES["limited"])


def test_words_that_are_over_before_the_value_are_left_out() -> None:
    """No es verde sino azul: the denial is of what stands before."""
    assert around("no es azul", "azul").says(CUES["denied_in_spanish"])
    assert not around("no es verde sino azul", "azul").says(CUES["denied_in_spanish"])


@pytest.mark.parametrize("name", sorted(CUES))
def test_no_cue_stands_at_a_value_alone(name: str) -> None:
    """Nothing beside it, nothing said."""
    assert not around("tea", "tea").says(CUES[name])


def test_words_of_a_question_are_found_anywhere() -> None:
    """All of them, in the order of their scripts."""
    assert list(found_in(ASKED["disliked"], "what does she hate, 嫌い?")) == ["hate", "嫌い"]
    assert not stands_in(ASKED["who"], "what is it?")


def test_a_clause_of_a_denied_value_is_blanked_and_places_stay() -> None:
    """KX-0014 (not KX-0041) says nothing against KX-0014; by hand."""
    text = "kx-0014 (not kx-0041)"
    denied, kept = around(text, "kx-0041").place, around(text, "kx-0014").place
    assert without_clauses(text, [denied], [kept]) == "kx-0014 (" + " " * 11 + ")"
    assert without_clauses(text, [denied], [kept, denied]) == text


def test_the_tables_are_a_part_of_the_scorers_hash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs scored by other words are scored under other conditions."""
    monkeypatch.setattr(ctxeng, "__file__", str(tmp_path / "__init__.py"))
    for folder, words in (("one", "[a]"), ("other", "[b]")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "beside.toml").write_text(words, "utf-8")
    assert source_hash("one") != source_hash("other")
