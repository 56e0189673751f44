"""Proofs at given params and samples: one equilibrium, the rate of a step, and how far EP is from the gradient.

The bounds are those of :mod:`energyc.proofs.claims`, with the numbers of params and clamps in the place of their sets.
They hold up to rounding in float64.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from energyc.language.network import Network
from energyc.mathematics.calculus import Bounds
from energyc.mathematics.ir import Input, Node
from energyc.proofs.claims.curvature import steps_to
from energyc.proofs.claims.derivatives import Form, ranges_of_directions
from energyc.proofs.claims.energy import whole_energy
from energyc.proofs.claims.holomorphy import not_smooth
from energyc.proofs.claims.monotone import Monotone
from energyc.proofs.claims.norms import Norms
from energyc.running.training.feeds import Batch
from energyc.runtime import ordered_targets, prepared, projected
from energyc.studies.verify.compare import Sweep

Array = NDArray[Any]
#: The factor by which steps are to shorten the move of a state, for the predicted and the measured number of steps.
SHORTER = 1e-6
#: The largest error of centered-ep that is aimed at, by default, and how often the beta for it is doubled or bisected.
WITHIN, DOUBLINGS, BISECTIONS = 1e-3, 40, 7
#: How often a ball around an equilibrium is widened until the nudged equilibria are inside.
WIDENINGS = 40


@dataclass(frozen=True)
class Nudged:
    """A bound of the error of centered-ep at one beta, and the error measured, both in units of the gradient's norm."""

    beta: float
    bound: float
    error: float


