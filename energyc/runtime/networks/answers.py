"""The answers of a network at given states: readouts, costs and metrics, with layers or without."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from ..equations.equations import Equations
from ..equations.inputs import ordered_states, ordered_targets, prepared
from ..equations.records import Answers, Fixed
from ..tensors.states import Tensors


class Answering(Equations):
    """Reads answers off states; states, clamps and targets are dicts of tensors by the spec's names, [batch, ...]."""

    def _values(self, states: Mapping[str, Tensor], fixed: Fixed) -> Tensors:
        """The tensors that the answers read."""
        return ordered_states(self, states, fixed)

    @torch.no_grad()
    def readout(self, states: Mapping[str, Tensor], clamps: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The answers at these states."""
        fixed = prepared(self, clamps)
        return dict(zip(self.readout_names, self._readouts(self._values(states, fixed), fixed)))

    @torch.no_grad()
    def cost(self, states: Mapping[str, Tensor], clamps: Mapping[str, Tensor], targets: Mapping[str, Tensor]) -> Tensor:
        """The cost of each sample: [batch]."""
        fixed = prepared(self, clamps)
        return self._cost(self._values(states, fixed), fixed, ordered_targets(self, targets, fixed))[0]

    def costs(
        self, states: Mapping[str, Tensor], clamps: Mapping[str, Tensor], targets: Mapping[str, Tensor]
    ) -> dict[str, Tensor]:
        """Each cost of each sample by its name, [batch]; ``cost`` where there is one alone."""
        if not self.cost_names:
            return {"cost": self.cost(states, clamps, targets)}
        measured = self.metrics(states, clamps, targets)
        return {name: measured[name] for name in self.cost_names}

    @torch.no_grad()
    def metrics(
        self, states: Mapping[str, Tensor], clamps: Mapping[str, Tensor], targets: Mapping[str, Tensor]
    ) -> dict[str, Tensor]:
        """The reported quantities: each of several costs, and those not trained on; [batch] each."""
        fixed = prepared(self, clamps)
        values = self._metrics(self._values(states, fixed), fixed, ordered_targets(self, targets, fixed))
        return dict(zip(self.metric_names, values))

    @torch.no_grad()
    def answers(
        self, states: Mapping[str, Tensor], clamps: Mapping[str, Tensor], targets: Mapping[str, Tensor]
    ) -> Answers:
        """``cost``, ``metrics`` and ``readout`` at once."""
        fixed = prepared(self, clamps)
        aims = ordered_targets(self, targets, fixed)
        values = self._values(states, fixed)
        metrics = dict(zip(self.metric_names, self._metrics(values, fixed, aims)))
        readouts = dict(zip(self.readout_names, self._readouts(values, fixed)))
        return Answers(self._cost(values, fixed, aims)[0], metrics, readouts)
