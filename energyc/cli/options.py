"""The options that commands share."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

from energyc.cli.console import Console

if TYPE_CHECKING:
    from energyc.pipeline import Choices

Command = TypeVar("Command", bound=Callable[..., Any])


class Finite(click.FloatRange):
    """A finite number in a range: without it ``nan`` and ``inf`` lie in every one that is open above."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number. Raises click.BadParameter."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is not finite.", param, ctx)
        return number


#: What torch takes for a seed.
SEED = click.IntRange(min=0, max=2**63 - 1)

spec_argument = click.argument("spec", metavar="SPEC", type=click.Path(allow_dash=True))
run_argument = click.argument("run", metavar="RUN", type=click.Path())


def output_options(function: Command) -> Command:
    """``--format``, ``--quiet``, ``--color``, ``--debug``; the command gets a ``console``."""

    @click.option(
        "--format", "form", type=click.Choice(["text", "json"]), default="text", help="How results are written."
    )
    @click.option("--quiet", is_flag=True, help="Say nothing beside the result.")
    @click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="When to colour.")
    @click.option("--debug", is_flag=True, help="Tracebacks for errors.")
    @wraps(function)
    def command(*args: Any, form: str, quiet: bool, color: str, debug: bool, **options: Any) -> Any:
        return function(*args, console=Console(form, quiet, color), **options)

    return command  # type: ignore[return-value]


def spec_options(function: Command) -> Command:
    """``--preset`` and ``--set``; the command gets ``choices``."""

    @click.option("--preset", metavar="P", help="A preset of the spec.")
    @click.option(
        "--set", "settings", metavar="K=V", multiple=True, help="A dim, a const, or a setting as relax.step=0.1."
    )
    @wraps(function)
    def command(*args: Any, preset: str | None, settings: tuple[str, ...], **options: Any) -> Any:
        return function(*args, choices=choices(preset, settings), **options)

    return command  # type: ignore[return-value]


def choices(preset: str | None, settings: tuple[str, ...]) -> Choices:
    """What the flags choose. Raises UserError for a ``--set`` that cannot be read."""
    from energyc.cli.values import read_settings
    from energyc.pipeline import Choices

    return Choices(preset, read_settings(settings))


rule_option = click.option("--rule", "rules", metavar="R", multiple=True, help="A learning rule; may be repeated.")
device_option = click.option("--device", metavar="D", default="cpu", help="Where to compute: cpu, cuda, cuda:1.")
data_option = click.option(
    "--data", metavar="D", multiple=True, help="A path, or BINDING=PATH where a spec binds several."
)
