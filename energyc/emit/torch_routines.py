"""A planned routine as the lines of a Python function."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from energyc.emit.code import PRODUCT, SUM, Code, product, scaled
from energyc.emit.names import Identifiers
from energyc.emit.torch_access import access_of
from energyc.emit.torch_einsum import BATCH, pairwise, reduction
from energyc.emit.torch_nodes import TorchWriter
from energyc.ir import Add, Einsum, Indicator, Input, Map, Node, Softmax
from energyc.ir.nodes import LogSumExp
from energyc.plan import Passes, PlannedRoutine

LINE = 118


class RoutineWriter:
    """Writes the body of one routine; names of inputs and of what is fixed are in the writer's scope already."""

    def __init__(self, writer: TorchWriter, identifiers: Identifiers, names: Mapping[Node, str], passes: Passes, batch: str) -> None:
        self.writer = writer
        self.identifiers = identifiers
        self.names = names
        self.passes = passes
        self.batch = batch
        self.lines: list[str] = []
        self.named: dict[Node, str] = {}

    def write(self, routine: PlannedRoutine) -> list[Code]:
        """The statements go to ``lines``; returns the expressions of the outputs."""
        late = _summed_late(routine)
        wishes = {o.node: o.wish for o in routine.outputs}
        results: list[Code] = []
        with self.writer.scope({}, in_place=self.passes.inplace):
            for node in routine.statements:
                if node not in late:
                    self._state(node, self.names.get(node) or wishes.get(node) or self._wish(node))
            for output in routine.outputs:
                results.append(self._summed(output.node) if output.summed else self._full(output.node))
        return results

    def prune(self, outputs: Sequence[Code]) -> None:
        """Drop assignments that nothing after them reads: the product that held them was written another way."""
        text = " ".join(code.text for code in outputs)
        kept: list[str] = []
        for line in reversed(self.lines):
            name = re.match(r"\w+", line)
            if name and re.search(rf"(?<![\w.\"]){name.group()}\b", text):
                kept.append(line)
                text += " " + (line.split("=", 1)[1] if re.match(r"\w+ = ", line) else line)
        self.lines = kept[::-1]

    # ------------------------------------------------------------ statements

    def _wish(self, node: Node) -> str:
        """A name that says what an anonymous node is."""
        match node:
            case Softmax():
                return "weights"
            case LogSumExp():
                return "level"
            case Map():
                return node.function.name if node.function.name != "power" else "power"
            case Einsum() if len(node.operands) == 2:
                parts = [self._short_name(o.node) for o in node.operands]
                joined = "_".join(p for p in parts if p)
                return joined if all(parts) and len(joined) <= 20 else "product"
            case Add():
                return "total"
            case Indicator():
                return "match"
        return "part"

    def _short_name(self, node: Node) -> str:
        if isinstance(node, Input):
            return node.name
        return self.names.get(node, "")

    def _state(self, node: Node, wish: str) -> None:
        if self.writer.known(node) is not None:
            return
        name = self.identifiers.new(wish)
        if isinstance(node, Add) and self.passes.inplace and self._accumulates(node):
            self._accumulate(name, node)
        else:
            self.lines.append(f"{name} = {self.writer.define(node).text}")
        self.writer.names[node] = self.named[node] = name

    def _accumulates(self, node: Add) -> bool:
        """Whether a sum is worth adding up in place: it has a term of its own memory at full size to add to."""
        coefficient, first = self.writer.ordered(node)[0]
        code = scaled(self.writer.factor(coefficient), self.writer.term(first))
        return bool(node.dims) and code.fresh and self.writer.spans(node, [first])

    def _accumulate(self, name: str, node: Add) -> None:
        terms = self.writer.ordered(node)
        coefficient, first = terms[0]
        self.lines.append(f"{name} = {scaled(self.writer.factor(coefficient), self.writer.term(first)).text}")
        for coefficient, term in terms[1:]:
            factor = self.writer.factor(coefficient)
            sign = "-=" if factor < 0 else "+="
            self.lines.append(f"{name} {sign} {scaled(abs(factor), self.writer.term(term)).text}")

    # ------------------------------------------------------------ outputs

    def _full(self, node: Node) -> Code:
        """An output; a constant or something without a batch is spread over the samples."""
        code = self.writer.code(node)
        if self.writer.known(node) is not None:
            shape = ", ".join([self.batch, *(str(self.writer.sizes[d]) for d in node.dims)]) + "," * (not node.dims)
            return Code(f"torch.full(({shape}), {code.text}, device=self.device, dtype=self.dtype)")
        if not node.batched:
            return code.method(f"expand({', '.join([self.batch, *(str(self.writer.sizes[d]) for d in node.dims)])})")
        return code

    def _summed(self, node: Node) -> Code:
        """An output added up over the batch, as part of its last product where there is one."""
        writer = self.writer
        if not node.batched:
            return product(Code(self.batch), writer.tensor(node))
        if node in writer.names:
            return Code(f"{writer.names[node]}.sum(0)")
        if isinstance(node, Add):
            return self._summed_add(node)
        if isinstance(node, Einsum):
            code = self._summed_einsum(node)
            return scaled(writer.factor(node.coefficient), code) if code else writer.define(node).method("sum(0)")
        return writer.code(node).method("sum(0)")

    def _summed_add(self, node: Add) -> Code:
        text = ""
        for coefficient, term in self.writer.ordered(node):
            factor = self.writer.factor(coefficient)
            code = self._summed(term)
            if not text:
                text = scaled(factor, code).at(SUM)
            else:
                text += f" {'-' if factor < 0 else '+'} {scaled(abs(factor), code).at(PRODUCT)}"
        return Code(text, SUM, True)

    def _summed_einsum(self, node: Einsum) -> Code | None:
        """An einsum without its coefficient, the batch among what is summed over; None where that is not so easy."""
        writer = self.writer
        present = {label for operand in node.operands for label in operand.axes}
        if not all(label in present for label in node.out):
            return None
        if len(node.operands) == 1:
            (operand,) = node.operands
            if not node.contracted and operand.axes == node.out and len(set(node.out)) == len(node.out):
                return self._summed(operand.node)
            if len(set(operand.axes)) != len(operand.axes):
                return None
            return reduction(writer.code(operand.node), [BATCH, *operand.axes], list(node.out))
        if access_of(node) is not None:
            return self._index_added(node)
        a, b = sorted(node.operands, key=lambda o: (not o.node.batched, -len(o.axes)))
        labels = [[*([BATCH] if o.node.batched else []), *o.axes] for o in (a, b)]
        codes = [writer.code(a.node), writer.code(b.node)]
        for k in (0, 1):
            gone = [x for x in labels[k] if x not in labels[1 - k] and x not in node.out]
            if gone and len(set(labels[k])) == len(labels[k]):
                kept = [x for x in labels[k] if x not in gone]
                codes[k], labels[k] = reduction(codes[k], labels[k], kept), kept
        wishes = {k: writer.letters.get(dim, "") for k, dim in enumerate(node.labels)}
        return pairwise(codes[0], labels[0], codes[1], labels[1], list(node.out), wishes)

    def _index_added(self, node: Einsum) -> Code | None:
        """The adjoint of a gather: each sample's slopes are added to the rows that it read."""
        access = access_of(node)
        assert access is not None
        if not access.scatters or access.index.op != "read" or any(p.op != "axis" for p in access.index.parts):
            return None
        read = [access.axis_label[p.args[0]] for p in access.index.parts]  # type: ignore[index]
        axes = list(access.source.axes)
        others = [a for a in axes if a not in read]
        if not access.source.node.batched or len(set(read)) != len(read) or not set(read) <= set(axes):
            return None
        if set(read) & set(node.out) or not set(others) <= set(node.out):
            return None
        reading = access.index.args[0]
        assert isinstance(reading, Node)
        self.writer.needed.add("scatter_add")
        source = reduction(self.writer.code(access.source.node), [BATCH, *axes], [BATCH, *read, *others])
        size = self.writer.sizes[node.labels[access.head]]
        code = Code(f"scatter_add({source.text}, {self.writer.code(reading).text}, {size})", fresh=True)
        return reduction(code, [access.head, *others], list(node.out))


