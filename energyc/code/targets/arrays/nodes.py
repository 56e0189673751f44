"""Every kind of node as an expression of arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import ClassVar, Literal, Self

import numpy as np

from energyc.code.module.context import Context
from energyc.code.module.symbols import Symbols
from energyc.code.targets.arrays.access import Access, AccessWriter, access_of
from energyc.code.targets.arrays.code import Code, one_or_all, product, scaled, tree
from energyc.code.targets.arrays.einsum import (
    BATCH,
    Label,
    arranged,
    diagonal,
    pairwise,
    reduction,
    summed_where_unshared,
)
from energyc.code.targets.arrays.index import IndexWriter, axes_missing, constant
from energyc.code.targets.arrays.sums import Term, full_axes, like_terms_collected, sum_of_terms
from energyc.code.tree.expressions import Expr, Number, number
from energyc.mathematics.functions import Form, ScalarFunction
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
    LogSumExp,
    Map,
    Max,
    Node,
    NoRule,
    Operand,
    Position,
    Softmax,
    Stop,
)
from energyc.mathematics.ir.interpreter import evaluate
from energyc.mathematics.ir.nodes import Reduction
from energyc.mathematics.sparse import Segment

#: The runtime's function for each reduction over segments.
SEGMENTED: Mapping[type[Reduction], str] = MappingProxyType(
    {
        Softmax: "segment_softmax",
        LogSumExp: "segment_logsumexp",
        Max: "segment_max",
        ArgMax: "segment_first_largest",
    }
)


class ArrayWriter:
    """Writes nodes as expressions of what is already named, in the library that ``kind`` is.

    ``symbols`` are sizes and consts; ``letters`` the wished letters of each dim in an einsum.
    """

    kind: ClassVar[type[Code]]

    def __init__(self, symbols: Symbols, letters: Mapping[str, str]) -> None:
        self.symbols = symbols
        self.sizes: Mapping[str, int] = symbols.sizes
        self.values = symbols.values
        self.letters = letters
        self.names: dict[Node, Expr] = {}
        self.masks: dict[Node, Expr] = {}
        self._known: dict[Node, float | None] = {}
        self._access = AccessWriter(self.sizes, self.code, self.kind)
        self._rules: tuple[tuple[type[Node], Callable[..., Code]], ...] = (
            (Input, self._input),
            (Einsum, self._einsum),
            (Add, self._add),
            (Map, self._map),
            (Softmax, self._softmax),
            (LogSumExp, self._logsumexp),
            (Max, self._max),
            (ArgMax, self._argmax),
            (Segment, self._segment),
            (Indicator, self._indicator),
            (Position, self._position),
            (BatchStatistic, self._batch_statistic),
            (Stop, self._stop),
        )

    @classmethod
    def of(cls, context: Context) -> Self:
        """The writer of a class."""
        return cls(context.symbols, context.letters)

    @contextmanager
    def scope(self, names: Mapping[Node, Expr]) -> Iterator[None]:
        """Names that hold inside a routine only."""
        kept = dict(self.names)
        self.names.update(names)
        try:
            yield
        finally:
            self.names = kept

    def code(self, node: Node) -> Code:
        """The node as an expression."""
        if node in self.names:
            return self.kind(self.names[node])
        return self.define(node)

    def define(self, node: Node) -> Code:
        """The node's own expression, whether it has a name or not."""
        for kind, rule in self._rules:
            if isinstance(node, kind):
                code = rule(node)
                if isinstance(code.expr, Number):  # terms that cancelled; what they are part of may be a number now
                    self._known = {n: value for n, value in self._known.items() if value is not None}
                    self._known[node] = float(code.expr.value)
                return code
        raise NoRule(self.kind.target, node)

    def form(self, function: ScalarFunction) -> Form:
        """How the library writes a function."""
        return function.form(self.kind.target)

    def factor(self, coefficient: Coefficient) -> float:
        """An exact factor as a float."""
        return self.symbols.factor(coefficient)

    def labels(self, node: Node, axes: Sequence[int]) -> list[Label]:
        """The labels of a tensor's axes, the batch among them."""
        return [*([BATCH] if node.batched else []), *axes]

    def wishes(self, node: Einsum) -> dict[Label, str]:
        """The letters that the spec uses for an einsum's labels."""
        return {k: self.letters.get(dim, "") for k, dim in enumerate(node.labels)}

    def extents(self, node: Einsum) -> dict[Label, int]:
        """The sizes of an einsum's labels; what is stacked has no dim."""
        return {k: self.sizes[dim] for k, dim in enumerate(node.labels) if dim in self.sizes}

    # ------------------------------------------------------------ leaves

    def _input(self, node: Input) -> Code:
        raise KeyError(f"the input {node.name!r} has no name here")

    def _index_writer(self, node: Node) -> IndexWriter:
        extents = [self.sizes[d] for d in node.dims]
        return IndexWriter(extents, self.sizes, self.code, self.kind)

    def mask(self, node: Indicator) -> Code:
        """An indicator as truth values."""
        if node in self.masks:
            return self.kind(self.masks[node])
        return self.define_mask(node)

    def define_mask(self, node: Indicator) -> Code:
        """An indicator's own expression as truth values."""
        return self._filled(node, self._index_writer(node).write(node.condition), node.condition)

    def _filled(self, node: Indicator | Position, code: Code, expr: IndexExpr) -> Code:
        if (known := constant(expr, self.sizes)) is not None:
            return self._full(node, known, "bool" if isinstance(node, Indicator) else "real")
        if axes_missing(expr, len(node.dims)):
            return self._spread(node, code)
        return code

    def _spread(self, node: Node, code: Code) -> Code:
        """A tensor at the full size of its node."""
        return code.spread(node.batched, [self.sizes[d] for d in node.dims])

    def _full(self, node: Node, value: float, kind: Literal["real", "bool"]) -> Code:
        """An array of one value everywhere, of a node that is the same for all samples."""
        shape = tuple(self.sizes[d] for d in node.dims)
        return self.kind.full(shape, tree(value) if isinstance(value, bool) else number(value), kind)

    def tensor(self, node: Node) -> Code:
        """The node as an expression that is an array, where :meth:`code` may be a number."""
        code = self.code(node)
        if (known := self.constant_value(node)) is not None:
            return self._full(node, known, "real")
        return code

    def _indicator(self, node: Indicator) -> Code:
        return self.mask(node).real()

    def _position(self, node: Position) -> Code:
        code = self._index_writer(node).write(node.value)
        return self._filled(node, code, node.value).real()

    def _batch_statistic(self, node: BatchStatistic) -> Code:
        """A constant to differentiation, as a spec says of it."""
        argument = self.tensor(node.argument)
        code = self.kind.called("batch_median", argument) if node.kind == "median" else argument.method("mean", 0)
        return code.stopped()

    def _stop(self, node: Stop) -> Code:
        return self.tensor(node.argument).stopped()

    # ------------------------------------------------------------ sums and products

    def _einsum(self, node: Einsum) -> Code:
        if (known := self.constant_value(node)) is not None:
            return self.kind(number(known))
        return self._expanded(node, scaled(*self.product(ONE, node)))

    def product(self, coefficient: Coefficient, node: Einsum) -> tuple[float, Code]:
        """A number times an einsum, which may have one of its own; a sum divided by its dims' sizes is a mean."""
        bare, coefficient = self.bare(node), coefficient * node.coefficient
        sizes = math.prod((Coefficient.symbol(str(dim)) for dim in bare.over), start=ONE)
        left = {name: -power for name, power in coefficient.powers}
        if bare.mean is not None and all(left.get(dim, 0) >= count for dim, count in sizes.powers):
            return self.factor(coefficient * sizes), bare.mean
        return self.factor(coefficient), bare

    def bare(self, node: Einsum) -> Code:
        """An einsum without its coefficient; what it broadcasts over may have size 1 or be missing in front."""
        if len(node.operands) == 1:
            return self._unary(node)
        access = access_of(node)
        special = self.convolution(node) or (access and self._access.write(access))
        return special.plain if special else self._pair(node)

    def convolution(self, node: Einsum) -> Code | None:
        """An einsum as a convolution of the library, coefficient apart, where it is one and better so."""
        return None

    def kernel_gradient(self, node: Einsum) -> Code | None:
        """An einsum summed over the batch where it is the slope of a convolution by its kernel."""
        return None

    def places_read(self, access: Access, labels: Sequence[int]) -> Code | None:
        """The places that an access reads, [batch, an axis for each of the labels]; None where one may be none."""
        return self._access.index(access, labels) if self._access.is_certain(access) else None

    def _over(self, node: Einsum, code: Code) -> Code:
        """Tells a sum which dims its labels have; one of another product knows them already."""
        return replace(code, over=tuple(node.labels[k] if isinstance(k, int) else k for k in code.over))

    def _pair(self, node: Einsum) -> Code:
        a, b = sorted(node.operands, key=lambda o: (not o.node.batched, -len(o.axes)))
        if not b.node.batched and not b.axes and (known := self.constant_value(b.node)) is not None:
            return self._scaled_by(node, a, known)
        la, lb = self.labels(a.node, a.axes), self.labels(b.node, b.axes)
        out = self.labels(node, node.out)
        ca, la = summed_where_unshared(self.code(a.node), la, [*lb, *out] if set(la) & set(lb) else [*la])
        cb, lb = summed_where_unshared(self.code(b.node), lb, [*la, *out])
        have = [x for x in out if x in la or x in lb]
        return self._over(
            node, arranged(pairwise(ca, la, cb, lb, have, self.wishes(node), self.extents(node)), have, out)
        )

    def _scaled_by(self, node: Einsum, operand: Operand, factor: float) -> Code:
        """A product with a number that is not a coefficient: it is a sum of consts, as ``1 - gamma``."""
        alone = self._summed(node, operand).plain
        return product(self.kind(number(factor)), alone)

    def _unary(self, node: Einsum) -> Code:
        (operand,) = node.operands
        labels, out = self.labels(operand.node, operand.axes), self.labels(node, node.out)
        if (counts := self._access.segment_count(node)) is not None:
            have = [x for x in out if x in labels]
            return self._over(node, arranged(counts, have, out))
        return self._summed(node, operand)

    def _summed(self, node: Einsum, operand: Operand) -> Code:
        """One operand of an einsum alone: its diagonal, summed and arranged."""
        labels, out = self.labels(operand.node, operand.axes), self.labels(node, node.out)
        inner = self.code(operand.node)
        if len(set(labels)) != len(labels):
            inner, labels = diagonal(inner, labels, self.wishes(node))
        have = [x for x in out if x in labels]
        return self._over(node, arranged(reduction(inner, labels, have), have, out))

    def _expanded(self, node: Einsum, code: Code) -> Code:
        """A result with its broadcast dims at full size."""
        if len(present_axes(node)) == len(node.out):
            return code
        return self._spread(node, code)

    def _add(self, node: Add) -> Code:
        if (known := self.constant_value(node)) is not None:
            return self.kind(number(known))
        terms = self.terms(node)
        code = sum_of_terms(terms)
        if self.full(node, terms):
            return code
        return self._spread(node, code)

    def terms(self, node: Add) -> list[Term]:
        """The terms of a sum in order; sums inside it that have no name are opened."""
        return like_terms_collected([self._term(*term) for term in self.flat(node)])

    def full(self, node: Node, terms: Iterable[Term]) -> bool:
        """Whether terms, broadcast against each other, have the size of the whole."""
        return len(full_axes(terms)) == len(node.dims) + node.batched

    def flat(self, node: Add, factor: Coefficient = ONE) -> Iterator[tuple[Coefficient, Node]]:
        """The terms of a sum and of the sums in it that have no name, each with its factor."""
        for coefficient, term in node.terms:
            inner = factor * coefficient
            if isinstance(term, Add) and term not in self.names:
                yield from self.flat(term, inner)
            else:
                yield inner, term

    def _term(self, factor: Coefficient, node: Node) -> Term:
        if (known := self.constant_value(node)) is not None:
            return Term(self.factor(factor) * known, None)
        batch = frozenset({-1} if node.batched else {})
        if isinstance(node, Einsum) and node not in self.names:
            return Term(*self.product(factor, node), batch | present_axes(node))
        return Term(self.factor(factor), self.code(node), batch | set(range(len(node.dims))))

    def constant_value(self, node: Node) -> float | None:
        """The value of a node that is one number everywhere, whether it has a name or not."""
        if node not in self._known:
            self._known[node] = self._constant_value(node)
        return self._known[node]

    def _constant_value(self, node: Node) -> float | None:
        if isinstance(node, Einsum) and not node.operands:
            return self.factor(node.coefficient)
        if isinstance(node, Einsum) and not node.contracted:
            values = [self.constant_value(operand.node) for operand in node.operands]
            known = [value for value in values if value is not None]
            return self.factor(node.coefficient) * math.prod(known) if len(known) == len(values) else None
        if isinstance(node, Add):
            parts = [(self.factor(c), self.constant_value(term)) for c, term in node.terms]
            return sum(c * v for c, v in parts if v is not None) if all(v is not None for _, v in parts) else None
        return None

    # ------------------------------------------------------------ functions and reductions

    def _map(self, node: Map) -> Code:
        argument = self.tensor(node.argument)
        form = self.form(node.function.entry)
        return self.kind.formed(form.text, argument)

    def _axes(self, node: Reduction) -> list[int]:
        return [axis + node.batched for axis in node.axes]

    def _guard(self, guard: Guard, argument: Node) -> Code:
        """The mask, viewed so that it broadcasts to the argument."""
        labels = self.labels(guard.indicator, guard.axes)
        out = self.labels(argument, range(len(argument.dims)))
        return arranged(
            self.mask(guard.indicator), labels, [BATCH, *out] if BATCH in labels and BATCH not in out else out
        )

    def _never_empty(self, node: Reduction) -> bool:
        """Whether every slice that is reduced has an entry, as far as can be seen while compiling."""
        guard = node.guard
        if guard is None:
            return True
        if guard.indicator.children:
            return False
        (mask,) = evaluate([guard.indicator], {}, sizes=self.sizes, values=self.values)
        gone = tuple(k for k, axis in enumerate(guard.axes) if axis in node.axes)
        return bool(np.all(mask.any(axis=gone))) if gone else bool(np.all(mask))

    def argument(self, node: Reduction) -> Code:
        """The argument of a reduction, with a batch axis where the guard has one."""
        code = self.tensor(node.argument)
        return code.at(None) if node.batched and not node.argument.batched else code

    def _masked(self, node: Reduction) -> Code:
        argument = self.argument(node)
        if node.guard is None:
            return argument
        mask = self._guard(node.guard, node.argument)
        return argument.masked(mask)

    def _softmax(self, node: Softmax) -> Code:
        axes = self._axes(node)
        argument = self._masked(node)
        if axes == list(range(axes[0], axes[-1] + 1)) and self._never_empty(node):
            return argument.softmax(axes, [self.sizes[node.argument.dims[a]] for a in node.axes])
        return self.kind.called("softmax", argument, one_or_all(axes))

    def _logsumexp(self, node: LogSumExp) -> Code:
        code = self._masked(node).logsumexp(self._axes(node))
        if self._never_empty(node):
            return code
        return self._or_zero(code)

    def _or_zero(self, code: Code) -> Code:
        """An empty reduction gives 0."""
        return self.kind.called("or_zero", code)

    def _max(self, node: Max) -> Code:
        code = self.kind.called("largest_entry", self._masked(node), one_or_all(self._axes(node)))
        return code if self._never_empty(node) else self._or_zero(code)

    def _segment(self, node: Segment) -> Code:
        """A reduction over segments; the last axes of the argument are one, as the functions of the runtime ask."""
        argument, first = node.argument, len(node.argument.dims) - node.count + 1
        code = self.tensor(argument)
        if not argument.batched:
            code = code.at(None)
        given = [code, self._index_writer(argument).write(node.place), self.kind(tree(self.sizes[node.over]))]
        if node.guard is not None:
            mask = self._guard(node.guard, argument)
            given.append(mask if node.guard.indicator.batched else mask.at(None))
        sizes = tuple(self.sizes[dim] for dim in argument.dims[-node.count :])
        if node.count > 1:
            for k in (0, 1, *((3,) if node.guard else ())):
                given[k] = given[k].rows(first, sizes) if k else given[k].merged(first)
        code = self.kind.called(SEGMENTED[node.kind], *given)
        if node.count > 1 and node.kind.keeps_axes:
            return code.parted(first, sizes)
        return code

    def _argmax(self, node: ArgMax) -> Code:
        return self.kind.called("first_largest", self._masked(node), one_or_all(self._axes(node)))


def present_axes(node: Einsum) -> set[int]:
    """The axes of an einsum that an operand has; it broadcasts over the others."""
    labels = {label for operand in node.operands for label in operand.axes}
    return {axis for axis, label in enumerate(node.out) if label in labels}
