"""Looks for numbers against every claim before it is printed as proved.

A rule of inference, or the code that applies it, may be wrong. What the adversary contradicts is not called proved, and
the reason given is that this is a bug of the compiler. It proves nothing itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from energyc.language.network import ConstraintSet, Network
from energyc.mathematics.ir import Input, Node, walk
from energyc.proofs.claims.energy import summands, whole_energy
from energyc.proofs.claims.judgement import Judgement, undecided
from energyc.proofs.claims.monotone import Monotone
from energyc.proofs.claims.sets import roaming
from energyc.proofs.fields.local_field import LocalField
from energyc.proofs.fields.problem import ForceField
from energyc.proofs.fields.sampling import draw, draw_input, in_floats
from energyc.proofs.fields.sizes import small_sizes

Array = NDArray[Any]
SEED = 41
#: How often weights are drawn, and how large those are that nothing bounds.
WEIGHTS = (1, 4)
#: How far along directions an energy is looked at, and how near to the rims of boxes.
FAR = np.concatenate([[0.0], np.geomspace(1e1, 1e12, 12)])
NEAR = np.geomspace(1e-1, 1e-13, 13)
WAYS = 12
#: An energy that falls so often in a row, by at least ``DROP`` and not ever less, has no floor.
FALLS, DROP, FADING = 4, 1.0, 0.7
#: What rounding may do, and the ratio of singular values of a matrix that is singular.
ROUNDING, SINGULAR = 1e-9, 1e-13
#: The share of an energy by which two moves do not add up, if it couples them.
APART = 1e-6
#: The steps of a descent, what divides one that does not fall, a step that is too short, and how fast an energy must
#: promise to fall along it.
DESCENTS, SHORTER, STALLED, STUCK = 32, 8, 1e-7, 1e-3


@dataclass(frozen=True)
class Adversary:
    """Tries claims about a network at small sizes; ``forces`` is the whole force on each state."""

    network: Network
    base: ForceField
    forces: Mapping[str, Node]

    def against_floor(self, judged: Judgement) -> Judgement:
        """Energies far out along straight and bent ways, and near the rims of boxes."""
        if judged.verdict != "proved":
            return judged
        parts = [part for term in self.network.energies.values() for part in summands(term.node)]
        for place in self._places([self.energy]):
            ways = [*place.outward(FAR), *place.to_rims(NEAR)]
            columns, *terms = place.around.values([self.energy, *(node for _, node in parts)], np.concatenate(ways))
            numbers = [abs(c.number({**self.network.values, **place.around.sizes})) for c, _ in parts]
            sizes = sum(n * np.abs(term[:, 0]) for n, term in zip(numbers, terms, strict=True))
            rounded = np.isfinite(sizes) & (np.abs(columns[:, 0]) <= ROUNDING * sizes)
            known = np.where(rounded, 0.0, columns[:, 0])
            for values in np.split(known, len(ways)):
                if _falls(values):
                    return _contradicted(f"the energy falls to {np.nanmin(values):.4g} and on")
        return judged

    def against_contraction(self, name: str, judged: Judgement) -> Judgement:
        """Pairs of states: each element of a state moves by itself, all else held."""
        if judged.verdict != "proved":
            return judged
        state, step = self.network.states[name].node, self.network.relax.step_for(name)
        for place in self._places([self.forces[name]]):
            own = place.entries(state)
            first = place.scattered()
            second = first.copy()
            second[:, own] = place.scattered()[:, own]
            forces = place.around.values([self.forces[name]], np.concatenate([first, second]))[0]
            after = [
                place.projected(state, at[:, own] + step * force)
                for at, force in zip((first, second), np.split(forces, 2), strict=True)
            ]
            apart, closer = np.abs(first - second)[:, own], np.abs(after[0] - after[1])
            if np.any(closer > apart * (1 + ROUNDING) + ROUNDING):
                return _contradicted("two states are further apart after a step")
        return judged

    def against_positivity(self, matrix: ForceField, judged: Judgement) -> Judgement:
        """Eigenvalues of the symmetric part at random places, small and large."""
        if judged.verdict != "proved" or judged.condition is not None:
            return judged
        for dense in self._dense(matrix, (0.1, 1.0, 4.0)):
            values = np.linalg.eigvalsh((dense + dense.T) / 2)
            if values[0] < -ROUNDING * max(1.0, abs(values[-1])):
                return _contradicted(f"an eigenvalue is {values[0]:.4g}")
        return judged

    def _dense(self, matrix: ForceField, scales: Sequence[float]) -> Iterator[Array]:
        """A matrix at random places where it is finite, small and large."""
        sizes = small_sizes(matrix.roots, self.network.extents, structures=matrix.structure)
        generator = np.random.default_rng(SEED)
        for scale in scales:
            point = draw(matrix, sizes, generator)
            loose = [n for n in point if n not in matrix.ranges and n not in matrix.structure and n.over is None]
            point |= {node: scale * in_floats(point[node]) for node in loose}
            around = LocalField(matrix, sizes, point)
            dense = around.forces(np.eye(around.length))
            if np.all(np.isfinite(dense)):
                yield dense

    def against_rest(self, judged: Judgement) -> Judgement:
        """Ways down the energy that end, since no step however short falls further, where the force is not at rest."""
        rule = judged.proof.rule if judged.verdict == "proved" and judged.proof is not None else ""
        if rule == "least":
            place = next(self._places([self.energy, *self.forces.values()]))
            if place.stalls(self.energy, self.forces):
                return _contradicted("ways down the energy end where the force is not at rest")
        return judged

    def against_monotone(self, monotone: Monotone, judged: Judgement) -> Judgement:
        """Pairs of states, near and far: how much closer the force pulls them than m says, at the same small sizes."""
        if judged.verdict != "proved":
            return judged
        places = [*self._places([*self.forces.values()])]
        least_pull = monotone.curvature(monotone.norms(places[0].around.sizes)).bounds()[0]
        if any(place.pulls_less(self.forces, least_pull) for place in places):
            return _contradicted("the force pulls two states together by less than m says")
        return judged

    def against_rate(self, judged: Judgement) -> Judgement:
        """Pairs of states, near and far: how much closer a plain step of the spec takes them than its rate says."""
        steps = {state.node: self.network.relax.step_for(name) for name, state in self.network.states.items()}
        proximal = judged.proof is not None and getattr(judged.proof.by, "moves_proximally", False)
        if judged.verdict != "proved" or proximal or not all(steps.values()):
            return judged
        rate = float(judged.numbers.get("rate", 1.0))
        if any(place.stretches(self.forces, steps, rate) for place in self._places([*self.forces.values()])):
            return _contradicted("a step takes two states further apart than the rate says")
        return judged

    def against_inverse(self, matrix: ForceField, judged: Judgement) -> Judgement:
        """Singular values at random places."""
        if judged.verdict != "proved":
            return judged
        for dense in self._dense(matrix, (0.1, 1.0)):
            values = np.linalg.svd(dense, compute_uv=False)
            if values[-1] <= SINGULAR * values[0]:
                return _contradicted("it is singular at a place that was tried")
        return judged

    @cached_property
    def pushes_apart(self) -> bool:
        """Whether the force pushes two states apart that were met, so that no m > 0 is to be shown."""
        return any(place.pulls_less(self.forces, 0.0) for place in self._places([*self.forces.values()]))

    @cached_property
    def pushes_outward(self) -> bool:
        """Whether the force was met to push states outward that are far out, so that no damping is to be shown."""
        return any(place.leaves(self.forces) for place in self._places([*self.forces.values()]))

    @cached_property
    def couples(self) -> bool:
        """Whether the energy is met to be no sum over lone elements of the states that nothing bounds."""
        moving = roaming(self.network)
        return any(place.couples(self.energy, moving) for place in self._places([self.energy]))

    @cached_property
    def energy(self) -> Node:
        """The sum of all energies."""
        return whole_energy(self.network, self.base)

    def _places(self, roots: Sequence[Node]) -> Iterator[Places]:
        """A few draws of all that is held, and the states around them."""
        sizes = small_sizes(roots, self.network.extents, structures=self.base.structure)
        generator = np.random.default_rng(SEED)
        inputs = [n for n in walk(roots) if isinstance(n, Input) and n.kind != "argument"]
        for scale in WEIGHTS:
            point = draw(self.base, sizes, generator)
            point |= {n: draw_input(self.base, n, sizes, generator, scale) for n in inputs if n.kind == "param"}
            point |= {n: draw_input(self.base, n, sizes, generator) for n in inputs if n not in point}
            sets = {state.node: state.constraint for state in self.network.states.values()}
            yield Places(LocalField(self.base, sizes, point), sets, generator)


def _contradicted(by: str) -> Judgement:
    return undecided(f"a rule proves it, but {by}: a bug in energyc, please report it")


def _falls(values: Array) -> bool:
    """Whether an energy goes on falling at the end of a way, to below all before; one that is infinite there has risen.

    A bounded one that oscillates may fall a few times in a row.
    """
    numbers = values[~np.isnan(values)]
    finite = numbers[np.isfinite(numbers)]
    values = np.append(finite, -np.inf) if len(numbers) and numbers[-1] == -np.inf else finite
    if len(values) <= FALLS or numbers[-1] == np.inf:
        return False
    drops, lowest = -np.diff(values[-FALLS - 1 :]), np.min(values[:-1])
    falling = np.all(drops > DROP) and np.all(drops[1:] > FADING * drops[:-1])
    return bool(values[-1] < min(0, lowest) and falling)


@dataclass(frozen=True)
class Places:
    """States on their sets, all else held."""

    around: LocalField
    sets: Mapping[Input, ConstraintSet | None]
    generator: np.random.Generator

    def entries(self, state: Input) -> slice:
        """Which entries of the vector are a state's."""
        return self._slices[state]

    @cached_property
    def _slices(self) -> dict[Input, slice]:
        ends = np.cumsum([0, *(int(np.prod(shape)) for shape in self.around.shapes)])
        places = zip(self.around.field.states, ends, ends[1:], strict=False)
        return {state: slice(int(low), int(high)) for state, low, high in places}

    @cached_property
    def _named(self) -> dict[str, Input]:
        return {state.name: state for state in self.around.field.states}

    def inside(self, vectors: Array) -> Array:
        """Vectors on the sets of all states."""
        made = vectors.copy()
        for state in self.around.field.states:
            own = self.entries(state)
            made[:, own] = self.projected(state, vectors[:, own])
        return made

    def projected(self, state: Input, entries: Array) -> Array:
        """The nearest points on the set of a state."""
        constraint = self.sets[state]
        if constraint is None:
            return entries
        shape = tuple(self.around.sizes[dim] for dim in state.dims)
        axes = tuple(axis + 1 for axis in constraint.axes)
        return _project(constraint, entries.reshape(-1, *shape), axes).reshape(entries.shape)

    def scattered(self, count: int = 48) -> Array:
        """States at distances from 0.01 to 100."""
        reach = 10.0 ** self.generator.uniform(-2, 2, (count, 1))
        return self.inside(reach * self.generator.standard_normal((count, self.around.length)))

    def outward(self, reach: Array) -> Iterator[Array]:
        """Ways from the point outward, straight, along few axes, and bent: powers of t for the entries."""
        for k in range(WAYS):
            way = self.generator.standard_normal(self.around.length)
            way *= self.generator.uniform(size=way.shape) < (1.0, 0.5)[k % 2]
            powers = self.generator.choice((1.0, 2.0), way.shape) if k % 3 == 2 else 1.0
            yield self.inside(self.around.start + way * reach[:, None] ** powers)

    def to_rims(self, near: Array) -> Iterator[Array]:
        """Ways to a corner of the boxes, if there are any."""
        low, high = self.around.bounds
        if not np.any(np.isfinite(low) | np.isfinite(high)):
            return
        start = self.inside(self.around.start[None])[0]
        for ends in ((low, high), (high, low)):
            rim = np.where(np.isfinite(ends[0]), ends[0], np.where(np.isfinite(ends[1]), ends[1], start))
            yield self.inside(rim + (start - rim) * near[:, None])

    def couples(self, energy: Node, moving: Sequence[Input]) -> bool:
        """Whether two moves of other entries change an energy together by more, or less, than each alone."""
        start, count = self.inside(self.around.start[None]), 8
        free = np.zeros(self.around.length, dtype=bool)
        for state in moving:
            free[self.entries(state)] = True
        ways = self.generator.standard_normal((count, self.around.length)) * free
        first = np.where(self.generator.uniform(size=ways.shape) < 0.5, ways, 0)
        moves = np.concatenate([start, *(self.around.inside(start + each) for each in (first, ways - first, ways))])
        levels = self.around.values([energy], moves)[0][:, 0]
        alone, (one, other, both) = levels[0], np.split(levels[1:], 3)
        sizes = abs(alone) + abs(one) + abs(other) + abs(both)
        return bool(np.any(np.isfinite(sizes) & (abs(both - one - other + alone) > APART * sizes)))

    def stalls(self, energy: Node, forces: Mapping[str, Node]) -> bool:
        """Whether most descents by ever shorter steps end where a step still wants to move."""
        count = int(np.clip(600 // self.around.length, 2, 12))
        at, step = self.scattered(count), np.full(count, 0.1)
        level, force = self._level_and_force(energy, forces, at)
        for left in reversed(range(DESCENTS)):
            if np.mean(step < STALLED * SHORTER**left) <= 0.5:
                return False  # too few steps can still become that short
            moved = self.inside(at + step[:, None] * force)
            below, turned = self._level_and_force(energy, forces, moved)
            falls = below < level
            with np.errstate(over="ignore"):
                promised = np.sum(force * (moved - at), axis=1)
            stuck = (step < STALLED) & (promised > step * STUCK) & (promised > ROUNDING * (1 + np.abs(level)))
            if np.mean(stuck) > 0.5:
                return True
            at, force = np.where(falls[:, None], moved, at), np.where(falls[:, None], turned, force)
            level, step = np.where(falls, below, level), np.where(falls, 2 * step, step / SHORTER)
        return False

    def leaves(self, forces: Mapping[str, Node]) -> bool:
        """Whether the force pushes states outward at the ends of ways that lead far out, where nothing bounds them."""
        unbounded = np.isinf(self.around.bounds[0]) & np.isinf(self.around.bounds[1])
        ends = np.stack([way[-1] for way in self.outward(FAR)])
        ends = ends[np.abs(ends[:, unbounded]).max(axis=1, initial=0.0) > FAR[-2]]
        if not len(ends):
            return False
        with np.errstate(all="ignore"):
            outward = self.forced(forces, ends) * ends
        return bool(np.any(np.sum(outward[:, unbounded], axis=1) > 0))

    def pulls_less(self, forces: Mapping[str, Node], least: float) -> bool:
        """Whether a force pulls two states together by less than ``least`` times their distance; near and far ones."""
        first, second = self.scattered(), self.scattered()
        for other in (second, self.inside(first + 1e-3 * (second - first))):
            with np.errstate(all="ignore"):
                pulls, apart = self.forced(forces, other) - self.forced(forces, first), other - first
                together, square = -np.sum(pulls * apart, axis=1), np.sum(apart**2, axis=1)
                slack = ROUNDING * (1 + np.linalg.norm(pulls, axis=1) * np.sqrt(square))
                if np.any(together < least * square - slack):
                    return True
        return False

    def stretches(self, forces: Mapping[str, Node], steps: Mapping[Input, float], rate: float) -> bool:
        """Whether a step takes two states more than ``rate`` times as far apart, by ``sum |v_s|^2 / step_s``."""
        lengths = np.empty(self.around.length)
        for state, step in steps.items():
            lengths[self.entries(state)] = step
        first, second = self.scattered(), self.scattered()
        for other in (second, self.inside(first + 1e-3 * (second - first))):
            with np.errstate(all="ignore"):
                after = [self.inside(at + lengths * self.forced(forces, at)) for at in (first, other)]
                before, moved = (np.sqrt(np.sum((a - b) ** 2 / lengths, axis=1)) for a, b in ((first, other), after))
                slack = ROUNDING * (before + np.linalg.norm(after[0], axis=1))
                if np.any(moved > rate * before + slack):
                    return True
        return False

    def forced(self, forces: Mapping[str, Node], at: Array) -> Array:
        """The whole force at states."""
        force = np.zeros(at.shape)
        for name, values in zip(forces, self.around.values([*forces.values()], at), strict=True):
            force[:, self.entries(self._named[name])] = values
        return force

    def _level_and_force(self, energy: Node, forces: Mapping[str, Node], at: Array) -> tuple[Array, Array]:
        level, *found = self.around.values([energy, *forces.values()], at)
        force = np.zeros(at.shape)
        for name, values in zip(forces, found, strict=True):
            force[:, self.entries(self._named[name])] = values
        return level[:, 0], force


def _project(constraint: ConstraintSet, x: Array, axes: tuple[int, ...]) -> Array:
    match constraint.kind:
        case "box" | "nonnegative":
            low = 0.0 if constraint.kind == "nonnegative" else constraint.low
            return np.clip(x, -np.inf if low is None else low, np.inf if constraint.high is None else constraint.high)
        case "sphere":
            return x / np.sqrt(np.sum(x * x, axes, keepdims=True))
        case "standardized":
            centred = x - x.mean(axes, keepdims=True)
            return centred / np.sqrt(np.mean(centred * centred, axes, keepdims=True))
    return _on_simplex(x, axes)


def _on_simplex(x: Array, axes: tuple[int, ...]) -> Array:
    """By bisection of the threshold."""
    high, low = x.max(axes, keepdims=True), x.max(axes, keepdims=True) - 1.0
    for _ in range(60):
        middle = (low + high) / 2
        above = np.maximum(x - middle, 0).sum(axes, keepdims=True) > 1
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.maximum(x - low, 0)
