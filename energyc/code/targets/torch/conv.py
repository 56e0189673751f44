"""Products of windows with a kernel that torch has as a convolution, and their adjoints.

``sum[c,p,q](W[o,c,p,q] * x[c, i + p, j + q])`` is a convolution. Written with windows it copies each entry of x as
often as windows overlap; where that is often, torch's own kernel is several times faster (measured: 4 times for 3 x 3
at stride 1; no difference where windows overlap by half, and its transpose is slow for strides above 1).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from energyc.code.targets.arrays.access import Access, access_of
from energyc.code.targets.arrays.code import Code, tree
from energyc.code.targets.arrays.einsum import BATCH, Label, arranged
from energyc.code.targets.torch.code import TorchCode
from energyc.code.tree.expressions import Expr, call
from energyc.mathematics.ir import ONE, Einsum, Node, Operand
from energyc.mathematics.ir.indexing import Affine

#: How often windows must cover an entry for a convolution to pay.
OVERLAP = 4


@dataclass(frozen=True)
class Window:
    """An axis of ``size`` read at ``stride * place + dilation * offset``, given by labels."""

    place: int
    offset: int
    stride: int
    dilation: int
    size: int

    def renamed(self, names: Sequence[int]) -> Window:
        """The window by other labels."""
        return replace(self, place=names[self.place], offset=names[self.offset])

    @property
    def turned(self) -> Window:
        """The same with the two labels in each other's place."""
        return Window(self.offset, self.place, self.dilation, self.stride, self.size)


@dataclass(frozen=True)
class Windowed:
    """A tensor under windows: for each axis of ``node`` a label or a window."""

    node: Node
    axes: tuple[int | Window, ...]

    def renamed(self, names: Sequence[int]) -> Windowed:
        """The same by other labels."""
        return Windowed(self.node, tuple(a.renamed(names) if isinstance(a, Window) else names[a] for a in self.axes))


