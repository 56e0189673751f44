"""From nodes of the graph to statements over buffers and matrix products."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from energyc.functions import ScalarFunction, scalar_function
from energyc.ir import ONE, Add, Coefficient, Einsum, IndexExpr, Indicator, Input, Map, Node, Position, Softmax
from energyc.ir.indexing import Affine, axis
from energyc.ir.nodes import ArgMax, LogSumExp, Max, Reduction, Stop
from energyc.loops.affine import TRUE, conjunction, conjuncts, labels_of, solved_for, substituted, within, written
from energyc.loops.matrices import product_of
from energyc.loops.nest import (
    Buffer,
    Call,
    Choice,
    Clip,
    Count,
    Expr,
    Load,
    Number,
    Product,
    Quotient,
    Statement,
    Times,
    Total,
    Unless,
)


class NotLowered(Exception):
    """A network that no kernel is made for; the text says why."""


def _refused(node: Node) -> NotLowered:
    """Why a kind of node has no statements."""
    kinds = {"Segment": "it reduces over edges", "BatchStatistic": "a sample depends on the others of its batch"}
    return NotLowered(kinds.get(type(node).__name__, f"no kernel computes a {type(node).__name__}"))


@dataclass(frozen=True)
class Solved:
    """An einsum whose equalities of indices are solved: labels are the node's axes, then those still summed over.

    ``operands`` are left with the place of each of their axes, under ``conditions``; ``extents`` are of all labels.
    """

    operands: tuple[tuple[Node, tuple[IndexExpr, ...]], ...]
    conditions: tuple[IndexExpr, ...]
    extents: tuple[int, ...]


class Lowering:
    """Lowers the nodes that some roots need, each once.

    ``given`` are the buffers of what the caller passes or an earlier part has made. Inputs that are not among them are
    added as they are met. ``steps`` holds statements and products in the order of their dependencies.
    """

    def __init__(
        self,
        sizes: Mapping[str, int],
        values: Mapping[str, float],
        given: Mapping[Node, Buffer],
        offered: Mapping[Node, str],
        names: Mapping[Node, str],
        text: Callable[[Node], str],
    ) -> None:
        self.sizes, self.values = sizes, values
        self.buffers = dict(given)
        self.offered, self.names, self.text = offered, names, text
        self.asked: list[tuple[Node, Buffer]] = []
        self.steps: list[Statement | Product] = []
        self.uses: Counter[Node] = Counter()
        self.solutions: dict[Einsum, Solved] = {}

    def expect(self, roots: Iterable[Node]) -> None:
        """Count how often each node that the roots need is read."""
        roots = list(roots)
        seen: set[Node] = set()
        stack = list(roots)
        self.uses.update(roots)
        while stack:
            node = stack.pop()
            if node in seen or node in self.offered:
                continue
            seen.add(node)
            self.uses.update(node.children)
            stack.extend(node.children)

    # ------------------------------------------------------------ nodes

    def at(self, node: Node, place: Sequence[IndexExpr]) -> Expr:
        """The entry of a node at a place: read from a buffer, or an expression where that is as good."""
        if node in self.buffers or not (self._inlined(node) or self._is_input(node)):
            return Load(self.buffer(node), tuple(place))
        if self._is_input(node):
            return Load(self._asked(node), tuple(place))
        return relocated(self.expression(node), place)

    def buffer(self, node: Node) -> Buffer:
        """The buffer that holds a node."""
        if node not in self.buffers:
            self.buffers[node] = self._asked(node) if self._is_input(node) else self._made(node)
        return self.buffers[node]

    def _is_input(self, node: Node) -> bool:
        return node in self.offered or isinstance(node, Input)

    def _asked(self, node: Node) -> Buffer:
        """A buffer that the caller is to pass."""
        if node not in self.buffers:
            name = self.offered.get(node) or node.name  # type: ignore[attr-defined]
            integers = node if isinstance(node, Input) and node.over is not None else None
            if isinstance(node, Input) and node.kind == "flag":
                raise NotLowered(f"its force reads {node.name} at every step")
            kind: Literal["number", "given"] = "number" if isinstance(node, Input) and node.kind == "step" else "given"
            made = Buffer(name, self.extents(node), node.batched, kind, integers)
            self.buffers[node] = made
            self.asked.append((node, made))
        return self.buffers[node]

    def _ask_integers(self, node: Indicator | Position) -> None:
        """The integer inputs that an index expression reads are to be passed."""
        for read in node.children:
            self._asked(read)

    def extents(self, node: Node) -> tuple[int, ...]:
        """The sizes of a node's dims."""
        return tuple(self.sizes[dim] for dim in node.dims)

    def scratch(self, name: str, sizes: Sequence[int], batched: bool) -> Buffer:
        """A new buffer."""
        return Buffer(name, tuple(sizes), batched)

    def factor(self, coefficient: Coefficient) -> float:
        """A coefficient as a number."""
        return coefficient.number(self.values)

    def _inlined(self, node: Node) -> bool:
        """Whether an expression is computed where it is read: it is read once, or is no work."""
        if isinstance(node, Einsum):
            whole = not self._folds(node)
            return whole and (self.uses[node] <= 1 or self._is_cheap(node))
        if isinstance(node, Indicator | Position):
            return True
        if isinstance(node, Stop):
            return self._inlined(node.argument) or self._is_input(node.argument)
        return isinstance(node, Add | Map) and self.uses[node] <= 1

    def _is_cheap(self, node: Node) -> bool:
        """Whether a node is another one, seen through other indices or scaled."""
        if node in self.buffers or self._is_input(node) or isinstance(node, Indicator | Position):
            return True
        if not isinstance(node, Einsum) or self._folds(node):
            return False
        tensors = [o.node for o in node.operands if not isinstance(o.node, Indicator)]
        return len(tensors) <= 1 and all(self._is_cheap(child) for child in tensors)

    def _folds(self, node: Einsum) -> bool:
        """Whether an einsum sums over labels that no equality of indices determines."""
        return len(self.solution(node).extents) > len(node.out)

    # ------------------------------------------------------------ expressions

    def expression(self, node: Node) -> Expr:
        """A node at its own axes, computed from what it reads."""
        place = labels_of(len(node.dims))
        if isinstance(node, Indicator | Position):
            self._ask_integers(node)
        match node:
            case Add():
                return self._total(node)
            case Map():
                return Call(self._function(node), self.at(node.argument, place))
            case Einsum():
                return self._term(node)
            case Indicator():
                return Choice(node.condition, Number(1.0), Number(0.0))
            case Position():
                return Count(node.value)
            case Stop():
                return self.at(node.argument, place)
        raise _refused(node)

    def _function(self, node: Map) -> ScalarFunction:
        """The function of a map. Raises NotLowered where no target of kernels writes it."""
        try:
            entry = node.function.entry
            entry.form("cpp")
        except (KeyError, NotImplementedError) as error:
            raise NotLowered(f"no kernel computes {node.function.name}") from error
        return entry

    def _total(self, node: Add) -> Expr:
        """A sum; matrix products in it that nothing else reads are added up in one buffer."""
        place = labels_of(len(node.dims))
        gathered: Buffer | None = None
        terms: list[tuple[float, Expr]] = []
        for coefficient, term in node.terms:
            product = self._product(term, coefficient, gathered) if self._is_gathered(term) else None
            if product is None:
                terms.append((self.factor(coefficient), self.at(term, place)))
                continue
            if gathered is None:
                gathered = product.target
                terms.append((1.0, Load(gathered, place)))
            self.steps.append(product)
        return Total(tuple(terms))

    def _is_gathered(self, node: Node) -> bool:
        return isinstance(node, Einsum) and node not in self.buffers and self.uses[node] == 1 and self._folds(node)

    def _term(self, node: Einsum) -> Expr:
        """A product of entries, times the factor; 0 where its conditions do not hold."""
        solved = self.solution(node)
        factors = [self.at(operand, place) for operand, place in solved.operands]
        value = scaled(self.factor(node.coefficient), factors)
        return Choice(conjunction(solved.conditions), value, Number(0.0)) if solved.conditions else value

    def solution(self, node: Einsum) -> Solved:
        """The einsum with its equalities of indices solved."""
        if node not in self.solutions:
            self.solutions[node] = self._solved(node)
        return self.solutions[node]

    def _solved(self, node: Einsum) -> Solved:
        extents = {k: self.sizes[dim] for k, dim in enumerate(node.labels)}
        order = [*node.out, *(k for k in node.contracted)]
        unknown = [*node.contracted]
        places: dict[int, IndexExpr] = {}
        tensors = [o for o in node.operands if not isinstance(o.node, Indicator)]
        open_conditions: list[IndexExpr] = []
        for operand in (o for o in node.operands if isinstance(o.node, Indicator)):
            self._ask_integers(operand.node)  # type: ignore[arg-type]
            condition = operand.node.condition.renumbered(dict(enumerate(operand.axes)))  # type: ignore[attr-defined]
            open_conditions += conjuncts(condition)
        conditions: list[IndexExpr] = []
        while open_conditions:
            condition = substituted(open_conditions.pop(0), places)
            found = solved_for(condition, unknown, self.sizes)
            if found is None:
                conditions.append(condition)
                continue
            label, value = found
            unknown.remove(label)
            places = {k: substituted(v, {label: value}) for k, v in places.items()} | {label: value}
            conditions = [substituted(c, {label: value}) for c in conditions]
            conditions += within(value, extents[label], self.sizes, extents)
        left = [k for k in order if k not in places]
        number = {k: j for j, k in enumerate([*node.out, *(k for k in left if k not in node.out)])}
        final = {k: axis(j) for k, j in number.items()}
        whole = {k: substituted(places[k], final) if k in places else final[k] for k in order}
        return Solved(
            tuple((o.node, tuple(whole[k] for k in o.axes)) for o in tensors),
            tuple(dict.fromkeys(substituted(c, final) for c in conditions)),
            tuple(extents[k] for k in number),
        )

    # ------------------------------------------------------------ buffers

    def _made(self, node: Node) -> Buffer:
        """The statements that fill a buffer with a node."""
        if isinstance(node, Softmax | LogSumExp | Max | ArgMax):
            return self._reduction(node)
        if isinstance(node, Einsum) and self._folds(node):
            product = self._product(node, ONE, None)
            if product is not None:
                self.steps.append(product)
                return product.target
            return self._sum(node)
        if not isinstance(node, Einsum | Add | Map | Indicator | Position | Stop):
            raise _refused(node)
        expr = self.expression(node)
        return self.put(self.name(node), self.extents(node), node.batched, expr, label=self.text(node))

    def put(
        self,
        name: str,
        sizes: Sequence[int],
        batched: bool,
        expr: Expr,
        fold: str = "",
        reduced: Sequence[int] = (),
        label: str = "",
    ) -> Buffer:
        """A new buffer, and the statement that fills it."""
        target = self.scratch(name, sizes, batched)
        self.steps.append(Statement(target, (*sizes, *reduced), expr, fold, label))  # type: ignore[arg-type]
        return target

    def name(self, node: Node) -> str:
        """What the buffer of a node is called."""
        return self.names.get(node) or {Softmax: "weights", LogSumExp: "level", Map: "image"}.get(type(node), "total")

    def _product(self, node: Node, coefficient: Coefficient, target: Buffer | None) -> Product | None:
        """An einsum as a matrix product into a buffer, added to what is there where it is given; None if it is none."""
        assert isinstance(node, Einsum)
        solved = self.solution(node)
        if len(solved.operands) != 2 or solved.conditions:
            return None
        factor = self.factor(coefficient * node.coefficient)
        loads: list[Load] = []
        for operand, place in solved.operands:
            plain = operand in self.buffers or self._is_cheap(operand)
            scale, load = _plain_load(self.at(operand, place)) if plain else (1.0, None)
            if load is None:
                load = Load(self._made_or_held(operand), place)
            loads.append(load)
            factor *= scale
        into = target or self.scratch(self.names.get(node, "product"), self.extents(node), node.batched)
        product = product_of(into, (loads[0], loads[1]), factor, solved.extents, self.sizes)
        return product and replace(product, adds=target is not None, label=self.text(node))

    def _made_or_held(self, node: Node) -> Buffer:
        """A node's buffer, filled even if its expression could be inlined."""
        if node not in self.buffers:
            self.buffers[node] = self._made(node)
        return self.buffers[node]

    def _sum(self, node: Einsum) -> Buffer:
        """A sum of products, entry by entry."""
        solved = self.solution(node)
        for operand, place in solved.operands:
            used = {label for expr in place for label in expr.axes()}
            if len(used) < len(solved.extents) and self._inlined(operand) and not self._is_cheap(operand):
                self._made_or_held(operand)
        sizes = self.extents(node)
        reduced = solved.extents[len(sizes) :]
        return self.put(self.name(node), sizes, node.batched, self._term(node), "sum", reduced, self.text(node))

    def _order(self, sizes: Sequence[int], reduced: Sequence[int]) -> IndexExpr:
        """The number in order of an entry along some axes, over all axes."""
        form, stride = Affine(0, ()), 1
        for k in reversed(reduced):
            form = form.plus(Affine(0, ((k, stride),)))
            stride *= sizes[k]
        return written(form)

    def _reduction(self, node: Reduction) -> Buffer:
        """Softmax, logsumexp, max and argmax over the entries that a guard lets through."""
        argument, kept = node.argument, [k for k in range(len(node.argument.dims)) if k not in node.axes]
        sizes = self.extents(argument)
        outer, reduced = [sizes[k] for k in kept], [sizes[k] for k in node.axes]
        label_of = {k: j for j, k in enumerate([*kept, *node.axes])}
        place = tuple(axis(label_of[k]) for k in range(len(sizes)))
        if self._inlined(argument) and not self._is_input(argument) and not self._is_cheap(argument):
            self._made_or_held(argument)
        entry = self.at(argument, place)
        condition = TRUE
        if node.guard is not None:
            guard = node.guard
            self._ask_integers(guard.indicator)
            condition = substituted(guard.indicator.condition, [place[k] for k in guard.axes])
        batched = node.batched

        def masked(expr: Expr, otherwise: float) -> Expr:
            return Choice(condition, expr, Number(otherwise)) if condition is not TRUE else expr

        name, text = self.name(node), self.text(node)
        largest = self.put("largest", outer, batched, masked(entry, -math.inf), "max", reduced)
        top = Load(largest, labels_of(len(outer)))
        if isinstance(node, ArgMax):
            order = self._order(sizes, node.axes)
            here = Unless(
                Total(((1.0, masked(entry, -math.inf)), (-1.0, top))), 0.0, Number(-math.inf), _negated(order, place)
            )
            first = self.put("first", outer, batched, here, "max", reduced)
            own = labels_of(len(sizes))
            behind = Total(((1.0, Load(first, tuple(own[k] for k in kept))), (-1.0, _negated(order, own))))
            return self.put(name, sizes, batched, Unless(behind, 0.0, Number(0.0), Number(1.0)), label=text)
        if isinstance(node, Max):
            if condition is TRUE:
                return largest
            return self.put(name, outer, batched, Unless(top, -math.inf, top, Number(0.0)), label=text)
        power = Call(scalar_function("exp", None), Total(((1.0, entry), (-1.0, top))))
        if isinstance(node, LogSumExp):
            whole = self.put("whole", outer, batched, masked(power, 0.0), "sum", reduced)
            level = Total(((1.0, top), (1.0, Call(scalar_function("log", None), Load(whole, labels_of(len(outer)))))))
            return self.put(name, outer, batched, Unless(top, -math.inf, level, Number(0.0)), label=text)
        inverse = [0] * len(sizes)
        for k, j in label_of.items():
            inverse[j] = k
        spread = self.put("power", sizes, batched, relocated(masked(power, 0.0), [axis(k) for k in inverse]))
        whole = self.put("whole", outer, batched, Load(spread, place), "sum", reduced)
        own = labels_of(len(sizes))
        total = Load(whole, tuple(own[k] for k in kept))
        share: Expr = Quotient(Load(spread, own), total)
        if condition is not TRUE:
            share = Unless(total, 0.0, share, Number(0.0))
        return self.put(name, sizes, batched, share, label=text)


