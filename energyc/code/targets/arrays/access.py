"""Windows, fixed positions, gathers, their adjoints: an einsum of one tensor with an equality of indices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from energyc.code.targets.arrays.code import ALL, Code
from energyc.code.targets.arrays.einsum import BATCH, Label, arranged, reduction
from energyc.code.targets.arrays.index import IndexWriter
from energyc.code.tree.expressions import Number, Slice
from energyc.mathematics.ir import Einsum, IndexExpr, Indicator, Node, Operand
from energyc.mathematics.ir.indexing import Affine
from energyc.mathematics.sparse import selection_of


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
    def rest_as_read(self) -> list[int]:
        """The same in the order in which the index expression reads them."""
        return list(dict.fromkeys(self.axis_label[e.args[0]] for e in self.index.walk() if e.op == "axis"))  # type: ignore[index]

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
        equality, source = node.operands[k], node.operands[1 - k]
        if isinstance(equality.node, Indicator) and not isinstance(source.node, Indicator):
            return _access(node, equality, source)
    for k in (0, 1):  # a condition on edges, summed over the edges into a node
        access = selected(node, node.operands[k], node.operands[1 - k])
        if access is not None and (access.gathers or access.scatters):
            return access
    return None


def _access(node: Einsum, equality: Operand, source: Operand) -> Access | None:
    assert isinstance(equality.node, Indicator)
    if (chosen := selected(node, equality, source)) is not None:
        return chosen
    condition, axes = equality.node.condition, equality.axes
    if condition.op != "==" or condition.parts[0].op != "axis" or len(set(axes)) != len(axes):
        return None
    head = axes[condition.parts[0].args[0]]  # type: ignore[index]
    if condition.parts[0].args[0] in condition.parts[1].axes() or source.axes.count(head) > 1:
        return None
    return Access(source, condition.parts[1], head, dict(enumerate(axes)), node)


def selected(node: Einsum, equality: Operand, source: Operand | None) -> Access | None:
    """The access of a selection ``[n == dst[e]]``, or None where the equality is none."""
    indicator, axes = equality.node, equality.axes
    if not isinstance(indicator, Indicator) or len(set(axes)) != len(axes):
        return None
    chosen = selection_of(indicator.condition, dict(enumerate(indicator.dims)))
    if chosen is None or (source is not None and source.axes.count(axes[chosen.head]) > 1):
        return None
    return Access(source or equality, chosen.place, axes[chosen.head], dict(enumerate(axes)), node)


class AccessWriter:
    """Writes accesses."""

    def __init__(self, sizes: Mapping[str, int], code: Callable[[Node], Code], kind: type[Code]) -> None:
        self.sizes = sizes
        self.code = code
        self.kind = kind

    def write(self, access: Access) -> Code | None:
        """The access, or None where only the dense form is right."""
        source_labels = list(access.source.axes)
        if len(set(source_labels)) != len(source_labels) or not self.is_certain(access):
            return None
        if access.gathers and access.index.op != "read" and any(a in source_labels for a in access.rest):
            return None
        if access.index.op == "read" and not any(node.batched for node in access.index.inputs):
            return self._picked(access) if access.gathers else None
        if access.index.op == "read":
            if access.gathers:
                return self._gather(access)
            return self._segment_sum(access) if access.scatters else None
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

    def _windows(self, access: Access, affine: Affine) -> Code | None:
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
        before = [ALL] * (at + batched)
        if not counts:
            inside = 0 <= affine.offset < size
            return self._finished(access, code.at(*before, affine.offset), labels) if inside else None
        last = affine.offset + sum(s * (n - 1) for s, n in zip(strides, counts, strict=True))
        if len(counts) == 1 and affine.offset >= 0 and strides[0] > 0 and last < size:
            code = code.at(*before, _slice(affine.offset, strides[0], counts[0], size))
        else:
            code = code.windows(at + batched, (affine.offset, tuple(counts), tuple(strides)))
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
        code, sizes, places = _with_overlaps_within(code, affine.offset, tuple(strides))
        added = [others[place - batched] for place in places]
        code = code.overlap_add((*sizes, size), affine.offset, tuple(strides))
        return self._finished(access, code, [*(a for a in others if a not in added), *added, access.head])

    def _placed(self, access: Access, at: int, code: Code, labels: list[int]) -> Code | None:
        """The adjoint of a fixed position: zeros but there."""
        size = self.sizes[access.node.labels[access.head]]
        if not 0 <= at < size:
            return None
        code = code.placed(at, size - 1 - at)
        return self._finished(access, code, [*labels, access.head])

    # ------------------------------------------------------------ gathers and sums over segments

    def index(self, access: Access, labels: Sequence[int]) -> Code:
        """The places that a gather reads: the batch, then labels in this order, all that the index runs over."""
        writer, place = self._place(access, labels)
        return writer.write(place)

    def is_certain(self, access: Access) -> bool:
        """Whether what is read as a place is sure to be one; an affine index is zero outside by itself."""
        writer, place = self._place(access, access.rest)
        return place.op != "read" or writer.is_certain(place, access.node.labels[access.head])

    def _place(self, access: Access, labels: Sequence[int]) -> tuple[IndexWriter, IndexExpr]:
        """The index over labels, and what writes it."""
        number = {label: k for k, label in enumerate(labels)}
        extents = [self._extent(access, label) for label in labels]
        place = access.index.renumbered({axis: number[a] for axis, a in access.axis_label.items() if a in number})
        return IndexWriter(extents, self.sizes, self.code, self.kind), place

    def _aligned(self, access: Access, labels: Sequence[int]) -> Code:
        """The index with an axis for each of the labels, of size 1 for those that it does not run over."""
        own = [label for label in labels if label in access.rest]
        code = self.index(access, own)
        if len(own) == len(labels):
            return code
        return code.at(ALL, *(ALL if label in own else None for label in labels))

    def _picked(self, access: Access) -> Code:
        """``x[..., t, ...]`` at the number of the step, the same for all samples: a view."""
        labels = list(access.source.axes)
        at = labels.index(access.head) + access.source.node.batched
        labels.remove(access.head)
        code = self.code(access.source.node).at(*[ALL] * at, self.index(access, []))
        return self._finished(access, code, labels)

    def _gather(self, access: Access) -> Code | None:
        """``table[idx]`` for a table without a batch, ``gather`` or ``take_along_dim`` for a sample's own tensor."""
        labels = list(access.source.axes)
        new = [label for label in access.rest if label not in labels]
        if not access.source.node.batched and new == access.rest:
            return self._table(access, labels)
        at = labels.index(access.head)
        source = self.code(access.source.node)
        if not access.source.node.batched:
            source = source.at(None)
        if new and new == access.rest:
            code = self.kind.called("gather", source, self.index(access, new), at + 1)
            return _laid_out(code, [BATCH, *labels[:at], *new, *labels[at + 1 :]], [BATCH, *access.node.out])
        if len(new) > 1:
            return None
        taken = [*labels[:at], *(new or [access.head]), *labels[at + 1 :]]
        code = source.taken(self._aligned(access, taken), at + 1)
        if not new:
            code = code.method("squeeze", at + 1)
        return _laid_out(code, [BATCH, *(a for a in taken if a != access.head)], [BATCH, *access.node.out])

    def _table(self, access: Access, labels: list[int]) -> Code:
        at = labels.index(access.head)
        index = self.index(access, access.rest)
        code = replace(self.code(access.source.node).at(*[ALL] * at, index))
        if at:  # the batch axis of the index stands in the middle: bring it to the front
            code = code.first_axis(at)
        labels[at : at + 1] = access.rest
        return _laid_out(code, [BATCH, *labels], [BATCH, *access.node.out])

    def _segment_sum(self, access: Access) -> Code | None:
        """The adjoint of a gather: entries are added up where they were read from."""
        source, out = access.source, access.node.out
        gone = [a for a in source.axes if a in access.rest and a not in out]
        if not gone or any(a not in source.axes for a in access.rest):
            return None
        batch: list[Label] = [BATCH] if source.node.batched else []
        needed = [a for a in source.axes if a in out or a in access.rest]
        first = needed.index(gone[0])
        labels = [a for a in needed if a not in gone]
        labels[first:first] = gone
        code = reduction(self.code(source.node), [*batch, *source.axes], [*batch, *labels])
        if not source.node.batched:
            code = code.at(None)
        size = self._extent(access, access.head)
        if gone == access.rest or set(gone) == set(access.rest):
            index = self.index(access, gone)
        elif len(gone) == 1:
            index = self._aligned(access, labels)
        else:
            return None
        if len(gone) > 1:
            index = index.merged(1)
            code = code.merged(first + 1, first + len(gone))
        code = self.kind.called("segment_sum", code, index, first + 1, size)
        labels[first : first + len(gone)] = [access.head]
        return _laid_out(code, [BATCH, *labels], [BATCH, *out])

    def segment_count(self, node: Einsum) -> Code | None:
        """How often a selection is read in each place: a sum over all that it is read by, or None."""
        access = selected(node, node.operands[0], None)
        if access is None or access.head not in node.out or any(a in node.out for a in access.rest):
            return None
        index = self.index(access, access.rest)
        count = self._extent(access, access.head)
        return self.kind.count(index, count)


