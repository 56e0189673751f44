"""Saturated states: units that rest on a bound of their set in all samples of an evaluation.

A unit that its force holds on a bound passes no gradient. This is common in hidden layers, and fatal to an output: a
label whose unit rests at 0 for every sample is never answered, though all samples settle. A bound is an end of a box,
or 0 of a nonnegative state or a simplex.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from energyc.language.diagnostics import listed
from energyc.running.training.feeds import Batch
from energyc.running.training.network import Tensors
from energyc.runtime import ordered_states, ordered_targets, prepared

#: The fewest samples in which the cost pulls a saturated output off its bound.
LEAST = 5
#: How many of these there are for each sample in which the output is off its bound.
RATIO = 10
#: The slope of the cost that pulls, as a share of the largest of the state's units in a batch.
PULL = 0.1
#: The number of roundings within which a unit is on its bound.
ROUNDINGS = 4
#: The most outputs that are recorded, and that a sentence names.
MOST_RECORDED, MOST_NAMED = 20, 5
#: The share of saturated units from which on a hidden state is a symptom.
MOST_HIDDEN = 0.99


@dataclass(frozen=True)
class Bounds:
    """The bounds of a state, None for one that is missing.

    ``is_output`` says whether the cost compares its units with a target.
    """

    low: float | None
    high: float | None
    is_output: bool

    def widened(self) -> str:
        """A set with a margin, as a spec writes it; empty for a set without an end to move."""
        if self.low is None or self.high is None:
            return ""
        width = self.high - self.low
        return f"[{self.low - width:g}, {self.high + width:g}]"


@dataclass(frozen=True)
class SaturatedOutput:
    """An output ``unit``, as ``y[8]``, that rests on a ``bound`` in ``resting`` samples.

    The cost pulls it off in ``pulled`` of these. ``wider`` is a set with a margin, empty where there is none.
    """

    unit: str
    bound: float
    resting: int
    pulled: int
    wider: str


@dataclass(frozen=True)
class Saturation:
    """The saturated units in ``samples``.

    ``count`` outputs are saturated, the first of which are ``outputs``. ``hidden`` has the share of the units of each
    other state with bounds that rest on one bound in all samples.
    """

    samples: int
    count: int
    outputs: tuple[SaturatedOutput, ...]
    hidden: Mapping[str, float]

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        outputs = [asdict(output) for output in self.outputs]
        return {"samples": self.samples, "count": self.count, "outputs": outputs, "hidden": dict(self.hidden)}

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> Saturation:
        """Return the saturation with these fields."""
        outputs = tuple(SaturatedOutput(**output) for output in value["outputs"])
        return Saturation(value["samples"], value["count"], outputs, value["hidden"])

    def symptoms(self, split: str) -> Iterator[tuple[str, str]]:
        """Yield what is wrong in the samples of a ``split``, each with what helps."""
        if self.outputs:
            wider = next((output.wider for output in self.outputs if output.wider), "")
            helps = ["a smaller train.lr", "a longer train.warmup"]
            yield self._dead_outputs(split), ", ".join([f"a set with a margin, as {wider}", *helps] if wider else helps)
        dead = [name for name, share in self.hidden.items() if share >= MOST_HIDDEN]
        if dead and self.samples >= LEAST:
            what = f"nearly all units of {listed(dead)} rest on one bound of their set in all {self.samples:,} {split}"
            yield f"{what} samples, and pass no gradient there", "smaller initial weights, a smaller train.lr"

    def _dead_outputs(self, split: str) -> str:
        resting, pulled = (min(getattr(o, name) for o in self.outputs) for name in ("resting", "pulled"))
        of = f"of {self.samples:,} {split} samples"
        if self.count == 1:
            only = self.outputs[0]
            return (
                f"output {only.unit} rests on its bound {only.bound:g} in {resting:,} {of} and passes no gradient"
                f" there, though the cost pulls it off in {pulled:,} of them"
            )
        names = [output.unit for output in self.outputs[:MOST_NAMED]]
        names += [f"{self.count - MOST_NAMED} more"] if self.count > MOST_NAMED else []
        return (
            f"outputs {listed(names)} rest on a bound of their set in {resting:,} or more {of} and pass no gradient"
            f" there, though the cost pulls each off in {pulled:,} or more of them"
        )


class Counts(NamedTuple):
    """How often each unit of a state rests on its low and its high bound, and how often the cost pulls it off.

    Each [2, units].
    """

    resting: np.ndarray
    pulled: np.ndarray

    def plus(self, other: Counts) -> Counts:
        """Return the counts of the samples of both."""
        return Counts(self.resting + other.resting, self.pulled + other.pulled)


class Saturating:
    """Counts of the samples in which the units of the states with ``bounds`` rest on them."""

    def __init__(self, net: Any, bounds: Mapping[str, Bounds]) -> None:
        self._net, self._bounds = net, bounds
        self.counts: dict[str, Counts] = {}

    def add(self, states: Tensors, batch: Batch) -> None:
        """Count a batch at these states."""
        resting = {name: _resting(states[name], bounds) for name, bounds in self._bounds.items()}
        asked = any(bounds.is_output and bool(resting[name].any()) for name, bounds in self._bounds.items())
        slopes = cost_slopes(self._net, states, batch) if asked else {}
        for name, on_bound in resting.items():
            slope = slopes.get(name) if self._bounds[name].is_output else None
            pulled = torch.zeros_like(on_bound) if slope is None else on_bound & _pulled(slope)
            found = Counts(*(flags.sum(1).cpu().numpy() for flags in (on_bound, pulled)))
            self.counts[name] = self.counts[name].plus(found) if name in self.counts else found


def _resting(state: Tensor, bounds: Bounds) -> Tensor:
    """Whether each unit is on the low bound, and whether it is on the high one, [2, batch, units] bool."""
    units = state.reshape(len(state), -1)
    rounding = ROUNDINGS * torch.finfo(units.dtype).eps
    near = [
        torch.zeros_like(units, dtype=torch.bool)
        if end is None
        else (units - end).abs() <= rounding * max(1.0, abs(end))
        for end in (bounds.low, bounds.high)
    ]
    return torch.stack(near)


def _pulled(slope: Tensor) -> Tensor:
    """Whether a step down the cost moves each unit up, and whether it moves it down, [2, batch, units] bool."""
    units = slope.reshape(len(slope), -1)
    enough = (PULL * units.abs().max()).clamp_min(torch.finfo(units.dtype).tiny)
    return torch.stack([-units, units]) >= enough


def cost_slopes(net: Any, states: Tensors, batch: Batch) -> dict[str, Tensor | None]:
    """Return dC/dz of each state; None where the cost does not read it."""
    fixed = prepared(net, batch.clamps)
    at, aims = ordered_states(net, states, fixed), ordered_targets(net, batch.targets, fixed)
    if not getattr(net, "layers", {}):
        return dict(zip(net.state_names, net._cost_force(at, fixed, aims), strict=True))
    with torch.enable_grad():  # around layers autograd differentiates
        named = {name: state.detach().requires_grad_() for name, state in zip(net.state_names, at, strict=True)}
        cost = net._cost(net._values(named, fixed), fixed, aims)[0].sum()
    if not cost.requires_grad:
        return dict.fromkeys(named)
    return dict(zip(named, torch.autograd.grad(cost, list(named.values()), allow_unused=True), strict=True))


def saturation(
    by_rank: Sequence[Mapping[str, Counts]],
    bounds: Mapping[str, Bounds],
    shapes: Mapping[str, Sequence[int]],
    samples: int,
) -> Saturation:
    """Return what is saturated from the counts of all ranks in so many samples.

    ``shapes`` are those of the states of a sample.
    """
    counts: dict[str, Counts] = {}
    for own in by_rank:
        counts |= {name: counts[name].plus(found) if name in counts else found for name, found in own.items()}
    outputs, hidden = list[SaturatedOutput](), dict[str, float]()
    for name, found in counts.items():
        if bounds[name].is_output:
            outputs += _saturated(name, found, bounds[name], shapes[name], samples)
        else:
            hidden[name] = float((found.resting == samples).any(0).mean())
    return Saturation(samples, len(outputs), tuple(outputs[:MOST_RECORDED]), hidden)


def _saturated(
    name: str, counts: Counts, bounds: Bounds, shape: Sequence[int], samples: int
) -> Iterator[SaturatedOutput]:
    """Yield the saturated units of an output."""
    dead = (counts.pulled >= LEAST) & (counts.pulled >= RATIO * (samples - counts.resting))
    for end, unit in np.argwhere(dead):
        bound = (bounds.low, bounds.high)[end]
        if bound is not None:
            place = ",".join(map(str, np.unravel_index(unit, tuple(shape)))) if shape else ""
            resting, pulled = (int(each[end, unit]) for each in counts)
            yield SaturatedOutput(f"{name}[{place}]" if place else name, bound, resting, pulled, bounds.widened())