def _summed_late(routine: PlannedRoutine) -> set[Node]:
    """Nodes whose sum over the batch is taken inside their last operation, so that no sample's own is ever stored."""
    late: set[Node] = set()
    stack = [o.node for o in routine.outputs if o.summed]
    while stack:
        node = stack.pop()
        if node in late:
            continue
        if isinstance(node, Add):
            late.add(node)
            stack.extend(node.children)
        elif isinstance(node, Einsum):
            late.add(node)
            if len(node.operands) == 1 and not node.contracted:
                stack.extend(node.children)
    plain = _entered(routine, late)
    return late - plain


def _entered(routine: PlannedRoutine, late: set[Node]) -> set[Node]:
    """Those of ``late`` that something else of the routine reads as they are."""
    read: set[Node] = set()
    for node in routine.statements:
        if node not in late or (isinstance(node, Einsum) and len(node.operands) == 2):
            read.update(node.children)
    read.update(o.node for o in routine.outputs if not o.summed)
    return read & late


HELPERS: Mapping[str, str] = {
    "scatter_add": '''def scatter_add(t: Tensor, index: Tensor, size: int) -> Tensor:
    """The adjoint of ``table[index]``: rows of t are added up where they were read from."""
    rows = t.reshape(index.numel(), *t.shape[index.dim() :])
    return t.new_zeros((size, *rows.shape[1:])).index_add_(0, index.reshape(-1), rows)''',
}

__all__ = ["HELPERS", "RoutineWriter"]
