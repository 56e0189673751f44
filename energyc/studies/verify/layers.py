"""Compare the gradient through layers with that of ordinary autograd, which knows no derived adjoint.

The equations are printed once more without any optimisation, so that autograd can go through every step of every layer.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from energyc.code.module.context import Options
from energyc.code.module.instantiate import instantiate
from energyc.code.module.names import class_name
from energyc.code.plan import Passes
from energyc.code.targets.torch.module import torch_module
from energyc.language.diagnostics import UserError
from energyc.language.network import ConstraintSet, Network
from energyc.running.training.feeds import Batch
from energyc.runtime import RULES, noises
from energyc.studies.verify.compare import Measure, Sweep, measure_all, measure_each
from energyc.studies.verify.fidelity import EXACT, Fidelity, RuleFidelity, compared, divergence_note
from energyc.studies.verify.limits import Gradient, Laboratory, Limit, contrast, converged
from energyc.studies.verify.settling import Settling
from energyc.studies.verify.work import Progress

#: The residual at which layers rest, and the steps in which they must reach it (ten times the least).
AT_REST = 1e-11
REST_STEPS = 500
#: How many times as long they relax from then on, so that what is left is rounding.
FURTHER = 1.5
#: What the params outside of all layers are called together.
AROUND = "around the layers"


class Unrolled:
    """Takes every step of a layer that is visited, under autograd."""

    def __init__(self, network: Network) -> None:
        self.sets = {
            name: [state.constraint for state in layer.network.states.values()]
            for name, layer in network.layers.items()
        }

    def __call__(self, layer: Any, number: int, clamps: Sequence[Tensor], params: Sequence[Tensor]) -> list[Tensor]:
        """The layer's readouts."""
        layer, sets = layer.holding(params), self.sets[layer.name]
        fixed = layer._prepare(*clamps, *noises(layer, {}, clamps))
        states = [nearest(z, kept) for z, kept in zip(layer._start(fixed), sets, strict=True)]
        for _ in range(layer.relax_steps):
            moves = zip(states, layer._force(states, fixed), layer.relax_step, strict=True)
            states = proximal(layer, [z + h * f for z, f, h in moves], fixed, sets)
        readouts: list[Tensor] = layer._readouts(states, fixed)
        return readouts


def proximal(layer: Any, states: list[Tensor], fixed: Any, sets: Sequence[ConstraintSet | None]) -> list[Tensor]:
    """The proximal points of kinks and sets, by operations that autograd goes through."""
    weights, steps = layer._weights(fixed), layer.relax_step
    for k in range(len(states) if layer.kinked else 0):
        corners = [(at, below, above) for own, at, below, above in layer._corners if own == k]
        rises = [[0.0 if w is None else steps[k] * weights[w] for w in sides] for _, *sides in corners]
        z = moved = states[k] + sum(below for below, _ in rises)
        for (at, *_), (below, above) in zip(corners, rises, strict=True):
            held = (moved - at).relu()
            moved = moved - torch.minimum(held, torch.as_tensor(below + above))
        states[k] = moved if corners else z
    states = [nearest(z, kept) for z, kept in zip(states, sets, strict=True)]
    for k, weight, axes in layer._norms if layer.kinked else ():
        size = states[k].square().sum(axes, keepdim=True)
        length = torch.where(size > 0, size, 1).sqrt()
        states[k] = states[k] * (1 - steps[k] * weights[weight] / length).relu()
    return states


def nearest(z: Tensor, kept: ConstraintSet | None) -> Tensor:
    """The nearest point of a set, by operations that autograd goes through; a zero vector stays as it is."""
    if kept is None:
        return z
    if kept.kind in ("box", "nonnegative"):
        return z.clamp(kept.low, kept.high)
    axes = [axis + 1 for axis in kept.axes]
    if kept.kind == "simplex":
        return on_simplex(z, axes)
    centred = z - z.mean(axes, keepdim=True) if kept.kind == "standardized" else z
    squares = centred.square()
    size = squares.mean(axes, keepdim=True) if kept.kind == "standardized" else squares.sum(axes, keepdim=True)
    return torch.where(size > 0, centred / torch.where(size > 0, size, 1).sqrt(), z)


