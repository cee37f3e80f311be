"""Postgres: conversations, artifacts and the search index. The only door to psycopg."""

from ctxeng.store.conversing import Conversation
from ctxeng.store.index import Hit, IndexEntry
from ctxeng.store.opening import Capabilities, EmbeddingSpec
from ctxeng.store.store import Store

__all__ = ["Capabilities", "Conversation", "EmbeddingSpec", "Hit", "IndexEntry", "Store"]
