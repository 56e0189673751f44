"""A certificate or a rule tree beside the spec that it is about."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from fractions import Fraction

from energyc.checker.algebra import (
    Atom,
    Poly,
    at_sizes,
    cleared,
    contracted,
    has_gathered,
    integrands,
    occurs,
    replaced,
    spread,
    unfolded,
    vanishes,
)
from energyc.checker.bounds import Bounds, sets_of
from energyc.checker.formulas import Formulas
from energyc.checker.syntax import Left, NotCovered, expression, left_side, read_spec, same


class Refused(Exception):
    """A step that does not hold."""


class Case:
    """The spec, or a ``layer`` of it, that proofs are about: ``formulas`` reads it."""

    def __init__(
        self,
        layer: str | None,
        text: str,
        consts: Mapping[str, str],
        along: Collection[str] | None = None,
        written: Collection[str] = (),
        on_edges: bool = False,
    ) -> None:
        self.spec = {part: dict(found) for part, found in read_spec(text, layer).items()}
        for name, value in ((k, v) for k, v in consts.items() if k in self.spec["consts"]):
            const = self.spec["consts"][name]
            require(const.word == "const", f"{name} is not a const")
            self.spec["consts"][name] = const._replace(body=f"= {Fraction(value)}")
        for name, dim in re.findall(r"\brelax\s+(\w+)\s+in\s+(\w+)", text):  # the number of a step
            self.spec["tensors"].setdefault(name, left_side("clamp", f"{name} : {dim}"))
        self.formulas = Formulas(self.spec, self.spec["states"] if along is None else along, written, on_edges=on_edges)
        #: The sizes that some dims have, and what is known of values where a statement is about the sets of all.
        self.sizes: Mapping[str, int] = {}
        self.values: Bounds | None = None

    def compare(self, listed: Mapping[str, str]) -> None:
        """Compare the formulas that a proof lists with those of the spec. Raises Refused for another one."""
        for left, right in listed.items():
            known = self.spec["equations"].get(left)
            agrees = known is not None and same(expression(known.body), expression(right))
            require(agrees, f"{left} is another formula in the spec")

    def equal(self, a: Poly, b: Poly, otherwise: str) -> None:
        """Raises Refused for other forms, NotCovered where an equation of gathered indices may make them the same."""
        gap = cleared(a - b)
        if gap and (along := self.orthonormal()):
            gap = cleared(contracted(gap, along))
        if self.values is not None:
            gap = replaced(gap, self.values.sign)
        if self.sizes:
            gap = at_sizes(gap, self.sizes)
        if not has_gathered(gap):
            require(all(map(vanishes, integrands(gap))), otherwise)
        elif spread(gap):
            raise NotCovered("an equation of gathered indices")

    def descent(self, flow: Left, by: str, whole: bool) -> tuple[Formulas, tuple[Atom, ...], Poly]:
        """``(dg/dx) P w`` at indices of g, for a flow ``-P grad(E, g)`` of x; of other form it is refused."""
        formulas, places, pushed = self.pushed(flow, by, whole)
        if by == flow.on:
            return formulas, places, pushed
        indices, value = formulas.equation(self.spec["lets"][by])
        return formulas, indices, unfolded(formulas.differential(value), f"w.{flow.on}", places, pushed)

    def pushed(self, flow: Left, by: str, whole: bool) -> tuple[Formulas, tuple[Atom, ...], Poly]:
        """``P w`` at indices of x, for a flow ``-P grad(E, g)`` of x that is linear in one gradient by g.

        Noise is 0 where nothing multiplies it. Raises Refused for a flow of another form.
        """
        formulas, direction = Formulas(self.spec, [flow.on], (), whole), f"w.{by}"
        formulas.slopes = []
        places, pushed = formulas.equation(flow)
        gradients = {(*sorted(names), name) for names, name in formulas.slopes}
        require(len(gradients) == 1 and {name for _, name in formulas.slopes} == {by}, "the flow has other gradients")
        noises = {name for name, left in self.spec["tensors"].items() if left.word == "noise"}
        kept = []
        for (bound, factors), value in pushed:
            ends = [(atom, exponent) for atom, exponent in factors if atom.name == direction]
            if ends or not any(atom.name in noises for atom, _ in factors):
                linear = [exponent for _, exponent in ends] == [1]
                require(linear and not occurs(direction, factors - {*ends}), "the flow is not linear in its gradient")
                kept.append(((bound, factors), value))
        return formulas, places, -Poly(kept)

    def orthonormal(self) -> dict[str, list[int]]:
        """The params that are matrices with orthonormal rows, or columns, and the axes of these."""
        found: dict[str, list[int]] = {}
        for name, left in ((k, v) for k, v in self.spec["tensors"].items() if v.word == "param"):
            dims = self.formulas.signature(name)
            for kind, inside in sets_of(left) if len(dims) == 2 else ():
                if kind == "orthogonal":
                    last = (inside or dims)[-1]
                    size = self.sizes.get(last)
                    found[name] = [k for k, dim in enumerate(dims) if dim == last or self.sizes.get(dim, -1) == size]
        return found


def require(holds: bool | None, otherwise: str) -> None:
    """Raises Refused unless a step holds, NotCovered where that is not known."""
    if holds is None:
        raise NotCovered("a state decides where")
    if not holds:
        raise Refused(otherwise)
