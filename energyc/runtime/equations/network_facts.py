"""The facts about a network: its names, shapes, params, device and dtype."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from ..contract import refuse_earlier
from ..tensors.sets import Index, Real, StateSet
from .description import described


class NetworkFacts(nn.Module):
    """The names and shapes of a network, and its params."""

    name: str
    #: The spaces of states, clamps, noises and targets, which a generated class declares.
    states: Mapping[str, Real] = {}
    clamps: Mapping[str, Real | Index] = {}
    noises: Mapping[str, Real] = {}
    targets: Mapping[str, Real | Index] = {}
    state_shapes: Mapping[str, tuple[int, ...]] = {}
    #: The sets that states are kept in, by the names of those that are.
    state_sets: Mapping[str, StateSet] = {}
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
    #: The recorder of steps on a GPU; None where steps are not recorded.
    graphs: Any = None

    def __init_subclass__(cls, **keywords: Any) -> None:
        """Read what the class declares. Raises ImportError for a class of an earlier version."""
        super().__init_subclass__(**keywords)
        refuse_earlier(cls)
        if "states" in vars(cls):
            cls.state_shapes = {name: space.shape for name, space in cls.states.items()}
            cls.state_sets = {name: space for name, space in cls.states.items() if isinstance(space, StateSet)}
        if "clamps" in vars(cls):
            cls.clamp_shapes = {name: (space.shape, space.classes) for name, space in cls.clamps.items()}
        if "noises" in vars(cls):
            cls.noise_shapes = {name: space.shape for name, space in cls.noises.items()}
        if "targets" in vars(cls):
            cls.target_shapes = {name: (space.shape, space.classes) for name, space in cls.targets.items()}

    def __init__(
        self, device: torch.device | str | None = None, dtype: torch.dtype | None = None, seed: int = 0
    ) -> None:
        super().__init__()
        anchor = torch.zeros((), device=device, dtype=dtype or torch.get_default_dtype())
        self.register_buffer("_anchor", anchor, persistent=False)
        self._anchor: Tensor
        #: The names of what was warned of as not settled.
        self.warned: set[str] = set()
        self.nudges: dict[str, int] = {}  # how many gradients each rule has given
        self._initialize(torch.Generator().manual_seed(seed))

    def _initialize(self, random: torch.Generator) -> None:
        """Params, drawn in float64 on the CPU, and constants: a generated class states them."""

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
