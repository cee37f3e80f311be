"""Queries over what compaction wrote. Superseded versions stay readable.

Rolling summaries, nodes and memory snapshots lie in tables of their own with the same columns, so
that one shape of query serves all three.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from psycopg import errors
from psycopg.types.json import Jsonb

from ctxeng.core.artifacts import Artifact, ArtifactKind, MemoryItem
from ctxeng.core.errors import Conflict
from ctxeng.store.messages import Connection, check_unedited
from ctxeng.store.text import clean_json, clean_text

_SHARED = (
    "artifact_id, conversation_id, version, from_seq, read_from_seq, read_to_seq, parents, "
    "visible_from_seq, superseded_from_seq, status, body, tokens, model, prompt_hash, lossless, "
    "meta"
)
_TABLES = {
    "rolling": "conversation_summaries",
    "episode": "summary_nodes",
    "node": "summary_nodes",
    "memory": "memory_snapshots",
}
_SOURCES = {
    "conversation_summaries": "'rolling', 0, summarized_until_seq",
    "summary_nodes": "kind, level, to_seq",
    "memory_snapshots": "'memory', 0, to_seq",
}


async def read(
    connection: Connection,
    conversation_id: str,
    *,
    as_of: int | None,
    kinds: Iterable[ArtifactKind] | None,
) -> list[Artifact]:
    """Return artifacts by kind, level, range and version.

    Args:
        as_of: None: every version ever written; else those a prompt at that seq may use.
    """
    wanted = set(kinds) if kinds is not None else set(_TABLES)
    found: list[Artifact] = []
    for table in dict.fromkeys(_TABLES[kind] for kind in sorted(wanted)):
        visible = (
            "AND visible_from_seq <= %(as_of)s "
            "AND (status <> 'stale' OR stale_from_seq > %(as_of)s) "
            "AND (superseded_from_seq IS NULL OR superseded_from_seq > %(as_of)s)"
            if as_of is not None
            else ""
        )
        cursor = await connection.execute(
            f"SELECT {_SHARED}, {_SOURCES[table]} FROM {table} "
            f"WHERE conversation_id = %(id)s {visible}".encode(),
            {"id": conversation_id, "as_of": as_of},
        )
        found += [_artifact(row) for row in await cursor.fetchall()]
    found = [artifact for artifact in found if artifact.kind in wanted]
    found = await _with_items(connection, conversation_id, found)
    return sorted(found, key=lambda a: (a.kind, a.level, a.from_seq, a.to_seq, a.version))


async def latest(
    connection: Connection, conversation_id: str, kind: ArtifactKind
) -> Artifact | None:
    """Return the newest version of the rolling summary or the memory, visible or not."""
    table = _TABLES[kind]
    cursor = await connection.execute(
        f"SELECT {_SHARED}, {_SOURCES[table]} FROM {table} WHERE conversation_id = %s "
        "ORDER BY version DESC LIMIT 1".encode(),
        (conversation_id,),
    )
    row = await cursor.fetchone()
    if row is None:
        return None
    return (await _with_items(connection, conversation_id, [_artifact(row)]))[0]


async def insert_version(
    connection: Connection,
    artifact: Artifact,
    *,
    expected_version: int,
    read_at_stamp: int | None,
) -> None:
    """Insert the next version of a rolling summary or memory, if the last one is still the last.

    Raises:
        Conflict: somebody else has written ``expected_version + 1`` or later, or what the artifact
            was made from has been edited since.
    """
    table = _TABLES[artifact.kind]
    await _enter(connection, artifact.conversation_id, read_at_stamp)
    cursor = await connection.execute(
        f"SELECT coalesce(max(version), 0) FROM {table} WHERE conversation_id = %s".encode(),
        (artifact.conversation_id,),
    )
    row = await cursor.fetchone()
    if row is None or row[0] != expected_version or artifact.version != expected_version + 1:
        raise Conflict(
            f"{artifact.kind} version must follow {row[0] if row else 0}, got {artifact.version} "
            f"({artifact.conversation_id}). Read the newest state and try again."
        )
    await connection.execute(
        f"UPDATE {table} SET superseded_from_seq = %s WHERE conversation_id = %s "
        "AND version = %s AND superseded_from_seq IS NULL".encode(),
        (artifact.visible_from_seq, artifact.conversation_id, expected_version),
    )
    await _insert(connection, artifact)
    if artifact.kind == "memory":
        await _insert_items(connection, artifact)


async def insert_nodes(
    connection: Connection, artifacts: Sequence[Artifact], *, read_at_stamp: int | None
) -> None:
    """Insert episodes or nodes; all of them or none.

    Raises:
        Conflict: one of the ranges has been written by somebody else, or what they were made from
            has been edited since.
    """
    if not artifacts:
        return
    await _enter(connection, artifacts[0].conversation_id, read_at_stamp)
    try:
        for artifact in artifacts:
            await _supersede_older(connection, artifact)
            await _insert(connection, artifact)
    except errors.UniqueViolation:
        raise Conflict(
            f"{artifacts[0].kind} range must be new, got one that exists "
            f"({artifacts[0].artifact_id}). Read the newest state and try again."
        ) from None


async def insert_generation(
    connection: Connection, artifacts: Sequence[Artifact], *, read_at_stamp: int | None
) -> None:
    """Insert new generations of ranges and new versions, children before parents.

    Raises:
        Conflict: somebody has written one of them, or what they were made from was edited.
    """
    for artifact in artifacts:
        if _TABLES[artifact.kind] == "summary_nodes":
            await insert_nodes(connection, [artifact], read_at_stamp=read_at_stamp)
        else:
            await insert_version(
                connection,
                artifact,
                expected_version=artifact.version - 1,
                read_at_stamp=read_at_stamp,
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Maker:
    """A model and prompt that some current artifacts of a conversation were made by."""

    conversation_id: str
    kind: str
    model: str
    prompt_hash: str


async def makers(connection: Connection) -> list[Maker]:
    """Return the makers of every current artifact of conversations that may be compacted."""
    selects = " UNION ".join(
        f"SELECT conversation_id, {source.split(',')[0]} AS kind, model, prompt_hash FROM {table} "
        "WHERE status <> 'stale' AND superseded_from_seq IS NULL"
        for table, source in _SOURCES.items()
    )
    cursor = await connection.execute(
        f"SELECT conversation_id, a.kind, model, prompt_hash FROM ({selects}) a "
        "JOIN conversations USING (conversation_id) WHERE NOT keep_raw ORDER BY 1, 2, 3, 4".encode()
    )
    return [
        Maker(conversation_id=row[0], kind=row[1], model=row[2], prompt_hash=row[3])
        for row in await cursor.fetchall()
    ]


async def mark_stale(
    connection: Connection, artifact_ids: Sequence[str], *, from_seq: int | None = None
) -> None:
    """Mark artifacts as no longer true to their source; builds stop using them.

    Args:
        from_seq: builds as of earlier seqs go on using them; None: no build does.
    """
    for table in _SOURCES:
        await connection.execute(
            f"WITH marked AS (UPDATE {table} SET status = 'stale', stale_from_seq = "
            "CASE WHEN status = 'stale' AND %(from_seq)s::bigint IS NOT NULL THEN stale_from_seq "
            "ELSE %(from_seq)s::bigint END WHERE artifact_id = ANY(%(ids)s) "
            "RETURNING conversation_id) "
            "UPDATE conversations SET stamp = stamp + 1 "
            "WHERE conversation_id IN (SELECT conversation_id FROM marked)".encode(),
            {"ids": list(artifact_ids), "from_seq": from_seq},
        )


def derived_from(artifacts: Sequence[Artifact], seq: int) -> list[str]:
    """Return the ids of every artifact that read a message, directly or through its parents."""
    tainted = {a.artifact_id for a in artifacts if a.read_from_seq <= seq <= a.read_to_seq}
    grown = True
    while grown:
        more = {a.artifact_id for a in artifacts if tainted & set(a.parents)} - tainted
        tainted |= more
        grown = bool(more)
    return sorted(tainted)


async def blank(connection: Connection, artifact_ids: Sequence[str]) -> None:
    """Destroy the words of artifacts, for redaction."""
    ids = list(artifact_ids)
    for table in _SOURCES:
        await connection.execute(
            f"UPDATE {table} SET body = '', tokens = 0, meta = '{{}}' "
            "WHERE artifact_id = ANY(%s)".encode(),
            (ids,),
        )
    await connection.execute(
        "DELETE FROM user_memories m USING memory_snapshots s WHERE s.artifact_id = ANY(%s) "
        "AND m.conversation_id = s.conversation_id AND m.version = s.version",
        (ids,),
    )


async def _enter(connection: Connection, conversation_id: str, read_at_stamp: int | None) -> None:
    """Take the conversation's row lock, where writers queue, and record that it has changed."""
    await check_unedited(connection, conversation_id, read_at_stamp)
    await connection.execute(
        "UPDATE conversations SET stamp = stamp + 1 WHERE conversation_id = %s", (conversation_id,)
    )


