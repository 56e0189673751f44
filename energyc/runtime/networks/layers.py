"""A network of layers: an ordinary function of its clamps, of which only the layers relax.

Around the layers autograd differentiates; each layer is one operation of it, with the adjoint of its equilibrium or of
its steps, or with the nudged phases of a learning rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, Self

import torch
from torch import Tensor, nn

from ..adjoints.autograd import Differentiation, PhaseDifferentiation, differentiation, relaxed_inside
from ..convergence.causes import NonConvergence
from ..equations.inputs import (
    LayerNoise,
    admitted,
    fixed_by,
    free_phase,
    layer_noise,
    named_inputs,
    no_rule,
    ordered_states,
    ordered_targets,
    prepared,
    refuse_not_finite,
    starting_states,
)
from ..equations.records import Estimate, Fixed, FreePhase, Gradients, Relaxed, not_exploded, rows_of
from ..relaxation.solver import run_free_phase
from ..tensors.states import Tensors
from .network import Answering, EnergyNetwork


class EnergyLayer(EnergyNetwork):
    """A network inside another one, which holds its params; see ``LayeredNetwork.layer``."""

    #: The params that it reads, by its own names.
    param_names: tuple[str, ...] = ()

    def __init__(self, device: torch.device | str | None = None, dtype: torch.dtype | None = None) -> None:
        super().__init__(device, dtype)
        self.graphs = None  # its params are others at each visit

    def holding(self, params: Tensors) -> Self:
        """The same layer with these params."""
        layer = type(self).__new__(type(self))
        layer.__dict__.update(self.__dict__)
        attributes = [self.param_attributes.get(name, name) for name in self.param_names]
        layer.__dict__.update(zip(attributes, params))
        return layer

    def differentiation(self, rule: str, **nudge: Any) -> Differentiation:
        """Return how autograd goes through it by a rule, with the settings of the phases of one that nudges."""
        if rule in self.rules:
            return PhaseDifferentiation(rule, self._rule(rule), **nudge)
        return differentiation(rule)

    def _owners(self) -> dict[str, nn.Parameter]:
        """The params that it reads, by its own names: tensors of the network around it."""
        return {name: getattr(self, self.param_attributes.get(name, name)) for name in self.param_names}


class Visit(Protocol):
    """A network's visit to a layer: the number of its copy, its clamps and params in, its readouts out."""

    def __call__(self, layer: Any, number: int, clamps: Tensors, params: Tensors, /) -> Sequence[Tensor]:
        """Its readouts."""
        ...


#: Shown a layer with the params of one of its copies, the number of the copy, and the clamps that reach it.
Look = Callable[[EnergyLayer, int, dict[str, Tensor]], None]


class Relaxation:
    """Relaxes each layer that is visited, and keeps the phases by the layers' names, a copy after the other.

    ``rule`` is that by which autograd goes through; without one there is nothing to go through. ``noise`` is what is
    given of the noises of layers; the rest is drawn in training. ``look`` is shown each copy of a layer before it
    relaxes: with its params, its number and its clamps. ``nudge`` has the settings of the phases of a rule that nudges,
    of which one that ``warns`` says which samples it lost.
    """

    def __init__(
        self,
        rule: str | None,
        noise: LayerNoise | None,
        steps: int | None = None,
        step: float | None = None,
        tolerance: float | None = None,
        look: Look | None = None,
        **nudge: Any,
    ) -> None:
        self.rule, self.noise, self.look = rule, noise, look
        self.settings, self.nudge = (steps, step, tolerance), nudge
        self.phases: dict[str, list[FreePhase]] = {}
        self.differentiations: list[Differentiation] = []

    def __call__(self, layer: EnergyLayer, number: int, clamps: Tensors, params: Tensors) -> Sequence[Tensor]:
        layer = layer.holding(params)
        named = dict(zip(layer.clamp_shapes, clamps))
        if self.noise is not None:
            named |= self.noise.of(layer, number)
        if self.look is not None:
            self.look(layer, number, named)
        phase = free_phase(layer, *self.settings)
        if self.rule is None:
            fixed = fixed_by(layer, named)
            free = run_free_phase(layer, starting_states(layer, None, fixed), fixed, phase)
            values = layer._readouts(free.states, fixed)
        else:
            self.differentiations.append(layer.differentiation(self.rule, **self.nudge))
            free, values = relaxed_inside(layer, named, self.differentiations[-1], phase)
        self.phases.setdefault(layer.name, []).append(free)
        return values

    def spread(self, count: int) -> Self:
        """Give all phases so many samples; a layer that reads nothing of a sample has relaxed for one."""
        self.phases = {name: [over_samples(phase, count) for phase in own] for name, own in self.phases.items()}
        return self

    def states(self, net: LayeredNetwork) -> dict[str, Tensor]:
        """The states of all layers: [batch, copies, ...], without the copies for a layer that has none."""
        return {
            f"{name}.{state}": torch.stack([free.states[k] for free in phases], 1)
            if name in net.copies
            else phases[0].states[k]
            for name, phases in self.phases.items()
            for k, state in enumerate(net.layers[name].state_names)
        }

    def relaxed(self, net: LayeredNetwork) -> Relaxed:
        """Return where the layers ended; the residual and the steps of a sample are the largest of its layers."""
        phases = self.all_phases()
        residual, count = worst([p.residual for p in phases]), worst([p.steps for p in phases])
        return Relaxed(self.states(net), residual, count, {})

    @property
    def estimates(self) -> list[Estimate]:
        """The results of the phases of a rule that nudges, for the layers that a cotangent reached."""
        return [found for each in self.differentiations for found in getattr(each, "found", ())]

    @property
    def beta(self) -> float | None:
        """The strength of the nudge, the smallest of the layers'; None where nothing was nudged."""
        return min((found.beta for found in self.estimates if found.beta is not None), default=None)

    def took_part(self, cost: Tensor) -> Tensor:
        """Samples that no layer lost on the way there or back, with their costs: [batch]."""
        back = [found.kept.expand(len(cost)) for found in self.estimates]
        return torch.stack([cost.isfinite(), *map(not_exploded, self.all_phases()), *back]).all(0)

    def health(self, count: int) -> dict[str, Tensor]:
        """A measure of each sample, the largest of the layers': [batch]."""
        frozen = torch.stack([phase.frozen for phase in self.all_phases()]).any(0)
        names = dict.fromkeys(name for found in self.estimates for name in found.health)
        own = {n: [found.health[n].expand(count) for found in self.estimates if n in found.health] for n in names}
        return {"frozen": frozen, **{name: worst(values) for name, values in own.items()}}

    def all_phases(self) -> list[FreePhase]:
        """The phases of all copies of all layers."""
        return [free for phases in self.phases.values() for free in phases]


