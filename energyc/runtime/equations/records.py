"""The records that the parts of the runtime pass to each other, and those that a user gets back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import NamedTuple, Protocol, Self, TypeVar

import torch
from torch import Tensor, nn

from ..tensors.states import Tensors, finite, plain_norm, take

#: A family of energies with more members is reported as their sum alone.
MOST_MEMBERS = 32
#: Slopes by param, summed over the batch.
Slopes = dict[str, Tensor]


class Fixed(Protocol):
    """The clamps, and what depends on clamps and params alone; every network has a named tuple of its own.

    The fields that all samples share are named in its ``_shared``, where there are any.
    """

    def _asdict(self) -> dict[str, Tensor]: ...

    def _replace(self, **fields: Tensor) -> Self: ...

    def __getitem__(self, index: slice, /) -> tuple[Tensor, ...]:
        """The clamps come first."""
        ...


#: A record of what is fixed.
AnyFixed = TypeVar("AnyFixed", bound=Fixed)


def rows_of(fixed: AnyFixed, rows: Tensor) -> AnyFixed:
    """Return what is fixed for some of the samples."""
    shared = getattr(fixed, "_shared", ())
    return fixed._replace(**{name: x[rows] for name, x in fixed._asdict().items() if name not in shared})


class Relaxed(NamedTuple):
    """The end of a relaxation.

    States by name, residual [batch], steps taken [batch], what was recorded: [steps + 1, batch, ...] each, and the last
    step size of each state.
    """

    states: dict[str, Tensor]
    residual: Tensor
    steps: Tensor
    trace: dict[str, Tensor]
    step: tuple[float, ...] = ()

    def __repr__(self) -> str:
        """Shapes and ranges, not the numbers."""
        states = ", ".join(shaped(name, x.shape[1:]) for name, x in self.states.items())
        end = f"residual {ranged(self.residual)}, steps {ranged(self.steps)}"
        trace = f"; recorded: {', '.join(self.trace)}" if self.trace else ""
        return f"Relaxed({len(self.residual)} samples: {end}; states: {states}{trace})"


class Terms(dict[str, Tensor]):
    """Energy terms by name, [batch] each; the members of a family by theirs, ``att[0]``, whose sum is ``att``."""

    def __missing__(self, name: str) -> Tensor:
        members = [value for member, value in self.items() if member.startswith(f"{name}[")]
        if not members:
            raise KeyError(name)
        return torch.stack(members).sum(0)


def by_members(terms: Mapping[str, Tensor], families: Mapping[str, Tensor]) -> Terms:
    """Terms of which some are families, whose members are [batch, ...]."""
    found = Terms()
    for name, value in terms.items():
        members = families.get(name)
        if members is None or members.shape[1:].numel() > MOST_MEMBERS:
            found[name] = value
        else:
            flat = members.flatten(1).unbind(1)
            places = product(*(range(size) for size in members.shape[1:]))
            found |= {f"{name}[{','.join(map(str, at))}]": value for at, value in zip(places, flat)}
    return found


class Answers(NamedTuple):
    """The answers of a network at some states: cost [batch], metrics by name [batch], readouts by name [batch, ...]."""

    cost: Tensor
    metrics: dict[str, Tensor]
    readouts: dict[str, Tensor]

    def __repr__(self) -> str:
        """Shapes and ranges, not the numbers."""
        metrics = "".join(f", {name} {ranged(x)}" for name, x in self.metrics.items())
        readouts = ", ".join(shaped(name, x.shape[1:]) for name, x in self.readouts.items())
        return f"Answers({len(self.cost)} samples: cost {ranged(self.cost)}{metrics}; readouts: {readouts})"


class Gradients(NamedTuple):
    """Gradients of the cost averaged over the batch, and the free phase they belong to.

    ``kept`` [batch] marks the samples that took part: those whose phases neither exploded nor diverged. ``health``
    [batch] holds ``frozen`` (exploded until rounding stopped it) and, where they apply, ``penalty`` (|J_nc w|^2 / dim),
    ``contraction`` (the factor of a step along the slowest mode), ``defence`` (|step F|^2 / |z|^2), ``snapshot`` (the
    nudged step whose contrast was taken), ``leakage`` (of a circle of nudges) and ``clamped`` (the
    residual of a clamped phase; ``residual`` is then the larger one of both phases).
    ``step`` is that of each state at the end of the free phase.
    """

    params: dict[str, Tensor]
    cost: Tensor
    states: dict[str, Tensor]
    residual: Tensor
    steps: Tensor
    beta: float | None
    kept: Tensor
    owners: dict[str, nn.Parameter]
    health: dict[str, Tensor]
    step: tuple[float, ...] = ()

    def __repr__(self) -> str:
        """Shapes, sizes and ranges, not the numbers."""
        took = "" if bool(self.kept.all()) else f", {int(self.kept.sum())} of them kept"
        end = f"cost {ranged(self.cost)}, residual {ranged(self.residual)}, steps {ranged(self.steps)}"
        norms = ", ".join(f"{shaped(name, x.shape)} {float(x.norm()):.3g}" for name, x in self.params.items())
        return f"Gradients({len(self.cost)} samples{took}: {end}; norms: {norms})"

    def assign(self) -> None:
        """Write the gradients into the params' ``grad``."""
        for name, gradient in self.params.items():
            self.owners[name].grad = gradient


