"""Postgres: conversations, artifacts and the search index. The only door to psycopg."""

from ctxeng.store.index import Hit, IndexEntry
from ctxeng.store.store import Capabilities, Conversation, EmbeddingSpec, Store

__all__ = ["Capabilities", "Conversation", "EmbeddingSpec", "Hit", "IndexEntry", "Store"]