def _negated(order: IndexExpr, place: Sequence[IndexExpr]) -> Expr:
    """Minus a number in order, so that the first is the largest."""
    return Total(((-1.0, Count(substituted(order, place))),))


def scaled(factor: float, factors: Sequence[Expr]) -> Expr:
    """A product with a factor."""
    if not factors:
        return Number(factor)
    value = factors[0] if len(factors) == 1 else Times(tuple(factors))
    return value if factor == 1 else Total(((factor, value),))


def _plain_load(expr: Expr) -> tuple[float, Load | None]:
    """A factor and an entry, where the expression is that."""
    match expr:
        case Load():
            return 1.0, expr
        case Total(((factor, Load() as load),)):
            return factor, load
    return 1.0, None


def relocated(expr: Expr, place: Sequence[IndexExpr]) -> Expr:
    """The expression with each label replaced by its place."""
    match expr:
        case Load(buffer, at):
            return Load(buffer, tuple(substituted(k, place) for k in at))
        case Total(terms):
            return Total(tuple((factor, relocated(term, place)) for factor, term in terms))
        case Times(factors):
            return Times(tuple(relocated(part, place) for part in factors))
        case Call(function, argument):
            return Call(function, relocated(argument, place))
        case Choice(condition, yes, no):
            return Choice(substituted(condition, place), relocated(yes, place), relocated(no, place))
        case Count(value):
            return Count(substituted(value, place))
        case Clip(argument, low, high):
            return Clip(relocated(argument, place), low, high)
        case Quotient(part, whole):
            return Quotient(relocated(part, place), relocated(whole, place))
        case Unless(test, number, value, instead):
            return Unless(relocated(test, place), number, relocated(value, place), relocated(instead, place))
    return expr
