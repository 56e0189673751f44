"""The facts about a network: its names, shapes, params, device and dtype."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from energyc.runtime.equations.description import described
from energyc.runtime.equations.parts import carries, chosen


class NetworkFacts(nn.Module):
    """The names and shapes of a network, and its params."""

    name: str
    state_shapes: Mapping[str, tuple[int, ...]]
    #: The shape of each input without the batch, and the size of the dim that an integer input indexes.
    clamp_shapes: Mapping[str, tuple[tuple[int, ...], int | None]] = {}
    target_shapes: Mapping[str, tuple[tuple[int, ...], int | None]] = {}
    #: The shape of each noise without the batch.
    noise_shapes: Mapping[str, tuple[int, ...]] = {}
    #: Attributes of the params that Python does not let keep their names.
    param_attributes: Mapping[str, str] = {}
    param_bounds: Mapping[str, tuple[float | None, float | None]] = {}
    term_names: tuple[str, ...] = ()
    readout_names: tuple[str, ...] = ()
    metric_names: tuple[str, ...] = ()
    #: The costs, where they are several: they are among the metrics.
    cost_names: tuple[str, ...] = ()
    #: The energies that are families, whose members ``_families`` gives.
    family_names: tuple[str, ...] = ()
    #: What its energies and forces are together, and what its phases run as, where that is known.
    force_class: str | None = None
    #: Rules that are not defined on this network, each with the reason; known where energyc loads it.
    undefined: Mapping[str, str] = {}
    target: str | None = None
    #: What records steps on a GPU; None: nothing does.
    graphs: Any = None

    def __init__(self, device: torch.device | str | None = None, dtype: torch.dtype | None = None) -> None:
        super().__init__()
        anchor = torch.zeros((), device=device, dtype=dtype or torch.get_default_dtype())
        self.register_buffer("_anchor", anchor, persistent=False)
        self._anchor: Tensor
        #: The names of what was warned of as not settled.
        self.warned: set[str] = set()
        if carries("recorder", "cuda"):
            self.graphs = chosen("recorder", "cuda")()
        if carries("diagnosis", "short nudges"):
            self.nudges: dict[str, int] = {}  # how many gradients each rule has given

    def __repr__(self) -> str:
        """Sizes, shapes and rules."""
        return described(self)

    @property
    def device(self) -> torch.device:
        """Where the network lives."""
        return self._anchor.device

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of params and states."""
        return self._anchor.dtype

    @property
    def state_names(self) -> tuple[str, ...]:
        """The states in the order of the spec."""
        return tuple(self.state_shapes)

    @property
    def params(self) -> dict[str, Tensor]:
        """Untied params by the spec's names; a tie's name gives a read-only view of its source."""
        return {**self._owners(), **self._ties()}

    def _owners(self) -> dict[str, nn.Parameter]:
        """Untied params by the spec's names."""
        if not self.param_attributes:
            return {name: param for name, param in self._parameters.items() if param is not None}
        names = {attribute: name for name, attribute in self.param_attributes.items()}
        return {
            names.get(attribute, attribute): param for attribute, param in self._parameters.items() if param is not None
        }

    def _param(self, start: Tensor) -> nn.Parameter:
        """A param with its starting value, which is made in float64 on the CPU."""
        return nn.Parameter(start.to(self.device, self.dtype))

    def _constant(self, name: str, value: Tensor) -> None:
        """A tensor that depends on sizes alone; it moves with the network and is not part of its state dict."""
        self.register_buffer(name, value, persistent=False)

    def _ties(self) -> dict[str, Tensor]:
        """The tied names, each a view of its source."""
        return {}
