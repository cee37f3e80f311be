"""Every real sample of every format: recognised, accounted for, and the same again."""

from __future__ import annotations

import hashlib
import re
import shutil
from pathlib import Path

import orjson
import pytest

from ctxeng.core.errors import DatasetError
from ctxeng.core.messages import ROLES
from ctxeng.core.pairs import result_ids
from ctxeng.harness.importers.registry import IMPORTERS, detect
from ctxeng.harness.importers.run import import_paths
from ctxeng.harness.importers.source import Source, sample_of
from ctxeng.harness.sessions.io import load_dataset
from ctxeng.harness.sessions.records import encode, message_record
from ctxeng.harness.sessions.text import clean_json
from tests.conftest import SHARED_DATA
from tests.harness.importers.conftest import Import
from tests.support.foreign_chats import write_made

AGENT = "258c7280-ae70-4798-800f-63464d01a85d/subagents/agent"
OTHER_AGENT = "ae4a77f8-aedd-4bc1-888f-c94edc91af04/subagents/agent"
ROLLOUT = "rollout-2025-09-2"
SAMPLES = {
    "claude-code": [
        "claude-code/258c7280-ae70-4798-800f-63464d01a85d.jsonl",
        "claude-code/ae4a77f8-aedd-4bc1-888f-c94edc91af04.jsonl",
        *(f"claude-code/{AGENT}-{name}.jsonl" for name in ("a881341", "acompact-fffbd0")),
        *(f"claude-code/{OTHER_AGENT}-{name}.jsonl" for name in ("aac57f5", "acompact-946d2b")),
        *(f"claude-code/{name}.jsonl" for name in ("short", "subagent", "tool_heavy")),
        *(
            f"claude-code/edge/{name}.jsonl"
            for name in (
                *("dag_cycle", "dag_fork", "dag_resume", "dag_within_fork", "debug_image_message"),
                *("dedup_agent", "dedup_main", "edge_cases", "hook_attachments"),
                *("representative_messages", "sidechain", "sidechain_agent", "sidechain_main"),
                "task_id_linking_poison",
            )
        ),
    ],
    "codex": [
        "codex/exec-stream-1.jsonl",
        f"codex/{ROLLOUT}4T19-22-20-01997e76-d124-7592-9cac-2ec05abbca08.jsonl",
        f"codex/{ROLLOUT}4T20-12-23-01997ea4-a70d-7da3-8c20-c736db82a7c5.jsonl",
        f"codex/{ROLLOUT}5T08-02-05-0199812e-64f0-7f73-91fc-095dda01c36e.jsonl",
    ],
    "chatgpt": [
        *("chatgpt/chatgpt_2026_sample.json", "chatgpt/conversations.json"),
        *("chatgpt/native-conversation-v1.json", "chatgpt/one-conversation.json"),
    ],
    "claude-ai": [
        *("claude-ai/claude-bakery-chat.json", "claude-ai/conversation-with-errors.json"),
        *("claude-ai/conversations.json", "claude-ai/debugging.json", "claude-ai/python.json"),
    ],
    "anthropic-messages": ["anthropic-messages/requests-120.jsonl"],
    "openai-chat": [
        *("openai-chat/requests-70.jsonl", "openai-chat/toy_chat_fine_tuning.jsonl"),
    ],
    "gemini-cli": [
        "gemini-cli/session-2025-10-27T19-55-981c87cb.json",
        "gemini-cli/session-2025-10-29T10-36-453aa339.json",
        "gemini-cli/session-2025-10-29T10-36-9c9a14e1.json",
    ],
    "sharegpt": ["sharegpt/dummy_60.json"],
    "oasst": ["oasst/trees-30.jsonl"],
    "sillytavern": [
        *("sillytavern/Megumin_1673323621108.jsonl", "sillytavern/room_Konosuba.jsonl")
    ],
    "langfuse": [
        *("langfuse/agno-2025-06-11.trace.json", "langfuse/autogen-2025-06-06.trace.json"),
        *("langfuse/beeai-2025-08-01.trace.json", "langfuse/claude-agent-2025-12-22.trace.json"),
        "langfuse/crewai-2025-07-11.trace.json",
        "langfuse/csharp-agent-with-gemini-2026-03-09.trace.json",
    ],
    "inspect-ai": ["inspect-ai/log_formats.eval", "inspect-ai/log_streaming.eval"],
    "locomo": ["locomo/locomo6.json", "locomo/locomo2_original_labels.json"],
    "longmemeval": ["longmemeval/longmemeval_s_1.json"],
    "beam": ["beam/1/chat.json", "beam/2/chat.json"],
    "memdaily": ["memdaily/01_simple_items.json", "memdaily/01_simple_places.json"],
    "memorybank": ["memorybank/cn/memory_bank_cn.json", "memorybank/en/memory_bank_en.json"],
    "lost-in-compaction": ["lost-in-compaction/d40_C1.json", "lost-in-compaction/d40_C4.json"],
}
MADE_HERE = {"langsmith", "slack", "discord", "realtalk", "markdown"}
"""Formats without a real sample: their tests are written from the documented format."""
CASES = [(format_name, path) for format_name, paths in SAMPLES.items() for path in paths]
every_sample = pytest.mark.parametrize(("format_name", "path"), CASES, ids=[p for _, p in CASES])
LINE_FORMATS = ("claude-code", "codex", "anthropic-messages", "sillytavern")
NOT_CHATS = (
    *("beam/1/topic.json", "inspect-ai/cspell.json", "inspect-ai/settings.json"),
    *("locomo/label_errata.json", "lost-in-compaction/d40_C1_meta.json"),
    *("lost-in-compaction/judgments_d40_C1_bs5.json", "damaged/songys_cp949.csv"),
)


