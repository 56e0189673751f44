"""Windows, fixed positions, gathers, their adjoints in PyTorch: an einsum of one tensor with an equality of indices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from energyc.emit.code import ATOM, Code
from energyc.emit.torch_einsum import BATCH, Label, arranged, reduction
from energyc.ir import Einsum, IndexExpr, Indicator, Input, Node, Operand
from energyc.ir.indexing import Affine


@dataclass(frozen=True)
class Access:
    """An einsum ``sum[...](x * [head == index])`` with its parts told apart; ``rest`` are the labels of the index."""

    source: Operand
    index: IndexExpr
    head: int
    axis_label: Mapping[int, int]
    node: Einsum

    @property
    def rest(self) -> list[int]:
        """The labels that the index expression runs over, in the order of the indicator's axes."""
        return [label for axis, label in sorted(self.axis_label.items()) if label != self.head]

    @property
    def gathers(self) -> bool:
        """Whether the head is summed over (an access); else it is a result (a scatter)."""
        return self.head not in self.node.out and self.head in self.source.axes

    @property
    def scatters(self) -> bool:
        """Whether the head is a result that the tensor does not have."""
        return self.head in self.node.out and self.head not in self.source.axes


def access_of(node: Einsum) -> Access | None:
    """The access that an einsum of two operands is, or None."""
    if len(node.operands) != 2:
        return None
    for k in (0, 1):
        indicator, source = node.operands[k].node, node.operands[1 - k]
        if isinstance(indicator, Indicator) and not isinstance(source.node, Indicator):
            condition = indicator.condition
            axes = node.operands[k].axes
            if condition.op != "==" or condition.parts[0].op != "axis" or len(set(axes)) != len(axes):
                return None
            head = axes[condition.parts[0].args[0]]  # type: ignore[index]
            if condition.parts[0].args[0] in condition.parts[1].axes() or source.axes.count(head) > 1:
                return None
            return Access(source, condition.parts[1], head, dict(enumerate(axes)), node)
    return None


