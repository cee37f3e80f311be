"""Guessing a session's language."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxeng.harness.sessions.language import SAMPLE_CHARACTERS, guess_language
from tests.generators import texts

ENGLISH = "The budget is for the whole team and you have to keep it in March."
SPANISH = "El presupuesto es para el equipo y no está en la lista de los gastos."
GERMAN = "Das Budget ist für das Team und nicht für die Reise mit den Kunden."
FRENCH = "Le budget est pour les clients et pas dans une liste que vous voyez."
JAPANESE = "予算は三千円までにしてください。締め切りは金曜日です。"
CHINESE = "预算不超过三千元，截止日期是星期五。"
KOREAN = "예산은 삼천 원까지입니다. 마감은 금요일이에요."
RUSSIAN = "Бюджет не больше трёх тысяч, срок в пятницу."


@pytest.mark.parametrize(
    ("said", "language"),
    [
        ([ENGLISH], "en"),
        ([SPANISH], "es"),
        ([GERMAN], "de"),
        ([FRENCH], "fr"),
        (["Não sei o que você está para fazer, por isso uma lista com os itens."], "pt"),
        (["Non è per il cliente che sono con una lista della spesa di casa."], "it"),
        (["Het is niet een lijst van de klant en ik weet dat het op is."], "nl"),
        ([JAPANESE], "ja"),
        (["コンテキスト"], "ja"),
        ([CHINESE], "zh"),
        ([KOREAN], "ko"),
        ([RUSSIAN], "ru"),
        (["שלום, התקציב הוא שלושת אלפים"], "he"),
        (["الميزانية ثلاثة آلاف"], "ar"),
        (["งบประมาณสามพันบาท"], "th"),
        (["Ο προϋπολογισμός είναι τρεις χιλιάδες"], "el"),
        (["बजट तीन हज़ार है"], "hi"),
        ([JAPANESE, ENGLISH, JAPANESE, ENGLISH], "mixed"),
        ([KOREAN, ENGLISH], "mixed"),
        ([JAPANESE * 6, "PX-2291 deploy"], "ja"),
        ([ENGLISH * 6, "予算"], "en"),
        (["xyzzy plugh frobnicate quux"], "und"),
        (["123 456 !!! 😀"], "und"),
        (["ok"], "und"),
        ([""], "und"),
        ([], "und"),
    ],
)
def test_the_language_shows_in_script_and_common_words(said: list[str], language: str) -> None:
    """Sentences written for this test, each in the language its row names."""
    assert guess_language(said) == language


def test_only_the_beginning_of_a_long_session_is_looked_at() -> None:
    """A session of any length costs the same, and an endless one comes to an answer."""

    def endless():
        while True:
            yield ENGLISH

    assert guess_language(endless()) == "en"
    assert guess_language(["the and to " * SAMPLE_CHARACTERS, JAPANESE * 1000]) == "en"


@given(st.lists(st.one_of(texts, st.text(st.characters(exclude_categories=()))), max_size=6))
@settings(max_examples=50, deadline=None)
def test_any_text_has_a_language_code(said: list[str]) -> None:
    """Hostile text never raises, and what comes back is a short code or a word for none."""
    language = guess_language(said)
    assert language in {"mixed", "und"} or len(language) == 2
    assert guess_language(said) == language


def test_a_real_japanese_corpus_is_japanese(shared_data: Path) -> None:
    """Ninety-nine in a hundred dialogues of the corpus are told as Japanese."""
    dialogues = json.loads((shared_data / "japanese" / "llm-sessions.json").read_text("utf-8"))
    guesses = [guess_language(u["text"] for u in d["utterances"]) for d in dialogues]
    assert guesses.count("ja") >= 0.99 * len(guesses)
