"""Cells added up inside DuckDB: what reports are made of, whatever the number of cells.

What comes back has a row for each arm, group and session, never one for each cell. Replicates of a
probe count once, by their mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from ctxeng.harness.results.database import rows

if TYPE_CHECKING:
    import duckdb

Grouping = Literal["all", "bucket", "distilled", "kind", "category", "language", "depth", "rounds"]
RIGHT = (
    "CASE outcome WHEN 'recalled' THEN 1e0 WHEN 'missed' THEN 0e0 WHEN 'abstained' THEN 0e0 "
    "WHEN 'stale' THEN 0e0 WHEN 'fabricated' THEN 0e0 END"
)
_PRESENT = "CAST(CAST(value_in_context AS INTEGER) AS DOUBLE)"
_KEYS: dict[Grouping, str] = {
    "all": "CASE WHEN answerable THEN 'all' END",
    "bucket": "bucket",
    "distilled": "{'bucket': bucket, 'distilled': distilled}",
    "kind": "kind",
    "category": "category",
    "language": "language",
    # the fifth of the session in which the fact is stated, by its lower end in per cent
    "depth": "CAST(least(4, floor(depth * 5)) * 20 AS INTEGER)",
    # compactions a fact went through when asked about, by the lower end of the group
    "rounds": "CASE WHEN answerable THEN CASE WHEN rounds >= 10 THEN 10 WHEN rounds >= 6 THEN 6 "
    "WHEN rounds >= 4 THEN 4 ELSE CAST(rounds AS INTEGER) END END",
}
_RENAMED: dict[Grouping, str] = {
    "distilled": "REPLACE (grp.bucket || CASE WHEN grp.distilled THEN ': distilled' "
    "ELSE ': not distilled' END AS grp)"
}
_ATTRIBUTES = (
    "answerable",
    "bucket",
    "distilled",
    "kind",
    "category",
    "language",
    "depth",
    "rounds",
)


def prepare(connection: duckdb.DuckDBPyConnection) -> None:
    """Create the relation ``probe_outcomes``: one row for each arm and probe."""
    outcomes = f"{RIGHT} AS correct, {_PRESENT} AS present, evidence_in_context AS evidence"
    attributes = ", ".join(_ATTRIBUTES)
    source = (
        f"SELECT arm, session_id, probe_id, {attributes}, outcome <> 'skipped' AS asked, "
        f"{outcomes} FROM cells"
    )
    if (rows(connection, "SELECT max(replicate) AS last FROM cells")[0]["last"] or 0) == 0:
        connection.execute(f"CREATE OR REPLACE TEMP VIEW probe_outcomes AS {source}")
        return
    means = ", ".join(f"avg({name}) AS {name}" for name in ("correct", "present", "evidence"))
    firsts = ", ".join(f"any_value({name}) AS {name}" for name in _ATTRIBUTES)
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE probe_outcomes AS SELECT arm, session_id, probe_id, "
        f"{firsts}, bool_or(asked) AS asked, {means} FROM ({source}) "
        "GROUP BY arm, session_id, probe_id"
    )


def session_counts(
    connection: duckdb.DuckDBPyConnection, grouping: Grouping
) -> list[dict[str, Any]]:
    """Return probes and successes by arm, group and session, ordered; needs ``prepare``.

    Columns: arm, grp, session_id, probes, asked (probes), correct_n, correct, present_n, present,
    evidence_n, evidence. Probes outside the grouping are left out.
    """
    key = _KEYS[grouping]
    return rows(
        connection,
        f"""
        WITH counted AS (
          SELECT arm, {key} AS grp, session_id, count(*) AS probes,
                 count(*) FILTER (WHERE asked) AS asked,
                 count(correct) AS correct_n, coalesce(sum(correct), 0) AS correct,
                 count(present) AS present_n, coalesce(sum(present), 0) AS present,
                 count(evidence) AS evidence_n, coalesce(sum(evidence), 0) AS evidence
          FROM probe_outcomes GROUP BY arm, grp, session_id)
        SELECT * {_RENAMED.get(grouping, "")} FROM counted WHERE grp IS NOT NULL
        ORDER BY arm, grp, session_id
        """,
    )


def tally(connection: duckdb.DuckDBPyConnection) -> list[dict[str, Any]]:
    """Return how many cells (``n``) have the same arm, bucket, outcome, presence and loss stage."""
    return rows(
        connection,
        """
        SELECT arm, bucket, outcome, value_in_context, evidence_in_context = 1.0 AS has_evidence,
               loss_stage, count(*) AS n
        FROM cells GROUP BY ALL ORDER BY ALL
        """,
    )


def answer_counts(connection: duckdb.DuckDBPyConnection) -> list[dict[str, Any]]:
    """Return by arm how its answers are alike; cells without an answer are left out.

    Only the fullest of 1,024 parts by hash is looked at answer by answer: an answer given more than
    half the time is in it, and most of ten million different ones are not.

    Columns: arm, n (answers), words (the most frequent answer of that part, lower case), same (how
    often it was given), long (far longer than an answer), echoed (answers that only repeat the
    question).
    """
    return rows(
        connection,
        """
        WITH answers AS (
          SELECT arm, lower(trim(answer)) AS words, hash(words) % 1024 AS part,
                 cells."verbose" AS long, literal_rule = 'echoes_question' AS echoed
          FROM cells WHERE answer <> ''),
        parts AS (
          SELECT arm, part, count(*) AS n, count(*) FILTER (WHERE long) AS long,
                 count(*) FILTER (WHERE echoed) AS echoed
          FROM answers GROUP BY arm, part),
        arms AS (
          SELECT arm, CAST(sum(n) AS BIGINT) AS n, arg_max(part, {'n': n, 'part': part}) AS part,
                 CAST(sum(long) AS BIGINT) AS long, CAST(sum(echoed) AS BIGINT) AS echoed
          FROM parts GROUP BY arm),
        common AS (
          SELECT arm, words, count(*) AS same
          FROM answers SEMI JOIN arms USING (arm, part) GROUP BY arm, words)
        SELECT arm, any_value(n) AS n, max(same) AS same,
               arg_max(words, {'same': same, 'words': words}) AS words,
               any_value(long) AS long, any_value(echoed) AS echoed
        FROM common JOIN arms USING (arm) GROUP BY arm ORDER BY arm
        """,
    )


def guessed_probes(
    connection: duckdb.DuckDBPyConnection, *, limit: int
) -> dict[str, tuple[str, ...]]:
    """Return by arm the first probes that were recalled without their value in the prompt."""
    found = rows(
        connection,
        """
        SELECT arm, min({'session': session_id, 'probe': probe_id},
                        CAST(? * (SELECT 1 + coalesce(max(replicate), 0) FROM cells) AS BIGINT))
                    AS probes
        FROM cells WHERE outcome = 'recalled' AND NOT value_in_context GROUP BY arm
        """,
        limit,
    )
    return {
        row["arm"]: tuple(dict.fromkeys(probe["probe"] for probe in row["probes"]))[:limit]
        for row in found
    }


def arm_means(connection: duckdb.DuckDBPyConnection) -> dict[str, dict[str, Any]]:
    """Return by arm what its prompts were like on average, and the sessions it was asked in."""
    found = rows(
        connection,
        """
        SELECT arm, count(DISTINCT session_id) AS sessions,
               avg(rounds) FILTER (WHERE bucket <> 'none') AS rounds,
               avg(CAST(arm_bucket <> 'recent' AS INTEGER)) FILTER (WHERE bucket <> 'none')
                 AS outside_share,
               avg(CAST(differs_from_full AS INTEGER)) AS differs_share,
               coalesce(avg(context_tokens), 0) AS context_tokens,
               coalesce(avg(full_tokens), 0) AS full_tokens
        FROM cells GROUP BY arm
        """,
    )
    return {row["arm"]: row for row in found}


def arm_costs(connection: duckdb.DuckDBPyConnection) -> dict[str, float | None]:
    """Return by arm the money for all its calls, USD; None where some price is unknown."""
    found = rows(
        connection,
        "SELECT arm, CASE WHEN count(cost_usd) = count(*) THEN sum(cost_usd) END AS cost_usd "
        "FROM calls GROUP BY arm",
    )
    return {row["arm"]: row["cost_usd"] for row in found}


def covered_facts(
    connection: duckdb.DuckDBPyConnection, arms: Sequence[str]
) -> list[dict[str, Any]]:
    """Return every fact that summaries cover wholly, arm by arm.

    Columns: arm, session_id, probe_id, evidence (spans as JSON), present (0..1, a mean over
    replicates), starts (first seqs of the arm's own episodes in that session).
    """
    return rows(
        connection,
        f"""
        WITH facts AS (
          SELECT arm, session_id, probe_id, avg({_PRESENT}) AS present FROM cells
          WHERE answerable AND value_in_context IS NOT NULL AND list_contains(?, arm)
            AND arm_bucket IN ('interior', 'boundary')
          GROUP BY ALL),
        episodes AS (
          SELECT arm, session_id, list(DISTINCT from_seq) AS starts FROM artifacts
          WHERE kind = 'episode' GROUP BY ALL)
        SELECT arm, session_id, probe_id, evidence, present, starts
        FROM facts JOIN episodes USING (arm, session_id) JOIN probes USING (session_id, probe_id)
        ORDER BY ALL
        """,
        list(arms),
    )


def same_prompts(connection: duckdb.DuckDBPyConnection) -> list[frozenset[str]]:
    """Return groups of arms whose prompts are the same, word for word, in every probe.

    Each row is hashed as one text: hashes of several columns cancel out when they are combined.
    """
    found = rows(
        connection,
        """
        WITH shown AS (
          SELECT arm, bit_xor(hash(concat_ws(chr(31), session_id, probe_id, replicate, as_of,
                                             blocks))) AS blocks
          FROM contexts GROUP BY arm),
        written AS (
          SELECT arm, bit_xor(hash(concat_ws(chr(31), session_id, replicate, artifact_id, text)))
                   AS texts
          FROM artifacts GROUP BY arm)
        SELECT list(arm) AS arms FROM shown LEFT JOIN written USING (arm)
        GROUP BY blocks, texts HAVING count(*) > 1
        """,
    )
    return [frozenset(row["arms"]) for row in found]


def upkeep(connection: duckdb.DuckDBPyConnection) -> dict[str, dict[str, float | None]]:
    """Return by arm what its compaction read, and how late it was.

    Columns: read_tokens, input of all calls but readers' and judges'; late_share, 0..1, of prompts
    built while a compaction was late; memory_age, messages between the last one that the memory in
    force had read and the question, on average, None where there is no memory.
    """
    found: dict[str, dict[str, float | None]] = {}
    for name, query in _UPKEEP.items():
        for row in rows(connection, query):
            found.setdefault(row["arm"], dict.fromkeys(_UPKEEP))[name] = row["value"]
    return found


_UPKEEP = {
    "read_tokens": """
        SELECT arm, sum(input_tokens + cached_tokens + cache_write_tokens) AS value
        FROM calls WHERE role NOT IN ('reader', 'judge') GROUP BY arm""",
    "late_share": """
        SELECT arm, avg(CAST(skipped <> '[]' AS DOUBLE)) AS value FROM contexts GROUP BY arm""",
    "memory_age": """
        SELECT arm, avg(age) AS value FROM (
          SELECT c.arm, c.as_of - max(a.to_seq) AS age
          FROM contexts c JOIN artifacts a
            ON a.arm = c.arm AND a.session_id = c.session_id AND a.kind = 'memory'
           AND a.visible_from_seq <= c.as_of
          GROUP BY c.arm, c.session_id, c.probe_id, c.replicate, c.as_of)
        GROUP BY arm""",
}


def artifact_counts(connection: duckdb.DuckDBPyConnection) -> dict[str, dict[str, Any]]:
    """Return by arm the artifacts written, by kind, and the sessions that have any."""
    found: dict[str, dict[str, Any]] = {}
    for row in rows(
        connection, "SELECT arm, kind, count(*) AS n FROM artifacts GROUP BY ALL ORDER BY ALL"
    ):
        found.setdefault(row["arm"], {"kinds": {}, "sessions": 0})["kinds"][row["kind"]] = row["n"]
    for row in rows(
        connection, "SELECT arm, count(DISTINCT session_id) AS n FROM artifacts GROUP BY arm"
    ):
        found[row["arm"]]["sessions"] = row["n"]
    return found


def mean_variances(connection: duckdb.DuckDBPyConnection, arm: str) -> dict[str, Any]:
    """Return the mean variances of an arm's answers over replicates, complete probes only.

    Columns: judges, readers, summarisers (None for one replicate), probes, and the numbers of
    replicates ``s``, ``r`` and ``j``.
    """
    query = f"""
    WITH c AS (
      SELECT session_id, probe_id, summariser_replicate AS s, reader_replicate AS r, {RIGHT} AS v
      FROM cells WHERE arm = ? AND answerable),
    shape AS (
      SELECT greatest(count(DISTINCT summariser_replicate), 1) AS s,
             greatest(count(DISTINCT reader_replicate), 1) AS r,
             greatest(count(DISTINCT judge_replicate), 1) AS j FROM cells WHERE arm = ?),
    whole AS (
      SELECT session_id, probe_id FROM c GROUP BY ALL
      HAVING count(v) = (SELECT s * r * j FROM shape)),
    answers AS (
      SELECT session_id, probe_id, s, r, avg(v) AS m, var_samp(v) AS spread
      FROM c SEMI JOIN whole USING (session_id, probe_id) GROUP BY ALL),
    summaries AS (
      SELECT session_id, probe_id, s, avg(m) AS m, var_samp(m) AS spread, avg(spread) AS below
      FROM answers GROUP BY session_id, probe_id, s),
    probes AS (
      SELECT var_samp(m) AS spread, avg(spread) AS readers, avg(below) AS judges
      FROM summaries GROUP BY session_id, probe_id)
    SELECT avg(judges) AS judges, avg(readers) AS readers, avg(spread) AS summarisers,
           count(*) AS probes, (SELECT s FROM shape) AS s, (SELECT r FROM shape) AS r,
           (SELECT j FROM shape) AS j
    FROM probes
    """
    return rows(connection, query, arm, arm)[0]


def replicate_agreement(
    connection: duckdb.DuckDBPyConnection, arm: str
) -> tuple[float | None, list[float]]:
    """Return the chance that two replicates of a probe differ, and the recall of each replicate."""
    own = f"SELECT session_id, probe_id, replicate, {RIGHT} AS v FROM cells WHERE arm = ?"
    chance = rows(
        connection,
        f"""
        SELECT avg(2 * p * (1 - p) * n / (n - 1)) AS chance FROM (
          SELECT avg(v) AS p, count(v) AS n FROM ({own} AND answerable)
          GROUP BY session_id, probe_id HAVING count(v) > 1)
        """,
        arm,
    )[0]["chance"]
    recalls = rows(
        connection,
        f"SELECT avg(v) AS recall FROM ({own} AND answerable) WHERE v IS NOT NULL "
        "GROUP BY replicate ORDER BY replicate",
        arm,
    )
    return chance, [float(row["recall"]) for row in recalls]
