"""Redaction: what is found, that pseudonyms are consistent, and that nothing is left or shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ctxeng.core.errors import DatasetError
from ctxeng.core.messages import Message, Session
from ctxeng.harness.importers.run import import_paths
from ctxeng.harness.privacy.dataset import leaks, redact_dataset
from ctxeng.harness.privacy.found import KINDS
from ctxeng.harness.privacy.names import read_names
from ctxeng.harness.privacy.pseudonyms import PSEUDONYM, workspace_key
from ctxeng.harness.privacy.redactor import Redactor
from ctxeng.harness.probes.io import read_probes, write_probes
from ctxeng.harness.probes.model import Probe, Span
from ctxeng.harness.scoring.presence import values_present
from ctxeng.harness.sessions.io import load_dataset, write_session
from tests.harness.privacy.measure import labelled, measure, table

KEY = b"k" * 32
PASSWORD = "Tulip-fake-77"
MAIL = "mara.quint@example.com"


def redactor(key: bytes = KEY, **people: str) -> Redactor:
    return Redactor(key=key, people=people)


def dataset(folder: Path, *texts: str, session_id: str = "s1") -> Path:
    messages = tuple(
        Message(seq=seq, role="user" if seq % 2 == 0 else "assistant", content=text)
        for seq, text in enumerate(texts)
    )
    session = Session(session_id=session_id, messages=messages, title=f"for {MAIL}")
    write_session(session, folder / "sessions" / f"{session_id}.jsonl")
    return folder


def probe(question: str, expect: str, *, seq: int = 0, probe_id: str = "p") -> Probe:
    return Probe(
        probe_id=probe_id,
        session_id="s1",
        question=question,
        kind="identifier",
        evidence=(Span(from_seq=seq, to_seq=seq),),
        expect=((expect,),),
        forbid=("old@example.com",),
    )


def test_precision_and_recall_on_labelled_lines_are_as_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Misses are spelled-out addresses and numbers, and words as a passphrase; wrong are outlines."""
    lines = labelled()
    assert len(lines) >= 120
    measured = measure()
    with capsys.disabled():
        print("\n" + table(measured))
    assert {kind: tuple(counts) for kind, counts in measured.items()} == {
        "secret": (21, 0, 1),
        "card": (8, 0, 0),
        "iban": (5, 0, 0),
        "email": (11, 0, 1),
        "phone": (14, 0, 1),
        "ip": (8, 2, 0),
        "user": (8, 0, 0),
        "name": (9, 0, 0),
    }


def test_redacting_twice_changes_nothing() -> None:
    """A pseudonym is nothing to redact, also after a keyword and inside a path."""
    for text, _ in labelled():
        once = redactor().text(text)
        assert redactor().text(once) == once


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("+1 202-555-0134", "(202) 555-0134"),
        ("Mara.Quint@Example.com", MAIL),
        ("4111 1111 1111 1111", "4111-1111-1111-1111"),
        ("DE89 3704 0044 0532 0130 00", "DE89370400440532013000"),
        ("/home/mara/x", "/Users/mara/x"),
        ("2001:db8::8a2e:370:7334", "2001:0db8:0:0:0:8a2e:0370:7334"),
    ],
)
def test_one_value_written_in_two_ways_gets_one_pseudonym(one: str, other: str) -> None:
    """Identity is the value, not its spelling."""
    names = [PSEUDONYM.search(redactor().text(f"see {text} there")) for text in (one, other)]
    assert names[0] is not None and names[1] is not None
    assert names[0].group() == names[1].group()


def test_another_key_gives_another_pseudonym() -> None:
    """Without the key nobody tries all telephone numbers."""
    assert redactor().text(MAIL) != redactor(key=b"x" * 32).text(MAIL)


def test_every_spelling_of_a_name_is_the_same_person(tmp_path: Path) -> None:
    """The list has a person a line; Latin names keep their word borders."""
    (tmp_path / "names.txt").write_text("Hanako Sato, 佐藤花子, 花子\nWill\n", "utf-8")
    found = Redactor(key=KEY, people=read_names(tmp_path / "names.txt"))
    text = found.text("Hanako  Sato, HANAKO SATO, 佐藤花子さん, 花子. will Will willing")
    names = PSEUDONYM.findall(text)
    assert len(names) == 5
    assert len(set(names[:4])) == 1
    assert text.endswith(f". will {names[4]} willing")


@pytest.mark.parametrize("content", ["A\n", "Ann Bo, Ann\nAnn\n"])
def test_a_name_too_short_or_of_two_people_is_refused(tmp_path: Path, content: str) -> None:
    """The error names the line."""
    (tmp_path / "names.txt").write_text(content, "utf-8")
    with pytest.raises(DatasetError, match=r"names\.txt:\d"):
        read_names(tmp_path / "names.txt")


def test_probes_still_find_their_values(tmp_path: Path) -> None:
    """The same pseudonym stands in the message and in the expected value."""
    source = dataset(tmp_path / "in", f"Write to {MAIL}.", f"my password is {PASSWORD}")
    write_probes(
        [probe("Which address?", MAIL), probe("Which password?", PASSWORD, seq=1, probe_id="q")],
        source / "probes.jsonl",
    )
    report = redact_dataset(source, tmp_path / "out", redactor())
    (session,) = load_dataset([tmp_path / "out"])
    first, second = read_probes(tmp_path / "out" / "probes.jsonl")
    assert values_present(first.expect, [session.messages[0].content])
    assert values_present(second.expect, [session.messages[1].content])
    assert first.forbid != ("old@example.com",)
    assert report.broken == []
    assert report.record()["replaced"] == {"email": 5, "secret": 2}
    assert report.distinct == {"email": 2, "secret": 1}


