"""The bundled experiment: what `make run` prints rests on these."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pytest

from ctxeng.cli.workspaces import sample_root
from ctxeng.harness.probes.io import check_against, read_probes
from ctxeng.harness.scoring.lint import lint
from ctxeng.harness.sessions.io import load_dataset
from tests.cli.conftest import Outcome, Workspace
from tests.support.databases import remove_database

BUNDLED = sample_root() / "datasets" / "bundled"
PROBES = sample_root() / "probes" / "bundled.jsonl"


@pytest.fixture(scope="module")
def quickstart(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """Run the bundled experiment once."""
    home = tmp_path_factory.mktemp("quickstart")
    from ctxeng.cli.workspaces import lay_out

    lay_out(home / "demo")
    done = Workspace(path=home / "demo").run("run", "experiments/quickstart.toml", "--json")
    remove_database(home / "demo")
    assert done.code == 0, done.err
    return done


def rows(outcome: Outcome, query: str) -> list[tuple[Any, ...]]:
    folder = outcome.json["path"]
    with duckdb.connect() as connection:
        for table in ("cells", "artifacts"):
            connection.execute(
                f"CREATE VIEW {table} AS SELECT * FROM read_parquet('{folder}/{table}.parquet')"
            )
        return connection.execute(query).fetchall()


def test_bundled_sessions_are_many_long_and_irregular() -> None:
    """At least 12 sessions of 40-150 messages; a third and more break strict alternation."""
    sessions = load_dataset([BUNDLED])
    assert len(sessions) >= 12
    assert all(40 <= len(s.messages) <= 150 for s in sessions)
    irregular = [
        s.session_id
        for s in sessions
        if any(
            (a.role == "user") == (b.role == "user")
            for a, b in zip(s.messages, s.messages[1:], strict=False)
        )
    ]
    assert len(irregular) >= len(sessions) / 3
    assert {"en", "ja", "ko", "mixed"} <= {s.language for s in sessions}
    assert any(len({m.speaker for m in s.messages if m.speaker}) >= 2 for s in sessions)
    assert any(m.role == "tool" for s in sessions for m in s.messages)


def test_every_bundled_session_has_a_card() -> None:
    """The card names each session with its languages, counts, origin and licence."""
    card = (BUNDLED / "card.md").read_text("utf-8")
    for session in load_dataset([BUNDLED]):
        section = card.split(f"## {session.session_id}\n")[1].split("\n## ")[0]
        assert f"messages: {len(session.messages)}" in section
        assert "licence: CC0-1.0" in section


def test_bundled_probes_are_many_of_every_kind_and_free_of_findings() -> None:
    """At least 200 probes, every kind, at least 15 absent, none refused by lint."""
    sessions, probes = load_dataset([BUNDLED]), read_probes(PROBES)
    check_against(probes, sessions)
    assert lint(probes, sessions) == []
    kinds = Counter(probe.kind for probe in probes)
    assert len(probes) >= 200
    assert kinds["absent"] >= 15
    assert set(kinds) == {
        "preference", "rejection", "decision", "constraint", "identifier", "number", "date",
        "list", "order", "wording", "referent", "update", "speaker", "absent",
    }  # fmt: skip


def test_each_position_has_enough_probes(quickstart: Outcome) -> None:
    """At least 25 in recent, interior and boundary of the reference arm, and 25 distilled."""
    counted = dict(
        rows(quickstart, "SELECT bucket, count(*) FROM cells WHERE arm = 'three_tier' GROUP BY 1")
    )
    assert min(counted["recent"], counted["interior"], counted["boundary"]) >= 25
    assert rows(
        quickstart, "SELECT count(*) >= 25 FROM cells WHERE arm = 'three_tier' AND distilled"
    ) == [(True,)]


def test_controls_are_on_their_mark(quickstart: Outcome) -> None:
    """In context: verbatim and full 100 %, none 0 %."""
    shares = dict(
        rows(
            quickstart,
            "SELECT arm, avg(value_in_context::int) FROM cells WHERE is_control AND answerable"
            " GROUP BY 1",
        )
    )
    assert (shares["full"], shares["verbatim"], shares["none"]) == (1.0, 1.0, 0.0)
    assert shares["oracle"] == 1.0


def test_no_answer_is_given_without_context(quickstart: Outcome) -> None:
    """No probe can be guessed by the offline reader from its question alone."""
    assert rows(
        quickstart,
        "SELECT count(*) FROM cells WHERE arm = 'none' AND answerable AND outcome = 'recalled'",
    ) == [(0,)]


@pytest.mark.parametrize(
    ("claim", "per_session"),
    [
        ("rolling is rewritten three times",
         "SELECT count(*) >= 3 FROM artifacts WHERE arm = 'rolling' AND kind = 'rolling'"),
        ("the tree has two levels",
         "SELECT max(level) >= 1 FROM artifacts WHERE arm = 'hierarchical' AND kind = 'node'"),
        ("memory is distilled twice",
         "SELECT count(*) >= 2 FROM artifacts WHERE arm = 'three_tier' AND kind = 'memory'"),
    ],
)  # fmt: skip
def test_compaction_is_not_idle(quickstart: Outcome, claim: str, per_session: str) -> None:
    """In at least three quarters of the sessions every compacting arm really compacts."""
    found = rows(quickstart, f"{per_session} GROUP BY session_id")
    sessions = quickstart.json["sessions"]
    assert sum(1 for (holds,) in found if holds) >= 0.75 * sessions, claim


def test_most_evidence_lies_outside_the_window(quickstart: Outcome) -> None:
    """At least 60 % of the evidence is outside the reference arm's recent part."""
    ((share,),) = rows(
        quickstart,
        "SELECT avg((bucket <> 'recent')::int) FROM cells"
        " WHERE arm = 'three_tier' AND bucket <> 'none'",
    )
    assert share >= 0.6


def test_no_arm_but_the_whole_history_is_idle(quickstart: Outcome) -> None:
    """Every arm's prompts differ from the whole history; the report says so."""
    page = Path(quickstart.json["paths"]["html"]).read_text("utf-8")
    assert "(idle)" not in page
    assert "What each arm did" in page


def test_the_report_files_are_whole(quickstart: Outcome) -> None:
    """One self-contained page, a picture, a catalogue over all runs."""
    paths = quickstart.json["paths"]
    page = Path(paths["html"]).read_text("utf-8")
    assert page.startswith("<!doctype html>")
    assert "describes the plumbing, not Claude" in page.split("<h1>")[0]
    assert "<script src" not in page and "://" not in page  # the compressed block has no colon
    assert Path(paths["png"]).read_bytes().startswith(b"\x89PNG")
    with duckdb.connect(paths["duckdb"], read_only=True) as catalogue:
        assert catalogue.execute("SELECT count(*) FROM cells").fetchall() == [
            (quickstart.json["cells"],)
        ]
    manifest = json.loads((Path(quickstart.json["path"]) / "manifest.json").read_text("utf-8"))
    assert manifest["schema_version"] == 2
    assert manifest["hashes"]["source"]
