"""The command-line application, and the one place where an error becomes a line and an exit code.

Exit codes: 0 done; 1 a check found something (a regression, a lint finding, a damaged line);
2 cannot run (the message says what to do; a traceback for an error nobody expected);
3 not enough data; 130 interrupted.
"""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path
from typing import NoReturn

import typer

from ctxeng.core.errors import CtxengError
from ctxeng.core.text import printable

EXIT_FOUND, EXIT_CANNOT_RUN, EXIT_NOT_ENOUGH, EXIT_INTERRUPTED = 1, 2, 3, 130

app = typer.Typer(
    name="ctxeng",
    help="Build context for long LLM chats, and measure what compaction loses.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def workspace() -> Path:
    """Return the workspace the command stands in: the nearest folder with its two main folders.

    Falls back to the current folder, so that every command also works outside a workspace.
    """
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / "experiments").is_dir() and (folder / "datasets").is_dir():
            return folder
    return here


def run_app() -> None:
    """Run the application; expected errors become one line on stderr and exit code 2."""
    try:
        app()
    except CtxengError as error:
        fail(str(error))
    except SystemExit as stop:
        if stop.code == EXIT_INTERRUPTED:
            interrupted()
        raise
    except KeyboardInterrupt:
        interrupted()
    except RuntimeError as error:
        if str(error) != "Query interrupted":  # what DuckDB makes of Ctrl-C
            crash()
        interrupted()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except Exception:
        crash()


def crash() -> NoReturn:
    """Print the traceback of an error nobody expected and exit with 2: 1 would be a finding."""
    traceback.print_exc()
    sys.exit(EXIT_CANNOT_RUN)


def interrupted() -> NoReturn:
    """Say that an interrupted command can be given again, and exit with 130."""
    sys.stderr.write("ctxeng: interrupted; run the same command again to go on\n")
    sys.exit(EXIT_INTERRUPTED)


def fail(message: str) -> None:
    """Print an error the way every command does, terminal controls removed, and exit with 2."""
    for line in message.splitlines():
        sys.stderr.write(f"ctxeng: error: {printable(line)}\n")
    sys.exit(EXIT_CANNOT_RUN)
