"""``ctxeng redact`` and ``import --redact`` from the command line."""

from __future__ import annotations

import json

from tests.cli.conftest import Workspace

MAIL = "mara.quint@example.com"


def test_import_redact_check_and_redact(workspace: Workspace) -> None:
    """A check finds what a plain import stored, and nothing after redaction."""
    source = workspace.path / "chat.jsonl"
    record = {"messages": [{"role": "user", "content": f"Write to {MAIL}, says Mara Quint."},
                           {"role": "assistant", "content": "Noted."}]}  # fmt: skip
    source.write_text(json.dumps(record) + "\n", "utf-8")
    (workspace.path / "names.txt").write_text("Mara Quint\n", "utf-8")
    plain = workspace.call("import", "openai-chat", "chat.jsonl", "--out", "datasets/plain")
    assert plain.code == 0
    check = workspace.call("redact", "datasets/plain", "--check", "--names", "names.txt")
    assert (check.code, MAIL in check.out) == (1, False)
    assert ":2: email" in check.out and ":2: name" in check.out
    done = workspace.call("redact", "datasets/plain", "--names", "names.txt", "--json")
    assert done.json["replaced"] == {"email": 1, "name": 1}
    again = workspace.call(
        "redact", "datasets/plain-redacted", "--check", "--names", "names.txt", "--json"
    )
    assert (again.code, again.out) == (0, "")
    safe = workspace.call(
        "import", "openai-chat", "chat.jsonl", "--out", "datasets/safe", "--redact",
        "--names", "names.txt", "--json",
    )  # fmt: skip
    assert safe.json["redacted"] == {"email": 1, "name": 1}
    assert workspace.call("redact", "datasets/safe", "--check").code == 0


def test_a_missing_dataset_is_one_line(workspace: Workspace) -> None:
    """Exit code 2, and no traceback."""
    done = workspace.call("redact", "datasets/nowhere", "--check")
    assert done.code == 2
    assert len(done.err.splitlines()) == 1 and "nowhere" in done.err
