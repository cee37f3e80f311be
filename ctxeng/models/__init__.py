"""Model clients behind one protocol: Anthropic and offline; the ledger, prices and limits."""

from ctxeng.models.client import CacheMode, Delivery, LedgerClient, closing, open_client
from ctxeng.models.ledger import Ledger
from ctxeng.models.limits import Limits
from ctxeng.models.offline import OFFLINE
from ctxeng.models.predicting import FORETOLD, PredictingClient

__all__ = [
    "FORETOLD",
    "OFFLINE",
    "CacheMode",
    "Delivery",
    "Ledger",
    "LedgerClient",
    "Limits",
    "PredictingClient",
    "closing",
    "open_client",
]
