"""From nodes to formulas: walks down to what has a name, and names the indices on the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from energyc.derivation.notation.cases import condition_of, with_cases
from energyc.derivation.notation.contraction import Contraction, at
from energyc.derivation.notation.formula import (
    NOTHING,
    UNIT,
    Formula,
    Keyword,
    Reference,
    multiplied,
    name,
    name_of,
    scaled,
    split,
)
from energyc.derivation.notation.indices import IndexNames
from energyc.derivation.notation.recognise import USUAL_EPSILON, Normaliser, normalisers
from energyc.mathematics.expressions import Call, IndexValue, Power, Product, Reduction, Sum, Where
from energyc.mathematics.ir import (
    ONE,
    Add,
    ArgMax,
    BatchStatistic,
    Coefficient,
    Einsum,
    Guard,
    IndexExpr,
    Indicator,
    Input,
    Map,
    Node,
    NoRule,
    Position,
    Stop,
)
from energyc.mathematics.ir import Reduction as ReductionNode

Slots = tuple[IndexExpr, ...]
Scope = frozenset[str]
#: Vectors on a state are called after it: ``a_z`` is pulled back through the force, ``v_z`` is a direction, ``plus_z``
#: and ``minus_z`` are where two phases ended.
VECTORS = {"cotangent": "a_", "direction": "v_", "plus": "plus_", "minus": "minus_", "sum": "sum_"}


@dataclass(frozen=True)
class Builder:
    """Builds formulas of nodes. ``scope`` is always the set of index names that an inner index must not capture."""

    names: Mapping[Node, str]
    index_names: Mapping[Node, tuple[str, ...]]
    indices: IndexNames
    sizes: Mapping[str, int] | None

    def formula(self, node: Node, slots: Slots, scope: Scope) -> Formula:
        """An element of a node, by its name if it has one."""
        named = self.names.get(node)
        return Reference(named, slots) if named is not None else self.expanded(node, slots, scope)

    def expanded(self, node: Node, slots: Slots, scope: Scope) -> Formula:
        """An element of a node by what it is computed from."""
        match node:
            case Input(kind="slope"):
                return _slope(node, slots)
            case Input():
                return Reference(VECTORS.get(node.kind, "") + node.name, slots)
            case Einsum():
                return self._einsum(node, slots, scope)
            case Add():
                return self._add(node, slots, scope)
            case Map():
                return self._map(node, slots, scope)
            case ReductionNode():
                return self._reduction(node, slots, scope)
            case BatchStatistic():
                return Reduction(node.kind, ("batch",), ("batch",), None, (self.formula(node.argument, slots, scope),))
            case Stop(mode="barrier"):
                return self.expanded(node.argument, slots, scope)
            case Stop():
                return Call(node.mode, (self.formula(node.argument, slots, scope),))
            case Indicator():
                return Where(at(node.condition, dict(enumerate(slots))), UNIT, NOTHING)
            case Position():
                return IndexValue(at(node.value, dict(enumerate(slots))))
        raise NoRule("notation", node)

    # ------------------------------------------------------------ sums of products

    def _einsum(self, node: Einsum, slots: Slots, scope: Scope) -> Formula:
        contraction = Contraction.of(node, self.sizes)
        summed = [k for k in node.contracted if k not in contraction.solved]
        places = dict(zip(node.out, slots, strict=True))
        chosen = self._name_labels(node, summed, scope)
        places |= {k: name(index) for k, index in chosen.items()}
        places |= {k: at(value, places) for k, value in contraction.solved.items()}
        inner_scope = scope | set(chosen.values())
        inside, outside = self._factors(node, places, set(chosen.values()), inner_scope)
        guards = [at(condition, places) for condition in contraction.conditions]
        return _assembled(node, {index: node.labels[k] for k, index in chosen.items()}, inside, outside, guards)

    def _name_labels(self, node: Einsum, labels: Sequence[int], scope: Scope) -> dict[int, str]:
        chosen: dict[int, str] = {}
        for label in labels:
            chosen[label] = self.indices.fresh(
                node.labels[label], scope | set(chosen.values()), self._wish(node, label)
            )
        return chosen

    def _wish(self, node: Einsum, label: int) -> str | None:
        for operand in node.operands:
            known = self.index_names.get(operand.node)
            if known and label in operand.axes:
                return known[operand.axes.index(label)]
        return None

    def _factors(
        self, node: Einsum, places: Mapping[int, IndexExpr], bound: set[str], scope: Scope
    ) -> tuple[list[Formula], list[Formula]]:
        """The factors that hold an index of this sum, and those that can be taken out of it."""
        inside: list[Formula] = []
        outside: list[Formula] = []
        operands = list(node.operands)
        for normaliser in normalisers(node):
            slots = tuple(places[a] for a in normaliser.operands[0].axes)
            factor = self._normaliser(normaliser, slots, scope)
            if factor is not None and all(operand in operands for operand in normaliser.operands):
                operands = [operand for operand in operands if operand not in normaliser.operands]
                _group(slots, bound, inside, outside).append(factor)
        counts = Counter(
            (o.node, tuple(places[a] for a in o.axes)) for o in operands if not isinstance(o.node, Indicator)
        )
        for (child, slots), times in counts.items():
            _group(slots, bound, inside, outside).append(_power(self.formula(child, slots, scope), Fraction(times)))
        return inside, outside

    def _normaliser(self, normaliser: Normaliser, slots: Slots, scope: Scope) -> Formula | None:
        """A normaliser by its name, where the index along it is plain and its pieces have no names of their own."""
        along = self._bare_names(slots, (normaliser.axis,))
        if along is None or any(operand.node in self.names for operand in normaliser.operands):
            return None
        argument = self.formula(normaliser.argument, slots, scope)
        usual = normaliser.name == "standardize" or normaliser.epsilon == USUAL_EPSILON
        keyword = () if usual else (Keyword("eps", Product(Coefficient(normaliser.epsilon))),)
        dims = (normaliser.argument.dims[normaliser.axis],)
        return Reduction(normaliser.name, along, dims, None, (argument, *keyword))

    # ------------------------------------------------------------ the rest

    def _add(self, node: Add, slots: Slots, scope: Scope) -> Formula:
        terms: list[Formula] = []
        for coefficient, child in node.terms:
            term = scaled(coefficient, self.formula(child, slots, scope))
            terms.extend(term.terms if isinstance(term, Sum) else [term])
        terms = with_cases(terms)
        if len(terms) == 1:
            return terms[0]
        first = next((k for k, term in enumerate(terms) if not negative(term)), 0)
        return Sum((terms[first], *terms[:first], *terms[first + 1 :]))

    def _map(self, node: Map, slots: Slots, scope: Scope) -> Formula:
        argument = self.formula(node.argument, slots, scope)
        function = node.function
        if function.exponent is not None:
            root = _power(argument, abs(function.exponent))
            return root if function.exponent > 0 else Product(ONE, (), (root,))
        if function.slope is not None:
            return Call(function.name, (argument,), declared=True)
        if function.is_condition:
            return condition_of(function, argument)
        spelling, primes = function.entry.spelling
        return Call(spelling, (argument,), primes)

    def _reduction(self, node: ReductionNode, slots: Slots, scope: Scope) -> Formula:
        if node.keeps_axes:
            return self._axis_keeping(node, slots, scope)
        dims = tuple(node.argument.dims[a] for a in node.axes)
        chosen = self._reduced_names(node, dims, scope)
        places = iter(slots)
        named = dict(zip(node.axes, chosen, strict=True))
        inner = tuple(name(named[a]) if a in named else next(places) for a in range(len(node.argument.dims)))
        return self._reduced(node.operator, node, chosen, inner, scope)

    def _axis_keeping(self, node: ReductionNode, slots: Slots, scope: Scope) -> Formula:
        """A softmax or argmax, along an index that must be a name which no other slot holds."""
        plain = self._bare_names(slots, node.axes)
        if plain is not None:
            return self._reduced(node.operator, node, plain, slots, scope)
        dims = tuple(node.dims[a] for a in node.axes)
        chosen = self._reduced_names(node, dims, scope)
        inner = tuple(name(chosen[node.axes.index(a)]) if a in node.axes else slot for a, slot in enumerate(slots))
        body = self._reduced(node.operator, node, chosen, inner, scope)
        if isinstance(node, ArgMax) and len(node.axes) == 1 and isinstance(body, Reduction):
            return Reduction(
                "correct", body.indices, body.dims, body.guard, (*body.bodies, IndexValue(slots[node.axes[0]]))
            )
        equal = [IndexExpr("==", (name(index), slots[a])) for index, a in zip(chosen, node.axes, strict=True)]
        return Reduction("sum", chosen, dims, _conjunction(equal), (body,))

    def _bare_names(self, slots: Slots, axes: Sequence[int]) -> tuple[str, ...] | None:
        """The names of some slots where each is a bare index that occurs in no other slot."""
        others = [names_in(slot) for a, slot in enumerate(slots) if a not in axes]
        names = [index for a in axes if (index := name_of(slots[a])) is not None]
        if len(set(names)) < len(axes) or any(set(names) & held for held in others):
            return None
        return tuple(names)

    def _reduced_names(self, node: ReductionNode, dims: Sequence[str], scope: Scope) -> tuple[str, ...]:
        known = self.index_names.get(node.argument)
        chosen: list[str] = []
        for axis, dim in zip(node.axes, dims, strict=True):
            chosen.append(self.indices.fresh(dim, scope | set(chosen), known[axis] if known else None))
        return tuple(chosen)

    def _reduced(
        self, operator: str, node: ReductionNode, chosen: tuple[str, ...], inner: Slots, scope: Scope
    ) -> Formula:
        body = self.formula(node.argument, inner, scope | set(chosen))
        dims = tuple(node.argument.dims[a] for a in node.axes)
        return Reduction(operator, chosen, dims, _guard(node.guard, inner), (body,))


def names_in(slot: IndexExpr) -> set[str]:
    """The index names in a slot or condition."""
    return {str(part.args[0]) for part in slot.walk() if part.op == "name"}


def negative(formula: Formula) -> bool:
    """Whether a formula is written with a minus in front."""
    return isinstance(formula, Product) and formula.coefficient.value < 0


def _group(slots: Slots, bound: set[str], inside: list[Formula], outside: list[Formula]) -> list[Formula]:
    return inside if any(names_in(slot) & bound for slot in slots) else outside


def _guard(guard: Guard | None, slots: Slots) -> IndexExpr | None:
    if guard is None:
        return None
    return at(guard.indicator.condition, {k: slots[a] for k, a in enumerate(guard.axes)})


def _conjunction(conditions: Sequence[IndexExpr]) -> IndexExpr | None:
    if not conditions:
        return None
    result = conditions[0]
    for condition in conditions[1:]:
        result = IndexExpr("and", (result, condition))
    return result


def _power(base: Formula, exponent: Fraction) -> Formula:
    if exponent == 1:
        return base
    return Call("sqrt", (base,)) if exponent == Fraction(1, 2) else Power(base, exponent)


def _assembled(
    node: Einsum, bound: Mapping[str, str], inside: list[Formula], outside: list[Formula], guards: list[IndexExpr]
) -> Formula:
    """``coefficient * outside * sum[bound | guards](inside)``, under the guards that hold no bound index."""
    before = _conjunction([guard for guard in guards if not names_in(guard) & bound.keys()])
    within = _conjunction([guard for guard in guards if names_in(guard) & bound.keys()])
    factors = outside
    coefficient = node.coefficient
    if bound:
        inner, body = split(multiplied(ONE, inside))
        coefficient = coefficient * inner
        factors = [*outside, Reduction("sum", tuple(bound), tuple(bound.values()), within, (body,))]
    if before is None:
        return multiplied(coefficient, factors)
    outer, body = split(multiplied(coefficient, factors))
    return multiplied(outer, (Where(before, body, NOTHING),))


def _slope(node: Input, slots: Slots) -> Formula:
    """``grad(att + mem, g[n,d])``."""
    energies, by = node.name.split(", ")
    total = Sum(tuple(Reference(energy) for energy in energies.split(" + ")))
    return Call("grad", (total, Reference(by, slots)))
