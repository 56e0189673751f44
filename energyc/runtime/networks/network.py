"""The classes that users call: a network's equations, read out, relaxed and differentiated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from ..adjoints.autograd import differentiation, relaxed_inside
from ..convergence.causes import NonConvergence
from ..convergence.checks import warn_short_nudges
from ..convergence.trials import find_non_convergence
from ..equations.equations import Equations, Estimator, rule_name
from ..equations.gradients import averaged
from ..equations.inputs import (
    admitted,
    free_phase,
    named_inputs,
    no_rule,
    ordered_states,
    ordered_targets,
    prepared,
    real_number,
    refuse_not_finite,
    rule_settings,
    starting_states,
)
from ..equations.records import Answers, Estimate, Fixed, Gradients, Relaxed, by_members
from ..nudging.nudged_phases import nudged_steps, tracking_steps
from ..relaxation.free_run import Trace
from ..relaxation.graphs import Graphs
from ..relaxation.solver import free_steps, run_free_phase
from ..relaxation.steps import energy, residual
from ..tensors.states import Tensors, filled


class Answering(Equations):
    """Base of networks with and without layers: reads answers off states, and keeps params on their sets.

    States, clamps and targets are dicts of tensors by the spec's names, [batch, ...] each.
    """

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

    @torch.no_grad()
    def project_params(self) -> None:
        """Put params back on their sets: bounded ones between their bounds."""
        for name, (low, high) in self.param_bounds.items():
            self.params[name].clamp_(low, high)

    def project_gradients(self, gradients: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The parts of gradients along the sets of their params; a box has none but the whole."""
        return dict(gradients)

    def draw_noise(self, seeds: Sequence[int]) -> dict[str, Tensor]:
        """Noise by name, a sample for each seed, which decides it alone: [batch, ...] each.

        Given among the clamps it takes the place of what is drawn by torch's generator in training.
        """
        draws = [self._noise(torch.Generator().manual_seed(seed), 1) for seed in seeds]
        return {name: torch.cat(parts).to(self._anchor) for name, *parts in zip(self.noise_shapes, *draws)}


