"""``%%energy``: the cell is a spec; its network is checked, made and bound to a name."""

from __future__ import annotations

import keyword
import sys
from argparse import Namespace
from typing import Any

from IPython.core.magic import Magics, cell_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring

from energyc.language.diagnostics import (
    CompilerBug,
    Source,
    SpecError,
    UserError,
    render_text,
    render_user_error,
    summary,
)
from energyc.language.syntax import decode
from energyc.pipeline import Choices, resolve, training_dtype
from energyc.running.runs.load import made
from energyc.running.runs.target import TARGETS
from energyc.surfaces.cli.values import read_settings
from energyc.surfaces.html.attach import attach
from energyc.version import __version__


class CellError(Exception):
    """The errors of a cell, as text with lines and carets; IPython shows it without a traceback."""

    def _render_traceback_(self) -> list[str]:
        """Return the lines that IPython shows in the place of a traceback."""
        return str(self).splitlines()


@magics_class
class EnergyMagics(Magics):
    """The magics of energyc."""

    @magic_arguments()
    @argument("name", nargs="?", help="The variable for the network; by default the name of the network.")
    @argument("--spec", metavar="NAME", help="A variable for the text of the spec, as energyc.train and check take it.")
    @argument("--preset", metavar="P", help="Use a preset of the spec.")
    @argument("--set", metavar="K=V", action="append", default=[], help="Set a dim, const, setting or option of data.")
    @argument("--seed", metavar="N", type=int, default=0, help="The seed of the first weights.")
    @argument("--device", metavar="D", default="cpu", help="The device: cpu, cuda, cuda:1.")
    @argument("--target", choices=TARGETS, help="What the phases run as: kernels in C++ where they build by default.")
    @cell_magic
    def energy(self, line: str, cell: str) -> Any:
        """Check the spec in the cell, make its network, bind it to a name and show it.

        What is wrong is shown with its line and a caret, and ends the cell; no variable is changed then.
        """
        arguments = parse_argstring(self.energy, line)
        colours = getattr(self.shell, "colors", "").lower() != "nocolor"
        try:
            source = _source(cell)
            network, net = _made(source, arguments)
            names = {_variable(arguments.name or network.name): net}
            names |= {_variable(arguments.spec): source.text} if arguments.spec else {}
        except (SpecError, UserError, CompilerBug) as error:
            raise CellError(_told(error, colours)) from None
        if network.warnings:
            print(render_text(network.warnings, source, colours), file=sys.stderr)
        if self.shell is not None:
            self.shell.push(names)
        return net


def _source(cell: str) -> Source:
    return decode(cell.encode(errors="surrogatepass"), "<cell>")


def _made(source: Source, arguments: Namespace) -> tuple[Any, Any]:
    """Return the typed network and the living one. Raises SpecError, UserError, CompilerBug."""
    choices = Choices(arguments.preset, read_settings(arguments.set))
    network = resolve(source, choices)
    dtype = training_dtype(network)
    loaded = made(network, choices, arguments.target, device=arguments.device, dtype=dtype, seed=arguments.seed)
    attach(loaded.net, network, loaded.compiled.classes)
    if loaded.news is not None:
        print(f"{network.name}: {loaded.news}", file=sys.stderr)
    return network, loaded.net


def _variable(name: str) -> str:
    """Return a name that a variable may have. Raises UserError E0940."""
    if not name.isidentifier() or keyword.iskeyword(name):
        message = f"{name} is not a name for a variable of Python"
        raise UserError(message, code="E0940", help="give one: %%energy NAME")
    return name


def _told(error: SpecError | UserError | CompilerBug, colours: bool) -> str:
    match error:
        case SpecError():
            text = render_text(error.diagnostics, error.source, colours)
            return f"{text}\n\n{summary(error.diagnostics)}"
        case UserError():
            return render_user_error(error, colours)
    head = f"internal error: this is a bug in energyc {__version__}, not in your spec"
    return f"{head}\n  stage: {error.stage}\n  cause: {type(error.error).__name__}: {error.error}"