def on_simplex(z: Tensor, axes: Sequence[int]) -> Tensor:
    """The nearest point with nonnegative entries that add up to 1 along axes: z - t where that is positive."""
    kept = [axis for axis in range(z.dim()) if axis not in axes]
    flat = z.permute(*kept, *axes).flatten(len(kept))
    falling = flat.sort(-1, descending=True).values
    count = torch.arange(1, flat.shape[-1] + 1, dtype=z.dtype)
    thresholds = (falling.cumsum(-1) - 1) / count
    last = (falling > thresholds).sum(-1, keepdim=True) - 1
    near = (flat - thresholds.gather(-1, last)).relu()
    order = [*kept, *axes]
    return near.view([z.shape[axis] for axis in order]).permute([order.index(axis) for axis in range(z.dim())])


def by_autograd(network: Network, exact: Any, probe: Batch) -> dict[str, Tensor]:
    """The gradient of the mean cost by each param, through the steps that each layer of ``exact`` makes."""
    options = Options(rules=("bptt",), label=network.name, version="verify", passes=Passes.plain())
    text = torch_module(options.plan(network), options).text
    plain = instantiate(text, class_name(network.name), dtype=torch.float64).eval()
    plain.load_state_dict(exact.state_dict())
    fixed = plain._prepare(*(probe.clamps[name] for name in plain.clamp_shapes))
    cost = plain._cost(plain._blocks(fixed, Unrolled(network)), fixed, [probe.targets[n] for n in plain.target_shapes])[
        0
    ]
    owners = plain._owners()
    if not cost.requires_grad:  # it reads no param
        return {name: torch.zeros_like(owner) for name, owner in owners.items()}
    slopes = torch.autograd.grad(cost.mean(), list(owners.values()), allow_unused=True, materialize_grads=True)
    return dict(zip(owners, slopes, strict=True))


class AtRest(Laboratory):
    """A network of layers in float64, on which rules are tried with each layer at rest, and its exact gradient.

    That is ``bptt`` from the start to the rest, which takes so many ``steps``; nudged phases take twice as many.
    """

    def __init__(self, net: Any, probe: Batch, steps: int, nonzero: Collection[str], progress: Progress) -> None:
        self.net, self.probe, self.steps, self.progress = net, probe, steps, progress
        self.nudge_steps = 2 * steps
        exact = self.at_rest("bptt").params
        self.reference: Gradient = {name: exact[name] for name in nonzero}

    def at_rest(self, rule: str, **settings: Any) -> Any:
        """Return the gradients of a rule with all layers at rest."""
        clamps, targets = self.probe.clamps, self.probe.targets
        return self.net.gradients(clamps, targets, rule, steps=self.steps, allow_biased=True, **settings)

    def limit(self, rule: str) -> Limit:
        """Measure the limit of a rule by whose phases the layers are nudged, or of ``implicit``."""
        declared = RULES[rule]
        if declared.order is None:
            return converged(self, rule, self.nudge_steps) if declared.serves_layers else self._implicit(rule)
        layers = self.net.layers.values()
        lopsided = "alpha" in declared.settings and any(layer.alpha != 0.5 for layer in layers)
        points = min(layer.points for layer in layers)
        return contrast(self, rule, 1 if lopsided else declared.order or points)

    def _implicit(self, rule: str) -> Limit:
        return Limit(self.at_rest(rule).params, Sweep("beta", ()), "none: exact")


