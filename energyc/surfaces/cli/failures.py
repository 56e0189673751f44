"""Turn every end of a command into an exit status and a message, with a traceback only under ``--debug``."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, cast

import click

from energyc.language.diagnostics import CompilerBug, Misuse, SpecError, UserError, is_out_of_memory, out_of_memory
from energyc.surfaces.cli.console import Console, Exit

DONE, WRONG, MISUSED, DIVERGED, UNFAITHFUL, BUG, INTERRUPTED = 0, 1, 2, 3, 4, 70, 130  # click gives 2 as well
#: The length to which messages of internal errors are truncated.
LONGEST = 400
REPORT = "Please report it with the spec and the output of the same command under --debug."


def guarded(group: click.Command, arguments: Sequence[str] | None) -> int:
    """Run a command, and turn exceptions into messages and exit statuses."""
    tokens = list(sys.argv[1:] if arguments is None else arguments)
    console = Console.from_arguments(tokens)
    _prepare_streams()
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_: console.warning(str(message))
        return _status_of(group, tokens, console)


def _status_of(group: click.Command, tokens: list[str], console: Console) -> int:
    try:
        status = _requested_status(group, tokens)
        sys.stdout.flush()
        return status
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (KeyboardInterrupt, click.Abort) as error:
        stopped = next((each for each in _causes(error) if type(each).__name__ == "Interrupted"), None)
        if stopped is not None:  # a run, which was saved
            return _report_anywhere(cast(Exception, stopped), console)
        console.note("interrupted")
        return INTERRUPTED
    except BrokenPipeError:  # the reader has closed the pipe (``energyc show ... | head``), which is not an error
        _silence_output()
        return 128 + signal.SIGPIPE
    except Exception as error:
        if "--debug" in tokens:
            traceback.print_exception(error)
        return _report_anywhere(error, console)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and those that it was raised from; click raises Abort from KeyboardInterrupt."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__


def _requested_status(group: click.Command, tokens: list[str]) -> int:
    try:
        group.main(tokens, prog_name="energyc", standalone_mode=False)
    except Exit as requested_exit:
        return requested_exit.status
    except click.exceptions.Exit as requested_exit:
        return requested_exit.exit_code
    return DONE


def _report_anywhere(error: Exception, console: Console) -> int:
    """Report an error as far as the streams allow, since both may be on a full disk."""
    try:
        return _report(error, console)
    except OSError:
        _silence_output()
        return WRONG


def _report(error: Exception, console: Console) -> int:
    """Write the message of an exception, and return its exit status."""
    if type(error).__name__ == "EndedElsewhere":  # another rank of the run gives the message
        return _status(cast(Any, error).error)
    if is_out_of_memory(error):
        console.user_error(out_of_memory(error))
        return WRONG
    match error:
        case SpecError():
            console.spec_error(error)
            return WRONG
        case UserError():
            console.user_error(error)
            return MISUSED if isinstance(error, Misuse) else WRONG
        case OSError() | CompilerBug(error=OSError()):
            return _report_system(error.error if isinstance(error, CompilerBug) else error, console)
    status, stopped = _status(error), cast(Any, error)
    if status in (INTERRUPTED, DIVERGED):
        console.stopped(stopped.to_json(), stopped.help)
    else:
        _report_bug(error, console)
    return status


def _status(error: BaseException) -> int:
    """Return the exit status of an exception; those of energyc.train go by name, since their import loads torch."""
    if isinstance(error, SpecError | UserError | OSError) or type(error).__name__ == "Lost" or is_out_of_memory(error):
        return WRONG
    return {"Interrupted": INTERRUPTED, "Diverged": DIVERGED}.get(type(error).__name__, BUG)


def _report_system(error: Any, console: Console) -> int:
    """Report a refused path, or a refused output, which has no path and cannot take the message."""
    reason = error.strerror or str(error)
    if error.filename is None:
        _silence_output()
        console = replace(console, form="text")
        failure = UserError(f"cannot write the output: {reason}", code="E0906", help="write it to another place")
    else:
        failure = UserError(f"cannot use {error.filename}: {reason}", code="E0906", help="choose another path")
    console.user_error(failure)
    return WRONG


def _report_bug(error: Exception, console: Console) -> None:
    stage = error.stage if isinstance(error, CompilerBug) else "run"
    subject = error.subject if isinstance(error, CompilerBug) else " ".join(sys.argv[1:])
    cause: Any = error.error if isinstance(error, CompilerBug) else error
    console.bug(stage, subject, f"{type(cause).__name__}: {_truncated(str(cause))}", REPORT)


def _truncated(text: str) -> str:
    return text if len(text) <= LONGEST else text[:LONGEST] + "..."


def _prepare_streams() -> None:
    """Let streams accept every message: replace closed ones, and escape characters that they cannot encode."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 (stays open as long as the process)
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _silence_output() -> None:
    """Discard buffered output, which Python would otherwise try to write again at exit."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
