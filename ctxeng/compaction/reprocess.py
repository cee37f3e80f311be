"""A new generation of what an older prompt or another model wrote, from the raw messages.

Ranges stay as they are, so that nothing else has to move; what was made from a rebuilt artifact is
rebuilt as well. Nothing is stored here: the caller stores the generation whole, or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from ctxeng.compaction import episodes, hierarchy, memory, rolling
from ctxeng.compaction.hierarchy import DueNode
from ctxeng.compaction.prompts import prompt_hash
from ctxeng.compaction.state import State
from ctxeng.compaction.writing import Tools
from ctxeng.core.artifacts import Artifact
from ctxeng.core.protocols import Distiller

Outdated = Callable[[Artifact], bool]


def is_made_otherwise(kind: str, model: str, hash_: str, *, wanted: str) -> bool:
    """Return whether something was written by another model or prompt than it would be now.

    Args:
        model: what answered; a dated version of ``wanted`` is the same model. ``none`` (there
            were no words) and ``verbatim`` wrote what any model would have to.
    """
    if model in ("none", "verbatim"):
        return False
    is_same_model = model == wanted or model.startswith(f"{wanted}-")
    return not is_same_model or hash_ != prompt_hash(kind)


async def rebuilt(
    state: State, tools: Tools, distiller: Distiller, is_outdated: Outdated
) -> list[Artifact]:
    """Return the new generation, children before parents; empty when nothing is outdated.

    Raises:
        CompactionFailed: a guard refused one of them: there is no whole generation.
        ModelError: a call failed.
    """
    fresh: dict[str, Artifact] = {}
    for old in state.of_kind("episode"):
        if is_outdated(old):
            fresh[old.artifact_id] = await episodes.write(
                state, tools, old.from_seq, old.to_seq + 1
            )
    for old in state.of_kind("node"):
        if is_outdated(old) or fresh.keys() & set(old.parents):
            fresh[old.artifact_id] = await hierarchy.write(state, tools, _node(state, old, fresh))
    made = list(fresh.values())
    made += await _rolling(state, tools, is_outdated)
    made += await _memory(state, tools, distiller, is_outdated, fresh)
    return made


def _node(state: State, old: Artifact, fresh: Mapping[str, Artifact]) -> DueNode:
    by_id = {a.artifact_id: a for a in state.written}
    children = tuple(fresh.get(child, by_id[child]) for child in old.parents)
    return DueNode(level=old.level, from_seq=old.from_seq, to_seq=old.to_seq, children=children)


async def _rolling(state: State, tools: Tools, is_outdated: Outdated) -> list[Artifact]:
    """Return versions that fold everything the newest one covers, from the first message on."""
    newest = state.newest("rolling")
    if newest is None or not is_outdated(newest):
        return []
    made: list[Artifact] = []
    while not made or made[-1].to_seq < newest.to_seq:
        last = made[-1] if made else None
        start = last.to_seq + 1 if last is not None else 0
        made.append(await rolling.write(state, tools, last, start, newest.to_seq + 1))
        state = replace(state, written=(*state.written, made[-1]))
    return made


async def _memory(
    state: State,
    tools: Tools,
    distiller: Distiller,
    is_outdated: Outdated,
    fresh: Mapping[str, Artifact],
) -> list[Artifact]:
    """Return snapshots that fold the same episodes in the same turns as the newest one's chain."""
    newest = state.newest("memory")
    if newest is None:
        return []
    chain = _chain(state, newest)
    folded = {parent for snapshot in chain for parent in snapshot.parents}
    if not (is_outdated(newest) or folded & fresh.keys()):
        return []
    current = {e.from_seq: fresh.get(e.artifact_id, e) for e in state.of_kind("episode")}
    by_id = {a.artifact_id: a for a in state.written}
    made: list[Artifact] = []
    for snapshot in chain:
        parents = [by_id[p] for p in snapshot.parents if by_id[p].kind == "episode"]
        turn = [current[e.from_seq] for e in parents if e.from_seq in current]
        last = made[-1] if made else None
        made.append(await memory.write(state, tools, distiller, last, turn))
        state = replace(state, written=(*state.written, made[-1]))
    return made


def _chain(state: State, newest: Artifact) -> list[Artifact]:
    """Return the snapshots the newest one goes back to, the oldest first."""
    by_id = {a.artifact_id: a for a in state.written}
    chain = [newest]
    while before := [by_id[p] for p in chain[0].parents if by_id[p].kind == "memory"]:
        chain.insert(0, before[0])
    return chain
