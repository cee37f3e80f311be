"""A strategy is a table of settings; this room wires store, compaction, retrieval and builder."""

from ctxeng.strategies.builtin import BUILTIN, settings_for
from ctxeng.strategies.wiring import Parts, wire

__all__ = ["BUILTIN", "Parts", "settings_for", "wire"]