class EnergyNetwork(Answering):
    """A network: states relax under its force, params learn by the rules it was compiled for.

    States, clamps and targets are dicts of tensors by the spec's names, each with a leading batch axis. Inputs that are
    missing, unknown, of another shape or out of range raise ValueError.
    """

    #: The learning rules; the first one is the default.
    learning_rules: Sequence[Estimator] = ()
    _steps_ = free_steps
    _residual = residual
    _nudged_steps_ = nudged_steps
    _tracking_steps_ = tracking_steps

    def __init__(
        self, device: torch.device | str | None = None, dtype: torch.dtype | None = None, seed: int = 0
    ) -> None:
        super().__init__(device, dtype, seed)
        self.graphs = Graphs()

    @property
    def rules(self) -> tuple[str, ...]:
        """The names of the learning rules that this module holds."""
        return tuple(rule_name(estimate) for estimate in self.learning_rules)

    def _rule(self, name: str) -> Estimator:
        """The learning rule of a name."""
        return next(estimate for estimate in self.learning_rules if rule_name(estimate) == name)

    @torch.no_grad()
    def terms(self, states: Mapping[str, Tensor], clamps: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Each energy term of each sample: [batch].

        The members of a family of at most ``MOST_MEMBERS`` are there one by one, as ``att[0]``, in the place of their
        sum, which can still be read by the name of the family.
        """
        fixed = prepared(self, clamps)
        at = ordered_states(self, states, fixed)
        found = dict(zip(self.term_names, self._terms(at, fixed)))
        if not self.family_names:
            return found
        return by_members(found, dict(zip(self.family_names, self._families(at, fixed))))

    @torch.no_grad()
    def families(self, states: Mapping[str, Tensor], clamps: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The members of each family of energies, by the name of the family: [batch, ...]."""
        fixed = prepared(self, clamps)
        return dict(zip(self.family_names, self._families(ordered_states(self, states, fixed), fixed)))

    @torch.no_grad()
    def energy(self, states: Mapping[str, Tensor], clamps: Mapping[str, Tensor]) -> Tensor:
        """The energy of each sample: [batch]."""
        fixed = prepared(self, clamps)
        return energy(self, ordered_states(self, states, fixed), fixed)

    @torch.no_grad()
    def force(self, states: Mapping[str, Tensor], clamps: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The force on each state, of energies and forces together, before any projection; 0 of a kink on it."""
        fixed = prepared(self, clamps)
        at = ordered_states(self, states, fixed)
        return self._named(self._whole_force(at, fixed) if self.kinked else self._force(at, fixed))

    @torch.no_grad()
    def correction(
        self, states: Mapping[str, Tensor], direction: Mapping[str, Tensor], clamps: Mapping[str, Tensor]
    ) -> dict[str, Tensor]:
        """(J_nc - J_nc^T) direction at the states, J_nc the Jacobian of all terms that are not proved conservative."""
        fixed = prepared(self, clamps)
        at, along = ordered_states(self, states, fixed), ordered_states(self, direction, fixed)
        return self._named(filled(self._correction(at, fixed, along), at))

    @property
    def _joins(self) -> bool:
        """Return whether two nudged phases are one batch; samples that depend on each other are not mixed."""
        together = self.device.type != "cpu" if self.nudge_together is None else self.nudge_together
        return together and not self.coupled

    def first_bad_term(self, states: Mapping[str, Tensor], clamps: Mapping[str, Tensor]) -> str | None:
        """The first energy term that is not finite, or None."""
        values = self.terms(states, clamps)
        return next((name for name, value in values.items() if not bool(torch.isfinite(value).all())), None)

    @torch.no_grad()
    def start(self, clamps: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the initial states, projected on their sets."""
        return self._named(starting_states(self, None, prepared(self, clamps)))

    @torch.no_grad()
    def relax(
        self,
        clamps: Mapping[str, Tensor],
        steps: int | None = None,
        step: float | None = None,
        tolerance: float | None = None,
        states: Mapping[str, Tensor] | None = None,
        record: str | Sequence[str] = (),
    ) -> Relaxed:
        """Let the states relax. Steps without a tolerance are exactly that many.

        ``record`` names what is kept after each step, the start included: ``energy``, ``residual``, or a state.
        """
        fixed = prepared(self, clamps)
        phase = free_phase(self, steps, step, tolerance)
        record = (record,) if isinstance(record, str) else tuple(record)
        trace = Trace(self, record)
        free = run_free_phase(self, starting_states(self, states, fixed), fixed, phase, trace if record else None)
        trace.record(free.states, fixed, free.step)
        return Relaxed(self._named(free.states), free.residual, free.steps, trace.stacked(), free.step)

    @torch.no_grad()
    def non_convergence(self, clamps: Mapping[str, Tensor]) -> NonConvergence | None:
        """Why samples do not settle and what helps, found by trying on some of them; None where all settle."""
        return find_non_convergence(self, prepared(self, clamps))

    def unrest(self, clamps: Mapping[str, Tensor]) -> NonConvergence | None:
        """The former name of ``non_convergence``."""
        return self.non_convergence(clamps)

    def gradients(
        self,
        clamps: Mapping[str, Tensor],
        targets: Mapping[str, Tensor],
        rule: str | None = None,
        *,
        steps: int | None = None,
        step: float | None = None,
        tolerance: float | None = None,
        beta: float | str | None = None,
        nudge_steps: int | str | None = "spec",
        points: int | None = None,
        radius: float | str | None = None,
        states: Mapping[str, Tensor] | None = None,
        allow_biased: bool = False,
        penalty: float = 0.0,
        residual_defence: float = 0.0,
        contrast: bool = True,
        directions: Mapping[str, Tensor] | None = None,
    ) -> Gradients:
        """The gradient of the cost averaged over the batch, by a rule of this module.

        ``nudge_steps`` None runs nudged phases to convergence; ``states`` is a warm start; ``points`` and ``radius``
        are the circle of holomorphic rules. A rule that is biased on this network needs ``allow_biased``.
        ``penalty`` and ``residual_defence`` weigh what keeps training healthy; their slopes are added. Without
        ``contrast`` they are all there is, as for samples that did not settle. The penalty looks along ``directions``,
        shaped like the states and drawn at random by default. NotSettledWarning says, once for a rule, that its nudged
        phases end before they converge, and how many steps would do; it is looked for at the first gradient, the
        fourth, the sixteenth and so on.
        """
        rule = admitted(self, rule, allow_biased)
        estimate = self._rule(rule)
        with torch.no_grad():
            phase = free_phase(self, steps, step, tolerance)
            settings = rule_settings(self, phase, beta, nudge_steps, points, radius)
            weights = real_number("penalty", penalty), real_number("residual_defence", residual_defence)
            fixed = prepared(self, clamps)
            along = None if directions is None else ordered_states(self, directions, fixed)
            settings = settings._replace(penalty=weights[0], defence=weights[1], directions=along)
            aims = ordered_targets(self, targets, fixed)
            start = starting_states(self, states, fixed, aims)
            if contrast:
                found = estimate(self, start, fixed, aims, settings)
                warn_short_nudges(self, rule, estimate, found, fixed, aims, settings)
                return averaged(self, found, fixed, aims, settings)
            free = run_free_phase(self, start, fixed, phase)
            return averaged(self, Estimate(free, [], torch.ones_like(free.frozen)), fixed, aims, settings)

    def forward(
        self,
        clamps: Mapping[str, Tensor] | Tensor | None = None,
        rule: str | None = None,
        *,
        steps: int | None = None,
        step: float | None = None,
        tolerance: float | None = None,
        states: Mapping[str, Tensor] | None = None,
        relaxed: bool = False,
        **named: Tensor,
    ) -> Any:
        """Readouts at equilibrium by name, differentiable once in params and real clamps (no double backward).

        ``clamps`` are a dict, keywords, or the tensor of the only clamp. ``rule`` is ``implicit``, or ``bptt`` for the
        gradient through all steps. By default it is ``bptt`` where that is the first of ``rules`` (the spec's rule,
        unless the module was made for others) or where the force reads the number of the step, so that there is no
        equilibrium; else ``implicit``. ``steps``, ``step``, ``tolerance`` and ``states`` are those of ``relax``; states
        are constants to autograd. With ``relaxed`` the relaxation is given too: (readouts, Relaxed), whose tensors are
        not differentiable. By ``implicit``, a network whose samples do not settle warns once, by NotSettledWarning.
        """
        rule = ("bptt" if self.numbered or self.rules[:1] == ("bptt",) else "implicit") if rule is None else rule
        if not isinstance(rule, str) or rule not in ("implicit", "bptt"):
            raise ValueError(f"a network inside another is differentiated by implicit or bptt, not {no_rule(rule)}")
        if rule == "implicit" and self.numbered:
            raise ValueError(f"nothing is at rest in {self.name}, whose force changes from step to step: use bptt")
        phase = free_phase(self, steps, step, tolerance)
        rough = self.relax_products not in (None, "products")
        if rule == "bptt" and (self.relax_solver != "gradient" or phase.auto or rough):
            how = "with step = auto" if phase.auto else f"with products in {self.relax_products} first"
            if self.relax_solver != "gradient":
                how = f"by the solver {self.relax_solver}"
            raise ValueError(f"a network that relaxes {how} is differentiated by implicit, not {rule}")
        given = refuse_not_finite(self, named_inputs(self, clamps, named))
        free, values = relaxed_inside(self, given, differentiation(rule), phase, states)
        readouts = dict(zip(self.readout_names, values))
        if not relaxed:
            return readouts
        return readouts, Relaxed(self._named(free.states), free.residual, free.steps, {}, free.step)

    def _named(self, states: Tensors) -> dict[str, Tensor]:
        return dict(zip(self.state_names, states))
