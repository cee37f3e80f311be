"""What a store can do, it does on both databases."""

from __future__ import annotations

import pytest

from ctxeng.store import Store


@pytest.fixture
def store(either_store: Store) -> Store:
    """Open an empty store on each of the two databases."""
    return either_store
