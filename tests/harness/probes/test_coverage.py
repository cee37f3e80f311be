"""What a dataset covers is counted right, and where facts stand is a share of what was seen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ctxeng.core.errors import DatasetError, InputError
from ctxeng.core.messages import Message, Role, Session
from ctxeng.harness.probes.coverage import Spread, coverage_of, depth, spread
from ctxeng.harness.probes.io import probes_of, read_probes
from ctxeng.harness.probes.model import Probe, Span
from ctxeng.harness.reports.coverage import coverage_figure, draw_coverage, markdown
from ctxeng.harness.sessions.io import load_dataset
from ctxeng.tokens import open_counter

ROOT = Path(__file__).parents[3]
SHIPPED = [ROOT / "datasets" / name for name in ("bundled", "corpus")]
CODE = "Try this:\n```py\nx = 1\n```\nfine"


def session(session_id: str, *texts: str, language: str = "en", roles: str = "") -> Session:
    names: dict[str, Role] = {"u": "user", "a": "assistant", "t": "tool"}
    return Session(
        session_id=session_id,
        language=language,
        messages=tuple(
            Message(seq=seq, role=names[(roles or "ua" * 99)[seq]], content=text)
            for seq, text in enumerate(texts)
        ),
    )


def probe(session_id: str, first: int, last: int, **more: object) -> Probe:
    made = Probe(
        probe_id=f"{session_id}-{first}",
        session_id=session_id,
        question="?",
        kind="number",
        evidence=(Span(from_seq=first, to_seq=last),),
        expect=(("1",),),
        language="en",
    )
    return replace(made, **more)  # type: ignore[arg-type]


def test_sizes_roles_and_languages_are_counted_by_hand() -> None:
    """Token counts are words here: 2 + 1 + 3 and 1 + 1."""
    made = [
        session("a", "one two", "three", "four five six", roles="uat"),
        session("b", "uno", "dos", language="es"),
    ]
    found = coverage_of("x", made, [], lambda text: len(text.split()))
    assert (found.sessions, found.messages, found.tokens) == (2, 5, 8)
    assert found.roles == {"assistant": 2, "user": 2, "tool": 1}
    assert found.languages == {"en": 1, "es": 1}
    assert found.tool_messages_share == pytest.approx(1 / 5)
    assert found.tool_tokens_share == pytest.approx(3 / 8)
    assert found.lengths == ((3, "en"), (2, "es"))


def test_code_is_what_stands_between_fences_an_unclosed_one_included() -> None:
    for text in (CODE, "~~~\nx = 1\n"):
        found = coverage_of("x", [session("a", text, "")], [], len)
        assert found.code_share == pytest.approx(len("x = 1\n") / len(text))


def test_percentiles_are_linear_between_neighbours() -> None:
    """By hand: 0..100 in steps of one has its percentiles at themselves."""
    assert spread(range(101)) == Spread(median=50, p5=5, p95=95, largest=100)
    assert spread([7]) == Spread(median=7, p5=7, p95=7, largest=7)


def test_a_fact_stands_at_a_share_of_what_the_asker_has_seen() -> None:
    texts = ["x"] * 11
    asked = [
        probe("a", 5, 6),
        probe("a", 2, 2, ask_at_seq=4),
        probe("a", 10, 10),
        probe("a", 0, 0, status="draft"),
        probe("a", 1, 1, kind="absent", answerable=False, evidence=()),
    ]
    found = coverage_of("x", [session("a", *texts)], asked, len)
    assert found.depths == (0.5, 0.5, 1.0)
    assert found.depth_deciles == (0, 0, 0, 0, 0, 2, 0, 0, 0, 1)
    assert (found.probes, found.unanswerable) == (4, 1)
    assert found.kinds == {"number": 3, "absent": 1}


def test_a_session_of_one_message_has_no_position() -> None:
    assert depth(probe("a", 0, 0), 0) is None


def test_probes_go_to_the_dataset_they_ask_about_and_strays_are_refused(tmp_path: Path) -> None:
    loaded = [load_dataset([folder]) for folder in SHIPPED]
    files = [ROOT / "probes" / "corpus.jsonl"]
    assert [len(own) for own in probes_of(SHIPPED, loaded, files)] == [
        0,
        len(read_probes(files[0])),
    ]
    assert probes_of(SHIPPED, loaded, None) == [[], []]
    with pytest.raises(DatasetError, match="must name a loaded session"):
        probes_of(SHIPPED[:1], loaded[:1], files)


def test_the_table_of_the_shipped_data_is_what_the_command_prints() -> None:
    """Written by ``ctxeng sessions stats``: see the line above the table."""
    loaded = [load_dataset([folder]) for folder in SHIPPED]
    asked = probes_of(SHIPPED, loaded, [ROOT / "probes" / f"{f.name}.jsonl" for f in SHIPPED])
    count = open_counter("heuristic").count
    found = [
        coverage_of(folder.name, sessions, probes, count)
        for folder, sessions, probes in zip(SHIPPED, loaded, asked, strict=True)
    ]
    assert markdown(found) in (ROOT / "datasets" / "README.md").read_text("utf-8")


def test_the_picture_draws_every_session_language_and_fact(tmp_path: Path) -> None:
    """Heights of bars by panel sum to sessions, sessions and probes; a hostile name is plain."""
    made = [session("a", "x", "y"), session("b", "x", "y", "z", language="ja")]
    found = coverage_of("$a_b$ \x1b[31m|", made, [probe("a", 0, 0), probe("b", 2, 2)], len)
    figure = coverage_figure([found])
    lengths, languages, depths = (axes.patches for axes in figure.axes)
    assert sum(bar.get_height() for bar in lengths) == 2
    assert [bar.get_width() for bar in languages] == [1, 1]
    assert [bar.get_height() for bar in depths] == [1, 0, 0, 0, 0, 0, 0, 0, 0, 1]
    assert figure.axes[2].get_title() == "n = 2 probes with evidence"
    assert draw_coverage([found], tmp_path / "p" / "x.png").read_bytes()[:4] == b"\x89PNG"
    assert "\x1b" not in markdown([found])
    with pytest.raises(InputError, match=r"must end in \.png or \.svg"):
        draw_coverage([found], tmp_path / "x.pdf")