class AtStates:
    """Reads out each layer that is visited at states that are given, as ``Relaxation.states`` gives them."""

    def __init__(self, net: LayeredNetwork, states: Mapping[str, Tensor]) -> None:
        self.net = net
        self.states = states

    def __call__(self, layer: EnergyLayer, number: int, clamps: Tensors, params: Tensors) -> Sequence[Tensor]:
        layer = layer.holding(params)
        states = [self.states[f"{layer.name}.{name}"] for name in layer.state_names]
        own = [x[:, number] for x in states] if layer.name in self.net.copies else states
        return layer._readouts(own, fixed_by(layer, dict(zip(layer.clamp_shapes, clamps))))


def only_of_a_layer(why: str) -> Callable[..., Any]:
    """Return a method that a network of layers does not have: it raises ValueError."""

    def method(self: LayeredNetwork, *_: Any, **__: Any) -> Any:
        raise ValueError(f"{self.name} {why}")

    return method


class LayeredNetwork(Answering):
    """A network of layers: an ordinary function of its clamps, of which only the layers relax.

    Its states are those of its layers, ``attention.x`` with shape [batch, ...], and [batch, L, ...] in ``repeat L``.
    Inputs that are missing, unknown, of another shape or out of range raise ValueError.
    """

    #: How often each layer inside of a ``repeat`` is there, by name.
    copies: Mapping[str, int] = {}
    #: The attributes of the layers, by name.
    layer_attributes: Mapping[str, str] = {}
    #: The first one is the default.
    rules: tuple[str, ...] = ("bptt", "implicit")

    def _blocks(self, fixed: Fixed, visit: Visit) -> list[Tensor]:
        """The layers in a row; what the answers read of them."""
        raise NotImplementedError

    @property
    def layers(self) -> dict[str, Any]:
        """The layers by name, without their params."""
        return {name: getattr(self, attribute) for name, attribute in self.layer_attributes.items()}

    # ---------------------------------------------------------------- the longest of the layers' relaxations

    @property
    def relax_steps(self) -> int:  # type: ignore[override]
        """The most steps of a layer."""
        return max(layer.relax_steps for layer in self.layers.values())

    @property
    def relax_tolerance(self) -> float | None:  # type: ignore[override]
        """The largest tolerance of a layer; None where none has one."""
        return max((t for layer in self.layers.values() if (t := layer.relax_tolerance) is not None), default=None)

    @property
    def relax_max_steps(self) -> int | None:  # type: ignore[override]
        """The most steps of a layer that goes on until its tolerance is reached."""
        return max((n for layer in self.layers.values() if (n := layer.relax_max_steps) is not None), default=None)

    # ---------------------------------------------------------------- what users call

    @torch.no_grad()
    def relax(
        self,
        clamps: Mapping[str, Tensor],
        steps: int | None = None,
        step: float | None = None,
        tolerance: float | None = None,
        states: Mapping[str, Tensor] | None = None,
        record: tuple[str, ...] = (),
    ) -> Relaxed:
        """Let the layers relax one after the other; the settings are for each of them.

        The residual of a sample is the largest of its layers', its steps are the most.
        """
        if states is not None or record:
            raise ValueError(f"{self.name} relaxes layer by layer: it takes no states to start from and records none")
        fixed = prepared(self, clamps)
        relaxation = Relaxation(None, layer_noise(self, clamps, fixed), steps, step, tolerance)
        self._blocks(fixed, relaxation)
        return relaxation.spread(samples(self, fixed)).relaxed(self)

    @torch.no_grad()
    def layer(self, name: str, clamps: Mapping[str, Tensor], number: int = 0) -> tuple[EnergyLayer, dict[str, Tensor]]:
        """A layer as a network of its own: with the params of a copy, and with the clamps that reach it there.

        What a network without layers does, it does: ``relax``, ``energy``, ``force``. Raises ValueError.
        """
        fixed = prepared(self, clamps)
        found: list[tuple[EnergyLayer, dict[str, Tensor]]] = []

        def look(layer: EnergyLayer, copy: int, given: dict[str, Tensor]) -> None:
            if (layer.name, copy) == (name, number):
                found.append((layer, given))

        self._blocks(fixed, Relaxation(None, layer_noise(self, clamps, fixed), look=look))
        if not found:
            known = [f"{n} 0 to {self.copies[n] - 1}" if n in self.copies else n for n in self.layers]
            raise ValueError(f"there is no layer {name!r} with number {number}; there are {', '.join(known)}")
        return found[0]

    @torch.no_grad()
    def non_convergence(self, clamps: Mapping[str, Tensor]) -> NonConvergence | None:
        """Why samples do not settle in a layer and what helps, found by trying on some of them; None where all do."""
        fixed = prepared(self, clamps)
        causes: list[NonConvergence] = []

        def look(layer: EnergyLayer, _: int, given: dict[str, Tensor]) -> None:
            cause = None if causes else layer.non_convergence(given)
            if cause is not None:
                helps = cause.helps.replace("relax.", f"{layer.name}.relax.")
                causes.append(cause._replace(why=f"in layer {layer.name}, {cause.why}", helps=helps))

        self._blocks(fixed, Relaxation(None, layer_noise(self, clamps, fixed), look=look))
        return causes[0] if causes else None

    def unrest(self, clamps: Mapping[str, Tensor]) -> NonConvergence | None:
        """The former name of ``non_convergence``."""
        return self.non_convergence(clamps)

    def _noise(self, random: torch.Generator | None, batch: int) -> list[Tensor]:
        """The noises of the layers: ``block.eps`` [batch, copies, ...]."""
        found = {}
        for name, layer in self.layers.items():
            count = self.copies.get(name, 1) if layer.noise_shapes else 0
            copies = [layer._noise(random, batch) for _ in range(count)]
            for noise, *parts in zip(layer.noise_shapes, *copies):
                found[f"{name}.{noise}"] = torch.stack(parts, 1) if name in self.copies else parts[0]
        return [found[name] for name in self.noise_shapes]

    def _values(self, states: Mapping[str, Tensor], fixed: Fixed) -> list[Tensor]:
        """The tensors that the answers read, with the layers at these states."""
        ordered = ordered_states(self, states, fixed)
        return self._blocks(fixed, AtStates(self, dict(zip(self.state_names, ordered))))

    def gradients(
        self,
        clamps: Mapping[str, Tensor],
        targets: Mapping[str, Tensor],
        rule: str | None = None,
        *,
        steps: int | None = None,
        step: float | None = None,
        tolerance: float | None = None,
        allow_biased: bool = False,
        **others: Any,
    ) -> Gradients:
        """The gradient of the cost averaged over the batch: through the layers' steps, at their rest, or by phases.

        By a rule that nudges, each layer is nudged alone, the last one first, by what comes back to its rest of one
        sample's cost; ``beta``, ``nudge_steps``, ``points`` and ``radius`` are for each of them. Samples whose
        relaxation exploded, or whose phases diverged, take no part. Regularization has no meaning here.
        """
        rule = admitted(self, rule, allow_biased)
        by_phases = ("beta", "nudge_steps", "points", "radius") if rule not in ("bptt", "implicit") else ()
        meant = [name for name, value in others.items() if value and name not in ("contrast", *by_phases)]
        if meant:
            raise ValueError(f"the gradient through layers has no setting {meant[0]}")
        nudge = {name: others[name] for name in by_phases if name in others}
        settings: dict[str, Any] = {"steps": steps, "step": step, "tolerance": tolerance, **nudge}
        fixed = prepared(self, clamps)
        noise = layer_noise(self, clamps, fixed)
        aims = ordered_targets(self, targets, fixed)
        relaxation, cost, slopes = self._differentiated(fixed, aims, Relaxation(rule, noise, **settings))
        took = kept = relaxation.took_part(cost)
        while bool(kept.any()) and not bool(took.all()):
            rows = kept.nonzero()[:, 0]
            again = Relaxation(rule, noise and noise.rows(rows), **settings)
            part, costs, slopes = self._differentiated(rows_of(fixed, rows), [aim[rows] for aim in aims], again)
            took = part.took_part(costs)
            kept = kept.index_copy(0, rows, took)
        owners, rest = self._owners(), relaxation.relaxed(self)
        known = slopes if bool(kept.any()) else {}
        params = {name: known.get(name, torch.zeros_like(owner)) for name, owner in owners.items()}
        health = relaxation.health(len(cost))
        return Gradients(params, cost, rest.states, rest.residual, rest.steps, relaxation.beta, kept, owners, health)

    def _differentiated(
        self, fixed: Fixed, targets: Tensors, relaxation: Relaxation
    ) -> tuple[Relaxation, Tensor, dict[str, Tensor]]:
        """The costs, and the slope of their mean by the params."""
        owners = self._owners()
        with torch.enable_grad():
            cost = self._cost(self._blocks(fixed, relaxation), fixed, targets)[0]
            reads = cost.requires_grad  # else it reads no param
            slopes = torch.autograd.grad(cost.sum(), list(owners.values()), allow_unused=True) if reads else ()
        named = {name: slope / len(cost) for name, slope in zip(owners, slopes) if slope is not None}
        return relaxation.spread(len(cost)), cost.detach(), named

    def forward(
        self,
        clamps: Mapping[str, Tensor] | Tensor | None = None,
        rule: str | None = None,
        *,
        steps: int | None = None,
        step: float | None = None,
        tolerance: float | None = None,
        relaxed: bool = False,
        allow_biased: bool = False,
        **named: Tensor,
    ) -> Any:
        """Readouts with the layers at rest, differentiable in params and real clamps (no double backward).

        ``rule`` is how the layers are differentiated: ``implicit``, ``bptt`` for the gradient through all steps, or a
        rule that the module was compiled for, by whose phases each layer is nudged with what comes back to its rest.
        By default it is the first of ``rules``, the spec's where the module was made for that; where that one is biased
        the first that is not. Clamps and settings are given as to a network without layers; it takes no states to start
        from.
        """
        rule = next((own for own in self.rules if own not in self.biased), self.rules[0]) if rule is None else rule
        if self.undefined and isinstance(rule, str) and rule in self.undefined:
            raise ValueError(f"{rule} is not defined on {self.name}: {self.undefined[rule]}")
        if not isinstance(rule, str) or rule not in self.rules:
            known = " or ".join(self.rules)
            raise ValueError(f"the layers of {self.name} are differentiated by {known}, not {no_rule(rule)}")
        rule = admitted(self, rule, allow_biased)
        given = named_inputs(self, clamps, named)
        fixed = fixed_by(self, refuse_not_finite(self, given))
        relaxation = Relaxation(rule, layer_noise(self, given, fixed), steps, step, tolerance, warns=True)
        count, values = samples(self, fixed), self._readouts(self._blocks(fixed, relaxation), fixed)
        readouts = {name: x.expand(count, *x.shape[1:]) for name, x in zip(self.readout_names, values)}
        return (readouts, relaxation.spread(count).relaxed(self)) if relaxed else readouts

    def first_bad_term(self, states: Mapping[str, Tensor], clamps: Mapping[str, Tensor]) -> str | None:
        """The terms of layers are not looked at: None."""
        return None

    # ---------------------------------------------------------------- what only a layer has

    energy = only_of_a_layer("has no energy of the whole: each of its layers has one, given what goes into it")
    terms = only_of_a_layer("has no terms of the whole: each of its layers has its own")
    force = only_of_a_layer("has no force of the whole: each of its layers has one, given what goes into it")
    correction = only_of_a_layer("has no force of the whole that could be corrected")


def samples(net: LayeredNetwork, fixed: Fixed) -> int:
    """The number of samples that are given; one where nothing is."""
    return len(fixed[:1][0]) if net.clamp_shapes else 1


def over_samples(phase: FreePhase, count: int) -> FreePhase:
    """A phase for so many samples, each its only one where they are not there yet."""
    if len(phase.residual) == count:
        return phase
    *ends, residual, steps, frozen = (
        x.expand(count, *x.shape[1:]).clone() for x in (*phase.states, phase.residual, phase.steps, phase.frozen)
    )
    return FreePhase(ends, residual, steps, frozen, phase.step)


def worst(values: Sequence[Tensor]) -> Tensor:
    """The largest of each sample."""
    return torch.stack(list(values)).amax(0)
