"""Quantities that change over the steps of a relaxation: energy terms, states, scalar functions of a state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch

from energyc.language.network import Network
from energyc.mathematics.ir import Map, Node, walk
from energyc.studies.inspection.parts import Nothing, Part

TOTAL = "total"


@dataclass(frozen=True)
class Trace:
    """Numbers over the steps: ``steps`` [places], each of ``values`` [places, batch]; ``t1`` ends the free phase."""

    steps: np.ndarray
    values: Mapping[str, np.ndarray]
    t1: int


@torch.no_grad()
def energies_over_time(part: Part) -> Trace:
    """Return each energy term of each sample, and where there are several their sum, ``total``.

    Raises Nothing if no term is an energy.
    """
    if not part.network.energies:
        raise Nothing("no term is an energy")
    steps, rows = [], []
    for step, states in part.trajectory(part.last_step):
        steps.append(step)
        rows.append({name: value.cpu().double().numpy() for name, value in part.net.terms(states, part.clamps).items()})
    values = {name: np.stack([row[name] for row in rows]) for name in rows[0]}
    total = {TOTAL: np.sum(list(values.values()), axis=0)} if len(values) > 1 else {}
    return Trace(np.array(steps), {**values, **total}, part.free_steps)


@torch.no_grad()
def states_over_time(part: Part, *, training: bool = False) -> Trace:
    """Return the size of each state of each sample: the root of the mean square of its entries.

    A state without dims is given as it is, and so is each function of it alone that the network reads, such as
    ``exp(tau)``. With ``training`` the relaxation is one of training.
    """
    was = part.net.training
    part.net.train(training)
    try:
        return _states(part)
    finally:
        part.net.train(was)


def _states(part: Part) -> Trace:
    nodes = {name: state.node for name, state in part.network.states.items()}
    read = {label: node for name in nodes for label, node in functions_of(part.network, name).items()}
    steps, rows = [], []
    for step, states in part.trajectory(part.last_step):
        batch = len(next(iter(states.values())))
        arrays = part.values(list(read.values()), states) if read else []
        row = {_label(name, node): _size(states[name].cpu().double().numpy()) for name, node in nodes.items()}
        row |= {name: np.broadcast_to(array, (batch,)) for name, array in zip(read, arrays, strict=True)}
        steps.append(step)
        rows.append(row)
    return Trace(np.array(steps), {name: np.stack([row[name] for row in rows]) for name in rows[0]}, part.free_steps)


def functions_of(network: Network, state: str) -> dict[str, Node]:
    """The scalar functions of a state without dims, and of nothing else, that the terms read: ``exp(tau)``."""
    node = network.states[state].node
    if node.dims:
        return {}
    read = walk([term.node for term in network.terms.values()])
    return {f"{m.function.name}({state})": m for m in read if isinstance(m, Map) and m.argument is node}


def adapts_in_training(network: Network) -> bool:
    """Whether a force or flow reads the flag ``training``, so that a relaxation of training goes another way."""
    flag = network.training
    return flag is not None and flag in set(walk([term.node for term in network.forces.values()]))


def _label(name: str, node: Node) -> str:
    return f"|{name}|" if node.dims else name


def _size(state: np.ndarray) -> np.ndarray:
    return state if state.ndim == 1 else np.sqrt(np.mean(state.reshape(len(state), -1) ** 2, axis=1))
