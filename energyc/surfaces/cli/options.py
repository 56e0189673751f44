"""The options that commands share."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial, wraps
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import click

from energyc.extras import Library
from energyc.surfaces.cli import candidates
from energyc.surfaces.cli.console import Console

Command = TypeVar("Command", bound=Callable[..., Any])


class Finite(click.FloatRange):
    """A finite number in a range; click's own range accepts ``nan``, and ``inf`` without an upper end."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Convert a value. Raises click.BadParameter."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is not finite.", param, ctx)
        return number


#: The seeds that torch accepts.
SEED = click.IntRange(min=0, max=2**63 - 1)


def _checks_early(ctx: click.Context) -> bool:
    """Whether arguments are checked as they are read: not for a TAB; ranks say together what is wrong, once."""
    return not ctx.resilient_parsing and "WORLD_SIZE" not in os.environ


def is_spec(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Refuse a path with no file, before anything heavy is imported to read it. Raises UserError E0901."""
    if value not in (None, "-") and _checks_early(ctx):
        from energyc.language.syntax.read import located, read_source

        if os.path.isdir(located(value)) or not os.path.lexists(located(value)):
            read_source(value)
    return value


def is_run(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    """Refuse a path, or one of several, that is not a run folder, before torch is imported. Raises UserError E0511."""
    if value is not None and _checks_early(ctx):
        from energyc.running.folder.layout import RunFolder

        for path in [value] if isinstance(value, str) else value:
            folder = RunFolder(Path(path))
            if not folder.of_several:
                folder.read_info()
    return value


def is_spec_or_run(ctx: click.Context, param: click.Parameter, value: str) -> str:
    """Refuse a path that is neither, as these do. Raises UserError E0901, E0511."""
    if os.path.isdir(value):
        is_run(ctx, param, value)
    elif value != "-" and _checks_early(ctx):
        from energyc.language.syntax.read import located
        from energyc.running.runs.locate import read_spec

        if not os.path.lexists(located(value)):
            read_spec(value)
    return value


def is_writable(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Refuse an output that cannot be written, before the work for it. Raises UserError E0906."""
    if value is not None and _checks_early(ctx):
        from energyc.surfaces.api.files import refuse_unwritable

        refuse_unwritable(Path(value))
    return value


def spec_argument(
    metavar: str = "SPEC", *, required: bool = True, callback: Callable[..., Any] = is_spec
) -> Callable[[Command], Command]:
    """Return the argument ``spec``; of ``SPEC|RUN`` with the callback ``is_spec_or_run``."""
    kind, names = click.Path(allow_dash=True), candidates.specs
    return click.argument(
        "spec", metavar=metavar, type=kind, required=required, callback=callback, shell_complete=names
    )


def run_argument(name: str = "run", metavar: str = "RUN", count: int = 1) -> Callable[[Command], Command]:
    """Return the argument of a run, or with ``count`` -1 of one or more."""
    return click.argument(
        name,
        metavar=metavar,
        nargs=count,
        required=True,
        type=click.Path(),
        callback=is_run,
        shell_complete=candidates.runs,
    )


def written_option(*names: str, help: str, metavar: str = "FILE", **more: Any) -> Callable[[Command], Command]:
    """Return the option of a path that the command writes."""
    kind = click.Path(dir_okay=False)
    return click.option(*names, metavar=metavar, callback=is_writable, help=help, **{"type": kind, **more})


def output_options(function: Command) -> Command:
    """Add ``--format``, ``--quiet``, ``--color`` and ``--debug``, and pass the command a ``console``."""

    @click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="The form of results.")
    @click.option("--quiet", is_flag=True, help="Print the result only.")
    @click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="When to use colour.")
    @click.option("--debug", is_flag=True, help="Show tracebacks of errors.")
    @wraps(function)
    def command(*args: Any, form: str, quiet: bool, color: str, debug: bool, **options: Any) -> Any:
        return function(*args, console=Console(form, quiet, color), **options)

    return command  # type: ignore[return-value]


def needs(library: Library, given: Callable[[Mapping[str, Any]], object] = bool) -> Callable[[Command], Command]:
    """Refuse a command, before it imports anything heavy, where an optional library is missing.

    ``given`` says from the options whether this call needs it.
    """

    def decorate(function: Command) -> Command:
        @wraps(function)
        def command(*args: Any, **options: Any) -> Any:
            if given(options) and not library.is_found():
                raise library.missing()
            return function(*args, **options)

        return command  # type: ignore[return-value]

    return decorate


def _settings(ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]) -> dict[str, object]:
    """Read ``--set K=V``. Raises UserError E0905."""
    if ctx.resilient_parsing or not texts:
        return {}
    from energyc.surfaces.cli.values import read_settings

    return read_settings(texts)


def spec_options(function: Command) -> Command:
    """Add ``--preset`` and ``--set``, and pass the command ``preset`` and ``settings``, by name."""
    settings = click.option(
        "--set",
        "settings",
        metavar="K=V",
        multiple=True,
        callback=_settings,
        help="Set a dim, a const, a setting (relax.step=0.1) or an option of data (digits.side=16).",
        shell_complete=candidates.settings,
    )
    preset = click.option("--preset", metavar="P", help="Use a preset of the spec.", shell_complete=candidates.presets)
    return preset(settings(function))


rule_option = click.option(
    "--rule",
    "rules",
    metavar="R",
    multiple=True,
    help="A learning rule; may be repeated.",
    shell_complete=candidates.rules,
)
split_option = partial(click.option, "--split", type=click.Choice(["test", "validation", "train"]), default="test")
device_option = partial(click.option, "--device", metavar="D", shell_complete=candidates.devices)


def data_options(function: Command) -> Command:
    """Add ``--data`` and ``--map``, and pass the command ``data``."""

    @click.option(
        "--data",
        metavar="D",
        multiple=True,
        help="A path, an npz with an array for each input, or module:factory (file.py:factory); BINDING=... if the spec"
        " has several bindings.",
        shell_complete=candidates.files,
    )
    @click.option("--map", "pairs", metavar="INPUT=ARRAY..", multiple=True, help="The array of --data for an input.")
    @wraps(function)
    def command(*args: Any, data: tuple[str, ...], pairs: tuple[str, ...], **options: Any) -> Any:
        from energyc.running.runs.data_arguments import DataFlags

        return function(*args, data=DataFlags.of(data, pairs), **options)

    return command  # type: ignore[return-value]


class DataCommand(click.Command):
    """A command whose ``--map`` takes all pairs that follow it: ``--map x=X label=y``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse a line in which ``--map`` stands before each of its pairs."""
        return super().parse_args(ctx, list(_map_before_each(args)))


def _map_before_each(args: Iterable[str]) -> Iterator[str]:
    arguments, follows = iter(args), False
    for argument in arguments:
        if argument == "--map":
            yield argument
            yield from islice(arguments, 1)
        elif follows and _PAIR.fullmatch(argument) and not os.path.lexists(argument):
            yield from ("--map", argument)
        else:
            yield argument
        follows = argument.startswith("--map") or (follows and _PAIR.fullmatch(argument) is not None)


#: An input and the name of its array.
_PAIR = re.compile(r"[A-Za-z_]\w*=.+")
