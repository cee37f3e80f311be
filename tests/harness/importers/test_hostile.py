"""Whatever a file holds, an importer reads it or says why not."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ctxeng.core.errors import DatasetError
from ctxeng.harness.importers.model import Account, Importer, Options, SessionDraft
from ctxeng.harness.importers.registry import IMPORTERS
from ctxeng.harness.importers.source import Source, sample_of
from ctxeng.harness.probes.io import faults_of, probe_record
from ctxeng.harness.sessions.records import message_from
from tests.harness.importers.conftest import Write
from tests.support.foreign_chats import DISCORD, LANGSMITH, MARKDOWN, REALTALK, zip_slack

every_importer = pytest.mark.parametrize("importer", IMPORTERS, ids=lambda one: one.name)
KEYS = (
    *("id", "uuid", "parentUuid", "type", "role", "content", "message", "messages", "text", "mes"),
    *("payload", "item", "mapping", "current_node", "chat_messages", "sender", "conversations"),
    *("from", "value", "prompt", "replies", "message_tree_id", "request", "response", "choices"),
    *(
        "tool_calls",
        "toolCalls",
        "result",
        "blocks",
        "conversation",
        "speaker_a",
        "session_1",
        "qa",
    ),
    *("timestamp", "isSidechain", "agentId", "output", "arguments", "attachments", "files"),
    *("trace", "observations", "input", "startTime", "runs", "inputs", "outputs", "dotted_order"),
    *("samples", "eval", "channel", "author", "ts", "thread_ts", "elements", "turns", "evidence"),
    *("haystack_sessions", "questions", "answers", "answer_session_ids", "message_list", "history"),
    *("question_list", "target_step_id", "name", "speaker_1", "query", "question", "answer", "mid"),
)
WORDS = (
    *("user", "assistant", "tool", "response_item", "event_msg", "message", "function_call"),
    *("tool_use", "tool_result", "text", "thinking", "human", "gemini", "reasoning", "compacted"),
    *("予算", "예산", "\x00", "\ud83d", "</message>", "D1:1", "2026-03-02T09:14:00Z", ""),
)
leaves = st.one_of(
    st.sampled_from(WORDS), st.none(), st.booleans(), st.integers(-1, 2**70), st.floats()
)
values = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.sampled_from(KEYS), inner, max_size=6)
    ),
    max_leaves=25,
)
objects = st.dictionaries(st.sampled_from(KEYS), values, min_size=1, max_size=8)


def read(importer: Importer, path: Path, *, recorded: bool = False) -> Account:
    """Read a file to its end, check all that comes out, and return the account."""
    account = Account(file=str(path))
    options = Options(view="recorded" if recorded else "raw")
    try:
        for found in importer.read(Source(path), account, options):
            if not isinstance(found, SessionDraft):
                assert faults_of(probe_record(found)) == []
                continue
            for seq, line in enumerate(found.records):
                message = message_from(orjson.loads(line), where="draft")
                assert message.seq == seq
                assert "\x00" not in message.content
            assert min(found.source_records()) >= 0
    except DatasetError as error:
        assert str(path) in str(error)
    assert account.balanced
    return account


@every_importer
@given(st.lists(objects, min_size=1, max_size=5), st.booleans(), st.booleans())
@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_json_is_read_or_refused(
    source: Write, importer: Importer, given_objects: list[Any], as_lines: bool, recorded: bool
) -> None:
    """Objects made of the formats' own keys and values of every type never crash an importer."""
    bodies = [_json(one) for one in given_objects]
    data = b"\n".join(bodies) if as_lines else b"[" + b",".join(bodies) + b"]"
    read(importer, source(data, name="x.jsonl" if as_lines else "x.json"), recorded=recorded)


SEEDS = {
    "claude-code": "claude-code/edge/sidechain.jsonl",
    "codex": "codex/exec-stream-1.jsonl",
    "chatgpt": "chatgpt/conversations.json",
    "claude-ai": "claude-ai/conversation-with-errors.json",
    "gemini-cli": "gemini-cli/session-2025-10-29T10-36-453aa339.json",
    "anthropic-messages": "anthropic-messages/requests-120.jsonl",
    "openai-chat": "openai-chat/toy_chat_fine_tuning.jsonl",
    "sharegpt": "sharegpt/dummy_60.json",
    "oasst": "oasst/trees-30.jsonl",
    "sillytavern": "sillytavern/room_Konosuba.jsonl",
    "langfuse": "langfuse/claude-agent-2025-12-22.trace.json",
    "longmemeval": "longmemeval/longmemeval_s_1.json",
    "beam": "beam/1/chat.json",
    "memdaily": "memdaily/01_simple_items.json",
    "memorybank": "memorybank/en/memory_bank_en.json",
}


MADE = {"discord": DISCORD, "realtalk": REALTALK, "langsmith": LANGSMITH}


