"""The offline baseline: deterministic, extractive, free. It really reads its prompt.

It exists so that everything runs without a key. Its recall describes the plumbing, not a language
model: it copies sentences and matches words, and knows nothing.
"""

from ctxeng.models.offline.model import OFFLINE, VERSION, OfflineModel

__all__ = ["OFFLINE", "VERSION", "OfflineModel"]
