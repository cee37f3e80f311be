"""Embedders behind one protocol; opened by name, loaded on first use."""

from ctxeng.embedding.cached import CachedEmbedder
from ctxeng.embedding.factory import open_embedder

__all__ = ["CachedEmbedder", "open_embedder"]