def digests(folder: Path) -> dict[str, str]:
    """Return the hash of every file below a folder."""
    return {
        str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in sorted(folder.rglob("*"))
        if p.is_file()
    }


def test_every_importer_has_a_sample() -> None:
    """A format without a real file is a guess."""
    assert set(SAMPLES) | MADE_HERE == {importer.name for importer in IMPORTERS}


@every_sample
def test_a_sample_is_recognised_by_its_content(
    format_name: str, path: str, shared_data: Path
) -> None:
    """No other importer is as sure."""
    found = detect(sample_of(Source(shared_data / path)))
    assert found is not None
    assert found.name == format_name


@pytest.fixture
def made(tmp_path: Path) -> dict[str, Path]:
    """Return a file of every format without a real sample."""
    return write_made(tmp_path / "made")


def test_every_sample_is_claimed_by_its_importer_alone(
    made: dict[str, Path], shared_data: Path
) -> None:
    """All importers against all samples: the right one is sure, and every other one far from it.

    A context of lost-in-compaction is a list of chat messages as well, and read as one where the
    located facts do not lie beside it.
    """
    files = [(name, shared_data / path) for name, path in CASES] + list(made.items())
    assert {name for name, _ in files} == {importer.name for importer in IMPORTERS}
    claims: dict[str, dict[str, float]] = {}
    for name, file in files:
        sample = sample_of(Source(file))
        claims[f"{name} {file.name}"] = {
            one.name: sure for one in IMPORTERS if (sure := one.detect(sample)) >= 0.3
        }
    others = {
        case: {other: sure for other, sure in found.items() if other != case.split()[0]}
        for case, found in claims.items()
    }
    assert all(claims[case].get(case.split()[0], 0) >= 0.4 for case in claims)
    assert {case: found for case, found in others.items() if found} == {
        f"lost-in-compaction d40_{level}.json": {"openai-chat": 0.5} for level in ("C1", "C4")
    }


EVERY_FILE = sorted(
    path.relative_to(SHARED_DATA).as_posix()
    for path in SHARED_DATA.rglob("*")
    if path.is_file() and not path.name.startswith("LICENSE")
)


@pytest.mark.parametrize("path", EVERY_FILE)
def test_every_file_at_hand_is_accounted_for_or_refused(
    path: str, tmp_path: Path, shared_data: Path
) -> None:
    """Real, damaged or no chat at all: the equation holds, and nothing is passed over in silence.

    What gives no session and no probe is an error that says what was seen in it.
    """
    file = shared_data / path
    try:
        report = import_paths("auto", [file], tmp_path / "set")
    except DatasetError as error:
        assert file.name in str(error)
        assert re.search("begins with|holds|nothing to import among|must be", str(error))
        assert len(str(error)) < 700
        return
    assert report.balanced
    assert report.read > 0
    assert report.messages == sum(
        len(session.messages) for session in load_dataset([tmp_path / "set"])
    )
    card = (tmp_path / "set" / "card.md").read_text("utf-8")
    assert f"{report.read} records read = {report.imported} imported " in card


