"""A planned routine as the body of a Python function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from energyc.code.module.names import Identifiers
from energyc.code.plan import PlannedRoutine
from energyc.code.plan.late import summed_late
from energyc.code.targets.arrays.access import access_of
from energyc.code.targets.arrays.code import Code, product, tree
from energyc.code.targets.arrays.einsum import BATCH, Label, arranged, pairwise, reduction, summed_where_unshared
from energyc.code.targets.arrays.nodes import ArrayWriter, present_axes
from energyc.code.targets.arrays.sums import Term, full_axes, like_terms_collected, sum_of_terms
from energyc.code.targets.arrays.wishes import Wishes
from energyc.code.tree.expressions import Attribute, Expr, Name, Subscript, Tuple
from energyc.code.tree.statements import Assign, Body, Statement
from energyc.derivation.derive import Output
from energyc.mathematics.ir import ONE, Add, Coefficient, Einsum, Indicator, Node, walk
from energyc.mathematics.sparse import selection_of

#: Expressions of outputs: of each sample, and those summed over the batch.
Codes = tuple[dict[str, Code], dict[str, Code]]


class RoutineWriter:
    """Writes the body of one routine; names of inputs and of what is fixed are in the writer's scope already."""

    def __init__(self, writer: ArrayWriter, identifiers: Identifiers, names: Mapping[Node, str], batch: Expr) -> None:
        self.writer = writer
        self.identifiers = identifiers
        self.names = names
        self.batch = batch
        self.body: list[Statement] = []
        self.named: dict[Node, str] = {}
        self.reads: Counter[Node] = Counter()
        self.wishes = Wishes(self._short_name, self._own_name, {}, names)

    def finds(self, named: Mapping[Node, str]) -> None:
        """Nodes that have a line elsewhere, under their names."""
        self.named.update(named)

    def write(
        self,
        routine: PlannedRoutine,
        early: Callable[[Mapping[str, Code]], Body] | None = None,
        part_of: Sequence[Output] = (),
    ) -> Codes:
        """The statements go to ``body``; returns the expressions of the outputs by key.

        ``early`` gives an early return, for which only what is not summed is computed. ``part_of`` are outputs
        of other routines that the statements are parts of, by which they are named.
        """
        late = summed_late(routine.statements, routine.outputs)
        self.reads = _reads(routine, late)
        wishes = {o.node: o.wish for o in (*routine.outputs, *part_of)}
        self.wishes = Wishes(self._short_name, self._own_name, wishes, self.names)
        statements = [node for node in routine.statements if node not in late]
        plain = [output for output in routine.outputs if not output.summed]
        before = set(walk([output.node for output in plain])) if early else set(statements)
        with self.writer.scope({}):
            for node in (node for node in statements if node in before):
                self.state(node, self.names.get(node) or wishes.get(node) or self.wishes.of(node))
            codes = {output.key: self.full(output.node) for output in plain}
            self.body += early(codes) if early else ()
            for node in (node for node in statements if node not in before):
                self.state(node, self.names.get(node) or wishes.get(node) or self.wishes.of(node))
            return codes, {output.key: self._summed(output.node) for output in routine.outputs if output.summed}

    # ------------------------------------------------------------ statements

    def _short_name(self, node: Node) -> str:
        """The name of a node without its container; empty where its own name says nothing."""
        if isinstance(node, Indicator) and selection_of(node.condition, dict(enumerate(node.dims))):
            return "_".join(last_name(self.writer.names[read]) for read in node.children)
        if node in self.named:
            return self.names.get(node, "")
        return last_name(self.writer.names[node]) if node in self.writer.names else ""

    def _own_name(self, node: Node) -> str:
        """The name of a node, whether it is the spec's or not; empty where it has none."""
        return self.named.get(node) or (last_name(self.writer.names[node]) if node in self.writer.names else "")

    def state(self, node: Node, wish: str) -> None:
        """An assignment that gives a node a name; none for a number."""
        if self.writer.constant_value(node) is not None:
            return
        name = self.identifiers.new(wish)
        self.body.append(Assign(Name(name), self.writer.define(node).expr))
        self.named[node] = name
        self.writer.names[node] = Name(name)

    # ------------------------------------------------------------ outputs

    def full(self, node: Node) -> Code:
        """An output; a constant or something without a batch is spread over the samples."""
        code = self.writer.code(node)
        if self.writer.constant_value(node) is not None:
            return self.writer.kind.full(Tuple(self._shape(node)), code)
        return code if node.batched else code.expanded(*self._shape(node))

    def _shape(self, node: Node) -> tuple[Expr, ...]:
        """The sizes of a node for all samples."""
        return self.batch, *(tree(self.writer.sizes[dim]) for dim in node.dims)

    def _summed(self, node: Node) -> Code:
        """An output added up over the batch, as part of its last product where there is one."""
        writer = self.writer
        if not node.batched:
            return product(writer.kind(self.batch), writer.tensor(node))
        addends = list(writer.flat(node)) if isinstance(node, Add) and node not in writer.names else [(ONE, node)]
        terms = like_terms_collected([self._summed_term(*addend) for addend in addends])
        if len(full_axes(terms)) < len(node.dims):  # a broadcast view would share its memory
            return writer.define(node).method("sum", 0)
        return sum_of_terms(terms)

    def _summed_term(self, coefficient: Coefficient, node: Node) -> Term:
        writer, factor, everywhere = self.writer, self.writer.factor(coefficient), frozenset(range(len(node.dims)))
        if not node.batched or node in writer.names or not isinstance(node, Einsum):
            code = self._summed(node) if not node.batched else writer.code(node).method("sum", 0)
            return Term(factor, code, everywhere)
        summed = self._summed_einsum(node)
        if summed is None:
            return Term(factor, writer.define(node).method("sum", 0), everywhere)
        whole, value = writer.factor(coefficient * node.coefficient), factor * writer.factor(node.coefficient)
        return Term(whole if whole == value else value, summed, frozenset(present_axes(node)))

    def _summed_einsum(self, node: Einsum) -> Code | None:
        """An einsum without its coefficient, the batch among what is summed over; None where that is not so easy.

        What it broadcasts over has size 1, or is missing in front.
        """
        have = [node.out[axis] for axis in sorted(present_axes(node))]
        code = self._summed_product(node, have)
        return None if code is None else arranged(code, have, list(node.out))

    def _summed_product(self, node: Einsum, out: Sequence[Label]) -> Code | None:
        """What an einsum has along ``out``, its labels that some operand has."""
        writer, full = self.writer, len(out) == len(node.out)
        if len(node.operands) == 1:
            (operand,) = node.operands
            if not node.contracted and list(operand.axes) == list(out) and len(set(out)) == len(out):
                return self._summed(operand.node)
            if len(set(operand.axes)) != len(operand.axes):
                return None
            return reduction(writer.code(operand.node), [BATCH, *operand.axes], list(out))
        if access_of(node) is not None:
            return self._index_added(node) if full else None
        if full and (code := writer.kernel_gradient(node)) is not None:
            return code
        a, b = sorted(node.operands, key=lambda o: (not o.node.batched, -len(o.axes)))
        la, lb = writer.labels(a.node, a.axes), writer.labels(b.node, b.axes)
        ca, la = summed_where_unshared(writer.code(a.node), la, [*lb, *out])
        cb, lb = summed_where_unshared(writer.code(b.node), lb, [*la, *out])
        return pairwise(ca, la, cb, lb, list(out), writer.wishes(node), writer.extents(node))

    def _index_added(self, node: Einsum) -> Code | None:
        """The adjoint of a gather: each sample's slopes are added to the rows that it read."""
        access = access_of(node)
        assert access is not None
        if not access.scatters or access.index.op != "read":
            return None
        if not access.source.node.batched or not any(read.batched for read in access.index.inputs):
            return None
        read, axes = access.rest_as_read, list(access.source.axes)
        others = [a for a in axes if a not in read]
        if len(set(axes)) != len(axes) or not set(read) <= set(axes):
            return None  # a diagonal; or an entry for each place, whatever the source
        if set(read) & set(node.out) or not set(others) <= set(node.out):
            return None
        if (index := self.writer.places_read(access, read)) is None:
            return None
        source = reduction(self.writer.code(access.source.node), [BATCH, *axes], [BATCH, *read, *others])
        size = self.writer.sizes[node.labels[access.head]]
        code = self.writer.kind.called("scatter_add", source, index, size)
        return reduction(code, [access.head, *others], list(node.out))


def last_name(expr: Expr) -> str:
    """The last part of a name, without its container."""
    match expr:
        case Attribute(_, name) | Name(name):
            return name
        case Subscript(value, _):
            return last_name(value)
    return ""


def _reads(routine: PlannedRoutine, late: set[Node]) -> Counter[Node]:
    """How often each node is read in the text: what has no line of its own is written wherever it is read."""
    stated = {node for node in routine.statements if node not in late}
    reads = Counter(output.node for output in routine.outputs)
    for node in reversed(list(walk(reads))):
        for child in node.children:
            reads[child] += 1 if node in stated else reads[node]
    return reads
