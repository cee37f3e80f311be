"""Spanish numerals and fractions are numbers; articles and parts of other words are none."""

from __future__ import annotations

from decimal import Decimal

import pytest

from ctxeng.harness.scoring.literal import score_literal
from ctxeng.harness.scoring.quantities import quantities
from ctxeng.harness.scoring.spanish import spanish_value


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("cero", 0),
        ("treinta y tres", 33),
        ("ciento veinte", 120),
        ("mil", 1000),
        ("dos mil quinientos", 2500),
        ("tres millones dos mil", 3_002_000),
    ],
)
def test_numerals_have_their_value(words: str, value: int) -> None:
    """By hand."""
    assert spanish_value(words) == value


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("dos horas y media", "2.5", "hour"),
        ("hora y media", "1.5", "hour"),
        ("media hora", "0.5", "hour"),
        ("tres cuartos de hora", "0.75", "hour"),
        ("treinta y tres euros", "33", "eur"),
        ("medio millón", "500000", ""),
        ("media docena", "6", ""),
        ("tres y medio", "3.5", ""),
        ("la mitad", "0.5", "share"),
        ("dos tercios", "0.6666666667", "share"),
    ],
)
def test_amounts_in_words_are_read_with_their_unit(text: str, value: str, unit: str) -> None:
    """One amount each, at its value."""
    (read,) = quantities(text)
    assert (read.value, read.unit) == (Decimal(value), unit)


@pytest.mark.parametrize("text", ["dos", "una mesa", "only once", "el medio ambiente", "uno"])
def test_articles_and_other_words_count_nothing(text: str) -> None:
    """DOS and once are words elsewhere, una is an article."""
    assert quantities(text) == ()


@pytest.mark.parametrize(
    ("expect", "answer"),
    [
        ("tres", "treinta y tres"),
        ("dos", "dos mil"),
        ("dos", "dos tercios"),
        ("cien", "cien mil"),
        ("tres", "tres y medio"),
        ("medio", "medio ambiente"),
        ("media", "media naranja"),
        ("media hora", "dos horas y media hora"),
    ],
)
def test_a_part_of_a_numeral_or_a_name_is_no_pass(expect: str, answer: str) -> None:
    """Thirty-three is not three, the environment is no half."""
    assert _said(expect, answer) != "pass"


@pytest.mark.parametrize(
    ("expect", "answer"),
    [
        ("1.5 horas", "una hora y media"),
        ("30 minutos", "media hora"),
        ("33", "treinta y tres"),
        ("medio", "medio"),
        ("medio", "Es el medio de la fila."),
    ],
)
def test_the_amount_itself_passes(expect: str, answer: str) -> None:
    """In words as in figures."""
    assert _said(expect, answer) == "pass"


def _said(expect: str, answer: str) -> str:
    return score_literal(
        question="¿Cuánto es?", kind="other", expect=[[expect]], forbid=[], answer=answer
    ).verdict