@dataclass(frozen=True)
class Guarantee:
    """Bounds of all samples. ``predicted`` and ``measured`` are steps until a move is ``SHORTER`` times the first.

    ``why`` says why there is no rate, ``unbounded`` why centered-ep has no bound; empty where there is one. Up to the
    ``strongest`` beta the bound is at most ``within``.
    """

    m: float
    most: float
    rate: float
    predicted: int | None
    measured: int | None
    why: str = ""
    nudged: tuple[Nudged, ...] = ()
    unbounded: str = ""
    within: float = WITHIN
    strongest: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain values; None for what is not finite."""
        numbers = {"m": self.m, "L": self.most, "rate": self.rate}
        finite = {name: value if math.isfinite(value) else None for name, value in numbers.items()}
        nudged = [{"beta": n.beta, "bound": n.bound, "error": n.error} for n in self.nudged]
        steps = {"predicted_steps": self.predicted, "measured_steps": self.measured}
        beta = {"within": self.within, "largest_beta": self.strongest}
        return {**finite, **steps, "why": self.why, "centered_ep": nudged, "unbounded": self.unbounded, **beta}


def guarantee(
    network: Network,
    net: Any,
    probe: Batch,
    states: Mapping[str, Tensor],
    reference: Mapping[str, Tensor],
    sweep: Sweep | None,
    within: float = WITHIN,
) -> Guarantee:
    """Return what is proved of a network at its params, and at samples with their equilibria.

    ``reference`` is the exact gradient, and ``sweep`` the measured relative errors of centered-ep by beta; the largest
    beta for which that error is ``within`` a number by its bound is looked for.
    """
    monotone = Monotone.of(network)
    if monotone.barred:
        return Guarantee(-math.inf, math.inf, math.inf, None, None, monotone.barred, (), monotone.barred, within)
    count = len(next(iter(states.values())))
    given = [_numbers(network, net, probe, sample) for sample in range(count)]
    found = [monotone.curvature(monotone.norms(given=own)) for own in given]
    bounds = [curvature.bounds() for curvature in found]
    m, most = min(low for low, _ in bounds), max(high for _, high in bounds)
    own = dict(zip(net.state_names, net.relax_step, strict=True))
    rate = max(curvature.rate(own) for curvature in found)
    why = monotone.why(found[0]) if not (m > 0 and math.isfinite(most)) else ""
    sweeps = net.relax_solver == "blocks"
    predicted = None if sweeps else steps_to(SHORTER, rate)
    measured = None if predicted is None else _steps_made(net, probe, predicted)
    if not why and sweeps:
        why = "states move by sweeps, of which no rate is proved"
    elif not why and predicted is None:
        why = f"a step of {max(own.values()):g} is too long for these bounds"
    own_bounds = (m, most, rate, predicted, measured, why)
    if sweep is None or network.cost is None:
        return Guarantee(*own_bounds, unbounded="centered-ep is not measured", within=within)
    errors = _errors(monotone, net, probe, states, given, reference, network.cost.node)
    if isinstance(errors, str):
        return Guarantee(*own_bounds, unbounded=errors, within=within)
    nudged, unbounded = errors.beside(sweep)
    strongest = errors.strongest(within, nudged[-1]) if nudged else None
    return Guarantee(*own_bounds, nudged, unbounded, within, strongest)


def _numbers(network: Network, net: Any, probe: Batch, sample: int) -> dict[Input, Array]:
    """The numbers of all that is held: params, and the clamps and targets of one sample with a batch axis."""
    inputs = {param.node: net.params[name] for name, param in network.params.items()}
    one = probe.select(torch.tensor([sample]))
    inputs |= {network.clamps[name].node: value for name, value in one.clamps.items()}
    inputs |= {network.targets[name].node: value for name, value in one.targets.items()}
    for noise in network.noises.values():
        inputs[noise.node] = torch.zeros(1, *(network.extents[dim] for dim in noise.node.dims))
    if network.training is not None:
        inputs[network.training] = torch.tensor(False)
    return {node: value.detach().numpy() for node, value in inputs.items()}


def _steps_made(net: Any, probe: Batch, longest: int) -> int | None:
    """Steps until the move of each sample is short, in the norm in which steps contract; None beyond ``longest``."""
    fixed = prepared(net, probe.clamps)
    states, first = [x.clone() for x in net.start(probe.clamps).values()], None
    for count in range(longest + 1):
        after = projected(net, states, fixed, net.relax_step)
        pairs = zip(after, states, net.relax_step, strict=True)
        moves = sum(((a - b).reshape(len(a), -1).square().sum(1) / h for a, b, h in pairs), torch.zeros(len(states[0])))
        first = moves if first is None else first
        if bool((moves <= SHORTER**2 * first).all()):
            return count
        states = after
    return None


# -------------------------------------------------------------------- the error of centered-ep


class _NoBound(Exception):
    """Why the error of a nudge has no bound."""


def _errors(
    monotone: Monotone,
    net: Any,
    probe: Batch,
    states: Mapping[str, Tensor],
    given: Sequence[Mapping[Input, Array]],
    reference: Mapping[str, Tensor],
    cost: Node,
) -> _Errors | str:
    """The bounds of the error of centered-ep, or why there is none at any beta."""
    network = monotone.network
    sets = {s.constraint.kind for s in network.states.values() if s.constraint is not None}
    if not monotone.rest.is_gradient or network.flows:
        return "the force is not minus the gradient of an energy as a whole"
    if monotone.moves_proximally or not sets <= {"box", "nonnegative"}:
        return "states move on kinks or on sets that are not boxes"
    energies = [term.node for term in network.energies.values()]
    if kinks := not_smooth([*energies, cost], monotone.base.states):
        return f"{', '.join(kinks)} is not smooth"
    forms, size = Forms(monotone), math.sqrt(sum(float(g.square().sum()) for g in reference.values()))
    fixed = prepared(net, probe.clamps)
    held = [states[name] for name in net.state_names]
    forces, slopes = net._force(held, fixed), net._cost_force(held, fixed, ordered_targets(net, probe.targets, fixed))
    slopes = [torch.zeros_like(x) if s is None else s for x, s in zip(held, slopes, strict=True)]
    balls = [
        Ball(forms, own, *({n: x[k] for n, x in zip(net.state_names, values, strict=True)} for values in parts))
        for k, own in enumerate(given)
        for parts in [(held, forces, slopes)]
    ]
    return _Errors(balls, size)


@dataclass(frozen=True)
class _Errors:
    """The bounds of the error of centered-ep, over the balls of all samples, in units of the gradient's ``size``."""

    balls: Sequence[Ball]
    size: float

    def bound(self, beta: float) -> float:
        """The bound at a beta. Raises _NoBound."""
        return sum(ball.error(beta) for ball in self.balls) / len(self.balls) / self.size

    def beside(self, sweep: Sweep) -> tuple[tuple[Nudged, ...], str]:
        """The bounds at the betas of a sweep for which there are any, or why there is none at all."""
        found, reason = list[Nudged](), ""
        for beta, error in sweep.measured():
            try:
                found.append(Nudged(beta, self.bound(beta), error))
            except _NoBound as no:
                reason = str(no)
        return tuple(found), "" if found else reason

    def strongest(self, within: float, known: Nudged) -> float | None:
        """The largest beta, to a hundredth, at which the bound is ``within`` a number; None where none is found."""
        beta = known.beta * (math.sqrt(within / known.bound) if known.bound else 1.0)
        factor = 2.0 if self.holds(beta, within) else 0.5
        for _ in range(DOUBLINGS):
            beta *= factor
            if self.holds(beta, within) == (factor < 1):
                break
        else:
            return None
        low = beta if factor < 1 else beta / 2
        for step in (2.0 ** (0.5**k) for k in range(1, BISECTIONS + 1)):
            low = low * step if self.holds(low * step, within) else low
        return low

    def holds(self, beta: float, within: float) -> bool:
        """Whether the bound at a beta is ``within`` a number."""
        try:
            return self.bound(beta) <= within
        except _NoBound:
            return False