def spoiled(value: Any, rng: random.Random, share: float) -> Any:
    """Return a JSON value of which a share of the parts is replaced by junk or lost."""
    junk = [None, True, 0, 1e300, "", "x", "\x00", [], {}, [None], {"a": None}, {"type": 5}]
    if rng.random() < share:
        return rng.choice(junk)
    if isinstance(value, dict):
        return {k: spoiled(v, rng, share) for k, v in value.items() if rng.random() > share / 2}
    if isinstance(value, list):
        return [spoiled(v, rng, share) for v in value]
    return value


@pytest.mark.parametrize("name", SEEDS)
def test_a_real_file_with_spoiled_fields_is_read_or_refused(
    name: str, source: Write, shared_data: Path
) -> None:
    """Seeded rounds: any field of a real record may be null, of a wrong type, or missing."""
    spoil(name, (shared_data / SEEDS[name]).read_bytes(), source, SEEDS[name].endswith(".jsonl"))


@pytest.mark.parametrize("name", MADE)
def test_a_documented_file_with_spoiled_fields_is_read_or_refused(name: str, source: Write) -> None:
    """The same for formats of which no real sample is at hand."""
    spoil(name, orjson.dumps(MADE[name]), source, is_lines=False)


def test_located_facts_with_spoiled_fields_are_read_or_refused(
    source: Write, shared_data: Path
) -> None:
    """The file beside a context may be damaged as well."""
    folder = shared_data / "lost-in-compaction"
    facts = orjson.loads((folder / "d40_C1_meta.json").read_bytes())
    importer = next(one for one in IMPORTERS if one.name == "lost-in-compaction")
    rng = random.Random("facts")
    context = source((folder / "d40_C1.json").read_bytes(), name="x.json")
    for share in (0.01, 0.05, 0.2):
        source(_json(spoiled(facts, rng, share)), name="x_meta.json")
        assert read(importer, context).imported >= 0
    assert importer.detect(sample_of(Source(context))) in (0.0, 0.95)


def spoil(name: str, data: bytes, source: Write, is_lines: bool) -> None:
    """Read a file six times with ever more of its fields spoiled; some of it must be read."""
    importer = next(one for one in IMPORTERS if one.name == name)
    rng = random.Random(name)
    taken = 0
    for round_number in range(6):
        share = (0.01, 0.05, 0.2)[round_number % 3]
        if is_lines:
            lines = [orjson.loads(line) for line in data.split(b"\n") if line.strip()][:12]
            path = source(*[_json(spoiled(line, rng, share)) for line in lines], name="x.jsonl")
        else:
            path = source(_json(spoiled(orjson.loads(data), rng, share)), name="x.json")
        taken += read(importer, path, recorded=bool(round_number % 2)).imported
    assert taken > 0


@every_importer
@pytest.mark.parametrize(
    "data",
    [
        b"[]",
        b"{}",
        b"null",
        b"[[[[]]]]",
        b'"text"',
        b"5",
        b"\x00" * 50,
        b"\xff\xfe\x00",
        b"{" * 50,
        b"[" * 5000 + b"]" * 5000,
        b'{"messages": ' + b"[" * 300 + b"]" * 300 + b"}",
        b"plain words\nand more\n",
        b"<html></html>",
    ],
)
@pytest.mark.parametrize("suffix", [".json", ".jsonl"])
def test_a_file_that_is_no_recording_gives_nothing(
    importer: Importer, data: bytes, suffix: str, source: Write
) -> None:
    """Empty values, noise and other formats import no record, and raise nothing but our error."""
    account = read(importer, source(data, name=f"x{suffix}"))
    assert account.imported == 0


@every_importer
@given(st.randoms(use_true_random=False))
@settings(
    max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_bytes_are_read_or_refused(
    source: Write, importer: Importer, tmp_path: Path, rng: random.Random
) -> None:
    """Noise, and sound files of text and archives with some bytes overwritten, cut or doubled."""
    zipped = zip_slack(tmp_path / "sound.zip").read_bytes()
    chat = b'{"messages": [{"role": "user", "content": "\xe4\xba\x88\xe7\xae\x97"}]}'
    for sound in (rng.randbytes(rng.randrange(200)), zipped, MARKDOWN.encode(), chat):
        data = bytearray(sound)
        for _ in range(rng.randrange(4)):
            at = rng.randrange(len(data) + 1)
            data[at : at + rng.randrange(9)] = rng.randbytes(rng.randrange(9))
        cut = data[: rng.randrange(len(data) + 1)] if rng.random() < 0.3 else data
        name = rng.choice(("x.json", "x.jsonl", "x.zip", "x.eval", "x.md"))
        read(importer, source(bytes(cut), name=name), recorded=rng.random() < 0.5)


def _json(value: Any) -> bytes:
    return json.dumps(value).encode("ascii")
