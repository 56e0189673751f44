"""The writer of nodes as PyTorch expressions: tensors, and convolutions where torch has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from energyc.code.module.symbols import Symbols
from energyc.code.targets.arrays.code import Code
from energyc.code.targets.arrays.index import number_of
from energyc.code.targets.arrays.nodes import ArrayWriter
from energyc.code.targets.torch.code import TorchCode
from energyc.code.targets.torch.conv import ConvolutionWriter
from energyc.code.tree.expressions import name as dotted
from energyc.mathematics.ir import Einsum, Indicator, Input


class TorchWriter(ArrayWriter):
    """Writes nodes as PyTorch expressions of what is already named."""

    kind: ClassVar[type[Code]] = TorchCode

    def __init__(self, symbols: Symbols, letters: Mapping[str, str]) -> None:
        super().__init__(symbols, letters)
        self._convolution = ConvolutionWriter(self.sizes, self.code, lambda: self.names)

    def convolution(self, node: Einsum) -> Code | None:
        """The einsum as a convolution of torch."""
        return self._convolution.write(node)

    def _indicator(self, node: Indicator) -> Code:
        """``rt.one_hot(label, V, axis)`` where an axis is compared with an index of each sample over all others."""
        axis = one_hot_axis(node)
        if axis is None or node in self.masks:
            return super()._indicator(node)
        index, size = self.code(node.condition.parts[1].inputs[0]), self.sizes[node.dims[axis]]
        return self.kind.called("one_hot", index, size, axis + 1, dotted("self.dtype"))

    def kernel_gradient(self, node: Einsum) -> Code | None:
        """The einsum as torch's slope of a convolution by its kernel."""
        return self._convolution.kernel_gradient(node)


def one_hot_axis(node: Indicator) -> int | None:
    """The axis of ``w`` in ``w == label[t]``, where label is one of each sample and read at all other axes in order."""
    condition = node.condition
    if condition.op != "==" or condition.parts[0].op != "axis" or condition.parts[1].op != "read":
        return None
    axis, read = number_of(condition.parts[0]), condition.parts[1]
    label, others = read.args[0], [k for k in range(len(node.dims)) if k != axis]
    if not isinstance(label, Input) or not label.batched or label.dims != tuple(node.dims[k] for k in others):
        return None
    places = [number_of(part) if part.op == "axis" else None for part in read.parts]
    return axis if places == others else None
