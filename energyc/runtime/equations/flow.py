"""The equations of a spec: energies, forces, answers, sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor

from ..tensors.states import Rate, Tensors
from .network_facts import NetworkFacts
from .records import Fixed


class Flow(NetworkFacts):
    """The equations of a spec, on lists of tensors in the order of states, targets and readouts."""

    #: The real clamps by which steps have no slopes but those that ``_sums_clamp_gradient`` gives.
    summed: tuple[str, ...] = ()
    #: Params that only terms without an energy read.
    force_params: tuple[str, ...] = ()
    #: Whether a kink of an energy moves by a proximal step.
    kinked = False
    #: Whether all flows go down the energies in a metric, so that rules for gradients use ``_nudge``.
    descends = False
    #: Whether the force reads the number of the step, so that nothing is at rest under it.
    numbered = False
    #: Whether kernels keep the states of steps and go back through them.
    retraced = False
    #: Whether a kernel makes a free phase to the end of each sample.
    settling = False
    #: The states whose steps are measured by the gradients that their flows name, which ``_slopes`` gives.
    sloped: tuple[str, ...] = ()
    #: The states of each block in the order of a sweep, by their numbers.
    blocks: tuple[tuple[int, ...], ...] = ()
    #: D in the force ``b - D z`` on each state that moves exactly; None where its block gives it.
    block_slopes: Mapping[int, float | None] = {}
    #: The states that the cost reads, each with the slope of dC/dz; None where that is not one number.
    cost_slopes: Mapping[int, float | None] = {}
    #: When a sample depends on the others of its batch, by means over it: ``training``, ``always``, or None.
    batch_mates: str | None = None
    #: Rules that are biased on this network, each with the reason.
    biased: Mapping[str, str] = {}
    #: Whether a correction acts on dyads: there are terms that are not proved conservative.
    turned = False
    #: How precisely each state is predicted, in an energy of squared prediction errors.
    precisions: tuple[float, ...] = ()

    @property
    def constrained(self) -> bool:
        """Whether a state is kept in a set, or has a kink that it moves by a proximal step."""
        return self.kinked or bool(self.state_sets)

    @property
    def coupled(self) -> bool:
        """Whether a sample now depends on the others of its batch."""
        return self.batch_mates == "always" or (self.batch_mates == "training" and self.training)

    def _precise(self) -> AbstractContextManager[None]:
        """Where a linear system is solved: products in full precision."""
        return nullcontext()

    def _prepare(self, *given: Tensor) -> Fixed:
        """The quantities that depend on clamps, noise and params alone."""
        raise NotImplementedError

    def _at(self, fixed: Fixed, number: int) -> Fixed:
        """The fixed quantities of one step; steps count from 0."""
        return fixed

    def _noise(self, random: torch.Generator | None, batch: int) -> list[Tensor]:
        """Noise for each sample, in float64 on the CPU."""
        return []

    def _start(self, fixed: Fixed) -> list[Tensor]:
        """Where the states start: at zero; one sample where nothing is clamped."""
        batch = len(fixed[:1][0]) if self.clamp_shapes or self.noise_shapes else 1
        return [
            torch.zeros((batch, *shape), device=self.device, dtype=self.dtype) for shape in self.state_shapes.values()
        ]

    def _terms(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """Each energy term: [batch]."""
        return []

    def _force(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The force on each state, of energies and forces together, without the kinks that move proximally."""
        raise NotImplementedError

    def _whole_force(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The force on each state, that of kinks which move proximally included."""
        return self._force(states, fixed)

    def _slopes(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The gradients of energies that the flows of the ``sloped`` states name."""
        return []

    def _families(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The members of each family of energies: [batch, ...]."""
        return []

    def _readouts(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The answers."""
        return []

    def _cost(self, states: Tensors, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """The cost: one entry [batch]."""
        raise ValueError(f"{self.name} has no cost")

    def _metrics(self, states: Tensors, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """The reported quantities: each of several costs, and those not trained on; [batch] each."""
        return []

    def _project_(self, states: list[Tensor]) -> None:
        """Each state onto its set, in place."""
        for name, state in zip(self.state_shapes, states):
            if name in self.state_sets:
                self.state_sets[name].project_(state)

    def _block(self, number: int, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The force on each state of a block, then D of those for which it is not a number."""
        raise ValueError(f"{self.name} was compiled without relax.solver = blocks")

    def _project_block_(self, number: int, states: list[Tensor]) -> None:
        """Each state of a block onto its set, in place."""
        names = list(self.state_shapes)
        for k in self.blocks[number]:
            if names[k] in self.state_sets:
                self.state_sets[names[k]].project_(states[k])

    def _weights(self, fixed: Fixed) -> list[Tensor]:
        """The weights of the kinks that move proximally, each of the shape of its state."""
        return []

    def _proximal_(self, states: list[Tensor], fixed: Fixed, step: Sequence[float]) -> None:
        """Each state to the proximal point, for its step, of its kinks and its set, in place."""
        self._project_(states)

    def _proximal_block_(self, number: int, states: list[Tensor], fixed: Fixed, step: Mapping[int, Rate]) -> None:
        """Each state of a block that has a step to the proximal point for it, in place."""
        self._project_block_(number, states)
