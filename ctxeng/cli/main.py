"""Entry point: importing this module registers every command on the application."""

from __future__ import annotations

import importlib

from ctxeng.cli.app import run_app

COMMANDS = ("workspace_commands", "run_commands", "report_commands")


def run() -> None:
    """Register the commands and run the application."""
    for name in COMMANDS:
        importlib.import_module(f"ctxeng.cli.{name}")
    run_app()
