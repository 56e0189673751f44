"""From nodes of the graph to statements over buffers and matrix products."""

from __future__ import annotations

from collections import ChainMap, Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from energyc.code.loops.affine import TRUE, conjunction, labels_of, outside_training, substituted
from energyc.code.loops.expressions import applied, plain_load, relocated, scaled
from energyc.code.loops.fuse import Rows
from energyc.code.loops.matrices import product_of
from energyc.code.loops.nest import Buffer, Expr, Load, MatrixProduct, Scatter, Statement, Step
from energyc.code.loops.reduce import along, over_edges, reduction
from energyc.code.loops.solve import Solved, solved
from energyc.mathematics.expressions import ZERO, IndexValue, Sum, Where, expression
from energyc.mathematics.functions import ScalarFunction
from energyc.mathematics.ir import (
    ONE,
    Add,
    Coefficient,
    Einsum,
    IndexExpr,
    Indicator,
    Input,
    Map,
    Node,
    Position,
    Softmax,
    walk,
)
from energyc.mathematics.ir.indexing import Affine, axis
from energyc.mathematics.ir.nodes import LogSumExp, Reduction, Stop
from energyc.mathematics.sparse import Segment

#: The most nodes from one buffer to the next, and the most terms of a sum. Expressions that are deeper than people
#: write them are computed in several statements.
DEEPEST = 50


class NotLowered(Exception):
    """A network that no kernel is made for; the text says why."""


def _refused(node: Node) -> NotLowered:
    """Why a kind of node has no statements."""
    kinds = {"BatchStatistic": "a sample depends on the others of its batch"}
    return NotLowered(kinds.get(type(node).__name__, f"no kernel computes a {type(node).__name__}"))


