"""The parts of a network that relax: itself, or each copy of each of its layers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from energyc.language.network import Network
from energyc.mathematics.ir import Input, Node, walk
from energyc.mathematics.ir.interpreter import Array, evaluate, key
from energyc.running.training.network import Tensors

#: How many times T1 a relaxation is followed, and at how many places at most.
BEYOND, PLACES = 4, 80


class Nothing(Exception):
    """A picture has no meaning for a network; the message is the reason."""


@dataclass(frozen=True)
class Part:
    """A network that relaxes, its module, and the clamps that reach it: [batch, ...] each.

    ``label`` is empty for the whole network, ``block`` or ``block 0`` for a layer or a copy of one.
    """

    label: str
    network: Network
    net: Any
    clamps: Tensors

    @property
    def free_steps(self) -> int:
        """T1: the most steps of a sample in the free phase of the spec."""
        return int(self.net.relax(self.clamps).steps.max())

    @property
    def last_step(self) -> int:
        """How far a relaxation is worth following: beyond T1, unless the steps are numbered."""
        return self.net.relax_steps if self.net.numbered else BEYOND * self.free_steps

    def select(self, samples: Sequence[int]) -> Part:
        """The same part with some of its samples."""
        return replace(self, clamps={name: tensor[list(samples)] for name, tensor in self.clamps.items()})

    def rest(self) -> Tensors:
        """The states at the end of the free phase: [batch, ...] each."""
        states: Tensors = self.net.relax(self.clamps).states
        return states

    def trajectory(self, last: int) -> Iterator[tuple[int, Tensors]]:
        """Yield steps from 0 to ``last``, at most ``PLACES`` of them, each with the states after it."""
        if self.net.numbered:
            trace = self.net.relax(self.clamps, steps=last, record=self.net.state_names).trace
            yield from ((k, {name: values[k] for name, values in trace.items()}) for k in range(last + 1))
            return
        states, at = self.net.start(self.clamps), 0
        for place in places(last):
            if place > at:
                states, at = self.net.relax(self.clamps, steps=place - at, states=states).states, place
            yield place, states

    def values(self, nodes: Sequence[Node], states: Tensors, further: Mapping[Any, Any] | None = None) -> list[Array]:
        """The reference interpreter's values of nodes outside of training: [batch, ...], or [...] if not batched.

        ``further`` holds inputs that are neither states, clamps nor params.
        """
        given = {
            **{("param", name): value for name, value in self.net.params.items()},
            **{("clamp", name): value for name, value in self.clamps.items()},
            **{("state", name): value for name, value in states.items()},
        }
        arrays: dict[Any, Any] = {name: _array(value) for name, value in given.items()}
        for node in walk(nodes):
            if isinstance(node, Input) and node.kind in ("noise", "step", "flag"):
                arrays[key(node)] = self._idle(node)
        arrays |= further or {}
        return evaluate(nodes, arrays, sizes=self.network.extents, values=self.network.values)

    def _idle(self, node: Input) -> Array:
        """Noise of 0, the last step, no training."""
        if node.kind == "step":
            return np.asarray(self.network.extents[str(node.over)] - 1)
        shape = tuple(self.network.extents[dim] for dim in node.dims)
        batch = len(next(iter(self.clamps.values())))
        return np.zeros((batch, *shape) if node.batched else shape)


def parts_of(network: Network, net: Any, clamps: Tensors) -> list[Part]:
    """Return what relaxes in a network, given the clamps of a batch."""
    if not network.layers:
        return [Part("", network, net, clamps)]
    parts = []
    for name, layer in network.layers.items():
        for number in range(network.copies.get(name, 1)):
            own, reaching = net.layer(name, clamps, number)
            label = f"{name} {number}" if name in network.copies else name
            parts.append(Part(label, layer.network, own.eval(), reaching))
    return parts


def places(last: int) -> list[int]:
    """Steps from 0 to ``last``, all of them if they are few, else denser at the beginning."""
    if last < PLACES:
        return list(range(last + 1))
    early = PLACES // 2
    return [*range(early), *(int(k) for k in np.unique(np.geomspace(early, last, PLACES - early).round()))]


def _array(value: Any) -> Array:
    value = value.detach().cpu() if isinstance(value, torch.Tensor) else torch.as_tensor(value)
    return np.asarray(value.double() if value.is_floating_point() else value)
