"""What a generated module says about one network: its sizes, its settings, its equations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from energyc.runtime.records import Fixed, Phase, Tensors
from energyc.runtime.shown import described


class Equations(nn.Module):
    """The equations of a network, on lists of tensors in the order of its states, targets and readouts.

    Notation: states z, params theta, force F, cost C, J = dF/dz; J_nc is the Jacobian of the terms that are not proved
    conservative. A generated class overrides what is not trivial for its network. Results by params are summed over the
    batch; all others are [batch, ...].
    """

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
    #: The clamps whose slopes ``_sums_clamp_gradient`` gives.
    summed: tuple[str, ...] = ()
    #: Params that only terms without an energy read.
    force_params: tuple[str, ...] = ()
    term_names: tuple[str, ...] = ()
    readout_names: tuple[str, ...] = ()
    metric_names: tuple[str, ...] = ()
    #: The costs, where they are several: they are among the metrics.
    cost_names: tuple[str, ...] = ()
    #: The energies that are families, whose members ``_families`` gives.
    family_names: tuple[str, ...] = ()
    #: Whether a state is kept in a set.
    constrained = False
    #: Whether all flows go down the energies in a metric, so that rules for gradients use ``_nudge``.
    descends = False
    #: Whether the force reads the number of the step, so that nothing is at rest under it.
    numbered = False
    #: The states whose steps are measured by the gradients that their flows name, which ``_slopes`` gives.
    sloped: tuple[str, ...] = ()
    #: When a sample depends on the others of its batch, by means over it: ``training``, ``always``, or None.
    batch_mates: str | None = None
    #: Rules that are biased on this network, each with the reason.
    biased: Mapping[str, str] = {}

    #: What the operands of products are rounded to in float32: ``float32``, ``tf32``, ``bfloat16``; None: as torch is
    #: set.
    products: str | None = None

    relax_solver = "gradient"
    #: The products with which a relaxation begins, where it has others than the rest.
    relax_products: str | None = None
    #: Whether a relaxation chooses its step sizes itself.
    relax_auto = False
    #: The memory and the damping of Anderson acceleration.
    relax_memory = 5
    relax_damping = 1.0
    relax_steps: int
    relax_step: tuple[float, ...]
    relax_tolerance: float | None = None
    relax_measure = "residual"
    relax_patience = 1
    relax_exit = "settled"
    relax_chunk = 25
    relax_max_steps: int | None = None
    relax_explosion: float | None = 1e4
    beta: float | str | None = None
    #: The strength that ``auto`` last chose.
    last_beta: float | None = None
    nudge_steps: int | None = None
    points = 4
    radius: float | str | None = None
    snapshots: int | None = None
    #: The share of the nudge that goes to the first half of a dyad.
    alpha = 0.5
    #: Whether a correction acts on dyads: there are terms that are not proved conservative.
    turned = False
    #: How precisely each state is predicted, in an energy of squared prediction errors.
    precisions: tuple[float, ...] = ()
    #: Whether two nudged phases are one batch; None: on a GPU.
    nudge_together: bool | None = None
    #: What chooses the step sizes of a free phase.
    _pace: Any
    #: What records steps on a GPU; None: nothing does.
    graphs: Any = None
    #: What its energies and forces are together, and what its phases run as, where that is known.
    force_class: str | None = None
    target: str | None = None

    def __init__(self, device: torch.device | str | None = None, dtype: torch.dtype | None = None) -> None:
        super().__init__()
        anchor = torch.zeros((), device=device, dtype=dtype or torch.get_default_dtype())
        self.register_buffer("_anchor", anchor, persistent=False)
        self._anchor: Tensor
        #: The names of what was warned of as not settled.
        self.warned: set[str] = set()

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
    def coupled(self) -> bool:
        """Whether a sample now depends on the others of its batch."""
        return self.batch_mates == "always" or (self.batch_mates == "training" and self.training)

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
        names = {attribute: name for name, attribute in self.param_attributes.items()}
        return {
            names.get(attribute, attribute): param for attribute, param in self._parameters.items() if param is not None
        }

    def _param(self, start: Tensor) -> nn.Parameter:
        """A param with its starting value, which is made in float64 on the CPU."""
        return nn.Parameter(start.to(self.device, self.dtype))

    def _constant(self, name: str, value: Tensor) -> None:
        """A tensor that depends on sizes alone; it moves with the network and is no part of its state dict."""
        self.register_buffer(name, value, persistent=False)

    def _ties(self) -> dict[str, Tensor]:
        """The tied names, each a view of its source."""
        return {}

    # ---------------------------------------------------------------- equations

    def _prepare(self, *given: Tensor) -> Fixed:
        """What depends on clamps, noise and params alone."""
        raise NotImplementedError

    def _at(self, fixed: Fixed, number: int) -> Fixed:
        """What is fixed in one step, which counts from 0."""
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
        """The force on each state, of energies and forces together."""
        raise NotImplementedError

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
        """What is reported: each of several costs, and what is not trained on; [batch] each."""
        return []

    def _project_(self, states: list[Tensor]) -> None:
        """Each state onto its constraint set, in place."""

    def _step_(self, states: list[Tensor], fixed: Fixed, step: Sequence[float]) -> None:
        """One step of the relaxation, in place; ``step`` is the step size of each state."""
        raise NotImplementedError

    def _walk_(
        self, states: list[Tensor], fixed: Fixed, first: int, count: int, step: Sequence[float], seen: Any = None
    ) -> None:
        """Steps of the solver, in place; ``seen`` is called before each of them."""
        raise NotImplementedError

    def _steps_(self, states: list[Tensor], fixed: Fixed, first: int, count: int, step: Sequence[float]) -> None:
        """Steps of the free phase, in place; the first of them has the number ``first``."""
        raise NotImplementedError

    def _approach_(self, states: list[Tensor], fixed: Fixed, phase: Phase, seen: Any = None) -> int:
        """Rough steps at the start of a free phase, in place; returns how many."""
        return 0

    def _residual(self, states: Tensors, fixed: Fixed, step: Sequence[float]) -> Tensor:
        """The measure of the next step: [batch]."""
        raise NotImplementedError

    def _nudged_steps_(
        self,
        states: list[Tensor],
        fixed: Fixed,
        targets: Tensors,
        beta: float,
        drive: Any,
        count: int,
        step: Sequence[float],
        turned: int | None = None,
    ) -> None:
        """Steps of a nudged phase, in place; ``drive`` is what the nudge subtracts from the force.

        From the sample ``turned`` on, beta is negative.
        """
        raise NotImplementedError

    def _tracking_steps_(
        self,
        plus: list[Tensor],
        minus: list[Tensor],
        fixed: Fixed,
        targets: Tensors,
        beta: float,
        count: int,
        step: Sequence[float],
    ) -> None:
        """Steps of two nudged phases with the correction at their midpoint, in place."""
        raise NotImplementedError

    # ---------------------------------------------------------------- derivatives

    def _force_pullback(
        self, states: Tensors, fixed: Fixed, seeds: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """J^T seeds, and with ``params`` <seeds, dF/dtheta>."""
        raise NotImplementedError

    def _force_adjoint(self, states: Tensors, fixed: Fixed, seeds: Tensors) -> list[Tensor | None]:
        """J^T seeds."""
        return self._force_pullback(states, fixed, seeds, params=False)[0]

    def _step_pullback(
        self, states: Tensors, fixed: Fixed, seeds: Tensors
    ) -> tuple[Sequence[Tensor | None], dict[str, Tensor]]:
        """J^T seeds, followed by what ``_sums_gradient`` reads, added up over steps; and the other slopes by theta."""
        return self._force_pullback(states, fixed, seeds)

    def _sums_gradient(self, fixed: Fixed, sums: Tensors) -> dict[str, Tensor]:
        """<seeds, dF/dtheta> of all steps together, of what no step changes otherwise."""
        return {}

    def _sums_clamp_gradient(self, fixed: Fixed, sums: Tensors) -> dict[str, Tensor]:
        """<seeds, dF/dx> of all steps together, for the real clamps that are ``summed``."""
        return {}

    def _force_tangent(self, states: Tensors, fixed: Fixed, directions: Tensors) -> list[Tensor]:
        """J directions."""
        raise NotImplementedError

    def _clamp_gradient(self, states: Tensors, fixed: Fixed, seeds: Tensors) -> dict[str, Tensor]:
        """<seeds, dF/dx> for each real clamp x."""
        return {}

    def _cost_pullback(
        self, states: Tensors, fixed: Fixed, targets: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """dC/dz, None where the cost does not read a state, and with ``params`` the direct dC/dtheta."""
        raise ValueError(f"{self.name} has no cost")

    def _cost_force(self, states: Tensors, fixed: Fixed, targets: Tensors) -> list[Tensor | None]:
        """dC/dz, None where the cost does not read a state."""
        return self._cost_pullback(states, fixed, targets, params=False)[0]

    def _cost_gradient(self, states: Tensors, fixed: Fixed, targets: Tensors) -> dict[str, Tensor]:
        """The direct dC/dtheta."""
        return self._cost_pullback(states, fixed, targets)[1]

    def _nudge(self, states: Tensors, fixed: Fixed, targets: Tensors) -> list[Tensor | None]:
        """What a nudge subtracts from the force: dC/dz, in a flow ``-P grad(E, g)`` P dC/dg."""
        return self._cost_force(states, fixed, targets)

    def _descent_gradient(self, states: Tensors, fixed: Fixed) -> dict[str, Tensor]:
        """dE/dtheta of all energies, those that flows name included."""
        return self._energy_gradient(states, fixed)

    def _readout_pullback(
        self, states: Tensors, fixed: Fixed, seeds: Tensors
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """<seeds, d readouts/dz>, and the same by params and real clamps."""
        return [None for _ in states], {}

    def _start_pullback(self, fixed: Fixed, seeds: Tensors) -> dict[str, Tensor]:
        """<seeds, d start> by params and real clamps."""
        return {}

    def _project_adjoint(self, at: Tensors, seeds: Tensors) -> list[Tensor]:
        """P^T seeds, P the derivative of the projection at a point."""
        return list(seeds)

    def _energy_gradient(self, states: Tensors, fixed: Fixed) -> dict[str, Tensor]:
        """dE/dtheta, of the params that ``_energy_contrast`` leaves out."""
        return {}

    def _energy_contrast(self, plus: Tensors, minus: Tensors, fixed: Fixed) -> dict[str, Tensor]:
        """dE/dtheta at ``plus`` less that at ``minus``, where it is linear or bilinear in the states."""
        return {}

    def _user_force_gradient(self, states: Tensors, fixed: Fixed, seeds: Tensors) -> dict[str, Tensor]:
        """<seeds, dF/dtheta> of the terms without an energy, or that hold a state fixed in theirs."""
        if not self.force_params:
            return {}
        slopes = self._force_pullback(states, fixed, seeds)[1]
        return {name: slopes[name] for name in self.force_params}

    def _clamped(self, fixed: Fixed, targets: Tensors) -> list[Tensor | None]:
        """Where states are held in a clamped phase, None where they are free."""
        raise ValueError(f"{self.name} was compiled without a rule that clamps states")

    def _correction(self, states: Tensors, fixed: Fixed, directions: Tensors) -> list[Tensor | None]:
        """(J_nc - J_nc^T) directions."""
        raise ValueError(f"{self.name} was compiled without a rule that corrects for a force that is not a gradient")

    def _predictions(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """What each state is predicted to be, from states before it."""
        raise ValueError(f"{self.name} was compiled without a rule of predictions")

    def _prediction_pullback(
        self, states: Tensors, fixed: Fixed, seeds: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """<seeds, d predictions/dz>, and with ``params`` the same by theta."""
        raise ValueError(f"{self.name} was compiled without a rule of predictions")

    def _prediction_errors(self, states: Tensors, fixed: Fixed, seeds: Tensors) -> list[Tensor | None]:
        """<seeds, d predictions/dz>."""
        return self._prediction_pullback(states, fixed, seeds, params=False)[0]

    def _prediction_gradient(self, states: Tensors, fixed: Fixed, seeds: Tensors) -> dict[str, Tensor]:
        """<seeds, d predictions/dtheta>."""
        return self._prediction_pullback(states, fixed, seeds)[1]

    def _hold(self, states: Tensors, fixed: Fixed) -> Any:
        """What the correction at these states needs, whatever the direction."""
        raise ValueError(f"{self.name} was compiled without a rule that corrects at the equilibrium")

    def _held_correction(self, held: Any, fixed: Fixed, directions: Tensors) -> list[Tensor | None]:
        """(J_nc - J_nc^T) directions at the states that were held."""
        raise ValueError(f"{self.name} was compiled without a rule that corrects at the equilibrium")

    def _extended(self) -> Any:
        """The holomorphic extension: the equations on complex states."""
        raise ValueError(f"{self.name} was compiled without a holomorphic rule")

    def _penalty(self, states: Tensors, fixed: Fixed, directions: Tensors) -> tuple[list[Tensor], dict[str, Tensor]]:
        """|J_nc directions|^2, and its slope by theta."""
        raise ValueError(f"there is no Jacobian penalty in this module: {self.name} was compiled without one")
