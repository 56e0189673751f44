"""``relax.solver = blocks``: at least one state has to move exactly."""

from __future__ import annotations

from dataclasses import replace

from energyc.derivation.derive.derivation import derive
from energyc.language.diagnostics import Diagnostic, SpecError
from energyc.language.network import Network

CODE = "E0505"


def check_blocks(network: Network) -> None:
    """Raise SpecError E0505 where no state of a network moves exactly in blocks, with the reasons."""
    blocks = derive(replace(network, graph=network.graph.fork())).blocks
    if blocks.slopes:
        return
    reasons = "; ".join(f"{name}: {why}" for name, why in blocks.others.items())
    message = f"`relax.solver = blocks` moves no state of {network.name} exactly: {reasons}"
    help = "leave the solver out: plain steps move all states at once; or write `solver = anderson`"
    span = network.span_of_setting("solver = blocks")
    raise SpecError(network.source, [*network.warnings, Diagnostic(CODE, message, span, help=help)])
