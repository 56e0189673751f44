"""What training asks of a network: the part of the Python interface that it calls, as protocols."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from torch import Tensor

Tensors = dict[str, Tensor]


class Relaxed(Protocol):
    """An end of a relaxation: ``states`` each [batch, ...], ``residual`` [batch], ``steps`` [batch].

    ``trace`` holds what was recorded, each [steps + 1, batch].
    """

    states: Tensors
    residual: Tensor
    steps: Tensor
    trace: Tensors


class Gradients(Protocol):
    """A rule's answer: ``params`` by name; ``cost``, ``residual``, ``steps`` [batch]; the free ``states``; ``beta``.

    ``kept`` [batch]: the samples that took part; ``health``: what was seen of each, [batch].
    """

    params: Tensors
    cost: Tensor
    states: Tensors
    residual: Tensor
    steps: Tensor
    beta: float
    kept: Tensor
    health: Tensors

    def assign(self) -> None:
        """Write the gradients into ``.grad``."""


class Network(Protocol):
    """A compiled network (a ``torch.nn.Module``), as far as training and its pictures call it."""

    name: str
    rules: tuple[str, ...]
    state_names: tuple[str, ...]
    beta: float | str | None
    last_beta: float | None
    relax_steps: int
    relax_tolerance: float | None
    relax_max_steps: int | None

    @property
    def params(self) -> Tensors:
        """Untied names to Parameters, and the names of ties to views of them."""

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

    def gradients(self, clamps: Tensors, targets: Tensors, rule: str = ..., **settings: Any) -> Gradients:
        """The gradient of the cost averaged over the batch, by a rule."""

    def cost(self, states: Tensors, clamps: Tensors, targets: Tensors) -> Tensor:
        """The cost of each sample, [batch]."""

    def metrics(self, states: Tensors, clamps: Tensors, targets: Tensors) -> Tensors:
        """The metrics of each sample, each [batch]."""

    def readout(self, states: Tensors, clamps: Tensors) -> Tensors:
        """The readouts, each [batch, ...]."""

    def project_params(self) -> None:
        """Put bounded params back into their box."""

    def first_bad_term(self, states: Tensors, clamps: Tensors) -> str | None:
        """The first energy term that is not finite."""

    def train(self, mode: bool = True) -> Any:
        """Switch to training."""

    def state_dict(self) -> dict[str, Any]:
        """All tensors of the module."""

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> Any:
        """Put tensors back."""

    def named_parameters(self) -> Any:
        """The parameters by their attribute names."""


def learnable(net: Network) -> Tensors:
    """The params that an optimiser moves, by the spec's names: leaves only, so that a tie is not moved twice."""
    chosen: Tensors = {}
    seen: set[int] = set()
    for name, tensor in net.params.items():
        if tensor.is_leaf and tensor.requires_grad and id(tensor) not in seen:
            chosen[name] = tensor
            seen.add(id(tensor))
    return chosen
