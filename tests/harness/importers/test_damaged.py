"""Damaged files: one clear line for each damage, and nothing else is lost."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from ctxeng.core.errors import DatasetError
from ctxeng.core.messages import Message
from tests.harness.importers.conftest import Import, Imported

WHOLE = "claude-code/tool_heavy.jsonl"
# name: (messages of the whole file that are missing, damaged line or 0)
DAMAGED = {
    "cc_bom_crlf.jsonl": ([], 0),
    "cc_utf16le.jsonl": ([], 0),
    "cc_duplicate_lines.jsonl": ([], 0),
    "cc_shuffled_lines.jsonl": ([], 0),
    "cc_parent_cycle.jsonl": ([], 0),
    "cc_nul_run_tail.jsonl": ([], 39),
    "cc_truncated_last_line.jsonl": ([], 39),
    "cc_two_records_one_line.jsonl": ([], 6),
    "cc_corrupt_middle_line.jsonl": ([2], 11),
    "cc_dangling_tool_use_tail_cut.jsonl": ([11], 0),
    "cc_orphan_tool_result_head_cut.jsonl": ([0, 1], 0),
}


@pytest.fixture
def whole(imported: Import, shared_data: Path) -> Imported:
    """Return the import of the file that the damaged ones were made from."""
    return imported("auto", shared_data / WHOLE)


def bare(messages: tuple[Message, ...]) -> list[Message]:
    """Return the messages without their numbers, which change where one is missing."""
    return [message.with_(seq=0) for message in messages]


@pytest.mark.parametrize("name", DAMAGED)
def test_only_the_damaged_line_is_lost(
    name: str, imported: Import, whole: Imported, shared_data: Path
) -> None:
    """The words, their order and the tool pairs of every other line are those of the whole file."""
    missing, line = DAMAGED[name]
    found = imported("auto", shared_data / "damaged" / name)
    wanted = [m for seq, m in enumerate(bare(whole.messages)) if seq not in missing]
    assert bare(found.messages) == wanted
    told = [(n, what) for n, what in found.findings if what.startswith("damaged line")]
    assert [n for n, _ in told] == ([line] if line else [])
    assert all("\n" not in what and len(what) < 200 for _, what in told)
    assert found.report.skipped["damaged line"] == bool(line)


def test_every_copy_of_a_line_is_counted(
    imported: Import, whole: Imported, shared_data: Path
) -> None:
    """A file written twice is read twice: the second half is repeated lines or no messages."""
    found = imported("auto", shared_data / "damaged" / "cc_duplicate_lines.jsonl")
    assert found.report.read == 2 * whole.report.read
    assert found.report.imported == whole.report.imported
    assert found.report.merged == whole.report.merged
    assert found.report.skipped["repeated line"] > 0


def test_all_damaged_files_are_imported_at_once(imported: Import, shared_data: Path) -> None:
    """Named together, the sound sessions are copies of one, and no file stops another."""
    found = imported("auto", *[shared_data / "damaged" / name for name in DAMAGED])
    assert not found.report.failures
    assert found.report.files == len(DAMAGED)
    assert len(found.sessions) == len(DAMAGED)


def test_a_folder_with_files_of_no_format_imports_the_rest(
    imported: Import, shared_data: Path
) -> None:
    """Japanese files in old encodings are left aside with a finding each."""
    found = imported("auto", shared_data / "damaged")
    assert len(found.sessions) == len(DAMAGED) + 2
    unknown = {Path(f.file).name for f in found.report.findings if "not recognised" in f.what}
    assert unknown == {*("rpc_cut_inside_multibyte.json", "rpc_euc_jp.json", "rpc_shift_jis.json")}
    advice = {
        Path(f.file).name: f.what.rpartition("pass ")[2]
        for f in found.report.findings
        if "looks like" in f.what
    }
    assert advice == {
        "rpc_euc_jp.json": "--encoding euc_jp",
        "rpc_shift_jis.json": "--encoding cp932",
    }


Damage = Callable[[bytes, random.Random], bytes]


def cut_anywhere(data: bytes, rng: random.Random) -> bytes:
    """Cut the end off."""
    return data[: rng.randrange(1, len(data))]


def overwrite(data: bytes, rng: random.Random) -> bytes:
    """Overwrite a stretch with noise."""
    at = rng.randrange(len(data))
    return data[:at] + rng.randbytes(300) + data[at + 300 :]


def drop_lines(data: bytes, rng: random.Random) -> bytes:
    """Lose every fourth line."""
    return b"\n".join(line for line in data.split(b"\n") if rng.random() > 0.25)


def shuffle_lines(data: bytes, rng: random.Random) -> bytes:
    """Put the lines in any order."""
    lines = data.split(b"\n")
    rng.shuffle(lines)
    return b"\n".join(lines)


def join_lines(data: bytes, rng: random.Random) -> bytes:
    """Lose some line ends."""
    return b"".join(line + (b"" if rng.random() < 0.2 else b"\n") for line in data.split(b"\n"))


def fill_with_nul(data: bytes, rng: random.Random) -> bytes:
    """Zero a stretch, as a crashed disk does."""
    at = rng.randrange(len(data))
    return data[:at] + bytes(2000) + data[at + 2000 :]


FILES = {
    "claude-code": WHOLE,
    "codex": "codex/rollout-2025-09-24T20-12-23-01997ea4-a70d-7da3-8c20-c736db82a7c5.jsonl",
    "openai-chat": "openai-chat/toy_chat_fine_tuning.jsonl",
    "oasst": "oasst/trees-30.jsonl",
}


@pytest.mark.parametrize(
    "damage", [cut_anywhere, overwrite, drop_lines, shuffle_lines, join_lines, fill_with_nul]
)
@pytest.mark.parametrize("format_name", FILES)
def test_any_damage_leaves_the_other_lines(
    format_name: str, damage: Damage, imported: Import, tmp_path: Path, shared_data: Path
) -> None:
    """Three rounds of each damage, seeded: every filled line is accounted for, none crashes."""
    data = (shared_data / FILES[format_name]).read_bytes()
    for round_number in range(3):
        rng = random.Random(f"{format_name} {round_number}")
        path = tmp_path / f"damaged-{round_number}.jsonl"
        path.write_bytes(damage(data, rng))
        lines = [line for line in path.read_bytes().split(b"\n") if line.strip()]
        try:
            found = imported(format_name, path)
        except DatasetError as error:
            assert str(path) in str(error)
            continue
        assert len(found.report.findings) + len(found.report.failures) <= 2 * len(lines)
        if format_name in ("claude-code", "codex"):
            assert found.report.read - found.report.skipped["blank line"] == len(lines)


@pytest.mark.parametrize(
    ("format_name", "path"),
    [
        ("chatgpt", "chatgpt/conversations.json"),
        ("claude-ai", "claude-ai/conversations.json"),
        ("gemini-cli", "gemini-cli/session-2025-10-29T10-36-453aa339.json"),
        ("locomo", "locomo/locomo2_original_labels.json"),
        ("sharegpt", "sharegpt/dummy_60.json"),
    ],
)
def test_a_cut_json_file_is_one_clear_error(
    format_name: str, path: str, imported: Import, tmp_path: Path, shared_data: Path
) -> None:
    """One value cannot be read in part: the error says where it ends and what to do."""
    cut = tmp_path / "cut.json"
    cut.write_bytes((shared_data / path).read_bytes()[:-40])
    with pytest.raises(DatasetError, match=r"must be one whole value.*cut\.json.*export it again"):
        imported(format_name, cut)