class Phase(NamedTuple):
    """Settings of a phase: its steps, the step size of each state, and its stopping criterion.

    ``steps`` None runs to convergence. With ``auto`` a free phase chooses its step sizes itself.
    """

    steps: int | None
    step: tuple[float, ...]
    tolerance: float | None
    chunk: int
    max_steps: int
    auto: bool = False


class RuleSettings(NamedTuple):
    """The settings of one gradient: both phases, the nudging strength, the points of a circle, two weights.

    ``penalty`` weighs the penalty of the module, ``defence`` |step F|^2 / |z|^2, both at the end of the free phase.
    ``directions`` are the w of each sample; without them they are drawn.
    """

    free: Phase
    nudge: Phase
    strength: float | str | None
    points: int
    penalty: float = 0.0
    defence: float = 0.0
    directions: Tensors | None = None


class FreePhase(NamedTuple):
    """The end of a free phase, and its last step sizes; a sample ``frozen`` by rounding has an infinite residual."""

    states: list[Tensor]
    residual: Tensor
    steps: Tensor
    frozen: Tensor
    step: tuple[float, ...]


class Estimate(NamedTuple):
    """The result of a learning rule: slopes by param, summed over the samples ``kept``, and the free phase.

    ``adjoint`` is what estimates -J^-T dC/dz at the equilibrium, for the samples that were kept: with it
    <adjoint, dF/dx> is the slope by any input x. A rule that compares other phases has none.
    """

    free: FreePhase
    slopes: list[dict[str, Tensor]]
    kept: Tensor
    adjoint: Tensors | None = None
    beta: float | None = None
    health: Mapping[str, Tensor] = {}


def summed(parts: Sequence[Slopes], name: str) -> Tensor | None:
    """Return the sum of the slopes by a param, None where there is none; of one slope it is that itself."""
    own = [part[name] for part in parts if name in part]
    return sum(own[1:], own[0]) if own else None


def not_exploded(free: FreePhase) -> Tensor:
    """Return which samples have a free phase that ended, at states whose squares are finite: [batch]."""
    known = finite([free.residual, *map(plain_norm, free.states)])
    return known if bool(known.all()) else finite([free.residual, *(x.square() for x in free.states)])


def restricted(kept: Tensor, fixed: Fixed, *groups: Tensors) -> tuple[Fixed, list[list[Tensor]]]:
    """Return the fixed quantities, and groups of tensors, for the samples that are kept."""
    if bool(kept.all()):
        return fixed, list(map(list, groups))
    rows = kept.nonzero()[:, 0]
    return rows_of(fixed, rows), [take(group, rows) for group in groups]


def shaped(name: str, shape: Sequence[int], classes: int | None = None) -> str:
    """``W [784, 512]``, ``label in 10``."""
    sizes = f" {list(shape)}" if len(shape) else ""
    return f"{name}{sizes}" + (f" in {classes}" if classes is not None else "")


def ranged(values: Tensor) -> str:
    """The smallest and the largest of some values, or the only one."""
    if not len(values):
        return "none"
    low, high = float(values.min()), float(values.max())
    return f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"