def measure_layers(
    network: Network,
    exact: Any,
    configured: Any,
    probe: Batch,
    rules: Sequence[str],
    verdicts: Mapping[str, str],
    progress: Progress,
) -> Fidelity:
    """Measure ``bptt`` against autograd through the same steps, and other rules against ``bptt`` where layers rest.

    Raises UserError where the steps of a layer cannot be taken back.
    """
    for name, part in network.layers.items():
        if part.network.relax.irreversible:
            message = f"autograd cannot follow layer {name} of {network.name}: {part.network.relax.irreversible}"
            help = f"verify it with {name}.relax.solver = gradient, and a number as {name}.relax.step"
            raise UserError(message, code="E0924", help=help)
    for layer in exact.layers.values():
        layer.relax_tolerance = None  # exactly the steps that autograd takes too
    for layer in (*exact.layers.values(), *configured.layers.values()):
        layer.warned.add(layer.name)  # the report says what settled
    progress("autograd through every step")
    reference = by_autograd(network, exact, probe)
    zero = tuple(name for name, slope in reference.items() if not bool(slope.any()))
    nonzero = {name: slope for name, slope in reference.items() if name not in zero}
    phase = configured.relax(probe.clamps)
    samples = len(phase.residual)
    numbered = [name for name, part in network.layers.items() if part.network.numbered]
    long = {} if numbered else {"steps": REST_STEPS // 10, "tolerance": AT_REST}
    rest = exact.relax(probe.clamps, **long)
    settled = 0 if numbered else int((rest.residual <= AT_REST).sum())
    lab = AtRest(exact, probe, int(FURTHER * rest.steps.max()), nonzero, progress) if settled == samples else None
    found: dict[str, RuleFidelity] = {}
    for rule in rules:
        progress(rule)
        given = {} if verdicts[rule] == EXACT else {"allow_biased": True}
        if rule == "bptt":
            through = Limit(exact.gradients(probe.clamps, probe.targets, rule).params, Sweep("beta", ()), "none: exact")
            measured = configured.gradients(probe.clamps, probe.targets, rule)
            found[rule] = _rule(exact, rule, verdicts[rule], through, nonzero, measured)
        elif lab is not None:
            measured = configured.gradients(probe.clamps, probe.targets, rule, **given) if nonzero else None
            found[rule] = _rule(exact, rule, verdicts[rule], lab.limit(rule), lab.reference, measured)
        else:
            why = f"{', '.join(numbered)} numbers its steps" if numbered else f"not all rest within {REST_STEPS} steps"
            note = f"the layers have no equilibrium to differentiate: {why}"
            found[rule] = RuleFidelity(rule, None, None, "", note=note, verdict=verdicts[rule])
    residual, steps = float(phase.residual.max()), int(phase.steps.max())
    settling = Settling(residual, steps, configured.relax_tolerance, ())
    return Fidelity(found, None, float(rest.residual.max()), samples, settled, settling, zero=zero)


def _rule(net: Any, rule: str, verdict: str, limit: Limit, reference: Gradient, configured: Any) -> RuleFidelity:
    """Compare a rule's gradient in float64, and as configured, with a reference."""
    if not reference:
        note = "the exact gradient is zero: nothing was measured"
        return RuleFidelity(rule, None, None, "", note=note, verdict=verdict)
    note = "" if configured is None else divergence_note(configured)
    usable = configured if configured is not None and bool(configured.kept.any()) else None
    each, layers = partial(measure_each, exact=reference), partial(each_layer, net, reference=reference)
    return compared(rule, verdict, limit, usable, reference, each, note, layers)


def each_layer(net: Any, gradient: Gradient, reference: Gradient) -> dict[str, Measure]:
    """Compare the gradients of the params of each copy of each layer, and of those around the layers."""
    parts: dict[str, list[tuple[str, int | None]]] = {}
    for name in reference:
        layer = name.partition(".")[0] if "." in name else AROUND
        for number in range(net.copies[layer]) if layer in net.copies else (None,):
            parts.setdefault(layer if number is None else f"{layer} {number}", []).append((name, number))

    def of(slopes: Gradient, part: Sequence[tuple[str, int | None]]) -> dict[str, Tensor]:
        return {name: slopes[name] if number is None else slopes[name][number] for name, number in part}

    return {label: measure_all(of(gradient, part), of(reference, part)) for label, part in parts.items()}
