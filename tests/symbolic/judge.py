"""SymPy as a judge of derivations: what ``sympy.diff`` makes of written-out energies, forces and costs, in numbers.

A point is drawn once: rational numbers of few digits for every entry. All is of one sample, for which the statistics of
a batch are what they are of.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import mpmath
import numpy as np
import sympy
from sympy import Expr

from energyc.derivation.derive import derive
from energyc.language.network import Network
from energyc.mathematics.ir import Input, Node
from energyc.mathematics.ir.interpreter import evaluate, key
from energyc.studies.symbolic.elements import Elements
from energyc.studies.symbolic.formulas import WrittenOut
from energyc.studies.symbolic.quantities import SECTIONS
from tests.symbolic.numbers import Numbers, entries

#: A name, what the compiler derived, and the numbers that SymPy derives.
Derivative = tuple[str, list[Expr], list[Any]]
TOLERANCE = 1e-12
#: What the interpreter agrees to: it has 16 digits.
ROUNDING = 1e-8


@dataclass(frozen=True, eq=False)
class Judge:
    """A network, written out at its sizes, and a point."""

    network: Network
    seed: int = 0

    @cached_property
    def values(self) -> dict[tuple[str, str], np.ndarray]:
        """A number for each entry of each input, without a batch."""
        random = np.random.default_rng(self.seed)
        return {key(node): self._drawn(node, random) for node in self.inputs}

    @cached_property
    def inputs(self) -> list[Input]:
        d, n = derive(self.network), self.network
        params = [param.each or param.node for param in n.params.values()]
        made = [*d.states.values(), *params, *d.cotangents.values(), *d.directions.values()]
        tables: tuple[Mapping[str, Any], ...] = (n.clamps, n.noises, n.targets)
        made += [item.node for table in tables for item in table.values()]
        made += [output for layer in n.layers.values() for output in layer.outputs.values()]
        made += [
            each
            for block in n.blocks
            for stream in getattr(block, "streams", {}).values()
            for each in (stream.node, stream.end)
        ]
        return list(dict.fromkeys([*made, *filter(None, (n.step, n.training))]))

    def _drawn(self, node: Input, random: np.random.Generator) -> np.ndarray:
        shape = tuple(self.network.extents[dim] for dim in node.dims)
        if node.kind == "flag":
            return np.asarray(1)
        if node.over is not None:
            return random.integers(0, self.network.extents.get(node.over, 2), shape)
        values = np.round(random.normal(size=shape) * 0.7, 3) + 0.0003
        low, high = self._bounds(node)
        return np.asarray(values if low is None and high is None else np.clip(np.abs(values), low, high))

    def _bounds(self, node: Input) -> tuple[float | None, float | None]:
        """A little inside of the set of a state, at whose edge a logarithm may have no value."""
        if node.kind == "param":
            param = self.network.params[node.name]
            return param.low, param.high
        state = self.network.states.get(node.name) if node.kind == "state" else None
        if state is None or state.constraint is None or state.constraint.kind == "sphere":
            return None, None
        return (0.05, 0.95) if state.constraint.kind in ("box", "simplex", "nonnegative") else (None, None)

    @cached_property
    def integers(self) -> dict[str, np.ndarray]:
        """The inputs that hold integers: they appear as numbers."""
        return {node.name: self.values[key(node)] for node in self.inputs if node.over is not None}

    @cached_property
    def written(self) -> WrittenOut:
        return WrittenOut(self.network, self.integers)

    @property
    def products(self) -> int:
        """The number of products where everything is written out."""
        return sum(map(self.written.products, SECTIONS))

    @cached_property
    def numbers(self) -> Numbers:
        symbols = self.written._ranges.symbols
        point: dict[Any, Any] = {symbols.consts[n]: mpmath.mpf(c.value) for n, c in self.network.consts.items()}
        for node in self.inputs:
            if node.over is None:
                array = self.values[key(node)]
                for places in product(*map(range, array.shape)):
                    point[self.entry(node, places)] = mpmath.mpf(str(array[places]))
        return Numbers(point)

    def entry(self, node: Node, places: tuple[int, ...]) -> Expr:
        """The symbol of an entry of an input."""
        return self.written._elements.element(node, places)

    def symbols(self, node: Node) -> list[Expr]:
        """The symbols of all entries of an input."""
        return [self.entry(node, places) for places in product(*(range(self.network.extents[d]) for d in node.dims))]

    # ------------------------------------------------------------ against the interpreter

    def misread(self) -> dict[str, float]:
        """The sections whose written-out entries are not what the interpreter computes, with the relative error."""
        wrong = {}
        for section in SECTIONS:
            sides = self.written._quantities.section(section)
            nodes = [side.node for side in sides.values()]
            inputs = {key(n): self.values[key(n)][None] if n.batched else self.values[key(n)] for n in self.inputs}
            arrays = evaluate(nodes, inputs, sizes=self.network.extents, values=self.network.values)
            made = getattr(self.written, section)
            for name, node, array in zip(sides, nodes, arrays, strict=True):
                expected = np.asarray(array[0] if node.batched else array).ravel()
                found = np.array([float(self.numbers(e)) for e in entries(made[name])])
                error = _error(found, expected)
                if not error <= ROUNDING:
                    wrong[f"{section}.{name}"] = error
        return wrong

    # ------------------------------------------------------------ against sympy.diff

    def misderived(self) -> dict[str, float]:
        """The derivatives that differ from what SymPy derives, with the relative error."""
        compared = ((name, _error(list(map(self.numbers, found)), right)) for name, found, right in self.derivatives())
        return {name: error for name, error in compared if not error <= TOLERANCE}

    def derivatives(self) -> Iterator[Derivative]:
        """Each derivative as the compiler has it, and the numbers that SymPy derives."""
        d, w = derive(self.network), self.written
        yield from self._forces()
        yield from self._grads()
        force = {name: entries(value) for name, value in w.forces.items()}
        seeds = {name: self.symbols(node) for name, node in d.cotangents.items()}
        pulled = sympy.Add(*(a * f for name in force for a, f in zip(seeds[name], force[name], strict=True)))
        yield from self._by("vjp", w.vjp, pulled, {**d.states, **d.params})
        yield from self._jvp(force)
        yield from self._by("updates", w.updates, self._energy(contrasted=True), d.params)
        if self.network.cost is not None:
            yield from self._by(
                "cost_slopes", w.cost_slopes, w.tensor(self.network.cost.node), {**d.states, **d.params}
            )

    def _forces(self) -> Iterator[Derivative]:
        """Minus the slope of the energy, in which what is frozen is constant, and the forces as written."""
        d, energy = derive(self.network), self._energy()
        for name, node in d.states.items():
            moves = name in d.descending
            total = [-self.numbers.slope(energy, z, thawed=False) if moves else 0 for z in self.symbols(node)]
            for term in self.network.forces.values():
                if term.state == name:
                    total = [
                        s + self.numbers(f) for s, f in zip(total, entries(self.written.terms[term.name]), strict=True)
                    ]
            yield f"forces.{name}", entries(self.written.forces[name]), total

    def _jvp(self, force: Mapping[str, list[Expr]]) -> Iterator[Derivative]:
        d, numbers = derive(self.network), self.numbers
        moving = [
            pair
            for n, z in d.states.items()
            for pair in zip(self.symbols(z), self.symbols(d.directions[n]), strict=True)
        ]
        for name, rows in force.items():
            expected = [mpmath.fsum(numbers.slope(f, z) * numbers(v) for z, v in moving) for f in rows]
            yield f"jvp.{name}", entries(self.written.jvp[name]), expected

    def _grads(self) -> Iterator[Derivative]:
        """``grad(E, g)`` of flows: the energy is written with g as a tensor of its own."""
        ranges = self.written._ranges
        for slope in (slope for flow in self.network.flows.values() for slope in flow.slopes):
            apart = Elements(ranges, {slope.at: ranges.symbols.named(slope.at, f"at_{slope.by}")})
            given = [apart.element(slope.at, places) for places in ranges.places(slope.at.dims)]
            energy = sympy.Add(*(apart.element(self.network.terms[name].node, ()) for name in slope.energies))
            own = entries(self.written.tensor(slope.at))
            numbers = Numbers({**self.numbers.point, **dict(zip(given, map(self.numbers, own), strict=True))})
            expected = [numbers.slope(energy, g, thawed=False) for g in given]
            yield f"grad.{slope.stand_in.name}", entries(self.written.tensor(slope.node)), expected

    def _energy(self, *, contrasted: bool = False) -> Expr:
        n, d = self.network, derive(self.network)
        if contrasted:
            names = list(n.energies) if n.flows else [name for name in n.acting if name not in d.stopped]
        else:
            names = list(n.acting)
        return sympy.Add(*(self.written.tensor(n.terms[name].node) for name in names))

    def _by(
        self, section: str, found: Mapping[str, Any], scalar: Expr, wanted: Mapping[str, Input]
    ) -> Iterator[Derivative]:
        """The slopes of a number; one that the compiler leaves out is 0."""
        for name, node in wanted.items():
            symbols = self.symbols(node)
            own = entries(found[name]) if name in found else [sympy.Integer(0)] * len(symbols)
            yield f"{section}.{name}", own, [self.numbers.slope(scalar, symbol) for symbol in symbols]


def _error(found: Sequence[Any], expected: Sequence[Any]) -> float:
    if not len(found):
        return 0.0
    size = max(1, *(abs(e) for e in expected))
    return float(max(abs(f - e) for f, e in zip(found, expected, strict=True)) / size)