@pytest.mark.parametrize("path", NOT_CHATS)
def test_what_is_no_chat_is_not_mistaken_for_one(path: str, shared_data: Path) -> None:
    """Settings, judgements and topics hold JSON and no conversation."""
    assert detect(sample_of(Source(shared_data / path))) is None


@every_sample
def test_a_sample_is_read_wholly_and_gives_sound_sessions(
    format_name: str, path: str, imported: Import, shared_data: Path
) -> None:
    """Read = imported + merged + skipped; messages are numbered, storable, and say something."""
    file = shared_data / path
    found = imported("auto", file)
    report = found.report
    assert report.format == format_name
    assert report.read == report.imported + report.merged + report.skipped.total()
    assert report.sessions == len(found.sessions) > 0
    assert not report.failures
    if format_name in LINE_FORMATS:
        filled = [line for line in file.read_bytes().split(b"\n") if line.strip()]
        blank = report.skipped["blank line"]
        assert report.read - blank == len(filled)
    for session in found.sessions.values():
        assert [m.seq for m in session.messages] == list(range(len(session.messages)))
        for message in session.messages:
            record = message_record(message)
            assert message.role in ROLES
            assert message.content.strip() or message.blocks
            assert clean_json(record) == record
            assert orjson.loads(encode(record)) == record


@every_sample
def test_a_sample_is_imported_twice_without_a_change(
    format_name: str, path: str, tmp_path: Path, shared_data: Path
) -> None:
    """Into the same folder nothing is written; into another, the same bytes are."""
    first, second = tmp_path / "a" / "set", tmp_path / "b" / "set"
    report = import_paths(format_name, [shared_data / path], first)
    before = digests(first)
    again = import_paths(format_name, [shared_data / path], first)
    assert set(again.outcomes) <= {"unchanged", "copy", "empty"}
    assert digests(first) == before
    import_paths(format_name, [shared_data / path], second)
    assert digests(second) == before
    assert again.record() == report.record()


@pytest.mark.parametrize("folder", sorted({path.split("/")[0] for _, path in CASES}))
def test_a_folder_of_samples_is_the_sum_of_its_files(
    folder: str, imported: Import, shared_data: Path
) -> None:
    """Walking a folder finds what naming each of its files finds, and fails at none."""
    whole = imported("auto", shared_data / folder)
    assert not whole.report.failures
    paths = [path for _, path in CASES if path.startswith(f"{folder}/")]
    alone = [imported("auto", shared_data / path).report for path in paths]
    assert whole.report.files == len(alone)
    assert whole.report.read == sum(report.read for report in alone)


def test_a_tool_result_answers_a_call_of_the_same_session(
    imported: Import, shared_data: Path
) -> None:
    """Over all samples the only result without a call is that of an agent cut out of its session."""
    without: set[str] = set()
    for format_name in ("claude-code", "codex", "gemini-cli", "openai-chat", "anthropic-messages"):
        for path in SAMPLES[format_name]:
            for session in imported("auto", shared_data / path).sessions.values():
                made = {
                    str(block.get("id")) for m in session.messages for block in m.blocks
                    if str(block.get("type")).endswith("tool_use")
                }  # fmt: skip
                if {r for m in session.messages for r in result_ids(m)} - made:
                    without.add(path)
    assert without == {"claude-code/edge/sidechain_agent.jsonl"}


def test_a_copy_under_another_name_has_the_same_words(
    imported: Import, tmp_path: Path, shared_data: Path
) -> None:
    """The file's name decides the session's, and nothing else."""
    source = shared_data / "claude-code" / "tool_heavy.jsonl"
    copy = tmp_path / "予算 (1).jsonl"
    shutil.copy(source, copy)
    first, second = imported("auto", source).session, imported("auto", copy).session
    assert (first.session_id, second.session_id) == ("tool_heavy", "予算 (1)")
    assert first.messages == second.messages
