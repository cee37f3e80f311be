"""The data the project ships: how much, in which languages, written and not filled, and linted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest

from ctxeng.core.messages import Session
from ctxeng.harness.privacy.dataset import leaks
from ctxeng.harness.privacy.redactor import Redactor
from ctxeng.harness.probes.io import check_against, read_probes
from ctxeng.harness.probes.model import Probe
from ctxeng.harness.scoring.lint import lint
from ctxeng.harness.sessions.io import load_dataset

ROOT = Path(__file__).parents[3]
DATASETS = ("bundled", "corpus")
WORDS, LETTERS = 8, 16  # how long a shared run is: in words, in letters where there are no words
_TOKEN = re.compile(r"[぀-ヿ㐀-鿿]|\w+")


@pytest.fixture(scope="module")
def sessions() -> list[Session]:
    return load_dataset([ROOT / "datasets" / name for name in DATASETS])


@pytest.fixture(scope="module")
def probes() -> list[Probe]:
    return [p for name in DATASETS for p in read_probes(ROOT / "probes" / f"{name}.jsonl")]


def test_there_are_42_sessions_of_six_thousand_messages_half_of_them_english(
    sessions: list[Session],
) -> None:
    sizes = [len(session.messages) for session in sessions]
    languages = Counter(session.language for session in sessions)
    assert len(sessions) >= 42
    assert sum(sizes) >= 6_000
    assert min(sizes) >= 40 and max(sizes) <= 200
    assert languages["en"] * 2 >= len(sessions)
    assert {"en", "ja", "ko", "zh", "es", "mixed"} <= set(languages)


def test_sessions_share_no_sentences(sessions: list[Session]) -> None:
    """Two sessions have at most three runs of eight words (sixteen Han or kana) in common."""
    runs = {session.session_id: frozenset(_runs(session)) for session in sessions}
    shared = {
        (one, other): len(common)
        for one, other in combinations(runs, 2)
        if (common := runs[one] & runs[other])
    }
    assert {pair: n for pair, n in shared.items() if n > 3} == {}


def test_no_session_repeats_itself(sessions: list[Session]) -> None:
    """What people and the assistant say in five words or more is said once."""
    for session in sessions:
        texts = [m.content for m in session.messages if m.role in ("user", "assistant")]
        long = Counter(text for text in texts if len(_TOKEN.findall(text)) >= 5)
        assert [text for text, n in long.items() if n > 1] == [], session.session_id


@pytest.mark.parametrize("name", DATASETS)
def test_the_card_names_every_session_with_its_size(name: str) -> None:
    card = (ROOT / "datasets" / name / "card.md").read_text("utf-8")
    for session in load_dataset([ROOT / "datasets" / name]):
        section = card.split(f"## {session.session_id}\n")[1].split("\n## ")[0]
        assert f"language: {session.language}; messages: {len(session.messages)}," in section
        assert "licence: CC0-1.0" in section


@pytest.mark.parametrize("name", DATASETS)
def test_every_probe_passes_lint(name: str) -> None:
    own = load_dataset([ROOT / "datasets" / name])
    asked = read_probes(ROOT / "probes" / f"{name}.jsonl")
    check_against(asked, own)
    assert [finding.line() for finding in lint(asked, own)] == []


def test_there_are_probes_of_every_kind_and_language(probes: list[Probe]) -> None:
    kinds = Counter(probe.kind for probe in probes)
    foreign = sum(probe.language != "en" for probe in probes)
    assert len(probes) >= 400
    assert len({(p.session_id, p.probe_id) for p in probes}) == len(probes)
    assert set(kinds) == {
        "preference", "rejection", "decision", "constraint", "identifier", "number", "date", "list",
        "order", "wording", "referent", "update", "speaker", "absent",
    }  # fmt: skip
    assert kinds["absent"] >= 40
    assert kinds["update"] >= 40
    assert foreign / len(probes) >= 0.25


def test_every_session_is_asked_about(sessions: list[Session], probes: list[Probe]) -> None:
    asked = Counter(probe.session_id for probe in probes)
    assert {s.session_id for s in sessions if asked[s.session_id] < 10} == set()


def _runs(session: Session) -> Iterator[tuple[str, ...]]:
    for message in session.messages:
        tokens = _TOKEN.findall(message.text.casefold())
        size = LETTERS if tokens and sum(len(t) == 1 for t in tokens) * 2 > len(tokens) else WORDS
        for at in range(len(tokens) - size + 1):
            yield tuple(tokens[at : at + size])


@pytest.mark.parametrize(
    ("name", "probe_files"), [("bundled", ["bundled"]), ("corpus", ["corpus", "referents"])]
)
def test_nothing_shipped_holds_a_secret_or_personal_data(name: str, probe_files: list[str]) -> None:
    """What ``redact --check`` looks for is in no session, no probe and no expected value."""
    files = [ROOT / "probes" / f"{one}.jsonl" for one in probe_files]
    assert list(leaks(ROOT / "datasets" / name, Redactor(key=b"k" * 32), probe_files=files)) == []


def test_every_shipped_dataset_is_looked_at() -> None:
    """A dataset or a probe file that comes is named in the tests above."""
    folders = {path.name for path in (ROOT / "datasets").iterdir() if path.is_dir()}
    assert folders == set(DATASETS)
    assert {path.stem for path in (ROOT / "probes").glob("*.jsonl")} == {*DATASETS, "referents"}