async def _supersede_older(connection: Connection, artifact: Artifact) -> None:
    if artifact.version > 1:
        await connection.execute(
            "UPDATE summary_nodes SET superseded_from_seq = %s WHERE conversation_id = %s "
            "AND kind = %s AND level = %s AND from_seq = %s AND version < %s "
            "AND superseded_from_seq IS NULL",
            (
                artifact.visible_from_seq,
                artifact.conversation_id,
                artifact.kind,
                artifact.level,
                artifact.from_seq,
                artifact.version,
            ),
        )


async def _insert(connection: Connection, a: Artifact) -> None:
    values: tuple[Any, ...] = (
        a.artifact_id,
        a.conversation_id,
        a.version,
        a.from_seq,
        a.read_from_seq,
        a.read_to_seq,
        Jsonb(list(a.parents)),
        a.visible_from_seq,
        a.superseded_from_seq,
        a.status,
        clean_text(a.text),
        a.tokens,
        a.model,
        a.prompt_hash,
        a.lossless,
        Jsonb(clean_json(dict(a.meta))),
        a.to_seq,
    )
    table = _TABLES[a.kind]
    last = "summarized_until_seq" if table == "conversation_summaries" else "to_seq"
    columns = f"{_SHARED}, {last}"
    if table == "summary_nodes":
        columns, values = f"{columns}, kind, level", (*values, a.kind, a.level)
    marks = ", ".join(["%s"] * len(values))
    await connection.execute(f"INSERT INTO {table} ({columns}) VALUES ({marks})".encode(), values)


