"""Protocols for the part of a network's Python interface that training uses, and its params."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import torch
from torch import Tensor

from energyc.runtime import Answers, NonConvergence

Tensors = dict[str, Tensor]


class Relaxed(Protocol):
    """The end of a relaxation: ``states`` each [batch, ...], ``residual`` [batch], ``steps`` [batch].

    ``trace`` holds the recorded values, each [steps + 1, batch].
    """

    states: Tensors
    residual: Tensor
    steps: Tensor
    trace: Tensors


class Gradients(Protocol):
    """The result of a rule: ``params`` by name; ``cost``, ``residual``, ``steps`` [batch]; free ``states``; ``beta``.

    ``kept`` [batch] marks the samples that took part; ``health`` holds measurements of each, [batch]. ``step`` is that
    of each state at the end of the free phase.
    """

    params: Tensors
    cost: Tensor
    states: Tensors
    residual: Tensor
    steps: Tensor
    beta: float
    kept: Tensor
    health: Tensors
    step: tuple[float, ...]

    def assign(self) -> None:
        """Write the gradients into ``.grad``."""


class Network(Protocol):
    """The members of a compiled network, a ``torch.nn.Module``, that training and its pictures use."""

    name: str
    rules: tuple[str, ...]
    state_names: tuple[str, ...]
    state_shapes: Mapping[str, tuple[int, ...]]
    beta: float | str | None
    last_beta: float | None
    relax_steps: int
    relax_tolerance: float | None
    relax_max_steps: int | None
    relax_exit: str
    relax_auto: bool
    numbered: bool
    noise_shapes: Mapping[str, tuple[int, ...]]

    @property
    def params(self) -> Tensors:
        """The Parameters by untied name, and views of them by the names of ties."""

    def relax(
        self,
        clamps: Tensors,
        steps: int | None = None,
        step: float | None = None,
        tolerance: float | None = None,
        states: Tensors | None = None,
        record: Sequence[str] = (),
    ) -> Relaxed:
        """Relax to an equilibrium."""

    def non_convergence(self, clamps: Tensors) -> NonConvergence | None:
        """Return why samples do not settle and what helps; None if all settle."""

    def gradients(self, clamps: Tensors, targets: Tensors, rule: str = ..., **settings: Any) -> Gradients:
        """Return the gradient of the cost averaged over the batch, by a rule."""

    def cost(self, states: Tensors, clamps: Tensors, targets: Tensors) -> Tensor:
        """Return the cost of each sample, [batch]."""

    def metrics(self, states: Tensors, clamps: Tensors, targets: Tensors) -> Tensors:
        """Return the metrics of each sample, each [batch]."""

    def readout(self, states: Tensors, clamps: Tensors) -> Tensors:
        """Return the readouts, each [batch, ...]."""

    def answers(self, states: Tensors, clamps: Tensors, targets: Tensors) -> Answers:
        """Return the cost, the metrics and the readouts at once."""

    def draw_noise(self, seeds: Sequence[int]) -> Tensors:
        """Return noise by name, a sample for each seed, each [batch, ...]."""

    def project_params(self) -> None:
        """Project bounded params onto their box."""

    def first_bad_term(self, states: Tensors, clamps: Tensors) -> str | None:
        """Return the first energy term that is not finite."""

    def train(self, mode: bool = True) -> Any:
        """Switch to training mode, or out of it."""

    def state_dict(self) -> dict[str, Any]:
        """Return all tensors of the module."""

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> Any:
        """Load tensors."""

    def named_parameters(self) -> Any:
        """Return the parameters by attribute name."""

    def modules(self) -> Any:
        """Return the network and its layers."""


def learnable(net: Network) -> Tensors:
    """Return the params that an optimiser moves, by the spec's names: only leaves, so that no tie is moved twice."""
    params: Tensors = {}
    seen: set[int] = set()
    for name, tensor in net.params.items():
        if tensor.is_leaf and tensor.requires_grad and id(tensor) not in seen:
            params[name] = tensor
            seen.add(id(tensor))
    return params


@torch.no_grad()
def assign(params: Mapping[str, Tensor], values: Mapping[str, Tensor]) -> None:
    """Copy values into params of the same names."""
    for name, param in params.items():
        param.copy_(values[name])


@contextmanager
def params_kept(params: Mapping[str, Tensor]) -> Iterator[Tensors]:
    """Give back their values to params at the end of this context, which has copies of them."""
    kept = copied(params)
    try:
        yield kept
    finally:
        assign(params, kept)


def copied(params: Mapping[str, Tensor]) -> Tensors:
    """Copies of params, by their names."""
    return {name: param.detach().clone() for name, param in params.items()}


# ------------------------------------------------------------------ params on their sets

#: A param is off its set if projecting it moves an entry by more than so many roundings of its largest.
ROUNDINGS = 100


@torch.no_grad()
def off_sets(net: Network) -> dict[str, float]:
    """Return the params that are off their sets, each with the largest change of an entry to its nearest point.

    The params stay as they are.
    """
    params = learnable(net)
    with params_kept(params) as before:
        net.project_params()
        moved = {name: float((param - before[name]).abs().max()) for name, param in params.items() if param.numel()}
    return {name: change for name, change in moved.items() if change > ROUNDINGS * _rounding(before[name])}


def start_on_sets(net: Network) -> None:
    """Put params that are off their sets on them, with a RuntimeWarning that names them."""
    off = off_sets(net)
    if off:
        named = ", ".join(f"{name} by {change:.2g}" for name, change in off.items())
        message = f"training starts at the nearest params on their sets, since these are off: {named}"
        warnings.warn(message, RuntimeWarning, stacklevel=2)
        net.project_params()


def _rounding(value: Tensor) -> float:
    return torch.finfo(value.dtype).eps * max(1.0, float(value.abs().max()))