@dataclass(frozen=True)
class Forms:
    """The derivatives that bound the error of a nudge (``Ball``), multiplied out once."""

    monotone: Monotone

    @cached_property
    def energy(self) -> dict[int, Form]:
        """D^3 E and D^4 E."""
        node = whole_energy(self.monotone.network, self.monotone.base)
        return {order: Form.of(self.monotone.base, node, order) for order in (3, 4)}

    @cached_property
    def cost(self) -> dict[int, Form]:
        """D^2 C, D^3 C and D^4 C."""
        cost = self.monotone.network.cost
        assert cost is not None
        return {order: Form.of(self.monotone.base, cost.node, order) for order in (2, 3, 4)}

    @cached_property
    def mixed(self) -> dict[int, list[Form]]:
        """D_z^k of dE/dtheta, param by param."""
        network, base = self.monotone.network, self.monotone.base
        node, params = whole_energy(network, base), [p.node for p in network.params.values()]
        return {order: [Form.of(base, node, order, param) for param in params] for order in (1, 2, 3)}


@dataclass(frozen=True)
class Ball:
    """The nudged equilibria around one at rest: how far they are from it, and how their derivatives by beta grow.

    With m - beta L_C for the curvature, T and Q for the third and fourth derivatives of E + beta C, and L_C and T_C for
    those of the cost, z(beta) has derivatives of at most d1, d2, d3, and the error is at most
    ``beta^2 / 6 (A_1 d3 + 3 A_2 d1 d2 + A_3 d1^3)``, A_k being bounds of D_z^k dE/dtheta: Taylor's theorem along
    z(beta), which is smooth as long as no entry reaches or leaves a rim of its box.
    """

    forms: Forms
    given: Mapping[Input, Array]
    states: Mapping[str, Tensor]
    force: Mapping[str, Tensor]
    slope: Mapping[str, Tensor]

    def error(self, beta: float) -> float:
        """The bound of |centered-ep - gradient| at a beta. Raises _NoBound."""
        radius = 2 * beta * _norm(self.slope.values())
        for _ in range(WIDENINGS):
            bounds = self._bounds(radius, beta)
            if beta * bounds["d1"] <= radius:
                self._stays_on_its_rims(beta, bounds)
                return self._of_bounds(beta, bounds)
            radius = 1.01 * beta * bounds["d1"] if math.isfinite(bounds["d1"]) else 2 * radius
        raise _NoBound("no ball around the equilibrium is known to hold the nudged ones")

    def _bounds(self, radius: float, beta: float) -> dict[str, float]:
        """The constants in a ball."""
        monotone, norms = self.forms.monotone, self._norms(radius)
        m, most = monotone.curvature(norms).bounds()
        second, third, fourth = (self.forms.cost[k].bound(norms) for k in (2, 3, 4))
        firm = m - beta * second
        if not firm > 0:
            raise _NoBound(f"the curvature may be as low as {firm:.3g} around the equilibrium")
        slope = _norm(self.slope.values()) + second * radius
        t, q = (self.forms.energy[k].bound(norms) + beta * own for k, own in ((3, third), (4, fourth)))
        d1 = slope / firm
        d2 = (t * d1**2 + 2 * second * d1) / firm
        d3 = (3 * t * d1 * d2 + q * d1**3 + 3 * second * d2 + 3 * third * d1**2) / firm
        return {"most": most, "slope": slope, "d1": d1, "d2": d2, "d3": d3, "radius": radius}

    def _of_bounds(self, beta: float, bounds: Mapping[str, float]) -> float:
        norms, (d1, d2, d3) = self._norms(bounds["radius"]), (bounds[f"d{k}"] for k in (1, 2, 3))
        a1, a2, a3 = (math.hypot(*(form.bound(norms) for form in self.forms.mixed[k])) for k in (1, 2, 3))
        found = beta**2 / 6 * (a1 * d3 + 3 * a2 * d1 * d2 + a3 * d1**3)
        if not math.isfinite(found):
            raise _NoBound("a derivative of the energy has no bound around the equilibrium")
        return found

    def _norms(self, radius: float) -> Norms:
        monotone = self.forms.monotone
        inputs = [*monotone.base.states, *(p.node for p in monotone.network.params.values())]
        around = {**dict(self._ranges(radius)), **ranges_of_directions(monotone.base, inputs)}
        return monotone.norms(given=self.given, narrower=around)

    def _ranges(self, radius: float) -> Iterator[tuple[Input, Bounds]]:
        for name, state in self.forms.monotone.network.states.items():
            low, high = (float(end) for end in self.states[name].aminmax())
            rims = _rims(state.constraint)
            yield state.node, (max(low - radius, rims[0]), min(high + radius, rims[1]))

    def _stays_on_its_rims(self, beta: float, bounds: Mapping[str, float]) -> None:
        """Raise _NoBound where a nudged entry may reach a rim, or leave it."""
        reach, change = beta * bounds["d1"], beta * (bounds["most"] * bounds["d1"] + bounds["slope"])
        for name, state in self.forms.monotone.network.states.items():
            low, high = _rims(state.constraint)
            x, f = self.states[name], self.force[name]
            held = ((x <= low) & (f < -change)) | ((x >= high) & (f > change))
            free = (x - reach > low) & (x + reach < high)
            if not bool((held | free).all()):
                count = int((~(held | free)).sum())
                entries = "1 entry" if count == 1 else f"{count} entries"
                raise _NoBound(f"a nudge of {beta:.3g} may carry {entries} of {name} to or off a rim of the box")


def _rims(constraint: Any) -> tuple[float, float]:
    low, high = (None, None) if constraint is None else (constraint.low, constraint.high)
    return -math.inf if low is None else low, math.inf if high is None else high


def _norm(parts: Any) -> float:
    return math.sqrt(sum(float(part.detach().square().sum()) for part in parts))
