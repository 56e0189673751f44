"""The group of commands, and the process that runs it. The module of a command is imported only when it is called."""

from __future__ import annotations

import atexit
import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import NoReturn

import click

from energyc.version import __version__

#: Command -> its description. ``MODULES`` has the module in which its function ``COMMAND_command`` stands.
COMMANDS: Mapping[str, str] = MappingProxyType(
    {
        "list": "List the specs that ship, which commands take by name.",
        "check": "Type-check a spec: classes with evidence, rules, counts.",
        "compile": "Write one module for each target.",
        "train": "Train a network into a run folder, or resume a run.",
        "eval": "Evaluate a run's best checkpoint.",
        "compare": "Compare runs: what differs, and their held-out numbers.",
        "verify": "Measure each rule's gradient against the exact one.",
        "show": "Print any stage of the pipeline.",
        "explain": "Write the derivations and the model table as a document.",
        "view": "Write a page of a run, or of two side by side.",
        "plot": "Draw the pictures of a run.",
        "export": "Write a circuit, an Ising problem, or formulas for SymPy.",
        "fmt": "Format a spec; comments are kept.",
        "new": "Write a starting spec.",
        "sample": "Draw text from a language model.",
        "bench": "Time a step, and other ways to take it.",
        "lsp": "Serve an editor (the language server).",
        "doctor": "Say what works here, and what mends the rest.",
        "completion": "Print the completion script of a shell.",
    }
)
MODULES: Mapping[str, Sequence[str]] = MappingProxyType(
    {
        "spec": ("list", "new", "fmt", "check", "show", "explain", "compile"),
        "run": ("train", "eval", "compare", "view", "plot", "sample"),
        "study": ("verify", "bench", "export"),
        "machine": ("doctor", "completion", "lsp"),
    }
)


class Commands(click.Group):
    """A group that finds a command by its name without importing the others."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return all names, in the order of ``--help``."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a name."""
        if cmd_name not in COMMANDS:
            return None
        kind = next(kind for kind, names in MODULES.items() if cmd_name in names)
        module = importlib.import_module(f"energyc.surfaces.cli.{kind}_commands")
        command = getattr(module, f"{cmd_name}_command")
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list under ``--help`` without importing any command's module."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve a command as click does, and suggest the nearest name for an unknown one."""
        name = args[0] if args else ""
        if name not in COMMANDS and not name.startswith("-"):
            from energyc.language.diagnostics import near

            if suggestions := near(name, COMMANDS):
                ctx.fail(f"No such command '{name}'. Did you mean '{suggestions[0]}'?")
        return super().resolve_command(ctx, args)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="energyc")
def energyc() -> None:
    """Compile energy-based networks: from the equations of a paper to PyTorch that trains by equilibrium propagation.

    Exit status: 0 done; 1 an error in the spec, the data or a value; 2 wrong usage; 3 training diverged;
    4 a rule is not faithful; 70 an internal error; 130 interrupted.
    """


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    if arguments is None and (instruction := os.environ.get("_ENERGYC_COMPLETE")):  # a TAB waits: import nothing else
        from click.shell_completion import shell_complete

        return shell_complete(energyc, {}, "energyc", "_ENERGYC_COMPLETE", instruction)
    from energyc.surfaces.cli.failures import guarded

    return guarded(energyc, arguments)


# ---------------------------------------------------------------- a process


class Ending:
    """The end of a process with ``status``, without freeing its objects one by one, which takes up to a second.

    Python calls it last: after it has joined all threads, and after the exit functions of all libraries. Where
    ``status`` is None, an exception is on its way that Python reports.
    """

    status: int | None = None

    def __call__(self) -> None:
        """Flush the streams and end the process."""
        if self.status is None:
            return
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(self.status)


def process() -> NoReturn:
    """Run the command line on the arguments of the process, and end the process."""
    ending = Ending()
    if not atexit._ncallbacks():  # an exit function that is there already, as of a profiler, would not be called
        atexit.register(ending)
    ending.status = main()
    if "WORLD_SIZE" in os.environ:
        from energyc.running.ranks.launch import leave

        leave(ending.status)
    sys.exit(ending.status)
