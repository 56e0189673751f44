"""The exit status and the message of every way a command can end; a traceback only under ``--debug``."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any, cast

import click

from energyc.cli.console import Console, Exit
from energyc.diagnostics import CompilerBug, SpecError, UserError

DONE, WRONG, DIVERGED, UNFAITHFUL, BUG, INTERRUPTED = 0, 1, 3, 4, 70, 130  # 2, wrong usage, is of click
#: The longest message of an internal error that is shown.
LONGEST = 400
REPORT = "Please report it with the spec and the output of the same command under --debug."


def guarded(group: click.Command, arguments: Sequence[str] | None) -> int:
    """Run a command; an exception becomes a message and an exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    console = Console.from_arguments(words)
    try:
        group.main(words, prog_name="energyc", standalone_mode=False)
        sys.stdout.flush()
        return DONE
    except Exit as end:
        return end.status
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        console.note("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        return _broken_pipe()
    except Exception as error:
        if "--debug" in words:
            _traceback(error)
        return _report(error, console)


def _report(error: Exception, console: Console) -> int:
    """Write the message of an exception, and give its exit status."""
    match error:
        case SpecError():
            console.spec_error(error)
            return WRONG
        case UserError():
            console.user_error(error)
            return WRONG
    name, stopped = type(error).__name__, cast(Any, error)
    if name in ("Interrupted", "Diverged"):  # from energyc.train, whose import would load torch
        console.stopped(stopped.to_json(), stopped.help)
        return INTERRUPTED if name == "Interrupted" else DIVERGED
    _report_bug(error, console)
    return BUG


def _report_bug(error: Exception, console: Console) -> None:
    stage = error.stage if isinstance(error, CompilerBug) else "run"
    subject = error.subject if isinstance(error, CompilerBug) else " ".join(sys.argv[1:])
    cause: Any = error.error if isinstance(error, CompilerBug) else error
    console.bug(stage, subject, f"{type(cause).__name__}: {_shortened(str(cause))}", REPORT)


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else text[:LONGEST] + "..."


def _traceback(error: Exception) -> None:
    import traceback

    traceback.print_exception(error)


def _broken_pipe() -> int:
    """The reader has closed the pipe (``energyc show ... | head``), which is no error."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 128 + signal.SIGPIPE
