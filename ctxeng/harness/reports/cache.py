"""The prompt cache of a finished run, read from its tables."""

from __future__ import annotations

from ctxeng.harness.economics.caching import minimum
from ctxeng.harness.economics.usage import CacheUse, cache_uses
from ctxeng.harness.reports.economics import Grid, cache_grid
from ctxeng.harness.results.database import reading, rows
from ctxeng.harness.results.run_folder import RunFolder
from ctxeng.models.prices import MIN_CACHEABLE_TOKENS, price_of

_CONTEXTS = "SELECT arm, session_id, probe_id, as_of, blocks FROM contexts"
_CALLS = "SELECT arm, role, input_tokens, cached_tokens, cache_write_tokens FROM calls"


def run_cache(run: RunFolder) -> Grid:
    """Return a run's cache table: what the rules foretell beside what was billed."""
    return cache_grid(run.run_id, uses_of(run))


def uses_of(run: RunFolder) -> list[CacheUse]:
    """Return what every arm of a run read from the cache."""
    price = price_of(str(run.manifest()["experiment"]["models"]["reader"]))
    least = MIN_CACHEABLE_TOKENS if price is None else minimum(price)
    with reading(run) as connection:
        contexts, calls = rows(connection, _CONTEXTS), rows(connection, _CALLS)
    return cache_uses(contexts, calls, min_tokens=least)
