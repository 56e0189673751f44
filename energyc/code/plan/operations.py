"""How many operations a step takes."""

from __future__ import annotations

from energyc.code.plan.separate import separated
from energyc.derivation.derive import Derivation, Output, Routine
from energyc.mathematics.calculus import depends
from energyc.mathematics.ir import walk
from energyc.mathematics.ir.flops import step_flops
from energyc.mathematics.sparse import compressed


def force_flops(derivation: Derivation) -> int:
    """Count the operations of one step of the force that depend on a state; of a sparse table, those of its entries."""
    network = derivation.network
    force = Routine("force", tuple(Output(name, node) for name, node in derivation.smooth.items()))
    (planned,) = separated(network.graph, [force], network.extents)
    forces = compressed(network.graph, [output.node for output in planned.outputs], network.extents).roots
    moving = depends(forces, set(derivation.states.values()))
    return step_flops([node for node in walk(forces) if node in moving], network.extents)
