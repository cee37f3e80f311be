"""Compaction, off the request path: rolling state, episodes, summary trees, memory."""

from ctxeng.compaction.compactor import CompactionReport, Compactor
from ctxeng.compaction.cutting import ModelCutter
from ctxeng.compaction.models import ModelDistiller, ModelSummariser
from ctxeng.compaction.prompts import prompts_hash
from ctxeng.compaction.reprocess import is_made_otherwise
from ctxeng.compaction.verbatim import VerbatimDistiller, VerbatimSummariser

__all__ = [
    "CompactionReport",
    "Compactor",
    "ModelCutter",
    "ModelDistiller",
    "ModelSummariser",
    "VerbatimDistiller",
    "VerbatimSummariser",
    "is_made_otherwise",
    "prompts_hash",
]
