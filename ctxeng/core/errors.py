"""The one error tree.

CtxengError
├── InputError            what a person gave us is wrong: a file, a flag, a setting (exit code 2)
│   ├── SettingsError     a setting or an experiment file
│   └── DatasetError      a session, a probe or an import source
├── StoreError            the database refused or is unreachable
│   ├── Conflict          a conditional write lost its race; retry from the new state
│   └── EmbedderMismatch  vectors of another embedder or dimension are in the index
├── BudgetTooSmall        question, system text and reserve alone exceed the token budget
├── CompactionFailed      a summary or distillation was refused by a guard; the old state stays
└── ModelError            a model call that gave no usable answer
    ├── ModelRefused      the model declined to answer
    ├── ModelUnavailable  overload, rate limit, timeout or a dropped connection, after all retries
    ├── ModelRejected     the request is invalid (400, 404, window overflow)
    │   └── KeyRefused    the provider does not take the key (401, 403)
    ├── EmptyAnswer       no text came back (for example thinking only, or cut at max_tokens)
    ├── MalformedTool     a forced tool call is missing or breaks its schema
    ├── CallMissing       replay-only: the ledger does not hold this call
    └── LimitReached      --max-calls or --max-cost would be exceeded by this call
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ctxeng.core.calls import Usage


class CtxengError(Exception):
    """Root of every error that ctxeng raises on purpose."""


class InputError(CtxengError):
    """Something a person gave us is wrong; the message says what, where and what to do."""


class SettingsError(InputError):
    """A setting or an experiment file is wrong."""


class DatasetError(InputError):
    """A session, a probe or an import source is wrong."""


class StoreError(CtxengError):
    """The database refused or is unreachable."""


class Conflict(StoreError):
    """A conditional write lost its race; retry from the new state."""


class EmbedderMismatch(StoreError):
    """The index holds vectors of another embedder or dimension."""


class BudgetTooSmall(CtxengError):
    """Question, system text and reserve alone exceed the token budget."""

    def __init__(self, *, budget_tokens: int, needed_tokens: int, detail: str = "") -> None:
        self.budget_tokens = budget_tokens
        self.needed_tokens = needed_tokens
        super().__init__(
            f"budget.total_tokens must be at least {needed_tokens}, got {budget_tokens}"
            f"{f' ({detail})' if detail else ''}. Raise it, or shorten the system text or question."
        )


class CompactionFailed(CtxengError):
    """A summary or distillation was refused by a guard; the old state stays."""

    def __init__(self, reason: str, detail: str = "") -> None:
        self.reason = reason
        super().__init__(f"{reason}: {detail}" if detail else reason)


class ModelError(CtxengError):
    """A model call gave no usable answer; ``usage`` is what it was billed for all the same.

    ``cost_usd`` is the price of that usage, None where nothing was billed or the price is unknown.
    """

    usage: Usage | None = None
    cost_usd: float | None = None


class ModelRefused(ModelError):
    """The model declined to answer."""


class ModelUnavailable(ModelError):
    """Overload, rate limit, timeout or a dropped connection, after all retries."""


class ModelRejected(ModelError):
    """The provider says the request is invalid."""


class KeyRefused(ModelRejected):
    """The provider does not take the key, or not for this model; no request would get through."""


class EmptyAnswer(ModelError):
    """The call succeeded and held no text."""


class MalformedTool(ModelError):
    """A forced tool call is missing or breaks its schema."""


class CallMissing(ModelError):
    """Replay-only mode, and the ledger does not hold this call."""


class LimitReached(ModelError):
    """The call would exceed a limit on calls or money."""