class Lowering:
    """Lowers the nodes that some roots need, each once.

    ``given`` are the buffers of what the caller passes or an earlier part has made. Inputs that are not among them are
    added as they are met. ``factor`` gives the number of a coefficient. ``target`` is what the kernels are printed for,
    by the name that the table of functions knows. ``steps`` holds statements and products in the order of their
    dependencies.
    """

    def __init__(
        self,
        sizes: Mapping[str, int],
        factor: Callable[[Coefficient], float],
        given: Mapping[Node, Buffer],
        offered: Mapping[Node, str],
        names: Mapping[Node, str],
        text: Callable[[Node], str],
        target: str,
        rows: Rows = "array",
    ) -> None:
        self.sizes, self.factor = sizes, factor
        self.buffers = dict(given)
        self.offered, self.names, self.text = offered, names, text
        self.target, self.rows = target, rows
        self.asked: list[tuple[Node, Buffer]] = []
        self.steps: list[Step] = []
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

    def fill(self, roots: Iterable[Node]) -> None:
        """Fill buffers on the way to deep roots, from the bottom up.

        Between two of them are at most ``DEEPEST`` nodes, so that neither a lowering nor an expression nests deeper.
        """
        depths: dict[Node, int] = {}
        for node in walk(roots, ChainMap[Node, object](self.buffers, self.offered)):  # type: ignore[arg-type]
            depth = 1 + max((depths.get(child, 0) for child in node.children), default=0)
            if depth > DEEPEST:
                self._made_or_held(node)
            depths[node] = depth if depth <= DEEPEST else 0

    def hold(self, nodes: Iterable[Node]) -> None:
        """Fill buffers with nodes that cost something, even if others could write them where they read them."""
        for node in nodes:
            if not (self._is_cheap(node) or (isinstance(node, Einsum) and self.solution(node).never)):
                self._made_or_held(node)

    # ------------------------------------------------------------ nodes

    def at(self, node: Node, place: Sequence[IndexExpr]) -> Expr:
        """The entry of a node at a place: read from a buffer, or an expression where that is as good."""
        if isinstance(node, Einsum) and self.solution(node).never:
            return ZERO
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
            kind: Literal["number", "given"] = "number" if isinstance(node, Input) and node.kind == "step" else "given"
            made = Buffer(name, self.extents(node), node.batched, kind, integers)
            self.buffers[node] = made
            self.asked.append((node, made))
        return self.buffers[node]

    def _ask_integers(self, node: Indicator | Position) -> None:
        """The integer inputs that an index expression reads are to be passed."""
        for read in node.children:
            if not (isinstance(read, Input) and read.kind == "flag"):
                self._asked(read)

    def extents(self, node: Node) -> tuple[int, ...]:
        """The sizes of a node's dims."""
        return tuple(self.sizes[dim] for dim in node.dims)

    def _inlined(self, node: Node) -> bool:
        """Whether an expression is computed where it is read: it is read once, or costs nothing."""
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
        return len(tensors) <= 1 and all(self._is_cheap(child) or not self._inlined(child) for child in tensors)

    def _folds(self, node: Einsum) -> bool:
        """Whether an einsum adds up several terms."""
        return self.solution(node).folds

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
                return applied(self._function(node), self.at(node.argument, place))
            case Einsum():
                return self.term(node)
            case Indicator():
                return Where(outside_training(node.condition), expression(1), ZERO)
            case Position():
                return IndexValue(node.value)
            case Stop():
                return self.at(node.argument, place)
        raise _refused(node)

    def _function(self, node: Map) -> ScalarFunction:
        """The function of a map. Raises NotLowered where the target of the kernels does not write it."""
        function = node.function
        if function.slope is not None or not function.entry.is_written_in(self.target):
            raise NotLowered(f"no kernel computes {function.name}")
        return function.entry

    def _total(self, node: Add) -> Expr:
        """A sum; matrix products in it that nothing else reads are added up in one buffer.

        One that is the same for all samples in a sum that is not stays apart.
        """
        place = labels_of(len(node.dims))
        gathered: Buffer | None = None
        terms: list[Expr] = []
        for coefficient, term in node.terms:
            gathers = term.batched == node.batched and self._is_gathered(term)
            product = self.product(term, coefficient, gathered) if gathers else None
            if product is None:
                terms.append(scaled(self.factor(coefficient), self.at(term, place)))
                continue
            if gathered is None:
                gathered = product.target
                terms.append(Load(gathered, place))
            self.steps.append(product)
        return self._short(node, [term for term in terms if term != ZERO])

    def _short(self, node: Node, terms: list[Expr]) -> Expr:
        """A sum; the first terms of a long one are a statement of their own, and so on, in the same order."""
        place = labels_of(len(node.dims))
        while len(terms) > DEEPEST:
            first = self.put("total", self.extents(node), node.batched, Sum(tuple(terms[:DEEPEST])))
            terms = [Load(first, place), *terms[DEEPEST:]]
        return Sum(tuple(terms))

    def _is_gathered(self, node: Node) -> bool:
        """Whether a term is added to what others sum up to: nothing else reads it, and it differs along all axes."""
        if not isinstance(node, Einsum) or node in self.buffers or self.uses[node] != 1 or not self._folds(node):
            return False
        places = [place for _, places in self.solution(node).operands for place in places]
        return {label for place in places for label in place.axes()} >= set(range(len(node.out)))

    def term(self, node: Einsum) -> Expr:
        """A product of entries, times the factor; 0 where its conditions do not hold."""
        solved = self.solution(node)
        factors = [self.at(operand, place) for operand, place in solved.operands]
        value = scaled(self.factor(node.coefficient), *factors)
        return Where(conjunction(solved.conditions), value, ZERO) if solved.conditions and value != ZERO else value

    def solution(self, node: Einsum) -> Solved:
        """The einsum with its equalities of indices solved."""
        if node not in self.solutions:
            for operand in node.operands:
                if isinstance(operand.node, Indicator):
                    self._ask_integers(operand.node)
            self.solutions[node] = solved(node, self.sizes)
        return self.solutions[node]

    # ------------------------------------------------------------ buffers

    def _made(self, node: Node) -> Buffer:
        """The statements that fill a buffer with a node."""
        if isinstance(node, Reduction | Segment):
            return self._reduction(node)
        if isinstance(node, Einsum) and self._folds(node):
            product = self.product(node, ONE, None)
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
        target = Buffer(name, tuple(sizes), batched)
        self.steps.append(Statement(target, (*sizes, *reduced), expr, fold, label))  # type: ignore[arg-type]
        return target

    def name(self, node: Node) -> str:
        """The name of a node's buffer."""
        return self.names.get(node) or {Softmax: "weights", LogSumExp: "level", Map: "image"}.get(type(node), "total")

    def product(self, node: Node, coefficient: Coefficient, target: Buffer | None) -> MatrixProduct | None:
        """An einsum as a matrix product into a buffer, added to what is there where it is given; None if it is none."""
        assert isinstance(node, Einsum)
        solved = self.solution(node)
        if len(solved.operands) != 2 or solved.conditions or solved.scatters:
            return None
        factor = self.factor(coefficient * node.coefficient)
        loads: list[Load] = []
        for operand, place in solved.operands:
            plain = operand in self.buffers or self._is_cheap(operand)
            scale, load = plain_load(self.at(operand, place)) if plain else (1.0, None)
            if load is None:
                load = Load(self._made_or_held(operand), place)
            loads.append(load)
            factor = factor if scale == 1 else factor * scale
        into = target or Buffer(self.names.get(node, "product"), self.extents(node), node.batched)
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
        self.hold_narrow(node)
        if solved.scatters:
            return self._scattered(node, solved)
        sizes = self.extents(node)
        reduced = solved.extents[len(sizes) :]
        return self.put(self.name(node), sizes, node.batched, self.term(node), "sum", reduced, self.text(node))

    def hold_narrow(self, node: Einsum) -> None:
        """Fill buffers with the operands of a sum that do not differ along all of its labels."""
        solved = self.solution(node)
        for operand, place in solved.operands:
            used = {label for expr in place for label in expr.axes()}
            if len(used) < len(solved.extents) and self._inlined(operand) and not self._is_cheap(operand):
                self._made_or_held(operand)

    def _scattered(self, node: Einsum, solved: Solved) -> Buffer:
        """A sum over edges: terms that go to one place are added up, edge by edge."""
        own, labels = range(solved.plain), range(len(solved.extents))
        read = {label for place in solved.out for label in place.axes()}
        edges = [k for k in labels if k not in own and k in read]
        rest = [k for k in labels if k not in own and k not in read]
        order = [*own, *edges, *rest]
        extents = [solved.extents[k] for k in order]
        at = [axis(order.index(k)) for k in labels]
        expr, count = relocated(self.term(node), at), len(extents) - len(rest)
        if rest:
            part = self.put("part", extents[:count], node.batched, expr, "sum", extents[count:])
            expr = Load(part, labels_of(count))
        place = [substituted(place, at) for place in solved.out]
        name, sizes = self.name(node), self.extents(node)
        return self.scatter(name, sizes, node.batched, expr, "sum", extents[:count], place, self.text(node))

    def scatter(
        self,
        name: str,
        sizes: Sequence[int],
        batched: bool,
        expr: Expr,
        fold: Literal["sum", "max"],
        extents: Sequence[int],
        place: Sequence[IndexExpr],
        label: str = "",
    ) -> Buffer:
        """A new buffer, and what adds to its places; in memory first where rows are in registers."""
        if self.rows == "registers":
            if any(Affine.of(part, self.sizes) is None for at in place for part in at.parts):
                raise NotLowered("an edge is looked up by way of another one")
            if not (isinstance(expr, Load) and expr.place == labels_of(len(extents))):
                expr = Load(self.put("entries", extents, batched, expr), labels_of(len(extents)))
        target = Buffer(name, tuple(sizes), batched)
        self.steps.append(Scatter(target, tuple(extents), tuple(place), expr, fold, label))
        return target

    def _reduction(self, node: Reduction | Segment) -> Buffer:
        """Softmax, logsumexp, max and argmax over the entries that a guard lets through."""
        argument, sizes = node.argument, self.extents(node.argument)
        if self._inlined(argument) and not self._is_input(argument) and not self._is_cheap(argument):
            self._made_or_held(argument)
        entry = self.at(argument, labels_of(len(sizes)))
        condition = TRUE
        if node.guard is not None:
            self._ask_integers(node.guard.indicator)
            own = outside_training(node.guard.indicator.condition)
            condition = substituted(own, [axis(k) for k in node.guard.axes])
        if isinstance(node, Segment):
            for read in node.place.inputs:
                self._asked(read)
            kind, across = node.kind, over_edges(self, node, sizes, self.sizes[node.over])
        else:
            kind, across = type(node), along(self, sizes, node.batched, node.axes)
        called = self.name(node), self.text(node)
        return reduction(self, kind, across, sizes, node.batched, entry, condition, called)