async def _insert_items(connection: Connection, artifact: Artifact) -> None:
    key = (artifact.conversation_id, artifact.version)
    async with connection.cursor() as writer:
        await writer.executemany(
            "INSERT INTO user_memories (conversation_id, version, item_id, place, user_id, "
            "project_id, scope, kind, body, status, speaker, confidence_share, superseded_by) "
            "SELECT %s, %s, %s, %s, user_id, project_id, %s, %s, %s, %s, %s, %s, %s "
            "FROM conversations WHERE conversation_id = %s",
            [
                (*key, clean_text(i.item_id), place, i.scope, i.kind, clean_text(i.text), i.status,
                 _cleaned(i.speaker), i.confidence_share, _cleaned(i.superseded_by),
                 artifact.conversation_id)
                for place, i in enumerate(artifact.items)
            ],
        )  # fmt: skip
        await writer.executemany(
            "INSERT INTO memory_sources VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING",
            [(*key, clean_text(i.item_id), seq) for i in artifact.items for seq in i.source_seqs],
        )


def _cleaned(name: str | None) -> str | None:
    return None if name is None else clean_text(name)


async def _with_items(
    connection: Connection, conversation_id: str, artifacts: list[Artifact]
) -> list[Artifact]:
    versions = [a.version for a in artifacts if a.kind == "memory"]
    if not versions:
        return artifacts
    cursor = await connection.execute(
        "SELECT m.version, m.item_id, m.kind, m.body, m.scope, m.status, m.speaker, "
        "m.confidence_share, m.superseded_by, "
        "coalesce((SELECT array_agg(s.seq ORDER BY s.seq) FROM memory_sources s "
        "WHERE (s.conversation_id, s.version, s.item_id) = "
        "(m.conversation_id, m.version, m.item_id)), '{}') "
        "FROM user_memories m WHERE m.conversation_id = %s AND m.version = ANY(%s) "
        "ORDER BY m.version, m.place",
        (conversation_id, versions),
    )
    items: dict[int, list[MemoryItem]] = {}
    for row in await cursor.fetchall():
        items.setdefault(row[0], []).append(item_of(row[1:]))
    return [
        replace(a, items=tuple(items.get(a.version, ()))) if a.kind == "memory" else a
        for a in artifacts
    ]


def item_of(row: Sequence[Any]) -> MemoryItem:
    """Return a memory item from ``item_id, kind, body, scope, status, speaker, confidence, …``."""
    return MemoryItem(
        item_id=row[0],
        kind=row[1],
        text=row[2],
        scope=row[3],
        status=row[4],
        speaker=row[5],
        confidence_share=row[6],
        superseded_by=row[7],
        source_seqs=tuple(row[8]),
    )


def _artifact(row: tuple[Any, ...]) -> Artifact:
    return Artifact(
        artifact_id=row[0],
        conversation_id=row[1],
        version=row[2],
        from_seq=row[3],
        read_from_seq=row[4],
        read_to_seq=row[5],
        parents=tuple(row[6]),
        visible_from_seq=row[7],
        superseded_from_seq=row[8],
        status=row[9],
        text=row[10],
        tokens=row[11],
        model=row[12],
        prompt_hash=row[13],
        lossless=row[14],
        meta=row[15],
        kind=row[16],
        level=row[17],
        to_seq=row[18],
    )