class ConvolutionWriter:
    """Writes einsums that are convolutions; ``names`` holds what has a line of its own.

    Nothing looks into that, but for windows of what has a name itself.
    """

    def __init__(
        self, sizes: Mapping[str, int], code: Callable[[Node], Code], names: Callable[[], Container[Node]]
    ) -> None:
        self.sizes = sizes
        self.code = code
        self.names = names

    def write(self, node: Einsum) -> Code | None:
        """The einsum, coefficient apart, or None where it is not a convolution or better as it is."""
        return self._forward(node) or self._backward(node)

    # ------------------------------------------------------------ what is inside

    def _access(self, node: Node) -> tuple[Access, Affine] | None:
        if not isinstance(node, Einsum) or node.coefficient != ONE:
            return None
        access = access_of(node)
        affine = Affine.of(access.index, self.sizes) if access and access.index.op != "read" else None
        if access is None or affine is None or affine.offset or len(affine.strides) != 2 or len(access.rest) != 2:
            return None
        return (access, affine) if all(stride > 0 for _, stride in affine.strides) else None

    def _window(self, access: Access, affine: Affine) -> Window:
        (a, stride), (b, dilation) = affine.strides
        size = self.sizes[access.node.labels[access.head]]
        return Window(access.axis_label[a], access.axis_label[b], stride, dilation, size)

    def _windowed(self, node: Node) -> Windowed:
        """The node by its own axes, with the windows that it is made of."""
        plain = Windowed(node, tuple(range(len(node.dims))))
        matched = self._access(node)
        if matched is None or not matched[0].gathers or matched[0].node.contracted != (matched[0].head,):
            return plain
        access = matched[0]
        inner = self._windowed(access.source.node).renamed(access.source.axes)
        if sum(axis == access.head for axis in inner.axes) != 1:
            return plain
        if node in self.names() and inner.node not in self.names():  # windows are a view of what has a name, too
            return plain
        axes = tuple(self._window(*matched) if axis == access.head else axis for axis in inner.axes)
        return Windowed(inner.node, axes)  # labels of ``out`` are the node's own axes

    # ------------------------------------------------------------ windows times a kernel

    def _forward(self, node: Einsum) -> Code | None:
        for image, kernel in (node.operands, node.operands[::-1]):
            if image.node.batched and not kernel.node.batched:
                return self._convolution(node, self._windowed(image.node).renamed(image.axes), kernel)
        return None

    def _convolution(self, node: Einsum, image: Windowed, kernel: Operand) -> Code | None:
        windows = [_facing(a, kernel) for a in image.axes if isinstance(a, Window)]
        plain = [a for a in image.axes if not isinstance(a, Window)]
        if len(plain) != 1 or not _overlapping(windows, self._sizes(node)):
            return None
        channel, places, offsets = plain[0], [w.place for w in windows], [w.offset for w in windows]
        features = [a for a in kernel.axes if a not in (channel, *offsets)]
        if len(features) != 1 or sorted(kernel.axes) != sorted([channel, *features, *offsets]):
            return None
        result = [*features, *places]
        if sorted(node.out) != sorted(result) or len({*result, channel, *offsets}) != 2 + 2 * len(windows):
            return None
        sizes = self._sizes(node)
        if not _fitting(windows, sizes):
            return None
        x = self._pictures(image)
        weights = arranged(self.code(kernel.node), kernel.axes, [*features, channel, *offsets])
        code = TorchCode(call(f"functional.conv{len(windows)}d", x.expr, weights.expr, **_options(windows)))
        return arranged(code, [BATCH, *result], [BATCH, *node.out])

    def kernel_gradient(self, node: Einsum) -> Code | None:
        """Windows times what a convolution gave, the batch summed over: the slope by the kernel; else None."""
        for image, cotangents in (node.operands, node.operands[::-1]):
            if image.node.batched and cotangents.node.batched:
                code = self._kernel_gradient(node, self._windowed(image.node).renamed(image.axes), cotangents)
                if code is not None:
                    return code
        return None

    def _kernel_gradient(self, node: Einsum, image: Windowed, cotangents: Operand) -> Code | None:
        windows = [a if a.place in cotangents.axes else a.turned for a in image.axes if isinstance(a, Window)]
        plain = [a for a in image.axes if not isinstance(a, Window)]
        sizes, places, offsets = self._sizes(node), [w.place for w in windows], [w.offset for w in windows]
        features = [a for a in cotangents.axes if a not in places]
        if len(plain) != 1 or len(features) != 1 or not _overlapping(windows, sizes) or not _fitting(windows, sizes):
            return None
        kernel = [*features, *plain, *offsets]
        if sorted(cotangents.axes) != sorted([*features, *places]) or sorted(node.out) != sorted(kernel):
            return None
        if len({*kernel, *places}) != 2 + 2 * len(windows):
            return None
        shape = tuple(sizes[label] for label in kernel)
        slopes = arranged(self.code(cotangents.node), [BATCH, *cotangents.axes], [BATCH, *features, *places])
        given = self._pictures(image).expr, tree(shape), slopes.expr
        code = TorchCode(call(f"torch.nn.grad.conv{len(windows)}d_weight", *given, **_options(windows)))
        return arranged(code, kernel, list(node.out))

    def _pictures(self, image: Windowed) -> Code:
        """The image under the windows, its one other axis in front of theirs."""
        at = [k for k, a in enumerate(image.axes) if not isinstance(a, Window)]
        order: list[Label] = [BATCH, *at, *(k for k, a in enumerate(image.axes) if isinstance(a, Window))]
        return arranged(self.code(image.node), [BATCH, *range(len(image.axes))], order)

    def _sizes(self, node: Einsum) -> dict[int, int]:
        return {label: self.sizes[dim] for label, dim in enumerate(node.labels) if dim in self.sizes}

    # ------------------------------------------------------------ the adjoint: kernels added up where windows were

    def _backward(self, node: Einsum) -> Code | None:
        heads: list[tuple[int, Window]] = []
        inner: Node = node
        names = list(range(len(node.dims)))  # the label, in ``node``, of each axis of ``inner``
        while isinstance(inner, Einsum) and (matched := self._scatter(inner, outermost=inner is node)) is not None:
            access, window = matched
            own = dict(zip(access.node.out, names, strict=True))
            fresh = {label: -1 - len(heads) * 2 - k for k, label in enumerate((window.place, window.offset))}
            heads.append((own[access.head], replace(window, place=fresh[window.place], offset=fresh[window.offset])))
            names = [fresh.get(label, own.get(label, 0)) for label in access.source.axes]
            inner = access.source.node
        if not heads or not isinstance(inner, Einsum) or inner in self.names() or inner.coefficient != ONE:
            return None
        return self._transposed(node, heads, inner, dict(zip(inner.out, names, strict=True)))

    def _scatter(self, node: Einsum, *, outermost: bool) -> tuple[Access, Window] | None:
        matched = self._access(replace(node, coefficient=ONE) if outermost else node)
        if (
            matched is None
            or node in self.names()
            or not matched[0].scatters
            or set(matched[0].node.contracted) != set(matched[0].rest)
        ):
            return None
        if not set(matched[0].rest) <= set(matched[0].source.axes):
            return None
        return matched[0], self._window(*matched)

    def _transposed(
        self, node: Einsum, heads: Sequence[tuple[int, Window]], inner: Einsum, names: Mapping[int, int]
    ) -> Code | None:
        if len(inner.operands) != 2 or len(set(names.values())) != len(names):
            return None
        outer = {label: names.get(label, 1000 + label) for label in range(len(inner.labels))}
        first, second = (Operand(o.node, tuple(outer[a] for a in o.axes)) for o in inner.operands)
        image, kernel = (first, second) if first.node.batched else (second, first)
        if not image.node.batched or kernel.node.batched:
            return None
        windows = sorted(((head, _facing(window, kernel)) for head, window in heads), key=lambda pair: pair[0])
        sizes = {outer[label]: self.sizes[dim] for label, dim in enumerate(inner.labels)}
        return self._transpose(node, windows, image, kernel, sizes)

    def _transpose(
        self,
        node: Einsum,
        heads: Sequence[tuple[int, Window]],
        image: Operand,
        kernel: Operand,
        sizes: Mapping[int, int],
    ) -> Code | None:
        windows = [window for _, window in heads]
        places, offsets = [w.place for w in windows], [w.offset for w in windows]
        features = [a for a in image.axes if a not in places]
        channels = [a for a in kernel.axes if a not in (*features, *offsets)]
        whole = all((sizes[w.place] - 1) * w.stride + w.dilation * (sizes[w.offset] - 1) + 1 == w.size for w in windows)
        if len(features) != 1 or len(channels) != 1 or not whole or any(w.stride > 1 for w in windows):
            return None
        if sorted(image.axes) != sorted([*features, *places]) or not _overlapping(windows, sizes):
            return None
        if sorted(kernel.axes) != sorted([*features, *channels, *offsets]):
            return None
        result = [*channels, *(head for head, _ in heads)]
        if sorted(result) != list(range(len(node.dims))):
            return None
        x = arranged(self.code(image.node), [BATCH, *image.axes], [BATCH, *features, *places])
        weights = arranged(self.code(kernel.node), kernel.axes, [*features, *channels, *offsets])
        made = call(f"functional.conv_transpose{len(windows)}d", x.expr, weights.expr, **_options(windows))
        return arranged(TorchCode(made), [BATCH, *result], [BATCH, *range(len(node.dims))])


def _facing(window: Window, kernel: Operand) -> Window:
    """The window with the label that the kernel has as its offset."""
    return window.turned if window.place in kernel.axes else window


def _fitting(windows: Sequence[Window], sizes: Mapping[int, int]) -> bool:
    """Whether there are as many windows along each axis as fit in it."""
    return all((w.size - w.dilation * (sizes[w.offset] - 1) - 1) // w.stride + 1 == sizes[w.place] for w in windows)


def _overlapping(windows: Sequence[Window], sizes: Mapping[int, int]) -> bool:
    covered = prod(sizes[w.offset] for w in windows) / prod(w.stride for w in windows)
    return 1 <= len(windows) <= 3 and covered > OVERLAP


def _options(windows: Sequence[Window]) -> dict[str, Expr]:
    """The keywords of a convolution: how its windows step, and how far apart their entries are."""
    options: dict[str, Expr] = {}
    for name in ("stride", "dilation"):
        values = tuple(getattr(window, name) for window in windows)
        if set(values) != {1}:
            options[name] = tree(values[0] if len(set(values)) == 1 else values)
    return options
