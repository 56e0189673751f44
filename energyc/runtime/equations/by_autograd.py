"""Pullbacks that autograd takes of the equations of a network: those that a gradient needs once, or that are rare."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from ..tensors.states import Pullback, Tensors
from .equations import Equations
from .records import Fixed

#: An equation: of a network, states, and what is fixed.
Equation = Callable[[Any, Tensors, Fixed], Tensors]


def pulled_back(
    net: Equations,
    equation: Equation,
    fixed: Fixed,
    cotangents: Tensors,
    *,
    states: Tensors = (),
    params: bool = True,
    clamps: Iterable[str] = (),
) -> Pullback:
    """<cotangents, d equation>: by each of the ``states``, and by name, by ``params`` and by ``clamps``.

    Slopes by params are summed over the batch. They go through what ``fixed`` holds of params and clamps, which is
    computed anew where the equation reads it. What an equation does not read has no slope.
    """
    with net._precise(), torch.enable_grad():
        twin, owned = on_leaves(net, params)
        given, asked = inputs(net, fixed, clamps)
        made = {name: leaf(x) for name, x in list(fixed._asdict().items())[len(given) :] if x.is_floating_point()}
        read = fixed._replace(**dict(zip(fixed._asdict(), given)), **made)
        at, named = [leaf(x) for x in states], {**owned, **asked}
        values = equation(twin, at, read)
        by_state, by_name, by_made = grads(values, cotangents, [at, list(named.values()), list(made.values())])
        slopes = dict(zip(named, by_name))
        through = {name: slope for name, slope in zip(made, by_made) if slope is not None}
        if through:
            anew = twin._prepare(*given)._asdict()
            (further,) = grads([anew[name] for name in through], list(through.values()), [list(named.values())])
            slopes = {name: total(slopes[name], more) for name, more in zip(named, further)}
    return by_state, {name: slope for name, slope in slopes.items() if slope is not None}


def leaf(x: Tensor) -> Tensor:
    """A leaf of autograd that shares the memory of a tensor."""
    return x.detach().requires_grad_()


def total(first: Tensor | None, second: Tensor | None) -> Tensor | None:
    """The sum of two slopes, either of which there may not be."""
    if first is None or second is None:
        return second if first is None else first
    return first + second


def grads(values: Tensors, cotangents: Tensors, groups: Sequence[list[Tensor]]) -> list[list[Tensor | None]]:
    """<cotangents, d values> by the leaves of each group, None where no value depends on one."""
    leaves = [x for group in groups for x in group]
    # Where nothing is clamped, a value is the same for all samples: one row.
    pairs = [(x, given.sum_to_size(x.shape)) for x, given in zip(values, cotangents) if x.requires_grad]
    slopes: Sequence[Tensor | None] = [None] * len(leaves)
    if pairs and leaves:
        outputs, directions = zip(*pairs)
        slopes = torch.autograd.grad(outputs, leaves, directions, allow_unused=True)
    found = iter(slopes)
    return [[next(found) for _ in group] for group in groups]


def on_leaves(net: Equations, wanted: bool) -> tuple[Any, dict[str, Tensor]]:
    """The network with params that share its memory: leaves of autograd where ``wanted``, which are given by name."""
    twin = type(net).__new__(type(net))
    owners = {name: leaf(param) if wanted else param.detach() for name, param in net._owners().items()}
    attributes = {net.param_attributes.get(name, name): param for name, param in owners.items()}
    others = {name: value for name, value in net._parameters.items() if name not in attributes}
    vars(twin).update({**vars(net), **attributes, "_parameters": others})
    return twin, owners if wanted else {}


def inputs(net: Equations, fixed: Fixed, clamps: Iterable[str]) -> tuple[list[Tensor], dict[str, Tensor]]:
    """The clamps and noises in ``fixed``, with leaves of autograd for some clamps; and these leaves by name."""
    names = [*net.clamp_shapes, *net.noise_shapes]
    given = dict(zip(names, fixed[: len(names)]))
    leaves = {name: leaf(given[name]) for name in clamps}
    return list({**given, **leaves}.values()), leaves


def real_clamps(net: Equations) -> Mapping[str, tuple[int, ...]]:
    """The clamps of real numbers, which have slopes, with their shapes."""
    return {name: shape for name, (shape, classes) in net.clamp_shapes.items() if classes is None}


# -------------------------------------------------------------------- pullbacks that every network has


def clamp_gradient(net: Equations, states: Tensors, fixed: Fixed, cotangents: Tensors) -> dict[str, Tensor]:
    """<cotangents, dF/dx> for each real clamp x that the force reads."""
    clamps = real_clamps(net)
    if not clamps:
        return {}

    def force(net: Equations, _: Tensors, fixed: Fixed) -> Tensors:
        return net._force(states, fixed)

    return pulled_back(net, force, fixed, cotangents, params=False, clamps=clamps)[1]


def readout_vjp(net: Equations, states: Tensors, fixed: Fixed, cotangents: Tensors) -> Pullback:
    """<cotangents, d readouts/dz>, and the same by params and real clamps."""

    def readouts(net: Equations, states: Tensors, fixed: Fixed) -> Tensors:
        return net._readouts(states, fixed)

    return pulled_back(net, readouts, fixed, cotangents, states=states, clamps=real_clamps(net))


def start_vjp(net: Equations, fixed: Fixed, cotangents: Tensors) -> dict[str, Tensor]:
    """<cotangents, d start> by params and real clamps."""

    def start(net: Equations, _: Tensors, fixed: Fixed) -> Tensors:
        return net._start(fixed)

    return pulled_back(net, start, fixed, cotangents, clamps=real_clamps(net))[1]