def _slice(offset: int, stride: int, count: int, size: int) -> Slice:
    """``offset::stride`` of an axis of a size, with an end where the count does not go up to it."""
    first = Number(offset) if offset else None
    reaches = offset + stride * count >= size
    last = None if reaches else Number(offset + stride * (count - 1) + 1)
    return Slice(first, last, Number(stride) if stride != 1 else None)


def _with_overlaps_within(code: Code, offset: int, strides: tuple[int, ...]) -> tuple[Code, tuple[int, ...], list[int]]:
    """The array of windows of which ``code``, whose last axes are windows too, is a sum, where one call adds up both.

    Also the sizes of the axes that the inner sum made, and the places of these in ``code``. Otherwise ``code`` itself.
    """
    if code.permuted is None:
        return code, (), []
    call, order = code.permuted
    if call.overlapped is None or call.overlapped[2:] != (offset, strides):
        return code, (), []
    within, sizes, *_ = call.overlapped
    first, ranks = len(order) - len(sizes), len(strides)
    added, outer, rest = range(first, len(order)), order[:-ranks], order[-ranks:]
    if not set(added) <= set(outer):
        return code, (), []
    inner = range(first, first + ranks * len(sizes))
    wanted = [*(axis for axis in outer if axis not in added), *inner, *rest]
    return reduction(within, list(range(len(wanted))), wanted), sizes, [outer.index(axis) for axis in added]


def _laid_out(code: Code, labels: Sequence[Label], out: Sequence[Label]) -> Code:
    """A tensor summed over the labels that are not in ``out``, so that it broadcasts to ``out``."""
    have = [x for x in out if x in labels]
    return arranged(reduction(code, labels, have), have, out)