def test_a_probe_about_a_part_of_something_redacted_is_excluded(tmp_path: Path) -> None:
    """Nobody can tell the domain of a pseudonym: the probe is kept, marked, and named."""
    source = dataset(tmp_path / "in", f"Write to {MAIL}.")
    write_probes([probe("Where is the mailbox?", "example.com")], source / "probes.jsonl")
    report = redact_dataset(source, tmp_path / "out", redactor())
    (kept,) = read_probes(tmp_path / "out" / "probes.jsonl")
    assert (report.broken, kept.status) == (["p"], "excluded")


def test_a_secret_is_found_where_nothing_tells_it(tmp_path: Path) -> None:
    """A password stands alone in an earlier message, and in a probe."""
    source = dataset(tmp_path / "in", f"try {PASSWORD}?", f"yes, the password is {PASSWORD}")
    redact_dataset(source, tmp_path / "out", redactor())
    assert PASSWORD not in (tmp_path / "out" / "sessions" / "s1.jsonl").read_text("utf-8")
    assert list(leaks(tmp_path / "out", redactor())) == []


def test_leaks_name_line_and_kind_and_never_the_value(tmp_path: Path) -> None:
    """Line 1 is the header, whose title holds the address too."""
    source = dataset(tmp_path / "in", "nothing here", f"Write to {MAIL}.")
    found = list(leaks(source, redactor()))
    assert [(leak.line, leak.kind) for leak in found] == [(1, "email"), (3, "email")]
    assert MAIL not in str(found)


def test_values_deep_inside_blocks_and_as_keys_are_replaced() -> None:
    """Tool input is somebody's words too; the fields of the line itself are not touched."""
    line = json.dumps(
        {
            "seq": 0,
            "role": "user",
            "content": "",
            "blocks": [{"type": "tool_use", "input": {MAIL: [{"a": f"to {MAIL}"}]}}],
        }
    ).encode()
    changed = redactor().record(line)
    assert MAIL.encode() not in changed
    assert json.loads(changed)["role"] == "user"
    assert redactor().record(b'{"seq":0,"role":"user","content":"plain"}').endswith(b'"plain"}')


def test_import_stores_nothing_unredacted(tmp_path: Path) -> None:
    """Neither file names, titles, messages, card nor account hold the value."""
    record = {"messages": [{"role": "user", "content": f"pw {PASSWORD}; I am {MAIL}"},
                           {"role": "assistant", "content": f"your password is {PASSWORD}"}]}  # fmt: skip
    (tmp_path / f"{MAIL}.jsonl").write_text(json.dumps(record) + "\n", "utf-8")
    out = tmp_path / "out"
    found = redactor()
    report = import_paths("openai-chat", [tmp_path / f"{MAIL}.jsonl"], out, redactor=found)
    redact_dataset(out, out, found)
    written = [f for f in out.rglob("*") if f.is_file()]
    assert report.messages == 2 and len(load_dataset([out])) == 1
    for file in written:
        text = file.name + file.read_text("utf-8")
        assert MAIL not in text and PASSWORD not in text


def test_the_key_of_a_workspace_stays_and_is_private(tmp_path: Path) -> None:
    """Importing again gives the same pseudonyms."""
    key = workspace_key(tmp_path / "here")
    assert workspace_key(tmp_path / "here") == key
    assert (tmp_path / "here" / "redaction.key").stat().st_mode & 0o077 == 0
    (tmp_path / "here" / "redaction.key").write_text("zz", "ascii")
    with pytest.raises(DatasetError, match="redaction key"):
        workspace_key(tmp_path / "here")


def test_kinds_are_those_of_the_labelled_lines() -> None:
    """Every kind is measured."""
    assert {kind for _, marks in labelled() for kind, _, _ in marks} == set(KINDS)


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("山田さんの電話は090-1234-5678です", "090-1234-5678"),
        ("Her mobile is 090-1234-5678", "+81 90-1234-5678"),
        ("전화는 010-9876-5432입니다", "010-9876-5432"),
        ("call 020 7946 0958 in London", "+44 20 7946 0958"),
    ],
)
def test_a_number_has_one_pseudonym_in_words_of_any_language_and_alone(
    said: str, value: str
) -> None:
    """The country that the words around it suggest is no part of it: a probe's value has none."""
    redactor = Redactor(key=b"k" * 32)
    assert redactor.text(value) in redactor.text(said)
    assert redactor.text(value).startswith("PHONE-")


def test_a_probe_s_value_is_what_its_session_called_it() -> None:
    """Alone a Chinese number, or digits in a row, are no telephone; the session said they are."""
    redactor = Redactor(key=b"k" * 32)
    said = redactor.text("手机是138-1234-5678") + redactor.text("please call 4155550132")
    asked = Probe(
        probe_id="p", session_id="s", question="Which?", kind="number",
        expect=(("138-1234-5678",), ("4155550132",)),
    )  # fmt: skip
    values = [group[0] for group in redactor.probe(asked).expect]
    assert all(value.startswith("PHONE-") and value in said for value in values)


@pytest.mark.parametrize(
    "text",
    [
        "postgres://app:S3cretP4ss@db.internal:5432/x",
        "the password is S3cretP4ss4711 on host01db",
        "Authorization: Bearer abcDEF0123456789abcdefXYZ /v1/users42",
    ],
)
def test_what_is_redacted_is_found_again_in_no_part(text: str) -> None:
    """A pseudonym's own word, SECRET, does not make a secret of what follows it."""
    once = Redactor(key=b"k" * 32).text(text)
    assert "SECRET-" in once
    assert not Redactor(key=b"k" * 32).find(once)
