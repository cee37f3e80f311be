"""Entry point: registers every command on the application and runs it."""

from __future__ import annotations

import importlib

from ctxeng.cli.app import crash, interrupted, run_app

COMMANDS = (
    "workspace_commands",
    "probe_commands",
    "score_commands",
    "judge_commands",
    "run_commands",
    "ledger_commands",
    "economics_commands",
    "report_commands",
    "explain_commands",
    "rescore_commands",
    "fake_api_commands",
    "compare_commands",
    "nightly_commands",
    "retrieval_commands",
    "token_commands",
    "work_commands",
    "db_commands",
    "privacy_commands",
    "benchmark_commands",
    "synth_commands",
    "session_commands",
)


def register() -> None:
    """Import the modules that define commands; a second call does nothing more."""
    for name in COMMANDS:
        importlib.import_module(f"ctxeng.cli.{name}")


def run() -> None:
    """Run the command line."""
    try:
        register()
    except KeyboardInterrupt:
        interrupted()
    except Exception:
        crash()
    run_app()
