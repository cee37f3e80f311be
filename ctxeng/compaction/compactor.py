"""The compactor: owns when and how much; the planners own what."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from ctxeng.compaction import episodes, hierarchy, memory, reprocess, rolling
from ctxeng.compaction.state import State, StateReader
from ctxeng.compaction.writing import Tools
from ctxeng.core.artifacts import Artifact, ArtifactKind
from ctxeng.core.errors import (
    CompactionFailed,
    Conflict,
    KeyRefused,
    LimitReached,
    ModelError,
    ModelUnavailable,
)
from ctxeng.core.protocols import Cutter, Distiller, Embedder, Summariser, TokenCounter
from ctxeng.core.settings import StrategySettings
from ctxeng.store import Store

MAX_RACES = 20
KINDS: tuple[ArtifactKind, ...] = ("rolling", "node", "episode", "memory")
REPLICATES_APART = 10_000  # between the attempts of a job that failed: each asks the model anew

Step = Callable[[State], Awaitable[Artifact | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionFailure:
    """Work that was due and did not come about; the old state stays, the next run tries again.

    ``is_model_error``: the call failed; otherwise a guard refused what came back.
    ``is_outage``: no model was reached, or none with this key, and nothing was paid.
    """

    kind: ArtifactKind
    reason: str
    is_model_error: bool = False
    is_outage: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionReport:
    """What one ``run_due`` did."""

    written: tuple[Artifact, ...] = ()
    failures: tuple[CompactionFailure, ...] = ()
    skipped: str = ""


class Compactor:
    """Brings a conversation's artifacts up to date; safe to run twice, or in several processes."""

    def __init__(
        self,
        store: Store,
        settings: StrategySettings,
        *,
        summariser: Summariser,
        distiller: Distiller,
        counter: TokenCounter,
        embedder: Embedder | None = None,
        cutter: Cutter | None = None,
        replicate: int = 0,
        window_tokens: int = 150_000,
    ) -> None:
        self._store = store
        self._settings = settings
        self._distiller = distiller
        self._failed: dict[tuple[str, ArtifactKind], int] = {}
        self._reader = StateReader(store, settings, counter)
        self._embedder = embedder
        self._tools = Tools(
            settings=settings,
            summariser=summariser,
            counter=counter,
            replicate=replicate,
            window_tokens=window_tokens,
            cutter=cutter,
            check=self._check,
        )

    async def run_due(
        self, conversation_id: str, *, kinds: Collection[ArtifactKind] = KINDS, attempt: int = 0
    ) -> CompactionReport:
        """Do all the compaction that is due, and return what was written and what failed.

        Args:
            kinds: only these.
            attempt: how often this has failed before; a model is asked anew in each attempt. Where
                nobody counts, it is so after the first failure in a row, the third, the seventh …

        Each kind goes on until nothing is due or something fails; every step makes progress or
        ends the loop. A lost race reads the new state and looks again. Marked ``keep_raw``
        meanwhile: nothing more is sent to a model or stored.

        Raises:
            LimitReached: the client's limit on calls or money; nothing half-done is left.
        """
        attempts = {kind: max(attempt, self._asked_anew(conversation_id, kind)) for kind in KINDS}
        steps = [(kind, step) for kind, step in self._steps(attempts) if kind in kinds]
        if not (self._settings.compacts and steps):
            return CompactionReport(skipped="no compaction in this strategy")
        state = await self._reader.load(conversation_id)
        written: list[Artifact] = []
        failures: list[CompactionFailure] = []
        for kind, step in steps:
            before = len(failures)
            state = await self._drain(kind, step, state, written, failures)
            self._note((conversation_id, kind), failures[before:])
        skipped = "keep_raw" if state.conversation.keep_raw else ""
        return CompactionReport(written=tuple(written), failures=tuple(failures), skipped=skipped)

    async def reprocess(
        self, conversation_id: str, is_outdated: reprocess.Outdated, *, attempt: int = 0
    ) -> CompactionReport:
        """Rebuild what is outdated, and what was made from it, from the raw messages.

        The old artifacts stay in use until the new generation is whole; where a guard refuses part
        of it, nothing is replaced. A lost race begins anew.
        """
        tools = self._attempt(attempt)
        for _ in range(MAX_RACES):
            state = await self._reader.load(conversation_id)
            if state.conversation.keep_raw:
                return CompactionReport(skipped="keep_raw")
            try:
                made = await reprocess.rebuilt(state, tools, self._distiller, is_outdated)
                await self._store.insert_generation(made, read_at_stamp=state.conversation.stamp)
            except Conflict:
                continue
            except LimitReached:
                raise
            except (CompactionFailed, ModelError) as error:
                return CompactionReport(failures=(_failure("episode", error),))
            return CompactionReport(written=tuple(made))
        lost = CompactionFailure(kind="episode", reason="lost_race")
        return CompactionReport(failures=(lost,))

    async def is_memory_due(self, conversation_id: str) -> bool:
        """Return whether enough new episodes wait to be distilled."""
        if not (self._settings.compacts and self._settings.memory.enabled):
            return False
        state = await self._reader.load(conversation_id)
        return not state.conversation.keep_raw and memory.due(state, self._tools) is not None

    def _steps(self, attempts: Mapping[ArtifactKind, int]) -> list[tuple[ArtifactKind, Step]]:
        steps: list[tuple[ArtifactKind, Step]] = []
        settings, store = self._settings, self._store
        tools = {kind: self._attempt(number) for kind, number in attempts.items()}
        if settings.rolling.enabled:
            steps.append(("rolling", lambda s: rolling.step(store, s, tools["rolling"])))
        if settings.hierarchy.enabled:
            steps.append(("node", lambda s: hierarchy.step(store, s, tools["node"])))
        if settings.episodes.enabled:
            embedder = self._embedder
            steps.append(("episode", lambda s: episodes.step(store, s, tools["episode"], embedder)))
        if settings.memory.enabled:
            distiller = self._distiller
            steps.append(("memory", lambda s: memory.step(store, s, tools["memory"], distiller)))
        return steps

    def _asked_anew(self, conversation_id: str, kind: ArtifactKind) -> int:
        """Return the attempt after so many failures: the ledger would give the same answer again.

        Each doubling of the failures pays for one more.
        """
        return (self._failed.get((conversation_id, kind), 0) + 1).bit_length() - 1

    def _note(self, work: tuple[str, ArtifactKind], failures: Sequence[CompactionFailure]) -> None:
        """Remember how often in a row answers were of no use."""
        if not failures:
            self._failed.pop(work, None)
        elif not any(failure.is_outage for failure in failures):
            self._failed[work] = self._failed.get(work, 0) + 1

    async def _check(self, state: State) -> None:
        await self._store.check_unedited(
            state.conversation_id, read_at_stamp=state.conversation.stamp
        )

    def _attempt(self, attempt: int) -> Tools:
        replicate = self._tools.replicate + attempt * REPLICATES_APART
        return replace(self._tools, replicate=replicate)

    async def _drain(
        self,
        kind: ArtifactKind,
        step: Step,
        state: State,
        written: list[Artifact],
        failures: list[CompactionFailure],
    ) -> State:
        races = 0
        while not state.conversation.keep_raw:
            try:
                artifact = await step(state)
            except Conflict:
                races += 1
                if races > MAX_RACES:
                    failures.append(CompactionFailure(kind=kind, reason="lost_race"))
                    return state
                before = len(state.written)
                state = await self._reader.load(state.conversation_id)
                if len(state.written) > before:  # whoever won has done part of what is due
                    races = 0
                continue
            except LimitReached:
                raise
            except (CompactionFailed, ModelError) as error:
                failures.append(_failure(kind, error))
                return state
            if artifact is None:
                return state
            written.append(artifact)
            state = await self._reader.load(state.conversation_id)
        return state


def _failure(kind: ArtifactKind, error: CompactionFailed | ModelError) -> CompactionFailure:
    if isinstance(error, CompactionFailed):
        return CompactionFailure(kind=kind, reason=str(error))
    reason = f"{type(error).__name__}: {error}"
    return CompactionFailure(
        kind=kind,
        reason=reason,
        is_model_error=True,
        is_outage=isinstance(error, ModelUnavailable | KeyRefused) and error.usage is None,
    )
