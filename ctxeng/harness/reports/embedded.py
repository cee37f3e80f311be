"""What a page carries inside and opens when asked to: every cell, and the paths of facts.

Blocks are JSON, compressed, in base64. Paths come in chunks of one session, so that opening one
unpacks little. Where not everything fits, lost facts come first and the page says what is missing.
"""

from __future__ import annotations

import base64
import gzip
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby, tee
from typing import TYPE_CHECKING, Any

import orjson

from ctxeng.harness.attribution.stored import StoredRun
from ctxeng.harness.attribution.tracing import fact_path
from ctxeng.harness.results.database import reading, rows
from ctxeng.harness.results.run_folder import RunFolder
from ctxeng.harness.results.tables import Row

if TYPE_CHECKING:
    import duckdb

MAX_CELLS = 20_000
CHUNK_PATHS = 120
POOLED = 24  # texts longer than this are written once in a chunk

Key = tuple[str, str, str, int]  # arm, session, probe, replicate
Paths = Sequence[Mapping[str, Any] | None]
PathsOf = Callable[[Iterable[Sequence[Row]]], Iterable[Paths]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """The blocks of a page, in base64.

    Args:
        index: the cells, their facts and where their paths are.
        chunks: paths, in the order of the numbers that the index gives.
        cells, all_cells: how many the page has, and how many the run.
        lost, all_lost: paths of lost facts that the page has, and how many facts were lost.
        kept, all_kept: the same of facts that were not lost; controls have none.
    """

    index: str
    chunks: tuple[str, ...]
    cells: int
    all_cells: int
    lost: int
    all_lost: int
    kept: int
    all_kept: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chunk:
    keys: tuple[Key, ...]
    block: str
    is_lost: bool


@dataclass(slots=True)
class _Pool:
    """Texts of a chunk, each once."""

    places: dict[str, int] = field(default_factory=dict)

    def pooled(self, value: Any) -> Any:
        """Return plain JSON with long texts replaced by ``{"$": place}``."""
        kind = type(value)  # of plain JSON, and a path has thousands of values
        if kind is str:
            if len(value) > POOLED:
                return {"$": self.places.setdefault(value, len(self.places))}
        elif kind is dict:
            return {name: self.pooled(inner) for name, inner in value.items()}
        elif kind is list:
            return [self.pooled(inner) for inner in value]
        return value


def embed(run: RunFolder, *, room: int) -> Embedded:
    """Return the blocks of a run's page, at most ``room`` bytes in all."""
    with reading(run) as connection:
        cells = page_cells(connection)
        total = rows(connection, "SELECT count(*) AS n FROM cells")[0]["n"]
        has_probes = run.table("probes").is_file()
        asked = rows(connection, _QUESTIONS) if has_probes else []
    questions = {(row["session_id"], row["probe_id"]): row["question"] for row in asked}
    return pack(cells, questions, total=total, room=room, paths_of=partial(stored_paths, run))


def page_cells(connection: duckdb.DuckDBPyConnection) -> Sequence[Row]:
    """Return the cells that a page has: lost facts first, controls last, at most ``MAX_CELLS``."""
    return rows(connection, _CELLS, MAX_CELLS)


_CELLS = """
SELECT arm, is_control, session_id, probe_id, replicate, kind, language, bucket, arm_bucket,
       outcome, loss_stage, value_in_context, context_tokens
FROM cells
ORDER BY is_control, loss_stage IS NULL, session_id, probe_id, arm, replicate LIMIT ?
"""
_QUESTIONS = "SELECT session_id, probe_id, question FROM probes"


def stored_paths(run: RunFolder, asked: Iterable[Sequence[Row]]) -> Iterator[Paths]:
    """Yield, for some cells of each session, their brief paths; None where the run holds none."""
    groups, names = tee(asked)
    stored = StoredRun.by_session(run, (str(cells[0]["session_id"]) for cells in names))
    for cells, own in zip(groups, stored, strict=True):
        found = {_key(row): row for row in own.cells}
        yield [
            fact_path(own, found[_key(cell)]).brief().to_json()
            if (cell["session_id"], cell["probe_id"]) in own.probes
            else None
            for cell in cells
        ]


def pack(
    cells: Sequence[Row],
    questions: Mapping[tuple[str, str], str],
    *,
    total: int,
    room: int,
    paths_of: PathsOf,
) -> Embedded:
    """Return cells and as many paths as fit into ``room`` bytes, those of lost facts first.

    Args:
        total: how many cells the run has.
        paths_of: gives the paths of some cells of each session, in their order.
    """
    traced = [cell for cell in cells if not cell["is_control"]]
    left = room - len(_index(cells, questions, {})) - 6 * len(traced)  # where each path is
    chunks = _fitting(_chunks(traced, paths_of), left)
    places = {key: (i, at) for i, chunk in enumerate(chunks) for at, key in enumerate(chunk.keys)}
    lost = sum(len(chunk.keys) for chunk in chunks if chunk.is_lost)
    all_lost = sum(cell["loss_stage"] is not None for cell in traced)
    return Embedded(
        index=_index(cells, questions, places),
        chunks=tuple(chunk.block for chunk in chunks),
        cells=len(cells),
        all_cells=total,
        lost=lost,
        all_lost=all_lost,
        kept=len(places) - lost,
        all_kept=len(traced) - all_lost,
    )


def _fitting(chunks: Iterable[_Chunk], room: int) -> list[_Chunk]:
    """Return the chunks that fit; lost facts before the others, whatever order they come in."""
    kept: dict[bool, list[_Chunk]] = {True: [], False: []}
    used = {True: 0, False: 0}
    for chunk in chunks:
        if used[True] + (0 if chunk.is_lost else used[False]) + len(chunk.block) <= room:
            kept[chunk.is_lost].append(chunk)
            used[chunk.is_lost] += len(chunk.block)
    while kept[False] and used[True] + used[False] > room:
        used[False] -= len(kept[False].pop().block)
    return kept[True] + kept[False]


def _chunks(cells: Sequence[Row], paths_of: PathsOf) -> Iterator[_Chunk]:
    """Yield the chunks of every session: all of its lost facts, then the others."""
    order = sorted(cells, key=lambda cell: (cell["session_id"], cell["loss_stage"] is None))
    sessions = [list(own) for _, own in groupby(order, key=lambda cell: str(cell["session_id"]))]
    for own, paths in zip(sessions, paths_of(sessions), strict=True):
        told = [(c, path) for c, path in zip(own, paths, strict=True) if path is not None]
        for is_lost in (True, False):
            same = [pair for pair in told if (pair[0]["loss_stage"] is not None) is is_lost]
            for at in range(0, len(same), CHUNK_PATHS):
                yield _chunk(same[at : at + CHUNK_PATHS], is_lost=is_lost)


def _chunk(some: Sequence[tuple[Row, Mapping[str, Any]]], *, is_lost: bool) -> _Chunk:
    pool = _Pool()
    paths = [pool.pooled(dict(path)) for _, path in some]
    block = _block({"texts": list(pool.places), "paths": paths})
    return _Chunk(keys=tuple(_key(cell) for cell, _ in some), block=block, is_lost=is_lost)


def _index(
    cells: Sequence[Row],
    questions: Mapping[tuple[str, str], str],
    places: Mapping[Key, tuple[int, int]],
) -> str:
    """Return the cells column by column; a fact's own columns are written once for all arms."""
    facts: dict[tuple[str, str], int] = {}
    for cell in cells:
        facts.setdefault((cell["session_id"], cell["probe_id"]), len(facts))
    of_fact = {(cell["session_id"], cell["probe_id"]): cell for cell in cells}
    columns = {name: _column([cell[name] for cell in cells]) for name in _OF_CELL}
    return _block(
        {
            "facts": [
                [*key, questions.get(key, ""), of_fact[key]["kind"], of_fact[key]["language"]]
                for key in facts
            ],
            "columns": columns,
            "fact": [facts[cell["session_id"], cell["probe_id"]] for cell in cells],
            "tokens": [cell["context_tokens"] for cell in cells],
            "replicate": [cell["replicate"] for cell in cells],
            "path": [places.get(_key(cell)) for cell in cells],
        }
    )


_OF_CELL = ("arm", "bucket", "arm_bucket", "outcome", "loss_stage", "value_in_context")


def _column(values: Sequence[Any]) -> dict[str, Any]:
    names: dict[Any, int] = {}
    codes = [names.setdefault(value, len(names)) for value in values]
    return {"values": list(names), "codes": codes}


def _block(value: Any) -> str:
    packed = gzip.compress(orjson.dumps(value), compresslevel=9, mtime=0)
    return base64.b64encode(packed).decode("ascii")


def _key(cell: Row) -> Key:
    return cell["arm"], cell["session_id"], cell["probe_id"], cell["replicate"]
