"""``ctxeng db``: whether the database is sound, and the deletion of a user."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import orjson
import typer

from ctxeng.cli.app import EXIT_FOUND, app, workspace
from ctxeng.cli.running import run_async
from ctxeng.core.text import numbered, printable

db_app = typer.Typer(help="Verify the database, delete a user.", no_args_is_help=True)
app.add_typer(db_app, name="db")
ReportsOption = Annotated[Path | None, typer.Option(help="Folder of run folders.")]


@db_app.callback()
def _group() -> None:
    """Verify the database, delete a user."""


@db_app.command()
def verify(
    reports: ReportsOption = None,
    forget: Annotated[
        bool, typer.Option("--forget", help="Where nothing is found: forget past deletions.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON line a finding.")] = False,
) -> None:
    """Check what must hold of the database, and where deleted words are quoted still.

    Searched: database, ledger, run folders. Not seen: deleted texts of under 12 letters (6 in
    Chinese, Japanese, Korean), parts of under 47 letters of longer ones, rewordings. --forget drops
    the hashes by which deleted words are known.
    """
    home = workspace()
    found = run_async(_verify(home, reports or home / "reports", forget=forget))
    for finding in found:
        text = f"{finding['rule']}: {finding['where']} ({finding['detail']})"
        sys.stdout.write((orjson.dumps(finding).decode() if as_json else printable(text)) + "\n")
    if not as_json:
        typer.echo(numbered(len(found), "finding"))
        typer.echo(_unseen())
    if found:
        raise typer.Exit(EXIT_FOUND)


@db_app.command("delete-user")
def delete_user(
    user: Annotated[str, typer.Argument(help="User whose conversations are removed.")],
    reports: ReportsOption = None,
) -> None:
    """Remove a user's messages, artifacts, memories, vectors, jobs and model calls; no way back."""
    home = workspace()
    conversations, calls = run_async(_delete_user(home, user))
    if not conversations:
        typer.echo(printable(f"no conversation is known of user {user!r}"))
    told = numbered(len(conversations), "conversation")
    typer.echo(f"{told} and {numbered(calls, 'model call')} removed")
    quoting = [
        finding
        for finding in run_async(_verify(home, reports or home / "reports", forget=False))
        if finding["rule"] == _rule()
    ]
    for finding in quoting:
        typer.echo(printable(f"quoted still: {finding['where']} ({finding['detail']})"))
    if quoting:
        raise typer.Exit(EXIT_FOUND)


async def _delete_user(home: Path, user: str) -> tuple[list[str], int]:
    from ctxeng.models import Ledger
    from ctxeng.store import Store

    ledger = Ledger.open(_ledger(home))
    try:
        async with await Store.open(workspace=home) as store:
            # the calls first: killed in between, the same command finds the conversations again
            removed = ledger.forget_subjects(await store.conversations_of(user))
            conversations = await store.delete_user(user)
        return conversations, removed + ledger.forget_subjects(conversations)
    finally:
        ledger.close()


async def _verify(home: Path, reports: Path, *, forget: bool) -> list[dict[str, str]]:
    from ctxeng.harness.results.quotes import quoting_runs
    from ctxeng.models import Ledger
    from ctxeng.store import Store
    from ctxeng.store.fingerprints import quotes

    def is_quoted(text: str) -> bool:
        return quotes(text, known)

    async with await Store.open(workspace=home) as store:
        found = [
            {"rule": f.rule, "where": f.conversation_id, "detail": f.detail}
            for f in await store.verify()
        ]
        known, gone = await store.deleted_words(), await store.deleted_conversations()
        if gone and _ledger(home).is_file():
            ledger = Ledger.open(_ledger(home))
            holding = set(ledger.holding(gone))
            for key, answer in ledger.answers():
                if any(map(is_quoted, _said(answer))):
                    holding.add(key)
            ledger.close()
            found += [
                {"rule": _rule(), "where": "ledger", "detail": key[:12]} for key in sorted(holding)
            ]
        if known.hashes:
            found += [
                {"rule": _rule(), "where": str(folder), "detail": "run folder"}
                for folder in quoting_runs(reports, is_quoted)
            ]
        if forget and not found:
            await store.forget_deletions()
    return found


def _said(answer: str) -> Iterable[str]:
    """Return the texts of a stored answer; a damaged one is a text itself."""
    from ctxeng.store.fingerprints import strings

    try:
        return strings(orjson.loads(answer))
    except orjson.JSONDecodeError:
        return (answer,)


def _ledger(home: Path) -> Path:
    return home / ".ctxeng" / "ledger.sqlite"


def _unseen() -> str:
    from ctxeng.store.fingerprints import UNSEEN

    return UNSEEN


def _rule() -> str:
    from ctxeng.store.deletion import RULE

    return RULE