class AccessWriter:
    """Writes accesses."""

    def __init__(self, sizes: Mapping[str, int], code: Callable[[Node], Code]) -> None:
        self.sizes = sizes
        self.code = code

    def write(self, access: Access) -> Code | None:
        """The access, or None where only the dense form is right."""
        source_labels = list(access.source.axes)
        if len(set(source_labels)) != len(source_labels):
            return None
        if access.gathers and access.index.op != "read" and any(a in source_labels for a in access.rest):
            return None
        if access.index.op == "read":
            return self._gather(access) if access.gathers else None
        affine = Affine.of(access.index, self.sizes)
        if affine is None or len(affine.strides) != len(access.rest):
            return None
        if access.gathers:
            return self._windows(access, affine)
        return self._overlap_add(access, affine) if access.scatters else None

    def _extent(self, access: Access, label: int) -> int:
        return self.sizes[access.node.labels[label]]

    def _finished(self, access: Access, code: Code, labels: Sequence[Label]) -> Code:
        batch: list[Label] = [BATCH] if access.source.node.batched else []
        return _laid_out(code, [*batch, *labels], [*batch, *access.node.out])

    def _windows(self, access: Access, affine: Affine) -> Code:
        """``x[..., offset + stride * i + p, ...]`` as a view."""
        labels = list(access.source.axes)
        at = labels.index(access.head)
        batched = access.source.node.batched
        code = self.code(access.source.node)
        size = self.sizes[access.node.labels[access.head]]
        strides = [
            dict(affine.strides)[axis] for axis, label in sorted(access.axis_label.items()) if label != access.head
        ]
        counts = [self._extent(access, label) for label in access.rest]
        labels[at : at + 1] = access.rest
        if not counts:
            prefix = ":, " * (at + batched)
            code = Code(f"{code.at(4)}[{prefix}{affine.offset}]") if 0 <= affine.offset < size else None  # type: ignore[assignment]
            return self._finished(access, code, labels) if code else None  # type: ignore[return-value]
        last = affine.offset + sum(s * (n - 1) for s, n in zip(strides, counts, strict=True))
        if len(counts) == 1 and affine.offset >= 0 and strides[0] > 0 and last < size:
            step = f":{strides[0]}" if strides[0] != 1 else ""
            code = Code(f"{code.at(4)}[{':, ' * (at + batched)}{affine.offset}:{last + 1}{step}]")
        else:
            code = Code(f"windows({code.text}, {at + batched}, {affine.offset}, {_many(counts)}, {_many(strides)})")
        return self._finished(access, code, labels)

    def _overlap_add(self, access: Access, affine: Affine) -> Code | None:
        """The adjoint of a window: entries of overlapping windows are added up."""
        labels = list(access.source.axes)
        if any(label not in labels for label in access.rest) or any(label in access.node.out for label in access.rest):
            return None
        batched = access.source.node.batched
        others = [a for a in labels if a not in access.rest]
        code = reduction(
            self.code(access.source.node),
            [*([BATCH] if batched else []), *labels],
            [*([BATCH] if batched else []), *others, *access.rest],
        )
        if not access.rest:
            return self._placed(access, affine.offset, code, others)
        strides = [
            dict(affine.strides)[axis] for axis, label in sorted(access.axis_label.items()) if label != access.head
        ]
        size = self.sizes[access.node.labels[access.head]]
        code = Code(f"overlap_add({code.text}, {size}, {affine.offset}, {_many(strides)})", fresh=True)
        return self._finished(access, code, [*others, access.head])

    def _placed(self, access: Access, at: int, code: Code, labels: list[int]) -> Code | None:
        """The adjoint of a fixed position: zeros but there."""
        size = self.sizes[access.node.labels[access.head]]
        if not 0 <= at < size:
            return None
        code = Code(f"F.pad({code.at(ATOM)}[..., None], ({at}, {size - 1 - at}))", fresh=True)
        return self._finished(access, code, [*labels, access.head])

    def _gather(self, access: Access) -> Code | None:
        """``table[idx]`` for a table without a batch, ``take_along_dim`` for a sample's own tensor."""
        reading = access.index.args[0]
        assert isinstance(reading, Input)
        if any(part.op != "axis" for part in access.index.parts):
            return None
        read = [access.axis_label[part.args[0]] for part in access.index.parts]  # type: ignore[index]
        labels = list(access.source.axes)
        if set(read) != set(access.rest) or len(set(read)) != len(read):
            return None
        index = self.code(reading)
        table = self.code(access.source.node)
        if not access.source.node.batched:
            return self._table(access, table, index, read, labels)
        if any(label not in labels for label in read):
            return None
        at = labels.index(access.head) + 1
        slots = [":", *(":" if label in read else "None" for label in labels)]
        if [label for label in labels if label in read] != read:
            return None
        code = Code(f"{table.at(4)}.take_along_dim({index.at(4)}[{', '.join(slots)}], {at}).squeeze({at})", fresh=True)
        return self._finished(access, code, [a for a in labels if a != access.head])

    def _table(self, access: Access, table: Code, index: Code, read: list[int], labels: list[int]) -> Code | None:
        if any(label in labels for label in read):
            return None
        at = labels.index(access.head)
        code = Code(f"{table.at(4)}[{':, ' * at}{index.text}]", fresh=True)
        if at:  # the batch axis of the index stands in the middle: bring it to the front
            code = code.method(f"movedim({at}, 0)")
            labels[at : at + 1] = read
        else:
            labels[0:1] = read
        return _laid_out(code, [BATCH, *labels], [BATCH, *access.node.out])


def _laid_out(code: Code, labels: Sequence[Label], out: Sequence[Label]) -> Code:
    """A tensor summed over the labels that are not in ``out``, so that it broadcasts to ``out``."""
    have = [x for x in out if x in labels]
    return arranged(reduction(code, labels, have), have, out)


def _many(values: Sequence[int]) -> str:
    return f"({values[0]},)" if len(values) == 1 else f"({', '.join(map(str, values))})"
