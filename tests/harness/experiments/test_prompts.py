"""Instructions of the roles: a file of one's own has a name that changes with its words."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxeng.core.errors import SettingsError
from ctxeng.harness.experiments.prompts import judge_prompt, product_system, reader_prompt


def test_without_a_file_the_package_speaks(tmp_path: Path) -> None:
    """Names and versions of the package's own prompts; a product's system text is empty."""
    assert reader_prompt(None, tmp_path).name == "reader@1"
    assert judge_prompt(None, tmp_path).name == "judge@1"
    assert product_system(None, tmp_path) == ""


def test_an_own_prompt_is_named_by_its_words(tmp_path: Path) -> None:
    """The same file with other words is another prompt."""
    file = tmp_path / "judge.md"
    file.write_text("厳しく判定する。\n", "utf-8")
    first = judge_prompt("judge.md", tmp_path)
    assert first.text == "厳しく判定する。"
    file.write_text("優しく判定する。", "utf-8")
    assert judge_prompt("judge.md", tmp_path).name != first.name
    assert first.name.startswith("judge.md@")


@pytest.mark.parametrize("body", [None, b"\xff\xfe\x00"])
def test_a_file_that_cannot_be_read_names_its_setting(tmp_path: Path, body: bytes | None) -> None:
    """Missing, or not UTF-8."""
    if body is not None:
        (tmp_path / "x.md").write_bytes(body)
    for setting, read in (
        ("models.reader_prompt", reader_prompt),
        ("models.judge_prompt", judge_prompt),
        ("economics.system_prompt", product_system),
    ):
        with pytest.raises(SettingsError, match=f"{setting} must be a text file in UTF-8"):
            read("x.md", tmp_path)
