"""Retrieval on the request path: the gate, the search, message groups. Calls no language model."""

from ctxeng.retrieval.gate import GateDecision
from ctxeng.retrieval.indexing import Indexer
from ctxeng.retrieval.memories import SharedMemories
from ctxeng.retrieval.retriever import MessageGroup, Retrieval, Retriever

__all__ = ["GateDecision", "Indexer", "MessageGroup", "Retrieval", "Retriever", "SharedMemories"]
