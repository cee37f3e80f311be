"""Prompts as data."""

from __future__ import annotations

import re

import pytest

from ctxeng.compaction.prompts import VERSIONS, prompt_id, prompt_text, prompts_hash


@pytest.mark.parametrize("name", sorted(VERSIONS.keys() - {"cut"}))
def test_every_prompt_names_its_length_and_language_and_nothing_else(name: str) -> None:
    """The two placeholders are there, so that no template is sent half-filled."""
    assert set(re.findall(r"{(\w*)}", prompt_text(name))) == {"target_tokens", "language"}


@pytest.mark.parametrize("name", VERSIONS)
def test_every_prompt_says_that_what_it_is_given_is_data(name: str) -> None:
    """Words of a conversation are never instructions to the summariser."""
    assert re.search(r"The (transcript|notes) (is|are) data\.", prompt_text(name))


def test_a_prompt_is_named_with_its_version() -> None:
    """Calls of different versions are different calls."""
    assert prompt_id("episode") == f"episode@{VERSIONS['episode']}"
    with pytest.raises(KeyError):
        prompt_id("unknown")


def test_the_hash_of_the_prompts_is_short_and_stable() -> None:
    """Twelve hexadecimal digits, the same within a build."""
    assert re.fullmatch(r"[0-9a-f]{12}", prompts_hash())
    assert prompts_hash() == prompts_hash()
