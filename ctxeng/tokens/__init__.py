"""Token counters: local, fast, and honest about being estimates."""

from ctxeng.tokens.counters import (
    HeuristicCounter,
    StrictestCounter,
    TiktokenCounter,
    open_counter,
)

__all__ = ["HeuristicCounter", "StrictestCounter", "TiktokenCounter", "open_counter"]
